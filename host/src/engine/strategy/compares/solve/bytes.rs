//! Lets two texts match: candidates for the places that a side depends on.

use super::super::input::encodings::turning;
use super::super::probing::probe::{Probe, Problem, Solution, Step};
use super::super::seen::observed::{Matching, Operands};

/// What is most likely comes first.
const GLANCES_MAX: usize = 3;

/// Tries what is most likely.
pub(super) fn glance(probe: &mut Probe<'_, '_>, problem: Problem<'_>) -> Step<Option<Solution>> {
    first(probe, problem, GLANCES_MAX)
}

/// Tries what is likely, in two dozen executions.
pub(super) fn solve(probe: &mut Probe<'_, '_>, problem: Problem<'_>) -> Step<Option<Solution>> {
    first(probe, problem, usize::MAX)
}

/// Lets a byte that is compared by itself be escaped.
pub(super) fn escape(
    probe: &mut Probe<'_, '_>,
    Problem { input, goal, dependence }: Problem<'_>,
) -> Step<Option<Solution>> {
    for side in 0..2 {
        let ([place], Some(wanted)) = (&dependence.sides[side][..], turning(&goal.operands, side)) else { continue };
        let Ok(wanted) = u8::try_from(wanted) else { continue };
        let candidates = escaped(&[wanted]).into_iter().take(ESCAPES.len()).map(|text| {
            let mut candidate = input.to_vec();
            candidate.splice(*place..place + 1, text);
            candidate
        });
        if let Some(solution) = probe.first(candidates, goal)? {
            return Ok(Some(solution));
        }
    }
    Ok(None)
}

/// Tries the first candidates for each side.
fn first(probe: &mut Probe<'_, '_>, problem: Problem<'_>, candidates_max: usize) -> Step<Option<Solution>> {
    let Problem { input, goal, dependence } = problem;
    let Operands::Bytes { sides, matching } = &goal.operands else { return Ok(None) };
    for side in 0..2 {
        let (own, wanted) = (&sides[side], &sides[1 - side]);
        let text = Text { input, own, wanted, places: &dependence.content[side], all: &dependence.sides[side] };
        // Of what is searched for, only the text to search in can be changed at will.
        if *matching == Matching::Within && side == 1 {
            continue;
        }
        if let Some(solution) = probe.first(text.candidates().into_iter().take(candidates_max), goal)? {
            return Ok(Some(solution));
        }
    }
    Ok(None)
}

/// A side that comes from the input.
struct Text<'t> {
    input: &'t [u8],
    own: &'t [u8],
    wanted: &'t [u8],
    /// By byte of `own`: the places in the input that it depends on.
    places: &'t [Vec<usize>],
    /// All of these.
    all: &'t [usize],
}

impl Text<'_> {
    fn candidates(&self) -> Vec<Vec<u8>> {
        let mut candidates = Vec::new();
        let Some((start, stride)) = self.start() else { return candidates };
        let wanted: Vec<u8> = self.wanted.to_vec();
        let terminated: Vec<u8> = wanted.iter().copied().chain([0]).collect();
        // As it is, and as the end of a text.
        for text in [&wanted, &terminated] {
            candidates.extend(self.written(start, stride, text));
        }
        // In the place of what is there, which may be longer or shorter.
        let end = (start + self.own.len()).min(self.input.len());
        for (range, text) in [(start..end, &wanted), (start..start, &wanted), (start..end, &terminated)] {
            let mut candidate = self.input.to_vec();
            candidate.splice(range, text.iter().copied());
            candidates.push(candidate);
        }
        candidates.extend(self.shifted());
        candidates.extend(self.in_hex(start));
        candidates.extend(self.escaped(start));
        candidates
    }

    /// In the place of what became the text, with its bytes escaped.
    fn escaped(&self, start: usize) -> Vec<Vec<u8>> {
        let end = self.all.last().map_or(start, |&last| last + 1).max(start);
        let candidate = |text: Vec<u8>| {
            let mut candidate = self.input.to_vec();
            candidate.splice(start..end.min(self.input.len()), text);
            candidate
        };
        escaped(self.wanted).into_iter().map(candidate).collect()
    }

    /// Where the text begins in the input, and how far its bytes are from each other.
    fn start(&self) -> Option<(usize, usize)> {
        let first = |index: usize| self.places.get(index).and_then(|places| places.first().copied());
        let Some((index, place)) = (0..self.places.len()).find_map(|index| Some((index, first(index)?))) else {
            // What is empty has no bytes.
            return Some((*self.all.first()?, 1));
        };
        let next = (index + 1..self.places.len()).find_map(|other| Some((other - index, first(other)?)));
        // Several bytes may be of one in the input, as digits are.
        let (by, distance) = next.map_or((1, 1), |(by, other)| (by, other.saturating_sub(place)));
        Some((place.checked_sub(index * distance / by)?, (distance / by).clamp(1, 4)))
    }

    fn written(&self, start: usize, stride: usize, text: &[u8]) -> Option<Vec<u8>> {
        let mut candidate = self.input.to_vec();
        let end = start + stride * text.len().checked_sub(1)? + 1;
        // What it lacks at the end it may get.
        if candidate.len() < end {
            candidate.resize(end, 0);
        }
        for (index, &byte) in text.iter().enumerate() {
            candidate[start + stride * index] = byte;
        }
        Some(candidate)
    }

    /// Each byte moved as what became of it must be.
    fn shifted(&self) -> Vec<Vec<u8>> {
        let changes: [fn(u8, u8, u8) -> u8; 2] =
            [|byte, own, wanted| byte.wrapping_add(wanted.wrapping_sub(own)), |byte, own, wanted| byte ^ own ^ wanted];
        let candidate = |change: fn(u8, u8, u8) -> u8| {
            let mut candidate = self.input.to_vec();
            for ((&own, &wanted), places) in self.own.iter().zip(self.wanted).zip(self.places) {
                if let [place] = places[..] {
                    candidate[place] = change(candidate[place], own, wanted);
                }
            }
            candidate
        };
        changes.into_iter().map(candidate).collect()
    }

    fn in_hex(&self, start: usize) -> Vec<Vec<u8>> {
        in_hex(self.wanted).iter().filter_map(|text| self.written(start, 1, text)).collect()
    }
}

/// How a byte is escaped: in addresses, in mail, in JSON, in C, in XML.
const ESCAPES: [fn(u8) -> String; 5] = [
    |byte| format!("%{byte:02x}"),
    |byte| format!("={byte:02X}"),
    |byte| format!("\\u{byte:04x}"),
    |byte| format!("\\x{byte:02x}"),
    |byte| format!("&#x{byte:x};"),
];

/// A text of which not all are letters and digits, with what isn't escaped in each way; then with all bytes escaped.
fn escaped(wanted: &[u8]) -> Vec<Vec<u8>> {
    if wanted.iter().all(u8::is_ascii_alphanumeric) {
        return Vec::new();
    }
    let escaped = |escape: fn(u8) -> String, keeps: fn(&u8) -> bool| {
        let bytes = wanted.iter().flat_map(|&byte| if keeps(&byte) { vec![byte] } else { escape(byte).into_bytes() });
        bytes.collect::<Vec<u8>>()
    };
    let keeps: [fn(&u8) -> bool; 2] = [u8::is_ascii_alphanumeric, |_| false];
    keeps.into_iter().flat_map(|keeps| ESCAPES.map(|escape| escaped(escape, keeps))).collect()
}

/// A text decoded, if it is hexadecimal, and encoded.
pub(super) fn in_hex(wanted: &[u8]) -> Vec<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        wanted.iter().map(|&byte| char::from(byte).to_digit(16).map(|digit| digit as u8)).collect();
    let mut texts: Vec<Vec<u8>> = Vec::new();
    if let Some(digits) = digits {
        texts.push(digits.as_chunks().0.iter().map(|&[high, low]| high << 4 | low).collect());
    }
    let encoded: String = wanted.iter().map(|byte| format!("{byte:02x}")).collect();
    texts.push(encoded.to_uppercase().into_bytes());
    texts.push(encoded.into_bytes());
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_letter_is_escaped_in_each_way() {
        assert_eq!(escaped(b"word7"), [b""; 0]);
        let escaped = escaped(b"a\x01");
        assert_eq!(escaped[..3], [&b"a%01"[..], b"a=01", b"a\\u0001"]);
        assert_eq!(escaped[5..], [&b"%61%01"[..], b"=61=01", b"\\u0061\\u0001", b"\\x61\\x01", b"&#x61;&#x1;"]);
    }
}
