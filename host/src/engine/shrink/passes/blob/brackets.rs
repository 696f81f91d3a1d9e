//! Changes brackets and quotes in text: deletes them with and without what is between them, or puts something simpler
//! in their place.

use super::{blob, text, with_blob, without};
use crate::engine::shrink::shrinker::{Shrinker, Step};
use std::ops::Range;

/// Brackets of one text that are looked at.
const BRACKETS_MAX: usize = 2000;
/// Brackets and quotes that a text may begin with, counted from its end.
const STARTS_MAX: usize = 64;
/// Different changes of one pair.
const WAYS: usize = 5;

/// Changes each pair in each way, as long as that goes well.
pub(super) fn change(s: &mut Shrinker<'_>, at: usize) -> Step<()> {
    let taste = s.taste();
    let mut from = 0;
    loop {
        let base = s.current();
        let text = text(&base.trace, at, taste);
        let pairs = pairs(&text);
        let changed = |pair: usize, way: usize| changed(&text, &pairs[pair..], way);
        let found = s.first(from, WAYS * pairs.len(), |trace, way| {
            let Range { start, end } = pairs[way / WAYS].range;
            let new: Vec<u8> = changed(way / WAYS, way % WAYS)?.iter().map(|byte| taste.rank(*byte)).collect();
            let bytes = blob(trace, at);
            (new.len() < end - start)
                .then(|| with_blob(trace, at, [&bytes[..start], &new, &bytes[end..]].concat()))
                .flatten()
        })?;
        match found {
            Some(way) => from = way / WAYS * WAYS,
            None => return Ok(()),
        }
    }
}

/// What could be in the place of the first of `pairs`; the pairs inside of it follow.
fn changed(text: &[u8], pairs: &[Pair], way: usize) -> Option<Vec<u8>> {
    let Pair { opened, range } = &pairs[0];
    let overlapping = pairs[1..].iter().take_while(|other| other.range.start < range.end);
    let mut inside = overlapping.filter(|other| other.range.end <= range.end);
    let text_of = |pair: &Pair| text[pair.range.clone()].to_vec();
    match way {
        0 => Some(Vec::new()),
        // An inner pair of the same kind.
        1 => inside.find(|other| other.opened == *opened).map(text_of),
        2 => Some(text[range.start + 1..range.end - 1].to_vec()),
        3 => Some(vec![b'0']),
        // The first inner brackets alone, in others that this text has: an array instead of an object.
        _ => {
            let is_bracket = |opened: u8| closing(opened).is_some();
            let inner = inside.find(|other| is_bracket(*opened) && is_bracket(other.opened))?;
            let other = b"[({".iter().find(|other| **other != *opened && text.contains(other))?;
            Some([&[*other], &*text_of(inner), &[closing(*other)?]].concat())
        }
    }
}

fn closing(opening: u8) -> Option<u8> {
    match opening {
        b'(' => Some(b')'),
        b'[' | b'{' | b'<' => Some(opening + 2),
        _ => None,
    }
}

/// Begins the text with one of its brackets or quotes, the last one that will do.
pub(super) fn begin_later(s: &mut Shrinker<'_>, at: usize) -> Step<()> {
    let text = text(&s.current().trace, at, s.taste());
    let opens = |(at, byte): (usize, &u8)| b"([{<\"'".contains(byte).then_some(at);
    let starts: Vec<_> = text.iter().enumerate().skip(1).filter_map(opens).collect();
    let last = starts.iter().rev().take(STARTS_MAX).copied().collect::<Vec<_>>();
    s.first(0, last.len(), |trace, start| without(trace, at, 0..last[start]))?;
    Ok(())
}

/// An opening bracket, what it closes with included.
struct Pair {
    opened: u8,
    range: Range<usize>,
}

/// Pairs of brackets and of quotes, by where they begin.
fn pairs(text: &[u8]) -> Vec<Pair> {
    let (mut open, mut pairs) = (Vec::new(), Vec::new());
    let mut quoted: [Option<usize>; 2] = [None; 2];
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'(' | b'[' | b'{' | b'<' => open.push((*byte, at)),
            b')' | b']' | b'}' | b'>' => {
                let opens = match byte {
                    b')' => b'(',
                    other => other - 2,
                };
                if let Some(depth) = open.iter().rposition(|(opened, _)| *opened == opens) {
                    pairs.push(Pair { opened: opens, range: open[depth].1..at + 1 });
                    open.truncate(depth);
                }
            }
            b'"' | b'\'' => match quoted[usize::from(*byte == b'"')].take() {
                Some(start) => pairs.push(Pair { opened: *byte, range: start..at + 1 }),
                None => quoted[usize::from(*byte == b'"')] = Some(at),
            },
            _ => {}
        }
        if pairs.len() == BRACKETS_MAX {
            break;
        }
    }
    pairs.sort_by_key(|pair| pair.range.start);
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_and_quotes_are_found_in_pairs() {
        let ranges = |text: &[u8]| pairs(text).into_iter().map(|pair| pair.range).collect::<Vec<_>>();
        assert_eq!(ranges(b"a(b[c])"), [1..7, 3..6]);
        assert_eq!(ranges(b"{\"a\":<>}"), [0..8, 1..4, 5..7]);
        assert_eq!(ranges(b"([)](a)"), [0..3, 4..7]);
        assert_eq!(ranges(b"((("), []);
    }

    #[test]
    fn a_pair_becomes_what_is_in_it() {
        let text = br#"[{"a":{"b":[1]}}]"#;
        let ways = |pair: usize| {
            let pairs = pairs(text);
            let changed = (0..WAYS).map(|way| changed(text, &pairs[pair..], way));
            changed.map(|new| new.map(|new| String::from_utf8(new).unwrap())).collect::<Vec<_>>()
        };
        let some = |text: &str| Some(text.to_owned());
        let expected = [some(""), some(r#"{"b":[1]}"#), some(r#""a":{"b":[1]}"#), some("0"), some(r#"[{"b":[1]}]"#)];
        assert_eq!(ways(1), expected);
        assert_eq!(ways(2), [some(""), None, some("a"), some("0"), None]);
    }
}
