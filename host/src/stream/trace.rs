//! What an execution drew, and how its draws were grouped.

use super::choice::Choice;
use super::float::{index_of, zigzag};
use fuzzbox_instrument::layout::stream as layout;

/// Functions inside one another that draw what no stream gave, from which on there is no end. A stack of C with 64 KiB
/// has room for so many.
const RUNAWAY_SPANS: usize = 1024;

/// The draws of one execution and their spans.
///
/// `choices[i]` is what `draws[i]` took, whatever stream the execution was given; [`Trace::canonical`] is the stream
/// that does the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// What was drawn.
    pub choices: Vec<Choice>,
    /// One for each choice.
    pub draws: Vec<Draw>,
    /// Groups of adjacent draws, in the order in which they begin; a group comes before those inside it.
    pub spans: Vec<Span>,
    /// The draws beyond this many came from the tail rule, not from the stream that was given.
    pub given: usize,
    /// The first draw whose choice in the given stream did not fit: an index out of bounds, a blob where an index was
    /// drawn or the other way round.
    pub misaligned: Option<usize>,
    /// The execution drew more than the trace can hold, and ended there.
    pub overrun: bool,
    /// If the guest asked how many draws are left (`remaining`): how many choices the stream and its random part had,
    /// read or not.
    pub entropy: Option<usize>,
}

impl Trace {
    /// Whether the execution ended in a recursion that no stream would end: functions that draw were called inside one
    /// another so deep, all behind the first `given` draws, which are what the stream and its random part have.
    pub fn runs_away(&self, given: usize) -> bool {
        let open =
            |span: &&Span| span.automatic && span.start as usize >= given && span.end as usize == self.draws.len();
        self.spans.iter().filter(open).count() >= RUNAWAY_SPANS
    }

    /// The same with a stream that does the same: what was drawn, unless the guest asked how much is left. Then the
    /// length of the stream is part of what it was told, so the stream keeps it: what was drawn behind its end is left
    /// out, which is the simplest in any case, and what nobody drew is there as draws that leave no choice.
    ///
    /// ```text
    /// given 3 1 4 1, drawn 3 1       3 1            asked: 3 1 0 0
    /// given 3 1, drawn 3 1 0         3 1 0          asked: 3 1
    /// ```
    ///
    /// Who was given other indices than zeros behind the end (by a [`Closing`](super::Closing)) had not asked by then,
    /// and was told 0 when it did: what a stream says that ends with the last of them.
    #[must_use]
    pub fn canonical(mut self) -> Self {
        let Some(entropy) = self.entropy else { return self };
        let closed = self.choices.iter().rposition(|choice| choice.index().is_some_and(|index| index > 0));
        let len = closed.map_or(0, |last| last + 1).max(entropy);
        self.choices.resize(len, Choice::ZERO);
        self.draws.resize(len, Draw::UNREAD);
        for span in &mut self.spans {
            span.start = span.start.min(len as u32);
            span.end = span.end.min(len as u32);
        }
        self.given = self.given.min(len);
        self
    }
}

/// One draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// What was drawn.
    pub kind: DrawKind,
    /// Where in the guest: the number of the call site, the same for each execution of the same build.
    pub site: u32,
    /// The largest index that was possible (the number of values less one); for blobs the largest length, in bytes.
    pub max: u64,
    /// Only one value was possible.
    pub forced: bool,
    /// Must not influence control flow (`draw_payload`).
    pub payload: bool,
    /// The bounds as the guest gave them: `lo` and `hi` for numbers (bits of an `f64`), the smallest and the largest
    /// length for blobs, strings and collections.
    pub lo: i64,
    /// See `lo`.
    pub hi: i64,
    /// For integers the value that index 0 stands for, for floats flags, for strings how many scalar values the
    /// alphabet has.
    pub towards: i64,
}

impl Draw {
    /// What stands for a choice that is there but was not drawn.
    const UNREAD: Self =
        Self { kind: DrawKind::Choice, site: 0, max: 0, forced: true, payload: false, lo: 0, hi: 0, towards: 0 };

    /// The smallest and the largest integer that it can give, and the one that index 0 stands for.
    pub fn bounds(&self) -> (i128, i128, i128) {
        let (lo, hi) = (self.wide(self.lo), self.wide(self.hi));
        (lo, hi, self.wide(self.towards).clamp(lo, hi.max(lo)))
    }

    /// The integer that `index` stands for.
    ///
    /// Index 0 is the value that the draw goes towards; then come, in turns, one more and one less, two more and two
    /// less, as long as there are values on both sides, and then the rest of the longer side.
    pub fn number(&self, index: u64) -> i128 {
        let (_, _, towards) = self.bounds();
        self.wide(zigzag(index, self.lo, self.hi, towards as i64))
    }

    /// The index of the integer `value`; `None` if it is out of bounds. The other way round than [`Draw::number`].
    pub fn index_of(&self, value: i128) -> Option<u64> {
        let (lo, hi, towards) = self.bounds();
        if !(lo..=hi).contains(&value) {
            return None;
        }
        Some(index_of(value as i64, self.lo, self.hi, towards as i64))
    }

    fn wide(&self, bits: i64) -> i128 {
        if self.kind == DrawKind::Uint { i128::from(bits.cast_unsigned()) } else { i128::from(bits) }
    }
}

/// What a draw asks for, by its number in records and in what is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DrawKind {
    /// A signed integer; the index is the zigzag distance from `towards`.
    Int = layout::KIND_INT,
    /// An unsigned integer, likewise.
    Uint = layout::KIND_UINT,
    /// A boolean; index 0 is false.
    Bool = layout::KIND_BOOL,
    /// One of n alternatives; the index is which.
    Choice = layout::KIND_CHOICE,
    /// A floating-point number; simple ones have small indices.
    F64 = layout::KIND_F64,
    /// Bytes (a blob).
    Bytes = layout::KIND_BYTES,
    /// A string (a blob of indices in its alphabet).
    Str = layout::KIND_STR,
    /// Whether a collection goes on; index 0 ends it.
    More = layout::KIND_MORE,
    /// A value that must not influence control flow.
    Payload = layout::KIND_PAYLOAD,
}

impl DrawKind {
    /// All of them.
    pub(super) const ALL: [Self; 9] =
        [Self::Int, Self::Uint, Self::Bool, Self::Choice, Self::F64, Self::Bytes, Self::Str, Self::More, Self::Payload];

    /// Its number.
    pub(super) fn number(self) -> u8 {
        self as u8
    }

    /// The kind with this number.
    pub(super) fn of_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// Takes a blob, not an index.
    pub fn is_blob(self) -> bool {
        matches!(self, Self::Bytes | Self::Str)
    }
}

/// A group of adjacent draws: something the guest made of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// What kind of thing: spans with the same label can stand for one another.
    pub label: u64,
    /// The innermost span around it, as an index into [`Trace::spans`].
    pub parent: Option<u32>,
    /// Its first draw.
    pub start: u32,
    /// The draw after its last.
    pub end: u32,
    /// Spans around it.
    pub depth: u16,
    /// The guest threw away what it drew here.
    pub discarded: bool,
    /// Found by the rewriter (a function or an iteration that draws), not told by the guest.
    pub automatic: bool,
}

impl Span {
    /// One that a guest told, and kept what it drew in it, with no parent.
    #[cfg(test)]
    pub(crate) fn told(label: u64, start: u32, end: u32, depth: u16) -> Self {
        Self { label, parent: None, start, end, depth, discarded: false, automatic: false }
    }

    /// Its draws, as a range of indices.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(kind: DrawKind, lo: i64, hi: i64, towards: i64) -> Draw {
        Draw { kind, site: 0, max: u64::MAX, forced: false, payload: false, lo, hi, towards }
    }

    #[test]
    fn indices_go_out_from_the_simplest_value() {
        let signed = draw(DrawKind::Int, -3, 5, 0);
        assert_eq!((0..9).map(|i| signed.number(i)).collect::<Vec<_>>(), [0, 1, -1, 2, -2, 3, -3, 4, 5]);
        let clamped = draw(DrawKind::Int, 2, 4, 0);
        assert_eq!((0..3).map(|i| clamped.number(i)).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(draw(DrawKind::Int, -32768, 32767, 0).index_of(-32768), Some(65535));
    }

    #[test]
    fn values_come_back_from_their_indices() {
        for (kind, lo, hi, towards) in [
            (DrawKind::Int, i64::MIN, i64::MAX, 0),
            (DrawKind::Int, i64::MIN, i64::MAX, i64::MIN),
            (DrawKind::Uint, 0, -1, 77),
            (DrawKind::Int, -5, 9, 7),
        ] {
            let draw = draw(kind, lo, hi, towards);
            for index in (0..40)
                .chain((lo == i64::MIN || hi == -1).then_some([1 << 40, u64::MAX - 1, u64::MAX]).into_iter().flatten())
            {
                let value = draw.number(index);
                if let Some(back) = draw.index_of(value) {
                    assert_eq!(back, index, "{draw:?}");
                }
            }
        }
        assert_eq!(draw(DrawKind::Int, 0, 5, 0).index_of(6), None);
    }
}
