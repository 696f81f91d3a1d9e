//! Spans in the place of others with the same label.

use super::{Context, any_span, before, spans_with};
use crate::stream::Node;

/// A span of another testcase in the place of one with its label.
pub(super) fn from_pool(sample: &Node, context: &mut Context<'_>) -> Option<Node> {
    let path = any_span(sample, context.rng)?;
    let fragment = context.pool.pick(sample.at(&path).label()?, context.rng)?;
    (!fragment.is(sample.at(&path))).then(|| sample.with(&path, std::slice::from_ref(fragment)))
}

/// A copy of a span in the place of one inside it that has the same label: what was nested once is nested twice.
pub(super) fn grow(sample: &Node, context: &mut Context<'_>) -> Option<Node> {
    let path = any_span(sample, context.rng)?;
    let label = sample.at(&path).label();
    let outer = (1..path.len()).filter(|&len| sample.at(&path[..len]).label() == label);
    let outer: Vec<usize> = outer.collect();
    if outer.is_empty() {
        return None;
    }
    let outer = sample.at(&path[..*context.rng.pick(&outer)]).clone();
    Some(sample.with(&path, &[outer]))
}

/// A copy of one span in the place of another with its label.
pub(super) fn copy(sample: &Node, context: &mut Context<'_>) -> Option<Node> {
    let path = any_span(sample, context.rng)?;
    let alike = spans_with(sample, sample.at(&path).label()?);
    let from: &Vec<usize> = context.rng.pick(&alike);
    let from = sample.at(from).clone();
    (!from.is(sample.at(&path))).then(|| sample.with(&path, &[from]))
}

/// The beginning of this sample up to a span, then another sample from a span with its label on.
pub(super) fn cross_over(sample: &Node, context: &mut Context<'_>) -> Option<Node> {
    let other = context.other?;
    let path = any_span(sample, context.rng)?;
    let alike = spans_with(other, sample.at(&path).label()?);
    if alike.is_empty() {
        return None;
    }
    let rest: &Vec<usize> = context.rng.pick(&alike);
    let mut children = before(sample, &path);
    // What follows stands beside, not inside: spans around the end of one sample say nothing of the other's.
    let (mut after, mut right) = (Vec::new(), other);
    for &step in rest {
        after.push(&right.children()[step + 1..]);
        right = &right.children()[step];
    }
    children.push(right.clone());
    after.iter().rev().for_each(|nodes| children.extend_from_slice(nodes));
    Some(Node::span(0, children))
}
