//! Ways in which a finding fails again, on the build that it was found in or on another one.
//!
//! What a guest draws from the same choices changes with what draws it, so on another build four things are tried, in
//! this order:
//!
//! 1. the *value* that the guest made of its choices, which `fbx_check_NAME` checks without drawing anything;
//! 2. the *choices* as they are;
//! 3. the choices, found again by their *spans* ([`resync`]);
//! 4. a *search* that begins with these, short enough to be waited for.
//!
//! # A finding outlives what drew it
//!
//! A finding outlives what drew it. Its record has the value that the guest made of its choices, if it gave that away;
//! on another build the value is tried first, then the choices, then the choices laid beside what the new generator
//! draws, span by span. Functions that are spans are matched by `identity`. Where alternatives have other numbers, or
//! what was drawn became optional, nothing says which of the new choices mean the same, but whether they fail in the
//! same way is known by executing them: so a campaign from what is left of the choices comes last.

use super::builds::Builds;
use super::execution::Execution;
use super::records;
use crate::engine::{Campaign, Dictionary, Mutator, Workers};
use crate::failure::{Signature, signature_of};
use crate::outcome::Outcome;
use crate::sandbox::{CodeCache, Executor, Target};
use crate::settings::Settings;
use crate::store::{FindingRecord, ModuleEntry, Store};
use crate::stream::{Span, encode, resync};
use crate::symbols::Symbols;
use anyhow::{Context, Result};
use fuzzbox_instrument::identity::{Identity, diff};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Executions in which a failure is looked for that nothing else shows.
const SEARCH_EXECS: u64 = 50_000;
/// Fuel that these may take: some seconds.
const SEARCH_FUEL: u64 = 8_000_000_000;
/// The seed of that search: what it finds is the same each time.
const SEARCH_SEED: u64 = 1;

/// A way from what is stored to a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Way {
    /// The value that was drawn, given to the property's check.
    Value,
    /// The input as it is.
    Choices,
    /// The choices, found again by their spans.
    Spans,
    /// A search that begins with the choices.
    Search,
}

impl Way {
    /// All that are tried on another build, in this order.
    pub(crate) const ALL: [Self; 4] = [Self::Value, Self::Choices, Self::Spans, Self::Search];
}

/// A finding, and what it is tried on.
pub(crate) struct Reproduction<'a> {
    pub(crate) store: &'a Store,
    pub(crate) record: &'a FindingRecord,
    /// The finding's input.
    pub(crate) input: &'a [u8],
    pub(crate) target: &'a Arc<Target>,
    pub(crate) symbols: &'a Symbols,
    /// Takes what the user should know; the text is not safe to print yet.
    pub(crate) warn: &'a dyn Fn(&str),
    /// Whether the target is another build than it was found in.
    pub(crate) is_another: bool,
}

/// What came of one way.
pub(crate) struct Attempt {
    pub(crate) way: Way,
    /// What was executed: the target, or the same module with its check as the entry.
    pub(crate) target: Arc<Target>,
    /// What it was given.
    pub(crate) input: Vec<u8>,
    pub(crate) execution: Execution,
    /// None if nothing failed.
    pub(crate) signature: Option<Signature>,
    /// It failed as the finding does.
    pub(crate) same: bool,
}

impl Reproduction<'_> {
    /// Tries `ways` until one fails as the finding does, and returns the attempts. Ways that are not there for this
    /// finding and this target are left out.
    ///
    /// # Errors
    ///
    /// If the host fails.
    pub(crate) fn attempts(&self, ways: &[Way]) -> Result<Vec<Attempt>> {
        let mut attempts: Vec<Attempt> = Vec::new();
        for way in ways {
            let attempt = match way {
                Way::Value => self.by_value()?,
                Way::Choices => Some(self.attempt(Way::Choices, self.target, self.input.to_vec())?),
                Way::Spans => self.by_spans()?,
                Way::Search => self.by_search(&attempts)?,
            };
            let same = attempt.as_ref().is_some_and(|attempt| attempt.same);
            attempts.extend(attempt);
            if same {
                break;
            }
        }
        Ok(attempts)
    }

    fn attempt(&self, way: Way, target: &Arc<Target>, input: Vec<u8>) -> Result<Attempt> {
        let execution = Execution::reported(&mut Executor::new(target)?, &input)?;
        if let Some(reporting) = &execution.reporting {
            let name = reporting.name();
            (self.warn)(&format!("the guest ends otherwise when it reports ({name}): it must not depend on that"));
        }
        let outcome = &execution.outcome;
        let signature = outcome.failure().map(|(kind, trap)| crate::failure::signature(kind, trap, self.symbols));
        let same = signature.as_ref().is_some_and(|signature| match way {
            Way::Value => is_same_kind(&signature.name, &self.record.signature),
            _ if self.is_another => self.is_same(outcome, signature),
            _ => records::recognised(self.record, signature, self.symbols).is_some(),
        });
        Ok(Attempt { way, target: target.clone(), input, execution, signature, same })
    }

    /// Whether another build fails in the same way. Of what draws it is the generator that was edited, and an input for
    /// the new one, so places in edited functions may be others; bytes are the same, and what fails elsewhere is
    /// another failure.
    fn is_same(&self, outcome: &Outcome, signature: &Signature) -> bool {
        let known = self.record.signature();
        records::is_same_in_another_build(self.store, self.record, signature)
            || known.is_same_in_another_build(signature, false)
            || self.target.takes_choices() && known.is_same_in_another_build(signature, true) && self.is_edited(outcome)
    }

    /// Whether a function in which an execution failed is another one than it was.
    fn is_edited(&self, outcome: &Outcome) -> bool {
        let old = ModuleEntry { module: self.record.module, object: self.record.module_object };
        let Some(builds) = Builds::of(self.store, old, &self.target.candidate) else { return false };
        let changed = builds.changed();
        outcome.trap().is_some_and(|trap| trap.frames.iter().any(|frame| changed.contains(&frame.function)))
    }

    fn by_value(&self) -> Result<Option<Attempt>> {
        let value = self.record.drawn.as_ref().and_then(|drawn| drawn.value.as_ref());
        let (Some(value), Some(check)) = (value, self.target.check_of_values()) else { return Ok(None) };
        let value = self.store.get(value.object).context("failed to read the finding's value")?;
        let Settings { input_bytes_max, .. } = self.target.candidate.settings;
        let input_bytes_max = input_bytes_max.max(u32::try_from(value.len())?);
        let settings = Settings { entry: Some(check), input_bytes_max, ..self.target.candidate.settings.clone() };
        let target = Target::load_cached(self.target.candidate.file(), settings, &CodeCache::of_user())?;
        self.attempt(Way::Value, &Arc::new(target), value).map(Some)
    }

    fn by_spans(&self) -> Result<Option<Attempt>> {
        if !self.target.takes_choices() {
            return Ok(None);
        }
        let old = match records::load(self.store, self.record) {
            Ok(old) => Arc::new(old),
            Err(error) => {
                (self.warn)(&format!("the choices' spans are not known: {error:#}"));
                return Ok(None);
            }
        };
        let stored = Execution::new(&mut Executor::new(&old)?, self.input)?.trace;
        let functions = functions(&old, self.target)?;
        let known: BTreeMap<u32, u32> = functions.values().map(|&function| (function, function)).collect();
        let mut executor = Executor::new(self.target)?;
        let input_bytes_max = self.target.candidate.settings.input_bytes_max as usize;
        let choices = resync(&stored, named_by(&known), named_by(&functions), |choices| {
            let mut stream = encode(choices);
            stream.truncate(input_bytes_max);
            Ok(Execution::new(&mut executor, &stream)?.trace)
        })?;
        let mut stream = encode(&choices);
        stream.truncate(input_bytes_max);
        self.attempt(Way::Spans, self.target, stream).map(Some)
    }

    /// Looks for the failure, from what was tried on.
    fn by_search(&self, tried: &[Attempt]) -> Result<Option<Attempt>> {
        if !self.target.takes_choices() {
            return Ok(None);
        }
        let tried = tried.iter().filter(|attempt| attempt.way != Way::Value).map(|attempt| attempt.input.clone());
        let mut seeds: Vec<Vec<u8>> = std::iter::once(self.input.to_vec()).chain(tried).collect();
        seeds.dedup();
        let workers = Workers::new(1, Arc::default())?;
        let dictionary = Dictionary::default().with_constants_of(self.target.candidate.bytes());
        let mut campaign = Campaign::new(self.target.clone(), SEARCH_SEED, Mutator::new(dictionary));
        let name = |outcome: &Outcome| signature_of(outcome, self.symbols).name;
        let mut round = campaign.start(&workers, &seeds, SEARCH_EXECS, &name)?;
        while let Some(done) = round {
            let is_same = |outcome: &Outcome| self.is_same(outcome, &signature_of(outcome, self.symbols));
            if let Some(failure) = done.failures.iter().find(|failure| is_same(&failure.outcome)) {
                return self.attempt(Way::Search, self.target, failure.input.to_vec()).map(Some);
            }
            let totals = campaign.totals();
            let (left, fuel) = (SEARCH_EXECS.saturating_sub(totals.execs), totals.sampled_fuel / totals.sampled.max(1));
            if left == 0 || campaign.is_exhausted() || fuel.saturating_mul(totals.execs) > SEARCH_FUEL {
                break;
            }
            round = campaign.step(&workers, left, &name)?;
        }
        Ok(None)
    }
}

/// Functions of the new build, and which they are of the old one.
fn functions(old: &Target, new: &Target) -> Result<BTreeMap<u32, u32>> {
    let (old, new) = (Identity::of(old.candidate.bytes())?, Identity::of(new.candidate.bytes())?);
    let diff = diff(&old, &new);
    Ok(diff.same.iter().chain(&diff.changed).map(|pair| (pair.new, pair.old)).collect())
}

/// Labels of spans, those that are functions or loops by their function's number in the old build.
fn named_by(functions: &BTreeMap<u32, u32>) -> impl Fn(&Span) -> Option<u64> {
    |span| match span.automatic {
        false => Some(span.label),
        true => {
            let function = functions.get(&u32::try_from(span.label >> 32).ok()?)?;
            Some(u64::from(*function) << 32 | span.label & u64::from(u32::MAX))
        }
    }
}

/// Whether two failures are of one kind. That is all that can be compared if a check is called without what draws its
/// value: what the guest itself calls a failure is the same, but the calls around it are others.
fn is_same_kind(a: &str, b: &str) -> bool {
    let kind = |signature: &str| signature.split(':').next().unwrap_or_default().to_owned();
    a == b || kind(a) == kind(b) && kind(a) != crate::outcome::TrapKind::Failed.name()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_compared_by_what_the_guest_calls_them_else_by_kind() {
        assert!(is_same_kind("failed: not sorted", "failed: not sorted"));
        assert!(!is_same_kind("failed: not sorted", "failed: a number is lost"));
        assert!(is_same_kind("unreachable: f:+3 < fbx_a", "unreachable: g@7 < fbx_check_a"));
        assert!(!is_same_kind("unreachable: f:+3", "null-write: f:+3"));
    }
}
