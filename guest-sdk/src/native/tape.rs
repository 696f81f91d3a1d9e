//! What a source is natively: a stream that is read, entropy for what it doesn't say, and a record of both.

use super::choice::Choice;
use super::entropy::{Entropy, Seed};
use super::floats::Floats;
use crate::index::{self, Zigzag};
use crate::text;
use std::string::{String, ToString as _};
use std::vec::Vec;

/// Choices that one execution can make. One that wants more ends as an overrun, which is no failure.
pub const CHOICES_MAX: usize = 65_536;

/// Choices after which no more are made at random: what has begun by then ends with simplest values, and has room for it.
pub const RANDOM_CHOICES_MAX: usize = 8192;

/// Bytes of notes that are kept; what follows is dropped.
const NOTES_LEN_MAX: usize = 1 << 20;

/// Features that can be left out; those that are asked for later take part.
const FEATURES_MAX: usize = 128;

/// Bytes of a feature's name by which it is told from others.
const FEATURE_NAME_LEN_MAX: usize = 1 << 10;

/// The feature that says whether notes are read.
const REPORT_NAME: &str = "fuzzbox:report";

/// What an execution draws from: first a stream, then a seed's entropy, then nothing but simplest values.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// The choices it begins with.
    pub stream: Vec<Choice>,
    /// Where further ones come from.
    pub seed: Option<Seed>,
}

impl From<Seed> for Input {
    fn from(seed: Seed) -> Self {
        Self { stream: Vec::new(), seed: Some(seed) }
    }
}

impl From<Vec<Choice>> for Input {
    fn from(stream: Vec<Choice>) -> Self {
        Self { stream, seed: None }
    }
}

/// A group of draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanRecord {
    /// What kind of thing was drawn.
    pub label: u32,
    /// Its first choice.
    pub start: usize,
    /// The choice after its last.
    pub end: usize,
    /// The guest threw it away.
    pub discarded: bool,
}

/// A value that a property's first part gave to its second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueRecord {
    /// Which type, see [`crate::Value::type_id`].
    pub type_id: u64,
    /// Which encoding, see [`crate::value::ENCODING`].
    pub encoding: u32,
    /// The encoded value.
    pub bytes: Vec<u8>,
}

/// All that an execution says, but for how it ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    pub(crate) choices: Vec<Choice>,
    pub(crate) misaligned: Option<usize>,
    pub(crate) spans: Vec<SpanRecord>,
    pub(crate) notes: Vec<String>,
    pub(crate) events: Vec<(String, i64)>,
    pub(crate) targets: Vec<(String, f64)>,
    pub(crate) keyframes: Vec<(u32, i64)>,
    pub(crate) value: Option<ValueRecord>,
}

/// Why an execution ends before its property returns.
#[derive(Debug)]
pub(super) enum Stop {
    Rejected(String),
    Overrun,
    Failed(String),
}

fn stop(why: Stop) -> ! {
    // Without the panic hook: this is no panic that anybody should read about.
    std::panic::resume_unwind(std::boxed::Box::new(why))
}

/// The state of a source.
#[derive(Debug)]
pub(crate) struct Backend {
    given: std::vec::IntoIter<Choice>,
    entropy: Entropy,
    record: Record,
    /// Spans that have begun, as indices into `record.spans`; and for each, after the outermost of all, the length of
    /// its collection.
    open: Vec<usize>,
    lens: Vec<u32>,
    notes_len: usize,
    /// Choices that were given, if nothing else is.
    given_only: Option<usize>,
    asked: Asked,
    /// Features that were asked for, and whether they are enabled.
    features: Vec<(Vec<u8>, bool)>,
    /// Whether features are left out in this run, once that is decided.
    swarm: Option<bool>,
}

/// What the guest was told of how much is left.
#[derive(Clone, Copy, Debug)]
enum Asked {
    /// Nothing.
    Never,
    /// There was something, and with it there were so many choices in all.
    Some(usize),
    /// Nothing was left when there were so many.
    Ended(usize),
}

/// Nothing given: only simplest values.
impl Default for Backend {
    fn default() -> Self {
        Self::new(Input::default())
    }
}

impl Backend {
    pub(super) fn new(input: Input) -> Self {
        Self {
            given_only: input.seed.is_none().then_some(input.stream.len().min(CHOICES_MAX)),
            asked: Asked::Never,
            given: input.stream.into_iter(),
            entropy: Entropy::new(input.seed.map(Seed::bytes).unwrap_or_default()),
            record: Record::default(),
            open: Vec::new(),
            lens: std::vec![0],
            notes_len: 0,
            features: Vec::new(),
            swarm: None,
        }
    }

    pub(super) fn into_record(mut self) -> Record {
        while !self.open.is_empty() {
            self.span_end(0);
        }
        self.keep_entropy();
        self.record
    }

    /// If the guest asked how much is left, the stream is made to say the same again: what was drawn when nothing was left is
    /// left out, as it is the simplest in any case, and what was left and not drawn is there.
    fn keep_entropy(&mut self) {
        let drawn = self.record.choices.len();
        let len = match (self.asked, self.given_only) {
            (Asked::Never, _) => return,
            (_, Some(given)) => given,
            (Asked::Ended(len), None) => len,
            (Asked::Some(len), None) => len.max(drawn),
        };
        self.record.choices.resize(len, Choice::Index(0));
        for span in &mut self.record.spans {
            span.start = span.start.min(len);
            span.end = span.end.min(len);
        }
    }

    /// The next choice: what is given if it fits, else what `fresh` makes of the entropy.
    fn index(&mut self, max: u64, fresh: impl FnOnce(&mut Entropy) -> u64) -> u64 {
        let index = match self.given.next() {
            Some(Choice::Index(index)) if index <= max => index,
            Some(_) => self.misaligned(),
            None => fresh(&mut self.entropy),
        };
        debug_assert!(index <= max);
        self.push(Choice::Index(index));
        index
    }

    fn misaligned(&mut self) -> u64 {
        self.record.misaligned.get_or_insert(self.record.choices.len());
        0
    }

    /// Adds a choice to the record.
    fn push(&mut self, choice: Choice) {
        if self.record.choices.len() == CHOICES_MAX {
            stop(Stop::Overrun);
        }
        self.record.choices.push(choice);
        if self.record.choices.len() == RANDOM_CHOICES_MAX {
            self.entropy = Entropy::default();
        }
    }

    pub(crate) fn int(&mut self, lo: i64, hi: i64, towards: i64) -> i64 {
        let towards = towards.clamp(lo, hi);
        self.zigzag(Zigzag::signed(lo.into(), hi.into(), towards.into()), towards as u64) as i64
    }

    pub(crate) fn uint(&mut self, lo: u64, hi: u64, towards: u64) -> u64 {
        let towards = towards.clamp(lo, hi);
        self.zigzag(Zigzag::unsigned(lo.into(), hi.into(), towards.into()), towards)
    }

    fn zigzag(&mut self, zigzag: Zigzag, towards: u64) -> u64 {
        let max = zigzag.index_max() as u64;
        let index = self.index(max, |entropy| fresh_integer(entropy, max, zigzag));
        zigzag.value(index.into(), towards.into()) as u64
    }

    pub(crate) fn bool(&mut self, p_true: u32) -> bool {
        match index::forced_bool(p_true) {
            Some(forced) => {
                self.index(0, |_| 0);
                forced
            }
            None => self.index(1, |entropy| entropy.chance(p_true).into()) == 1,
        }
    }

    pub(crate) fn choice(&mut self, n: u32, weights: Option<&[u32]>) -> u32 {
        let max = u64::from(n) - 1;
        self.index(max, |entropy| match weights {
            Some(weights) => entropy.weighted(weights).into(),
            None => entropy.up_to(max),
        }) as u32
    }

    pub(crate) fn f64(&mut self, lo: f64, hi: f64, flags: u32) -> f64 {
        let floats = Floats::new(lo, hi, flags).expect("there is a number between the bounds");
        let max = floats.index_max();
        floats.value(self.index(max, |entropy| fresh_float(entropy, &floats, lo, hi)))
    }

    pub(crate) fn bytes(&mut self, min: u32, max: u32) -> Vec<u8> {
        self.blob(min, max, |entropy| {
            let len = fresh_len(entropy, min, max);
            entropy.take(len).to_vec()
        })
    }

    /// All the entropy there is.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        self.blob(0, crate::source::REST_LEN_MAX, |entropy| entropy.take(usize::MAX).to_vec())
    }

    fn blob(&mut self, min: u32, max: u32, fresh: impl FnOnce(&mut Entropy) -> Vec<u8>) -> Vec<u8> {
        let mut blob = self.given_or(fresh);
        blob.truncate(max as usize);
        blob.resize(blob.len().max(min as usize), 0);
        self.push(Choice::Blob(blob.clone()));
        blob
    }

    fn given_or(&mut self, fresh: impl FnOnce(&mut Entropy) -> Vec<u8>) -> Vec<u8> {
        match self.given.next() {
            Some(Choice::Blob(blob)) => blob,
            Some(Choice::Index(_)) => {
                self.misaligned();
                Vec::new()
            }
            None => fresh(&mut self.entropy),
        }
    }

    pub(crate) fn text(&mut self, min: u32, max: u32, alphabet: &[u32]) -> String {
        let last = u64::from(text::count(alphabet)) - 1;
        let blob = self.given_or(|entropy| {
            let len = fresh_len(entropy, min, max.min(min.saturating_add(1000)));
            let mut character = || {
                let is_common = entropy.up_to(7) != 7;
                if is_common { entropy.up_to(last.min(94)) } else { entropy.any_magnitude(last) }
            };
            text::encode(&(0..len).map(|_| character() as u32).collect::<Vec<_>>())
        });
        let (text, indices) = text::decode(&blob, min, max, alphabet);
        self.push(Choice::Blob(text::encode(&indices)));
        text
    }

    pub(crate) fn more(&mut self, min: u32, max: u32, average_q8: u32) -> bool {
        let len = *self.lens.last().expect("the outermost is always there");
        let more = match index::forced_more(len, min, max) {
            Some(forced) => {
                self.index(0, |_| 0);
                forced
            }
            None => self.index(1, |entropy| entropy.chance(chance_of_more(min, average_q8)).into()) == 1,
        };
        // The next collection in the same span begins anew.
        *self.lens.last_mut().expect("the outermost is always there") = if more { len + 1 } else { 0 };
        more
    }

    pub(crate) fn payload(&mut self, bits: u32) -> u64 {
        let max = u64::MAX >> (64 - bits);
        self.index(max, |entropy| entropy.up_to(max))
    }

    pub(crate) fn span_begin(&mut self, label: u32) {
        let at = self.record.choices.len();
        self.open.push(self.record.spans.len());
        self.lens.push(0);
        self.record.spans.push(SpanRecord { label, start: at, end: at, discarded: false });
    }

    pub(crate) fn span_end(&mut self, flags: u32) {
        let Some(span) = self.open.pop() else { return };
        self.lens.pop();
        let span = &mut self.record.spans[span];
        span.end = self.record.choices.len();
        span.discarded = flags & 1 != 0;
    }

    pub(crate) fn assume(&mut self, condition: bool) {
        if !condition {
            self.reject("an assumption does not hold");
        }
    }

    pub(crate) fn reject(&mut self, why: &str) -> ! {
        stop(Stop::Rejected(why.to_string()))
    }

    pub(crate) fn fail(&mut self, class: &str) -> ! {
        stop(Stop::Failed(class.to_string()))
    }

    pub(crate) fn target(&mut self, label: &str, score: f64) {
        self.record.targets.push((label.to_string(), score));
    }

    pub(crate) fn event(&mut self, label: &str, value: i64) {
        self.record.events.push((label.to_string(), value));
    }

    pub(crate) fn keyframe(&mut self, id: u32, arg: i64) {
        self.record.keyframes.push((id, arg));
    }

    pub(crate) fn name(&mut self, _kind: u32, _id: u32, _text: &str) {}

    pub(crate) fn note(&mut self, text: &str) {
        if self.notes_len < NOTES_LEN_MAX {
            self.notes_len += text.len();
            self.record.notes.push(text.to_string());
        }
    }

    pub(crate) fn value(&mut self, type_id: u64, encoding: u32, bytes: &[u8]) {
        self.record.value = Some(ValueRecord { type_id, encoding, bytes: bytes.to_vec() });
    }

    pub(crate) fn remaining(&mut self) -> u32 {
        let made = self.record.choices.len();
        let random = RANDOM_CHOICES_MAX.saturating_sub(made).min(self.entropy.left());
        let left = (CHOICES_MAX - made).min(self.given.len() + random);
        self.asked = match self.asked {
            Asked::Ended(len) => Asked::Ended(len),
            _ if left == 0 => Asked::Ended(made),
            _ => Asked::Some(made + left),
        };
        left as u32
    }

    pub(crate) fn feature(&mut self, name: &str) -> bool {
        if name == REPORT_NAME {
            return true;
        }
        let name = &name.as_bytes()[..name.len().min(FEATURE_NAME_LEN_MAX)];
        if let Some((_, enabled)) = self.features.iter().find(|(other, _)| other == name) {
            return *enabled;
        }
        if self.features.len() == FEATURES_MAX {
            return true;
        }
        // In half of the runs features are left out, then each with a probability of a half.
        let mut swarm = self.swarm;
        let index = self.index(1, |entropy| {
            let swarm = *swarm.get_or_insert_with(|| entropy.up_to(1) == 1);
            if swarm { entropy.up_to(1) } else { 0 }
        });
        self.swarm = swarm;
        self.features.push((name.to_vec(), index == 0));
        index == 0
    }
}

/// Small ranges evenly. Larger ones: at times a bound or what is beside a power of two, else a number of any magnitude.
fn fresh_integer(entropy: &mut Entropy, max: u64, zigzag: Zigzag) -> u64 {
    if max < 256 {
        return entropy.up_to(max);
    }
    if entropy.up_to(15) != 15 {
        return entropy.any_magnitude(max);
    }
    let is_less = entropy.up_to(1) == 1;
    let most = if is_less { zigzag.below } else { zigzag.above };
    let bits = entropy.up_to(64) as u32;
    let distance = if bits == 64 { most } else { (1_u128 << bits) + u128::from(entropy.up_to(2)) - 1 };
    if distance == 0 { 0 } else { zigzag.index(distance.min(most), is_less) as u64 }
}

/// A simple number, one evenly between the bounds, a special one or any bits.
fn fresh_float(entropy: &mut Entropy, floats: &Floats, lo: f64, hi: f64) -> u64 {
    let max = floats.index_max();
    let value = match entropy.up_to(3) {
        0 => return entropy.any_magnitude(max),
        1 => {
            let part = entropy.up_to((1 << 53) - 1) as f64 / (1_u64 << 53) as f64;
            lo.max(f64::MIN) * (1.0 - part) + hi.min(f64::MAX) * part
        }
        2 => {
            let special =
                [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324];
            special[entropy.up_to(special.len() as u64 - 1) as usize]
        }
        _ => f64::from_bits(entropy.up_to(u64::MAX)),
    };
    floats.index(value).unwrap_or_else(|| entropy.up_to(max))
}

/// As many bytes or characters as there may be, but not more than there is entropy for.
fn fresh_len(entropy: &mut Entropy, min: u32, max: u32) -> usize {
    let len = u64::from(min) + entropy.any_magnitude((max - min).into());
    (len as usize).min(entropy.left()).max(min as usize)
}

/// The probability, in units of 2^-32, of a further element in a collection of so many on average.
fn chance_of_more(min: u32, average_q8: u32) -> u32 {
    let extra = u64::from(average_q8).saturating_sub(u64::from(min) * 256).max(1);
    let chance = (extra << 32) / (extra + 256);
    // Sixteenths below, so that a byte of entropy is enough.
    ((chance as u32) & 0xff00_0000).max(1 << 24)
}
