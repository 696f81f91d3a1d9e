//! The draw protocol in process: what the shrinker's tests execute.
//!
//! Draws take the next choice of a stream, else what the tail rule gives. An index out of bounds, or a blob where an
//! index is drawn, counts as the simplest choice and is noted as misaligned. The trace is what a host records of a
//! guest.

use crate::engine::Rng;
use crate::engine::shrink::subject::{Attempt, Order, Subject, Tail, Verdict};
use crate::stream::float::Floats;
use crate::stream::{Choice, Draw, DrawKind, Span, Trace};
use anyhow::Result;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Draws of one execution at most.
const DRAWS_MAX: usize = 4096;

/// How a property ends when it does not hold, or can't say.
pub(super) enum Halt {
    Invalid,
    Overrun,
    Fail(&'static str),
}

pub(super) type Drawn<T> = std::result::Result<T, Halt>;

/// Draws, and fails or not.
pub(super) type Property = fn(&mut Source) -> Drawn<()>;

/// Where a property draws from.
pub(super) struct Source {
    given: Vec<Choice>,
    random: Option<Rng>,
    trace: Trace,
    open: Vec<u32>,
    /// What was drawn, in words.
    pub(super) note: String,
}

impl Source {
    fn new(order: &Order) -> Self {
        let random = match order.tail {
            Tail::Zero => None,
            Tail::Random(seed) => Some(Rng::of_task(seed, 0, 0)),
        };
        Self { given: order.choices.clone(), random, trace: Trace::default(), open: Vec::new(), note: String::new() }
    }

    fn record(
        &mut self,
        draw: Draw,
        random: impl FnOnce(&mut Self, &mut Rng) -> Choice,
        fits: impl Fn(&Choice) -> bool,
    ) -> Drawn<Choice> {
        let at = self.trace.choices.len();
        if at == DRAWS_MAX {
            self.trace.overrun = true;
            return Err(Halt::Overrun);
        }
        let simplest = draw.simplest();
        let choice = match self.given.get(at) {
            Some(choice) if fits(choice) => choice.clone(),
            Some(_) => {
                self.trace.misaligned.get_or_insert(at);
                simplest
            }
            None => match self.random.take() {
                Some(mut rng) => {
                    let choice = if draw.forced { simplest } else { random(self, &mut rng) };
                    self.random = Some(rng);
                    choice
                }
                None => simplest,
            },
        };
        self.trace.choices.push(choice.clone());
        self.trace.draws.push(draw);
        self.trace.given = self.trace.given.max((at + 1).min(self.given.len()));
        Ok(choice)
    }

    fn index(&mut self, draw: Draw, random: impl FnOnce(&mut Self, &mut Rng) -> u64) -> Drawn<u64> {
        let max = draw.max;
        let choice = self.record(
            draw,
            |source, rng| Choice::Index(random(source, rng)),
            |choice| choice.index().is_some_and(|index| index <= max),
        )?;
        Ok(choice.index().expect("it fits"))
    }

    /// A number between `lo` and `hi`, both included, towards `towards`.
    pub(super) fn int(&mut self, site: u32, lo: i64, hi: i64, towards: i64) -> Drawn<i64> {
        self.integer(draw(DrawKind::Int, site, hi.wrapping_sub(lo) as u64, [lo, hi, towards]))
    }

    /// An unsigned number, likewise.
    pub(super) fn uint(&mut self, site: u32, lo: u64, hi: u64, towards: u64) -> Drawn<u64> {
        let bounds = [lo, hi, towards].map(u64::cast_signed);
        self.integer(draw(DrawKind::Uint, site, hi - lo, bounds)).map(i64::cast_unsigned)
    }

    fn integer(&mut self, draw: Draw) -> Drawn<i64> {
        let index = self.index(draw, |source, rng| source.random_number(&draw, rng))?;
        Ok(draw.number(index) as i64)
    }

    /// A finite floating-point number between `lo` and `hi`.
    pub(super) fn float(&mut self, site: u32, lo: f64, hi: f64) -> Drawn<f64> {
        let floats = Floats::new(lo, hi, 0).expect("there are some");
        let [lo, hi] = [lo, hi].map(|bound| bound.to_bits().cast_signed());
        let draw = draw(DrawKind::F64, site, floats.max(), [lo, hi, 0]);
        let index = self.index(draw, |_, rng| rng.word() % (draw.max + 1))?;
        Ok(floats.value(index).expect("it is not above the largest"))
    }

    /// Uniform where there are few values; else a random number of bits; and now and then near an earlier number.
    fn random_number(&self, draw: &Draw, rng: &mut Rng) -> u64 {
        let numbers: Vec<_> =
            self.trace.draws.iter().zip(&self.trace.choices).filter(|(draw, _)| draw.kind == DrawKind::Int).collect();
        if !numbers.is_empty() && rng.one_in(6) {
            let (other, choice) = numbers[rng.below(numbers.len())];
            let value = other.number(choice.index().expect("numbers have indices")) + rng.below(7) as i128 - 3;
            if let Some(index) = draw.index_of(value) {
                return index;
            }
        }
        if draw.max < 256 {
            return rng.below(draw.max as usize + 1) as u64;
        }
        let bits = 64 - draw.max.leading_zeros() as usize;
        let index = rng.word() >> (64 - 1 - rng.below(bits));
        if index <= draw.max { index } else { index % (draw.max + 1) }
    }

    /// One of `n`, the first twice as likely as each of the others.
    pub(super) fn choice(&mut self, site: u32, n: u64) -> Drawn<u64> {
        let draw = draw(DrawKind::Choice, site, n - 1, [0, n as i64 - 1, 0]);
        self.index(draw, |_, rng| (rng.below(n as usize + 1) as u64).saturating_sub(1))
    }

    pub(super) fn bool(&mut self, site: u32) -> Drawn<bool> {
        let draw = draw(DrawKind::Bool, site, 1, [0, 1, 0]);
        Ok(self.index(draw, |_, rng| u64::from(rng.below(5) < 2))? == 1)
    }

    /// Whether a collection goes on, five times out of six.
    pub(super) fn more(&mut self, site: u32) -> Drawn<bool> {
        let draw = draw(DrawKind::More, site, 1, [0, i64::MAX, 0]);
        Ok(self.index(draw, |_, rng| u64::from(!rng.one_in(6)))? == 1)
    }

    pub(super) fn bytes(&mut self, site: u32, min: usize, max: usize) -> Drawn<Vec<u8>> {
        let draw = draw(DrawKind::Bytes, site, max as u64, [min as i64, max as i64, 0]);
        let random = |_: &mut Self, rng: &mut Rng| {
            Choice::Blob((0..min + rng.below(max - min + 1)).map(|_| rng.byte()).collect())
        };
        let choice =
            self.record(draw, random, |choice| choice.blob().is_some_and(|blob| (min..=max).contains(&blob.len())))?;
        Ok(choice.blob().expect("it fits").to_vec())
    }

    /// What `make` draws is one thing.
    pub(super) fn span<T>(&mut self, label: u64, make: impl FnOnce(&mut Self) -> Drawn<T>) -> Drawn<T> {
        self.flagged_span(label, |source| Ok((make(source)?, false)))
    }

    /// As [`Source::span`]; `make` says too whether it is thrown away.
    pub(super) fn flagged_span<T>(&mut self, label: u64, make: impl FnOnce(&mut Self) -> Drawn<(T, bool)>) -> Drawn<T> {
        let (start, depth) = (self.trace.choices.len() as u32, self.open.len() as u16);
        let number = self.trace.spans.len();
        let span = Span { parent: self.open.last().copied(), ..Span::told(label, start, start, depth) };
        self.trace.spans.push(span);
        self.open.push(number as u32);
        let made = make(self);
        self.open.pop();
        let span = &mut self.trace.spans[number];
        span.end = self.trace.choices.len() as u32;
        let (value, discarded) = made?;
        span.discarded = discarded;
        Ok(value)
    }

    /// A list; each element is a span with the draw that says that there is one.
    pub(super) fn list<T>(&mut self, label: u64, mut element: impl FnMut(&mut Self) -> Drawn<T>) -> Drawn<Vec<T>> {
        self.span(label, |source| {
            let mut list = Vec::new();
            while let Some(value) =
                source.span(
                    label + 1,
                    |source| {
                        if source.more(label as u32)? { element(source).map(Some) } else { Ok(None) }
                    },
                )?
            {
                list.push(value);
            }
            Ok(list)
        })
    }

    /// What was drawn is of no use unless `condition` holds.
    pub(super) fn assume(&self, condition: bool) -> Drawn<()> {
        if condition { Ok(()) } else { Err(Halt::Invalid) }
    }

    /// Fails as `class` unless `condition` holds.
    pub(super) fn check(&self, condition: bool, class: &'static str) -> Drawn<()> {
        if condition { Ok(()) } else { Err(Halt::Fail(class)) }
    }
}

fn draw(kind: DrawKind, site: u32, max: u64, [lo, hi, towards]: [i64; 3]) -> Draw {
    Draw { kind, site, max, forced: max == 0, payload: false, lo, hi, towards }
}

type Draws = dyn Fn(&mut Source) -> Drawn<()> + Sync;

/// A property, and which of its failures is shrunk.
pub(super) struct Native {
    property: Box<Draws>,
    class: &'static str,
    pub(super) jobs: usize,
    /// Executions, asked for or made ahead.
    pub(super) executed: AtomicUsize,
}

impl Native {
    pub(super) fn new(property: impl Fn(&mut Source) -> Drawn<()> + Sync + 'static, class: &'static str) -> Self {
        Self { property: Box::new(property), class, jobs: 1, executed: AtomicUsize::new(0) }
    }

    /// Executes once.
    pub(super) fn run(&self, order: &Order) -> (Attempt, String) {
        self.executed.fetch_add(1, Ordering::Relaxed);
        let mut source = Source::new(order);
        let verdict = match (self.property)(&mut source) {
            Ok(()) => Verdict::Valid,
            Err(Halt::Invalid) => Verdict::Invalid,
            Err(Halt::Overrun) => Verdict::Overrun,
            Err(Halt::Fail(class)) if class == self.class => Verdict::Same,
            Err(Halt::Fail(class)) => Verdict::Slip(class.to_owned()),
        };
        (Attempt { verdict, trace: source.trace }, source.note)
    }

    /// A failing stream found at random, the first with this seed.
    pub(super) fn find(&self, seed: u64) -> Vec<Choice> {
        self.find_in(seed, 1_000_000).unwrap_or_else(|| panic!("nothing found with seed {seed}"))
    }

    /// As [`Native::find`], in so many executions at most.
    pub(super) fn find_in(&self, seed: u64, execs_max: u64) -> Option<Vec<Choice>> {
        let mut seeds = Rng::of_task(seed, 1, 0);
        let orders = (0..execs_max).map(|_| Order { choices: Vec::new(), tail: Tail::Random(seeds.word()) });
        let mut attempts = orders.map(|order| self.run(&order).0);
        attempts.find(|attempt| attempt.verdict == Verdict::Same).map(|attempt| attempt.trace.choices)
    }

    /// What `choices` stand for.
    pub(super) fn show(&self, choices: &[Choice]) -> String {
        self.run(&Order { choices: choices.to_vec(), tail: Tail::Zero }).1
    }
}

impl Subject for Native {
    fn attempt_all(&self, orders: &[Order]) -> Result<Vec<Attempt>> {
        if self.jobs == 1 {
            return Ok(orders.iter().map(|order| self.run(order).0).collect());
        }
        std::thread::scope(|scope| {
            let chunks = orders.chunks(orders.len().div_ceil(self.jobs));
            let threads: Vec<_> = chunks
                .map(|chunk| scope.spawn(move || chunk.iter().map(|order| self.run(order).0).collect::<Vec<_>>()))
                .collect();
            Ok(threads.into_iter().flat_map(|thread| thread.join().expect("properties don't panic")).collect())
        })
    }

    fn jobs(&self) -> usize {
        self.jobs
    }
}
