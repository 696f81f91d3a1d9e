//! What ways to give an input have in common, once there is an instance.

use crate::sandbox::entry::Entry;
use crate::sandbox::memory::{Memories, Region};

/// What an entry is bound by, beside an instance.
pub(crate) struct Binding<'a> {
    pub(crate) entry: &'a Entry,
    /// Where the regions of memories are found.
    pub(crate) memories: &'a Memories,
    /// The guest's memories, by the names under which the rewriter exports them.
    pub(crate) exported: &'a [String],
}

/// Copies bytes to where the guest wants them, while none of its code runs; if they have no room there, that is its
/// failure.
pub(crate) fn copy_in(region: &Region, at: u32, bytes: &[u8]) -> wasmtime::Result<()> {
    let end = (at as usize).checked_add(bytes.len());
    if end.is_none_or(|end| end > region.size()) {
        return Err(wasmtime::Trap::MemoryOutOfBounds.into());
    }
    // SAFETY: no guest runs.
    unsafe { region.write(at as usize, bytes) };
    Ok(())
}
