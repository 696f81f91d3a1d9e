//! What structured mutation promises: changes are small, most of the tree is shared, and types are preserved.

use super::*;
use crate::engine::mutate::Steps;
use crate::stream::sample::tests::alternative;
use crate::stream::{Choice, Draw, DrawKind, Span, Trace, decode, encode};
use std::collections::BTreeSet;

const NUMBER: u64 = 1;
const TRUTH: u64 = 2;

/// A guest that draws an expression with numbers and truth values. Each begins with a draw that says which of both it
/// is; where the other is expected, the guest traps.
#[derive(Default)]
struct Guest<'a> {
    stream: &'a [Choice],
    trace: Trace,
    trapped: bool,
}

impl Guest<'_> {
    /// The trace; `None` if the guest trapped.
    fn run(stream: &[Choice]) -> Option<Trace> {
        let mut guest = Guest { stream, ..Guest::default() };
        guest.expression(NUMBER, 0);
        (!guest.trapped).then_some(guest.trace)
    }

    fn draw(&mut self, site: u32, max: u64) -> u64 {
        let at = self.trace.choices.len();
        let index = self.stream.get(at).and_then(Choice::index).unwrap_or(0).min(max);
        self.trace.choices.push(Choice::Index(index));
        self.trace.draws.push(alternative(site, max));
        index
    }

    fn expression(&mut self, kind: u64, depth: u16) {
        let at = self.trace.spans.len();
        let start = u32::try_from(self.trace.choices.len()).unwrap();
        self.trace.spans.push(Span::told(kind, start, start, depth));
        // Most alternatives end the expression, so that no tree goes on for ever.
        let alternative = if depth < 40 { self.draw(0, 5) } else { 0 };
        self.trapped |= self.draw(1, 2) + 1 != kind;
        if !self.trapped {
            let inside: &[u64] = match (kind, alternative) {
                (NUMBER, 3) => &[NUMBER, NUMBER],
                (NUMBER, 4) => &[TRUTH, NUMBER, NUMBER],
                (TRUTH, 3) => &[TRUTH],
                (TRUTH, 4) => &[NUMBER, NUMBER],
                (_, 5) => &[TRUTH, kind],
                _ => &[],
            };
            if inside.is_empty() {
                self.draw(2, 1000);
            }
            inside.iter().for_each(|&kind| self.expression(kind, depth + 1));
        }
        self.trace.spans[at].end = u32::try_from(self.trace.choices.len()).unwrap();
    }
}

/// A stream for which the guest does not trap, of at least so many draws.
fn valid(rng: &mut Rng, draws: usize) -> Trace {
    loop {
        let mut stream = vec![];
        // What the guest asks for next is known, so each draw that it checks is made right.
        loop {
            let before = Guest { stream: &stream, ..Guest::default() };
            let mut guest = before;
            guest.expression(NUMBER, 0);
            let at = stream.len();
            let Some(draw) = guest.trace.draws.get(at) else { break };
            let index = match draw.site {
                1 => {
                    let span = guest.trace.spans.iter().rev().find(|span| (span.start as usize) < at.max(1));
                    span.expect("a draw is in a span").label - 1
                }
                _ => rng.below(usize::try_from(draw.max + 1).unwrap()) as u64,
            };
            stream.push(Choice::Index(index));
            if stream.len() > 400 {
                break;
            }
        }
        if let Some(trace) = Guest::run(&stream).filter(|trace| (draws..400).contains(&trace.choices.len())) {
            return trace;
        }
    }
}

fn context<'a>(
    rng: &'a mut Rng,
    pool: &'a Pool,
    other: Option<&'a Node>,
    change_bytes: &'a mut dyn FnMut(&mut Vec<u8>, usize, &mut Rng),
) -> Context<'a> {
    Context { steps: Steps::Usual, rng, pool, other, numbers: &[], change_bytes }
}

fn no_blobs(_: &mut Vec<u8>, _: usize, _: &mut Rng) {
    unreachable!("there are no blobs");
}

/// A binary tree with 2^`depth` leaves: a span for each node, which begins with the draw that says whether it is a
/// leaf.
fn complete(depth: u32) -> Node {
    let draw = |index| Node::draw(alternative(0, 1), Choice::Index(index));
    match depth {
        0 => Node::span(1, vec![draw(0)]),
        _ => Node::span(1, vec![draw(1), complete(depth - 1), complete(depth - 1)]),
    }
}

/// Draws and nodes of `new` that `old` does not have.
fn made(old: &Node, new: &Node) -> (usize, usize) {
    if old.is(new) {
        return (0, 0);
    }
    let inside = new.children().iter().zip(old.children()).map(|(new, old)| made(old, new));
    let (draws, nodes) = inside.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (draws + usize::from(new.as_draw().is_some()), nodes + 1)
}

#[test]
fn a_change_of_a_balanced_tree_is_small_and_shares_the_rest() {
    for depth in (6..=16).step_by(2) {
        let sample = Node::span(0, vec![complete(depth)]);
        let (mut rng, pool) = (Rng::of_task(1, 0, depth.into()), Pool::default());
        let mut sums = (0, 0);
        for _ in 0..2_000 {
            let mutant = draws::regenerate(&sample, &mut context(&mut rng, &pool, None, &mut no_blobs)).unwrap();
            let (draws, nodes) = made(&sample, &mutant);
            sums = (sums.0 + draws, sums.1 + nodes);
        }
        let (draws, nodes) = (f64::from(sums.0 as u32) / 2_000.0, f64::from(sums.1 as u32) / 2_000.0);
        println!("2^{depth} leaves: {draws:.1} draws, {nodes:.1} nodes");
        assert!(draws <= 3.0 * f64::from(depth) && nodes <= 4.0 * f64::from(depth), "2^{depth}: {draws} {nodes}");
    }
}

#[test]
fn spliced_spans_keep_their_type_and_spliced_bytes_do_not() {
    let mut rng = Rng::of_task(2, 0, 0);
    let traces: Vec<Trace> = (0..40).map(|_| valid(&mut rng, 12)).collect();
    let samples: Vec<Node> = traces.iter().map(Node::of).collect();
    let mut pool = Pool::default();
    samples.iter().for_each(|sample| pool.offer(sample, &mut rng));
    let (mut tried, mut kept, mut bytes_kept) = (0, 0, 0);
    for _ in 0..100 {
        for (index, sample) in samples.iter().enumerate() {
            let other = rng.below(samples.len());
            let mutant = splice::from_pool(sample, &mut context(&mut rng, &pool, None, &mut no_blobs));
            let Some(mutant) = mutant else { continue };
            tried += 1;
            kept += usize::from(Guest::run(&mutant.choices()).is_some());
            // As many bytes of the other, somewhere.
            let (mut bytes, from) = (encode(&traces[index].choices), encode(&traces[other].choices));
            let len = 1 + rng.below(from.len());
            let (start, at) = (rng.below(from.len() - len + 1), rng.below(bytes.len()));
            let end = (at + 1 + rng.below(bytes.len() - at)).min(bytes.len());
            bytes.splice(at..end, from[start..start + len].iter().copied());
            bytes_kept += usize::from(Guest::run(&decode(&bytes)).is_some());
        }
    }
    println!("{kept} spans and {bytes_kept} blocks of bytes kept the type, of {tried}");
    assert!(tried > 3_000 && kept * 100 >= tried * 99 && bytes_kept * 100 <= tried * 60, "{kept} {bytes_kept} {tried}");
}

#[test]
fn every_change_applies_and_the_same_rng_makes_the_same_mutant() {
    let mut rng = Rng::of_task(3, 0, 0);
    let samples: Vec<Node> = (0..20).map(|_| Node::of(&valid(&mut rng, 20))).collect();
    let mut pool = Pool::default();
    samples.iter().for_each(|sample| pool.offer(sample, &mut rng));
    let mut changed = [0; CHANGES.len()];
    for round in 0..200 {
        for (index, sample) in samples.iter().enumerate() {
            let other = Some(&samples[(index + 1) % samples.len()]);
            let mutant = |seed| {
                let mut rng = Rng::of_task(seed, 1, index as u64);
                mutate(sample, &mut context(&mut rng, &pool, other, &mut no_blobs)).choices()
            };
            assert_eq!(mutant(round), mutant(round));
            for (count, (_, change)) in changed.iter_mut().zip(CHANGES) {
                let mutant = change(sample, &mut context(&mut rng, &pool, other, &mut no_blobs));
                *count += usize::from(mutant.is_some_and(|mutant| mutant.choices() != sample.choices()));
            }
        }
    }
    // The guest draws no blobs.
    let (blobs, others) = changed.split_last().unwrap();
    assert!(*blobs == 0 && others.iter().all(|&count| count > 200), "{changed:?}");
}

#[test]
fn what_is_cut_keeps_what_is_before_and_each_length_is_as_likely() {
    let (mut rng, pool) = (Rng::of_task(6, 0, 0), Pool::default());
    let sample = Node::of(&valid(&mut rng, 12));
    let mut lengths = vec![0; sample.draws()];
    for _ in 0..200 * lengths.len() {
        let kept = draws::cut(&sample, &mut context(&mut rng, &pool, None, &mut no_blobs)).unwrap().choices();
        assert!(sample.choices().starts_with(&kept));
        lengths[kept.len()] += 1;
    }
    assert!(lengths.iter().all(|&count| count > 100), "{lengths:?}");
}

#[test]
fn blobs_are_changed_within_their_bounds() {
    let mut draw = alternative(0, 8);
    draw.kind = crate::stream::DrawKind::Bytes;
    let sample = Node::span(0, vec![Node::draw(draw, Choice::Blob(b"abc".to_vec()))]);
    let mut lengths = Vec::new();
    let mut change = |bytes: &mut Vec<u8>, len_max: usize, _: &mut Rng| {
        lengths.push(len_max);
        bytes.push(b'!');
    };
    let (mut rng, pool) = (Rng::of_task(4, 0, 0), Pool::default());
    let mutant = draws::change_blob(&sample, &mut context(&mut rng, &pool, None, &mut change)).unwrap();
    assert_eq!(mutant.choices(), [Choice::Blob(b"abc!".to_vec())]);
    assert_eq!(lengths, [8]);
}

#[test]
fn fresh_values_fit_and_have_all_widths() {
    let mut rng = Rng::of_task(5, 0, 0);
    let mut widths = [0; 65];
    for _ in 0..20_000 {
        for max in [0, 1, 5, 255, 256, 1000, u64::MAX] {
            let index = draws::fresh(&alternative(0, max), &[], &mut rng).index().unwrap();
            assert!(index <= max);
            widths[if max == u64::MAX { 64 - index.leading_zeros() as usize } else { 64 }] += 1;
        }
    }
    assert!(widths[1..].iter().all(|&count| count > 100), "{widths:?}");
}

#[test]
fn numbers_of_the_module_are_drawn_where_the_bounds_allow_them() {
    let draw = |kind, lo, hi| Draw { kind, lo, hi, ..alternative(0, hi.wrapping_sub(lo).cast_unsigned()) };
    let numbers = [-5_000_000_019, -77, 123_456_789];
    let mut rng = Rng::of_task(1, 2, 3);
    let mut drawn = |draw: Draw| {
        let values: BTreeSet<i128> = (0..200_000)
            .map(|_| draws::fresh(&draw, &numbers, &mut rng).index().unwrap())
            .inspect(|&index| assert!(index <= draw.max))
            .map(|index| draw.number(index))
            .collect();
        values
    };
    let wide = drawn(draw(DrawKind::Int, i64::MIN, i64::MAX));
    assert!(numbers.iter().all(|&number| wide.contains(&number.into())));
    assert!(
        [i64::MIN.into(), i64::MAX.into(), 10_i128.pow(17), -(1 << 61) - 1].iter().all(|value| wide.contains(value))
    );
    let narrow = drawn(draw(DrawKind::Int, 0, u32::MAX.into()));
    assert!(narrow.contains(&123_456_789) && narrow.contains(&((1 << 32) - 77)));
    let unsigned = drawn(draw(DrawKind::Uint, 0, -1));
    assert!(unsigned.contains(&((1 << 64) - 77)) && unsigned.contains(&((1 << 32) - 77)));
}
