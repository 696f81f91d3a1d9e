//! `fuzzbox export`: a target's corpus as files that every fuzzer reads.

use super::exit::{Exit, UserError, Verdict};
use super::store_args::StoreArgs;
use super::write::{say, shown, warning};
use crate::text::{counted, nearest, printable};
use anyhow::anyhow;
use std::path::PathBuf;

/// Flags of `export`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The directory to write to; made if it does not exist
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The target's name [default: the only one]
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// Also write the findings' inputs
    #[arg(long)]
    findings: bool,
    #[command(flatten)]
    store: StoreArgs,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        let store = self.store.open_existing()?;
        let names = store.target_names()?;
        let name = match (&self.target, &*names) {
            (Some(name), names) if names.contains(name) => name.clone(),
            (None, [name]) => name.clone(),
            (None, []) => return Err(anyhow!("the store has no targets")).blame_user(),
            (Some(name), _) => {
                let shown: Vec<_> = names.iter().map(|name| printable(name)).collect();
                let near = nearest(name, names.iter().map(String::as_str));
                let help = near.map_or_else(String::new, |near| format!("\nhelp: did you mean `{}`?", printable(near)));
                return Err(anyhow!(
                    "the store has no target `{}`; it has {}{help}",
                    printable(name),
                    shown.join(", ")
                ))
                .blame_user();
            }
            (None, _) => {
                return Err(anyhow!(
                    "the store has several targets\nhelp: choose one of {} with --target",
                    printable(&names.join(", "))
                ))
                .blame_user();
            }
        };
        let exported = store.export(&name, &self.dir, self.findings)?;
        for error in &exported.damaged {
            warning!("{error:#}");
        }
        let findings =
            if self.findings { format!(" and {}", counted(exported.findings, "finding")) } else { String::new() };
        say!("{name}: {}{findings} in {}", counted(exported.inputs, "input"), shown(&self.dir));
        Ok(Exit::Clean)
    }
}
