//! What is known of a target, tried on another build of it.
//!
//! The inputs of findings of older builds are first inputs like those of the corpus, and come before these: what they
//! show is kept and recalled in the same way. Afterwards each finding has its verdict on this build. Where the target
//! draws its input, what a finding's choices don't show is looked for by its value and by its spans, as `repro --on`
//! does.

use super::builds::Builds;
use super::learned;
use super::records;
use super::reproduction::{Reproduction, Way};
use super::results;
use super::setup::Session;
use crate::engine::{Campaign, Carry, Learned};
use crate::failure::{Signature, signature_of};
use crate::outcome::Outcome;
use crate::report::{KnownFinding, Now, Retraced};
use crate::sandbox::Candidate;
use crate::settings::Settings;
use crate::store::{Fate, FindingRecord, Life, ModuleEntry, State, Verdict};
use anyhow::Result;
use std::collections::BTreeSet;
use std::time::Duration;

/// What was known of a target before this campaign, from other builds of it.
#[derive(Debug)]
pub(super) struct Past {
    /// The build that was fuzzed last, but for this one.
    build: Option<ModuleEntry>,
    /// It was fuzzed last.
    is_new: bool,
    /// What changed since.
    change: Change,
    /// Findings of other builds, those with the shortest inputs first.
    older: Vec<Older>,
    /// What campaigns learned beside the corpus, as far as it belongs to this build.
    learned: Learned,
}

/// A finding of another build that can be tried on this one.
#[derive(Debug)]
pub(super) struct Older {
    pub(super) record: FindingRecord,
    life: Life,
    /// What shows it.
    pub(super) input: Vec<u8>,
}

/// What this build changes, as far as that is known.
#[derive(Debug, Default)]
struct Change {
    functions: Option<u64>,
    unchanged: Option<u64>,
    /// Functions of this build whose code is another one.
    changed: BTreeSet<u32>,
    /// The older build's file, and how what inputs showed there is read as what they show here.
    carry: Option<(Vec<u8>, Carry)>,
}

impl Change {
    fn of(session: &Session<'_>, builds: Builds) -> Result<Self> {
        Ok(Self {
            functions: Some(builds.functions() as u64),
            unchanged: Some(builds.unchanged() as u64),
            changed: builds.changed(),
            carry: builds.carry(&session.target)?.map(|carry| (builds.file, carry)),
        })
    }
}

impl Past {
    /// What the store knows; nothing is executed.
    pub(super) fn of(session: &Session<'_>) -> Result<Self> {
        let (modules, own) = (session.store.modules(&session.name)?, session.target.candidate.id);
        let is_new = modules.last().is_some_and(|last| last.module != own);
        let build = modules.into_iter().rfind(|entry| entry.module != own);
        let older = older(session)?;
        let compared = build.filter(|_| is_new || !older.is_empty());
        let builds = compared.and_then(|build| Builds::of(session.store, build, &session.target.candidate));
        let learned = learned::load(session, builds.as_ref());
        let change = builds.map_or_else(|| Ok(Change::default()), |builds| Change::of(session, builds))?;
        Ok(Self { build, is_new, change, older, learned })
    }

    /// What the campaign begins with.
    pub(super) fn learned(&self) -> &Learned {
        &self.learned
    }

    /// Inputs to begin with: those of findings first.
    pub(super) fn first(&self, seeds: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let mut inputs: Vec<_> = self.older.iter().map(|older| older.input.clone()).collect();
        inputs.dedup();
        let known: BTreeSet<_> = inputs.iter().cloned().collect();
        inputs.extend(seeds.into_iter().filter(|seed| !known.contains(seed)));
        inputs
    }

    /// Takes what first inputs show from what they showed on the build before, as far as that is certain. Returns how
    /// many were executed to check it.
    pub(super) fn inherit(&self, session: &Session<'_>, campaign: &mut Campaign, seeds: &[Vec<u8>]) -> Result<u64> {
        let Some((file, carry)) = &self.change.carry else { return Ok(0) };
        let settings = session.target.candidate.settings.of_another_module();
        // What was a target may be none under other settings.
        let Ok(old) = Candidate::new(file, settings) else { return Ok(0) };
        let old = results::known(&session.target, &old);
        let inherited = campaign.inherit(session.workers, seeds, &old, carry)?;
        if inherited.executed > 0 && !inherited.is_right {
            (session.warn)(
                "an input shows something else than on the build before, although nothing that it executes was changed: \
                            please report this; all inputs are executed again",
            );
        }
        Ok(inherited.executed)
    }

    /// The finding of another build that a failure is, if that one's input shows it here, too.
    pub(super) fn finding(&self, session: &Session<'_>, outcome: &Outcome, input: &[u8]) -> Result<Option<&Older>> {
        let signature = signature_of(outcome, &session.symbols);
        for older in &self.older {
            if older.input == input {
                if is_same(session, &older.record, (&signature, outcome), &self.change) {
                    return Ok(Some(older));
                }
            } else if older.record.signature().is_same(&signature) {
                let Session { workers, target, symbols, .. } = session;
                let shown = workers.outcomes(target, std::slice::from_ref(&older.input), u64::MAX)?;
                let shown = shown.and_then(|mut outcomes| outcomes.pop());
                if shown.is_some_and(|shown| signature_of(&shown, symbols).is_same(&signature)) {
                    return Ok(Some(older));
                }
            }
        }
        Ok(None)
    }

    /// Gives the findings of other builds their verdicts on this one, and says what became of them if it is another one
    /// than was fuzzed last. `inputs` were begun with, `executed` of them were executed, in `elapsed`.
    pub(super) fn retraced(
        &self,
        session: &Session<'_>,
        campaign: &mut Campaign,
        (inputs, executed, elapsed): (u64, u64, Duration),
    ) -> Result<Option<Retraced>> {
        let Session { store, name, target, .. } = session;
        let module = target.candidate.id;
        let (mut findings, mut verdicts) = (Vec::new(), Vec::new());
        for record in fixed_later(session)? {
            verdicts.push(Verdict { finding: record.id, module, fate: Fate::Fails });
            findings.push(told(record, Now::Still));
        }
        for older in &self.older {
            let fate = fate(session, campaign, older, &self.change)?;
            verdicts.push(Verdict { finding: older.record.id, module, fate });
            if let Some(now) = now(fate, older.life.state) {
                findings.push(told(older.record.clone(), now));
            }
        }
        findings.sort_by_key(|finding| (finding.now, finding.id));
        store.add_verdicts(name, &verdicts)?;
        let Some(build) = self.build.filter(|_| self.is_new) else { return Ok(None) };
        Ok(Some(Retraced {
            target: name.clone(),
            older: build.module,
            functions: self.change.functions,
            unchanged: self.change.unchanged,
            inputs,
            executed,
            elapsed_ms: u64::try_from(elapsed.as_millis())?,
            findings,
        }))
    }
}

/// What became of a finding.
fn told(record: FindingRecord, now: Now) -> KnownFinding {
    let FindingRecord { id, kind, signature, .. } = record;
    KnownFinding { id, kind, signature, now }
}

/// Findings of other builds, those with the shortest inputs first.
fn older(session: &Session<'_>) -> Result<Vec<Older>> {
    let Session { store, name, target, .. } = session;
    let findings = store.findings(Some(name))?;
    let lives = store.lives(name, &findings)?;
    let settings = &target.candidate.settings;
    // What is entered elsewhere is another target.
    let is_older = |record: &FindingRecord| {
        let is_of_this = |theirs: Settings| {
            let same_entry = (&theirs.entry, &theirs.call) == (&settings.entry, &settings.call);
            // A difference from another build says nothing of this one.
            let is_compared = (theirs.against, theirs.compare) == (settings.against, settings.compare);
            same_entry && (theirs.against.is_none() || is_compared)
        };
        record.module != target.candidate.id
            && record.input_bytes <= settings.input_bytes_max.into()
            && records::settings(record).is_ok_and(is_of_this)
    };
    let known = findings.into_iter().zip(lives).filter(|(record, _)| is_older(record));
    let read = |(record, life): (FindingRecord, Life)| {
        let input = store.finding_input(&record).ok()?;
        Some(Older { record, life, input })
    };
    let mut older: Vec<_> = known.filter_map(read).collect();
    older.sort_by(|a, b| (a.input.len(), &a.input, a.record.id).cmp(&(b.input.len(), &b.input, b.record.id)));
    Ok(older)
}

/// What is said of a finding that was in this state; nothing of one that was fixed and still is, or that is ignored.
fn now(fate: Fate, state: State) -> Option<Now> {
    match (fate, state) {
        (_, State::Ignored) => None,
        (Fate::Fails, State::Fixed | State::Closed) => Some(Now::Back),
        (Fate::Fails, _) => Some(Now::Still),
        (_, State::Fixed | State::Closed) => None,
        (Fate::Differs, _) => Some(Now::Differs),
        (Fate::Passes | Fate::Closed, _) => Some(Now::Fixed),
    }
}

/// Findings of this very build that a later one had fixed: they fail here, as they did.
fn fixed_later(session: &Session<'_>) -> Result<Vec<FindingRecord>> {
    let Session { store, name, target, .. } = session;
    let module = target.candidate.id;
    let own: Vec<_> = store.findings(Some(name))?.into_iter().filter(|record| record.module == module).collect();
    let lives = store.lives(name, &own)?;
    let fixed = own.into_iter().zip(lives).filter(|(_, life)| life.state == State::Fixed && life.module != module);
    Ok(fixed.map(|(record, _)| record).collect())
}

/// What a finding of another build does on this one.
fn fate(session: &Session<'_>, campaign: &mut Campaign, older: &Older, change: &Change) -> Result<Fate> {
    let Session { store, target, symbols, workers, warn, .. } = session;
    let Older { record, input, .. } = older;
    let outcome = match campaign.results().outcome(record.input) {
        Some(outcome) => outcome,
        None => match workers.outcomes(target, std::slice::from_ref(input), u64::MAX)?.and_then(|mut all| all.pop()) {
            Some(outcome) => outcome,
            // Nobody waits for it. What is not known is taken for what it was.
            None => return Ok(Fate::Fails),
        },
    };
    let signature = signature_of(&outcome, symbols);
    let fails = outcome.failure().is_some();
    if fails && is_same(session, record, (&signature, &outcome), change) {
        return Ok(Fate::Fails);
    }
    if target.takes_choices() {
        let warn = |text: &str| warn(text);
        let reproduction = Reproduction { store, record, input, target, symbols, warn: &warn, is_another: true };
        // What can't be tried says nothing.
        let attempts = reproduction.attempts(&[Way::Value, Way::Spans, Way::Search]).unwrap_or_default();
        if attempts.iter().any(|attempt| attempt.same) {
            return Ok(Fate::Fails);
        }
    }
    Ok(if fails { Fate::Differs } else { Fate::Passes })
}

/// Whether the same input fails in the same way: where a function was edited its lines are others.
fn is_same(
    session: &Session<'_>,
    record: &FindingRecord,
    (signature, outcome): (&Signature, &Outcome),
    change: &Change,
) -> bool {
    let edited = |function: &u32| change.changed.contains(function);
    let is_edited = outcome.trap().is_some_and(|trap| trap.frames.iter().any(|frame| edited(&frame.function)));
    records::is_same_in_another_build(session.store, record, signature)
        || record.signature().is_same_in_another_build(signature, is_edited)
}
