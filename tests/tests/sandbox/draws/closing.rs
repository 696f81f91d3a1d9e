//! Guests whose first alternatives are the recursive ones: campaigns learn how they end.

use super::{executor, executors, module, run, settings};
use fuzzbox::engine::{Campaign, Dictionary, Mutator, Totals, Workers};
use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::Target;
use fuzzbox::stream::{Closing, Rule, Tail};
use std::sync::Arc;

/// Executions of each campaign.
const EXECS: u64 = 20_000;

/// A function that draws one of two with weights 2 and 1, does the first and the second, and returns how often something was drawn.
fn rule(name: &str, first: &str, second: &str) -> String {
    format!(
        "(func ${name} (result i32)
            (i32.add (i32.const 1)
                (if (result i32) (call $draw_choice (i32.const 2) (i32.const 16))
                    (then {second})
                    (else {first}))))"
    )
}

/// Calls both, and adds what they return.
fn both(a: &str, b: &str) -> String {
    format!("(i32.add (call ${a}) (call ${b}))")
}

/// A property with these functions. It tells sizes apart, so that there is something to search.
fn guest(rules: &[String], start: &str) -> String {
    let sizes: String = (0..12)
        .map(|log| format!("(if (i32.gt_u (local.get $size) (i32.const {})) (then (call $event (i32.const 32) (i32.const {log}) (i64.const 1))))", 1 << log))
        .collect();
    module(&format!(
        "(data (i32.const 16) \"\\02\\00\\00\\00\\01\\00\\00\\00\")
        (data (i32.const 32) \"size of the tree\")
        {}
        (func (export \"fbx_tree\") (local $size i32)
            (local.set $size {start})
            (call $keyframe (i32.const 1) (i64.extend_i32_u (local.get $size)))
            {sizes})",
        rules.concat()
    ))
}

const LEAF: &str = "(i32.const 0)";

/// A tree whose branch comes first: half of the trees have no end.
fn tree() -> String {
    guest(&[rule("tree", &both("tree", "tree"), LEAF)], "(call $tree)")
}

/// What a campaign found.
#[derive(Debug, PartialEq)]
struct Found {
    corpus: Vec<Vec<u8>>,
    failures: usize,
    totals: Totals,
}

fn campaign(target: &Arc<Target>, jobs: usize, execs: u64) -> Found {
    let workers = Workers::new(jobs, Arc::default()).unwrap();
    let mut campaign = Campaign::new(target.clone(), 5, Mutator::new(Dictionary::default()));
    let signature = |outcome: &Outcome| format!("{outcome:?}");
    campaign.start(&workers, &[], execs, &signature).unwrap();
    while campaign.totals().execs < execs {
        campaign.step(&workers, execs - campaign.totals().execs, &signature).unwrap();
    }
    Found {
        corpus: campaign.corpus().testcases().iter().map(|testcase| testcase.bytes.to_vec()).collect(),
        failures: campaign.failures().len(),
        totals: campaign.totals(),
    }
}

fn load(wat: &str) -> Arc<Target> {
    Arc::new(Target::load(wat.as_bytes(), settings()).unwrap())
}

/// Few executions of a campaign overrun, and what it keeps needs no table.
#[track_caller]
fn learns(wat: &str) -> Found {
    let found = campaign(&load(wat), 1, EXECS);
    println!("{} testcases, {:?}", found.corpus.len(), found.totals);
    assert_eq!(found.failures, 0);
    assert!(found.totals.overruns * 100 < found.totals.execs, "{:?}", found.totals);
    let mut executor = executor(wat);
    for stream in &found.corpus {
        let (outcome, trace, _) = run(&mut executor, stream, Rule::default());
        let empty = stream.is_empty() && outcome == Outcome::Overrun;
        assert!(empty || outcome == Outcome::Ok && trace.given == trace.draws.len(), "{stream:?}: {outcome:?}");
    }
    found
}

#[test]
fn a_recursion_without_end_overruns_in_every_variant_that_decides() {
    let mut executors = executors(&tree());
    let mut ends = [0, 0];
    for seed in 0..200 {
        let rule = Rule { tail: Tail::Random { seed, choices: 8 << (seed % 8) }, ..Rule::default() };
        let outcome = run(&mut executors[0], &[], rule).0;
        assert!(matches!(outcome, Outcome::Ok | Outcome::Overrun), "{outcome:?}");
        assert_eq!(run(&mut executors[2], &[], rule).0, outcome);
        ends[usize::from(outcome == Outcome::Ok)] += 1;
    }
    assert!(ends.iter().all(|&count| count > 80), "{ends:?}");
    // From a stream that ends every tree, in the variant that reads only.
    let mut closing = Closing::default();
    assert!(closing.set(1, 1));
    executors[1].set_closing(&Arc::new(closing));
    for seed in 0..200 {
        let rule = Rule { tail: Tail::Random { seed, choices: 1024 }, wrap: true, close: true };
        assert_eq!(run(&mut executors[1], &[], rule).0, Outcome::Ok);
    }
    assert_ne!(run(&mut executors[1], &[], Rule::default()).0, Outcome::Ok, "nobody asked for closings");
}

#[test]
fn a_tree_whose_branch_comes_first_ends() {
    learns(&tree());
}

#[test]
fn the_same_is_learned_again_with_any_number_of_workers() {
    let target = load(&tree());
    let one = campaign(&target, 1, 4000);
    assert_eq!(one, campaign(&target, 2, 4000), "two workers");
    assert_eq!(one, campaign(&target, 1, 4000), "again");
}

#[test]
fn sites_that_need_each_other_end() {
    let rules = [rule("expr", &both("term", "expr"), LEAF), rule("term", &both("expr", "term"), LEAF)];
    for start in ["(call $expr)", "(call $term)", &both("term", "expr")] {
        learns(&guest(&rules, start));
    }
}

#[test]
fn loops_and_numbers_end_as_choices_do() {
    // It goes on unless something is true; zigzag order has the leaf at index 3, 2.
    let list = "(func $list (result i32) (local $len i32)
        (block $done (loop $again
            (br_if $done (call $draw_bool (i32.const 0x20000000)))
            (local.set $len (i32.add (local.get $len) (call $tree)))
            (br $again)))
        (local.get $len))";
    let tree = "(func $tree (result i32) (local $kind i64)
        (local.set $kind (call $draw_int (i64.const -2) (i64.const 2) (i64.const 0)))
        (if (i64.eq (local.get $kind) (i64.const 2)) (then (return (i32.const 1))))
        (i32.add (call $tree) (if (result i32) (i64.eqz (local.get $kind)) (then (call $tree)) (else (i32.const 1)))))";
    let found = learns(&guest(&[list.to_owned(), tree.to_owned()], "(call $list)"));
    assert!(found.corpus.len() > 5);
}

#[test]
fn what_has_no_end_stays_as_it_is_and_costs_little() {
    let wat = guest(&[rule("tree", &both("tree", "tree"), "(call $tree)")], "(call $tree)");
    let found = campaign(&load(&wat), 1, 300);
    assert_eq!(found.totals.overruns, found.totals.execs);
}
