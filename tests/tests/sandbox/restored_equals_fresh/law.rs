//! The check: the same inputs on one instance that is kept, and on instances of their own.

use fuzzbox::engine::{Corpus, Dictionary, Mutator, Rng};
use fuzzbox::outcome::FailureKind;
use fuzzbox::sandbox::{Executor, History, THREAD_STACK_BYTES, Target, Variant};
use fuzzbox::settings::Settings;
use fuzzbox_instrument::EdgeSet;
use fuzzbox_instrument::trace::Trace;
use fuzzbox_tests::{Shown, show};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::sync::Arc;

/// Inputs that are executed both ways, in each variant.
const INPUTS: usize = 100;
/// Executions on the kept instance before the first of them, for each of them.
const BEFORE: usize = 5;
/// Executions between two of them: less than this.
const BETWEEN: usize = 4;

/// A guest that is held to the law.
pub(crate) struct Guest {
    /// For messages.
    pub(crate) name: String,
    /// The module, binary or text.
    pub(crate) module: Vec<u8>,
    pub(crate) seeds: Vec<Vec<u8>>,
    pub(crate) settings: Settings,
    /// Inputs to compare; `FUZZBOX_LAW_INPUTS` is as good for all guests.
    pub(crate) inputs: usize,
}

/// How often each kind of outcome was compared in [`Variant::Metered`].
pub(crate) type Kinds = BTreeMap<String, usize>;

/// All that an execution shows.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    shown: Shown,
    key: Option<NonZeroU64>,
    is_exact: bool,
    trace: Trace,
}

impl Guest {
    /// A guest under limits that suit small ones.
    pub(crate) fn new(name: &str, module: Vec<u8>, seeds: Vec<Vec<u8>>, fuel_max: u64) -> Self {
        let settings = Settings { fuel_max, memory_bytes_max: 32 << 20, input_bytes_max: 4096, ..Settings::default() };
        let inputs = std::env::var("FUZZBOX_LAW_INPUTS").map_or(INPUTS, |inputs| inputs.parse().expect("a number"));
        Self { name: name.to_owned(), module, seeds, settings, inputs }
    }

    /// Checks the law in all variants.
    pub(crate) fn check(self) -> Kinds {
        // Executions start no thread where there is room for them.
        let check = std::thread::Builder::new().stack_size(THREAD_STACK_BYTES).spawn(move || self.check_here());
        check.unwrap().join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn check_here(self) -> Kinds {
        let target = Target::load(&self.module, self.settings.clone());
        let metered = Arc::new(target.unwrap_or_else(|error| panic!("{}: {error:#}", self.name)));
        let before = self.mutants(&metered, 1, self.inputs * BEFORE);
        let compared = self.mutants(&metered, 2, self.inputs);

        // What hangs is known by this variant alone, and can't be executed in those that don't know.
        let mut executor = Executor::new(&metered).unwrap();
        let mut ends = |inputs: &[Vec<u8>]| -> Vec<Vec<u8>> {
            let ends =
                |input: &&Vec<u8>| !matches!(executor.run(input).unwrap().failure(), Some((FailureKind::Hang, _)));
            inputs.iter().filter(ends).cloned().collect()
        };
        let ending = [ends(&before), ends(&compared)];
        drop(executor);

        let some: EdgeSet = (0..metered.edges.edges.len() as u32).filter(|edge| edge % 3 == 0).collect();
        let expected = self.compare(&metered, &before, &compared);
        // Laid out for some of what is to come.
        let past = History::of(&metered, ending[1].iter().step_by(2).map(Vec::as_slice)).unwrap();
        for variant in [Variant::Full, Variant::Fast(some), Variant::Traced] {
            let target = Arc::new(metered.in_variant_after(variant, &past).unwrap());
            if target.variant == Variant::Traced {
                for (traced, metered) in self.compare(&target, &before, &compared).iter().zip(&expected) {
                    assert!(!traced.trace.records.is_empty(), "{}: nothing was recorded", self.name);
                    assert_eq!(traced.shown, metered.shown, "{}: traced is not as metered", self.name);
                }
            } else {
                self.compare(&target, &ending[0], &ending[1]);
            }
        }
        let mut kinds = Kinds::new();
        for Seen { shown, .. } in &expected {
            let kind = match shown.outcome.trap() {
                Some(trap) => trap.kind.to_string(),
                None if shown.exit_code.is_some() => "exit".to_owned(),
                None => shown.outcome.name().to_owned(),
            };
            *kinds.entry(kind).or_default() += 1;
        }
        println!("{}: {kinds:?}, {} that end; {}", self.name, ending[1].len(), metered.restore_plan());
        kinds
    }

    /// Checks the law in one variant: with `before` on the kept instance, in any order, before and between `compared`. Returns what
    /// each of these showed.
    fn compare(&self, target: &Arc<Target>, before: &[Vec<u8>], compared: &[Vec<u8>]) -> Vec<Seen> {
        let mut kept = Executor::new(target).unwrap();
        for input in before {
            kept.run(input).unwrap();
        }
        let mut rng = Rng::of_task(5, 0, 0);
        let compare = |input: &Vec<u8>| {
            for _ in 0..rng.below(BETWEEN) {
                if !before.is_empty() {
                    kept.run(&before[rng.below(before.len())]).unwrap();
                }
            }
            let restored = see(&mut kept, input);
            let fresh = see(&mut Executor::new(target).unwrap(), input);
            if restored != fresh {
                let (name, input) = (&self.name, String::from_utf8_lossy(input));
                panic!("{name}, {:?}, {input:?}: {}", target.variant, difference(&restored, &fresh));
            }
            restored
        };
        compared.iter().map(compare).collect()
    }

    /// The seeds and mutants of them; the same ones every time.
    fn mutants(&self, target: &Target, stream: u64, count: usize) -> Vec<Vec<u8>> {
        let mutator = Mutator::new(Dictionary::default().with_constants_of(target.candidate.bytes()));
        let corpus = Corpus::new(0);
        let mut rng = Rng::of_task(stream, 0, 0);
        // Of many seeds, others are left as they are in each stream.
        let unchanged = (count / 2).min(self.seeds.len());
        let mutant = |index: usize| {
            let seed = if index < unchanged { index * stream as usize } else { rng.below(self.seeds.len()) };
            let mut input = self.seeds[seed % self.seeds.len()].clone();
            if index >= unchanged {
                mutator.mutate(&mut input, 600, &corpus, &mut rng);
            }
            input
        };
        (0..count).map(mutant).collect()
    }
}

fn see(executor: &mut Executor, input: &[u8]) -> Seen {
    let shown = show(executor, input);
    let key = executor.stack_key();
    let observation = executor.observation();
    Seen { shown, key, is_exact: observation.is_exact(), trace: observation.trace() }
}

/// Says what differs, and only that.
fn difference(restored: &Seen, fresh: &Seen) -> String {
    let [left, right] = [restored, fresh].map(|seen| {
        let shown = Shown { edges: Vec::new(), ..seen.shown.clone() };
        format!("{shown:?}, key {:?}, exact {}, trace of {}", seen.key, seen.is_exact, seen.trace.records.len())
    });
    let edges = |seen: &Seen| seen.shown.edges.iter().copied().collect::<BTreeSet<_>>();
    let [more, less] = [(restored, fresh), (fresh, restored)].map(|(one, other)| &edges(one) - &edges(other));
    let records = restored.trace.records.iter().zip(&fresh.trace.records).find(|(restored, fresh)| restored != fresh);
    format!("restored {left}\nfresh {right}\nedges of the restored {more:?}, of the fresh {less:?}\ntraces {records:?}")
}
