//! Changes of how many spans there are, and in which order: of lists, mostly.

use super::{Context, any_span};
use crate::stream::Node;
use std::ops::Range;

/// Neighbours that are deleted or repeated together, at most.
const RUN_MAX: usize = 8;

/// Takes away a span, or a few neighbours with its label.
pub(super) fn delete(sample: &Node, context: &mut Context<'_>) -> Option<Node> {
    let (parent, run) = any_run(sample, context)?;
    let children = sample.at(&parent).children();
    Some(with_children(sample, &parent, [&children[..run.start], &children[run.end..]].concat()))
}

/// Has a span, or a few neighbours with its label, twice.
pub(super) fn repeat(sample: &Node, context: &mut Context<'_>) -> Option<Node> {
    let (parent, run) = any_run(sample, context)?;
    let children = sample.at(&parent).children();
    Some(with_children(sample, &parent, [&children[..run.end], &children[run.start..]].concat()))
}

/// Exchanges two spans of one label around which the same span is.
pub(super) fn swap(sample: &Node, context: &mut Context<'_>) -> Option<Node> {
    let (parent, step) = split(any_span(sample, context.rng)?);
    let children = sample.at(&parent).children();
    let alike = |other: &usize| *other != step && children[*other].label() == children[step].label();
    let others: Vec<usize> = (0..children.len()).filter(alike).collect();
    if others.is_empty() {
        return None;
    }
    let mut children = children.to_vec();
    children.swap(step, *context.rng.pick(&others));
    Some(with_children(sample, &parent, children))
}

/// Neighbours with one label: the way to the span around them, and which of its children they are.
fn any_run(sample: &Node, context: &mut Context<'_>) -> Option<(Vec<usize>, Range<usize>)> {
    let (parent, step) = split(any_span(sample, context.rng)?);
    let children = sample.at(&parent).children();
    // Elements of a list have the draw that goes on with it between them, or inside.
    let label = children[step].label();
    let limit = step + 1 + context.rng.below(RUN_MAX) * context.rng.below(2);
    let alike = (step..children.len()).take_while(|&at| at < limit && children[at].label() == label).count();
    Some((parent, step..step + alike))
}

fn split(mut path: Vec<usize>) -> (Vec<usize>, usize) {
    let step = path.pop().expect("no span is the root");
    (path, step)
}

/// A copy in which the span at `parent` holds `children`.
fn with_children(sample: &Node, parent: &[usize], children: Vec<Node>) -> Node {
    let label = sample.at(parent).label().expect("it is a span");
    let span = Node::span(label, children);
    if parent.is_empty() { span } else { sample.with(parent, &[span]) }
}
