//! What can be wrong with a store, as values: callers choose exit codes and print the help.

use std::fmt;
use std::path::PathBuf;

/// A store, or a part of one, that can't be used as it is. Plain I/O failures are `anyhow` errors with the path.
///
/// Returned inside [`anyhow::Error`]; `error.downcast_ref::<StoreError>()` gets it back through any added context.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// No store where one is needed.
    Absent {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The directory is in use for something else.
    Foreign {
        /// The directory or file.
        path: PathBuf,
        /// What tells so, in words.
        why: String,
    },
    /// Found by looking upwards, and not to be used without being asked.
    Stray {
        /// The directory or link.
        path: PathBuf,
        /// What tells so, in words that follow its path.
        why: &'static str,
    },
    /// Written by a later version of fuzzbox.
    Future {
        /// The file that says so.
        path: PathBuf,
        /// Its version.
        version: u64,
        /// The latest version known here.
        version_max: u64,
    },
    /// Bytes that are not what was written.
    Damaged {
        /// What is damaged: `object 3f2a...`, `finding 77ab... of json`.
        what: String,
        /// How that was noticed, in words.
        why: String,
        /// The file, to look at or to delete.
        path: PathBuf,
    },
    /// Something that was asked for by its id and isn't there.
    Missing {
        /// What was asked for: `object 3f2a...`.
        what: String,
        /// The store's directory.
        root: PathBuf,
    },
    /// More than a limit allows.
    TooLarge {
        /// What is too large.
        what: String,
        /// Its size.
        bytes: u64,
        /// The limit.
        bytes_max: u64,
    },
    /// A target name that can't name a directory.
    TargetName {
        /// The name.
        name: String,
        /// Why it can't, in words.
        why: &'static str,
    },
    /// Not the beginning of a hash.
    Prefix {
        /// What was given instead.
        text: String,
    },
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent { path } => write!(f, "there is no store at `{}`", path.display()),
            Self::Foreign { path, why } => write!(f, "`{}` is not a fuzzbox store: {why}", path.display()),
            Self::Stray { path, why } => write!(f, "the store `{}` {why}", path.display()),
            Self::Future { path, version, version_max } => write!(
                f,
                "`{}` was written by a newer fuzzbox (version {version}, this one reads up to {version_max})",
                path.display()
            ),
            Self::Damaged { what, why, .. } => write!(f, "{what} is damaged: {why}"),
            Self::Missing { what, root } => write!(f, "{what} is not in the store `{}`", root.display()),
            Self::TooLarge { what, bytes, bytes_max } => {
                write!(f, "{what} is too large: {bytes} bytes, the limit is {bytes_max}")
            }
            Self::TargetName { name, why } => write!(f, "target name `{}` {why}", name.escape_debug()),
            Self::Prefix { text } => {
                write!(f, "`{}` is not the beginning of a hash (4 to 64 hex digits)", text.escape_debug())
            }
        }
    }
}

impl std::error::Error for StoreError {}

impl StoreError {
    /// What to do about it: the text of a `help:` line.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Absent { .. } => Some("`fuzzbox run` creates one; `--store DIR` names another".into()),
            Self::Foreign { .. } => Some("name a new or empty directory with `--store DIR`".into()),
            Self::Stray { path, .. } => Some(format!("`--store {}` uses it all the same", path.display())),
            Self::Future { .. } => Some("update fuzzbox, or name another store with `--store DIR`".into()),
            Self::Damaged { path, .. } => {
                Some(format!("delete `{}`, or run or import the same again: that writes it anew", path.display()))
            }
            Self::Missing { .. } => Some("`fuzzbox ls` lists what is there; `--store DIR` names another store".into()),
            Self::TargetName { .. } => Some("--name NAME gives it another".into()),
            Self::TooLarge { .. } | Self::Prefix { .. } => None,
        }
    }
}
