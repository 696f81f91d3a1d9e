//! Names the sources that the program is made of: what it said of an execution holds as long as these stay what they
//! are (`FUZZBOX_SOURCES`, for `session/results`).

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::Hasher;
use std::path::{Path, PathBuf};

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the package is"));
    let mut hasher = DefaultHasher::new();
    // Beside a package that was published there is neither: its version says what they were.
    for name in ["src", "../instrument/src", "../Cargo.lock"] {
        let path = here.join(name);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
            read(&path, &mut hasher);
        }
    }
    println!("cargo::rustc-env=FUZZBOX_SOURCES={}-{:016x}", env!("CARGO_PKG_VERSION"), hasher.finish());
}

/// Hashes a file, or all files below a directory.
fn read(path: &Path, hasher: &mut DefaultHasher) {
    if path.is_dir() {
        let mut entries: Vec<_> =
            fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        entries.sort();
        return entries.iter().for_each(|entry| read(entry, hasher));
    }
    let bytes = fs::read(path).unwrap_or_default();
    hasher.write_usize(bytes.len());
    hasher.write(&bytes);
}
