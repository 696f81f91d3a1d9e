//! One instance: made ready for its first input, executed, looked at, and taken back to where it began.

pub(super) mod annex;
pub(super) mod exports;
pub(super) mod injected;
pub(super) mod kept;
pub(super) mod message;
mod message_format;
pub(super) mod observation;
pub(super) mod prepare;
pub(super) mod snapshot;
pub(super) mod verdict;
