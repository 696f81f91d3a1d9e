//! From records to a trace.

use super::choice::Choice;
use super::float::Floats;
use super::guest_report::{number, wide};
use super::trace::{Draw, DrawKind, Span, Trace};
use fuzzbox_instrument::layout::stream as layout;

impl Trace {
    /// Reads the records in the area of a stream after an execution; nothing is in an area without room for them.
    pub fn read(area: &[u8]) -> Self {
        let control = |place: u32| number(area, place as usize) as usize;
        let Some(records) = area.get(layout::RECORDS as usize..) else { return Self::default() };
        let used = control(layout::RECORDS_USED).min(records.len());
        let mut reader = Reader { area, trace: Self::default(), spans: Spans::default() };
        let mut end = 0;
        for record in records[..used].chunks_exact(layout::RECORD_BYTES as usize) {
            end += layout::RECORD_BYTES;
            reader.record(record, end);
        }
        let Reader { mut trace, spans, .. } = reader;
        trace.spans = spans.finish(trace.draws.len() as u32);
        trace.given = (control(layout::END) / layout::ITEM_BYTES as usize).min(trace.draws.len());
        trace.misaligned = control(layout::MISALIGNED).checked_sub(1);
        trace.overrun = control(layout::STATUS) == layout::OVERRUN as usize;
        let entropy = control(layout::END).max(control(layout::RANDOM_END)) / layout::ITEM_BYTES as usize;
        trace.entropy = (control(layout::ASKED) != 0).then_some(entropy);
        trace
    }
}

struct Reader<'a> {
    area: &'a [u8],
    trace: Trace,
    spans: Spans,
}

impl Reader<'_> {
    /// A record that ends at an offset.
    fn record(&mut self, record: &[u8], end: u32) {
        let (kind, site) = (record[0], number(record, 4));
        let [index, lo, hi, more] = [8, 16, 24, 32].map(|place| wide(record, place));
        let at = self.trace.draws.len() as u32;
        match kind {
            layout::KIND_BEGIN => self.spans.begin(at, index.cast_unsigned(), None),
            layout::KIND_ENTER => self.spans.begin(at, index.cast_unsigned(), Some(end)),
            layout::KIND_END => self.spans.end(at, index & 1 == 1),
            layout::KIND_LEAVE => self.spans.leave(at, index as u32, true),
            layout::KIND_CATCH => self.spans.leave(at, index as u32, false),
            _ => self.draw(kind, site, [index, lo, hi, more]),
        }
    }

    fn draw(&mut self, kind: u8, site: u32, [index, lo, hi, more]: [i64; 4]) {
        let Some(kind) = DrawKind::of_number(kind) else { return };
        let max = match kind {
            DrawKind::Int | DrawKind::Uint => hi.wrapping_sub(lo).cast_unsigned(),
            DrawKind::Bool | DrawKind::Choice | DrawKind::Payload | DrawKind::Bytes => hi.cast_unsigned(),
            DrawKind::More => more.cast_unsigned(),
            DrawKind::F64 => float_max(lo, hi, more as u32),
            DrawKind::Str => blob_max(hi as u32, (more >> 32) as u32),
        };
        let towards = match kind {
            DrawKind::Int | DrawKind::Uint | DrawKind::F64 => more,
            DrawKind::Str => i64::from((more >> 32) as u32),
            _ => 0,
        };
        let hi = if kind == DrawKind::Bool { 1 } else { hi };
        let lo = if kind == DrawKind::Str { least_drawn(lo, index as usize) } else { lo };
        self.trace.draws.push(Draw {
            kind,
            site,
            max,
            forced: max == 0,
            payload: kind == DrawKind::Payload,
            lo,
            hi,
            towards,
        });
        self.trace.choices.push(if kind.is_blob() {
            let start = (layout::BLOBS_OUT + more as u32) as usize;
            Choice::Blob(self.area[start..][..index as usize].to_vec())
        } else {
            Choice::Index(index.cast_unsigned())
        });
    }
}

/// The largest index of a draw of a floating-point number.
pub(super) fn float_max(lo: i64, hi: i64, flags: u32) -> u64 {
    let bits = |bits: i64| f64::from_bits(bits.cast_unsigned());
    Floats::new(bits(lo), bits(hi), flags).map_or(0, |floats| floats.max())
}

/// The fewest scalars of a string whose blob has `bytes`: what was asked for, unless its buffer had no room for so
/// many. Each takes a byte at least. Else two gigabytes could be asked for in a buffer of ten.
pub(super) fn least_drawn(asked: i64, bytes: usize) -> i64 {
    asked.min(bytes as i64)
}

/// The most bytes that so many scalars of an alphabet of this size can take.
pub(super) fn blob_max(scalars: u32, alphabet: u32) -> u64 {
    let bits = u32::BITS - alphabet.saturating_sub(1).leading_zeros();
    u64::from(scalars) * u64::from(bits.div_ceil(7).max(1))
}

/// Makes spans of where they begin and end.
///
/// What the guest told is as it was told. Spans that were found in its code keep out of the way: one that ends while a
/// span is open that the guest began inside it is none.
#[derive(Debug, Default)]
pub(super) struct Spans {
    spans: Vec<Begun>,
    /// Those that are open, outermost first.
    open: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Begun {
    label: u64,
    /// The span around it, which may turn out to be none.
    parent: Option<usize>,
    start: u32,
    end: u32,
    discarded: bool,
    /// Of a span that was found: the number by which it ends.
    found: Option<u32>,
    /// It is none.
    dropped: bool,
}

impl Spans {
    pub(super) fn begin(&mut self, at: u32, label: u64, found: Option<u32>) {
        let parent = self.open.last().copied();
        let begun = Begun { label, parent, start: at, end: at, discarded: false, found, dropped: false };
        self.open.push(self.spans.len());
        self.spans.push(begun);
    }

    /// The guest ends its innermost span.
    pub(super) fn end(&mut self, at: u32, discarded: bool) {
        let Some(place) = self.open.iter().rposition(|&span| self.spans[span].found.is_none()) else { return };
        self.spans[self.open[place]].discarded = discarded;
        self.close(place, at);
    }

    /// A span that was found ends, or only those inside it that were found.
    fn leave(&mut self, at: u32, number: u32, itself: bool) {
        let Some(place) = self.open.iter().rposition(|&span| self.spans[span].found == Some(number)) else { return };
        let told = self.open[place..].iter().any(|&span| self.spans[span].found.is_none());
        if !told {
            self.close(place + usize::from(!itself), at);
        } else if itself {
            let span = self.open.remove(place);
            self.spans[span].dropped = true;
        }
    }

    /// Ends all open spans from a place on.
    fn close(&mut self, place: usize, at: u32) {
        for span in self.open.drain(place..) {
            self.spans[span].end = at;
        }
    }

    /// The execution ends after so many draws.
    pub(super) fn finish(mut self, draws: u32) -> Vec<Span> {
        self.close(0, draws);
        let mut spans: Vec<Span> = Vec::new();
        // Where each is among those that remain, or the one around it if it does not.
        let mut places: Vec<Option<u32>> = Vec::with_capacity(self.spans.len());
        for begun in &self.spans {
            let parent = begun.parent.and_then(|parent| places[parent]);
            if begun.dropped || begun.found.is_some() && begun.start == begun.end {
                places.push(parent);
                continue;
            }
            places.push(Some(spans.len() as u32));
            spans.push(Span {
                label: begun.label,
                parent,
                start: begun.start,
                end: begun.end,
                depth: parent.map_or(0, |parent| spans[parent as usize].depth.saturating_add(1)),
                discarded: begun.discarded,
                automatic: begun.found.is_some(),
            });
        }
        spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(spans: Vec<Span>) -> Vec<(u64, u32, u32, Option<u32>)> {
        spans.iter().map(|span| (span.label, span.start, span.end, span.parent)).collect()
    }

    #[test]
    fn spans_nest_whatever_is_left_open() {
        let mut spans = Spans::default();
        spans.begin(0, 100, Some(1)); // a function
        spans.begin(0, 1, None);
        spans.begin(1, 200, Some(2)); // that an exception leaves
        spans.end(2, true);
        spans.end(2, false); // there is none
        spans.begin(2, 300, Some(3)); // a function that leaves a span open
        spans.begin(3, 3, None);
        spans.leave(4, 3, true);
        spans.begin(4, 400, Some(4)); // draws nothing
        spans.leave(4, 4, true);
        let spans = spans.finish(5);
        assert!(spans[1].discarded && spans[2].automatic);
        assert_eq!(shown(spans), [(100, 0, 5, None), (1, 0, 2, Some(0)), (200, 1, 2, Some(1)), (3, 3, 5, Some(0))]);
    }

    #[test]
    fn what_catches_an_exception_ends_what_it_left() {
        let mut spans = Spans::default();
        spans.begin(0, 1, Some(1));
        spans.begin(0, 2, Some(2));
        spans.leave(1, 1, false);
        let spans = spans.finish(3);
        assert_eq!(shown(spans), [(1, 0, 3, None), (2, 0, 1, Some(0))]);
    }
}
