//! The guests in `tests/guests/says`, compiled.

use anyhow::{Context as _, Result, ensure};
use fuzzbox_tests::{cache, guest, guests, workspace};
use std::path::PathBuf;
use std::process::Command;

/// A source, and how it becomes a module.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Guest {
    /// A harness.
    C(&'static str),
    /// One that reads its input.
    Program(&'static str),
    /// Without a library.
    Freestanding(&'static str),
    Cxx(&'static str),
    /// For `wasm32-unknown-unknown`.
    Rust(&'static str),
    /// The same without debug information.
    RustWithoutLines(&'static str),
    /// For `wasm32-wasip1`.
    RustProgram(&'static str),
    Zig,
    Go,
    AssemblyScript,
}

impl Guest {
    /// The target's name.
    pub(crate) fn name(self) -> String {
        match self {
            Self::C(name) | Self::Freestanding(name) => format!("c-{name}"),
            Self::Program(name) => format!("c-program-{name}"),
            Self::Cxx(name) => format!("cxx-{name}"),
            Self::Rust(name) => format!("rust-{name}"),
            Self::RustWithoutLines(name) => format!("rust-without-lines-{name}"),
            Self::RustProgram(name) => format!("rust-program-{name}"),
            Self::Zig => "zig-says".to_owned(),
            Self::Go => "go-says".to_owned(),
            Self::AssemblyScript => "assemblyscript-says".to_owned(),
        }
    }

    /// The module's path.
    pub(crate) fn build(self) -> Result<PathBuf> {
        const HARNESS: &[&str] =
            &["-mexec-model=reactor", "-Wl,--export=LLVMFuzzerTestOneInput,--export=malloc,--export=free"];
        const ALONE: &[&str] =
            &["--target=wasm32", "-nostdlib", "-Wl,--no-entry,--export=LLVMFuzzerTestOneInput,--allow-undefined"];
        let out = cache().join("says").join(self.name()).with_extension("wasm");
        std::fs::create_dir_all(out.parent().expect("it has a folder"))?;
        let mut command = match self {
            Self::C(name) => clang(&format!("{name}.c"), HARNESS)?,
            Self::Program(name) => clang(&format!("{name}.c"), &[])?,
            Self::Freestanding(name) => clang(&format!("{name}.c"), ALONE)?,
            Self::Cxx(name) => {
                let mut clang = clang(&format!("{name}.cc"), HARNESS)?;
                guests::cxx()?;
                clang.args(["-fno-exceptions", "-lc++", "-lc++abi"]);
                clang
            }
            Self::Rust(name) => rustc(name, &["-Cdebuginfo=line-tables-only"])?,
            Self::RustWithoutLines(name) => rustc(name, &["-Cstrip=debuginfo"])?,
            Self::RustProgram(name) => {
                ensure!(
                    run(Command::new("rustup").args(["target", "add", "wasm32-wasip1"])).is_ok(),
                    "rustup has no wasip1"
                );
                let mut rustc = Command::new("rustc");
                rustc.args(["--edition=2021", "-O", "-Cdebuginfo=line-tables-only", "--target=wasm32-wasip1"]);
                rustc.arg(format!("{name}.rs"));
                rustc
            }
            Self::Zig | Self::Go | Self::AssemblyScript => return guest(&self.name()),
        };
        // Tests of one program use the same guest at the same time.
        let folder = tempfile::tempdir_in(cache()).context("failed to create a folder to build in")?;
        let made = folder.path().join("made.wasm");
        command.arg("-o").arg(&made).current_dir(workspace().join("tests/guests/says"));
        if let Self::Rust(_) | Self::RustWithoutLines(_) = self {
            let mut library = Command::new(guests::rustc()?);
            library.args([
                "--edition=2021",
                "-O",
                "--crate-type=rlib",
                "--target=wasm32-unknown-unknown",
                "-Cdebuginfo=line-tables-only",
            ]);
            library.args(["--crate-name=numbers", "numbers.rs", "--out-dir"]).arg(folder.path());
            run(library.current_dir(workspace().join("tests/guests/says")))?;
            command.arg("-L").arg(folder.path());
        }
        run(&mut command)?;
        std::fs::rename(&made, &out)?;
        Ok(out)
    }
}

/// Whether Rust is compiled by the compiler that everything else is compiled by.
pub(crate) fn is_current_rust() -> bool {
    let version = |rustc: PathBuf| Command::new(rustc).arg("-V").output().map(|output| output.stdout).ok();
    version(guests::rustc().expect("it was used")) == version("rustc".into())
}

fn clang(file: &str, flags: &[&str]) -> Result<Command> {
    let mut clang = Command::new(guests::clang()?);
    clang.args(["-O1", "-g", "--no-wasm-opt", "-Wno-deprecated", "-fdebug-compilation-dir=."]);
    if !flags.contains(&"--target=wasm32") {
        clang.arg("--target=wasm32-wasi");
    }
    // A source comes after what says its language.
    let language = if file.ends_with(".cc") { "c++" } else { "c" };
    clang.args(flags).args(["-x", language, file, "-x", "none"]);
    Ok(clang)
}

fn rustc(name: &str, flags: &[&str]) -> Result<Command> {
    let mut rustc = Command::new(guests::rustc()?);
    rustc.args(["--edition=2021", "-O", "--crate-type=cdylib", "--target=wasm32-unknown-unknown", "-Cpanic=abort"]);
    rustc.args(flags).arg(format!("{name}.rs"));
    Ok(rustc)
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("failed to start {command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
