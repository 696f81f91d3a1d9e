//! How evenly strategies draw from trees, beside what other tools published or a model gave.

use super::{comb, guest, searched};
use fuzzbox::sandbox::Target;
use fuzzbox::stream::{Choice, decode};
use std::collections::BTreeMap;
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
    // Published for the same tree: 49.979 25.002 12.509 6.263 3.127 3.121 percent.
    let shares: Vec<_> = shares(&comb(5), "quickcheck", 20_000).into_values().collect();
    println!("{shares:?}");
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

#[test]
fn trees_of_other_tools_are_drawn_from_as_by_a_perfect_sampler() {
    // Modelled: 0.019, 0.038, 0.080, 0.088 and 0.089; Regehr's weighted sampler had 0.203 for the 17-ary comb.
    let trees = [
        ("A..F", comb(5), 6, 2000),
        ("comb 20", comb(19), 20, 2000),
        ("17-ary comb", guest(WIDE_COMB), 81, 2000),
        ("degree rising", guest(RISING), 720, 14_400),
        ("binary trees", guest(TREES), 197, 3940),
    ];
    for (name, target, leaves, execs) in trees {
        let (off, noise) = (distance(&shares(&target, "tree", execs), leaves), noise(leaves, execs));
        println!("{name}: {off:.3}, a perfect sampler {noise:.3}");
        // One seed, so that this is up to twice as far off.
        assert!(off <= noise * 1.3 + 0.02, "{name}: {off} for {noise}");
    }
}

#[test]
fn n_leaves_are_seen_in_n_executions() {
    for (target, leaves) in
        [(comb(5), 6), (comb(19), 20), (guest(WIDE_COMB), 81), (guest(RISING), 720), (guest(TREES), 197)]
    {
        for strategy in ["enumerate", "tree:explore", "novelty"] {
            let campaign = searched(&target, strategy, 1, 1, 100_000, false);
            assert!(campaign.is_exhausted(), "{strategy}");
            // The empty stream is the first seed of each campaign.
            assert_eq!((campaign.totals().execs, campaign.tally().len()), (leaves + 1, leaves as usize), "{strategy}");
            assert!(campaign.tally().all(|(_, count)| count == 1), "{strategy}");
        }
    }
}

/// Two ways to nest three alternatives with equally many leaves.
fn nested(left: bool) -> Arc<Target> {
    let (first, second) = if left { (0, 1) } else { (1, 0) };
    // The alternatives are 0, 1, 2; that which stands alone in the outer choice is 0 or 2.
    let alone = if left { 2 } else { 0 };
    guest(&format!(
        r#"(func (export "fbx_nested") (local $which i32)
            (local.set $which (i32.const {alone}))
            (if (i32.eq (call $choice (i32.const 2) (i32.const 0)) (i32.const {first}))
                (then (local.set $which (i32.add (i32.const {second}) (call $choice (i32.const 2) (i32.const 0))))))
            (drop (call $choice (i32.const 3) (i32.const 0)))
            (drop (local.get $which)))"#
    ))
}

/// The share of each of the three alternatives.
fn alternatives(left: bool, strategy: &str, execs: u64) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for (drawn, share) in shares(&nested(left), strategy, execs) {
        let which = match (left, drawn.len()) {
            (true, 2) => 2,
            (false, 2) => 0,
            (true, _) => drawn[1],
            (false, _) => 1 + drawn[1],
        };
        sums[which as usize] += share;
    }
    sums
}

#[test]
fn how_alternatives_are_nested_does_not_matter_to_a_tree() {
    // Modelled: 50.0/24.7/25.3 and 25.2/25.1/49.7 at random; a third each by a tree.
    let apart = |strategy: &str| {
        let (a, b) = (alternatives(true, strategy, 20_000), alternatives(false, strategy, 20_000));
        println!("{strategy}: {a:.3?} {b:.3?}");
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>()
    };
    assert!(apart("quickcheck") >= 0.4);
    assert!(apart("tree") <= 0.03);
}

#[test]
fn payload_does_not_hide_the_rest() {
    // Modelled: 20.9 % of what is drawn begins with eight bits of payload, where 20 % are expected; without the mark 98
    // %.
    let target = guest(
        r#"(func (export "fbx_payload")
            (if (call $choice (i32.const 2) (i32.const 0))
                (then (drop (call $choice (i32.const 4) (i32.const 0))))
                (else (drop (call $payload (i32.const 8))))))"#,
    );
    let share: f64 =
        shares(&target, "tree", 4000).iter().filter(|(drawn, _)| drawn[0] == 0).map(|(_, share)| share).sum();
    println!("{share:.3}");
    assert!((share - 0.2).abs() <= 0.025, "{share}");
}
