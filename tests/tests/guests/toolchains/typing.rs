//! Types the commands of a document in a folder of its own.

use super::document::Block;
use anyhow::{Context as _, Result, ensure};
use fuzzbox_tests::command::{Fuzzbox, Ran};
use fuzzbox_tests::disk;
use fuzzbox_tests::guests::{self, Toolchain};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What cargo tells tests, and what somebody may have set for other builds.
const NOT_OURS: &[&str] = &[
    "CARGO_BUILD_TARGET",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_TARGET_DIR",
    "CFLAGS",
    "GOFLAGS",
    "RUSTC",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
];

/// How long a documented campaign is here.
const CAMPAIGN: &[&str] = &["-n", "200000", "--seed", "1", "--reporter", "json"];

/// A shell, as far as documents need one.
pub(crate) struct Shell {
    fuzzbox: Fuzzbox,
    folder: PathBuf,
    path: OsString,
    environment: Vec<(&'static str, PathBuf)>,
    /// `export ...`, as they were typed.
    exports: Vec<String>,
    /// What `pip install` and `npm install` are expected to ask for.
    package: Option<String>,
    /// The version of clang that is called `clang`.
    clang: Option<u32>,
}

impl Shell {
    pub(crate) fn new() -> Self {
        let fuzzbox = Fuzzbox::new();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folder = fuzzbox.dir().to_owned();
        Self { fuzzbox, folder, path, environment: Vec::new(), exports: Vec::new(), package: None, clang: None }
    }

    /// One that has a certain clang.
    pub(crate) fn with_clang(version: u32) -> Result<Self> {
        let mut shell = Self::new();
        // Debian's `clang` is the one of these that it prefers.
        shell.put_first(&Path::new("/usr/lib").join(format!("llvm-{version}")).join("bin"))?;
        shell.clang = Some(version);
        Ok(shell)
    }

    /// One that has another toolchain.
    pub(crate) fn with(toolchain: Toolchain) -> Result<Self> {
        let mut shell = Self::new();
        shell.put_first(&toolchain.programs)?;
        // `npx` looks for programs in the folder.
        if toolchain.programs.ends_with("node_modules/.bin") {
            let modules = toolchain.programs.parent().context("it lies in one")?;
            std::os::unix::fs::symlink(modules, shell.folder.join("node_modules"))?;
        }
        shell.environment = toolchain.environment;
        shell.package = Some(toolchain.package);
        Ok(shell)
    }

    /// Programs that are found before others.
    pub(crate) fn put_first(&mut self, folder: &Path) -> Result<()> {
        let all = [folder.to_owned()].into_iter().chain(std::env::split_paths(&self.path));
        self.path = std::env::join_paths(all)?;
        Ok(())
    }

    /// Where commands are typed.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn change_to(&mut self, folder: &str) {
        self.folder.push(folder);
    }

    /// Writes the files, types the commands, and gives the last campaign.
    pub(crate) fn follow(&mut self, blocks: &[Block]) -> Result<Ran> {
        let mut last = None;
        for block in blocks {
            match block {
                Block::File(name, text) => self.write(name, text)?,
                Block::Part(..) => {}
                Block::Commands(lines) => {
                    for line in lines {
                        last = self.type_line(line)?.or(last);
                    }
                }
            }
        }
        last.context("no line runs fuzzbox")
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().context("a file lies in a folder")?)?;
        fs::write(&path, text).with_context(|| format!("failed to write `{}`", path.display()))
    }

    /// Types one line. Of `fuzzbox run` it says what came of it.
    pub(crate) fn type_line(&mut self, line: &str) -> Result<Option<Ran>> {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["sudo", "apt-get", "install", ..] => self.install(&words[3..])?,
            // Where rustup can't, there is another way.
            ["rustup", "target", "add", _] => drop(guests::rustc()?),
            ["pip" | "npm", "install", ..] => {
                let package = self.package.as_deref();
                ensure!(package == Some(line), "`{line}` installs another toolchain than {package:?}");
            }
            ["cd", to] => self.folder.push(to),
            ["export", ..] => self.exports.push(line.to_owned()),
            ["fuzzbox", "run" | "cargo", ..] => return self.fuzz(&[&words[1..], CAMPAIGN].concat()).map(Some),
            ["fuzzbox", ..] => {
                let ran = self.fuzz(&words[1..])?;
                ensure!(ran.code == 0, "`{line}`: {ran:?}");
            }
            _ => self.shell(line)?,
        }
        Ok(None)
    }

    /// The packages for the clang that this shell has.
    fn install(&self, packages: &[&str]) -> Result<()> {
        let version = self.clang.context("packages are for clang")?;
        let versioned = |package: &&str| match package.strip_suffix("-dev-wasm32") {
            Some(library) => format!("{library}-{version}-dev-wasm32"),
            None if ["clang", "lld"].contains(package) => format!("{package}-{version}"),
            None => (*package).to_owned(),
        };
        let versioned: Vec<String> = packages.iter().map(versioned).collect();
        guests::provide_packages(&versioned.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn fuzz(&self, words: &[&str]) -> Result<Ran> {
        let mut command = self.fuzzbox.command(words);
        if words[0] == "cargo" {
            NOT_OURS.iter().for_each(|variable| _ = command.env_remove(variable));
            command.env("RUSTC", guests::rustc()?);
        }
        let output = command.current_dir(&self.folder).output()?;
        Ok(Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout)?,
            stderr: String::from_utf8(output.stderr)?,
        })
    }

    fn shell(&self, line: &str) -> Result<()> {
        let script = self.exports.iter().map(String::as_str).chain([line]).collect::<Vec<_>>().join("\n");
        let mut shell = Command::new("sh");
        for variable in NOT_OURS {
            shell.env_remove(variable);
        }
        if line.starts_with("cargo ") {
            shell.env("RUSTC", guests::rustc()?);
        }
        shell.envs(self.environment.iter().map(|(name, value)| (name, value))).env("PATH", &self.path);
        let output = shell.args(["-e", "-c", &script]).current_dir(&self.folder).stdin(Stdio::null()).output()?;
        ensure!(
            output.status.success(),
            "`{line}`\n{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    }
}

/// Copies a folder's files into another folder, which is made.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    disk::copy(from, to).with_context(|| format!("failed to copy `{}`", from.display()))
}
