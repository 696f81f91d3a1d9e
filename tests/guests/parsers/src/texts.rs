//! Files that say what inputs look like, or what executions are to tell.

use crate::grammar::Grammar;
use crate::stream::Choice;
use crate::stream::frames::FrameTrace;
use std::str::from_utf8;

/// A grammar, and behind a zero byte a text.
pub(super) fn grammar(data: &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let Some(Ok(grammar)) = parts.next().map(from_utf8) else { return };
    let Ok(grammar) = Grammar::parse(grammar) else { return };
    is_written_again(&grammar, parts.next().unwrap_or_default());
    let mut state = data.len() as u64;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ state >> 29
    };
    for _ in 0..4 {
        is_written_again(&grammar, &produced(&grammar, grammar.sample(&mut word)));
    }
}

fn produced(grammar: &Grammar, choices: Vec<u64>) -> Vec<u8> {
    let mut choices = choices.into_iter();
    grammar.produce(usize::MAX, |_| choices.next().unwrap_or(0))
}

/// What has a derivation is what that stands for.
fn is_written_again(grammar: &Grammar, text: &[u8]) {
    if let Some(node) = grammar.derivation(text) {
        let choices = node.choices().iter().filter_map(Choice::index).collect();
        assert_eq!(produced(grammar, choices), text);
    }
}

/// A trace of key frames.
pub(super) fn trace(data: &[u8]) {
    let Ok(text) = from_utf8(data) else { return };
    let Ok(trace) = FrameTrace::parse(text, "stem") else { return };
    assert!(!trace.patterns.is_empty() && !trace.name.is_empty());
    trace.patterns.iter().for_each(|pattern| assert!(!pattern.described([]).is_empty()));
}
