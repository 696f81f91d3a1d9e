//! What a component's function is given: the input, as bytes or as text, in memory that the component allocates.

use crate::sandbox::entry::call::copy_in;
use crate::sandbox::imports::host::Host;
use crate::sandbox::memory::Region;
use std::sync::Arc;
use wasmtime::{Store, TypedFunc};

/// Where a parameter is put.
pub(super) struct Parameter {
    pub(super) realloc: TypedFunc<(u32, u32, u32, u32), u32>,
    pub(super) region: Arc<Region>,
}

impl Parameter {
    /// Copies bytes to where the component wants them.
    pub(super) fn put(&self, store: &mut Store<Host>, bytes: &[u8]) -> wasmtime::Result<u32> {
        let at = self.realloc.call(store, (0, 0, 1, bytes.len() as u32))?;
        copy_in(&self.region, at, bytes)?;
        Ok(at)
    }
}
