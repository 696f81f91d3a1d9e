//! Where the store is.

use super::exit::{Fault, UserError};
use super::write::{shown, tell};
use crate::store::Store;
use anyhow::Context;
use clap::Args;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Args)]
pub(super) struct StoreArgs {
    /// The store's directory [default: the nearest .fuzzbox upwards, else a new one here]
    #[arg(long, value_name = "DIR", help_heading = "Store")]
    store: Option<PathBuf>,
    /// Where a new one is made, if not here: the top of a project, whose version control is not to see it.
    #[arg(skip)]
    project: Option<PathBuf>,
}

/// Keeps a store out of version control.
const IGNORE_ALL: &str = "*\n";

impl StoreArgs {
    /// Has a new store made in this folder, whose version control is not to see it.
    pub(super) fn set_project(&mut self, folder: PathBuf) {
        self.project = Some(folder);
    }

    /// Opens the store, and makes it if there is none. One that was found elsewhere than here is told.
    pub(super) fn open_or_create(&self) -> Result<Store, Fault> {
        if let Some(dir) = &self.store {
            return Ok(Store::open_or_create(dir)?);
        }
        let here = here()?;
        match Store::find(&here).blame_user()? {
            Some(found) => {
                if found.path().parent() != Some(&here) {
                    tell(&format!("note: the store is `{}`", shown(found.path())));
                }
                Ok(found.open_or_create()?)
            }
            None => self.create(&here),
        }
    }

    fn create(&self, here: &Path) -> Result<Store, Fault> {
        let dir = self.project.as_deref().unwrap_or(here).join(".fuzzbox");
        let store = Store::open_or_create(&dir)?;
        if self.project.is_some() {
            let ignore = dir.join(".gitignore");
            std::fs::write(&ignore, IGNORE_ALL).with_context(|| format!("failed to write `{}`", shown(&ignore)))?;
        }
        Ok(store)
    }

    /// Opens the store; it is the user's error if there is none.
    pub(super) fn open_existing(&self) -> Result<Store, Fault> {
        let Some(dir) = &self.store else {
            let found = Store::find(&here()?).blame_user()?;
            let found = found
                .context("there is no store (.fuzzbox) in this directory or above it\nhelp: name it with --store, or make one with `fuzzbox run`")
                .blame_user()?;
            return Ok(found.open_existing()?);
        };
        if !dir.exists() {
            return Err(anyhow::anyhow!("there is no store at `{}`", shown(dir))).blame_user();
        }
        Ok(Store::open_existing(dir)?)
    }
}

/// The current directory.
pub(super) fn here() -> Result<PathBuf, Fault> {
    Ok(std::env::current_dir().context("failed to find the current directory")?)
}
