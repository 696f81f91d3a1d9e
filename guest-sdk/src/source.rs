//! Where a property gets its values from.

use crate::generate::Generate;
use crate::generator::Generator;
use crate::integer::Integer;
use crate::label::{label, mix};
use crate::range::Lengths;
use crate::size::{self, Sizes};
use crate::{backend::Backend, float, index, text};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt::{Debug, Display};
use core::ops::RangeBounds;

/// Bytes that [`Source::rest`] takes at most.
pub(crate) const REST_LEN_MAX: u32 = 65_536;

/// How deep values of recursive types become if nothing is said.
const DEPTH_MAX: u32 = 256;

/// Bytes that a blob or characters that a string has at most when no length is said.
pub(crate) const BLOB_LEN_MAX: u32 = 4096;

/// Label of an element in a collection; mixed with that of its type.
const ELEMENT: u32 = label("element");

/// What a property draws its values from.
///
/// Each draw takes the next choice of a stream, which fuzzbox makes, mutates and shrinks; index 0 of every draw is its
/// simplest value ([`crate::index`] says what the others mean). When the stream has ended, every draw gives its simplest
/// value, so a generator whose simplest values end does end. Draws belong to *spans*: a group of draws that makes one thing and can
/// be replaced, deleted or copied as one. [`Source::draw`], [`Source::draw_from`] and [`Source::vec`] make spans themselves.
///
/// Limits: 65,536 choices, natively and by default in fuzzbox; an execution that wants more is ended, which is no failure.
/// A range without values, an alphabet without characters and a choice among nothing are mistakes of the guest: they panic.
#[derive(Debug, Default)]
pub struct Source {
    backend: Backend,
    depth: u32,
    depth_max: Option<u32>,
    /// The host's answer, once it was asked.
    is_reporting: Option<bool>,
    /// Key frames whose names were told.
    frames: Vec<u32>,
    /// Orders of alternatives that have been worked out, by type.
    orders: Vec<(&'static str, Vec<u32>)>,
}

impl Source {
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn into_backend(self) -> Backend {
        self.backend
    }

    /// An integer of any type in a range; 0 is the simplest, or what is nearest to it.
    pub fn int<T: Integer>(&mut self, range: impl RangeBounds<T>) -> T {
        self.int_towards(range, T::ZERO)
    }

    /// The same with another simplest value.
    pub fn int_towards<T: Integer>(&mut self, range: impl RangeBounds<T>, towards: T) -> T {
        let (lo, hi) = crate::range::bounds(&range);
        T::draw(&mut self.backend, lo, hi, towards)
    }

    /// A boolean, each as likely as the other; false is simpler.
    pub fn bool(&mut self) -> bool {
        self.backend.bool(1 << 31)
    }

    /// True with this probability; 0 or less and 1 or more leave no choice.
    pub fn chance(&mut self, probability: f64) -> bool {
        let units = (probability * 4_294_967_296.0) as u32;
        // Rounding must not make certain what isn't.
        let is_certain = probability >= 1.0;
        let is_open = probability > 0.0 && !is_certain;
        self.backend.bool(if is_certain {
            index::CERTAIN
        } else if is_open {
            units.clamp(1, index::CERTAIN - 1)
        } else {
            0
        })
    }

    /// One of `n` alternatives, of which the first is the simplest.
    pub fn choice(&mut self, n: usize) -> usize {
        assert!(n > 0 && n <= i32::MAX as usize, "a choice among {n}");
        self.backend.choice(n as u32, None) as usize
    }

    /// One of at most 4096 alternatives, as likely as their weights say; the order of simplicity is theirs.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        assert!((1..=4096).contains(&weights.len()), "a choice among {} with weights", weights.len());
        self.backend.choice(weights.len() as u32, Some(weights)) as usize
    }

    /// One of the items.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.choice(items.len())]
    }

    /// Any floating-point number, NaN and infinities included; small integers are the simplest.
    pub fn f64(&mut self) -> f64 {
        self.backend.f64(f64::NEG_INFINITY, f64::INFINITY, float::ALL)
    }

    /// A finite number in a range, both bounds included.
    pub fn f64_in(&mut self, range: core::ops::RangeInclusive<f64>) -> f64 {
        let (lo, hi) = range.into_inner();
        assert!(lo <= hi && lo.is_finite() && hi.is_finite(), "a number from {lo} to {hi}");
        self.backend.f64(lo, hi, float::SUBNORMAL)
    }

    /// Any number of 32 bits: one of 64 bits, rounded.
    pub fn f32(&mut self) -> f32 {
        self.f64() as f32
    }

    /// A finite number of 32 bits in a range.
    pub fn f32_in(&mut self, range: core::ops::RangeInclusive<f32>) -> f32 {
        let (lo, hi) = range.into_inner();
        (self.f64_in(lo.into()..=hi.into()) as f32).clamp(lo, hi)
    }

    /// Bytes as one blob, which is mutated as bytes are.
    pub fn bytes(&mut self, len: impl Into<Lengths>) -> Vec<u8> {
        let Lengths { min, max } = len.into();
        self.backend.bytes(min, max.min(min.max(REST_LEN_MAX)))
    }

    /// All the entropy that is left, as one blob of at most 65,536 bytes: for guests that interpret bytes themselves.
    pub fn rest(&mut self) -> Vec<u8> {
        self.backend.rest()
    }

    /// A string of Unicode characters; the length is in characters.
    pub fn string(&mut self, len: impl Into<Lengths>) -> String {
        self.string_of(text::UNICODE, len)
    }

    /// A string of an alphabet, see [`crate::text`].
    pub fn string_of(&mut self, alphabet: &[u32], len: impl Into<Lengths>) -> String {
        let Lengths { min, max } = len.into();
        debug_assert!(text::count(alphabet) > 0);
        self.backend.text(min, max.min(min.max(REST_LEN_MAX)), alphabet)
    }

    /// A character; `'a'` is the simplest.
    pub fn char(&mut self) -> char {
        let last = text::count(text::UNICODE) - 1;
        text::character(text::UNICODE, self.int(0..=last)).unwrap_or('a')
    }

    /// Whether a collection goes on: asked before each element. It is about the innermost span, which should have begun
    /// with the collection; elements that were granted in it are counted, and counting begins anew when it has ended.
    /// [`Source::vec`] does all that.
    pub fn more(&mut self, len: impl Into<Lengths>) -> bool {
        let Lengths { min, max } = len.into();
        self.backend.more(min, max, index::average_q8(min, max))
    }

    /// The same with the length that collections should have on average.
    pub fn more_averaging(&mut self, len: impl Into<Lengths>, average: f32) -> bool {
        let Lengths { min, max } = len.into();
        self.backend.more(min, max, ((average * 256.0) as u32).min(i32::MAX as u32))
    }

    /// 1 to 64 bits that must not influence what the guest does next: the search treats all their values as one.
    pub fn payload(&mut self, bits: u32) -> u64 {
        assert!((1..=64).contains(&bits), "a payload of {bits} bits");
        self.backend.payload(bits)
    }

    /// A value of any type that says how it is drawn.
    pub fn draw<T: Generate>(&mut self) -> T {
        T::generate(self)
    }

    /// A value of a generator.
    pub fn draw_from<G: Generator + ?Sized>(&mut self, generator: &G) -> G::Value {
        generator.generate(self)
    }

    /// A list, each element drawn by a function.
    pub fn vec<T>(&mut self, len: impl Into<Lengths>, element: impl FnMut(&mut Self) -> T) -> Vec<T> {
        self.vec_labelled(0, len, element)
    }

    /// The same, for elements of the kind that `label` names.
    pub fn vec_labelled<T>(
        &mut self,
        label: u32,
        len: impl Into<Lengths>,
        mut element: impl FnMut(&mut Self) -> T,
    ) -> Vec<T> {
        let (len, mut list) = (len.into(), Vec::new());
        self.span(mix(VEC, label), |source| {
            while source.more(len) {
                list.push(source.span(mix(ELEMENT, label), &mut element));
            }
        });
        list
    }

    /// A thing or nothing; nothing is simpler.
    pub fn option<T>(&mut self, some: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.bool() { Some(some(self)) } else { None }
    }

    /// Draws what belongs together; see [`crate::label()`].
    pub fn span<T>(&mut self, label: u32, draws: impl FnOnce(&mut Self) -> T) -> T {
        self.begin(label);
        let value = draws(self);
        self.end(false);
        value
    }

    /// Begins a span that doesn't end with a function; [`Source::span`] can't be forgotten to end.
    pub fn begin(&mut self, label: u32) {
        self.backend.span_begin(label);
    }

    /// Ends the innermost span. One that is discarded was an attempt that the guest has thrown away.
    pub fn end(&mut self, is_discarded: bool) {
        self.backend.span_end(is_discarded.into());
    }

    /// Draws until the function gives a value, three times at most; then the execution is rejected. What is thrown away is
    /// marked so that it is deleted first.
    pub fn retry<T>(&mut self, label: u32, mut draws: impl FnMut(&mut Self) -> Option<T>) -> T {
        for _ in 0..3 {
            self.begin(label);
            let value = draws(self);
            self.end(value.is_none());
            if let Some(value) = value {
                return value;
            }
        }
        self.reject("three attempts failed")
    }

    /// One of the alternatives of a type, those with small values first; for implementations of [`Generate`].
    ///
    /// `sizes` gives the size of each alternative's smallest value; it is asked once for each `name`, which should be
    /// [`core::any::type_name`]. Beyond [`Source::set_depth_max`] only the smallest alternative is left. The result is the
    /// alternative's number as `sizes` lists them.
    pub fn alternative(
        &mut self,
        name: &'static str,
        weights: Option<&[u32]>,
        mut sizes: impl FnMut(&mut Sizes) -> Vec<u32>,
    ) -> usize {
        let known = self.orders.iter().position(|(known, _)| core::ptr::eq(*known, name) || *known == name);
        let known = known.unwrap_or_else(|| {
            self.orders.push((name, size::order(&Sizes::settle(&mut sizes))));
            self.orders.len() - 1
        });
        let order = &self.orders[known].1;
        let n = if self.is_too_deep() { 1 } else { order.len() as u32 };
        let index = match weights {
            Some(weights) if n > 1 => {
                let weights: Vec<u32> = order.iter().map(|&alternative| weights[alternative as usize]).collect();
                self.backend.choice(n, Some(&weights))
            }
            _ => self.backend.choice(n, None),
        };
        self.orders[known].1[index as usize] as usize
    }

    /// Draws what may hold more of its own kind: one level deeper.
    pub fn deeper<T>(&mut self, draws: impl FnOnce(&mut Self) -> T) -> T {
        self.depth += 1;
        let value = draws(self);
        self.depth -= 1;
        value
    }

    /// Only smallest alternatives are left at this depth.
    pub fn is_too_deep(&self) -> bool {
        self.depth > self.depth_max.unwrap_or(DEPTH_MAX)
    }

    /// How deep values of recursive types may become; 256 levels if nothing is said.
    pub fn set_depth_max(&mut self, levels: u32) {
        self.depth_max = Some(levels);
    }

    /// Ends the execution if the condition does not hold: it is no case of this property.
    pub fn assume(&mut self, condition: bool) {
        self.backend.assume(condition);
    }

    /// Ends the execution: it is no case of this property. Better draw what is one.
    pub fn reject(&mut self, why: &str) -> ! {
        self.backend.reject(why)
    }

    /// Ends the execution as a failure of this class. A panic and a trap are failures too; a class tells failures apart that
    /// happen at the same place.
    pub fn fail(&mut self, class: &str) -> ! {
        self.backend.fail(class)
    }

    /// A number that the search should make large.
    pub fn target(&mut self, label: &str, score: f64) {
        self.backend.target(label, score);
    }

    /// Something happened that code coverage doesn't see: values of different magnitude are new behaviour.
    pub fn event(&mut self, label: &str, value: i64) {
        self.backend.event(label, value);
    }

    /// A predicate of a trace has become true: `fuzzbox gate` looks for executions that tell certain ones one after the other.
    pub fn keyframe(&mut self, id: u32, arg: i64) {
        self.backend.keyframe(id, arg);
    }

    /// As [`Source::keyframe`], of a frame that is known by its name alone: its number is the name's
    /// [`label`](crate::label()).
    pub fn frame(&mut self, name: &str, arg: i64) {
        let id = label(name);
        if !self.frames.contains(&id) {
            self.frames.push(id);
            self.name(NameKind::Keyframe, id, name);
        }
        self.keyframe(id, arg);
    }

    /// Tells the name of a label or a key frame, for reports. Nothing is named unless this is called; call it once.
    pub fn name(&mut self, kind: NameKind, id: u32, name: &str) {
        self.backend.name(kind as u32, id, name);
    }

    /// A line for the report.
    pub fn note(&mut self, text: impl Display) {
        self.backend.note(&text.to_string());
    }

    /// A line for the report with a value in Rust's syntax, as far as its `Debug` has it.
    pub fn note_value(&mut self, name: &str, value: &(impl Debug + ?Sized)) {
        if self.is_reporting() {
            self.note(format_args!("{name} = {value:?}"));
        }
    }

    /// Whether notes are read. Text that is costly to make is made only then.
    ///
    /// It asks for the feature `fuzzbox:report`; a host that doesn't know it says yes. What is drawn, and how the property ends, must not
    /// depend on it: a finding was made while nobody read.
    pub fn is_reporting(&mut self) -> bool {
        if self.is_reporting.is_none() {
            self.is_reporting = Some(self.feature("fuzzbox:report"));
        }
        self.is_reporting == Some(true)
    }

    /// The value that the first part of a property gives to its second, encoded.
    pub fn value(&mut self, type_id: u64, encoding: u32, bytes: &[u8]) {
        self.backend.value(type_id, encoding, bytes);
    }

    /// How many draws are still given or random; 0 when only simplest values follow. For what has to happen once there is
    /// no more randomness: faults cease, and a system must come to rest.
    ///
    /// What a guest that asks was told is part of its stream: that is as long as what it was drawn from, so replaying it gives
    /// the same answers. Natively, from a seed, the number is an estimate (of bytes, not of draws), but for 0; that
    /// comes at the same draw when the stream is replayed.
    pub fn remaining(&mut self) -> u32 {
        self.backend.remaining()
    }

    /// Whether a feature of this name takes part; swarm testing leaves some out, so that the others have more room (Groce et al., "Swarm
    /// testing", ISSTA 2012).
    ///
    /// It is drawn when the name is first asked for, and the same from then on; the simplest is that it takes part. So what
    /// is missing when an input was shrunk had to be. After 128 names all others take part.
    ///
    /// A name like `a := b c` says that the feature makes an `a` of a `b` and a `c`: `+swarm:deps` and `+swarm:parents`
    /// choose features that need each other together, of those that are asked for before anything else is drawn.
    pub fn feature(&mut self, name: &str) -> bool {
        self.backend.feature(name)
    }
}

const VEC: u32 = label("vec");

#[cfg(not(target_family = "wasm"))]
impl From<Backend> for Source {
    fn from(backend: Backend) -> Self {
        Self { backend, ..Self::default() }
    }
}

/// What [`Source::name`] names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// The label of a span.
    Label = 0,
    /// A key frame.
    Keyframe = 1,
}
