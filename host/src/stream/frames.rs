//! Traces: key frames that executions are to tell, in this order.
//!
//! ```toml
//! name = "login"                     # the file's stem, if it is not said
//! frames = [
//!     "hello",                       # by its name,
//!     4,                             # or by its number
//!     { frame = "confirm", arg = [1, 9], before = 40 },
//! ]
//! ```
//!
//! A frame matches a pattern if it has its number, or a name that the guest gave to this number before it
//! (`fuzzbox_v1.name`), or a number that is the label of the name; if its argument is in the range; and if
//! fewer draws came before it. What an execution tells beside that does not matter: a trace is a subsequence. Frames
//! are taken as early as they match, so no other choice of them would match more.

use super::guest_report::Entry;
use crate::text::printable;
use anyhow::{Context, Result, ensure};
use fuzzbox_instrument::layout::stream::{ENTRY_KEYFRAME, ENTRY_NAME, NAME_KEYFRAME};
use serde::de::{self, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;

/// Traces that are looked at together, at most.
pub const TRACES_MAX: usize = 256;
/// Frames of a trace, at most.
pub const FRAMES_MAX: usize = 64;
/// Bytes of a trace's name, at most.
const NAME_BYTES_MAX: usize = 64;

/// Traces, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traces(Vec<FrameTrace>);

/// Key frames to be told one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameTrace {
    /// What it is called.
    pub name: String,
    /// At least one, at most [`FRAMES_MAX`].
    pub patterns: Vec<Pattern>,
}

/// What matches a key frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    frame: Frame,
    arg: RangeInclusive<i64>,
    /// So many draws are too many.
    before: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Frame {
    Number(u32),
    Name(String),
}

/// How far an execution came on a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Frames that matched.
    pub frames: usize,
    /// Draws before the last of them.
    pub draws: u32,
}

impl Traces {
    /// Traces with different names.
    ///
    /// # Errors
    ///
    /// If two have the same, or there are too many.
    pub fn new(mut traces: Vec<FrameTrace>) -> Result<Self> {
        ensure!(traces.len() <= TRACES_MAX, "there are {} traces, the limit is {TRACES_MAX}", traces.len());
        traces.sort_by(|a, b| a.name.cmp(&b.name));
        let same = traces.windows(2).find(|pair| pair[0].name == pair[1].name);
        ensure!(same.is_none(), "two traces have the name `{}`", same.map_or("", |pair| &pair[0].name));
        Ok(Self(traces))
    }

    /// The traces, in the order of their names.
    pub fn all(&self) -> &[FrameTrace] {
        &self.0
    }

    /// How far an execution came on each trace that told this; `named` is what initialisers named.
    pub fn reached<'a>(
        &'a self,
        entries: impl Iterator<Item = Entry<'a>>,
        named: &'a [(u32, u32, String)],
    ) -> Vec<Reached> {
        let mut reached = vec![Reached::default(); self.0.len()];
        let of_frames = named.iter().filter(|(kind, ..)| *kind == NAME_KEYFRAME);
        let mut names: BTreeSet<(u32, &[u8])> = of_frames.map(|(_, id, name)| (*id, name.as_bytes())).collect();
        for Entry { kind, numbers: [a, b], draws, text, .. } in entries {
            match kind {
                ENTRY_NAME if a == i64::from(NAME_KEYFRAME) => drop(names.insert((b as u32, text))),
                ENTRY_KEYFRAME => {
                    for (trace, reached) in self.0.iter().zip(&mut reached) {
                        let next = trace.patterns.get(reached.frames);
                        if next.is_some_and(|pattern| pattern.matches((a as u32, b), draws, &names)) {
                            *reached = Reached { frames: reached.frames + 1, draws };
                        }
                    }
                }
                _ => {}
            }
        }
        reached
    }
}

impl FrameTrace {
    /// Reads a trace; `stem` is its name if it doesn't say one.
    ///
    /// # Errors
    ///
    /// If it is none: what is wrong, and in which line.
    pub fn parse(text: &str, stem: &str) -> Result<Self> {
        let file: File = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| 1 + text[..span.start].matches('\n').count());
            let message = printable(error.message().lines().next().unwrap_or_default());
            line.map_or_else(|| anyhow::anyhow!("{message}"), |line| anyhow::anyhow!("line {line}: {message}"))
        })?;
        let name = file.name.unwrap_or_else(|| stem.to_owned());
        let is_name = !name.is_empty() && name.len() <= NAME_BYTES_MAX && printable(&name) == name;
        ensure!(is_name, "`{}` can't be the name of a trace", printable(&name));
        let count = file.frames.len();
        ensure!((1..=FRAMES_MAX).contains(&count), "it has {count} frames; there can be 1 to {FRAMES_MAX}");
        Ok(Self { name, patterns: file.frames })
    }
}

impl Pattern {
    fn matches(&self, (id, arg): (u32, i64), draws: u32, names: &BTreeSet<(u32, &[u8])>) -> bool {
        let is_frame = match &self.frame {
            Frame::Number(number) => *number == id,
            Frame::Name(name) => label(name) == id || names.contains(&(id, name.as_bytes())),
        };
        is_frame && self.arg.contains(&arg) && draws < self.before
    }

    /// The pattern in words, where the guest gave these names: `4 (confirm), argument 1 to 9`.
    pub fn described<'a>(&self, names: impl IntoIterator<Item = &'a (u32, u32, String)>) -> String {
        let mut of_frames = names.into_iter().filter(|(kind, ..)| *kind == NAME_KEYFRAME);
        let mut text = match &self.frame {
            Frame::Number(number) => {
                let name = of_frames.find(|(_, id, _)| id == number);
                name.map_or_else(|| number.to_string(), |(_, _, name)| format!("{number} ({})", printable(name)))
            }
            Frame::Name(name) => {
                let id = of_frames.find(|(_, id, other)| other == name && *id != label(name));
                id.map_or_else(|| printable(name), |(_, id, _)| format!("{id} ({})", printable(name)))
            }
        };
        match (self.arg.start(), self.arg.end()) {
            (&i64::MIN, &i64::MAX) => {}
            (first, last) if first == last => text += &format!(", argument {first}"),
            (first, last) => text += &format!(", argument {first} to {last}"),
        }
        if self.before != u32::MAX {
            text += &format!(", before draw {}", self.before);
        }
        text
    }
}

/// A key frame that was told, in words, where the guest gave these names: `4 (confirm), argument 7`.
pub(super) fn told<'a>((id, arg): (u32, i64), names: impl IntoIterator<Item = &'a (u32, u32, String)>) -> String {
    Pattern { frame: Frame::Number(id), arg: arg..=arg, before: u32::MAX }.described(names)
}

/// The number of a frame that has nothing but a name: the 32-bit FNV-1a hash of that, as of labels in the guests' SDKs.
fn label(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// A file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Option<String>,
    frames: Vec<Pattern>,
}

/// A pattern with all that can be said of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Typed {
    frame: Frame,
    arg: Option<Arg>,
    before: Option<u32>,
}

struct Arg(RangeInclusive<i64>);

/// Reads what is a number or a name.
struct FrameVisitor;

impl Visitor<'_> for FrameVisitor {
    type Value = Frame;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key frame's name or number")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Frame, E> {
        if name.is_empty() {
            return Err(E::custom("a key frame has a name or a number"));
        }
        Ok(Frame::Name(name.to_owned()))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Frame, E> {
        u32::try_from(number).map(Frame::Number).map_err(|_| E::custom(format!("{number} is no key frame's number")))
    }
}

impl<'de> Deserialize<'de> for Frame {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(FrameVisitor)
    }
}

impl<'de> Deserialize<'de> for Arg {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Range;
        impl<'de> Visitor<'de> for Range {
            type Value = Arg;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or the first and the last one")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Arg, E> {
                Ok(Arg(number..=number))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Arg, A::Error> {
                let mut next = || numbers.next_element::<i64>();
                match (next()?, next()?, next()?) {
                    (Some(first), Some(last), None) if first <= last => Ok(Arg(first..=last)),
                    _ => Err(de::Error::custom("a range has a first number and a last one that is no smaller")),
                }
            }
        }
        from.deserialize_any(Range)
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Pattern;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key frame's name or number, or a table with `frame`")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Pattern, E> {
                FrameVisitor.visit_str(name).map(Pattern::of)
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Pattern, E> {
                FrameVisitor.visit_i64(number).map(Pattern::of)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Pattern, A::Error> {
                let Typed { frame, arg, before } = Typed::deserialize(MapAccessDeserializer::new(map))?;
                let any = Pattern::of(frame);
                if before == Some(0) {
                    return Err(de::Error::custom("no frame comes before 0 draws"));
                }
                Ok(Pattern {
                    arg: arg.map_or(any.arg, |Arg(range)| range),
                    before: before.unwrap_or(any.before),
                    ..any
                })
            }
        }
        from.deserialize_any(Any)
    }
}

impl Pattern {
    /// Whatever the argument, and whenever.
    fn of(frame: Frame) -> Self {
        Self { frame, arg: i64::MIN..=i64::MAX, before: u32::MAX }
    }
}

/// Puts what went wrong under the name of the file.
///
/// # Errors
///
/// Those of [`FrameTrace::parse`], and if the bytes are no text.
pub fn read(bytes: Vec<u8>, path: &str, stem: &str) -> Result<FrameTrace> {
    let text = String::from_utf8(bytes).context("it is no UTF-8");
    text.and_then(|text| FrameTrace::parse(&text, stem)).with_context(|| format!("failed to read trace `{path}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(text: &str) -> FrameTrace {
        FrameTrace::parse(text, "stem").unwrap_or_else(|error| panic!("{error:#}"))
    }

    fn keyframe(id: u32, arg: i64, draws: u32) -> Entry<'static> {
        Entry { kind: ENTRY_KEYFRAME, numbers: [id.into(), arg], site: 0, draws, text: b"" }
    }

    fn reached(text: &str, entries: &[Entry<'static>], named: &[(u32, u32, String)]) -> (usize, u32) {
        let traces = Traces::new(vec![trace(text)]).unwrap();
        let reached = traces.reached(entries.iter().copied(), named)[0];
        (reached.frames, reached.draws)
    }

    #[test]
    fn a_trace_is_matched_as_a_subsequence_as_early_as_it_can_be() {
        let told = [keyframe(1, 0, 2), keyframe(3, 0, 4), keyframe(2, 5, 6), keyframe(2, 7, 8), keyframe(1, 0, 9)];
        assert_eq!(reached("frames = [1, 2]", &told, &[]), (2, 6));
        assert_eq!(reached("frames = [2, 3]", &told, &[]), (1, 6));
        assert_eq!(reached("frames = [2, 2, 2]", &told, &[]), (2, 8));
        assert_eq!(reached("frames = [{ frame = 2, arg = 7 }, 1]", &told, &[]), (2, 9));
        assert_eq!(reached("frames = [{ frame = 2, arg = [6, 6] }]", &told, &[]), (0, 0));
        assert_eq!(reached("frames = [{ frame = 2, arg = [0, 6], before = 7 }]", &told, &[]), (1, 6));
        assert_eq!(reached("frames = [{ frame = 2, before = 6 }]", &told, &[]), (0, 0));
    }

    #[test]
    fn a_name_is_that_of_a_number_from_when_it_was_given_or_its_label() {
        let name = Entry { kind: ENTRY_NAME, numbers: [1, 4], site: 0, draws: 0, text: b"confirm" };
        let of_label = Entry { numbers: [0, 4], ..name };
        let text = "frames = ['confirm']";
        assert_eq!(reached(text, &[name, keyframe(4, 0, 1)], &[]).0, 1);
        assert_eq!(reached(text, &[keyframe(4, 0, 1), name], &[]).0, 0);
        assert_eq!(reached(text, &[of_label, keyframe(4, 0, 1)], &[]).0, 0);
        assert_eq!(reached(text, &[keyframe(4, 0, 1)], &[(1, 4, "confirm".into())]).0, 1);
        assert_eq!(reached("frames = ['foobar']", &[keyframe(0xbf9c_f968, 0, 1)], &[]).0, 1);
    }

    #[test]
    fn patterns_are_described_by_number_and_name() {
        let names = [(0, 4, "label".to_owned()), (1, 4, "con\u{1b}firm".to_owned()), (1, label("own"), "own".into())];
        let described = |text: &str| trace(text).patterns[0].described(&names);
        assert_eq!(described("frames = [4]"), "4 (con\\u{1b}firm)");
        assert_eq!(described("frames = [5]"), "5");
        assert_eq!(described("frames = ['own']"), "own");
        assert_eq!(described("frames = ['confirm']"), "confirm");
        let all = "frames = [{ frame = 4, arg = [1, 9], before = 40 }]";
        assert_eq!(described(all), "4 (con\\u{1b}firm), argument 1 to 9, before draw 40");
        assert_eq!(told((4, -1), &names), "4 (con\\u{1b}firm), argument -1");
    }

    #[test]
    fn a_name_is_the_stem_unless_it_is_said_and_no_two_are_the_same() {
        assert_eq!(trace("frames = [1]").name, "stem");
        assert_eq!(trace("name = 'login'\nframes = [1]").name, "login");
        let twice = Traces::new(vec![trace("frames = [1]"), trace("frames = [2]")]);
        assert_eq!(twice.unwrap_err().to_string(), "two traces have the name `stem`");
    }

    #[test]
    fn what_is_no_trace_is_told_with_its_line() {
        for (text, wanted) in [
            ("frames = [1,\n2,\n", "line "),
            ("\n\nfrom = 3\nframes = [1]", "line 3: unknown field `from`"),
            ("name = 'a'\n", "line 1: missing field `frames`"),
            ("frames = [1,\n -1]", "line 2: -1 is no key frame's number"),
            ("frames = [1,\n 4294967296]", "line 2: 4294967296 is no key frame's number"),
            ("frames = [1.5]", "line 1: invalid type"),
            ("frames = [1,\n '']", "line 2: a key frame has a name or a number"),
            ("frames = [{ frame = '' }]", "line 1: a key frame has a name or a number"),
            ("frames = [{ name = 'a' }]", "line 1: unknown field `name`"),
            ("frames = [\n{ frame = 1, arg = [9, 1] }]", "line 2: a range has a first number"),
            ("frames = [\n{ frame = 1, arg = [1, 2, 3] }]", "line 2: a range has a first number"),
            ("frames = [{ frame = 1,\n before = 0 }]", "line 1: no frame comes before 0 draws"),
            ("frames = []", "it has 0 frames"),
            ("name = ''\nframes = [1]", "`` can't be the name of a trace"),
            ("name = \"\\u001b[2J\"\nframes = [1]", "`\\u{1b}[2J` can't be the name of a trace"),
        ] {
            let error = FrameTrace::parse(text, "stem").unwrap_err().to_string();
            assert!(error.starts_with(wanted), "{text:?}: {error}");
            assert!(printable(&error) == error, "{error:?}");
        }
        let many = format!("frames = [{}]", "1,".repeat(FRAMES_MAX + 1));
        assert_eq!(FrameTrace::parse(&many, "s").unwrap_err().to_string(), "it has 65 frames; there can be 1 to 64");
        let deep = format!("frames = {}", "[".repeat(100_000));
        assert!(FrameTrace::parse(&deep, "s").is_err());
    }
}
