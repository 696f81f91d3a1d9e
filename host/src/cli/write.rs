//! What all verbs write with: standard output, and errors and warnings on standard error.
//!
//! Text from modules, files and stores is in all that is said, so nothing is printed here that could drive a terminal: not in lines
//! ([`say`], [`warning`], [`tell`]), and not in JSON ([`say_json`]). Bytes that are asked for as such go to [`Out`].

use crate::text::{printable, printable_json};
use anyhow::{Context, Result};
use serde::Serialize;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, ErrorKind, LineWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Standard output. If nobody reads it any more (`| head`) what is written goes nowhere, and the verb does what it was asked for:
/// its exit code is worth as much. Other errors say what could not be written to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Out;

/// Nobody reads standard output any more.
static CLOSED: AtomicBool = AtomicBool::new(false);

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(unless_closed(|| io::stdout().write(bytes))?.unwrap_or(bytes.len()))
    }

    fn flush(&mut self) -> io::Result<()> {
        unless_closed(|| io::stdout().flush()).map(Option::unwrap_or_default)
    }
}

/// The result of writing to standard output; `None` if nobody reads it.
fn unless_closed<T>(write: impl FnOnce() -> io::Result<T>) -> io::Result<Option<T>> {
    if CLOSED.load(Ordering::Relaxed) {
        return Ok(None);
    }
    match write() {
        Ok(written) => Ok(Some(written)),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            CLOSED.store(true, Ordering::Relaxed);
            Ok(None)
        }
        Err(error) => Err(naming("standard output", error)),
    }
}

/// A file that events are written to, whose errors name it. As with standard output its reader may go away, if it is a pipe.
#[derive(Debug)]
pub(super) struct NamedFile {
    pub(super) file: LineWriter<File>,
    pub(super) path: PathBuf,
}

impl NamedFile {
    fn named<T>(&self, result: io::Result<T>, if_closed: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(if_closed),
            Err(error) => Err(naming(&format!("`{}`", shown(&self.path)), error)),
            written => written,
        }
    }
}

impl Write for NamedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        self.named(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        self.named(flushed, ())
    }
}

fn naming(what: &str, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("failed to write to {what}: {error}"))
}

/// A path as text that is safe to print.
pub(super) fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy())
}

/// Prints a line, formatted as by `println!`; returns the error where that would panic.
macro_rules! say {
    ($($arg:tt)*) => {
        $crate::cli::write::line(&format_args!($($arg)*))?
    };
}
pub(super) use say;

/// Prints a line on standard error that begins with `warning:`, formatted as by `println!`.
macro_rules! warning {
    ($($arg:tt)*) => {
        $crate::cli::write::tell(&format!("warning: {}", $crate::text::printable(&format!($($arg)*))))
    };
}
pub(super) use warning;

/// Warns of what a room below says.
pub(super) fn warn(text: &str) {
    warning!("{text}");
}

/// Prints one line.
pub(super) fn line(text: &dyn Display) -> io::Result<()> {
    writeln!(Out, "{}", printable(&text.to_string()))
}

/// Prints lines.
pub(super) fn lines(lines: &[String]) -> io::Result<()> {
    lines.iter().try_for_each(|text| line(text))
}

/// Prints a value as one line of JSON.
pub(super) fn say_json(value: &impl Serialize) -> Result<()> {
    let json = serde_json::to_string(value).context("failed to write JSON")?;
    Ok(writeln!(Out, "{}", printable_json(&json))?)
}

/// Writes lines on standard error, each of them safe to print. That this fails can be told nobody.
pub(super) fn tell(text: &str) {
    let text: String = text.lines().flat_map(|line| [printable(line), "\n".to_owned()]).collect();
    drop(io::stderr().write_all(text.as_bytes()));
}
