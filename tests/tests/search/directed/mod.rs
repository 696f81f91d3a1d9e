//! Goals: how many executions it takes to reach some, by strategies that know of them and by one that doesn't.

mod outside;
mod parsers;
mod solved;

use fuzzbox::engine::{Aim, Campaign, Dictionary, Mutator, Search, Workers};
use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::Target;
use fuzzbox::settings::Settings;
use fuzzbox_instrument::ways::{Dependence, Goal, Program};
use std::sync::Arc;

fn target(module: &[u8]) -> Arc<Target> {
    let target = Target::load(module, Settings::default());
    Arc::new(target.unwrap_or_else(|error| panic!("{error:#}\n{}", String::from_utf8_lossy(module))))
}

/// The blocks of a target that execute this constant first.
fn blocks_with(program: &Program, module: &[u8], constant: i32) -> Vec<Goal> {
    let mut found = Vec::new();
    for cfg in program.cfgs() {
        for offset in fuzzbox_instrument::ways::operators(module, cfg) {
            // `i32.const` has the opcode 0x41, and its number follows.
            let code = &module[offset as usize..];
            let mut number = Vec::new();
            leb128(&mut number, constant);
            if code[0] == 0x41 && code[1..].starts_with(&number) {
                found.extend(cfg.block_at(offset).and_then(|block| program.block(cfg.function(), block)));
            }
        }
    }
    found.into_iter().map(Goal::Block).collect()
}

fn leb128(bytes: &mut Vec<u8>, mut number: i32) {
    loop {
        let byte = (number & 0x7f) as u8;
        number >>= 7;
        let is_last = number == 0 && byte & 0x40 == 0 || number == -1 && byte & 0x40 != 0;
        bytes.push(if is_last { byte } else { byte | 0x80 });
        if is_last {
            return;
        }
    }
}

/// An aim at where a target executes a constant, for which so many quarters of the mutants are.
fn aim(target: &Target, constant: i32, share: usize) -> Arc<Aim> {
    let module = target.candidate.bytes();
    let program = Arc::new(Program::of(module).unwrap());
    let goals = blocks_with(&program, module, constant);
    assert!(!goals.is_empty(), "nothing executes {constant}");
    Arc::new(Aim::new(program, vec![(constant.to_string(), goals)], Dependence::Standard, share).unwrap())
}

/// A campaign until it gets there, or has made so many executions; and whether it got there.
fn pursue(
    workers: &Workers,
    target: &Arc<Target>,
    strategy: &str,
    aim: &Arc<Aim>,
    (seed, execs): (u64, u64),
) -> (Campaign, bool) {
    let search: Search = strategy.parse().unwrap();
    let mutator = Mutator::new(Dictionary::default().with_constants_of(target.candidate.bytes()));
    let mut campaign = Campaign::new(target.clone(), seed, mutator).with_search(&search).with_aim(aim.clone());
    let signature = |outcome: &Outcome| outcome.name().to_owned();
    campaign.start(workers, &[], execs, &signature).unwrap();
    while campaign.totals().execs < execs && !campaign.has_arrived() {
        let left = execs - campaign.totals().execs;
        campaign.step(workers, left, &signature).unwrap();
    }
    let has_arrived = campaign.has_arrived();
    (campaign, has_arrived)
}

fn workers(jobs: usize) -> Workers {
    Workers::new(jobs, Arc::default()).unwrap()
}

/// How often something is tried: in CI a few times.
fn times(all: u64) -> u64 {
    std::env::var("FUZZBOX_GOAL_SEEDS").map_or(all.min(4), |seeds| seeds.parse().unwrap())
}

fn median(mut numbers: Vec<u64>) -> u64 {
    numbers.sort_unstable();
    numbers[numbers.len() / 2]
}
