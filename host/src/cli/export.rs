//! `fuzzbox export`: a target's corpus as files that every fuzzer reads, or its findings as regression tests.

use super::exit::{Exit, Fault, UserError, Verdict};
use super::naming::folders;
use super::store_args::StoreArgs;
use super::write::{say, shown, warning};
use crate::store::{Exported, Store};
use crate::text::{counted, nearest, printable};
use anyhow::{Context, anyhow};
use std::path::{Path, PathBuf};

/// The folder of a repository where campaigns look for inputs that failed once.
const REGRESSIONS: &str = "regressions";

/// Flags of `export`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The directory to write to; made if it does not exist
    #[arg(value_name = "DIR", required_unless_present = "regressions")]
    dir: Option<PathBuf>,
    /// The target's name [default: the only one; with --regressions all, each in a directory of its own]
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// Also write the findings' inputs
    #[arg(long)]
    findings: bool,
    /// Write the findings' inputs and nothing else, fixed ones too, without those that are ignored: a file by the
    /// finding's hash in DIR/<target>/ [default DIR: `regressions` beside the store, which campaigns begin with, and
    /// which can be checked in]
    #[arg(long, conflicts_with = "findings")]
    regressions: bool,
    #[command(flatten)]
    store: StoreArgs,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        let store = self.store.open_existing()?;
        if self.regressions {
            let names = if self.target.is_some() { vec![self.name(&store)?] } else { store.target_names()? };
            for name in names {
                self.regressions(&store, &name)?;
            }
            return Ok(Exit::Clean);
        }
        let (name, dir) = (self.name(&store)?, self.dir.as_deref().context("a directory is named")?);
        let exported = store.export(&name, dir, self.findings)?;
        tell_damaged(&exported);
        let findings =
            if self.findings { format!(" and {}", counted(exported.findings, "finding")) } else { String::new() };
        say!("{name}: {}{findings} in {}", counted(exported.inputs, "input"), shown(dir));
        Ok(Exit::Clean)
    }

    /// Writes the inputs of a target's findings where campaigns look for them.
    fn regressions(&self, store: &Store, name: &str) -> anyhow::Result<()> {
        let beside = store.root().parent().unwrap_or(Path::new(".")).join(REGRESSIONS);
        // As people call it, where that can be the name of a folder.
        let folder = folders(store, name)?.pop().context("a target has a folder")?;
        let dir = self.dir.as_ref().unwrap_or(&beside).join(folder);
        let exported = store.export_regressions(name, &dir)?;
        tell_damaged(&exported);
        match exported.findings {
            0 => say!("{name}: no findings"),
            findings => say!("{name}: {} in {}", counted(findings, "finding"), shown(&dir)),
        }
        Ok(())
    }

    /// The target that was named, or the only one.
    fn name(&self, store: &Store) -> Result<String, Fault> {
        let names = store.target_names()?;
        match (&self.target, &*names) {
            (Some(name), names) if names.contains(name) => Ok(name.clone()),
            (None, [name]) => Ok(name.clone()),
            (None, []) => Err(anyhow!("the store has no targets")).blame_user(),
            (Some(name), _) => {
                let shown: Vec<_> = names.iter().map(|name| printable(name)).collect();
                let near = nearest(name, names.iter().map(String::as_str));
                let help = near.map_or_else(String::new, |near| format!("\nhelp: did you mean `{}`?", printable(near)));
                Err(anyhow!("the store has no target `{}`; it has {}{help}", printable(name), shown.join(", ")))
                    .blame_user()
            }
            (None, _) => Err(anyhow!(
                "the store has several targets\nhelp: choose one of {} with --target",
                printable(&names.join(", "))
            ))
            .blame_user(),
        }
    }
}

/// Says what could not be read from the store.
fn tell_damaged(exported: &Exported) {
    for error in &exported.damaged {
        warning!("{error:#}");
    }
}
