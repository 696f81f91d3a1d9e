//! Strategies with names: what each is known for, on guests, with fixed seeds and numbers of executions.

mod figures;
mod languages;
mod locks;
mod same_by_jobs;
mod small_inputs;
mod swarms;
mod targets;
mod trees;

use fuzzbox::engine::{Campaign, Dictionary, Mutator, Workers};
use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::Target;
use fuzzbox::settings::Settings;
use std::fmt::Write as _;
use std::sync::Arc;

/// A guest that draws by this function's body.
fn guest(body: &str) -> Arc<Target> {
    let module = format!(
        r#"(module
            (import "fuzzbox_v1" "draw_choice" (func $choice (param i32 i32) (result i32)))
            (import "fuzzbox_v1" "draw_payload" (func $payload (param i32) (result i64)))
            (import "fuzzbox_v1" "draw_int" (func $int (param i64 i64 i64) (result i64)))
            (import "fuzzbox_v1" "draw_more" (func $more (param i32 i32 i32) (result i32)))
            (import "fuzzbox_v1" "remaining" (func $remaining (result i32)))
            (import "fuzzbox_v1" "feature" (func $feature (param i32 i32) (result i32)))
            (import "fuzzbox_v1" "event" (func $event (param i32 i32 i64)))
            (import "fuzzbox_v1" "assume" (func $assume (param i32)))
            (import "fuzzbox_v1" "target" (func $target (param i32 i32 f64)))
            (memory (export "memory") 1)
            {body})"#
    );
    let target = Target::load(module.as_bytes(), Settings::default());
    Arc::new(target.unwrap_or_else(|error| panic!("{error:#}\n{module}")))
}

/// A campaign that counts what it executes, until it has made so many executions, or a failure, if it is to end there,
/// or has nothing left.
fn searched(target: &Arc<Target>, strategy: &str, seed: u64, jobs: usize, execs: u64, stop: bool) -> Campaign {
    let workers = Workers::new(jobs, Arc::default()).unwrap();
    searched_by(&workers, target, strategy, seed, execs, stop)
}

fn searched_by(workers: &Workers, target: &Arc<Target>, strategy: &str, seed: u64, execs: u64, stop: bool) -> Campaign {
    let search = strategy.parse().unwrap_or_else(|error| panic!("{error:#}"));
    let mut campaign = Campaign::new(target.clone(), seed, Mutator::new(Dictionary::default())).with_search(&search);
    if !stop {
        campaign = campaign.with_tally();
    }
    let signature = |outcome: &Outcome| outcome.name().to_owned();
    campaign.start(workers, &[], execs, &signature).unwrap();
    while campaign.totals().execs < execs && !campaign.is_exhausted() && !(stop && campaign.failures().len() > 0) {
        let left = execs - campaign.totals().execs;
        campaign.step(workers, left, &signature).unwrap();
    }
    campaign
}

/// Draws one of two for as long as the second comes, `depth` times at most: Regehr's leaves A, B, C, ...
fn comb(depth: u32) -> Arc<Target> {
    guest(&format!(
        r#"(func (export "fbx_comb") (local $n i32)
            (loop $again
                (if (i32.eqz (call $choice (i32.const 2) (i32.const 0))) (then (return)))
                (local.set $n (i32.add (local.get $n) (i32.const 1)))
                (br_if $again (i32.lt_u (local.get $n) (i32.const {depth})))))"#
    ))
}

/// A list of pairs of one of 8 and one of 4, in which six certain ones have to come one after the other. Others between
/// them do nothing, or lead back to the start.
fn lock(reset: bool) -> Arc<Target> {
    let keys = [(3, 1), (6, 2), (1, 3), (5, 0), (2, 2), (7, 1)];
    let mut steps = String::new();
    for (step, (operation, argument)) in (0..).zip(keys) {
        let _ = write!(
            steps,
            "(if (i32.and (i32.eq (local.get $state) (i32.const {step}))
                (i32.and (i32.eq (local.get $op) (i32.const {operation})) (i32.eq (local.get $arg) (i32.const {argument}))))
                (then (local.set $state (i32.const {})) (br $again)))",
            step + 1
        );
    }
    let wrong = if reset { "(local.set $state (i32.const 0))" } else { "" };
    guest(&format!(
        r#"(func (export "fbx_lock") (local $state i32) (local $op i32) (local $arg i32)
            (loop $again
                (if (i32.eq (local.get $state) (i32.const 6)) (then unreachable))
                (if (i32.eqz (call $more (i32.const 0) (i32.const 64) (i32.const 0))) (then (return)))
                (local.set $op (call $choice (i32.const 8) (i32.const 0)))
                (local.set $arg (call $choice (i32.const 4) (i32.const 0)))
                {steps}
                {wrong}
                (br $again)))"#
    ))
}

/// The steps of a ladder of 60 rungs: each is a new edge, which one key of so many reaches, and leads back to a loop.
fn rungs(keys: u32, from: &str) -> String {
    let step = |rung: u32| {
        format!(
            "(if (i32.and (i32.eq (local.get $rung) (i32.const {rung})) (i32.eq (local.get $key) (i32.const {})))
                (then (local.set $rung (i32.const {})) (br ${from})))",
            (rung * 37 + 11) % keys,
            rung + 1
        )
    };
    (0..60).map(step).collect()
}

/// A first draw that mostly leads to a ladder of 60 rungs, each a new edge that one draw of 256 reaches. At its end
/// there is nothing; beside it is a bug without a rung, for one pair of draws in 2,048. Whoever follows what is new or
/// rare climbs.
fn deceptive() -> Arc<Target> {
    let rungs = rungs(256, "ladder");
    guest(&format!(
        r#"(func (export "fbx_deceptive") (local $rung i32) (local $key i32)
            (if (i32.lt_u (call $choice (i32.const 256) (i32.const 0)) (i32.const 240)) (then
                (loop $ladder
                    (if (i32.eqz (call $more (i32.const 0) (i32.const 64) (i32.const 0))) (then (return)))
                    (local.set $key (call $choice (i32.const 256) (i32.const 0)))
                    {rungs}
                    (br $ladder))))
            (if (i32.eq (i32.const 0x5a3)
                    (i32.and (i32.const 0x7ff) (i32.xor
                        (i32.mul (call $choice (i32.const 256) (i32.const 0)) (i32.const 173))
                        (i32.mul (call $choice (i32.const 256) (i32.const 0)) (i32.const 61)))))
                (then unreachable)))"#
    ))
}

/// Steps of which half bring nearer to what is new, a ladder of 60 rungs, and make the bug impossible: it takes four
/// certain steps of the other half, and none of the first before. No part of these is an edge.
fn trap() -> Arc<Target> {
    let rungs = rungs(64, "again");
    guest(&format!(
        r#"(func (export "fbx_trap") (local $rung i32) (local $key i32) (local $right i32) (local $step i32)
            (loop $again
                (if (i32.eq (local.get $right) (i32.const 4)) (then unreachable))
                (if (i32.eqz (call $more (i32.const 0) (i32.const 128) (i32.const 0))) (then (return)))
                (local.set $step (call $choice (i32.const 8) (i32.const 0)))
                (if (i32.lt_u (local.get $step) (i32.const 4)) (then
                    (local.set $right (i32.const -1000))
                    (local.set $key (call $choice (i32.const 64) (i32.const 0)))
                    {rungs}
                    (br $again)))
                (local.set $right (select
                    (i32.add (local.get $right) (i32.const 1))
                    (select (i32.const 0) (local.get $right) (i32.ge_s (local.get $right) (i32.const 0)))
                    (i32.eq (local.get $step) (i32.add (i32.const 4)
                        (i32.rem_u (i32.add (i32.mul (local.get $right) (i32.const 5)) (i32.const 2)) (i32.const 4))))))
                (br $again)))"#
    ))
}

/// Draws one of six letters after the other; it fails after five certain ones, none of which is an edge.
fn word() -> Arc<Target> {
    guest(
        r#"(func (export "fbx_word") (local $letters i32)
            (loop $again
                (if (i32.eq (local.get $letters) (i32.const 5)) (then unreachable))
                (if (i32.eqz (call $more (i32.const 0) (i32.const 64) (i32.const 0))) (then (return)))
                (local.set $letters (select (i32.add (local.get $letters) (i32.const 1)) (i32.const 0)
                    (i32.eq (call $choice (i32.const 6) (i32.const 0))
                        (i32.rem_u (i32.add (i32.mul (local.get $letters) (i32.const 5)) (i32.const 2)) (i32.const 6)))))
                (br $again)))"#,
    )
}

fn median(numbers: Vec<u64>) -> u64 {
    percentile(numbers, 50)
}

/// What so many of a hundred numbers are below.
fn percentile(mut numbers: Vec<u64>, hundredths: usize) -> u64 {
    numbers.sort_unstable();
    numbers[numbers.len() * hundredths / 100]
}
