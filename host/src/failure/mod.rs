//! What a failure is called, and what of it is shown first.
//!
//! [`signature`] says which failures are the same, [`Headline`] names the call to look at first, and [`Said`] holds
//! what the guest said when it failed. Plain values and functions of them: a store keeps them, reporters print them.
//!
//! # A failure's name outlives the build
//!
//! A signature has functions, and places in them that are counted from the function's own first line, or
//! instruction where no line is known: what is added elsewhere moves neither. A function without a name is told by
//! its fingerprint (`identity`). So a linker's numbers are in no signature. Lines are counted from the innermost
//! call through the first that is no library's, so two calls of `unwrap` are two failures; inlined calls are calls,
//! except where fuel or stack end, which is at an arbitrary one. A record also has the name that the failure has
//! without debug information, which is compared where one side has none. Records that an older version named are
//! named anew from their frames when their module is fuzzed again.

mod headline;
mod machinery;
mod said;
mod signature;

pub use headline::Headline;
pub use machinery::is_failure_machinery;
pub use said::Said;
pub use signature::{Signature, signature, signature_of};
