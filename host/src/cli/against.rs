//! The flags that say what a target is compared with.

use super::exit::{Fault, UserError};
use super::target_args::candidate;
use super::write::shown;
use crate::sandbox::Candidate;
use crate::settings::Compare;
use anyhow::Context;
use clap::Args;
use std::path::PathBuf;

/// Another build, and what of it is compared. Both become [`Settings`](crate::settings::Settings) of differences.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct AgainstArgs {
    /// Another build of the module, or another implementation with the same entry, which is given each input as well:
    /// what it does otherwise is a finding
    #[arg(long, value_name = "WASM", help_heading = "Target")]
    against: Option<PathBuf>,
    #[arg(long, value_name = "WHAT", help = Compare::HELP, default_value_t, requires = "against", help_heading = "Target")]
    compare: Compare,
}

impl AgainstArgs {
    /// Whether there is another build.
    pub(super) fn is_given(&self) -> bool {
        self.against.is_some()
    }

    /// Lets a target be compared with what was named.
    pub(super) fn compared(&self, target: Candidate) -> Result<Candidate, Fault> {
        let Some(path) = &self.against else { return Ok(target) };
        let other = candidate(path, target.settings.of_another_module())?;
        let compared = target.with_against(other, self.compare);
        compared.with_context(|| format!("failed to compare with `{}`", shown(path))).blame_user()
    }
}
