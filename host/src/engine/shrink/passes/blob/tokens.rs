//! Deletes what a reader of text sees as one thing: lines, what is between brackets or quotes, brackets without what
//! is between them, words.

use super::{blob, text, with_blob, without};
use crate::engine::shrink::search::longest;
use crate::engine::shrink::shrinker::{Shrinker, Step};
use std::ops::Range;

/// Brackets of one text that are looked at.
const BRACKETS_MAX: usize = 2000;
/// Texts of which not nearly all is printable are not looked at.
const PRINTABLE_OF_100: usize = 85;

pub(super) fn run(s: &mut Shrinker<'_>, at: usize) -> Step<()> {
    let whole = text(&s.current().trace, at, s.taste());
    if !is_text(&whole) {
        return Ok(());
    }
    delete_all(s, at, lines)?;
    brackets(s, at)?;
    delete_all(s, at, words)
}

fn is_text(bytes: &[u8]) -> bool {
    let printable = bytes.iter().filter(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r')).count();
    bytes.len() > 1 && printable * 100 >= bytes.len() * PRINTABLE_OF_100
}

/// Deletes parts, and as many next ones as goes well.
fn delete_all(s: &mut Shrinker<'_>, at: usize, split: fn(&[u8]) -> Vec<Range<usize>>) -> Step<()> {
    let taste = s.taste();
    let mut from = 0;
    loop {
        let base = s.current();
        let parts = split(&text(&base.trace, at, taste));
        if parts.len() < 2 {
            return Ok(());
        }
        let Some(part) = s.first(from, parts.len(), |trace, part| without(trace, at, parts[part].clone()))? else {
            return Ok(());
        };
        longest(s, |s, more| {
            let Some(last) = parts.get(part + more) else { return Ok(false) };
            let range = parts[part].start..last.end;
            without(&base.trace, at, range).map_or(Ok(false), |choices| s.consider(choices))
        })?;
        from = part;
    }
}

/// Lines with their ends.
fn lines(text: &[u8]) -> Vec<Range<usize>> {
    let mut start = 0;
    text.split_inclusive(|byte| *byte == b'\n').map(|line| (start, start += line.len()).0..start).collect()
}

/// Runs of letters and digits, of spaces, and single other bytes.
fn words(text: &[u8]) -> Vec<Range<usize>> {
    let mut start = 0;
    let is_together = |a: &u8, b: &u8| {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
        (is_word(a) && is_word(b)) || (a == b && a.is_ascii_whitespace())
    };
    text.chunk_by(is_together).map(|word| (start, start += word.len()).0..start).collect()
}

/// Deletes pairs of brackets, with and without what is between them; and puts what is in an inner pair of the same
/// kind in the place of an outer one.
fn brackets(s: &mut Shrinker<'_>, at: usize) -> Step<()> {
    let taste = s.taste();
    let mut from = 0;
    loop {
        let base = s.current();
        let pairs = pairs(&text(&base.trace, at, taste));
        let inner = |pair: usize| {
            let Pair { opened, range } = &pairs[pair];
            let is_inside = |other: &&Pair| {
                other.opened == *opened && range.start < other.range.start && other.range.end <= range.end
            };
            pairs[pair + 1..].iter().take_while(|other| other.range.start < range.end).find(is_inside)
        };
        let found = s.first(from, 3 * pairs.len(), |trace, way| {
            let Range { start, end } = pairs[way / 3].range;
            let bytes = blob(trace, at);
            match way % 3 {
                0 => without(trace, at, start..end),
                1 => {
                    let inner = inner(way / 3)?.range.clone();
                    with_blob(trace, at, [&bytes[..start], &bytes[inner], &bytes[end..]].concat())
                }
                _ => with_blob(trace, at, [&bytes[..start], &bytes[start + 1..end - 1], &bytes[end..]].concat()),
            }
        })?;
        match found {
            Some(way) => from = way / 3 * 3,
            None => return Ok(()),
        }
    }
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
    fn words_and_lines_are_all_of_the_text() {
        let text = b"let x_1 = 2;\n\nfoo  (a)";
        for parts in [words(text), lines(text)] {
            assert_eq!(parts.iter().map(|part| &text[part.clone()]).collect::<Vec<_>>().concat(), text);
        }
        assert_eq!(words(b"a1  +b").len(), 4);
        assert_eq!(lines(b"a\n\nb").len(), 3);
    }
}
