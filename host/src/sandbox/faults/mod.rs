//! Faults of the guest's code: pages that are made writable, and traps, of which is noted where they were.

pub(super) mod handler;
pub(super) mod record;
