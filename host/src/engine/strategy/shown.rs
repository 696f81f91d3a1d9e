//! What strategies are shown of an execution that look at it themselves.

use super::View;
use crate::coverage::Profile;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use crate::outcome::{Outcome, Verdict};
use crate::sandbox::Observation;
use crate::stream::encode;
use anyhow::Result;

/// How an execution ended, as far as strategies tell ends apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Status {
    /// It drew more than there was, or it may.
    Overrun,
    /// The guest rejected what it was given.
    Rejected,
    /// The guest took it.
    Valid,
    /// The guest failed.
    Failed,
}

impl Status {
    /// That of an outcome.
    pub(super) fn of(outcome: &Outcome) -> Self {
        match outcome.verdict() {
            Verdict::Passed => Self::Valid,
            Verdict::NoCase if *outcome == Outcome::Overrun => Self::Overrun,
            Verdict::NoCase | Verdict::Unknown => Self::Rejected,
            Verdict::Failed(..) => Self::Failed,
        }
    }

    /// Whether the input was one that the guest tests something with.
    pub(super) fn is_case(self) -> bool {
        self >= Self::Valid
    }
}

/// Executes `worker.input` by `worker.rule` where draws are recorded and all is counted, reports it, and tells what it
/// showed.
pub(super) fn execute<'a>(
    view: &View<'_>,
    worker: &'a mut Worker,
    report: &mut Report,
) -> Result<(Outcome, Observation<'a>)> {
    let Worker { input, .. } = &*worker;
    let bytes = (view.tally && !view.variants.metered.takes_choices()).then(|| input.clone());
    let (outcome, observation) = worker.execute_shown(view.variants, view.known, report)?;
    if view.tally && Status::of(&outcome).is_case() {
        let input = bytes.unwrap_or_else(|| encode(&observation.draws().canonical().choices));
        *report.tally.entry(input).or_default() += 1;
    }
    Ok((outcome, observation))
}

/// The edges and events of an execution, ascending. How often each was passed does not count: with every bucket a
/// feature of its own, the rarest of a case would nearly always say how often it went round some loop.
pub(super) fn features(profile: &Profile) -> Box<[u32]> {
    let mut edges: Vec<u32> = profile.0.iter().map(|&(edge, _)| edge).collect();
    edges.dedup();
    edges.into()
}
