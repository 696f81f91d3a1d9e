//! How evenly strategies draw from trees, beside what other tools published or a model gave.

use super::figures::{Section, figure, promised};
use super::{comb, guest, median, searched};
use fuzzbox::sandbox::Target;
use fuzzbox::stream::{Choice, decode};
use fuzzbox_guest::Domain;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The share of each leaf in what was executed, by what was drawn; seeds and repeated leaves are among it.
fn shares(target: &Arc<Target>, strategy: &str, execs: u64) -> BTreeMap<Vec<u64>, f64> {
    let campaign = searched(target, strategy, 1, 1, execs, false);
    let mut counts = BTreeMap::<_, u64>::new();
    for (input, count) in campaign.tally() {
        let drawn: Vec<_> = decode(input).iter().filter_map(Choice::index).collect();
        *counts.entry(drawn).or_default() += count;
    }
    let total: u64 = counts.values().sum();
    counts.into_iter().map(|(drawn, count)| (drawn, count as f64 / total as f64)).collect()
}

/// Half of the sum of distances to an even distribution over so many leaves.
fn distance(shares: &BTreeMap<Vec<u64>, f64>, leaves: usize) -> f64 {
    let even = 1.0 / leaves as f64;
    assert!(shares.len() <= leaves, "{} leaves", shares.len());
    let off: f64 = shares.values().map(|share| (share - even).abs()).sum();
    (off + (leaves - shares.len()) as f64 * even) / 2.0
}

/// What a perfect sampler is expected to be off by.
fn noise(leaves: usize, runs: u64) -> f64 {
    let (n, runs) = (leaves as f64, runs as f64);
    n / 2.0 * (std::f64::consts::FRAC_2_PI * (1.0 / n) * (1.0 - 1.0 / n) / runs).sqrt()
}

#[test]
fn random_inputs_halve_at_each_letter() {
    let shares: Vec<_> = shares(&comb(5), "quickcheck", 20_000).into_values().collect();
    println!("{shares:?}");
    let ours: Vec<_> = shares.iter().map(|share| format!("{:.2}", 100.0 * share)).collect();
    let published = "49.98 25.00 12.51 6.26 3.13 3.12";
    figure(Section::Random, "percent of A to F, `quickcheck`", published, &ours.join(" "));
    for (share, expected) in shares.iter().zip([0.5, 0.25, 0.125, 0.0625, 0.031_25, 0.031_25]) {
        assert!((share - expected).abs() < 0.01, "{shares:?}");
    }
    assert_eq!(shares.len(), 6);
}

#[test]
fn leaves_of_the_lopsided_tree_are_as_likely_as_one_another() {
    for (execs, most) in [(3000, 0.02), (10_000, 0.015)] {
        let shares = shares(&comb(5), "tree", execs);
        println!("{execs}: {shares:?}");
        assert_eq!(shares.len(), 6);
        let off = shares.values().map(|share| 100.0 * (share - 1.0 / 6.0).abs()).fold(0.0, f64::max);
        let modelled = if execs == 3000 { "1.8, by 10 seeds" } else { "1.2, by 10 seeds" };
        let what = format!("A to F, most points off a sixth in {execs}");
        figure(Section::Trees, &what, modelled, &format!("{off:.1}"));
        assert!(shares.values().all(|share| (share - 1.0 / 6.0).abs() <= most), "{shares:?}");
    }
}

/// Sixteen leaves at each of five nodes, and one behind the last.
const WIDE_COMB: &str = r#"(func (export "fbx_wide") (local $n i32)
    (loop $again
        (if (i32.ne (call $choice (i32.const 17) (i32.const 0)) (i32.const 16)) (then (return)))
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (br_if $again (i32.lt_u (local.get $n) (i32.const 5)))))"#;

/// One of 1, of 2, and so on to one of 6.
const RISING: &str = r#"(func (export "fbx_rising") (local $n i32)
    (loop $again
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (drop (call $choice (local.get $n) (i32.const 0)))
        (br_if $again (i32.lt_u (local.get $n) (i32.const 6)))))"#;

/// Binary trees with at most six inner nodes.
const TREES: &str = r#"(func (export "fbx_trees") (local $open i32) (local $inner i32)
    (local.set $open (i32.const 1))
    (loop $again
        (local.set $open (i32.sub (local.get $open) (i32.const 1)))
        (if (call $choice (select (i32.const 2) (i32.const 1) (i32.lt_u (local.get $inner) (i32.const 6))) (i32.const 0))
            (then
                (local.set $inner (i32.add (local.get $inner) (i32.const 1)))
                (local.set $open (i32.add (local.get $open) (i32.const 2)))))
        (br_if $again (local.get $open))))"#;

/// A path of six steps, and beside each of them a path the other way that goes as deep.
const SKEWED: &str = r#"(func (export "fbx_skewed") (local $depth i32) (local $left i32)
    (local.set $depth (i32.const 6))
    (loop $again
        (local.set $depth (i32.sub (local.get $depth) (i32.const 1)))
        (if (call $choice (i32.const 2) (i32.const 0))
            (then (if (local.get $left) (then (return))))
            (else (local.set $left (i32.const 1))))
        (br_if $again (local.get $depth))))"#;

/// A path with a bush of eight leaves beside each step, to the left and to the right in turns: 50 leaves in all.
const THICKETS: &str = r#"(func $bush (param $size i32)
        (if (i32.lt_u (local.get $size) (i32.const 2)) (then (return)))
        (call $bush (select (i32.div_u (local.get $size) (i32.const 2))
            (i32.sub (local.get $size) (i32.div_u (local.get $size) (i32.const 2)))
            (i32.eqz (call $choice (i32.const 2) (i32.const 0))))))
    (func (export "fbx_thickets") (local $size i32) (local $side i32)
        (local.set $size (i32.const 50))
        (loop $again
            (if (i32.le_u (local.get $size) (i32.const 8)) (then (return (call $bush (local.get $size)))))
            (if (i32.eq (call $choice (i32.const 2) (i32.const 0)) (local.get $side))
                (then (return (call $bush (i32.const 8)))))
            (local.set $side (i32.eqz (local.get $side)))
            (local.set $size (i32.sub (local.get $size) (i32.const 8)))
            (br $again)))"#;

/// Six times one of two.
const FULL: &str = r#"(func (export "fbx_full") (local $n i32)
    (loop $again
        (drop (call $choice (i32.const 2) (i32.const 0)))
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (br_if $again (i32.lt_u (local.get $n) (i32.const 6)))))"#;

/// Each tree with its leaves, the executions that are looked at, how far off a model of the strategy was, and one of
/// Regehr's weighted sampler: half of the sum of distances to an even distribution.
fn trees() -> [(&'static str, Arc<Target>, usize, u64, &'static str); 9] {
    [
        ("A to F", comb(5), 6, 2000, "0.019; Regehr's 0.017"),
        ("comb of 8", comb(7), 8, 2000, "0.019; Regehr's 0.021"),
        ("comb of 20", comb(19), 20, 2000, "0.038; Regehr's 0.044"),
        ("17-ary comb", guest(WIDE_COMB), 81, 2000, "0.080; Regehr's 0.203"),
        ("full binary tree", guest(FULL), 64, 2000, "0.066; Regehr's 0.072"),
        ("skewed to the right", guest(SKEWED), 22, 2000, "0.038; Regehr's 0.043"),
        ("path with thickets", guest(THICKETS), 50, 2000, "0.062; Regehr's 0.062"),
        ("degree rising", guest(RISING), 720, 14_400, "0.088; Regehr's 0.096"),
        ("binary trees", guest(TREES), 197, 3940, "0.089; Regehr's 0.103"),
    ]
}

#[test]
fn trees_of_other_tools_are_drawn_from_as_by_a_perfect_sampler() {
    for (name, target, leaves, execs, modelled) in trees() {
        let (off, noise) = (distance(&shares(&target, "tree", execs), leaves), noise(leaves, execs));
        println!("{name}: {off:.3}, a perfect sampler {noise:.3}");
        let what = format!("{name}, {leaves} leaves: off after {execs}, a perfect sampler {noise:.3}");
        figure(Section::Trees, &what, modelled, &format!("{off:.3}"));
        // One seed, so that this is up to twice as far off.
        assert!(off <= noise * 1.3 + 0.02, "{name}: {off} for {noise}");
    }
}

#[test]
fn n_leaves_are_seen_in_n_executions() {
    for (name, target, leaves, ..) in trees() {
        for strategy in ["enumerate", "tree:explore", "novelty"] {
            let campaign = searched(&target, strategy, 1, 1, 100_000, false);
            assert!(campaign.is_exhausted(), "{strategy}");
            // The empty stream is the first seed of each campaign.
            assert_eq!((campaign.totals().execs, campaign.tally().len()), (leaves as u64 + 1, leaves), "{strategy}");
            assert!(campaign.tally().all(|(_, count)| count == 1), "{strategy}");
            let what = format!("{name}: executions until all leaves were seen, `{strategy}`");
            let ours = format!("{}, and the empty stream", campaign.totals().execs - 1);
            figure(Section::Trees, &what, &leaves.to_string(), &ours);
        }
    }
}

#[test]
fn the_leaves_that_chance_seldom_reaches_are_soon_seen() {
    // The last two of eight have one part in 128 each at random.
    let target = comb(7);
    let all = |seed| {
        (8..)
            .find(|&execs| searched(&target, "tree", seed, 1, execs, false).tally().len() == 8)
            .expect("there is no end")
    };
    let median = median((1..=promised(5, 20)).map(all).collect());
    figure(Section::Trees, "comb of 8: until all leaves were seen, `tree`", "14, by 5 seeds", &median.to_string());
    assert!(median <= 40, "{median}");
}

/// Of the alternatives 0, 1 and 2 the one that stands alone in the outer choice, and the first of the others, which is
/// also the outer choice that leads to them.
fn places(left: bool) -> (usize, usize) {
    if left { (2, 0) } else { (0, 1) }
}

/// Two ways to nest three alternatives with eight leaves each: one of eight, one of four and of two, three of two.
fn nested(left: bool) -> Arc<Target> {
    let (alone, inner) = places(left);
    guest(&format!(
        r#"(func $draw (param $of i32) (drop (call $choice (local.get $of) (i32.const 0))))
        (func (export "fbx_nested") (local $which i32)
            (local.set $which (i32.const {alone}))
            (if (i32.eq (call $choice (i32.const 2) (i32.const 0)) (i32.const {inner}))
                (then (local.set $which (i32.add (i32.const {inner}) (call $choice (i32.const 2) (i32.const 0))))))
            (if (i32.eqz (local.get $which)) (then (return (call $draw (i32.const 8)))))
            (if (i32.eq (local.get $which) (i32.const 1))
                (then (call $draw (i32.const 4)) (return (call $draw (i32.const 2)))))
            (call $draw (i32.const 2)) (call $draw (i32.const 2)) (call $draw (i32.const 2)))"#
    ))
}

/// The share of each of the three alternatives in what was drawn to its end.
fn alternatives(left: bool, strategy: &str, execs: u64) -> [f64; 3] {
    let (alone, inner) = places(left);
    let mut sums = [0.0; 3];
    for (drawn, share) in shares(&nested(left), strategy, execs) {
        let goes_in = drawn.first().is_some_and(|&first| (first == 0) == left);
        let which = if goes_in { drawn.get(1).map(|&second| inner + second as usize) } else { Some(alone) };
        let Some(which) = which.filter(|which| drawn.len() == which + if goes_in { 3 } else { 2 }) else { continue };
        sums[which] += share;
    }
    let total: f64 = sums.iter().sum();
    sums.map(|sum| sum / total)
}

#[test]
fn how_alternatives_are_nested_does_not_matter_to_a_tree() {
    let apart = |strategy: &str, modelled: &str| {
        let both = [true, false].map(|left| alternatives(left, strategy, 20_000));
        println!("{strategy}: {both:.3?}");
        let told = both.map(|shares| shares.map(|share| format!("{:.1}", 100.0 * share)).join("/"));
        let what = format!("percent of x, y, z in x(yz) and (xy)z, `{strategy}`");
        figure(Section::Languages, &what, modelled, &told.join(" and "));
        both[0].iter().zip(both[1]).map(|(a, b)| (a - b).abs()).sum::<f64>()
    };
    assert!(apart("quickcheck", "50.0/24.7/25.3 and 25.2/25.1/49.7") >= 0.4);
    assert!(apart("exemplar", "30.2/34.9/34.9 and 34.7/35.5/29.8") <= 0.15);
    assert!(apart("tree", "a third each") <= 0.03);
}

#[test]
fn payload_does_not_hide_the_rest() {
    let target = guest(
        r#"(func (export "fbx_payload")
            (if (call $choice (i32.const 2) (i32.const 0))
                (then (drop (call $choice (i32.const 4) (i32.const 0))))
                (else (drop (call $payload (i32.const 8))))))"#,
    );
    let share: f64 =
        shares(&target, "tree", 4000).iter().filter(|(drawn, _)| drawn[0] == 0).map(|(_, share)| share).sum();
    println!("{share:.3}");
    let what = "percent that begin with eight bits of payload, of five leaves";
    figure(Section::Trees, what, "20.9; 98.1 if they were choices", &format!("{:.1}", 100.0 * share));
    assert!((share - 0.2).abs() <= 0.025, "{share}");
}

/// Binary trees with at most six inner nodes, as nested brackets.
fn numbered_trees() -> Domain<String> {
    let mut trees = vec![Domain::one(".".to_owned())];
    for inner in 1..=6 {
        let splits = (0..inner).map(|left| {
            trees[left].clone().and(trees[inner - 1 - left].clone()).map(|(left, right)| format!("({left}{right})"))
        });
        trees.push(Domain::any_of(splits.collect()));
    }
    Domain::any_of(trees)
}

#[test]
fn every_number_is_another_tree() {
    let all = numbered_trees();
    let trees: BTreeSet<_> = (0..all.cardinality()).map(|number| all.nth(number)).collect();
    let ours = format!("{}, all different", trees.len());
    figure(Section::Trees, "values of a domain: binary trees with at most six inner nodes", "197", &ours);
    assert_eq!((trees.len(), all.cardinality()), (197, 197));
}
