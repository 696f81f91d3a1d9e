//! Traces of key frames that no chance meets together are reached piece by piece.

use fuzzbox::engine::{Campaign, Dictionary, Mutator, Workers};
use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::Target;
use fuzzbox::settings::Settings;
use fuzzbox::stream::{FrameTrace, Traces};
use std::sync::Arc;

/// Executions of a campaign at most.
const EXECS: u64 = 20_000;

/// Draws five times one of 200, of which a certain one is the next step of a protocol; after any other there is none. The
/// frame of each step is told; nothing else shows which were made: the code has no branch on it.
fn protocol(steps: u32, traced: bool) -> Arc<Target> {
    let module = format!(
        r#"(module
            (import "fuzzbox_v1" "draw_choice" (func $choice (param i32 i32) (result i32)))
            (import "fuzzbox_v1" "keyframe" (func $keyframe (param i32 i64)))
            (memory (export "memory") 1)
            (func (export "fbx_login") (local $step i32) (local $alive i32)
                (local.set $alive (i32.const 1))
                (loop $again
                    (local.set $alive (i32.and (local.get $alive) (i32.and
                        (i32.lt_u (local.get $step) (i32.const {steps}))
                        (i32.eq (call $choice (i32.const 200) (i32.const 0))
                            (i32.rem_u (i32.add (i32.mul (local.get $step) (i32.const 71)) (i32.const 58)) (i32.const 200))))))
                    (local.set $step (i32.add (local.get $step) (i32.const 1)))
                    (call $keyframe (i32.mul (local.get $alive) (local.get $step)) (i64.const 0))
                    (br_if $again (i32.lt_u (local.get $step) (i32.const 5))))))"#
    );
    let mut target = Target::load(module.as_bytes(), Settings::default()).unwrap();
    if traced {
        let trace = FrameTrace::parse("frames = [1, 2, 3, 4, 5]", "login").unwrap();
        target.candidate.traces = Some(Arc::new(Traces::new(vec![trace]).unwrap()));
    }
    Arc::new(target)
}

/// A campaign that ends when all traces were reached, or by its executions.
fn searched(target: &Arc<Target>, seed: u64, jobs: usize, has_ended: impl Fn(&Campaign) -> bool) -> Campaign {
    let workers = Workers::new(jobs, Arc::default()).unwrap();
    let mut campaign = Campaign::new(target.clone(), seed, Mutator::new(Dictionary::default())).without_compares();
    let signature = |outcome: &Outcome| outcome.name().to_owned();
    campaign.start(&workers, &[], EXECS, &signature).unwrap();
    while campaign.totals().execs < EXECS && !has_ended(&campaign) {
        campaign.step(&workers, EXECS - campaign.totals().execs, &signature).unwrap();
    }
    campaign
}

/// How many seeds are tried.
fn seeds() -> u64 {
    std::env::var("FUZZBOX_FRAMES_SEEDS").map_or(3, |seeds| seeds.parse().unwrap())
}

#[test]
fn five_frames_of_one_in_200_each_are_reached_in_20_000_executions() {
    let target = protocol(5, true);
    for seed in 1..=seeds() {
        let campaign = searched(&target, seed, 1, Campaign::has_reached_traces);
        println!("seed {seed}: {:?} after {} executions", campaign.frames_reached(), campaign.totals().execs);
        assert_eq!(campaign.frames_reached(), [5], "seed {seed}");
    }
}

#[test]
fn without_a_trace_nobody_gets_that_far() {
    // What the frames say is the only difference.
    let campaign = searched(&protocol(5, false), 1, 1, |_| false);
    let traced = protocol(5, true);
    let workers = Workers::new(1, Arc::default()).unwrap();
    let furthest = |testcase: &[u8]| {
        let reached = workers.run_one(&traced, |executor| {
            executor.run(testcase)?;
            Ok(executor.observation().reached()[0].frames)
        });
        reached.unwrap().unwrap()
    };
    let furthest = campaign.corpus().testcases().iter().map(|testcase| furthest(&testcase.bytes)).max();
    assert!(furthest < Some(3), "{furthest:?}");
}

#[test]
fn what_a_campaign_finds_on_traces_does_not_depend_on_its_workers() {
    let target = protocol(5, true);
    let corpora = [1, 2].map(|jobs| {
        let campaign = searched(&target, 7, jobs, |campaign| campaign.totals().execs > 5_000);
        (campaign.corpus().hash(), campaign.totals().execs, campaign.frames_reached())
    });
    assert_eq!(corpora[0], corpora[1]);
    assert!(corpora[0].2[0] > 0);
}

#[test]
fn a_step_that_is_not_there_is_the_one_that_is_not_reached() {
    let campaign = searched(&protocol(3, true), 2, 1, Campaign::has_reached_traces);
    assert_eq!((campaign.frames_reached(), campaign.has_reached_traces()), (vec![3], false));
}
