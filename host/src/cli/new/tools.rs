//! How the tools that a guest needs are called where the user stands.

use anyhow::{Context as _, Result};
use std::env;
use std::path::{Path, PathBuf};

/// This program, as a word for the shell: `fuzzbox`, if that is what the search path finds, else its path.
pub(super) fn fuzzbox() -> Result<String> {
    let program = env::current_exe().context("failed to find this program's file")?;
    let is_program = |found: PathBuf| found.canonicalize().is_ok_and(|found| found == program);
    Ok(if on_path("fuzzbox").is_some_and(is_program) { "fuzzbox".to_owned() } else { word(&program) })
}

/// What cargo puts in its target folder, as a word for the shell in the guest's folder.
pub(super) fn in_target_folder(below: &str) -> String {
    let folder = env::var_os("CARGO_TARGET_DIR").filter(|folder| !folder.is_empty());
    word(&folder.map_or_else(|| PathBuf::from("target"), PathBuf::from).join(below))
}

/// A C compiler.
pub(super) struct Clang {
    /// What it is called.
    pub(super) program: String,
    /// The version that its name has: `-19`, or nothing.
    suffix: String,
}

impl Clang {
    /// `clang`, or the newest `clang-NN` if there is only such a one.
    pub(super) fn find() -> Self {
        let has_clang = |suffix: &String| on_path(&format!("clang{suffix}")).is_some();
        let numbered = (9..100).rev().map(|version| format!("-{version}"));
        let suffix = std::iter::once(String::new()).chain(numbered).find(has_clang).unwrap_or_default();
        Self { program: format!("clang{suffix}"), suffix }
    }

    /// The Debian packages that it takes, if it or its linker is not there.
    pub(super) fn missing(&self) -> Option<String> {
        let clang = on_path(&self.program).and_then(|path| path.canonicalize().ok());
        let has_linker = clang.is_some_and(|clang| {
            clang.with_file_name("wasm-ld").is_file() || on_path(&format!("wasm-ld{}", self.suffix)).is_some()
        });
        (!has_linker).then(|| format!("clang{0} lld{0}", self.suffix))
    }

    /// The Debian packages that have a C library for it.
    pub(super) fn library_packages(&self) -> String {
        format!("wasi-libc and libclang-rt{}-dev-wasm32", self.suffix)
    }
}

/// Whether the search path finds it.
pub(super) fn is_there(program: &str) -> bool {
    on_path(program).is_some()
}

/// What the search path finds.
fn on_path(program: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// A path as one word of a shell's line.
fn word(path: &Path) -> String {
    let path = path.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%=".contains(c) || !c.is_ascii();
    if path.chars().all(is_plain) { path.into_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_single_words() {
        assert_eq!(word(Path::new("/a-b/c_1.2/über")), "/a-b/c_1.2/über");
        assert_eq!(word(Path::new("/a b/$c")), "'/a b/$c'");
        assert_eq!(word(Path::new("it's")), r"'it'\''s'");
    }
}
