//! What a guest drew, and what it said of it, for people.
//!
//! ```text
//! notes      action = Remove(8)
//! choices    actions: more
//!              action: 2 of 0..=3, 8
//! ```
//!
//! A span is a line with its name and its first draws; what else it holds stands below, one step deeper. Functions that
//! only hand on are left out. The choices are those of the canonical stream, in order. `(any)` stands behind what can
//! be anything: it fails all the same.

use crate::stream::{Choice, Draw, DrawKind, GuestReport, Node, Trace, frames};
use crate::text::PREVIEW_COLUMNS;
use crate::text::{counted, cut, printable as one_line};
use fuzzbox_instrument::layout::stream::NAME_KEYFRAME;
use serde::Serialize;
use std::ops::Range;

/// Lines of choices that are shown.
const LINES_MAX: usize = 60;
/// Notes, and key frames, that are shown.
const NOTES_MAX: usize = 40;
/// Draws in a line.
const LINE_DRAWS: usize = 12;
/// Bytes of a blob that are shown.
const BLOB_BYTES: usize = 24;

/// A decoded stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Decoded {
    /// What the guest noted, in order. The SDK writes values in the syntax of the guest's language.
    pub notes: Vec<String>,
    /// The key frames that the guest told, in order: `4 (confirm), argument 7`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<String>,
    /// The tree of spans, a line each, two blanks deeper for those inside.
    pub choices: Vec<String>,
}

impl Decoded {
    /// Decodes an execution, given what the guest told in it.
    ///
    /// `names` are those that the guest gave (of what kind, the id, the name), and `function` gives the name of a
    /// function by its index, for spans that the guest did not name. `free` are the ranges of choices that don't
    /// matter.
    pub fn new<'a>(
        trace: &Trace,
        told: &GuestReport,
        names: impl IntoIterator<Item = &'a (u32, u32, String)>,
        free: &[Range<usize>],
        function: impl Fn(u32) -> String,
    ) -> Self {
        let names: Vec<_> = names.into_iter().collect();
        let name = |label: u64| {
            let told = names.iter().find(|(kind, id, _)| *kind != NAME_KEYFRAME && u64::from(*id) == label);
            match (told, u32::try_from(label >> 32)) {
                (Some((_, _, name)), _) => printable(name),
                (None, Ok(0)) | (None, Err(_)) => "span".to_owned(),
                (None, Ok(index)) => match label as u32 {
                    0 => function(index),
                    number => format!("loop {number} of {}", function(index)),
                },
            }
        };
        let mut text = Text { name: &name, free, drawn: 0, lines: Vec::new() };
        text.write(&Node::of(trace), None, 0);
        let mut lines = text.lines;
        fold(&mut lines, LINES_MAX);
        let mut notes: Vec<String> = told.notes.iter().map(|note| printable(&note.text)).collect();
        fold(&mut notes, NOTES_MAX);
        let frame = |frame: &(u32, i64)| frames::told(*frame, names.iter().copied());
        let mut frames: Vec<String> = told.keyframes.iter().take(NOTES_MAX).map(frame).collect();
        if let Some(more @ 1..) = told.keyframes.len().checked_sub(NOTES_MAX) {
            frames.push(format!("... and {more} more"));
        }
        Self { notes, frames, choices: lines }
    }

    /// All in one list, each under its title, at most so many lines of each.
    pub fn lines(&self, lines_max: usize) -> Vec<String> {
        let mut lines = Vec::new();
        for (title, part) in [("notes", &self.notes), ("key frames", &self.frames), ("choices", &self.choices)] {
            let mut part: Vec<_> = part.iter().flat_map(|entry| entry.lines()).map(str::to_owned).collect();
            if !part.is_empty() {
                fold(&mut part, lines_max);
                lines.push(title.to_owned());
                lines.extend(part.iter().map(|line| format!("  {line}")));
            }
        }
        lines
    }

    /// The notes in one line, or else the choices, as far as they fit.
    pub fn preview(&self) -> String {
        let (part, noun) = if self.notes.is_empty() { (&self.choices, "line") } else { (&self.notes, "note") };
        let text = part.iter().flat_map(|entry| entry.lines()).map(str::trim).collect::<Vec<_>>().join("; ");
        match cut(&one_line(&text), PREVIEW_COLUMNS) {
            nothing if nothing.is_empty() => "(empty)".to_owned(),
            whole if whole == text => text,
            begin => format!("{begin} ({})", counted(part.len() as u64, noun)),
        }
    }
}

/// A text of the guest's, which is not trusted: it must not steer the terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Keeps so many lines, and says how many more there are.
fn fold(lines: &mut Vec<String>, max: usize) {
    if lines.len() > max {
        let more = lines.len() - max;
        lines.truncate(max);
        lines.push(format!("... and {more} more"));
    }
}

/// Lines that are being written.
struct Text<'a> {
    name: &'a dyn Fn(u64) -> String,
    /// Ranges of draws that don't matter.
    free: &'a [Range<usize>],
    /// Draws that were written.
    drawn: usize,
    lines: Vec<String>,
}

impl Text<'_> {
    /// Writes what a span holds. `head` is the name of the span, to be written before the first draws.
    fn write(&mut self, node: &Node, head: Option<String>, depth: usize) {
        let mut line = Line { head, draws: Vec::new(), depth };
        self.write_inside(node, &mut line);
        line.flush(&mut self.lines);
    }

    fn write_inside(&mut self, node: &Node, line: &mut Line) {
        for child in node.children() {
            match (child.as_draw(), child.label()) {
                (Some((draw, choice)), _) => {
                    let is_free = self.free.iter().any(|range| range.contains(&self.drawn));
                    let any = if is_free { " (any)" } else { "" };
                    line.draws.push(format!("{}{any}", value(draw, choice)));
                    self.drawn += 1;
                }
                (None, Some(label)) if label > u64::from(u32::MAX) && says_nothing(child) => {
                    self.write_inside(child, line);
                }
                (None, label) => {
                    line.flush(&mut self.lines);
                    self.write(child, label.map(self.name), line.depth);
                }
            }
        }
    }
}

/// Whether a span that the guest did not ask for only hands on: a function around one span, or around nothing but
/// draws.
fn says_nothing(node: &Node) -> bool {
    let children = node.children();
    children.len() == 1 || children.iter().all(|child| child.as_draw().is_some())
}

/// Draws that are written together.
struct Line {
    /// The span's name, until it is written.
    head: Option<String>,
    draws: Vec<String>,
    depth: usize,
}

impl Line {
    fn flush(&mut self, lines: &mut Vec<String>) {
        let head = self.head.take().inspect(|_| self.depth += 1);
        // The name stands where the span's neighbours do, its further lines one step deeper.
        let indent = "  ".repeat(self.depth - usize::from(head.is_some()));
        let mut chunks = self.draws.chunks(LINE_DRAWS).map(|draws| draws.join(", "));
        match (head, chunks.next()) {
            (Some(head), Some(first)) => lines.push(format!("{indent}{head}: {first}")),
            (Some(head), None) => lines.push(format!("{indent}{head}")),
            (None, Some(first)) => lines.push(format!("{indent}{first}")),
            (None, None) => {}
        }
        let inner = "  ".repeat(self.depth);
        lines.extend(chunks.map(|chunk| format!("{inner}{chunk}")));
        self.draws.clear();
    }
}

/// What a draw gave the guest.
fn value(draw: &Draw, choice: &Choice) -> String {
    let index = match choice {
        Choice::Blob(bytes) => {
            let shown = bytes[..bytes.len().min(BLOB_BYTES)].escape_ascii();
            let rest = if bytes.len() > BLOB_BYTES { format!(" ({} bytes)", bytes.len()) } else { String::new() };
            let prefix = if draw.kind == DrawKind::Str { "characters " } else { "" };
            return format!("{prefix}\"{shown}\"{rest}");
        }
        Choice::Index(index) => *index,
    };
    match draw.kind {
        DrawKind::Int | DrawKind::Uint => draw.number(index).to_string(),
        DrawKind::Bool => (index != 0).to_string(),
        DrawKind::More => if index == 0 { "end" } else { "more" }.to_owned(),
        DrawKind::Choice => format!("{index} of 0..={}", draw.max),
        DrawKind::F64 => {
            let value = draw.floats().and_then(|floats| floats.value(index));
            value.map_or_else(|| index.to_string(), |value| format!("{value:?}"))
        }
        DrawKind::Payload => format!("{index:#x}"),
        // Blobs have no index.
        DrawKind::Bytes | DrawKind::Str => index.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Span;
    use crate::stream::guest_report::Note;

    fn draw(kind: DrawKind, max: u64, lo: i64, hi: i64, towards: i64) -> Draw {
        Draw { kind, site: 0, max, forced: max == 0, payload: false, lo, hi, towards }
    }

    fn span(label: u64, start: u32, end: u32, depth: u16) -> Span {
        Span { automatic: label > u64::from(u32::MAX), ..Span::told(label, start, end, depth) }
    }

    #[test]
    fn a_stream_is_shown_as_the_guest_saw_it() {
        let draws = [
            (draw(DrawKind::More, 1, 0, 9, 0), Choice::Index(1)),
            (draw(DrawKind::Int, 200, -100, 100, 0), Choice::Index(2)),
            (draw(DrawKind::Choice, 3, 0, 3, 0), Choice::Index(2)),
            (draw(DrawKind::Bool, 1, 0, 1, 0), Choice::Index(1)),
            (draw(DrawKind::Bytes, 9, 0, 9, 0), Choice::Blob(b"a\0b".to_vec())),
            (draw(DrawKind::Uint, u64::MAX, 0, -1, 0), Choice::Index(u64::MAX)),
            (draw(DrawKind::More, 1, 0, 9, 0), Choice::Index(0)),
        ];
        let (draws, choices): (Vec<_>, Vec<_>) = draws.into_iter().unzip();
        let spans = vec![span(7, 0, 7, 0), span(5 << 32, 1, 5, 1), span(5 << 32 | 2, 3, 5, 2)];
        let trace = Trace { choices, draws, spans, ..Trace::default() };
        let names = [(1, 7, "sent".to_owned()), (0, 7, "list".to_owned())];
        let notes = vec![Note { text: "list = [-1]\x1b[2J".to_owned(), draws: 7 }];
        let told = GuestReport { notes, keyframes: vec![(7, 3), (8, -1)], ..GuestReport::default() };
        let decoded = Decoded::new(&trace, &told, &names, &[1..2, 3..5], |index| format!("function {index}"));
        assert_eq!(decoded.notes, ["list = [-1]\u{fffd}[2J"]);
        assert_eq!(decoded.frames, ["7 (sent), argument 3", "8, argument -1"]);
        let expected = [
            "list: more",
            "  function 5: -1 (any), 2 of 0..=3, true (any), \"a\\x00b\" (any)",
            "  18446744073709551615, end",
        ];
        assert_eq!(decoded.choices, expected);
        assert_eq!(decoded.preview(), "list = [-1]\u{fffd}[2J");
        assert_eq!(
            decoded.lines(1),
            [
                "notes",
                "  list = [-1]\u{fffd}[2J",
                "key frames",
                "  7 (sent), argument 3",
                "  ... and 1 more",
                "choices",
                "  list: more",
                "  ... and 2 more"
            ]
        );
    }

    #[test]
    fn what_is_long_is_folded() {
        let draws = vec![draw(DrawKind::Bool, 1, 0, 1, 0); 3000];
        let trace = Trace { choices: vec![Choice::ZERO; 3000], draws, ..Trace::default() };
        let told = GuestReport { keyframes: vec![(1, 1); NOTES_MAX + 3], ..GuestReport::default() };
        let decoded = Decoded::new(&trace, &told, &[], &[], |_| String::new());
        assert_eq!((decoded.frames.len(), &*decoded.frames[NOTES_MAX]), (NOTES_MAX + 1, "... and 3 more"));
        assert_eq!(decoded.choices.len(), LINES_MAX + 1);
        assert_eq!(decoded.choices[LINES_MAX], format!("... and {} more", 3000 / LINE_DRAWS - LINES_MAX));
    }
}
