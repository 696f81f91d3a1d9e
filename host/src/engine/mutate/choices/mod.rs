//! Mutations of choice streams, on the tree of their spans.
//!
//! A mutant of bytes is mostly a stream that means something else from the changed place on. Here a change is one draw,
//! or one span that is replaced by another of the same label, so what stands behind it keeps its meaning. Ten of them,
//! each a file's function:
//!
//! | | change | |
//! |---|---|---|
//! | m1 | [`draws::regenerate`] | draws a span, or what begins at a draw, afresh |
//! | m2 | [`draws::replace`] | another index for one draw: any, near, at a bound, or that of another at its site |
//! | m3 | [`spans::delete`] | one span, or a few neighbours with one label: elements of a list |
//! | m4 | [`spans::repeat`], [`spans::swap`] | the same the other way round, and neighbours exchanged |
//! | m5 | [`splice::from_pool`] | a span of another testcase with the same label (type-preserving splice) |
//! | m6 | [`splice::grow`] | a span inside one of the same label becomes a copy of the outer one (as in Nautilus) |
//! | m7 | [`splice::copy`] | one span becomes a copy of another with its label (as in Hypothesis) |
//! | m8 | [`splice::cross_over`] | the beginning of one sample, the end of another, where spans with one label begin |
//! | m9 | [`draws::cut`] | from some draw on what comes is left to what follows the stream |
//! | m10 | [`draws::change_blob`] | the mutations of plain bytes, in one blob |
//!
//! The stream that comes out need not fit: the guest may draw more, or less, or with other bounds behind the change.
//! Executing takes what fits and makes up the rest.

pub(in crate::engine) mod draws;
mod spans;
mod splice;
#[cfg(test)]
mod tests;

use super::super::rng::Rng;
use super::{STEPS_MAX, Steps};
use crate::engine::span_pool::Pool;
use crate::stream::Node;

/// Changes to one sample: mostly one, each further one half as likely.
const CHANGES_MAX: usize = 8;
/// A sample has no more draws than this after a change.
const DRAWS_MAX: usize = 8192;

/// What a change works with.
pub(super) struct Context<'a> {
    /// How many changes are made.
    pub(super) steps: Steps,
    pub(super) rng: &'a mut Rng,
    /// Fragments of other testcases.
    pub(super) pool: &'a Pool,
    /// Another testcase's sample, if there is one.
    pub(super) other: Option<&'a Node>,
    /// Numbers that are in the module.
    pub(super) numbers: &'a [i64],
    /// Mutates a blob in place, to at most so many bytes.
    pub(super) change_bytes: &'a mut dyn FnMut(&mut Vec<u8>, usize, &mut Rng),
}

/// A changed copy; `None` if there is nothing to change in this way.
type Change = fn(&Node, &mut Context<'_>) -> Option<Node>;

/// All changes with their weights.
const CHANGES: &[(usize, Change)] = &[
    (4, draws::regenerate),
    (8, draws::replace),
    (4, spans::delete),
    (3, spans::repeat),
    (2, spans::swap),
    (4, splice::from_pool),
    (1, splice::grow),
    (2, splice::copy),
    (1, splice::cross_over),
    (3, draws::cut),
    (4, draws::change_blob),
];

/// Makes a mutant of `sample`. It is a function of the sample and the context; where nothing can be changed it is the
/// sample.
pub(super) fn mutate(sample: &Node, context: &mut Context<'_>) -> Node {
    let total = CHANGES.iter().map(|(weight, _)| weight).sum();
    let mut mutant = sample.clone();
    for _ in 0..if context.steps == Steps::Usual { CHANGES_MAX } else { STEPS_MAX } {
        // Some change nearly always applies; a few tries find one.
        for _ in 0..8 {
            let mut point = context.rng.below(total);
            let change = CHANGES.iter().find_map(|(weight, change)| match point.checked_sub(*weight) {
                Some(rest) => {
                    point = rest;
                    None
                }
                None => Some(change),
            });
            let changed = change.expect("the point is below the sum")(&mutant, context);
            if let Some(changed) = changed.filter(|changed| changed.draws() <= DRAWS_MAX) {
                mutant = changed;
                break;
            }
        }
        if context.steps.end(context.rng) {
            break;
        }
    }
    mutant
}

/// The way to a span below the root, each as likely as any other; `None` if there is none.
fn any_span(sample: &Node, rng: &mut Rng) -> Option<Vec<usize>> {
    // Spans are about half of the nodes in most trees, so a few tries find one without looking at all.
    for _ in 0..16 {
        let path = sample.path_to_node(rng.below(sample.nodes()));
        if !path.is_empty() && sample.at(&path).label().is_some() {
            return Some(path);
        }
    }
    None
}

/// What stands before the node at a path, without the spans around that.
fn before(sample: &Node, path: &[usize]) -> Vec<Node> {
    let (mut before, mut inner) = (Vec::new(), sample);
    for &step in path {
        before.extend_from_slice(&inner.children()[..step]);
        inner = &inner.children()[step];
    }
    before
}

/// The ways to the spans below the root with this label.
fn spans_with(sample: &Node, label: u64) -> Vec<Vec<usize>> {
    let mut paths = Vec::new();
    sample.visit_spans(&mut |span, path| {
        if span.label() == Some(label) {
            paths.push(path.clone());
        }
    });
    paths
}
