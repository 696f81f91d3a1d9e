//! AFL++ and LibAFL themselves, built from what crates.io has.

use super::{Report, Row};
use crate::bench::build::{drivers, folder};
use crate::guests::{tool, tool_without_settings, write_whole};
use anyhow::{Context as _, Result, anyhow};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crate that has AFL++ 4.40c in it.
const AFL_CRATE: (&str, &str) = ("cargo-afl-common", "0.18.2");

/// What could be built of those who are asked for.
#[derive(Default)]
pub(super) struct Peers {
    /// The folder of AFL++'s programs.
    afl: Option<PathBuf>,
    libafl: Option<LibAfl>,
}

/// LibAFL, put together in `tests/bench/libafl`.
pub(super) struct LibAfl {
    pub(super) library: PathBuf,
    /// Plugins of the compiler.
    pub(super) passes: Vec<PathBuf>,
}

impl Peers {
    /// Builds who is asked for; says in the report who can't be.
    pub(super) fn build(rows: &[Row], clang: &str, report: &mut Report) -> Self {
        let mut peers = Self::default();
        if rows.contains(&Row::Afl) {
            peers.afl = afl(clang).map_err(|error| report.leave_out("", "afl", &error)).ok();
        }
        if rows.contains(&Row::LibAfl) {
            peers.libafl = libafl(clang).map_err(|error| report.leave_out("", "libafl", &error)).ok();
        }
        peers
    }

    pub(super) fn afl(&self) -> Result<&Path> {
        self.afl.as_deref().ok_or_else(|| anyhow!("AFL++ is not there"))
    }

    pub(super) fn libafl(&self) -> Result<&LibAfl> {
        self.libafl.as_ref().ok_or_else(|| anyhow!("LibAFL is not there"))
    }
}

/// A program of the compiler's version: `llvm-config-22` for `clang-22`.
fn of_version(program: &str, clang: &str) -> String {
    format!("{program}{}", clang.strip_prefix("clang").unwrap_or_default())
}

fn has_llvm(clang: &str) -> Result<String> {
    let config = of_version("llvm-config", clang);
    if tool::exists(&config) { Ok(config) } else { Err(anyhow!("`{config}` is missing: Debian's llvm*-dev has it")) }
}

/// Fetches and builds AFL++, once.
fn afl(clang: &str) -> Result<PathBuf> {
    let config = has_llvm(clang)?;
    let home = folder("aflplusplus")?;
    let (built, from_file) = (home.join("built"), home.join("built.from"));
    let version = tool::run(Command::new(clang).arg("--version"))?;
    let from = format!("{AFL_CRATE:?} {}", String::from_utf8_lossy(&version.stdout));
    if fs::read_to_string(&from_file).is_ok_and(|old| old == from) {
        return Ok(built);
    }
    eprintln!("building AFL++");
    let sources = crate_folder(&home, AFL_CRATE)?.join("AFLplusplus");
    if built.exists() {
        fs::remove_dir_all(&built).with_context(|| format!("failed to remove `{}`", built.display()))?;
    }
    tool::run(Command::new("cp").arg("-r").arg(&sources).arg(&built))?;
    let mut make = Command::new("make");
    make.args(["PERFORMANCE=0", "all"]).current_dir(&built).env("AFL_NO_X86", "1");
    make.env("LLVM_CONFIG", config).env("CC", clang).env("CXX", of_version("clang++", clang));
    tool::run(&mut make)?;
    write_whole(&from_file, from.as_bytes())?;
    Ok(built)
}

/// Where cargo puts a crate's files.
fn crate_folder(home: &Path, (name, version): (&str, &str)) -> Result<PathBuf> {
    let asking = home.join("asking");
    fs::create_dir_all(asking.join("src")).with_context(|| format!("failed to create `{}`", asking.display()))?;
    let manifest = asking.join("Cargo.toml");
    let package = "[workspace]\n[package]\nname = \"asking\"\nversion = \"0.0.0\"\n[dependencies]\n";
    write_whole(&manifest, format!("{package}{name} = \"={version}\"\n").as_bytes())?;
    write_whole(&asking.join("src/lib.rs"), b"")?;
    let mut cargo = tool_without_settings("cargo");
    cargo.args(["metadata", "--format-version", "1", "--manifest-path"]).arg(&manifest);
    let metadata: Value =
        serde_json::from_slice(&tool::run(&mut cargo)?.stdout).context("cargo tells something else")?;
    let packages = metadata["packages"].as_array().context("cargo tells of no packages")?;
    let found = packages.iter().find(|package| package["name"] == name);
    let path = found.and_then(|package| package["manifest_path"].as_str()).map(Path::new);
    Ok(path.and_then(Path::parent).with_context(|| format!("cargo does not say where `{name}` lies"))?.to_owned())
}

/// Builds LibAFL; cargo knows what is current.
fn libafl(clang: &str) -> Result<LibAfl> {
    let config = has_llvm(clang)?;
    eprintln!("building LibAFL");
    let target = folder("libafl")?;
    let cargo = |task: &str| {
        let mut cargo = tool_without_settings("cargo");
        cargo.args([task, "--release", "--locked", "--manifest-path"]).arg(drivers().join("libafl/Cargo.toml"));
        cargo.arg("--target-dir").arg(&target).env("LLVM_CONFIG", &config);
        cargo
    };
    tool::run(&mut cargo("build"))?;
    let said = tool::run(cargo("run").args(["--bin", "passes"]))?;
    let passes = String::from_utf8_lossy(&said.stdout).lines().map(PathBuf::from).collect();
    Ok(LibAfl { library: target.join("release/liblibafl_peer.a"), passes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_those_of_the_compilers_version() {
        assert_eq!(of_version("llvm-config", "clang-22"), "llvm-config-22");
        assert_eq!(of_version("clang++", "clang"), "clang++");
    }
}
