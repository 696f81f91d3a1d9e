//! Where the store is.

use super::exit::{Fault, UserError};
use super::write::{shown, tell};
use crate::store::Store;
use anyhow::Context;
use clap::Args;
use std::path::PathBuf;

#[derive(Clone, Debug, Args)]
pub(super) struct StoreArgs {
    /// The store's directory [default: the nearest .fuzzbox upwards, else a new one here]
    #[arg(long, value_name = "DIR", help_heading = "Store")]
    store: Option<PathBuf>,
}

impl StoreArgs {
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
            None => Ok(Store::open_or_create(&here.join(".fuzzbox"))?),
        }
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

fn here() -> Result<PathBuf, Fault> {
    Ok(std::env::current_dir().context("failed to find the current directory")?)
}
