//! Where the store is.

use super::exit::{Fault, UserError};
use super::write::shown;
use crate::sandbox::CodeCache;
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
    /// Opens the store, and makes it if there is none.
    pub(super) fn open_or_create(&self) -> Result<Store, Fault> {
        let dir = match &self.store {
            Some(dir) => dir.clone(),
            None => {
                let here = std::env::current_dir().context("failed to find the current directory")?;
                Store::find(&here).unwrap_or_else(|| here.join(".fuzzbox"))
            }
        };
        Ok(Store::open_or_create(&dir)?)
    }

    /// Opens the store; it is the user's error if there is none.
    pub(super) fn open_existing(&self) -> Result<Store, Fault> {
        let dir = match &self.store {
            Some(dir) => dir.clone(),
            None => {
                let here = std::env::current_dir().context("failed to find the current directory")?;
                Store::find(&here)
                    .context("there is no store (.fuzzbox) in this directory or above it\nhelp: name it with --store, or make one with `fuzzbox run`")
                    .blame_user()?
            }
        };
        if !dir.exists() {
            return Err(anyhow::anyhow!("there is no store at `{}`", shown(&dir))).blame_user();
        }
        Ok(Store::open_existing(&dir)?)
    }

    /// Compiled code in the store, if there is one.
    pub(super) fn code(&self) -> CodeCache {
        self.open_existing().map_or_else(|_| CodeCache::default(), |store| CodeCache::new(&store))
    }
}
