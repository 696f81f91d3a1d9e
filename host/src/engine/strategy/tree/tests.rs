//! Trees of other tools, drawn from without a guest.

use super::counted::{Counted, Law, Mode};
use super::{ROUND_MAX, ROUND_PART};
use crate::engine::rng::Rng;
use crate::stream::{Choice, Draw, DrawKind};
use std::collections::{BTreeMap, BTreeSet};

fn draw(max: u64, payload: bool) -> Draw {
    let kind = if payload { DrawKind::Payload } else { DrawKind::Choice };
    Draw { kind, site: 1, max, forced: max == 0, payload, lo: 0, hi: 0, towards: 0 }
}

/// Says how many values the next draw has after what was drawn, and whether it is payload; `None` at a leaf.
type Guest = fn(&[u64]) -> Option<(u64, bool)>;

/// What a strategy of this mode draws in so many executions, in rounds as it plans them.
fn drawn(guest: Guest, mode: Mode, runs: usize, seed: u64) -> (Vec<Vec<u64>>, Counted) {
    drawn_by(Law::default(), guest, mode, runs, seed)
}

fn drawn_by(law: Law, guest: Guest, mode: Mode, runs: usize, seed: u64) -> (Vec<Vec<u64>>, Counted) {
    let (mut counted, mut rng, mut all) = (Counted::by(law), Rng::of_task(seed, 0, 0), Vec::new());
    while all.len() < runs && (mode == Mode::Sample || !counted.is_done()) {
        let (mut round, mut taken) = (Vec::new(), BTreeSet::new());
        for _ in 0..(all.len() as u64 / ROUND_PART).clamp(1, ROUND_MAX) {
            let walk = counted.walk(mode, &mut rng);
            if mode != Mode::Sample && !taken.insert(walk.end) {
                break;
            }
            let (mut draws, mut indices) = (Vec::new(), Vec::new());
            while let Some((values, payload)) = guest(&indices) {
                let given = walk.choices.get(indices.len()).and_then(Choice::index);
                indices.push(given.unwrap_or_else(|| rng.below(values as usize) as u64));
                draws.push(draw(values - 1, payload));
            }
            round.push((draws, indices, walk.odds));
        }
        for (draws, indices, odds) in round {
            let choices: Vec<_> = indices.iter().copied().map(Choice::Index).collect();
            counted.add(&draws, &choices, true, &odds);
            all.push(indices);
        }
    }
    all.truncate(runs);
    (all, counted)
}

/// As long as the second of two comes, at most so often: a comb with one leaf more.
fn comb<const TEETH: usize>(drawn: &[u64]) -> Option<(u64, bool)> {
    (drawn.len() < TEETH && !drawn.contains(&0)).then_some((2, false))
}

/// Sixteen leaves at each of five nodes, and one behind the last.
fn wide_comb(drawn: &[u64]) -> Option<(u64, bool)> {
    (drawn.len() < 5 && drawn.iter().all(|&index| index == 16)).then_some((17, false))
}

fn binary(drawn: &[u64]) -> Option<(u64, bool)> {
    (drawn.len() < 6).then_some((2, false))
}

fn rising(drawn: &[u64]) -> Option<(u64, bool)> {
    (drawn.len() < 6).then_some((drawn.len() as u64 + 1, false))
}

/// Binary trees with at most six inner nodes, in preorder: 0 for a leaf, 1 for a node.
fn trees(drawn: &[u64]) -> Option<(u64, bool)> {
    let inner = drawn.iter().filter(|&&index| index == 1).count();
    let open = 1 + 2 * inner - drawn.len();
    (open > 0).then_some((if inner < 6 { 2 } else { 1 }, false))
}

/// A: eight bits of payload; B: four leaves.
fn payload(drawn: &[u64]) -> Option<(u64, bool)> {
    match drawn {
        [] => Some((2, false)),
        [0] => Some((256, true)),
        [1] => Some((4, false)),
        _ => None,
    }
}

/// Half of the sum of distances to an even distribution over `leaves`, of the first so many runs.
fn distance(guest: Guest, leaves: usize, runs: usize) -> f64 {
    distance_by(Law::default(), guest, leaves, runs)
}

fn distance_by(law: Law, guest: Guest, leaves: usize, runs: usize) -> f64 {
    let of_seed = |seed| {
        let mut counts = BTreeMap::<_, u64>::new();
        let (drawn, _) = drawn_by(law, guest, Mode::Sample, runs, seed);
        drawn.into_iter().for_each(|leaf| *counts.entry(leaf).or_default() += 1);
        let even = 1.0 / leaves as f64;
        let off: f64 = counts.values().map(|&count| (count as f64 / runs as f64 - even).abs()).sum();
        (off + (leaves - counts.len()) as f64 * even) / 2.0
    };
    (0..SEEDS).map(of_seed).sum::<f64>() / SEEDS as f64
}

const SEEDS: u64 = 5;

/// What a perfect sampler is expected to be off by.
fn noise(leaves: usize, runs: usize) -> f64 {
    let (n, runs) = (leaves as f64, runs as f64);
    n / 2.0 * (std::f64::consts::FRAC_2_PI * (1.0 / n) * (1.0 - 1.0 / n) / runs).sqrt()
}

#[test]
fn leaves_are_as_even_as_a_perfect_sampler_has_them() {
    // Modelled before: 0.019, 0.019, 0.038, 0.080, 0.066, 0.088 and 0.089.
    let cases: [(&str, Guest, usize, usize); 7] = [
        ("A..F", comb::<5>, 6, 2000),
        ("comb 8", comb::<7>, 8, 2000),
        ("comb 20", comb::<19>, 20, 2000),
        ("17-ary comb", wide_comb, 81, 2000),
        ("full binary", binary, 64, 2000),
        ("degree rising", rising, 720, 14_400),
        ("binary trees", trees, 197, 3940),
    ];
    for (name, guest, leaves, runs) in cases {
        let (off, noise) = (distance(guest, leaves, runs), noise(leaves, runs));
        println!("{name}: {off:.3}, a perfect sampler {noise:.3}");
        assert!(off <= noise * 1.15 + 0.01, "{name}: {off} for {noise}");
    }
}

#[test]
fn n_leaves_are_explored_in_n_runs() {
    for mode in [Mode::Explore, Mode::Novelty] {
        for (guest, leaves) in
            [(comb::<5> as Guest, 6), (comb::<19>, 20), (wide_comb, 81), (binary, 64), (rising, 720), (trees, 197)]
        {
            let (drawn, counted) = drawn(guest, mode, 10_000, 1);
            let different: BTreeSet<_> = drawn.iter().collect();
            assert_eq!((drawn.len(), different.len()), (leaves, leaves), "{mode:?}");
            assert!(counted.is_done());
            assert_eq!(counted.leaves(), leaves as f64);
        }
    }
}

#[test]
fn the_size_is_known_before_all_is_seen() {
    // Modelled before: 104 after 50 runs, 164 after 200, 197 after 1,000.
    let size = |runs| drawn(trees, Mode::Sample, runs, 1).1.leaves();
    let sizes = [50, 200, 2000].map(size);
    println!("{sizes:?}");
    assert!((50.0..300.0).contains(&sizes[0]) && (120.0..260.0).contains(&sizes[1]), "{sizes:?}");
    assert!((sizes[2] - 197.0).abs() < 2.0, "{sizes:?}");
}

#[test]
fn payload_is_one_leaf() {
    // Modelled before: 20.9 % where 20 % are expected, and 98.1 % if it were no payload.
    let (drawn, _) = drawn(payload, Mode::Sample, 4000, 1);
    let share = drawn.iter().filter(|leaf| leaf[0] == 0).count() as f64 / drawn.len() as f64;
    println!("{share}");
    assert!((0.175..0.225).contains(&share), "{share}");
}

#[test]
fn numbers_of_many_values_take_no_time_to_choose() {
    let (drawn, counted) = drawn(|drawn| (drawn.len() < 2).then_some((1 << 40, false)), Mode::Sample, 20_000, 1);
    assert_eq!(drawn.len(), 20_000);
    assert!(counted.leaves() > 1e20);
}

#[test]
fn powers_go_from_a_random_walk_to_an_even_one() {
    let by = |quarters| {
        let law = Law { alpha: Some(quarters), ..Law::default() };
        let off = distance_by(law, comb::<7>, 8, 2000);
        println!("{quarters} quarters: {off:.3}");
        off
    };
    let off = [0, 1, 2, 3, 4].map(by);
    // Modelled before: 0.501 at random, 0.019 by leaves.
    assert!((off[0] - 0.501).abs() < 0.03 && off[4] < 0.04, "{off:?}");
    assert!(off.is_sorted_by(|a, b| a > b), "{off:?}");
}

#[test]
fn what_has_no_room_counts_as_others_of_its_site() {
    let off = |strata| {
        let law = Law { strata, nodes_max: Some(24), ..Law::default() };
        distance_by(law, trees, 197, 3940)
    };
    let (with, without) = (off(true), off(false));
    println!("with strata {with:.3}, without {without:.3}");
    assert!(with < without, "{with} {without}");
}

#[test]
fn odds_alone_tell_how_many_leaves_there_are() {
    let law = Law { knuth: true, ..Law::default() };
    for (name, guest, leaves) in [("binary", binary as Guest, 64), ("rising", rising, 720), ("trees", trees, 197)] {
        // Before all of a tree is seen, and so counted.
        let sizes: Vec<_> =
            (0..20).map(|seed| drawn_by(law, guest, Mode::Sample, leaves / 2, seed).1.leaves()).collect();
        let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
        println!("{name}: {mean:.1} of {leaves}");
        assert!((mean / leaves as f64 - 1.0).abs() < 0.25, "{name}: {mean}");
    }
}
