//! Compiles C to wasm with Debian's clang and wasi-libc.
//!
//! The result is the same wherever it is built: paths in the debug information begin at the top of the repository
//! (`examples/json/json.c`) or with the name of the package (`jansson/src/load.c`).

use super::debian::SourcePackage;
use super::recipe::{C, Entry};
use super::tool::{self, text};
use crate::workspace;
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) const CLANG: &str = "clang-22";
/// What has the compiler, the linker and the libraries.
pub const PACKAGES: &[&str] = &["clang-22", "lld-22", "wasi-libc", "libclang-rt-22-dev-wasm32"];
/// Debian's C library lives under this older name of `wasm32-wasip1`, which clang would like to see replaced.
pub(super) const TARGET: &[&str] = &["--target=wasm32-wasi", "-Wno-deprecated"];

/// The compiler that makes modules of C, which is installed if need be.
///
/// # Errors
///
/// If it isn't there and can't be installed.
pub fn clang() -> Result<&'static str> {
    provide().map(|()| CLANG)
}

/// A compiler for modules whose exact code does not matter: the newest that is installed, or else the usual one.
///
/// # Errors
///
/// If there is none and it can't be installed.
pub fn any_clang() -> Result<&'static str> {
    let compiles = |clang: &&&str| {
        let question = |question| Command::new(clang).args(TARGET).arg(question).output();
        let is_there = |path: &str| Path::new(path.trim()).is_absolute() && Path::new(path.trim()).is_file();
        ["-print-file-name=libc.a", RUNTIME.1]
            .into_iter()
            .all(|text| question(text).is_ok_and(|answer| is_there(&String::from_utf8_lossy(&answer.stdout))))
    };
    match [CLANG, "clang-19", "clang-14"].iter().filter(|name| tool::exists(name)).find(compiles) {
        Some(clang) => Ok(clang),
        None => clang(),
    }
}

/// Makes sure that the libraries of C++ are there, beside what C needs.
///
/// # Errors
///
/// If they aren't there and can't be installed.
pub fn cxx() -> Result<()> {
    const PACKAGES: &[&str] = &["libc++-22-dev-wasm32", "libc++abi-22-dev-wasm32"];
    provide()?;
    let answer = tool::run(Command::new(CLANG).args(TARGET).arg("-print-file-name=libc++abi.a"))?;
    let is_there = Path::new(String::from_utf8_lossy(&answer.stdout).trim()).is_file();
    if is_there { Ok(()) } else { tool::install("libc++abi.a for wasm32", PACKAGES) }
}

/// Makes sure that compiler, linker, C library and compiler support are there; installs them if that is possible.
pub(super) fn provide() -> Result<()> {
    let Some(missing) = missing()? else { return Ok(()) };
    tool::install(missing, PACKAGES)?;
    match self::missing()? {
        Some(still) => anyhow::bail!("`{still}` is missing although {} are installed", PACKAGES.join(" ")),
        None => Ok(()),
    }
}

/// Which part of them is missing.
pub(crate) fn missing() -> Result<Option<&'static str>> {
    if let Some(program) = [CLANG, "wasm-ld-22"].into_iter().find(|p| !tool::exists(p)) {
        return Ok(Some(program));
    }
    for (what, question) in [("libc.a of wasi-libc", "-print-file-name=libc.a"), RUNTIME] {
        let output = tool::run(Command::new(CLANG).args(TARGET).arg(question))?;
        let answer = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        // A file that clang doesn't find is answered by its bare name.
        if !(Path::new(&answer).is_absolute() && Path::new(&answer).is_file()) {
            return Ok(Some(what));
        }
    }
    Ok(None)
}

const RUNTIME: (&str, &str) = ("libclang_rt.builtins for wasm32", "-print-libgcc-file-name");

/// Says what a build now would use, for comparison with what an earlier one used.
pub(super) fn made_from(name: &str, c: &C, package: Option<&SourcePackage>) -> Result<String> {
    let version = tool::run(Command::new(CLANG).arg("--version"))?;
    let version = String::from_utf8_lossy(&version.stdout);
    let mut hash = blake3::Hasher::new();
    for job in jobs(c, package, Path::new("build"))? {
        hash.update(format!("{:?}", job.arguments).as_bytes());
    }
    hash.update(format!("{:?} {}", link_arguments(c), c.slim).as_bytes());
    for file in own_files(c)? {
        hash.update(&fs::read(&file).with_context(|| format!("failed to read `{}`", file.display()))?);
    }
    let package = package.map_or(String::new(), |p| format!("debian {} {}\n", p.name, p.version));
    Ok(format!("{name} {}\n{package}{}\n", hash.finalize(), version.lines().next().unwrap_or_default()))
}

/// Compiles and links; returns the module.
pub(super) fn build(name: &str, c: &C, package: Option<&SourcePackage>) -> Result<Vec<u8>> {
    let folder = tempfile::tempdir_in(crate::cache()).context("failed to create a folder to build in")?;
    let jobs = jobs(c, package, folder.path())?;
    for job in &jobs {
        tool::run(Command::new(CLANG).args(&job.arguments))?;
    }
    let out = folder.path().join(format!("{name}.wasm"));
    let mut link = Command::new(CLANG);
    link.args(TARGET).args(link_arguments(c)).args(jobs.iter().map(|j| &j.object)).args(c.libraries);
    tool::run(link.arg("-o").arg(&out))?;
    let module = fs::read(&out).with_context(|| format!("failed to read `{}`", out.display()))?;
    ensure!(module.starts_with(b"\0asm"), "the linker wrote something that is not a module");
    if c.slim { super::module::without_sections(&module, &[".debug_loc", ".debug_aranges"]) } else { Ok(module) }
}

/// One run of the compiler.
struct Job {
    arguments: Vec<String>,
    object: PathBuf,
}

fn jobs(c: &C, package: Option<&SourcePackage>, out: &Path) -> Result<Vec<Job>> {
    let home = workspace().join(c.home);
    let mut common: Vec<String> = TARGET.iter().chain(c.flags).map(|&s| s.to_owned()).collect();
    common.push("-fdebug-compilation-dir=.".into());
    common.push(format!("-ffile-prefix-map={}/=", text(workspace())?));
    common.push(format!("-I{}", text(&home)?));

    let mut theirs = Vec::new();
    if let (Some(part), Some(unpacked)) = (c.package, package) {
        let folder = unpacked.folder.join(part.folder);
        // The last map that fits is applied, and the cache may lie within the workspace.
        common.push(format!("-ffile-prefix-map={}/={}/", text(&unpacked.folder)?, part.name));
        common.push(format!("-I{}", text(&folder)?));
        for file in part.files {
            // Other people's warnings are not ours to mend.
            let flags = part.flags.iter().copied().chain(["-w"]).map(str::to_owned).collect();
            theirs.push((folder.join(file), flags));
        }
    }
    let ours = own_files(c)?.into_iter().filter(|f| f.extension().is_some_and(|e| e == "c"));
    let ours = ours.map(|f| (f, vec!["-Wall".to_owned(), "-Wextra".into(), "-Werror".into()]));

    let mut jobs = Vec::new();
    for (file, flags) in ours.chain(theirs) {
        let stem = text(Path::new(file.file_stem().context("a source without a name")?))?.to_owned();
        let object = out.join(format!("{:02}-{stem}.o", jobs.len()));
        let mut arguments = common.clone();
        arguments.extend(flags);
        arguments.extend(["-c".into(), text(&file)?.to_owned(), "-o".into(), text(&object)?.to_owned()]);
        jobs.push(Job { arguments, object });
    }
    Ok(jobs)
}

fn link_arguments(c: &C) -> Vec<String> {
    // Without the first, clang passes the module on to whatever `wasm-opt` is installed; it would drop the names.
    let mut arguments = vec!["--no-wasm-opt".to_owned(), format!("-Wl,-z,stack-size={}", c.stack_bytes)];
    if c.entry != Entry::Command {
        arguments.push("-mexec-model=reactor".into());
    }
    if c.entry == Entry::LibFuzzer {
        arguments.extend(["LLVMFuzzerTestOneInput", "malloc", "free"].map(|f| format!("-Wl,--export={f}")));
        let optional = ["LLVMFuzzerInitialize", "LLVMFuzzerCustomMutator", "LLVMFuzzerCustomCrossOver"];
        arguments.extend(optional.map(|f| format!("-Wl,--export-if-defined={f}")));
    }
    arguments
}

/// The C files and headers of this repository that a guest is made of, in the order of their names.
pub(super) fn own_files(c: &C) -> Result<Vec<PathBuf>> {
    let home = workspace().join(c.home);
    let mut files = Vec::new();
    for entry in fs::read_dir(&home).with_context(|| format!("failed to read `{}`", home.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "c" || e == "h") {
            files.push(path);
        }
    }
    if c.entry == Entry::Properties {
        files.push(workspace().join("guest-sdk/c/fuzzbox.h"));
    }
    files.sort();
    Ok(files)
}
