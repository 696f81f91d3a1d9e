//! Targets become modules: cargo builds them, in a folder of its own, so that nothing is built anew for cargo-fuzz.
//!
//! What libfuzzer-sys would bring along in C++ is an empty library, and cargo is told so by variables and flags alone:
//! no file of the user's is touched, and neither is what is locked.

use super::super::exit::{Fault, UserError};
use super::super::write::{shown, tell};
use super::folder::{Folder, Target, from_here};
use super::toolchain::{WASI, cargo, triple};
use crate::text::printable;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use wasmparser::{Parser, Payload};

/// How targets are built.
#[derive(Debug, clap::Args)]
pub(super) struct BuildArgs {
    /// Features of the fuzz package to build with; repeatable
    #[arg(long, value_name = "FEATURES", help_heading = "Build")]
    features: Vec<String>,
    /// All features of the fuzz package
    #[arg(long, help_heading = "Build")]
    all_features: bool,
    /// Not its default features
    #[arg(long, help_heading = "Build")]
    no_default_features: bool,
    /// Without debug assertions and checks of overflow, as what is shipped
    #[arg(short = 'O', long, conflicts_with = "dev", help_heading = "Build")]
    release: bool,
    /// Without optimisation
    #[arg(short = 'D', long, help_heading = "Build")]
    dev: bool,
    /// What to compile for [default: wasm32-wasip1 if its library is installed, else wasm32-unknown-unknown]
    #[arg(long = "target", value_name = "TRIPLE", help_heading = "Build")]
    triple: Option<String>,
}

/// What became of targets.
#[derive(Debug, Default)]
pub(super) struct Built {
    /// Names and modules of those that built, in the order of the manifest.
    pub(super) modules: Vec<(String, PathBuf)>,
    /// Names of those that did not.
    pub(super) failed: Vec<String>,
}

/// An archive without members, which a linker takes for a library.
const EMPTY_ARCHIVE: &[u8] = b"!<arch>\n";
/// What libfuzzer-sys links, the library of C++ by its names too: its older versions insist.
const LIBRARIES: [&str; 3] = ["libnofuzzer.a", "libstdc++.a", "libc++.a"];
/// What the host has for harnesses: linkers want to know by name what they don't find.
const IMPORTS: (&str, &str) = ("imports", "LLVMFuzzerMutate\n");

/// Linux's, in bytes, in the place of 1 MiB.
const STACK_BYTES: u32 = 8 << 20;

impl BuildArgs {
    /// For a target that is to have an environment and files, unless something else was typed.
    pub(super) fn for_wasi(mut self) -> Self {
        self.triple.get_or_insert_with(|| WASI.to_owned());
        self
    }

    /// Has cargo build the targets that were typed, or all. What it says goes where errors go.
    pub(super) fn build(&self, folder: &Folder, typed: &[String]) -> Result<Built, Fault> {
        let targets = folder.chosen(typed).blame_user()?;
        let triple = triple(self.triple.as_deref(), &folder.dir)?;
        let home = folder.build_dir.join("fuzzbox");
        let libraries = home.join("libfuzzer");
        write_libraries(&libraries)?;
        let mut cargo = self.command(folder, &triple, (&home, &libraries));
        match typed {
            [] => _ = cargo.arg("--bins"),
            _ => targets.iter().for_each(|target| _ = cargo.args(["--bin", &target.name])),
        }
        let mut modules = run(&mut cargo, &folder.dir.join("Cargo.toml"))?;
        let mut built = Built::default();
        for target in targets {
            match modules.remove(&target.name) {
                Some(module) if !typed.is_empty() || has_harness(&module)? => {
                    built.modules.push((target.name.clone(), module));
                }
                Some(_) => tell(&format!("note: `{}` is left out: it has no fuzz_target!", printable(&target.name))),
                None if typed.is_empty() && self.lacks_features(target) => {
                    let features = printable(&target.required_features.join(","));
                    let name = printable(&target.name);
                    tell(&format!("note: `{name}` is left out: it is for --features {features}"));
                }
                None => built.failed.push(target.name.clone()),
            }
        }
        Ok(built)
    }

    /// What cargo-fuzz asks cargo for, but for wasm.
    fn command(&self, folder: &Folder, triple: &str, (home, libraries): (&Path, &Path)) -> Command {
        let mut cargo = cargo(&folder.dir);
        cargo.args(["build", "--keep-going", "--message-format", "json-render-diagnostics"]);
        cargo.args(["--target", triple, "--target-dir"]).arg(home);
        cargo.arg("--manifest-path").arg(folder.dir.join("Cargo.toml"));
        self.features.iter().for_each(|features| _ = cargo.args(["--features", features]));
        let switches = [("--all-features", self.all_features), ("--no-default-features", self.no_default_features)];
        switches.iter().filter(|(_, is_on)| *is_on).for_each(|(switch, _)| _ = cargo.arg(switch));
        let profile = if self.dev { "dev" } else { "release" };
        cargo.args(["--profile", profile]);
        let checks = if self.release { "false" } else { "true" };
        for (setting, value) in [
            ("debug", "\"line-tables-only\""),
            ("strip", "\"none\""),
            ("codegen-units", "1"),
            ("debug-assertions", checks),
            ("overflow-checks", checks),
        ] {
            cargo.arg("--config").arg(format!("profile.{profile}.{setting}={value}"));
        }
        add_flags(&mut cargo, triple, &flags(libraries));
        cargo.env("CUSTOM_LIBFUZZER_PATH", libraries.join(LIBRARIES[0])).env("CUSTOM_LIBFUZZER_STD_CXX", "none");
        cargo
    }

    fn lacks_features(&self, target: &Target) -> bool {
        let given: Vec<_> = self.features.iter().flat_map(|features| features.split([',', ' '])).collect();
        !self.all_features && target.required_features.iter().any(|feature| !given.contains(&&**feature))
    }
}

/// Flags for the compiler: what cargo-fuzz has crates know, a stack as they have it elsewhere, and constructors by
/// name, which are called once.
fn flags(libraries: &Path) -> Vec<String> {
    let link = |flag: String| format!("-Clink-arg={flag}");
    vec![
        "--cfg=fuzzing".to_owned(),
        link(format!("-zstack-size={STACK_BYTES}")),
        link("--export=__wasm_call_ctors".to_owned()),
        link(format!("--allow-undefined-file={}", libraries.join(IMPORTS.0).display())),
    ]
}

/// Adds flags to those that the user has in the environment, or else to those for `triple` in cargo's configuration.
fn add_flags(cargo: &mut Command, triple: &str, flags: &[String]) {
    const SEPARATOR: &str = "\x1f";
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let plain = || Some(variable("RUSTFLAGS")?.split_whitespace().collect::<Vec<_>>().join(SEPARATOR));
    match variable("CARGO_ENCODED_RUSTFLAGS").or_else(plain) {
        Some(given) => _ = cargo.env("CARGO_ENCODED_RUSTFLAGS", [&[given], flags].concat().join(SEPARATOR)),
        None => {
            // A list of JSON is one of TOML.
            let flags = serde_json::to_string(flags).expect("text is plain data");
            cargo.arg("--config").arg(format!("target.{triple}.rustflags={flags}"));
        }
    }
}

/// Writes what is linked in libFuzzer's place. What is there stays: its time says when it was built with.
fn write_libraries(dir: &Path) -> Result<()> {
    let write = || {
        fs::create_dir_all(dir)?;
        let files = LIBRARIES.map(|name| (name, EMPTY_ARCHIVE)).into_iter().chain([(IMPORTS.0, IMPORTS.1.as_bytes())]);
        for (path, content) in files.map(|(name, content)| (dir.join(name), content)) {
            if fs::read(&path).ok().as_deref() != Some(content) {
                fs::write(path, content)?;
            }
        }
        std::io::Result::Ok(())
    };
    write().with_context(|| format!("failed to write into `{}`", shown(&from_here(dir))))
}

/// A line of cargo's.
#[derive(Debug, Deserialize)]
struct Message {
    reason: String,
    manifest_path: Option<PathBuf>,
    target: Option<Artifact>,
    executable: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct Artifact {
    name: String,
}

/// Lets cargo build, and gives the modules of the package by the names of their targets. What fails has none.
fn run(cargo: &mut Command, manifest: &Path) -> Result<BTreeMap<String, PathBuf>, Fault> {
    let starting = cargo.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut running = starting.context("failed to start cargo\nhelp: https://rustup.rs installs it").blame_user()?;
    let mut modules = BTreeMap::new();
    let output = BufReader::new(running.stdout.take().expect("it is piped"));
    for line in output.lines() {
        let line = line.context("failed to read what cargo says")?;
        // Build scripts and later versions of cargo may say what is no message.
        if let Ok(Message { reason, manifest_path: Some(path), target: Some(target), executable: Some(module) }) =
            serde_json::from_str(&line)
            && reason == "compiler-artifact"
            && path == manifest
        {
            modules.insert(target.name, module);
        }
    }
    running.wait().context("failed to wait for cargo")?;
    Ok(modules)
}

/// Whether a module has what `fuzz_target!` makes.
fn has_harness(module: &Path) -> Result<bool> {
    let read = || {
        let bytes = fs::read(module)?;
        for payload in Parser::new(0).parse_all(&bytes) {
            if let Payload::ExportSection(exports) = payload? {
                let names = exports.into_iter().map(|export| Ok(export?.name == "LLVMFuzzerTestOneInput"));
                return names.collect::<Result<Vec<_>>>().map(|names| names.contains(&true));
            }
        }
        Ok(false)
    };
    read().with_context(|| format!("failed to read `{}`", shown(&from_here(module))))
}
