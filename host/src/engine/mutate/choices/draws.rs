//! Changes of what draws took.

use super::{Context, any_span, before};
use crate::engine::rng::Rng;
use crate::stream::{Choice, Draw, DrawKind, Node};

/// The longest blob that is drawn afresh, in bytes, unless the draw wants more.
const FRESH_BLOB_MAX: usize = 64;

/// Draws a part of the sample afresh: half of the time any span, else what begins at any draw (Crowbar: a position in
/// the sample, uniform; the generator that starts there is run again).
///
/// In a balanced tree with n draws either takes about log2 n of them.
pub(super) fn regenerate(sample: &Node, context: &mut Context<'_>) -> Option<Node> {
    let path = if context.rng.one_in(2) {
        any_span(sample, context.rng)?
    } else {
        if sample.draws() == 0 {
            return None;
        }
        let mut path = sample.path_to_draw(context.rng.below(sample.draws()));
        // The innermost span that begins here, if there is one: a generator's first draw says what it will be.
        if path.len() > 1 && path.last() == Some(&0) {
            path.pop();
        }
        path
    };
    let node = afresh(sample.at(&path), context.numbers, context.rng);
    Some(sample.with(&path, &[node]))
}

/// Leaves what is drawn from some place on to what follows the stream: to chance, or what is simplest. So a guest that
/// went on for long may end soon, and one that ended soon may go on for long.
pub(super) fn cut(sample: &Node, context: &mut Context<'_>) -> Option<Node> {
    if sample.draws() == 0 {
        return None;
    }
    Some(Node::span(0, before(sample, &sample.path_to_draw(context.rng.below(sample.draws())))))
}

/// The same draws with other values.
fn afresh(node: &Node, numbers: &[i64], rng: &mut Rng) -> Node {
    match node.as_draw() {
        Some((draw, _)) => Node::draw(*draw, fresh(draw, numbers, rng)),
        None => {
            let label = node.label().expect("it is no draw");
            Node::span(label, node.children().iter().map(|child| afresh(child, numbers, rng)).collect())
        }
    }
}

/// Another value for one draw.
pub(super) fn replace(sample: &Node, context: &mut Context<'_>) -> Option<Node> {
    let path = draw_that(sample, context.rng, |draw| !draw.kind.is_blob() && !draw.forced)?;
    let (draw, choice) = sample.at(&path).as_draw()?;
    let (old, rng) = (choice.index()?, &mut *context.rng);
    let step = 1_u64 << rng.below(usize::try_from(draw.max.max(1).ilog2() + 1).expect("at most 64"));
    let new = match rng.below(8) {
        _ if draw.max >= 256 && !draw.payload && rng.one_in(20) => constant(draw, context.numbers, rng),
        0 | 1 => old.saturating_add(step).min(draw.max),
        2 | 3 => old.saturating_sub(step),
        4 => *rng.pick(&[0, draw.max]),
        // Equal values are what many checks ask for.
        5 => draw_like(sample, draw, rng)?.min(draw.max),
        _ => uniform(draw.max, rng),
    };
    let new = match new {
        new if new != old => new,
        _ if old < draw.max => old + 1,
        _ => old - 1,
    };
    Some(sample.with(&path, &[Node::draw(*draw, Choice::Index(new))]))
}

/// The index that some other draw at the same site took.
fn draw_like(sample: &Node, draw: &Draw, rng: &mut Rng) -> Option<u64> {
    let path = draw_that(sample, rng, |other| other.site == draw.site && !other.kind.is_blob())?;
    sample.at(&path).as_draw()?.1.index()
}

/// Changes a blob as plain bytes are changed.
pub(super) fn change_blob(sample: &Node, context: &mut Context<'_>) -> Option<Node> {
    let path = draw_that(sample, context.rng, |draw| draw.kind.is_blob() && draw.max > 0)?;
    let (draw, choice) = sample.at(&path).as_draw()?;
    let mut bytes = choice.blob()?.to_vec();
    let len_max = usize::try_from(draw.max).unwrap_or(usize::MAX);
    (context.change_bytes)(&mut bytes, len_max, context.rng);
    Some(sample.with(&path, &[Node::draw(*draw, Choice::Blob(bytes))]))
}

/// The way to a draw for which `fits`, found in a few tries.
fn draw_that(sample: &Node, rng: &mut Rng, fits: impl Fn(&Draw) -> bool) -> Option<Vec<usize>> {
    if sample.draws() == 0 {
        return None;
    }
    (0..16).map(|_| sample.path_to_draw(rng.below(sample.draws()))).find(|path| {
        let (draw, _) = sample.at(path).as_draw().expect("the way leads to a draw");
        fits(draw)
    })
}

/// A value for a draw: any of few; of many mostly small ones, of any width, and now and then a constant, `numbers`
/// among them.
pub(in crate::engine) fn fresh(draw: &Draw, numbers: &[i64], rng: &mut Rng) -> Choice {
    if draw.kind.is_blob() {
        let least = usize::try_from(draw.lo.max(0)).unwrap_or(0).min(FRESH_BLOB_MAX);
        let most = usize::try_from(draw.max).unwrap_or(usize::MAX).clamp(least, FRESH_BLOB_MAX.max(least));
        let len = least + rng.below(most - least + 1);
        return Choice::Blob((0..len).map(|_| rng.byte()).collect());
    }
    let index = if draw.max < 256 || draw.payload {
        uniform(draw.max, rng)
    } else if rng.one_in(20) {
        return Choice::Index(constant(draw, numbers, rng));
    } else {
        rng.word() >> rng.below(64)
    };
    // What is too large for the bounds wraps, so that all widths stay as likely as they were.
    Choice::Index(draw.max.checked_add(1).map_or(index, |count| index % count))
}

/// The index of a number that programs are likely to treat in a way of its own: a bound, one that is in the module, or
/// one beside a power of 2 or 10. (As Hypothesis: a twentieth of what is drawn is a constant, from a pool of its own or
/// from the code.)
///
/// The random tail has bounds and powers as well, but none of the module's: it is the same for the guest's own
/// functions and for all who have to agree with them, and these don't know the module.
fn constant(draw: &Draw, numbers: &[i64], rng: &mut Rng) -> u64 {
    let bound = *rng.pick(&[draw.max, draw.max - 1]);
    if !matches!(draw.kind, DrawKind::Int | DrawKind::Uint) {
        let power = 1_u64 << rng.below(64);
        return *rng.pick(&[bound, power, power - 1, power.saturating_add(1)]).min(&draw.max);
    }
    for _ in 0..8 {
        let beside = rng.below(3) as i128 - 1;
        let value = match rng.below(4) {
            0 => return bound,
            1 if !numbers.is_empty() => i128::from(*rng.pick(numbers)) + if rng.one_in(2) { 0 } else { beside },
            2 => sign(rng) * 10_i128.pow(rng.below(20) as u32) + beside,
            _ => sign(rng) * (1_i128 << rng.below(65)) + beside,
        };
        // Of bits that are in the module nobody knows whether they have a sign.
        let unsigned = value + (1_i128 << if rng.one_in(2) { 32 } else { 64 });
        let mut meanings = [value, unsigned].into_iter();
        if let Some(index) = meanings.find_map(|value| draw.index_of(value)) {
            return index;
        }
    }
    bound
}

fn sign(rng: &mut Rng) -> i128 {
    if rng.one_in(2) { 1 } else { -1 }
}

fn uniform(max: u64, rng: &mut Rng) -> u64 {
    let product = u128::from(rng.word()) * (u128::from(max) + 1);
    u64::try_from(product >> 64).expect("no more than the largest")
}
