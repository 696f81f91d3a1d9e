//! Executions that begin where first inputs left the guest, and those from the very beginning that decide.
//!
//! # What a warm guest finds, a cold one decides
//!
//! A guest that grows its memory in each execution is warmed by testcases ([`Target::warmed_by`]), at the end of a
//! round: from then on all variants are warm, and the corpus says what its testcases show so. That is part of the
//! search, and follows from the corpus alone. Whatever fails, and each testcase that is kept, is executed by a cold
//! instance as well, in the variant that decides. So a failure that only a warm guest shows is none, one that only the
//! first call shows is found as far as testcases show it, and findings and results say nothing of all this.
//!
//! A campaign looks for first inputs when it has executed its seeds, and again when its mutants grow the memory all the
//! same and it has four times as many testcases, or has executed four times as much. Mutants that were seen to grow it
//! are then looked at as well. Who is warm and still grows it so often that code compares addresses is left alone: that
//! helps as much, and with more and more first inputs the heap is spread over ever more pages, which all are restored.

use super::{Campaign, Variants};
use crate::engine::results::ExecutionResult;
use crate::engine::round::Round;
use crate::engine::workers::pool::Workers;
use crate::engine::workers::report::NewFailure;
use crate::id::InputId;
use crate::outcome::{Outcome, Verdict};
use crate::sandbox::{Growth, Target};
use crate::stream::Rule;
use anyhow::Result;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How often a cold guest disproves a failure until it is taken to be one that only warm ones show.
const DISPROVED_MAX: u32 = 16;
/// Before a campaign looks for first inputs again it has so many times as many testcases or executions.
const LOOK_AGAIN: usize = 4;
/// The first look counts as if it had been after so many executions.
const LOOK_EXECS: u64 = 1 << 12;
/// So many inputs are executed by one worker to see how they grow the memory, others by another.
const SAMPLES_TOGETHER: usize = 16;
/// So many mutants that grew the memory are looked at: those that did so most.
const GREW_MAX: usize = 64;
/// What grows it more than so many bytes is rare, and would be kept by all instances.
const GREW_BYTES_MAX: u64 = 16 << 20;

/// What a campaign knows of warm guests.
#[derive(Debug, Default)]
pub(super) struct Warming {
    /// Nothing is ever warmed.
    never: bool,
    /// How many testcases there were when first inputs were last looked for.
    looked_at: usize,
    /// How many executions there were by then.
    looked_at_execs: u64,
    /// Mutants that grew the memory, and by how many bytes, from the most to the least, of equals the first.
    grew: Vec<(u64, Arc<[u8]>)>,
    /// First inputs were chosen, and nobody was told.
    is_news: bool,
    /// What failed in a warm guest in this round.
    suspected: Vec<NewFailure>,
    /// How often failures were disproved.
    disproved: BTreeMap<Outcome, u32>,
}

impl Warming {
    /// Takes a mutant that grew the memory.
    pub(super) fn met(&mut self, grew: Option<(u64, Vec<u8>)>) {
        let Some((bytes, input)) = grew.filter(|(bytes, _)| *bytes <= GREW_BYTES_MAX) else { return };
        let place = self.grew.partition_point(|(other, _)| *other >= bytes);
        if place < GREW_MAX {
            self.grew.truncate(GREW_MAX - 1);
            self.grew.insert(place, (bytes, input.into()));
        }
    }
}

impl Campaign {
    /// Lets every execution begin as the module does. To be called before anything is executed.
    #[must_use]
    pub fn without_warming(mut self) -> Self {
        self.warming.never = true;
        self
    }

    /// The inputs that executions begin after.
    pub fn warm_up_inputs(&self) -> impl ExactSizeIterator<Item = InputId> {
        self.variants.metered.warm_up_inputs().iter().map(|input| InputId::of(input))
    }

    /// Whether executions begin after others.
    pub(super) fn is_warm(&self) -> bool {
        !self.variants.metered.warm_up_inputs().is_empty()
    }

    /// Whether first inputs are looked for before the next round.
    pub(super) fn is_warming_due(&self) -> bool {
        let (count, looked_at) = (self.corpus.testcases().len(), self.warming.looked_at);
        let execs_due = LOOK_AGAIN as u64 * self.warming.looked_at_execs.max(LOOK_EXECS);
        let is_later = count >= LOOK_AGAIN * looked_at.max(1) || self.totals.execs >= execs_due;
        let is_due = looked_at == 0 && count > 0 || self.progress.grows() && is_later;
        let has_other_help = self.is_warm() && self.progress.compares();
        is_due && !has_other_help && !self.warming.never && !self.strategies.mutants.is_alone()
    }

    /// Looks for first inputs if that is due, and has executions begin after them if there are some. `false` if that
    /// was aborted.
    pub(super) fn warm_up(&mut self, workers: &Workers) -> Result<bool> {
        // What was begun beside rounds knows another guest.
        if !self.is_warming_due() || self.aside.is_under_way() {
            return Ok(true);
        }
        self.warming.looked_at = self.corpus.testcases().len();
        self.warming.looked_at_execs = self.totals.execs;
        let testcases: Vec<_> = self.corpus.testcases().iter().map(|testcase| testcase.bytes.clone()).collect();
        let grew: Vec<_> = self.warming.grew.iter().map(|(_, input)| input.clone()).collect();
        let warm = self.target().warmed_by(&grew, &testcases, &mut |target, inputs| {
            let parts: Vec<_> = inputs.chunks(SAMPLES_TOGETHER).collect();
            let growths = workers.run(&Variants::of(target.clone()), parts.len() as u64, |part, worker| {
                Growth::of_each(&mut worker.quick, parts[usize::try_from(part)?])
            })?;
            Ok(growths.map(|growths| growths.concat()))
        })?;
        match warm.filter(|_| !workers.aborted()) {
            Some(warm) => self.go_on_with(warm, workers),
            None => Ok(!workers.aborted()),
        }
    }

    /// Goes on with the same target that begins otherwise, where the testcases may show something else.
    fn go_on_with(&mut self, target: Arc<Target>, workers: &Workers) -> Result<bool> {
        let variants = Variants { custom: self.variants.custom.clone(), ..Variants::of(target.clone()) };
        let (known, testcases) = (self.all_known(), self.corpus.testcases());
        let shown = workers.run(&variants, testcases.len() as u64, |task, worker| {
            let input = &testcases[usize::try_from(task)?].bytes;
            worker.result(&variants, known, (input, &Rule::default()))
        })?;
        let Some(shown) = shown.filter(|_| !workers.aborted()) else { return Ok(false) };
        let passed = |result: ExecutionResult| (result.outcome.verdict() == Verdict::Passed).then_some(result);
        self.corpus.show(shown.into_iter().map(passed).collect());
        self.variants = variants;
        self.progress.begin_again(target);
        self.tracing.begin_again();
        self.known.forget_keys();
        self.warming.is_news = true;
        Ok(true)
    }

    /// Has a cold guest decide what failed in a warm one in this round, and what the round's testcases do. If that is
    /// aborted, what failed is not told.
    pub(super) fn decide_cold(
        &mut self,
        workers: &Workers,
        signature: &dyn Fn(&Outcome) -> String,
        round: &mut Round,
    ) -> Result<()> {
        if !self.is_warm() {
            return Ok(());
        }
        round.is_warmer = std::mem::take(&mut self.warming.is_news);
        let suspected = std::mem::take(&mut self.warming.suspected);
        let testcases = self.corpus.testcases();
        let kept = round.found.iter().map(|found| &*testcases[found.index].bytes);
        let inputs: Vec<_> = suspected.iter().map(|failure| &*failure.input).chain(kept).collect();
        let (variants, known) = (&self.variants, self.all_known());
        let shown = workers.run(variants, inputs.len() as u64, |task, worker| {
            worker.cold_result(variants, known, inputs[usize::try_from(task)?])
        })?;
        let Some(mut shown) = shown.filter(|_| !workers.aborted()) else { return Ok(()) };
        let of_testcases = shown.split_off(suspected.len());
        for (failure, result) in suspected.into_iter().zip(shown) {
            let disproved = self.warming.disproved.entry(failure.outcome.clone()).or_default();
            *disproved += 1;
            let is_decided = result.outcome.failure().is_some() || *disproved >= DISPROVED_MAX;
            self.failed_cold(&failure.input, result, signature, round);
            if is_decided {
                self.known.add(&failure);
            }
        }
        for (place, result) in of_testcases.into_iter().enumerate() {
            let index = round.found[place].index;
            let testcase = &self.corpus.testcases()[index];
            let (id, input) = (testcase.id, testcase.bytes.clone());
            if result.outcome.verdict() == Verdict::Passed {
                self.results.used(id, self.results.packed(&result));
                round.found[place].new_edges.extend(self.corpus.shows(&result.profile));
            }
            self.failed_cold(&input, result, signature, round);
        }
        Ok(())
    }

    /// Takes what a cold guest did, if it failed.
    fn failed_cold(
        &mut self,
        input: &[u8],
        result: ExecutionResult,
        signature: &dyn Fn(&Outcome) -> String,
        round: &mut Round,
    ) {
        if result.outcome.failure().is_none() || self.known.has(&result.outcome) {
            return;
        }
        let edges = self.corpus.seen().news(&result.profile).0.iter().map(|&(edge, _)| edge).collect();
        let failure = NewFailure::new(input, result.outcome, edges);
        self.fail(failure, signature, round);
    }

    /// Takes a failure: one that a cold guest decides if the guest is warm.
    pub(super) fn fails(&mut self, failure: NewFailure, signature: &dyn Fn(&Outcome) -> String, round: &mut Round) {
        if self.is_warm() {
            self.warming.suspected.push(failure);
        } else {
            self.fail(failure, signature, round);
        }
    }
}
