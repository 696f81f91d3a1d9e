//! Exit codes, and which error gives which.

use crate::store::StoreError;
use crate::text::printable;
use std::fmt;

/// How the process ends: part of the command line's contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Finished, and nothing was found; also after one Ctrl-C.
    Clean = 0,
    /// At least one finding; `repro` and `replay`: it still fails.
    Findings = 1,
    /// Bad flag, bad file, not a target.
    Usage = 2,
    /// fuzzbox itself failed: I/O, store, internal.
    Failed = 3,
    /// Nothing was executed.
    NothingExecuted = 4,
    /// `hunt`: a goal was not reached, and nothing was found on the way.
    NotReached = 5,
}

/// An error and whose fault it is.
pub struct Fault {
    /// [`Exit::Usage`] or [`Exit::Failed`].
    pub exit: Exit,
    /// What went wrong.
    pub error: anyhow::Error,
}

/// What every verb returns.
pub type Verdict = Result<Exit, Fault>;

impl From<anyhow::Error> for Fault {
    /// Without further word an error is our own; that a store is none, or of another version, is for the user to
    /// change.
    fn from(error: anyhow::Error) -> Self {
        use StoreError::{Absent, Foreign, Future, Prefix, TargetName};
        let of_user = matches!(
            error.downcast_ref(),
            Some(Absent { .. } | Foreign { .. } | Future { .. } | Prefix { .. } | TargetName { .. })
        );
        Self { exit: if of_user { Exit::Usage } else { Exit::Failed }, error }
    }
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        Self { exit: Exit::Failed, error: error.into() }
    }
}

/// Says that an error comes from what the user gave.
pub(super) trait UserError<T> {
    /// Turns the error into one that ends with [`Exit::Usage`].
    ///
    /// # Errors
    ///
    /// If `self` is one.
    fn blame_user(self) -> Result<T, Fault>;
}

impl<T> UserError<T> for anyhow::Result<T> {
    fn blame_user(self) -> Result<T, Fault> {
        self.map_err(|error| Fault { exit: Exit::Usage, error })
    }
}

/// What an error says: its text, of which each line is safe to print, and what to do about it.
///
/// Line feeds are ours, or of wasm text that is quoted. A validator quotes names as they are: those can't begin a line.
fn said(cause: &(dyn std::error::Error + 'static)) -> (String, Option<String>) {
    let text = cause.to_string();
    if is_foreign(cause) {
        return (printable(&text), None);
    }
    let lines = |text: &str| text.trim_end().lines().map(printable).collect::<Vec<_>>().join("\n    ");
    match text.split_once("\nhelp: ") {
        Some((text, help)) if !cause.is::<wat::Error>() => (lines(text), Some(printable(help))),
        _ => (lines(&text), None),
    }
}

/// Whether an error's text is one line but for what it quotes: made by others, or about a store.
fn is_foreign(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.is::<wasmparser::BinaryReaderError>()
        || cause.is::<std::io::Error>()
        || cause.is::<serde_json::Error>()
        || cause.is::<StoreError>()
}

impl fmt::Display for Fault {
    /// `error: what` + `caused by:` lines + at most one `help:` line. Nothing in them drives a terminal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut help = None;
        for (depth, cause) in self.error.chain().enumerate() {
            let (text, hint) = said(cause);
            let of_store =
                || cause.downcast_ref::<StoreError>().and_then(StoreError::help).map(|help| printable(&help));
            help = help.or(hint).or_else(of_store);
            if depth == 0 {
                write!(f, "error: {text}")?;
            } else {
                write!(f, "\n  caused by: {text}")?;
            }
        }
        if let Some(help) = help {
            write!(f, "\nhelp: {help}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::{Context, anyhow};

    #[test]
    fn an_error_is_one_line_its_causes_and_one_help() {
        let error = Err::<(), _>(anyhow!("too large\nhelp: raise --x")).context("failed to read target `a`");
        let Err(fault) = error.blame_user() else { panic!("it is an error") };
        assert_eq!(fault.to_string(), "error: failed to read target `a`\n  caused by: too large\nhelp: raise --x");
        assert_eq!(fault.exit, Exit::Usage);
    }

    #[test]
    fn what_an_error_quotes_drives_no_terminal_and_begins_no_line() {
        let foreign = std::io::Error::other("a\x1b[2J\nhelp: rm \u{202e}\n");
        let fault = Fault::from(anyhow::Error::from(foreign).context("failed to read `\x07`"));
        let expected = "error: failed to read `\\u{7}`\n  caused by: a\\u{1b}[2J\\u{a}help: rm \\u{202e}\\u{a}";
        assert_eq!(fault.to_string(), expected);

        let quoted = wat::parse_str("(module\n (func i32.\x1b]0;x\x07 \u{202e}))").unwrap_err();
        let text = Fault::from(anyhow::Error::from(quoted)).to_string();
        assert!(text.lines().count() > 2 && text.lines().all(|line| printable(line) == line), "{text}");
    }

    #[test]
    fn that_a_store_is_of_another_version_is_for_the_user_to_change() {
        let future = StoreError::Future { path: "s".into(), version: 2, version_max: 1 };
        let fault = Fault::from(anyhow::Error::from(future).context("failed to open"));
        assert_eq!(fault.exit, Exit::Usage);
        assert_eq!(Fault::from(anyhow!("disk")).exit, Exit::Failed);
    }
}
