//! What solvers see of an input: bytes.
//!
//! Of a guest that draws an input is a stream of choices, in which a number is an index that counts from the simplest
//! value, in as few bytes as it needs. A program compares values. So solvers get the values that were drawn, as a
//! program has them in memory: integers and floats as wide as their bounds, strings in UTF-8, blobs as they are, of all
//! else the index. What they make of these bytes becomes a stream again:
//!
//! ```text
//! drawn     int 7 of 0..=1000    bool true    string "ab"    f64 0.5
//! bytes     07 00                01           61 62          00 00 00 00 00 00 e0 3f
//! stream    index 14             index 1      blob 00 01     index 2^54 and something
//! ```
//!
//! Of an input that is no stream the bytes are what they are.

use super::values::Value;
use crate::stream::{Choice, Draw, DrawKind, Node, Trace, encode};
use std::borrow::Cow;
use std::ops::Range;

/// Ways to make an input longer that are looked at.
const GROWTHS_MAX: usize = 8;
/// Blobs grow up to so many bytes, lists up to so many draws.
const GROWN_MAX: usize = 1 << 16;
/// What makes an input longer: no text ends with it.
pub(in crate::engine::strategy::compares) const LONGER: u8 = b'A';

/// How an input and the bytes that solvers change become each other.
#[derive(Clone, Debug)]
pub(in crate::engine::strategy) struct Form {
    /// The bytes of the input.
    bytes: Vec<u8>,
    /// What a stream consists of; `None` if it is none.
    parts: Option<Vec<Part>>,
    growths: Vec<Growth>,
}

/// A draw, and the bytes of its value.
#[derive(Clone, Debug)]
struct Part {
    draw: Draw,
    value: Value,
    at: Range<usize>,
}

/// A way to make an input longer or shorter.
#[derive(Clone, Debug)]
enum Growth {
    /// At its end.
    End,
    /// A blob or a string, by its part.
    Blob(usize),
    /// A list, by the parts of each of its elements.
    List(Vec<Range<usize>>),
}

impl Form {
    /// Of an input that is no stream.
    pub(in crate::engine::strategy) fn plain(input: &[u8]) -> Self {
        Self { bytes: input.to_vec(), parts: None, growths: vec![Growth::End] }
    }

    /// Of what an execution drew.
    pub(in crate::engine::strategy) fn of(trace: &Trace) -> Self {
        let (mut bytes, mut parts) = (Vec::new(), Vec::new());
        for (draw, choice) in trace.draws.iter().zip(&trace.choices) {
            let (value, start) = (Value::of(draw), bytes.len());
            value.write(draw, choice, &mut bytes);
            parts.push(Part { draw: *draw, value, at: start..bytes.len() });
        }
        let blobs = (0..parts.len()).filter(|&part| parts[part].draw.kind.is_blob()).map(Growth::Blob);
        let mut lists = Vec::new();
        find_lists(&Node::of(trace), 0, &mut lists);
        let growths = lists.into_iter().map(Growth::List).chain(blobs).take(GROWTHS_MAX).collect();
        Self { bytes, parts: Some(parts), growths }
    }

    /// The bytes of the input.
    pub(in crate::engine::strategy) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether another one has values of as many bytes of the same draws.
    pub(in crate::engine::strategy) fn is_alike(&self, other: &Self) -> bool {
        let alike = |(one, other): (&Part, &Part)| one.draw == other.draw && one.at == other.at;
        match (&self.parts, &other.parts) {
            (Some(one), Some(other)) => one.len() == other.len() && one.iter().zip(other).all(alike),
            _ => self.bytes.len() == other.bytes.len(),
        }
    }

    /// Where the values of numbers lie, and where other bytes do: all, of an input that is no stream.
    pub(in crate::engine::strategy) fn numbers_and_bytes(&self) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
        let Some(parts) = &self.parts else { return (Vec::new(), std::iter::once(0..self.bytes.len()).collect()) };
        let places = |is_blob: bool| {
            let parts = parts.iter().filter(|part| part.draw.kind.is_blob() == is_blob && !part.draw.forced);
            parts.map(|part| part.at.clone()).collect()
        };
        (places(false), places(true))
    }

    /// Whether it is that of an input that is no stream.
    pub(in crate::engine::strategy) fn is_plain(&self) -> bool {
        self.parts.is_none()
    }

    /// Whether an execution drew the same things, so that their values lie in the same places.
    pub(in crate::engine::strategy) fn fits(&self, drawn: Option<&Trace>) -> bool {
        let (Some(parts), Some(trace)) = (&self.parts, drawn) else { return self.parts.is_none() };
        let is_same = |(part, (draw, choice)): (&Part, (&Draw, &Choice))| {
            part.draw == *draw && choice.blob().is_none_or(|_| Value::of(draw).len(draw, choice) == part.at.len())
        };
        parts.len() == trace.draws.len() && parts.iter().zip(trace.draws.iter().zip(&trace.choices)).all(is_same)
    }

    /// The input that `bytes` stand for. Where they are longer or shorter, it is the blob that was changed which is.
    pub(in crate::engine::strategy) fn input<'b>(&self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let Some(parts) = &self.parts else { return Cow::Borrowed(bytes) };
        Cow::Owned(encode(&choices(parts, bytes, self.longer(parts, bytes))))
    }

    /// The part that is longer or shorter, and the bytes behind it.
    fn longer(&self, parts: &[Part], bytes: &[u8]) -> Option<(usize, usize)> {
        if bytes.len() == self.bytes.len() {
            return None;
        }
        let before = bytes.iter().zip(&self.bytes).take_while(|(new, old)| new == old).count();
        let behind = bytes.iter().rev().zip(self.bytes.iter().rev()).take_while(|(new, old)| new == old).count();
        let part = parts.iter().position(|part| {
            let rest = self.bytes.len() - part.at.end;
            part.draw.kind.is_blob() && part.at.start <= before && rest <= behind && part.at.start + rest <= bytes.len()
        })?;
        Some((part, self.bytes.len() - parts[part].at.end))
    }

    /// How many ways there are to make the input longer.
    pub(in crate::engine::strategy) fn growths(&self) -> usize {
        self.growths.len()
    }

    /// The input made longer by so much in one of these ways, or shorter: by bytes, or by elements of a list. `None` if
    /// it is longer than `len_max` then: operands ask for any length. `last` is what bytes are added: the last one
    /// again, or one with which no text ends.
    pub(in crate::engine::strategy) fn grown(
        &self,
        bytes: &[u8],
        growth: usize,
        (by, last): (i64, bool),
        len_max: usize,
    ) -> Option<Vec<u8>> {
        let longest = if self.is_plain() { len_max } else { len_max.min(GROWN_MAX) };
        let size = |len: usize| {
            let len = usize::try_from(i64::try_from(len).ok()?.checked_add(by)?).ok()?;
            (len <= longest).then_some(len)
        };
        let byte = |own: &[u8]| if last { own.last().copied().unwrap_or(LONGER) } else { LONGER };
        let resized = |own: &[u8]| {
            let mut resized = own.to_vec();
            resized.resize(size(own.len())?, byte(own));
            Some(resized)
        };
        let Some(parts) = &self.parts else { return resized(bytes) };
        let mut choices = choices(parts, bytes, None);
        match &self.growths[growth] {
            Growth::End => return None,
            Growth::Blob(part) => {
                let Part { draw, value, at } = &parts[*part];
                choices[*part] = value.read(draw, &resized(bytes.get(at.clone())?)?);
            }
            Growth::List(elements) => {
                let left = size(elements.len())?;
                if left < elements.len() {
                    choices.drain(elements[left].start..elements.last()?.end);
                } else {
                    let element = elements.last()?;
                    let copies = left - elements.len();
                    if choices.len() + copies.checked_mul(element.len())? > GROWN_MAX {
                        return None;
                    }
                    let copy = choices[element.clone()].to_vec();
                    let more = std::iter::repeat_n(copy, copies).flatten();
                    choices.splice(element.end..element.end, more);
                }
            }
        }
        Some(encode(&choices)).filter(|input| input.len() <= len_max)
    }
}

/// The choices that `bytes` stand for, where one part may be longer, with so many bytes behind it.
fn choices(parts: &[Part], bytes: &[u8], longer: Option<(usize, usize)>) -> Vec<Choice> {
    let old: usize = parts.last().map_or(0, |part| part.at.end);
    parts
        .iter()
        .enumerate()
        .map(|(index, Part { draw, value, at })| {
            let range = match longer {
                Some((part, rest)) if part == index => at.start..bytes.len() - rest,
                Some((part, _)) if part < index => at.start + bytes.len() - old..at.end + bytes.len() - old,
                _ => at.clone(),
            };
            value.read(draw, bytes.get(range).unwrap_or_default())
        })
        .collect()
}

/// Finds lists, and adds the parts of each element: what a granted draw of `more` begins. It has `start` draws
/// before it.
fn find_lists(node: &Node, start: usize, lists: &mut Vec<Vec<Range<usize>>>) {
    let mut elements: Vec<Range<usize>> = Vec::new();
    let mut at = start;
    // Of iterations, the spans of which were found: their label.
    let mut label = None;
    let mut open = false;
    for child in node.children() {
        let end = at + child.draws();
        if let Some((draw, choice)) = child.as_draw() {
            open = draw.kind == DrawKind::More && choice.index() == Some(1) || open && draw.kind != DrawKind::More;
            if draw.kind == DrawKind::More && open {
                elements.push(at..end);
            }
        } else if is_iteration(child) && (elements.is_empty() || label == child.label()) {
            label = child.label();
            elements.push(at..end);
            open = false;
        }
        if open && let Some(element) = elements.last_mut() {
            element.end = end;
        }
        at = end;
    }
    if !elements.is_empty() && !is_iteration(node) {
        lists.push(elements);
    }
    let mut at = start;
    for child in node.children() {
        find_lists(child, at, lists);
        at += child.draws();
    }
}

/// Whether a span is an iteration that a granted draw begins, and in which none says that the list ends.
fn is_iteration(span: &Node) -> bool {
    let more =
        |node: &Node| node.as_draw().filter(|(draw, _)| draw.kind == DrawKind::More).map(|(_, choice)| choice.index());
    let mut granted = span.children().iter().filter_map(more);
    span.children().first().and_then(more) == Some(Some(1)) && granted.next().is_some() && granted.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Span, decode};

    fn draw(kind: DrawKind, lo: i64, hi: i64, towards: i64) -> Draw {
        let max = if kind.is_blob() { 1000 } else { hi.abs_diff(lo) };
        Draw { kind, site: 1, max, forced: false, payload: false, lo, hi, towards }
    }

    fn trace(drawn: &[(Draw, Choice)], spans: &[(u32, u32, u16)]) -> Trace {
        let span = |&(start, end, depth): &(u32, u32, u16)| Span::told(u64::from(depth) + 1, start, end, depth);
        Trace {
            choices: drawn.iter().map(|(_, choice)| choice.clone()).collect(),
            draws: drawn.iter().map(|(draw, _)| *draw).collect(),
            spans: spans.iter().map(span).collect(),
            ..Trace::default()
        }
    }

    /// An integer, a string, a boolean, a blob, a signed integer.
    fn mixed() -> Trace {
        let text = Choice::Blob(vec![0, 1, 2]);
        let drawn = [
            (draw(DrawKind::Uint, 0, 1000, 0), Choice::Index(7)),
            (draw(DrawKind::Str, 0, 100, 1_112_064), text),
            (draw(DrawKind::Bool, 0, 1, 0), Choice::Index(1)),
            (draw(DrawKind::Bytes, 0, 100, 0), Choice::Blob(b"xyz".to_vec())),
            (draw(DrawKind::Int, i64::from(i32::MIN), i64::from(i32::MAX), 0), Choice::Index(4)),
        ];
        trace(&drawn, &[])
    }

    #[test]
    fn values_lie_as_programs_have_them_and_become_choices_again() {
        let trace = mixed();
        let form = Form::of(&trace);
        assert_eq!(form.bytes(), b"\x07\0abc\x01xyz\xfe\xff\xff\xff");
        assert_eq!(decode(&form.input(form.bytes())), trace.choices);
        assert!(form.fits(Some(&trace)) && !form.fits(None));
        let changed = decode(&form.input(b"\x00\x02aBc\x00XYZ\x09\0\0\0"));
        let text = Choice::Blob(vec![0, 27, 2]);
        assert_eq!(
            changed,
            [Choice::Index(512), text, Choice::Index(0), Choice::Blob(b"XYZ".to_vec()), Choice::Index(17)]
        );
    }

    #[test]
    fn what_is_out_of_bounds_counts_round() {
        let trace = mixed();
        let form = Form::of(&trace);
        assert_eq!(decode(&form.input(b"\xe9\x03abc\x03xyz\xfe\xff\xff\xff"))[..1], [Choice::Index(0)]);
        assert_eq!(decode(&form.input(b"\x07\0abc\x03xyz\xfe\xff\xff\xff"))[2], Choice::Index(1));
    }

    #[test]
    fn the_blob_that_was_changed_is_longer_or_shorter() {
        let form = Form::of(&mixed());
        let blobs = |bytes: &[u8]| {
            let choices = decode(&form.input(bytes));
            assert_eq!((choices.len(), &choices[4]), (5, &Choice::Index(4)), "what is behind it stays");
            (choices[1].blob().unwrap().len(), choices[3].blob().unwrap().to_vec())
        };
        assert_eq!(blobs(b"\x07\0abABABc\x01xyz\xfe\xff\xff\xff"), (7, b"xyz".to_vec()));
        assert_eq!(blobs(b"\x07\0\x01xyz\xfe\xff\xff\xff"), (0, b"xyz".to_vec()));
        assert_eq!(blobs(b"\x07\0abc\x01xyzw\xfe\xff\xff\xff"), (3, b"xyzw".to_vec()));
        assert_eq!(blobs(b"\x07\0abc\x01\xfe\xff\xff\xff"), (3, Vec::new()));
    }

    /// A list of two elements, each of two draws in a span, and something behind it.
    fn list() -> Trace {
        let (more, int) = (draw(DrawKind::More, 0, 100, 0), draw(DrawKind::Uint, 0, 255, 0));
        let more = Draw { max: 1, ..more };
        let indices = [(more, 1), (int, 10), (int, 11), (more, 1), (int, 20), (int, 21), (more, 0), (int, 9)];
        let drawn = indices.map(|(draw, index)| (draw, Choice::Index(index)));
        trace(&drawn, &[(0, 7, 0), (1, 3, 1), (4, 6, 1)])
    }

    fn indices(input: &[u8]) -> Vec<u64> {
        decode(input).iter().map(|choice| choice.index().unwrap()).collect()
    }

    #[test]
    fn lists_grow_by_their_last_element() {
        let form = Form::of(&list());
        assert_eq!(form.growths(), 1);
        let grown = |by| form.grown(form.bytes(), 0, (by, false), 1 << 20).map(|input| indices(&input));
        assert_eq!(grown(2).unwrap(), [1, 10, 11, 1, 20, 21, 1, 20, 21, 1, 20, 21, 0, 9]);
        assert_eq!(grown(-1).unwrap(), [1, 10, 11, 0, 9]);
        assert_eq!(grown(-2).unwrap(), [0, 9]);
        assert_eq!((grown(-3), grown(i64::MAX), grown(1 << 40)), (None, None, None));
        // What was changed before stays so.
        let mut bytes = form.bytes().to_vec();
        bytes[1] = 99;
        assert_eq!(indices(&form.grown(&bytes, 0, (1, false), 100).unwrap())[..3], [1, 99, 11]);
    }

    #[test]
    fn blobs_grow_and_so_does_what_is_no_stream() {
        let form = Form::of(&mixed());
        assert_eq!(form.growths(), 2);
        let text = |last| decode(&form.grown(form.bytes(), 0, (2, last), 100).unwrap())[1].clone();
        assert_eq!((text(true), text(false)), (Choice::Blob(vec![0, 1, 2, 2, 2]), Choice::Blob(vec![0, 1, 2, 26, 26])));
        let plain = Form::plain(b"ab");
        assert_eq!(plain.grown(b"ab", 0, (1, true), 3).unwrap(), b"abb");
        assert_eq!(plain.grown(b"ab", 0, (-3, true), 3), None);
        assert_eq!(plain.input(b"xyz"), &b"xyz"[..]);
    }

    #[test]
    fn nothing_is_made_that_is_too_long() {
        let plain = Form::plain(b"ab");
        assert_eq!(plain.grown(b"ab", 0, (1, true), 2), None);
        for by in [1 << 33, i64::MAX - 2, i64::MAX] {
            assert_eq!(plain.grown(b"ab", 0, (by, false), 64 << 20), None);
        }
        let form = Form::of(&mixed());
        let text = |by, len_max| form.grown(form.bytes(), 0, (by, false), len_max).is_some();
        assert!(text(20, 100) && !text(20, 30) && !text(1 << 33, 64 << 20));
    }

    #[test]
    fn any_bytes_have_choices() {
        for (form, drawn) in [(Form::of(&mixed()), 5), (Form::of(&list()), 8), (Form::of(&Trace::default()), 0)] {
            for len in 0..40 {
                let bytes: Vec<u8> = (0..len).map(|at| (at * 37 + len) as u8).collect();
                assert_eq!(decode(&form.input(&bytes)).len(), drawn);
                (0..form.growths()).for_each(|growth| drop(form.grown(&bytes, growth, (1, true), 100)));
            }
        }
    }
}
