//! Goals in a program from outside: `FUZZBOX_GOAL_MODULE` names it.

use super::{median, pursue, target, workers};
use fuzzbox::engine::{Aim, Campaign, Dictionary, Mutator, Rng};
use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::Target;
use fuzzbox_instrument::ways::{Dependence, Goal, Program};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Goals that are chosen.
const GOALS: usize = 5;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |number| number.parse().unwrap())
}

/// By edge: executions until it was reached, in a campaign that knows no goals.
fn reached(target: &Arc<Target>, seed: u64, execs: u64) -> BTreeMap<u32, u64> {
    let workers = workers(1);
    let mutator = Mutator::new(Dictionary::default().with_constants_of(target.candidate.bytes()));
    let mut campaign = Campaign::new(target.clone(), seed, mutator);
    let signature = |outcome: &Outcome| outcome.name().to_owned();
    let mut first = BTreeMap::new();
    campaign.start(&workers, &[], execs, &signature).unwrap();
    while campaign.totals().execs < execs {
        campaign.step(&workers, execs - campaign.totals().execs, &signature).unwrap();
        for edge in (0..target.edges.edges.len() as u32).filter(|&edge| campaign.has_reached(edge)) {
            first.entry(edge).or_insert(campaign.totals().execs);
        }
    }
    first
}

/// For edges that are reached late, how many executions it takes to reach them with a half of all mutants for that, and without.
#[test]
#[ignore = "takes an hour, and FUZZBOX_GOAL_MODULE"]
fn goals_are_reached_sooner_on_average_and_never_much_later() {
    let path = std::env::var("FUZZBOX_GOAL_MODULE").expect("FUZZBOX_GOAL_MODULE names a module");
    let (execs, seeds) = (number("FUZZBOX_GOAL_EXECS", 60_000), number("FUZZBOX_GOAL_SEEDS", 5));
    let target = target(&std::fs::read(path).unwrap());
    let program = Arc::new(Program::of(target.candidate.bytes()).unwrap());
    let late: Vec<u32> = reached(&target, 1000, execs)
        .into_iter()
        .filter(|(_, took)| (execs / 4..execs).contains(took))
        .map(|(edge, _)| edge)
        .collect();
    assert!(late.len() >= GOALS, "{late:?}");
    let mut rng = Rng::of_task(number("FUZZBOX_GOAL_CHOICE", 1), 0, 0);
    let goals: Vec<u32> = (0..GOALS).map(|_| *rng.pick(&late)).collect();
    println!("{} edges are reached late, of which {goals:?} are goals", late.len());
    let undirected: Vec<_> = (0..seeds).map(|seed| reached(&target, seed, 4 * execs)).collect();
    let workers = workers(1);
    let mut ratios = Vec::new();
    for goal in goals {
        let edge = target.edges.edges[goal as usize];
        let name = target.edges.function_name(edge.function).unwrap_or("?").to_owned();
        let without: Vec<_> = undirected.iter().map(|first| first.get(&goal).copied().unwrap_or(4 * execs)).collect();
        let named = vec![(name.clone(), vec![Goal::Edge(goal)])];
        let aim = Arc::new(Aim::new(program.clone(), named, Dependence::Standard, 2).unwrap());
        let with: Vec<_> = (0..seeds)
            .map(|seed| pursue(&workers, &target, "fuzz", &aim, (seed, 4 * execs)).0.totals().execs)
            .collect();
        let ratio = median(with.clone()) as f64 / median(without.clone()) as f64;
        println!("{name}, edge {goal}: {with:?} with, {without:?} without: {ratio:.2}");
        ratios.push(ratio);
    }
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    println!("mean {mean:.2}");
    assert!(mean < 1.0 && ratios.iter().all(|&ratio| ratio <= 1.3), "{ratios:?}");
}
