//! Deletes elements of markup, `<a b="c"> ... </a>`: whole, or only the two tags; or puts an inner element in the
//! place of an outer one.

use super::{blob, text, with_blob, without};
use crate::engine::shrink::shrinker::{Shrinker, Step};
use std::ops::Range;

/// Elements of one text that are looked at.
const ELEMENTS_MAX: usize = 2000;

pub(super) fn run(s: &mut Shrinker<'_>, at: usize) -> Step<()> {
    let taste = s.taste();
    let mut from = 0;
    loop {
        let elements = elements(&text(&s.current().trace, at, taste));
        let found = s.first(from, 3 * elements.len(), |trace, way| {
            let Element { opens, closes } = &elements[way / 3];
            let bytes = blob(trace, at);
            match way % 3 {
                0 => without(trace, at, opens.start..closes.end),
                1 => {
                    let inside = |other: &&Element| opens.end <= other.opens.start && other.closes.end <= closes.start;
                    let inner = elements[way / 3 + 1..].iter().find(inside)?;
                    let inner = &bytes[inner.opens.start..inner.closes.end];
                    with_blob(trace, at, [&bytes[..opens.start], inner, &bytes[closes.end..]].concat())
                }
                _ => {
                    let inner = &bytes[opens.end..closes.start];
                    with_blob(trace, at, [&bytes[..opens.start], inner, &bytes[closes.end..]].concat())
                }
            }
        })?;
        match found {
            Some(way) => from = way / 3 * 3,
            None => return Ok(()),
        }
    }
}

/// An element by its two tags.
#[derive(Debug, PartialEq, Eq)]
struct Element {
    opens: Range<usize>,
    closes: Range<usize>,
}

/// Elements by where they begin. Tags that close nothing and elements that are not closed are none.
fn elements(text: &[u8]) -> Vec<Element> {
    let (mut open, mut elements): (Vec<(&[u8], Range<usize>)>, _) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(start) = text[at..].iter().position(|byte| *byte == b'<').map(|skip| at + skip) {
        let Some(len) = text[start..].iter().position(|byte| *byte == b'>') else { break };
        let tag = start..start + len + 1;
        at = tag.end;
        let inside = &text[tag.start + 1..tag.end - 1];
        if let Some(name) = inside.strip_prefix(b"/") {
            if let Some(depth) = open.iter().rposition(|(opened, _)| *opened == name) {
                elements.push(Element { opens: open[depth].1.clone(), closes: tag });
                open.truncate(depth);
            }
        } else if open.len() + elements.len() < ELEMENTS_MAX {
            let end = inside.iter().position(u8::is_ascii_whitespace).unwrap_or(inside.len());
            open.push((&inside[..end], tag));
        }
    }
    elements.sort_by_key(|element| element.opens.start);
    elements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_by_their_tags() {
        let found = elements(b"<a x=1><b></b><br></a></c><d>");
        assert_eq!(found, [Element { opens: 0..7, closes: 18..22 }, Element { opens: 7..10, closes: 10..14 }]);
        assert_eq!(elements(b"<<>"), []);
    }
}
