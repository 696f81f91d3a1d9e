//! Deletes what a reader of text sees as one thing: lines, items of lists, what is between brackets, words.

use super::{brackets, text, without};
use crate::engine::shrink::search::longest;
use crate::engine::shrink::shrinker::{Shrinker, Step};
use std::ops::Range;

/// Items of lists that are looked at.
const ITEMS_MAX: usize = 2000;
/// Texts of which not nearly all is printable are not looked at.
const PRINTABLE_OF_100: usize = 85;

pub(super) fn run(s: &mut Shrinker<'_>, at: usize) -> Step<()> {
    let whole = text(&s.current().trace, at, s.taste());
    if !is_text(&whole) {
        return Ok(());
    }
    delete_all(s, at, lines)?;
    delete_all(s, at, items)?;
    brackets::change(s, at)?;
    brackets::begin_later(s, at)?;
    delete_all(s, at, words)
}

pub(super) fn is_text(bytes: &[u8]) -> bool {
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

/// Items of lists, each with the separator behind it, or before it if it is the last of several: what is beside each
/// other in the same brackets is beside each other here.
fn items(text: &[u8]) -> Vec<Range<usize>> {
    // Where the brackets around this place opened, and where the item at this place began, the outermost list first.
    let (mut lists, mut items) = (vec![(0, 0)], Vec::<(usize, Range<usize>)>::new());
    for (at, byte) in text.iter().enumerate() {
        let depth = lists.len();
        let (opened, item) = lists.last_mut().expect("the text as a whole is a list");
        match byte {
            b'(' | b'[' | b'{' => lists.push((at + 1, at + 1)),
            b',' | b';' | b'|' => {
                items.push((depth, *item..at + 1));
                *item = at + 1;
            }
            b')' | b']' | b'}' => {
                if *opened < *item {
                    items.push((depth, *item - 1..at));
                }
                if depth > 1 {
                    lists.pop();
                }
            }
            _ => {}
        }
    }
    items.sort_by_key(|(depth, item)| (*depth, item.start));
    items.truncate(ITEMS_MAX);
    items.into_iter().map(|(_, item)| item).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_lines_are_all_of_the_text() {
        let text = b"let x_1 = 2;\n\nfoo  (a)";
        for parts in [words(text), lines(text)] {
            assert_eq!(parts.iter().map(|part| &text[part.clone()]).collect::<Vec<_>>().concat(), text);
        }
        assert_eq!(items(b"{a:1,b:[2,3]}"), [1..5, 4..12, 8..10, 9..11]);
        assert_eq!(words(b"a1  +b").len(), 4);
        assert_eq!(lines(b"a\n\nb").len(), 3);
    }
}
