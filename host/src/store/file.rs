//! Reading and writing single files, with a limit on everything that is read.

use super::StoreError;
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a regular file for reading; `None` if there is nothing of that name.
///
/// A symbolic link in the last component is refused, since a store must not lead out of itself, and so are pipes and
/// devices, since opening or reading them could wait for ever.
pub(super) fn open(path: &Path) -> Result<Option<File>> {
    let file = match OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => return Err(odd(path, "it is a symbolic link")),
        Err(error) => return Err(error).with_context(|| format!("failed to open `{}`", path.display())),
    };
    let metadata = file.metadata().with_context(|| format!("failed to read `{}`", path.display()))?;
    if !metadata.is_file() {
        return Err(odd(path, "it is not a file"));
    }
    Ok(Some(file))
}

/// Reads a regular file of at most `bytes_max` bytes; `None` if there is nothing of that name.
pub(super) fn read(path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>> {
    let Some(file) = open(path)? else { return Ok(None) };
    let context = || format!("failed to read `{}`", path.display());
    let bytes = file.metadata().with_context(context)?.len();
    let too_large = |bytes| StoreError::TooLarge { what: format!("`{}`", path.display()), bytes, bytes_max };
    if bytes > bytes_max {
        return Err(too_large(bytes).into());
    }
    let mut content = Vec::with_capacity(usize::try_from(bytes).with_context(context)?);
    // It may grow while it is read.
    file.take(bytes_max + 1).read_to_end(&mut content).with_context(context)?;
    if content.len() as u64 > bytes_max {
        return Err(too_large(content.len() as u64).into());
    }
    Ok(Some(content))
}

/// Creates a file that must not exist yet.
///
/// `mode` is what the file has afterwards (less the umask); a read-only mode does not hinder this write.
pub(super) fn write_new(path: &Path, bytes: &[u8], mode: u32, sync: bool) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(bytes)?;
    if sync { file.sync_data() } else { Ok(()) }
}

/// Makes what was renamed into or out of `dir` survive a power failure.
pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Lists a directory, sorted by name; empty if it doesn't exist. Links are not followed.
pub(super) fn list(dir: &Path) -> Result<Vec<(OsString, FileType)>> {
    let context = || format!("failed to list `{}`", dir.display());
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(context),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.with_context(context)?;
        match entry.file_type() {
            Ok(kind) => found.push((entry.file_name(), kind)),
            // Another process may have removed it in between.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(context),
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// Something of a kind that fuzzbox never puts into a store.
pub(super) fn odd(path: &Path, why: &str) -> anyhow::Error {
    StoreError::Damaged { what: format!("`{}`", path.display()), why: why.into(), path: path.into() }.into()
}
