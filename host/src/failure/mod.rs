//! What a failure is called, and what of it is shown first.
//!
//! [`signature`] says which failures are the same, [`Headline`] names the call to look at first, and [`Said`] holds what the
//! guest said when it failed. Plain values and functions of them: a store keeps them, reporters print them.

mod headline;
mod machinery;
mod said;
mod signature;

pub use headline::Headline;
pub use machinery::is_failure_machinery;
pub use said::Said;
pub use signature::{Signature, signature, signature_of};
