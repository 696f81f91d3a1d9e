//! Findings that are named on the command line.

use super::compiling;
use super::exit::{Fault, UserError};
use super::input::one_match;
use super::linking::LinkArgs;
use super::target_args::linked_candidate;
use crate::sandbox::{Candidate, Code, CodeCache, Target};
use crate::session::records;
use crate::store::{FindingRecord, Match, Store};
use anyhow::{Context, anyhow};
use std::path::Path;

/// The finding that `hash` means: its own id, or its input's. `instead` says what to type if it is none.
pub(super) fn find(store: &Store, hash: &str, instead: &str) -> Result<FindingRecord, Fault> {
    match one_match(store, hash)? {
        Match::Finding { target, id, .. } => Ok(store.finding(&target, id)?),
        other => Err(anyhow!("`{hash}` is not a finding, it is {other}\nhelp: {instead}")).blame_user(),
    }
}

/// Another build of a finding's target, read from `path` and with what is linked to it, under the finding's settings.
pub(super) fn another_build(
    store: &Store,
    record: &FindingRecord,
    path: &Path,
    linking: &LinkArgs,
) -> Result<Candidate, Fault> {
    let candidate = linked_candidate(path, records::settings(record)?.of_another_module(), linking)?;
    Ok(records::compared(store, record, candidate)?)
}

/// Compiles the module that a finding was found in.
pub(super) fn compile(record: &FindingRecord, candidate: Candidate) -> Result<Target, Fault> {
    let optimised = (&CodeCache::of_user(), Code::Optimised, None);
    let target = compiling::compile(&record.target, candidate, optimised, &mut compiling::live())?;
    Ok(target.context("failed to load the finding's module")?)
}
