//! Exit codes, and which error gives which.

use crate::store::StoreError;
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
    /// Without further word an error is our own.
    fn from(error: anyhow::Error) -> Self {
        Self { exit: Exit::Failed, error }
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

impl Fault {
    /// Whether the reader of our output went away (`| head`): nothing to complain about.
    pub fn is_broken_pipe(&self) -> bool {
        let kind = |cause: &(dyn std::error::Error + 'static)| {
            cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind)
        };
        self.error.chain().any(|cause| kind(cause) == Some(std::io::ErrorKind::BrokenPipe))
    }
}

impl fmt::Display for Fault {
    /// `error: what` + `caused by:` lines + at most one `help:` line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut help = None;
        for (depth, cause) in self.error.chain().enumerate() {
            let text = cause.to_string();
            let (text, hint) =
                text.split_once("\nhelp: ").map_or((&*text, None), |(text, hint)| (text, Some(hint.to_owned())));
            let of_store = || cause.downcast_ref::<StoreError>().and_then(StoreError::help);
            help = help.or(hint).or_else(of_store);
            let text = text.trim_end().replace('\n', "\n    ");
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
}
