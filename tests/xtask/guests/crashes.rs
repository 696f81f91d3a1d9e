//! Parsers of other people with a bug each, and what shows it: what shrinking is measured by (`xtask tmin`).
//!
//! In C, a patch of a line or two plants the bug in what Debian has; MD4C 0.4.8 has two of its own, of which
//! a patch mends the other. The crates are in
//! versions that had theirs. Inputs are documents as people write them, with the bug somewhere inside:
//! `tests/guests/crashes/inputs/<name>`.

use super::recipe::{C, CJSON, EXPAT, Entry, MD4C, MIB, Package, Recipe, SQLITE3, Source, ZLIB};
use crate::workspace;
use anyhow::{Context as _, Result};
use std::path::PathBuf;

/// Their names.
pub const CRASHES: &[&str] = &[
    "cjson-depth",
    "cjson-surrogate",
    "expat-entity",
    "expat-group",
    "goblin-archive",
    "mailparse-boundary",
    "mailparse-words",
    "md4c-link",
    "pulldown-cmark-items",
    "regex-syntax-flags",
    "sqlite3-having",
    "zlib-distance",
];

/// The input that was "found".
///
/// # Errors
///
/// If there is none of this name.
pub fn crashing_input(name: &str) -> Result<Vec<u8>> {
    let path = workspace().join("tests/guests/crashes/inputs").join(name);
    std::fs::read(&path).with_context(|| format!("failed to read `{}`", path.display()))
}

/// Whether it is a crate.
pub(crate) fn is_crash_in_rust(name: &str) -> Result<bool> {
    Ok(matches!(super::recipe::find(name)?.source, Source::CrashInRust(_)))
}

/// The folder of the crates, a workspace of its own.
pub(super) fn rust_home() -> PathBuf {
    workspace().join("tests/guests/crashes/rust")
}

macro_rules! patched {
    ($package:ident, $name:literal) => {
        Package { patch: Some(concat!("tests/guests/crashes/patches/", $name, ".patch")), ..$package }
    };
}

pub(super) static RECIPES: &[Recipe] = &[
    c("cjson-depth", "tests/guests/cjson", patched!(CJSON, "cjson-depth")),
    c("cjson-surrogate", "tests/guests/cjson", patched!(CJSON, "cjson-surrogate")),
    c("expat-entity", "tests/guests/expat", patched!(EXPAT, "expat-entity")),
    c("expat-group", "tests/guests/expat", patched!(EXPAT, "expat-group")),
    rust("goblin-archive"),
    rust("mailparse-boundary"),
    rust("mailparse-words"),
    c("md4c-link", "tests/guests/md4c", patched!(MD4C, "md4c-link")),
    rust("pulldown-cmark-items"),
    rust("regex-syntax-flags"),
    c("sqlite3-having", "tests/guests/sqlite3", patched!(SQLITE3, "sqlite3-having")),
    c("zlib-distance", "tests/guests/zlib", patched!(ZLIB, "zlib-distance")),
];

const fn c(name: &'static str, home: &'static str, package: Package) -> Recipe {
    let source = Source::C(C {
        home,
        package: Some(package),
        entry: Entry::LibFuzzer,
        flags: &["-O2", "-g"],
        // Of these, only what is asked for is linked.
        libraries: &["-lwasi-emulated-getpid"],
        stack_bytes: MIB,
        slim: false,
    });
    Recipe { name, source }
}

const fn rust(name: &'static str) -> Recipe {
    Recipe { name, source: Source::CrashInRust(name) }
}
