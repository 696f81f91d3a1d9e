//! The JavaScript that lies beside a module: what was made with it tells how it is called.

use std::path::{Path, PathBuf};

/// Larger files are left out, in bytes.
const FILE_BYTES_MAX: u64 = 2 << 20;

/// No more than this is read in all, in bytes.
const BYTES_MAX: u64 = 4 << 20;

/// More files are not looked at.
const FILES_MAX: usize = 64;

/// What lies beside the module at `path`, files that are called like it first. Nothing if it can't be read: it is a
/// convenience.
pub(super) fn beside(path: &Path) -> String {
    let Some(dir) = path.parent() else { return String::new() };
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    let Ok(entries) = std::fs::read_dir(dir) else { return String::new() };
    let is_script = |path: &Path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("js" | "mjs" | "cjs"))
    };
    let mut files: Vec<PathBuf> =
        entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| is_script(path)).collect();
    let stem = stem(path);
    files.sort();
    files.sort_by_key(|file| {
        let own = self::stem(file);
        (!stem.starts_with(&own), std::cmp::Reverse(own.len()))
    });
    let (mut glue, mut left) = (String::new(), BYTES_MAX);
    for file in files.iter().take(FILES_MAX) {
        let is_file = std::fs::metadata(file).is_ok_and(|metadata| metadata.is_file());
        let text = if is_file { super::input::read_at_most(file, FILE_BYTES_MAX.min(left), "") } else { continue };
        let Some(text) = text.ok().and_then(|bytes| String::from_utf8(bytes).ok()) else { continue };
        left -= text.len() as u64;
        glue.push_str(&text);
        glue.push('\n');
    }
    glue
}

/// The module as its loader would have it.
pub(super) fn completed(module: Vec<u8>, glue: &str) -> Vec<u8> {
    // What can't be read is for others to say.
    crate::sandbox::completed(&module, glue).ok().flatten().unwrap_or(module)
}

fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}
