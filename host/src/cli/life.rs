//! `fuzzbox ignore` and `fuzzbox close`: what people say of findings.

use super::exit::{Exit, Verdict};
use super::findings;
use super::store_args::StoreArgs;
use super::write::say;
use crate::store::{Fate, Verdict as Fated};

/// Flags of `ignore`.
#[derive(Debug, clap::Args)]
pub(super) struct IgnoreArgs {
    /// First digits of the finding's hash, or of its input's
    #[arg(value_name = "HASH")]
    hash: String,
    /// Hear of it again
    #[arg(long)]
    undo: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// Flags of `close`.
#[derive(Debug, clap::Args)]
pub(super) struct CloseArgs {
    /// First digits of the finding's hash, or of its input's
    #[arg(value_name = "HASH")]
    hash: String,
    #[command(flatten)]
    store: StoreArgs,
}

impl IgnoreArgs {
    pub(super) fn run(self) -> Verdict {
        let store = self.store.open_existing()?;
        let record = findings::find(&store, &self.hash, "only findings are ignored")?;
        store.ignore(&record, !self.undo)?;
        let what = if self.undo { "no longer ignored" } else { "ignored from now on" };
        say!("{what} in {}: {}", record.target, record.signature);
        Ok(Exit::Clean)
    }
}

impl CloseArgs {
    pub(super) fn run(self) -> Verdict {
        let store = self.store.open_existing()?;
        let record = findings::find(&store, &self.hash, "only findings are closed")?;
        let latest = store.modules(&record.target)?.last().map_or(record.module, |entry| entry.module);
        store.add_verdicts(&record.target, &[Fated { finding: record.id, module: latest, fate: Fate::Closed }])?;
        say!("closed finding {} of {}: {}", record.id, record.target, record.signature);
        Ok(Exit::Clean)
    }
}
