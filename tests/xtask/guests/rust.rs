//! Compiles packages of this workspace to wasm.
//!
//! The compiler is the one that builds everything else, with rustup's library for wasm; rustup is asked for it if it isn't there.
//! Where rustup can't get it, Debian's compiler that knows wasm takes its place (package rustc-web), and the library is built
//! once from its sources (package rust-web-src), 50 seconds of CPU time:
//!
//! ```text
//! target/guests/
//!     rust/                      cargo's target folder for all of these guests
//!     rust-sysroot/bin/rustc     Debian's compiler with the library beside it
//!     rust-sysroot/from          the version that it was built from
//! ```
//!
//! `FUZZBOX_GUEST_RUST=debian` takes that way even if rustup's library is there.

use super::tool::{self, text};
use crate::{cache, workspace};
use anyhow::{Context as _, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "wasm32-unknown-unknown";
const PACKAGES: &[&str] = &["rustc-web", "rust-web-src", "rust-web-llvm", "lld-22"];

/// Whether code of the workspace has debug assertions and checks of overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assertions {
    No,
    Yes,
}

/// Builds the library of a package of the workspace in `home` and gives the module. Cargo knows what has to be compiled.
pub(super) fn build(home: &Path, package: &str, assertions: Assertions) -> Result<Vec<u8>> {
    let compiler = compiler()?;
    let target = cache().join("rust");
    let mut cargo = library_build(home, package, TARGET, &target);
    if assertions == Assertions::Yes {
        for (place, value) in [("", true), ("package.\"*\".", false)] {
            for check in ["debug-assertions", "overflow-checks"] {
                cargo.arg("--config").arg(format!("profile.release.{place}{check}={value}"));
            }
        }
    }
    // Nothing in the module says where it was built.
    let remap = format!("--remap-path-prefix={}=", text(workspace())?);
    cargo.env("CARGO_ENCODED_RUSTFLAGS", remap);
    if let Compiler::Debian(rustc) = compiler {
        cargo.env("RUSTC", rustc);
    }
    tool::run(&mut cargo)?;
    let module = target.join(TARGET).join("release").join(package.replace('-', "_")).with_extension("wasm");
    fs::read(&module).with_context(|| format!("failed to read `{}`", module.display()))
}

/// Who counts what is executed, in native code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callbacks {
    /// What `-fsanitize=fuzzer-no-link` has clang put in, but for what rustc's LLVM does not know of Rust.
    LibFuzzer,
    /// Edges by guards, as `cargo afl` has them.
    Afl,
    /// Edges by guards, and comparisons.
    LibAfl,
}

/// Builds the package of a crash as a native library for a C linker, and gives its path.
pub(crate) fn native_library(package: &str, callbacks: Callbacks) -> Result<PathBuf> {
    let (folder, passes) = match callbacks {
        Callbacks::LibFuzzer => ("libfuzzer", &["level=4", "inline-8bit-counters", "pc-table", "trace-compares"][..]),
        Callbacks::Afl => ("afl", &["level=3", "trace-pc-guard"][..]),
        Callbacks::LibAfl => ("libafl", &["level=3", "trace-pc-guard", "trace-compares"][..]),
    };
    let host = host()?;
    let target = crate::bench::build::folder("rust")?.join(folder);
    let passes = passes.iter().map(|pass| format!("\x1f-Cllvm-args=-sanitizer-coverage-{pass}")).collect::<String>();
    let mut cargo = library_build(&super::crashes::rust_home(), package, &host, &target);
    // Named as a target, the host's flags are not those of build scripts.
    cargo.env("CARGO_ENCODED_RUSTFLAGS", format!("-Cpasses=sancov-module{passes}"));
    tool::run(&mut cargo)?;
    let library = format!("lib{}.a", package.replace('-', "_"));
    Ok(target.join(host).join("release").join(library))
}

/// What `rustc` calls this machine.
fn host() -> Result<String> {
    let version = tool::run(tool_without_settings("rustc").arg("-vV"))?;
    let version = String::from_utf8_lossy(&version.stdout);
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` names no host")?.to_owned())
}

fn library_build(home: &Path, package: &str, target: &str, folder: &Path) -> Command {
    let mut cargo = tool_without_settings("cargo");
    cargo.args(["build", "--release", "--lib", "--target", target, "--package", package, "--target-dir"]);
    cargo.arg(folder).current_dir(home);
    cargo
}

/// The compiler that makes modules of Rust, a file named `rustc`, with the library that it needs.
///
/// # Errors
///
/// If there is none and it can't be made.
pub fn rustc() -> Result<PathBuf> {
    fs::create_dir_all(cache()).with_context(|| format!("failed to create `{}`", cache().display()))?;
    match compiler()? {
        Compiler::Debian(rustc) => Ok(rustc),
        Compiler::Usual => {
            let answer = tool::run(tool_without_settings("rustc").args(["--print", "sysroot"]))?;
            Ok(PathBuf::from(String::from_utf8_lossy(&answer.stdout).trim()).join("bin/rustc"))
        }
    }
}

enum Compiler {
    /// What `rustc` is here.
    Usual,
    /// This file.
    Debian(PathBuf),
}

fn compiler() -> Result<Compiler> {
    let _lock = super::lock("rust-sysroot")?;
    let wants_debian = std::env::var_os("FUZZBOX_GUEST_RUST").is_some_and(|value| value == "debian");
    if !wants_debian && (has_library()? || was_added() && has_library()?) {
        return Ok(Compiler::Usual);
    }
    let why = format!("rustup has no {TARGET} to give");
    Ok(Compiler::Debian(debian().with_context(|| format!("{why}, and Debian's compiler can't be used"))?))
}

/// A tool of the toolchain that this repository asks for, whatever cargo has told this process.
pub(crate) fn tool_without_settings(program: &str) -> Command {
    let mut command = Command::new(program);
    for variable in [
        "CARGO_BUILD_TARGET",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_TARGET_DIR",
        "RUSTC",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTC_WRAPPER",
        "RUSTFLAGS",
        "RUSTUP_TOOLCHAIN",
    ] {
        command.env_remove(variable);
    }
    command.current_dir(workspace());
    command
}

fn has_library() -> Result<bool> {
    let mut rustc = tool_without_settings("rustc");
    let answer = tool::run(rustc.args(["--print", "target-libdir", "--target", TARGET]))?;
    let folder = PathBuf::from(String::from_utf8_lossy(&answer.stdout).trim());
    let mut files = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    Ok(files.any(|file| file.file_name().to_string_lossy().starts_with("libstd-")))
}

/// Asks rustup for the library; false if that is not to be had.
fn was_added() -> bool {
    let mut rustup = tool_without_settings("rustup");
    tool::exists("rustup") && tool::run(rustup.args(["target", "add", TARGET])).is_ok()
}

/// Debian's compiler with a library for wasm.
fn debian() -> Result<PathBuf> {
    let rustc = debian_rustc()?;
    let version = tool::run(Command::new(&rustc).arg("-vV"))?;
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let home = cache().join("rust-sysroot");
    let (made, from) = (home.join("bin/rustc"), home.join("from"));
    if made.is_file() && fs::read_to_string(&from).is_ok_and(|old| old == version) {
        return Ok(made);
    }
    if home.exists() {
        fs::remove_dir_all(&home).with_context(|| format!("failed to remove `{}`", home.display()))?;
    }
    lay_out(&rustc, &home).context("failed to build Rust's library for wasm")?;
    // Written last: it says that all the rest is there.
    super::write_whole(&from, version.as_bytes())?;
    Ok(made)
}

/// Debian's compiler that knows wasm, whatever other compilers there are; installs it if that is possible.
pub(super) fn debian_rustc() -> Result<PathBuf> {
    let find = || -> Result<Option<PathBuf>> {
        let output = tool::try_run(Command::new("dpkg").args(["-L", "rustc-web"]))?;
        let listed = String::from_utf8_lossy(&output.stdout).into_owned();
        let rustc = listed.lines().find(|line| line.ends_with("/bin/rustc")).map(PathBuf::from);
        Ok(rustc.filter(|path| path.is_file() && output.status.success()))
    };
    if find()?.is_none() {
        tool::install("rustc of rustc-web", PACKAGES)?;
    }
    find()?.context("`rustc` is missing although rustc-web is installed")
}

/// Makes a sysroot: what the compiler has for the host by links, and the library for wasm.
fn lay_out(rustc: &Path, home: &Path) -> Result<()> {
    let asked = tool::run(Command::new(rustc).args(["--print", "sysroot"]))?;
    let sysroot = PathBuf::from(String::from_utf8_lossy(&asked.stdout).trim()).join("lib/rustlib");
    let library = sysroot.join("src/rust/library");
    if !library.is_dir() {
        tool::install("sources of Rust's library", PACKAGES)?;
    }
    let built = compile_library(rustc, &library)?;

    let rustlib = home.join("lib/rustlib");
    fs::create_dir_all(&rustlib)?;
    for entry in fs::read_dir(&sysroot)? {
        let entry = entry?;
        if entry.file_name() != TARGET {
            std::os::unix::fs::symlink(entry.path(), rustlib.join(entry.file_name()))?;
        }
    }
    let lib = rustlib.join(TARGET).join("lib");
    fs::create_dir_all(lib.join("self-contained"))?;
    for entry in fs::read_dir(built.path().join("target").join(TARGET).join("release/deps"))? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        if path.extension().is_some_and(|e| e == "rlib") && !name.to_string_lossy().contains("sysroot_probe") {
            fs::copy(&path, lib.join(name))?;
        }
    }
    let script = format!("#!/bin/sh\nexec '{}' --sysroot '{}' \"$@\"\n", text(rustc)?, text(home)?);
    fs::create_dir_all(home.join("bin"))?;
    let made = home.join("bin/rustc");
    super::write_whole(&made, script.as_bytes())?;
    fs::set_permissions(&made, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    Ok(())
}

/// Compiles the library, with an empty package for an excuse.
fn compile_library(rustc: &Path, library: &Path) -> Result<tempfile::TempDir> {
    let vendor =
        fs::canonicalize(library).with_context(|| format!("failed to find `{}`", library.display()))?.join("vendor");
    let folder = tempfile::tempdir_in(cache()).context("failed to create a folder to build in")?;
    let write = |name: &str, content: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a file lies in a folder"))?;
        super::write_whole(&path, content.as_bytes())
    };
    write("src/lib.rs", "#![no_std]\n")?;
    let package = "[package]\nname = \"sysroot_probe\"\nversion = \"0.0.0\"\nedition = \"2021\"\n";
    write("Cargo.toml", &format!("{package}\n[profile.release]\ndebug = \"line-tables-only\"\n\n[workspace]\n"))?;
    let source = format!("[source.v]\ndirectory = \"{}\"\n", text(&vendor)?);
    write(".cargo/config.toml", &format!("[source.crates-io]\nreplace-with = \"v\"\n{source}"))?;

    let mut cargo = tool_without_settings("cargo");
    cargo.env("RUSTC", rustc).env("RUSTC_BOOTSTRAP", "1").current_dir(folder.path());
    cargo.args(["build", "--offline", "--release", "-Zbuild-std=std,panic_abort", "--target", TARGET]);
    tool::run(cargo.arg("--target-dir").arg(folder.path().join("target")))?;
    if !folder.path().join("target").join(TARGET).join("release/deps").is_dir() {
        bail!("cargo has built nothing");
    }
    Ok(folder)
}
