//! Records of failures.

use super::compiling;
use super::drawn::Execution;
use super::exit::{Fault, UserError};
use super::input::one_match;
use crate::report::Symbols;
use crate::sandbox::{Candidate, Code, CodeCache, Settings, Target};
use crate::store::{FindingRecord, InputId, Match, Store};
use anyhow::{Context, Result, anyhow};

/// The finding that `hash` means: its own id, or its input's. `instead` says what to type if it is none.
pub(super) fn find(store: &Store, hash: &str, instead: &str) -> Result<FindingRecord, Fault> {
    match one_match(store, hash)? {
        Match::Finding { target, id, .. } => Ok(store.finding(&target, id)?),
        other => Err(anyhow!("`{hash}` is not a finding, it is {other}\nhelp: {instead}")).blame_user(),
    }
}

/// The settings of the executions in which a finding fails.
pub(super) fn settings(record: &FindingRecord) -> Result<Settings> {
    let read = || -> Result<Settings> {
        let settings: Settings = serde_json::from_value(record.settings.clone())?;
        settings.check_limits()?;
        Ok(settings)
    };
    read().with_context(|| format!("failed to read the settings of finding {}", record.id))
}

/// The module that a finding was found in, not compiled yet.
pub(super) fn candidate(store: &Store, record: &FindingRecord) -> Result<Candidate> {
    let bytes = store.get(record.module_object).context("failed to read the finding's module")?;
    Candidate::new(&bytes, settings(record)?).context("failed to load the finding's module")
}

/// Compiles the module that a finding was found in.
pub(super) fn compile(record: &FindingRecord, candidate: Candidate) -> Result<Target, Fault> {
    let optimised = (&CodeCache::of_user(), Code::Optimised, None);
    let target = compiling::compile(&record.target, candidate, optimised, &mut compiling::live())?;
    Ok(target.context("failed to load the finding's module")?)
}

/// The module that a finding was found in.
pub(super) fn load(store: &Store, record: &FindingRecord) -> Result<Target> {
    Target::compiled(candidate(store, record)?, &CodeCache::of_user(), Code::Optimised)
        .context("failed to load the finding's module")
}

/// The record of a failure, as if no campaign had found it.
pub(super) fn new_record(
    store: &Store,
    name: &str,
    target: &Target,
    symbols: &Symbols,
    execution: &Execution,
    signature: &str,
    input: &[u8],
) -> Result<FindingRecord> {
    let module_object = store.add_module(name, target.id, &target.file).context("failed to store the module")?;
    let id = InputId::of(input);
    let outcome = &execution.outcome;
    Ok(FindingRecord {
        v: FindingRecord::VERSION,
        id: target.result_id(id),
        target: name.to_owned(),
        module: target.id,
        module_object,
        input: id,
        input_bytes: input.len() as u64,
        kind: outcome.name().to_owned(),
        signature: signature.to_owned(),
        frames: outcome.trap().map_or_else(Vec::new, |trap| symbols.resolve(&trap.frames)),
        settings: serde_json::to_value(&target.settings)?,
        found_at_execs: 0,
        seed: 0,
        engine: concat!("fuzzbox ", env!("CARGO_PKG_VERSION")).to_owned(),
        former: Vec::new(),
        drawn: execution.stored(store, target)?,
        said: execution.said.clone(),
    })
}
