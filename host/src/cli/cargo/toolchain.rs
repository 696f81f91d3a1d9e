//! Cargo and rustc as they are called in a folder, and what is compiled for.

use super::super::exit::{Fault, UserError};
use super::super::write::tell;
use anyhow::{Context, Result, anyhow};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is compiled for if nobody says so, the best first: clocks, random numbers and files are there, and crates that
/// ask for them build.
const TRIPLES: [&str; 2] = [WASI, "wasm32-unknown-unknown"];

/// The one with an operating system.
pub(super) const WASI: &str = "wasm32-wasip1";

/// The cargo that started this program, or the one that is found, in `dir`: what toolchain it is may depend on that.
pub(super) fn cargo(dir: &Path) -> Command {
    tool("CARGO", "cargo", dir)
}

fn tool(variable: &str, usual: &str, dir: &Path) -> Command {
    let named = env::var_os(variable).filter(|named| !named.is_empty());
    let mut command = Command::new(named.unwrap_or_else(|| OsString::from(usual)));
    command.current_dir(dir);
    command
}

/// What to compile for in `dir`: what was `typed`, or what there is a library for.
pub(super) fn triple(typed: Option<&str>, dir: &Path) -> Result<String, Fault> {
    let has_library = |triple: &str| has_library(triple, dir);
    if let Some(typed) = typed {
        return if has_library(typed)? { Ok(typed.to_owned()) } else { Err(missing(typed)).blame_user() };
    }
    for triple in TRIPLES {
        if has_library(triple)? {
            if triple != WASI {
                let add = add(WASI);
                tell(&format!(
                    "note: built for {triple}, without clocks, random numbers and files: `{add}` gives them"
                ));
            }
            return Ok(triple.to_owned());
        }
    }
    Err(missing(WASI)).blame_user()
}

fn missing(triple: &str) -> anyhow::Error {
    anyhow!("Rust has no library for {triple} here\nhelp: {}", add(triple))
}

/// What to type for a library that is missing.
fn add(triple: &str) -> String {
    match env::var("RUSTUP_TOOLCHAIN") {
        Ok(toolchain) => format!("rustup target add {triple} --toolchain {toolchain}"),
        Err(_) => format!("rustup target add {triple}"),
    }
}

/// Whether there is a library for `triple`. That a compiler does not even know it is no error.
fn has_library(triple: &str, dir: &Path) -> Result<bool, Fault> {
    let mut rustc = tool("RUSTC", "rustc", dir);
    let output = rustc.args(["--print", "target-libdir", "--target", triple]).output();
    let output = output.context("failed to start rustc\nhelp: https://rustup.rs installs Rust").blame_user()?;
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let mut files = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    Ok(output.status.success() && files.any(|file| file.file_name().to_string_lossy().starts_with("libstd-")))
}
