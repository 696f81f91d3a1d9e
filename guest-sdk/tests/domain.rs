//! Values by their numbers: each has one, and each is as likely.

use fuzzbox_guest::Domain;
use fuzzbox_guest::native::{Choice, Outcome, Seed, run};
use std::collections::BTreeSet;

/// Binary trees with at most so many inner nodes, as brackets.
fn trees(inner_max: usize) -> Domain<String> {
    let mut trees = vec![Domain::one(".".to_owned())];
    for inner in 1..=inner_max {
        let split = |left: usize| trees[left].clone().and(trees[inner - 1 - left].clone());
        let brackets = |both: Domain<(String, String)>| both.map(|(left, right)| format!("({left}{right})"));
        trees.push(Domain::any_of((0..inner).map(split).map(brackets).collect()));
    }
    Domain::any_of(trees)
}

#[test]
fn every_number_is_another_value() {
    let trees = trees(6);
    // 1 + 1 + 2 + 5 + 14 + 42 + 132 by Catalan.
    assert_eq!(trees.cardinality(), 197);
    let all: BTreeSet<_> = (0..197).map(|index| trees.nth(index)).collect();
    assert_eq!(all.len(), 197);
    let letters = Domain::of(vec!['a', 'b', 'c']);
    let lists = letters.clone().lists(3);
    assert_eq!((lists.cardinality(), lists.nth(0), lists.nth(4)), (40, vec![], vec!['a', 'a']));
    let all: BTreeSet<_> = (0..40).map(|index| lists.nth(index)).collect();
    assert_eq!(all.len(), 40);
    let subsets = letters.subsets();
    assert_eq!((subsets.cardinality(), subsets.nth(5)), (8, vec!['a', 'c']));
}

#[test]
fn each_value_is_as_likely() {
    const SAMPLES: u32 = 20_000;
    let (trees, mut counts) = (trees(6), std::collections::BTreeMap::<String, u32>::new());
    for state in 1..=SAMPLES {
        let mut drawn = None;
        let run = run(Seed::new(64, state.wrapping_mul(0x9e37_79b9)).into(), |source| {
            drawn = Some(source.draw_from(&trees));
        });
        assert_eq!(run.outcome, Outcome::Passed);
        *counts.entry(drawn.unwrap()).or_default() += 1;
    }
    let expected = f64::from(SAMPLES) / 197.0;
    assert_eq!(counts.len(), 197);
    let square: f64 = counts.values().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
    println!("chi-square {square}");
    // Its 99.9th percentile with 196 degrees of freedom, and the 0.1th.
    assert!((139.0..262.0).contains(&square), "{square}");
}

#[test]
fn a_large_domain_takes_several_draws_and_has_no_end_missing() {
    let numbers = Domain::of((0_u32..1000).collect()).lists(12).map(|list| list.len());
    assert!(numbers.cardinality() > 1 << 100);
    let draw = |choices: Vec<Choice>| {
        let mut drawn = None;
        assert_eq!(run(choices.into(), |source| drawn = Some(source.draw_from(&numbers))).outcome, Outcome::Passed);
        drawn.unwrap()
    };
    assert_eq!(draw(Vec::new()), 0);
    assert_eq!(draw(vec![Choice::Index(1 << 29)]), 12, "most lists are of the longest");
}

#[test]
fn what_does_not_hold_is_drawn_again() {
    let digits = Domain::of((0_u32..10).collect());
    let mut drawn = None;
    let choices = [3, 7, 2].map(Choice::Index).to_vec();
    run(choices.into(), |source| drawn = Some(digits.draw_that(source, |digit| digit % 2 == 0)));
    assert_eq!(drawn, Some(2));
}
