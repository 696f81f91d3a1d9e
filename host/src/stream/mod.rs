//! Choice streams: what a guest draws, and how that is kept as bytes.
//!
//! A guest that speaks `fuzzbox_v1` does not read bytes: it draws integers, booleans, alternatives and blobs. Every draw takes the
//! next [`Choice`] of a stream. A stream is a sequence of choices ([`choice`]); any byte string decodes as one, and what is stored
//! is always the canonical form. Kinds, bounds and spans are not in the bytes: they are learned by executing ([`trace`]), so a
//! stream survives a new build of the guest.

pub mod choice;
pub mod taste;
pub mod trace;

pub use choice::{Choice, decode, encode, shortlex};
pub use taste::Taste;
pub use trace::{Draw, DrawKind, Span, Trace};
