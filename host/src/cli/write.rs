//! What all verbs write with: standard output, and errors and warnings on standard error.
//!
//! Text from modules, files and stores is in all that is said, so nothing is printed here that could drive a terminal:
//! not in lines ([`say`], [`warning`], [`tell`]), and not in JSON ([`say_json`]). Bytes that are asked for as such go
//! to [`Out`].

use crate::text::{cut, printable, printable_json};
use anyhow::{Context, Result};
use serde::Serialize;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, ErrorKind, LineWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Standard output. If nobody reads it any more (`| head`) what is written goes nowhere, and the verb does what it was
/// asked for: its exit code is worth as much. Other errors say what could not be written to.
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

/// A file that events are written to, whose errors name it. As with standard output its reader may go away, if it is a
/// pipe.
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

/// Columns of a line on standard error: no message is as long, but what it quotes can be a file of one line.
const TOLD_COLUMNS_MAX: usize = 1000;
/// Columns that are told of a longer line on both sides of the place that a message points to.
const AROUND_COLUMNS: usize = 40;

/// Writes lines on standard error, each of them safe to print. That this fails can be told nobody.
pub(super) fn tell(text: &str) {
    let text: String = narrowed(text).into_iter().flat_map(|line| [printable(&line), "\n".to_owned()]).collect();
    drop(io::stderr().write_all(text.as_bytes()));
}

/// The lines of `text`, long ones cut. Where a line quotes wasm text, `7 | (module`, and the next points to a place in
/// it, `  |   ^`, what lies around the place is left.
fn narrowed(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for at in 0..lines.len() {
        if lines[at].len() <= TOLD_COLUMNS_MAX {
            continue;
        }
        match lines.get(at + 1).and_then(|next| around(&lines[at], next)) {
            Some((quoted, pointer)) => (lines[at], lines[at + 1]) = (quoted, pointer),
            None => lines[at] = cut(&lines[at], TOLD_COLUMNS_MAX),
        }
    }
    lines
}

/// What a long line quotes around the place that the `pointer` under it points to, and a pointer to that; `None` if it
/// points nowhere.
fn around(line: &str, pointer: &str) -> Option<(String, String)> {
    let (gutter, to_place) = pointer.strip_suffix('^')?.split_once('|')?;
    if !gutter.trim().is_empty() || !to_place.trim().is_empty() {
        return None;
    }
    let (number, quoted) = line.split_once('|')?;
    let place = to_place.len();
    let first = place.saturating_sub(AROUND_COLUMNS);
    let quoted: String = quoted.chars().skip(first).take(2 * AROUND_COLUMNS).collect();
    let (before, shift) = if first == 0 { ("", 0) } else { ("…", 1) };
    Some((format!("{number}|{before}{quoted}…"), format!("{gutter}|{}^", " ".repeat(place - first + shift))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::columns;

    #[test]
    fn a_long_line_is_cut_around_the_place_that_is_meant() {
        let long = |before: usize| format!("  17 | {}HERE{}", "a".repeat(before), "b".repeat(5000));
        let pointer = |before: usize| format!("     | {}^", " ".repeat(before));
        for before in [0, 7, 39, 40, 3000] {
            let lines = narrowed(&format!("error: bad\n{}\n{}", long(before), pointer(before)));
            assert_eq!((lines.len(), lines[0].as_str()), (3, "error: bad"));
            let place = lines[2].chars().position(|c| c == '^').unwrap();
            assert!(lines[1].chars().count() < 100 && lines[1].starts_with("  17 |"), "{before}: {lines:?}");
            assert_eq!(lines[1].chars().skip(place).take(4).collect::<String>(), "HERE", "{before}: {lines:?}");
        }
        // Without a place, and where the next line is none.
        assert_eq!(columns(&narrowed(&long(9))[0]), TOLD_COLUMNS_MAX);
        assert_eq!(columns(&narrowed(&format!("{}\n | x ^", long(9)))[0]), TOLD_COLUMNS_MAX);
        assert_eq!(narrowed("short\nlines"), ["short", "lines"]);
    }
}
