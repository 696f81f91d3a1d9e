//! Changes of texts along their lexemes, lines and brackets: what a grammar would say, guessed from the bytes.
//!
//! A lexeme is a run of letters, digits, `_` and bytes above 127, a run of white space, or one other byte; a group is
//! what stands between brackets or quotes. Nothing here knows a language. What it does to a text keeps most of them
//! parsable (as with the token level of Salls et al., "Token-Level Fuzzing", USENIX Security 2021, without lexing the
//! corpus before).

use super::Context;
use super::blocks::{insert_at, other, remove, repeat, replace, token};
use super::scan::{find, find_last};
use crate::engine::rng::Rng;
use crate::engine::used::List;
use std::ops::Range;

/// Lexemes longer than this are cut, and so is what is looked for, in bytes.
const LOOK_MAX: usize = 256;
/// A group is at most so long, in bytes.
const GROUP_MAX: usize = 4096;
/// Lexemes that are taken at once, at most.
const RUN_MAX: usize = 4;
/// How often a place is tried.
const TRIES: usize = 4;

/// What kind of lexeme a byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Word,
    Space,
    Other,
    /// No text has it.
    Binary,
}

/// The kind of each byte.
const KINDS: [Kind; 256] = {
    let mut kinds = [Kind::Binary; 256];
    let mut byte = 0;
    while byte < 256 {
        kinds[byte] = match byte as u8 {
            byte if is_word(byte) => Kind::Word,
            byte if is_space(byte) => Kind::Space,
            b'!'..=b'~' => Kind::Other,
            _ => Kind::Binary,
        };
        byte += 1;
    }
    kinds
};

/// Without branches, as what follows: many bytes are looked at.
const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() | (byte == b'_') | (byte >= 0x80)
}

const fn is_space(byte: u8) -> bool {
    (byte == b' ') | (byte == b'\t') | (byte == b'\r') | (byte == b'\n')
}

fn kind(byte: u8) -> Kind {
    KINDS[usize::from(byte)]
}

/// The lexeme around a byte.
fn lexeme_at(text: &[u8], at: usize) -> Option<(Kind, Range<usize>)> {
    let own = kind(text[at]);
    let range = match own {
        Kind::Binary => return None,
        Kind::Other => at..at + 1,
        Kind::Word | Kind::Space => {
            let (first, end) = (at.saturating_sub(LOOK_MAX), text.len().min(at + LOOK_MAX));
            let (before, behind) = (&text[first..at], &text[at..end]);
            let (last, len) = match own {
                Kind::Word => (find_last(before, |byte| !is_word(byte)), find(behind, |byte| !is_word(byte))),
                _ => (find_last(before, |byte| !is_space(byte)), find(behind, |byte| !is_space(byte))),
            };
            last.map_or(first, |last| first + last + 1)..at + len.unwrap_or(behind.len())
        }
    };
    Some((own, range))
}

/// A lexeme of a text, at random by the bytes that it has.
fn any_lexeme(text: &[u8], rng: &mut Rng) -> Option<(Kind, Range<usize>)> {
    if text.is_empty() { None } else { lexeme_at(text, rng.below(text.len())) }
}

/// Up to [`RUN_MAX`] lexemes in a row.
fn run_of_lexemes(text: &[u8], rng: &mut Rng) -> Option<Range<usize>> {
    let (_, first) = any_lexeme(text, rng)?;
    let mut end = first.end;
    for _ in 0..rng.below(RUN_MAX) {
        let Some((_, next)) = (end < text.len()).then(|| lexeme_at(text, end)).flatten() else { break };
        end = next.end;
    }
    Some(first.start..end)
}

/// The line around a byte, with its end.
fn line_at(text: &[u8], at: usize) -> Range<usize> {
    let (first, end) = (at.saturating_sub(GROUP_MAX), text.len().min(at + GROUP_MAX));
    let start = find_last(&text[first..at], |byte| byte == b'\n').map_or(first, |last| first + last + 1);
    start..find(&text[at..end], |byte| byte == b'\n').map_or(end, |last| at + last + 1)
}

/// What closes the group that a byte opens; 0 if it opens none.
const CLOSERS: [u8; 256] = {
    let mut closers = [0; 256];
    let (pairs, mut at) = (b"()[]{}<>\"\"''``", 0);
    while at < pairs.len() {
        closers[pairs[at] as usize] = pairs[at + 1];
        at += 2;
    }
    closers
};

/// Whether [`CLOSERS`] has a closer for it.
fn is_opener(byte: u8) -> bool {
    b"([{<\"'`".iter().fold(false, |any, &opener| any | (byte == opener))
}

fn closer(opener: u8) -> Option<u8> {
    let closer = CLOSERS[usize::from(opener)];
    (closer > 0).then_some(closer)
}

/// The group that the first opener from `at` on begins, with its brackets.
fn group_from(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at + find(&text[at..text.len().min(at + LOOK_MAX)], is_opener)?;
    let (open, close) = (text[start], closer(text[start])?);
    let mut depth = 0;
    for (offset, &byte) in text[start..].iter().enumerate().take(GROUP_MAX) {
        if byte == close && (offset > 0 || open != close) {
            depth -= 1;
            if depth == 0 || open == close {
                return Some(start..start + offset + 1);
            }
        } else if byte == open {
            depth += 1;
        }
    }
    None
}

fn any_group(text: &[u8], rng: &mut Rng) -> Option<Range<usize>> {
    if text.is_empty() { None } else { group_from(text, rng.below(text.len())) }
}

/// Puts a lexeme of another testcase, or of this one, in the place of one of the same kind.
pub(super) fn replace_lexeme(context: &mut Context<'_>) -> bool {
    let Some((kind, range)) = any_lexeme(context.input, context.rng) else { return false };
    for _ in 0..TRIES {
        let other = other(context);
        let Some((found, from)) = any_lexeme(other, context.rng) else { continue };
        if found == kind && other[from.clone()] != context.input[range.clone()] {
            return replace(context, range, &other[from]);
        }
    }
    false
}

/// Puts a token in the place of a word.
pub(super) fn replace_with_token(context: &mut Context<'_>) -> bool {
    let Some((_, range)) = any_lexeme(context.input, context.rng) else { return false };
    let Some(token) = token(context, List::Tokens) else { return false };
    replace(context, range, token)
}

pub(super) fn delete_lexemes(context: &mut Context<'_>) -> bool {
    let Some(range) = run_of_lexemes(context.input, context.rng) else { return false };
    if range.len() == context.input.len() {
        return false;
    }
    remove(context.input, range);
    true
}

/// Puts some lexemes of a testcase between two lexemes.
pub(super) fn insert_lexemes(context: &mut Context<'_>) -> bool {
    let other = other(context);
    let Some(from) = run_of_lexemes(other, context.rng) else { return false };
    let Some((_, at)) = any_lexeme(context.input, context.rng) else { return false };
    insert_at(context, at.end, &other[from])
}

/// Says some lexemes twice.
pub(super) fn repeat_lexemes(context: &mut Context<'_>) -> bool {
    let Some(range) = run_of_lexemes(context.input, context.rng) else { return false };
    repeat(context, range)
}

/// Puts a group of a testcase in the place of one.
pub(super) fn replace_group(context: &mut Context<'_>) -> bool {
    let Some(range) = any_group(context.input, context.rng) else { return false };
    for _ in 0..TRIES {
        let other = other(context);
        if let Some(from) = any_group(other, context.rng) {
            return replace(context, range, &other[from]);
        }
    }
    false
}

/// Puts a group into another one, or into itself, so that it is nested.
pub(super) fn nest_group(context: &mut Context<'_>) -> bool {
    let Some(outer) = any_group(context.input, context.rng) else { return false };
    let at = outer.start + 1 + context.rng.below(outer.len() - 1);
    let inner = match any_group(context.input, context.rng) {
        Some(inner) if context.rng.one_in(2) => inner,
        _ => outer,
    };
    let inner = context.input[inner].to_vec();
    insert_at(context, at, &inner)
}

/// Puts what is in a group in the place of it, or takes it out.
pub(super) fn flatten_group(context: &mut Context<'_>) -> bool {
    let Some(range) = any_group(context.input, context.rng) else { return false };
    match context.rng.below(3) {
        0 if range.len() < context.input.len() => remove(context.input, range),
        1 => remove(context.input, range.start + 1..range.end - 1),
        _ => {
            context.input.remove(range.end - 1);
            context.input.remove(range.start);
        }
    }
    true
}

/// Repeats, leaves out or takes over a line.
pub(super) fn change_line(context: &mut Context<'_>) -> bool {
    if context.input.is_empty() {
        return false;
    }
    let at = context.rng.below(context.input.len());
    let line = line_at(context.input, at);
    match context.rng.below(3) {
        0 if line.len() < context.input.len() => {
            remove(context.input, line);
            true
        }
        1 => repeat(context, line),
        _ => {
            let other = other(context);
            if other.is_empty() {
                return false;
            }
            let from = line_at(other, context.rng.below(other.len()));
            insert_at(context, line.end, &other[from])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Change, Dictionary, favour::Favours};
    use super::*;
    use crate::coverage::Profile;
    use crate::engine::Corpus;
    use crate::engine::testcase::NewTestcase;

    const ALL: [Change; 9] = [
        replace_lexeme,
        replace_with_token,
        delete_lexemes,
        insert_lexemes,
        repeat_lexemes,
        replace_group,
        nest_group,
        flatten_group,
        change_line,
    ];

    /// What a change makes of a text, 1,000 times; of those times how often it could be made.
    fn mutants(text: &[u8], change: Change) -> Vec<Vec<u8>> {
        let mut corpus = Corpus::new(1);
        let input = b"while (x1[20]) {\n  print(y)\n}\n".to_vec();
        corpus.admit(NewTestcase { input, unseen: Profile(vec![(0, 1)]), ..NewTestcase::default() });
        let (dictionary, favours) = (Dictionary::parse("\"return\"").unwrap(), Favours::default());
        let mutant = |seed| {
            let (mut input, rng) = (text.to_vec(), &mut Rng::of_task(seed, 0, 0));
            let (corpus, dictionary, favours, used) = (&corpus, &dictionary, &favours, None);
            let mut context = Context { input: &mut input, rng, corpus, dictionary, len_max: 100, favours, used };
            let changed = change(&mut context);
            assert!(input.len() <= 100 && (changed || input == text));
            changed.then_some(input)
        };
        (0..1_000).filter_map(mutant).collect()
    }

    fn depth_after(text: &[u8]) -> Option<usize> {
        text.iter().try_fold(0_usize, |depth, byte| match byte {
            b'(' | b'[' | b'{' => Some(depth + 1),
            b')' | b']' | b'}' => depth.checked_sub(1),
            _ => Some(depth),
        })
    }

    #[test]
    fn lexemes_are_words_and_spaces_and_single_bytes() {
        let text = b"ab_1 \n<=\xc3\xa4\0";
        let lexemes: Vec<_> = (0..text.len()).map(|at| lexeme_at(text, at).map(|(_, range)| range)).collect();
        let (word, space, umlaut) = (Some(0..4), Some(4..6), Some(8..10));
        let expected = [&word, &word, &word, &word, &space, &space, &Some(6..7), &Some(7..8), &umlaut, &umlaut, &None];
        assert!(lexemes.iter().eq(expected), "{lexemes:?}");
    }

    #[test]
    fn groups_end_where_they_are_closed() {
        let text = b"f(a, (b), \"c)\") + [d";
        assert!((0..=u8::MAX).all(|byte| is_opener(byte) == closer(byte).is_some()));
        // Brackets in quotes count: what a quote is, languages disagree about.
        assert_eq!(group_from(text, 0), Some(1..13));
        assert_eq!(group_from(text, 2), Some(5..8));
        assert_eq!(group_from(text, 9), Some(10..14));
        assert_eq!(group_from(text, 17), None);
    }

    #[test]
    fn each_change_can_be_made_on_texts_and_none_on_other_bytes() {
        for (number, change) in ALL.into_iter().enumerate() {
            let is_of_bytes = number + 1 == ALL.len();
            assert!(mutants(b"if (a) {\n  b = c(1)\n}\n", change).len() > 300, "{number}");
            if !is_of_bytes {
                assert_eq!(mutants(&[0, 1, 2, 3, 127], change).len(), 0, "{number}");
            }
            assert_eq!(mutants(b"", change).len(), 0, "{number}");
        }
    }

    #[test]
    fn what_is_done_to_groups_leaves_brackets_matched() {
        for change in [replace_group, nest_group, flatten_group] {
            for mutant in mutants(b"if (a) {\n  b = c(1, [d])\n}\n", change) {
                assert_eq!(depth_after(&mutant), Some(0), "{}", mutant.escape_ascii());
            }
        }
    }

    #[test]
    fn lexemes_stay_whole() {
        let known = [
            "alpha", "beta", "gamma", " ", "while", "(", "x1", "[", "20", "]", ")", "{", "\n  ", "print", "y", "\n",
            "}", "return",
        ];
        for change in [replace_lexeme, replace_with_token, insert_lexemes, delete_lexemes] {
            for mutant in mutants(b"alpha beta gamma", change) {
                let mut at = 0;
                while at < mutant.len() {
                    let (_, range) = lexeme_at(&mutant, at).unwrap();
                    at = range.end;
                    let lexeme = std::str::from_utf8(&mutant[range]).unwrap();
                    // Two that come to stand side by side are one.
                    let parts = known.iter().filter(|known| lexeme.contains(**known)).count();
                    assert!(parts > 0, "{lexeme:?} in {:?}", mutant.escape_ascii().to_string());
                }
            }
        }
    }
}
