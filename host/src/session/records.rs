//! Records of failures: made, renamed, and compared with what fails now.

use super::execution::Execution;
use crate::failure::{Signature, signature_of};
use crate::id::{FindingId, InputId, ObjectId};
use crate::outcome::{FailureKind, Trap, TrapKind};
use crate::sandbox::{Candidate, Code, CodeCache, Target};
use crate::settings::Settings;
use crate::store::{FindingRecord, Store};
use crate::symbols::Symbols;
use anyhow::{Context, Result, ensure};

/// The settings of the executions in which a finding fails.
pub(crate) fn settings(record: &FindingRecord) -> Result<Settings> {
    let read = || -> Result<Settings> {
        let settings: Settings = serde_json::from_value(record.settings.clone())?;
        settings.check_limits()?;
        Ok(settings)
    };
    read().with_context(|| format!("failed to read the settings of finding {}", record.id))
}

/// The module that a finding was found in, not compiled yet, with the one that it was compared with.
pub(crate) fn candidate(store: &Store, record: &FindingRecord) -> Result<Candidate> {
    let bytes = store.get(record.module_object).context("failed to read the finding's module")?;
    let candidate = Candidate::new(&bytes, settings(record)?).context("failed to load the finding's module")?;
    compared(store, record, candidate)
}

/// A build of a finding's target, compared with the one that the finding was, if it is a difference.
pub(crate) fn compared(store: &Store, record: &FindingRecord, candidate: Candidate) -> Result<Candidate> {
    let Some(object) = record.against_object else { return Ok(candidate) };
    let settings = settings(record)?;
    let (expected, compare) = (settings.against, settings.compare);
    let bytes = store.get(object).context("failed to read the module that the finding's is compared with")?;
    let other = Candidate::new(&bytes, settings.of_another_module())
        .context("failed to load the module that the finding's is compared with")?;
    ensure!(
        expected == Some(other.id),
        "the module that finding {} was compared with is another one than its settings say",
        record.id
    );
    candidate.with_against(other, compare)
}

/// What a failure of one kind is stored by.
pub(crate) struct Address {
    /// Hash of all of it and the input.
    pub(crate) id: FindingId,
    pub(crate) settings: serde_json::Value,
    /// The file of the other build, for a difference. It is in the store.
    pub(crate) against_object: Option<ObjectId>,
}

impl Address {
    /// Of a failure that `input` shows on `target`.
    pub(crate) fn new(store: &Store, target: &Target, kind: FailureKind, input: InputId) -> Result<Self> {
        let candidate = &target.candidate;
        let other = candidate.against().filter(|_| kind == FailureKind::Difference);
        let against_object = other.map(|other| store.put(other.file()).context("failed to store the other module"));
        Ok(Self {
            id: target.finding_id(input, kind),
            settings: serde_json::to_value(candidate.settings_of(kind))?,
            against_object: against_object.transpose()?,
        })
    }
}

/// The module that a finding was found in.
pub(crate) fn load(store: &Store, record: &FindingRecord) -> Result<Target> {
    Target::compiled(candidate(store, record)?, &CodeCache::of_user(), Code::Optimised)
        .context("failed to load the finding's module")
}

/// The record of a failure, as if no campaign had found it.
pub(crate) fn new_record(
    store: &Store,
    name: &str,
    target: &Target,
    symbols: &Symbols,
    execution: &Execution,
    input: &[u8],
) -> Result<FindingRecord> {
    let module_object =
        store.add_module(name, target.candidate.id, target.candidate.file()).context("failed to store the module")?;
    let id = InputId::of(input);
    let outcome = &execution.outcome;
    let (kind, trap) = outcome.failure().context("what failed doesn't fail when it is executed again")?;
    let Signature { name: signature, lineless } = signature_of(outcome, symbols);
    let Address { id: finding, settings, against_object } = Address::new(store, target, kind, id)?;
    Ok(FindingRecord {
        v: FindingRecord::VERSION,
        id: finding,
        target: name.to_owned(),
        module: target.candidate.id,
        module_object,
        input: id,
        input_bytes: input.len() as u64,
        kind,
        signature,
        lineless,
        frames: symbols.resolve(&trap.frames),
        settings,
        against_object,
        found_at_execs: 0,
        seed: 0,
        strategy: String::new(),
        engine: concat!("fuzzbox ", env!("CARGO_PKG_VERSION")).to_owned(),
        former: Vec::new(),
        drawn: execution.stored(store, target)?,
        said: execution.said.clone(),
    })
}

/// What a stored failure is called now: names, lines and libraries are told better than they were by the version that
/// found it. `symbols` are those of its module. `None` where the guest itself says what it is.
fn signature_now(record: &FindingRecord, symbols: &Symbols) -> Option<Signature> {
    let word = record.signature.split(':').next().unwrap_or_default();
    let kind = match FailureKind::of_name(word) {
        // What differs is in no frame.
        Some(FailureKind::Difference) => return None,
        Some(_) => TrapKind::Other,
        None => TrapKind::of_name(word).filter(|kind| *kind != TrapKind::Failed)?,
    };
    let frames = crate::symbols::unresolved(&record.frames).into_iter().take(Trap::FRAMES_MAX).collect();
    Some(crate::failure::signature(record.kind, &Trap { kind, class: None, frames }, symbols))
}

/// The record, if it is of the failure that was `seen` in the module that it was found in, by the better of both names.
pub(crate) fn recognised(record: &FindingRecord, seen: &Signature, symbols: &Symbols) -> Option<FindingRecord> {
    let stored = record.signature();
    if stored.is_same(seen) {
        let best = if stored.lineless.is_some() { stored } else { seen.clone() };
        return Some(record.clone().renamed(best));
    }
    let now = signature_now(record, symbols).filter(|now| now.is_same(seen));
    now.map(|_| record.clone().renamed(seen.clone()))
}

/// Whether a failure of another build is the one that was found.
pub(crate) fn is_same_in_another_build(store: &Store, record: &FindingRecord, seen: &Signature) -> bool {
    let now = || -> Result<Option<Signature>> {
        let symbols = stored_symbols(&store.get(record.module_object)?, settings(record)?.call.as_deref())?;
        Ok(signature_now(record, &symbols))
    };
    record.signature().is_same(seen) || now().ok().flatten().is_some_and(|now| now.is_same(seen))
}

/// Names and lines of a stored module, which a recipe may call, as far as they are in it.
pub(crate) fn stored_symbols(module: &[u8], call: Option<&str>) -> Result<Symbols> {
    let module = crate::sandbox::core_module(module, call)?;
    let cfgs = fuzzbox_instrument::Cfgs::new(&module)?;
    Ok(Symbols::new(&module[..], |index: u32| cfgs.names().get(index as usize).cloned().flatten()))
}

/// Renames the findings of a module to what they are called now, so that they are known if they are found again. Those
/// of one bug become one.
pub(crate) fn renamed(store: &Store, name: &str, target: &Target, symbols: &Symbols) -> Result<()> {
    for record in store.findings(Some(name))?.iter().filter(|record| record.module == target.candidate.id) {
        let stored = record.signature();
        let Some(now) = signature_now(record, symbols) else { continue };
        // Lines may be known no more.
        if now == stored || now.lineless.is_none() && now.is_same(&stored) {
            continue;
        }
        let Ok(input) = store.finding_input(record) else { continue };
        store.add_finding(&record.clone().renamed(now), &input).context("failed to rename a finding")?;
    }
    Ok(())
}
