//! Each of the properties fails, and the smallest failure is what it is said to be.

use challenges::OPTIMA;
use fuzzbox_guest::native::{Choice, Outcome, Search, run};

#[test]
fn every_challenge_is_found_by_a_search() {
    for challenge in OPTIMA {
        let search = Search { runs: 200_000, size_max: 512, ..Search::default() };
        let failure = search.find(challenge.name, challenge.property);
        let failure = failure.unwrap_or_else(|| panic!("{}: not found", challenge.name));
        println!("{}: after {} runs, {} {:?}", challenge.name, failure.runs, failure.seed, failure.run.notes);
    }
}

#[test]
fn the_smallest_failures_are_these() {
    for challenge in OPTIMA {
        let choices: Vec<Choice> = challenge.choices.iter().map(|&index| Choice::Index(index)).collect();
        let run = run(choices.clone().into(), challenge.property);
        assert!(matches!(run.outcome, Outcome::Failed(_)), "{}: {run:?}", challenge.name);
        assert_eq!(run.notes, challenge.notes, "{}", challenge.name);
        assert_eq!(run.choices, choices, "{}", challenge.name);
    }
}
