//! Builds the programs in tests/guests/recompile, as they are and once after each edit: what the test of the same name in
//! the crate fuzzbox-instrument compares.
//!
//! Modules are committed, so that the test needs no compiler. The C program takes clang, as all guests do; the Rust
//! program takes Debian's rustc with the sources of the library, because there is no compiled one for wasm.

use super::clang;
use super::tool::{self, text};
use crate::{cache, workspace};
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds all modules, puts them where they are committed, and returns the paths of those that are new or different.
pub fn recompile() -> Result<Vec<PathBuf>> {
    let folder = workspace().join("tests/guests/recompile");
    clang::provide()?;
    fs::create_dir_all(cache()).with_context(|| format!("failed to create `{}`", cache().display()))?;
    let mut written = Vec::new();
    for (guest, build) in [("c", build_c as fn(&Path, &Flags) -> Result<PathBuf>), ("rust", build_rust)] {
        let folder = folder.join(guest);
        for edit in [None].into_iter().chain(patches(&folder)?.into_iter().map(Some)) {
            let name = edit.as_deref().and_then(Path::file_stem).and_then(|stem| stem.to_str()).unwrap_or("base");
            let build = || -> Result<Vec<u8>> {
                let copy = edited_copy(&folder, edit.as_deref())?;
                let flags = edit.as_deref().map_or(Ok(Flags::default()), flags)?;
                let module = build(copy.path(), &flags)?;
                fs::read(&module).with_context(|| format!("failed to read `{}`", module.display()))
            };
            let module = build().with_context(|| format!("failed to build `{name}` of `{guest}`"))?;
            let committed = folder.join("modules").join(name).with_extension("wasm");
            if fs::read(&committed).is_ok_and(|old| old == module) {
                continue;
            }
            super::write_whole(&committed, &module)?;
            written.push(committed);
        }
    }
    Ok(written)
}

/// Flags that an edit gives to single files: `flags lex.c: -O1` in the patch's header.
type Flags = Vec<(String, String)>;

fn flags(patch: &Path) -> Result<Flags> {
    let patch = fs::read_to_string(patch).with_context(|| format!("failed to read `{}`", patch.display()))?;
    let header = patch.lines().take_while(|line| !line.is_empty());
    let flags = header.filter_map(|line| line.strip_prefix("flags ")?.split_once(": "));
    Ok(flags.map(|(file, flags)| (file.to_owned(), flags.to_owned())).collect())
}

pub(super) fn patches(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut patches = files(&folder.join("edits"))?;
    patches.retain(|path| path.extension().is_some_and(|extension| extension == "patch"));
    Ok(patches)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("failed to read `{}`", folder.display()))? {
        files.push(entry?.path());
    }
    files.sort();
    Ok(files)
}

/// Copies the sources and edits the copy.
pub(super) fn edited_copy(folder: &Path, patch: Option<&Path>) -> Result<tempfile::TempDir> {
    let copy = tempfile::tempdir_in(cache()).context("failed to create a folder to build in")?;
    for name in ["edits", "modules"] {
        ensure!(folder.join(name).is_dir(), "`{}` has no folder `{name}`", folder.display());
    }
    let mut sources = files(folder)?;
    sources.retain(|path| !path.ends_with("edits") && !path.ends_with("modules"));
    tool::run(Command::new("cp").arg("-r").args(sources).arg(copy.path()))?;
    if let Some(patch) = patch
        && fs::read_to_string(patch).is_ok_and(|text| text.contains("\n--- "))
    {
        tool::run(Command::new("patch").args(["-s", "-p1", "-i"]).arg(patch).current_dir(copy.path()))?;
    }
    Ok(copy)
}

/// Builds sources that were edited further, in Rust by the usual compiler.
pub(super) fn build_planted(guest: &str, folder: &Path, patch: Option<&Path>) -> Result<Vec<u8>> {
    let module = if guest == "c" {
        build_c(folder, &patch.map_or(Ok(Flags::default()), flags)?)?
    } else {
        let mut cargo = Command::new("cargo");
        cargo.args(["build", "--offline", "--release", "--target", "wasm32-unknown-unknown", "--target-dir", "target"]);
        tool::run(cargo.env("RUSTC", super::rustc()?).current_dir(folder))?;
        folder.join("target/wasm32-unknown-unknown/release/shapes.wasm")
    };
    fs::read(&module).with_context(|| format!("failed to read `{}`", module.display()))
}

fn build_c(folder: &Path, flags: &Flags) -> Result<PathBuf> {
    let run = |arguments: &[&str]| {
        let common = clang::TARGET.iter().chain(arguments);
        tool::run(Command::new(clang::CLANG).args(common).current_dir(folder))
    };
    let mut link = vec!["--no-wasm-opt", "-mexec-model=reactor", "-Wl,--strip-debug", "-Wl,-z,stack-size=65536"];
    link.extend(["-Wl,--export=LLVMFuzzerTestOneInput,--export=malloc,--export=free", "-o", "calc.wasm"]);
    let mut objects = Vec::new();
    for source in files(folder)?.iter().filter(|path| path.extension().is_some_and(|extension| extension == "c")) {
        let source = text(Path::new(source.file_name().context("a source without a name")?))?;
        let optimise = flags.iter().find(|(file, _)| file == source).map_or("-O2", |(_, flags)| flags);
        let object = format!("{source}.o");
        run(&[optimise, "-Wall", "-Wextra", "-Werror", "-c", source, "-o", &object])?;
        objects.push(object);
    }
    link.extend(objects.iter().map(String::as_str));
    run(&link)?;
    Ok(folder.join("calc.wasm"))
}

fn build_rust(folder: &Path, _: &Flags) -> Result<PathBuf> {
    let rustc = super::rust::debian_rustc()?;
    let asked = tool::run(Command::new(&rustc).args(["--print", "sysroot"]))?;
    let sysroot = PathBuf::from(String::from_utf8_lossy(&asked.stdout).trim());
    let library = sysroot.join("lib/rustlib/src/rust/library");
    let vendor = fs::canonicalize(&library).with_context(|| format!("failed to find `{}`", library.display()))?;
    let config = format!(
        "[source.crates-io]\nreplace-with = \"vendor\"\n[source.vendor]\ndirectory = \"{}\"\n",
        text(&vendor.join("vendor"))?
    );
    fs::create_dir_all(folder.join(".cargo"))?;
    super::write_whole(&folder.join(".cargo/config.toml"), config.as_bytes())?;
    let target = cache().join("recompile");
    let mut cargo = Command::new("cargo");
    // The compiler that runs this program is not the one meant.
    for variable in
        ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTUP_TOOLCHAIN", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"]
    {
        cargo.env_remove(variable);
    }
    let remap = format!("-C link-arg=--strip-debug --remap-path-prefix={}=library", text(&library)?);
    cargo.env("RUSTC", rustc).env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", remap).current_dir(folder);
    cargo.args(["build", "--offline", "--release", "-Zbuild-std=core,alloc", "--target", "wasm32-unknown-unknown"]);
    tool::run(cargo.arg("--target-dir").arg(&target))?;
    Ok(target.join("wasm32-unknown-unknown/release/shapes.wasm"))
}
