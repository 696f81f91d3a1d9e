//! Which variant executes a campaign's inputs, and which edges nobody needs to look at any more.
//!
//! ```text
//! metered in quick code -- compiled? --> metered
//! metered -- compiled? --> full -- half of the seen edges retired, and compiled? --> fast -- half of the rest --> ...
//! ```
//!
//! What `full` saves has to be worth what compiling it takes, so it comes when a campaign is no longer quite young.
//!
//! Each is laid out for what testcases do by then; so `full` is made again when many more edges were seen. A variant is
//! also made again when it turns out that mutants grow the guest's memory so often that it pays to compare addresses.
//!
//! Edges retire by the number of executions. Variants are compiled on a thread beside the campaign and taken when they
//! are ready, which depends on the machine but changes nothing but speed: what an edge that has retired shows is no
//! news in any variant.
//!
//! # Compiled fast first
//!
//! Large modules (256 KiB of code or more) are first compiled without optimisation and with the allocator of
//! registers that goes through the code once, in less than half of the CPU time. In such quick code `metered` says
//! what an execution does, but not how it fails: whatever fails, and what overflows the native stack, is executed
//! again in optimised code: in an *excerpt*, the module without the functions that the execution did not enter,
//! which is compiled in a second or two (`sandbox/quick`); after a few of these in the whole, for which the worker
//! waits if it must. So the places of failures don't depend on when a campaign went over. `full` is compiled
//! meanwhile, then the traced variant, in quick code, too; then the optimised `metered`, which is taken between two
//! rounds; and the optimised traced one when the campaign is very old. (When all of it was optimised at once a campaign
//! on SQLite, on one core, compiled for 15 of its first 30 seconds.)
//!
//! Where executions enter few of a large module's functions, as of a program with all of its libraries, `full` and
//! `fast` are excerpts, too: what enters another function is executed again where that decides, and they are made again
//! for more functions now and then. The whole module is optimised when the campaign is old.
//!
//! Cranelift without optimisation alone is no faster: what it saves, the allocator of registers takes. A lighter
//! instrumentation saves nothing either.
//! wasmtime does not vouch for that allocator against hostile modules: `--no-quick-code` does without, and so do
//! `repro` and `shrink`.

use super::corpus::Corpus;
use crate::coverage::{Profile, Seen};
use crate::sandbox::{Code, Growths, History, Target, Unsuited, Variant, Watchdog, compiling};
use anyhow::{Context, Result, anyhow, bail};
use fuzzbox_instrument::EdgeSet;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};

/// Executions in which a retired edge showed nothing new.
const RETIRE_EXECS: u64 = 1 << 20;
/// A retired edge was executed by so many testcases, or by all: else nobody can say that it had its chances.
const RETIRE_TESTCASES: u32 = 8;
/// Testcases that are executed to find out what they do.
const PAST_TESTCASES: usize = 256;
/// Executions of which it is known whether they grew a memory, before anything follows from it.
const GROWTH_SAMPLES: u64 = 256;
/// So many are enough where that would still pay if executions took so many times as long.
const FEW_SAMPLES: u64 = 32;
const FEW_LONGER: u64 = 8;
/// Executions use little of a module if they entered less than one in so many functions.
const LITTLE: usize = 8;
/// The campaign has spent so much fuel (with system calls) for each byte of code when the full variant is compiled,
/// half of what that takes: who finds something before that has saved it. (Ten planted bugs on one core: up to a fifth
/// of the CPU time.)
const FULL_FUEL: u64 = 500;
/// A variant that has only functions which were entered is made again for new ones when the campaign has spent as much
/// fuel as before it was made, but so much for each byte of the module's code at least, and no more than so much: eight
/// times what making it takes.
const AGAIN_FUEL: [u64; 2] = [1_000, 8_000];
/// Executions from one look at all edges to the next.
const LOOK_EXECS: u64 = 1 << 17;

/// Follows a campaign, and makes variants for it.
#[derive(Debug)]
pub(super) struct Progress {
    metered: Arc<Target>,
    watchdog: Option<Arc<Watchdog>>,
    stage: Stage,
    /// The deciding variant in better code.
    remaking: Remaking,
    /// By edge: the number of executions at which it last showed something new.
    last_news: Vec<u64>,
    looked: u64,
    /// Edges that were seen and have retired.
    retired: usize,
    /// Edges that had retired before this campaign: they do so again when the first look finds nothing new of them.
    had_retired: BTreeSet<u32>,
    /// The last execution that showed something new of what the campaign began with; until that was executed, the last
    /// that there can be.
    began: u64,
    /// Of mutants.
    growths: Growths,
    /// Nothing that campaigns share was compiled of the module before.
    is_first: bool,
    /// The module is large, and executions entered few of its functions when a variant was made last.
    uses_little: bool,
    /// Fuel that the campaign had spent when the functions that executions entered were looked at last.
    looked_fuel: u64,
}

#[derive(Debug)]
enum Stage {
    /// Nothing was made so far.
    Metered,
    /// Being compiled.
    Making(Receiver<Result<Target>>, Purpose),
    /// In use.
    Using(Purpose),
    /// All that there is.
    Last,
}

/// What a variant was made for.
#[derive(Clone, Copy, Debug)]
struct Purpose {
    /// Edges that were seen and had not retired; all are in the full variant.
    live: usize,
    /// Edges that had been seen.
    seen: usize,
    /// Its code compares addresses, or would if that were possible.
    compares: bool,
    /// How many functions are whole, if not all are.
    functions: Option<usize>,
}

impl Purpose {
    /// Whether all edges are in it.
    fn is_full(&self) -> bool {
        self.live == usize::MAX
    }

    /// Whether half of its edges that were seen have retired since: of none there is no half.
    fn retired(&self, live: usize, seen: usize) -> bool {
        live < self.live && live <= self.live.min(seen) / 2
    }

    /// Whether addresses are to be compared now, and are not in it.
    fn lacks(&self, compares: bool) -> bool {
        compares && !self.compares
    }
}

impl Progress {
    pub(super) fn new(metered: Arc<Target>) -> Self {
        let last_news = vec![0; metered.edges.edges.len()];
        Self {
            is_first: metered.is_quick(),
            uses_little: false,
            looked_fuel: 0,
            metered,
            watchdog: None,
            stage: Stage::Metered,
            remaking: Remaking::default(),
            last_news,
            looked: 0,
            retired: 0,
            had_retired: BTreeSet::new(),
            began: u64::MAX,
            growths: Growths::default(),
        }
    }

    /// These edges had retired before this campaign, which has executed what it begins with.
    pub(super) fn go_on(&mut self, retired: &BTreeSet<u32>) {
        self.had_retired.clone_from(retired);
        self.began = self.last_news.iter().copied().max().unwrap_or(0);
    }

    /// Whether something new was seen of an edge beside what the campaign began with.
    pub(super) fn has_news_of(&self, edge: u32) -> bool {
        self.last_news.get(edge as usize).is_some_and(|&execs| execs > self.began)
    }

    /// Makes all variants again, of the same target that begins otherwise.
    pub(super) fn begin_again(&mut self, metered: Arc<Target>) {
        self.metered = metered;
        self.stage = Stage::Metered;
        self.remaking = Remaking::default();
        self.growths = Growths::default();
    }

    /// Takes what mutants did.
    pub(super) fn sampled(&mut self, growths: &Growths) {
        self.growths.add(growths);
    }

    /// Whether mutants grow the memory more often than hardly ever. Depends on the campaign alone.
    pub(super) fn grows(&self) -> bool {
        self.growths.execs >= GROWTH_SAMPLES && !self.growths.are_rare()
    }

    /// Whether mutants grow the memory so often that it pays to compare addresses. Depends on the campaign alone.
    pub(super) fn compares(&self) -> bool {
        comparing_pays(&self.growths)
    }

    /// A testcase showed `profile`, of which some is in `seen`.
    pub(super) fn shown(&mut self, profile: &Profile, seen: &Seen, execs: u64) {
        for &(edge, bucket) in &profile.0 {
            if seen.is_edge(edge) && !seen.has(edge, bucket) {
                self.last_news[edge as usize] = execs;
            }
        }
    }

    /// The edges that retire now. Depends on the campaign alone.
    pub(super) fn retire(&mut self, corpus: &Corpus, execs: u64) -> Vec<u32> {
        if execs / LOOK_EXECS == self.looked / LOOK_EXECS {
            return Vec::new();
        }
        self.looked = execs;
        let enough = RETIRE_TESTCASES.min(u32::try_from(corpus.testcases().len()).unwrap_or(u32::MAX));
        let retires = |&(edge, last): &(u32, u64)| {
            let patience = if self.had_retired.contains(&edge) { LOOK_EXECS } else { RETIRE_EXECS };
            execs - last >= patience && !corpus.is_retired(edge) && corpus.testcases_with(edge) >= enough.max(1)
        };
        let edges: Vec<u32> = (0..).zip(self.last_news.iter().copied()).filter(retires).map(|(edge, _)| edge).collect();
        self.retired += edges.len();
        edges
    }

    /// A variant that is faster than the one in use, if one became ready.
    ///
    /// # Errors
    ///
    /// If the module does something else in another variant, which would be a mistake of ours, or the host fails. One
    /// that is beyond what engines accept in a faster variant stays in the one that it has.
    pub(super) fn next_variant(&mut self, corpus: &Corpus, fuel: u64) -> Result<Option<Arc<Target>>> {
        let seen = corpus.seen().edges();
        let live = seen - self.retired;
        let compares = self.compares();
        match &self.stage {
            Stage::Metered if !self.is_worth_full(fuel) => Ok(None),
            Stage::Metered => {
                let time = Watchdog::time_for(self.metered.candidate.settings.fuel_max);
                let Some(time) = time.filter(|_| self.metered.can_be_interrupted() && !self.metered.compares_records())
                else {
                    // What can't be watched needs fuel, and what is recorded there alone can't be compared elsewhere.
                    self.stage = Stage::Last;
                    return Ok(None);
                };
                self.watchdog = Some(Arc::new(Watchdog::new(time)?));
                self.make(Variant::Full, usize::MAX, corpus, fuel)?;
                Ok(None)
            }
            Stage::Making(made, about) => match made.try_recv() {
                Ok(Err(error)) if error.is::<Unsuited>() => {
                    // What there is decides all the same, in more time.
                    self.stage = Stage::Last;
                    Ok(None)
                }
                Ok(target) => {
                    let target = target.context("failed to make a faster variant of the module")?;
                    let compares = about.compares || target.compares_addresses();
                    self.stage = Stage::Using(Purpose { compares, ..*about });
                    Ok(Some(Arc::new(target)))
                }
                Err(TryRecvError::Empty) => Ok(None),
                Err(TryRecvError::Disconnected) => Err(anyhow!("the thread that compiles a variant ended early")),
            },
            // Of the full variant all edges are live, retired or not.
            &Stage::Using(made) => {
                let is_old = made.lacks(compares) || self.lacks_functions(made, corpus, fuel);
                if made.retired(live, seen) || !made.is_full() && is_old {
                    let edges = 0..u32::try_from(self.last_news.len()).expect("edges have 32-bit indices");
                    let interesting: EdgeSet = edges.filter(|&edge| !corpus.is_retired(edge)).collect();
                    self.make(Variant::Fast(interesting), live, corpus, fuel)?;
                } else if made.is_full() && (is_old || self.is_outdated(made, seen)) {
                    self.make(Variant::Full, usize::MAX, corpus, fuel)?;
                }
                Ok(None)
            }
            Stage::Last => Ok(None),
        }
    }

    /// Whether the full variant is worth being compiled, or may be in the cache.
    fn is_worth_full(&self, fuel: u64) -> bool {
        let worth = FULL_FUEL.saturating_mul(self.metered.candidate.code_bytes().into());
        self.growths.with_calls(fuel) >= worth || self.metered.was_cached()
    }

    /// Whether many more edges were seen since a variant was made.
    fn is_outdated(&self, made: Purpose, seen: usize) -> bool {
        seen > made.seen + made.seen / 2 && self.looked > 0
    }

    /// The variant that decides in better code, if that became ready. It is begun with when the campaign `is_old`,
    /// since most is executed in another variant; or when the module is fuzzed again, and may be in the cache so.
    ///
    /// # Errors
    ///
    /// As for [`Progress::next_variant`].
    pub(super) fn better(&mut self, is_old: bool) -> Result<Option<Arc<Target>>> {
        let is_old = is_old || self.metered.was_cached();
        let is_used = matches!(self.stage, Stage::Making(..) | Stage::Using(_));
        let compares = is_used && self.compares() && (is_old || !self.metered.is_quick());
        let optimises = is_old && matches!(self.stage, Stage::Using(_)) || matches!(self.stage, Stage::Last);
        let better = self.remaking.better(&self.metered, compares, optimises)?;
        // A worker that saw a failure may have waited for it.
        let better = better.or_else(|| self.metered.optimised_by_now().cloned());
        if let Some(better) = &better {
            self.metered.clone_from(better);
        }
        Ok(better)
    }

    /// Whether executions enter functions that only trap in a variant, and it is time to make it again.
    fn lacks_functions(&mut self, made: Purpose, corpus: &Corpus, fuel: u64) -> bool {
        let [least, most] = AGAIN_FUEL.map(|fuel| fuel * u64::from(self.metered.candidate.code_bytes()));
        let is_time = fuel.saturating_sub(self.looked_fuel) >= self.looked_fuel.clamp(least, most);
        let Some(whole) = made.functions.filter(|_| corpus.seen().edges() > made.seen && is_time) else {
            return false;
        };
        self.looked_fuel = fuel;
        self.functions(corpus).len() > whole
    }

    /// The functions that executions entered.
    fn functions(&self, corpus: &Corpus) -> BTreeSet<u32> {
        let edges = (0..).zip(&self.metered.edges.edges).filter(|(edge, _)| corpus.seen().has_edge(*edge));
        edges.map(|(_, edge)| edge.function).collect()
    }

    /// Begins to compile: of large modules only what executions entered, unless that is of use to other campaigns and
    /// may be there.
    fn make(&mut self, variant: Variant, live: usize, corpus: &Corpus, fuel: u64) -> Result<()> {
        let metered = self.metered.clone();
        let may_be = metered.candidate.code_to_begin_with() == Code::Quick && metered.against.is_none();
        let entered = if may_be { self.functions(corpus) } else { BTreeSet::new() };
        let all = metered.edges.edges.last().map_or(0, |edge| edge.function as usize);
        self.uses_little = may_be && LITTLE * entered.len() < all;
        let is_kept = variant == Variant::Full && !self.is_first;
        let functions = Some(entered).filter(|_| self.uses_little && !is_kept);
        let (seen, compares, whole) = (corpus.seen().edges(), self.compares(), functions.as_ref().map(BTreeSet::len));
        let every = corpus.testcases().len().div_ceil(PAST_TESTCASES).max(1);
        let inputs: Vec<_> = corpus.testcases().iter().step_by(every).map(|testcase| testcase.bytes.clone()).collect();
        let receiver = compiling(move || laid_out(&metered, (variant, functions), compares, &inputs))?;
        self.stage = Stage::Making(receiver, Purpose { live, seen, compares, functions: whole });
        self.looked_fuel = fuel;
        Ok(())
    }

    /// Ends what takes too long in a variant that this gave.
    pub(super) fn watchdog(&self) -> &Option<Arc<Watchdog>> {
        &self.watchdog
    }
}

/// Whether what mutants did is reason enough to compare addresses.
fn comparing_pays(growths: &Growths) -> bool {
    let is_enough = growths.execs >= GROWTH_SAMPLES || growths.execs >= FEW_SAMPLES && growths.pay(FEW_LONGER);
    is_enough && growths.pay(1)
}

/// Who makes a variant again in better code.
#[derive(Debug, Default)]
pub(super) struct Remaking {
    optimised: Making,
    comparing: Making,
}

impl Remaking {
    /// A variant in better code, if that is ready: in code that compares addresses, which is optimised as well, or, in
    /// a hurry so far, in optimised code. It is begun with if that pays.
    pub(super) fn better(
        &mut self,
        variant: &Arc<Target>,
        compares: bool,
        optimises: bool,
    ) -> Result<Option<Arc<Target>>> {
        let compares = compares && !variant.compares_addresses();
        let made = self.comparing.made(compares, || {
            let variant = variant.clone();
            compiling(move || variant.comparing())
        });
        if let Some(made) = made.context("failed to let a variant's code compare addresses")? {
            self.optimised = Making::default();
            return Ok(Some(made));
        }
        let optimises = optimises && variant.is_quick() && !self.comparing.was_begun;
        let made = self.optimised.made(optimises, || variant.optimise());
        made.context("failed to optimise a variant's code")
    }
}

/// What is made once.
#[derive(Debug, Default)]
struct Making {
    making: Option<Receiver<Result<Arc<Target>>>>,
    /// That was begun, or done.
    was_begun: bool,
}

impl Making {
    /// What is being made, if it became ready; then nothing is any more. It is begun with if that pays.
    fn made(
        &mut self,
        pays: bool,
        begin: impl FnOnce() -> Result<Receiver<Result<Arc<Target>>>>,
    ) -> Result<Option<Arc<Target>>> {
        if pays && !self.was_begun {
            self.making = Some(begin()?);
            self.was_begun = true;
        }
        let made = match self.making.as_ref().map(Receiver::try_recv) {
            None | Some(Err(TryRecvError::Empty)) => return Ok(None),
            // What there is does the same, in more time.
            Some(Ok(Err(error))) if error.is::<Unsuited>() => {
                self.making = None;
                return Ok(None);
            }
            Some(Ok(made)) => made?,
            Some(Err(TryRecvError::Disconnected)) => bail!("the thread that compiles it ended early"),
        };
        self.making = None;
        Ok(Some(made))
    }
}

/// Makes a variant for what these inputs do.
fn laid_out(
    metered: &Arc<Target>,
    (variant, functions): (Variant, Option<BTreeSet<u32>>),
    compares: bool,
    inputs: &[Arc<[u8]>],
) -> Result<Target> {
    let past = History::of(metered, inputs.iter().map(|input| &**input))?;
    let past = if compares { past.comparing() } else { past };
    if let Some(functions) = functions {
        return metered.in_excerpt_after(variant, &past, functions);
    }
    // Of the fast variant no code is kept.
    let past = if variant == Variant::Full { past.or_cached(metered) } else { past };
    metered.in_variant_after(variant, &past)?.with_against_after(metered, inputs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_without_edges_is_the_last_one() {
        let made = |live| Purpose { live, seen: 8, compares: false, functions: None };
        let retired = |all, live| made(all).retired(live, 8);
        assert_eq!([8, 5, 4].map(|live| retired(usize::MAX, live)), [false, false, true]);
        assert_eq!([2, 1, 0].map(|live| retired(2, live)), [false, true, true]);
        assert!(retired(1, 0) && !retired(0, 0));
    }

    #[test]
    fn a_few_executions_are_enough_where_they_say_it_clearly() {
        // Of so many executions each takes `fuel`, and grows the memory once.
        let pays = |execs, fuel| comparing_pays(&Growths { execs, grown: execs, steps: execs, fuel: fuel * execs });
        let (fast, slow, slowest) = (1_000, 500_000, 2_000_000);
        assert_eq!([FEW_SAMPLES - 1, FEW_SAMPLES].map(|execs| pays(execs, fast)), [false, true]);
        assert_eq!([GROWTH_SAMPLES - 1, GROWTH_SAMPLES].map(|execs| pays(execs, slow)), [false, true]);
        assert!(!pays(100 * GROWTH_SAMPLES, slowest), "they take longer than the calls");
    }
}
