//! The command line as tests type it, each with a store of its own.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The binary with the real `main`; cargo tells only integration tests where it is. `FUZZBOX_BINARY` names another one, such as
/// a release build.
fn binary() -> PathBuf {
    if let Some(named) = std::env::var_os("FUZZBOX_BINARY") {
        return named.into();
    }
    // target/<profile>/deps/<test> -> target/<profile>/fuzzbox-under-test
    let test = std::env::current_exe().expect("the test has a path");
    let dir = test.parent().and_then(Path::parent).expect("tests lie in target/<profile>/deps");
    dir.join(format!("fuzzbox-under-test{}", std::env::consts::EXE_SUFFIX))
}

/// The path of an example's module, as an argument.
///
/// # Panics
///
/// If there is no such example.
pub fn example(name: &str) -> String {
    let path = crate::example(name).unwrap_or_else(|error| panic!("{error:#}"));
    path.to_str().expect("a path in text").to_owned()
}

/// A store in a directory of its own, and the command that uses it.
#[derive(Debug)]
pub struct Fuzzbox {
    dir: tempfile::TempDir,
}

/// What a command did.
#[derive(Debug)]
pub struct Ran {
    /// Exit code; -1 if a signal ended it.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Fuzzbox {
    /// A new directory without a store.
    ///
    /// # Panics
    ///
    /// If no temporary directory can be made.
    #[expect(clippy::new_without_default, reason = "it makes a directory")]
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    /// The command with `arguments`, in the directory of the store.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.current_dir(self.dir.path()).args(arguments).stdin(Stdio::null());
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env("XDG_CACHE_HOME", self.user_cache());
        command
    }

    /// Runs `fuzzbox verb operands flags`.
    ///
    /// # Panics
    ///
    /// If it can't be started or prints what is not text.
    pub fn run(&self, verb: &str, operands: &[&str], flags: &[&str]) -> Ran {
        let arguments = [&[verb], operands, flags].concat();
        let output = self.command(&arguments).output().expect("the command can be started");
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
        }
    }

    /// The directory that commands run in.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The store's directory.
    pub fn store(&self) -> PathBuf {
        self.dir.path().join(".fuzzbox")
    }

    /// What commands take for the user's cache directory.
    pub fn user_cache(&self) -> PathBuf {
        self.dir.path().join(".user-cache")
    }

    /// A file of the store.
    ///
    /// # Panics
    ///
    /// If it can't be read.
    pub fn read(&self, below: &str) -> Vec<u8> {
        let path = self.store().join(below);
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Deletes a folder of the store, if there is one.
    pub fn delete(&self, below: &str) {
        let _ = std::fs::remove_dir_all(self.store().join(below));
    }
}

impl Ran {
    /// Standard output as JSON lines.
    ///
    /// # Panics
    ///
    /// If it is something else.
    pub fn json_lines(&self) -> Vec<Value> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}\n{self:?}"));
        self.stdout.lines().map(parse).collect()
    }
}
