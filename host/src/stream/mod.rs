//! Choice streams: what a guest draws, and how that is kept as bytes.
//!
//! A guest that speaks `fuzzbox_v1` does not read bytes: it draws integers, booleans, alternatives and blobs. Every
//! draw takes the next [`Choice`] of a stream. A stream is a sequence of choices ([`choice`]); any byte string decodes
//! as one, and what is stored is always the canonical form. Kinds, bounds and spans are not in the bytes: they are
//! learned by executing ([`trace`]), so a stream survives a new build of the guest.
//!
//! The guest's draws are wasm functions over an area of the injected memory, which
//! [`layout::stream`](fuzzbox_instrument::layout::stream) describes: [`area`] writes it before an execution, by a
//! [`Rule`] for what the stream leaves open, and by a [`Closing`] for how it ends; [`recorded`] and [`guest_report`]
//! read it afterwards. [`Reference`] is the same protocol in Rust, for modules that are not rewritten; [`float`] has
//! its order of floating-point numbers. [`reencode`] gives a value again where other bounds are drawn; [`resync()`]
//! finds the choices of a stream again when what draws them has changed.
//!
//! # A draw is no host call
//!
//! Imports of `fuzzbox_v1` become wasm functions that read the stream from, and record to, an area of the injected
//! memory; the common case of most draws is written in the place of the call. Quick variants only read; the
//! deciding one records, so what enters the corpus is canonical: what was drawn, not what was given. Whoever asks
//! how many draws are left (`remaining`) is told the length of the stream, so that is kept too: the canonical
//! stream is cut or filled with zeros to the length that there was (`Trace::canonical`). A stream holds no kinds,
//! bounds or spans; these are learned by executing.
//!
//! # Files
//!
//! What guests draw. `choice` (a stream and its bytes), `rule` (what it leaves open), `closing` (what call sites end
//! with), `area` (writes it into the injected memory), `recorded` and `guest_report` (read what was drawn and said),
//! `frames` (which key frames are to be told, and how many were), `trace`, `sample` (the tree of spans), `reencode`
//! (the same value where other bounds are drawn), `resync` (a stream found again when what draws it has changed),
//! `float` (order of numbers), `alphabet` (order of characters), `simpler_bytes` (order of bytes),
//! `reference` (the same protocol in Rust, the oracle).
//!
//! # Features are draws
//!
//! Features are draws, of which the simplest is enabled. That a guest reports must change nothing: what decides is
//! executed without, and `repro` executes once more for people.

pub mod alphabet;
pub mod area;
pub mod choice;
pub mod closing;
pub mod float;
pub mod frames;
pub mod guest_report;
pub mod recorded;
pub mod reencode;
pub mod reference;
pub mod rendered;
pub mod resync;
pub mod rule;
pub mod sample;
pub mod simpler_bytes;
pub mod trace;

pub use choice::{Choice, Item, decode, encode, encode_into, items, shortlex};
pub use closing::Closing;
pub use frames::{FrameTrace, Traces};
pub use guest_report::GuestReport;
pub use reference::Reference;
pub use rendered::Decoded;
pub use resync::resync;
pub use rule::{Rule, Tail};
pub use sample::Node;
pub use simpler_bytes::Taste;
pub use trace::{Draw, DrawKind, Span, Trace};
