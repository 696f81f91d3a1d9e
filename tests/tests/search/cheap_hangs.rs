//! What hangs, fails always or takes long does not keep a campaign from finding the rest.

use fuzzbox::engine::{Campaign, Dictionary, Mutator, Workers};
use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::Target;
use fuzzbox::settings::Settings;
use fuzzbox_tests::command::{Fuzzbox, Ran};
use fuzzbox_tests::found::{Found, if_begins_with};
use std::fmt::Write as _;
use std::sync::Arc;

/// Executions of each campaign: with all of the fuel for each that hangs this takes half an hour.
const EXECS: u64 = 150_000;

/// Hangs for one first byte in 256, in a loop whose calls end anywhere; takes long for another, with something new behind it; and has five bugs.
fn module() -> Vec<u8> {
    let mut bugs = String::new();
    for (bug, word) in ["abc", "bca", "cab", "acb", "bac"].into_iter().enumerate() {
        let inner = if_begins_with(word, &format!("(call $bug{bug})"));
        let _ = write!(bugs, "(if (i32.gt_u (local.get $size) (i32.const 2)) (then {inner}))");
    }
    let functions: String = (0..5).map(|bug| format!("(func $bug{bug} (unreachable))")).collect();
    wat::parse_str(format!(
        r#"(module
            (memory (export "memory") 1)
            (global $x (mut i32) (i32.const 0))
            {functions}
            (func $one (global.set $x (i32.add (global.get $x) (i32.const 1))))
            (func $two (call $one) (global.set $x (i32.add (global.get $x) (i32.const 1))))
            (func $hang (loop (call $one) (call $two) (br 0)))
            (func $slow (local $n i32)
                (loop $again
                    (local.set $n (i32.add (local.get $n) (i32.const 1)))
                    (br_if $again (i32.lt_u (local.get $n) (i32.const 60000)))))
            (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
                (if (i32.eqz (local.get $size)) (then (return (i32.const 0))))
                (if (i32.eq (i32.load8_u (local.get $data)) (i32.const 72)) (then (call $hang)))
                (if (i32.eq (i32.load8_u (local.get $data)) (i32.const 83)) (then (call $slow) (call $two)))
                {bugs}
                (i32.const 0)))"#
    ))
    .unwrap()
}

#[derive(Debug, PartialEq, Eq)]
struct Searched {
    found: Found,
    /// What the slowest testcase takes.
    slowest: u64,
    fuel_limit: u64,
}

fn search(target: &Arc<Target>, jobs: usize) -> Searched {
    let workers = Workers::new(jobs, Arc::default()).unwrap();
    let mut campaign = Campaign::new(target.clone(), 5, Mutator::new(Dictionary::default()));
    // By the outermost frames, as what is told of hangs.
    let signature = |outcome: &Outcome| {
        let frames = outcome.trap().map_or(&[][..], |trap| &trap.frames);
        let outermost = &frames[frames.len().saturating_sub(2)..];
        format!("{}: {:?}", outcome.name(), outermost.iter().map(|frame| frame.function).collect::<Vec<_>>())
    };
    campaign.start(&workers, &[b"abx".to_vec()], EXECS, &signature).unwrap();
    while campaign.totals().execs < EXECS {
        let left = EXECS - campaign.totals().execs;
        campaign.step(&workers, left, &signature).unwrap();
    }
    Searched {
        found: Found::of(&campaign),
        slowest: campaign.corpus().testcases().iter().map(|testcase| testcase.fuel).max().unwrap(),
        fuel_limit: campaign.fuel_limit(),
    }
}

#[test]
fn hangs_cost_little_and_slow_inputs_are_none_whoever_executes_them() {
    let target = Arc::new(Target::load(&module(), Settings::default()).unwrap());
    let one = search(&target, 1);
    println!(
        "{} testcases, {} failures, {} hangs, {} rounds",
        one.found.corpus.len(),
        one.found.failures.len(),
        one.found.hangs,
        one.found.rounds
    );
    let kind = |kind: &str| one.found.failures.iter().filter(|(signature, ..)| signature.starts_with(kind)).count();
    assert_eq!((kind("crash"), kind("hang")), (5, 1), "{:?}", one.found.failures);
    assert!((1..20).contains(&one.found.hangs), "few were executed with all of the fuel: {}", one.found.hangs);
    assert!(one.slowest > 500_000, "what is slow and new is in the corpus: {}", one.slowest);
    assert!(one.fuel_limit >= 50 * one.slowest, "and its like are suspected no more: {}", one.fuel_limit);
    assert_eq!(one, search(&target, 2), "two workers");
}

fn harness(code: &str) -> String {
    format!(
        r#"(module (memory (export "memory") 1)
            (func $inner (param i32) (if (local.get 0) (then (unreachable)) (else (unreachable))))
            (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) {code} (i32.const 0)))"#
    )
}

fn run(fuzzbox: &Fuzzbox, text: &str, flags: &[&str]) -> Ran {
    std::fs::write(fuzzbox.dir().join("guest.wat"), text).unwrap();
    fuzzbox.run("run", &["guest.wat"], &[&["--seed", "1", "--reporter", "json"], flags].concat())
}

#[test]
fn what_only_failing_executions_reached_was_reached() {
    let fuzzbox = Fuzzbox::new();
    let ran = run(&fuzzbox, &harness("(call $inner (local.get 1))"), &["--execs", "60000"]);
    let lines = ran.json_lines();
    let done = lines.last().unwrap();
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(done["edges"].as_u64().unwrap() >= 3, "{done}");
    let advice: Vec<_> = lines.iter().filter(|line| line["event"] == "advice").collect();
    assert!(advice.iter().all(|advice| !advice["message"].as_str().unwrap().contains("may not read")), "{advice:?}");
    let told = fuzzbox.run("run", &["guest.wat"], &["--execs", "1000", "--seed", "1", "--reporter", "lines"]);
    assert!(!(told.stdout + &told.stderr).contains("not reached"), "both functions were entered");
}

#[test]
fn a_timeout_is_told_and_kept_as_fuel() {
    let fuzzbox = Fuzzbox::new();
    let ran = run(&fuzzbox, &harness("(loop (br 0))"), &["--execs", "1", "--timeout", "20ms"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let told = ran.stderr.lines().find_map(|line| line.strip_prefix("--timeout 20ms is --fuel-max ")).unwrap();
    let fuel: u64 = told.strip_suffix(" here").unwrap().parse().unwrap();
    let finding = ran.json_lines().into_iter().find(|line| line["event"] == "finding").unwrap();
    let shown = fuzzbox.run("show", &[finding["id"].as_str().unwrap()], &["--json"]);
    assert!(shown.stdout.contains(&format!("\"fuel_max\":{fuel}")), "{fuel}: {}", shown.stdout);

    let long = run(&fuzzbox, &harness(""), &["--timeout", "1h"]);
    assert_eq!(long.code, 2);
    assert!(
        long.stderr.contains("--timeout 1h is too long") && long.stderr.contains("--fuel-max 1099511627776"),
        "{long:?}"
    );
    let both = run(&fuzzbox, &harness(""), &["--timeout", "1s", "--fuel-max", "5"]);
    assert_eq!(both.code, 2, "{both:?}");
}
