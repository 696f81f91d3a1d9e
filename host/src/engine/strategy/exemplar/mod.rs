//! One input for each state that a guest can be in, and random ways on from them.
//!
//! MacIver, "Language reconstruction based fuzzing without reconstructing languages". Two beginnings of streams are
//! equal (Myhill and Nerode) if whatever follows both, the guest does the same. [`States`] keeps the simplest beginning
//! that it knows of each class, and what tells them apart; a class is chosen, all alike, and gone on from at random, or
//! by each alternative in turn ([`explore`]). So what a random walk rarely gets to is begun with as often as the rest,
//! and how alternatives are nested changes little.
//!
//! | option | an execution shows |
//! | --- | --- |
//! | none | whether the guest takes all of the stream, and no less |
//! | `outcome` | also whether it wants more, takes less, rejects it, or how it fails |
//! | `cov` | also which features the stream has that its beginning does not have |
//!
//! `bloom` remembers what was looked at in a Bloom filter of 128 KiB (1 % of 100,000 beginnings are taken for known by
//! mistake); `thorough` tries ten times as many ways on before two are taken for equal.
//!
//! `learn` has a quarter of all executions make the automaton of what the guest takes ([`automaton`]), and try it.
//!
//! Testcases that the campaign begins with are looked at first, and their ends are ways on: where nearly nothing is
//! taken random ways show nothing.
//!
//! What is asked next depends on the last answer, so one worker executes all of it.

pub(in crate::engine) mod automaton;
mod explore;
pub(in crate::engine) mod states;
mod steps;

use self::automaton::Automaton;
use self::states::{Classes, Experiment, Seen, States};
use super::shown::{self, Status};
use super::{Cost, Spent, Strategy, View};
use crate::coverage::Profile;
use crate::engine::corpus::Corpus;
use crate::engine::rng::Rng;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use crate::stream::{Choice, Rule, Tail, encode};
use anyhow::Result;
use std::collections::BTreeMap;

/// Number of its task.
const TASKS: u64 = 6 << 33;
/// Executions of a round, at most.
const ROUND_EXECS: u64 = 4096;
/// Answers that are kept; then they are asked for again.
const ANSWERS_MAX: usize = 1 << 16;
/// Choices of a way on at most, and ways that are tried.
const WAY_MAX: usize = 12;
const TRIES: usize = 30;
const TRIES_THOROUGH: usize = 300;
/// Testcases that are looked at first, and choices of each, at most.
const EXAMPLES_MAX: usize = 64;
const EXAMPLE_CHOICES: usize = 64;
/// Words that an automaton is tried with before it is taken for the guest's, and choices of each at most.
const WORDS: u64 = 1000;
const WORD_MAX: usize = 24;

/// What of an execution counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Look {
    #[default]
    Valid,
    Outcome,
    Coverage,
}

/// Executes what tells states apart, and goes on from them.
#[derive(Debug)]
pub(super) struct Exemplar {
    look: Look,
    states: States,
    answers: BTreeMap<Vec<u64>, u64>,
    /// The testcases that there were at first were looked at.
    begun: bool,
    /// Whether an automaton is made, and the last one, with how many words it was tried.
    learns: bool,
    automaton: Option<(Automaton, u64)>,
}

impl Exemplar {
    /// The options' names.
    pub(super) const OPTIONS: &[&str] = &["outcome", "cov", "bloom", "thorough", "learn"];

    pub(super) fn new(options: &[String]) -> Self {
        let has = |name: &str| options.iter().any(|option| option == name);
        let look = match (has("cov"), has("outcome")) {
            (true, _) => Look::Coverage,
            (_, true) => Look::Outcome,
            _ => Look::Valid,
        };
        let seen = if has("bloom") { Seen::bloom() } else { Seen::exact() };
        let tries = if has("thorough") { TRIES_THOROUGH } else { TRIES };
        let states = States::new(seen, tries);
        Self { look, states, answers: BTreeMap::new(), begun: false, learns: has("learn"), automaton: None }
    }

    /// Looks at the beginnings of testcases.
    fn begin(view: &View<'_>, states: &mut States, guest: &mut Guest<'_, '_>, rng: &mut Rng) -> Result<()> {
        let drawn = view.corpus.testcases().iter().take(EXAMPLES_MAX).filter_map(|testcase| testcase.sample.as_ref());
        for sample in drawn {
            let indices: Option<Vec<u64>> = sample.choices().iter().map(Choice::index).collect();
            let Some(stream) = indices.filter(|stream| stream.len() <= EXAMPLE_CHOICES) else { continue };
            states.add_tails(&stream);
            for len in 1..=stream.len() {
                if states.incorporate(&stream[..len], guest, rng)?.is_none() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Makes the automaton, and tries it with random words as long as there are executions left.
    fn learn_automaton(
        states: &mut States,
        before: Option<&(Automaton, u64)>,
        guest: &mut Guest<'_, '_>,
        rng: &mut Rng,
    ) -> Result<Option<(Automaton, u64)>> {
        loop {
            let Some(automaton) = states.automaton(guest, rng)? else { return Ok(None) };
            let same = before.filter(|(before, _)| *before == automaton);
            let mut tried = same.map_or(0, |&(_, tried)| tried);
            loop {
                let symbols = states.symbols() as usize;
                let word: Vec<_> = (0..rng.below(WORD_MAX + 1)).map(|_| rng.below(symbols) as u64).collect();
                match states.correct(&automaton, &word, guest)? {
                    None => return Ok(Some((automaton, tried))),
                    Some(true) => break,
                    Some(false) if tried >= WORDS => return Ok(Some((automaton, tried))),
                    Some(false) => tried += 1,
                }
            }
        }
    }
}

/// So many executions.
#[derive(Debug)]
pub(super) struct Questions(u64);

/// What is known after them.
#[derive(Debug)]
pub(super) struct Known {
    states: States,
    answers: BTreeMap<Vec<u64>, u64>,
    automaton: Option<(Automaton, u64)>,
}

impl Strategy for Exemplar {
    type Task = Questions;
    type Learned = Known;

    fn plan(&self, _: &View<'_>, execs: u64) -> Vec<Questions> {
        vec![Questions(execs.min(ROUND_EXECS))]
    }

    fn cost(&self, task: &Questions, view: &View<'_>) -> Cost {
        Cost { execs: task.0, fuel: task.0.saturating_mul(view.fuel_mean) }
    }

    fn run(&self, task: &Questions, view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<Known> {
        let mut rng = Rng::of_task(view.seed, view.round, TASKS);
        let (mut states, answers) = (self.states.clone(), self.answers.clone());
        let mut guest = Guest { look: self.look, view, worker, report, left: task.0, executions: 0, answers };
        if !self.begun {
            Self::begin(view, &mut states, &mut guest, &mut rng)?;
        }
        let mut automaton = None;
        if self.learns {
            let rest = guest.left - guest.left / 4;
            guest.left /= 4;
            automaton = Self::learn_automaton(&mut states, self.automaton.as_ref(), &mut guest, &mut rng)?;
            guest.left += rest;
        }
        while guest.left > 0 && states.explore(&mut guest, &mut rng)?.is_some() {}
        Ok(Known { states, answers: guest.answers, automaton })
    }

    fn learn(&mut self, _: Questions, known: Known, _: Spent, _: &mut Corpus) {
        self.states = known.states;
        self.answers = known.answers;
        self.begun = true;
        self.automaton = known.automaton.or(self.automaton.take());
    }

    fn is_exhausted(&self) -> bool {
        self.automaton.as_ref().is_some_and(|&(_, tried)| tried >= WORDS)
    }

    fn experiments(&self) -> Vec<Experiment> {
        self.states.experiments()
    }

    fn automaton(&self) -> Option<(Automaton, u64)> {
        self.automaton.clone()
    }

    fn states(&self) -> Vec<Vec<u8>> {
        self.states.exemplars().map(|stream| encode(&choices(stream))).collect()
    }
}

fn choices(stream: &[u64]) -> Vec<Choice> {
    stream.iter().map(|&index| Choice::Index(index)).collect()
}

/// Answers by executing.
struct Guest<'a, 'v> {
    look: Look,
    view: &'a View<'v>,
    worker: &'a mut Worker,
    report: &'a mut Report,
    /// Executions that may still be made.
    left: u64,
    /// Those that were made.
    executions: u64,
    answers: BTreeMap<Vec<u64>, u64>,
}

/// What an execution showed.
struct Answer {
    class: u64,
    features: Box<[u32]>,
    /// What was drawn; only numbers and alternatives are of use.
    drawn: Option<Vec<u64>>,
}

impl Guest<'_, '_> {
    /// Executes a stream with this behind it.
    fn execute(&mut self, stream: &[u64], tail: Tail) -> Result<Option<Answer>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.executions += 1;
        self.worker.input = encode(&choices(stream));
        self.worker.rule = Rule { tail, wrap: true, close: false };
        let (outcome, observation) = shown::execute(self.view, self.worker, self.report)?;
        let trace = observation.draws();
        let is_whole = trace.draws.len() == stream.len();
        let class = match (Status::of(&outcome), self.look) {
            (Status::Valid, _) if is_whole => 1,
            (_, Look::Valid) => 0,
            (Status::Valid, _) => 2,
            (Status::Rejected, _) => 3,
            (Status::Overrun, _) => 4,
            (Status::Failed, _) => fuzzbox_instrument::layout::stream::label_hash(outcome.name().as_bytes()),
        };
        let features = match self.look {
            Look::Coverage => shown::features(&Profile::of(observation)),
            _ => Box::default(),
        };
        let drawn = trace.choices.iter().map(Choice::index).collect();
        Ok(Some(Answer { class, features, drawn }))
    }
}

impl Classes for Guest<'_, '_> {
    fn executions(&self) -> u64 {
        self.executions
    }

    fn walk(&mut self, beginning: &[u64], rng: &mut Rng) -> Result<Option<Vec<u64>>> {
        let choices = beginning.len() + 1 + rng.below(WAY_MAX);
        let tail = Tail::Random { seed: rng.word(), choices: u32::try_from(choices)? };
        let drawn = self.execute(beginning, tail)?.and_then(|answer| answer.drawn);
        Ok(drawn.map(|mut drawn| {
            drawn.truncate(choices);
            drawn
        }))
    }

    fn class(&mut self, beginning: &[u64], way: &[u64]) -> Result<Option<u64>> {
        let whole = [beginning, way].concat();
        // Where it depends on where the way begins, that is part of the question.
        let key =
            if self.look == Look::Coverage { [&[beginning.len() as u64], &whole[..]].concat() } else { whole.clone() };
        if let Some(&class) = self.answers.get(&key) {
            return Ok(Some(class));
        }
        let Some(mut answer) = self.execute(&whole, Tail::Stop)? else { return Ok(None) };
        if self.look == Look::Coverage {
            let Some(before) = self.execute(beginning, Tail::Stop)? else { return Ok(None) };
            let mut hasher = blake3::Hasher::new();
            hasher.update(&answer.class.to_le_bytes());
            for feature in answer.features.iter().filter(|feature| before.features.binary_search(feature).is_err()) {
                hasher.update(&feature.to_le_bytes());
            }
            let hash = *hasher.finalize().as_bytes();
            answer.class = u64::from_le_bytes(*hash.first_chunk().expect("a hash is longer"));
        }
        if self.answers.len() >= ANSWERS_MAX {
            self.answers.clear();
        }
        self.answers.insert(key, answer.class);
        Ok(Some(answer.class))
    }
}
