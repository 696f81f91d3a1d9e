//! The guest protocol as plain functions, one for each import: what the guest's wasm functions do, said a second time.
//!
//! For modules that are not rewritten, and for tests to compare with.

mod blobs;
mod draws;
mod guest_report;
mod random;

use super::area::limited;
use super::closing::Closing;
use super::recorded::Spans;
use super::rule::{Rule, Tail};
use super::{Choice, Draw, DrawKind, GuestReport, Item, Trace};
use fuzzbox_instrument::layout::stream as layout;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Why a call of the protocol ends the execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By `assume` or `reject`.
    Rejected,
    /// By `fail`.
    Failed,
    /// The guest drew too much, or opened too many spans.
    Overrun,
    /// The stream was used up, and its tail is [`Tail::Stop`].
    Stopped,
    /// The guest asked for what there can't be.
    Misused,
    /// A pointer of the guest's leads out of its memory: the trap `out of bounds memory access`.
    OutOfBounds,
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Rejected => "the guest rejected the stream",
            Self::Failed => "the guest failed",
            Self::Overrun => "the guest drew too much",
            Self::Stopped => "the stream was used up",
            Self::Misused => "the guest asked for what there can't be",
            Self::OutOfBounds => "out of bounds memory access",
        })
    }
}

impl std::error::Error for Ended {}

/// What a call gives.
pub type Drawn<T> = Result<T, Ended>;

/// One execution's side of the protocol. Pointers are offsets in the guest's memory, which is passed to each function
/// that takes one.
#[derive(Debug)]
pub struct Reference {
    given: Vec<Choice>,
    rule: Rule,
    rng: Xoshiro256PlusPlus,
    choices: Vec<Choice>,
    draws: Vec<Draw>,
    misaligned: Option<usize>,
    overrun: bool,
    /// The guest asked how many draws are left.
    asked: bool,
    blob_bytes: u32,
    /// Elements of the collections of the spans that are open, that of no span first.
    counts: Vec<u32>,
    spans: Spans,
    told: GuestReport,
    entry_bytes: u32,
    /// Features that were asked for: hashes of their names, but for the lowest bit, and whether they are enabled.
    features: Vec<(u64, bool)>,
    /// Whether features are switched off in this execution, once that is decided.
    swarm: Option<bool>,
    reporting: bool,
    closing: Option<ClosingAt>,
}

/// What calls close with.
#[derive(Debug)]
struct ClosingAt {
    closing: Closing,
    /// Where the calls are in the module, in order.
    sites: Vec<u32>,
    /// The number of the one that draws next.
    site: u32,
}

/// Where the index of a draw comes from.
enum Source {
    Given(Choice),
    Random,
    Zero,
}

impl Reference {
    /// At the beginning of a stream.
    pub fn new(bytes: &[u8], rule: Rule) -> Self {
        let given = limited(bytes).map(|item| match item {
            Item::Index(index) => Choice::Index(index),
            Item::Blob(blob) => Choice::Blob(blob.to_vec()),
        });
        Self {
            given: given.collect(),
            rule,
            rng: Tail::random(if let Tail::Random { seed, .. } = rule.tail { seed } else { 0 }),
            choices: Vec::new(),
            draws: Vec::new(),
            misaligned: None,
            overrun: false,
            asked: false,
            blob_bytes: 0,
            counts: vec![0],
            spans: Spans::default(),
            told: GuestReport::default(),
            entry_bytes: 0,
            features: Vec::new(),
            swarm: None,
            reporting: false,
            closing: None,
        }
    }

    /// Tells the guest that what it reports is read.
    pub fn reporting(self) -> Self {
        Self { reporting: true, ..self }
    }

    /// Closes streams, if their rule says so. `sites` are the offsets in the module of the instructions that call the
    /// protocol, ascending, without gaps: the first has number 1. Before each draw, [`Reference::at`] has to tell which
    /// it is.
    pub fn closing(self, closing: Closing, sites: Vec<u32>) -> Self {
        let closing = self.rule.close.then_some(ClosingAt { closing, sites, site: 0 });
        Self { closing, ..self }
    }

    /// Whether [`Reference::at`] has to be called.
    pub fn has_closing(&self) -> bool {
        self.closing.is_some()
    }

    /// What is called next is called from this offset in the module, if that is known.
    pub fn at(&mut self, offset: Option<usize>) {
        if let Some(closing) = &mut self.closing {
            let place = offset.and_then(|offset| closing.sites.binary_search(&u32::try_from(offset).ok()?).ok());
            closing.site = place.map_or(0, |place| place as u32 + 1);
        }
    }

    /// What was drawn, with the spans that the guest told.
    pub fn trace(self) -> (Trace, GuestReport) {
        let given = self.given.len().min(self.draws.len());
        let entropy = self.asked.then(|| self.entropy());
        let spans = self.spans.finish(self.draws.len() as u32);
        let Self { choices, draws, misaligned, overrun, told, .. } = self;
        (Trace { choices, draws, spans, given, misaligned, overrun, entropy }, told)
    }

    /// Where the next choice comes from, if the execution goes on.
    fn source(&mut self) -> Drawn<Source> {
        let at = self.draws.len();
        if let Some(choice) = self.given.get(at) {
            return Ok(Source::Given(choice.clone()));
        }
        if at >= layout::CHOICES_MAX as usize {
            return self.overrun();
        }
        match self.rule.tail {
            Tail::Random { choices, .. } if at < choices as usize => Ok(Source::Random),
            Tail::Stop => Err(Ended::Stopped),
            _ => Ok(Source::Zero),
        }
    }

    fn overrun<T>(&mut self) -> Drawn<T> {
        self.overrun = true;
        Err(Ended::Overrun)
    }

    fn misaligned(&mut self) {
        self.misaligned.get_or_insert(self.draws.len());
    }

    /// The index of the next draw, at most `max`; `random` makes one. Where the stream has ended it is 0.
    fn index(&mut self, max: u64, random: impl FnOnce(&mut Self) -> u64) -> Drawn<u64> {
        Ok(self.index_if_any(max, random)?.unwrap_or(0))
    }

    /// The same; where the stream has ended it is what the call site closes with.
    fn index_or_closing(&mut self, max: u64, random: impl FnOnce(&mut Self) -> u64) -> Drawn<u64> {
        let index = self.index_if_any(max, random)?;
        let closing = self.closing.as_ref().filter(|_| !self.asked);
        Ok(index.or_else(|| closing.map(|at| at.closing.index(at.site, max))).unwrap_or(0))
    }

    /// The same; `None` where the stream has ended.
    fn index_if_any(&mut self, max: u64, random: impl FnOnce(&mut Self) -> u64) -> Drawn<Option<u64>> {
        Ok(Some(match self.source()? {
            Source::Given(Choice::Index(index)) if index <= max => index,
            Source::Given(choice) => {
                self.misaligned();
                match choice {
                    Choice::Index(index) if self.rule.wrap => index % (max + 1),
                    _ => 0,
                }
            }
            Source::Random => random(self),
            Source::Zero => return Ok(None),
        }))
    }

    fn drew(&mut self, choice: Choice, draw: Draw) {
        self.choices.push(choice);
        self.draws.push(draw);
    }

    /// How many draws there are left in the stream and its random part.
    pub fn remaining(&mut self) -> u32 {
        self.asked = true;
        self.entropy().saturating_sub(self.draws.len()) as u32
    }

    /// How many choices the stream and its random part have.
    fn entropy(&self) -> usize {
        let random =
            if let Tail::Random { choices, .. } = self.rule.tail { choices.min(layout::CHOICES_MAX) } else { 0 };
        self.given.len().max(random as usize)
    }

    /// Begins a span.
    pub fn span_begin(&mut self, label: u32) -> Drawn<()> {
        if self.counts.len() == layout::DEPTHS as usize {
            return self.overrun();
        }
        self.counts.push(0);
        self.spans.begin(self.draws.len() as u32, label.into(), None);
        Ok(())
    }

    /// Ends the innermost span; without one nothing happens.
    pub fn span_end(&mut self, flags: u32) {
        if self.counts.len() > 1 {
            self.counts.pop();
            self.spans.end(self.draws.len() as u32, flags & 1 == 1);
        }
    }
}

/// A draw of an index without bounds of its own.
fn draw(kind: DrawKind, max: u64) -> Draw {
    let hi = max.cast_signed();
    Draw { kind, site: 0, max, forced: max == 0, payload: kind == DrawKind::Payload, lo: 0, hi, towards: 0 }
}

/// The guest's bytes from `at` on; the trap that reading them is if some are not in its memory.
fn slice(memory: &[u8], at: u32, len: u32) -> Drawn<&[u8]> {
    memory.get(at as usize..).and_then(|from| from.get(..len as usize)).ok_or(Ended::OutOfBounds)
}
