//! Files that hold modules.

use super::input::read_at_most;
use super::write::shown;
use crate::store::OBJECT_BYTES_MAX;
use anyhow::Result;
use std::path::Path;

/// A larger module is refused, in bytes: no store would take it.
pub(super) const MODULE_BYTES_MAX: u64 = OBJECT_BYTES_MAX;

/// Lets an error in wasm text name the file.
pub(super) fn in_file(mut error: anyhow::Error, path: &Path) -> anyhow::Error {
    if let Some(error) = error.downcast_mut::<wat::Error>() {
        error.set_path(Path::new(&shown(path)));
    }
    error
}

/// Reads a module's file.
pub(super) fn read_module(path: &Path) -> Result<Vec<u8>> {
    read_at_most(path, MODULE_BYTES_MAX, "")
}
