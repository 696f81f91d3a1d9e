//! Three nodes elect a leader, over a network that loses messages for a while. Then it loses no more, and before long they
//! must agree.

pub mod election;

use election::Election;
use fuzzbox_guest::{Source, property};

/// Rounds in which messages may be lost.
const FAULTY_ROUNDS_MAX: u32 = 100;

/// Rounds after which there must be a leader when none is lost.
const QUIET_ROUNDS: u32 = 40;

/// Loses messages for as long as something decides which; then watches how the nodes come to rest.
fn comes_to_rest(source: &mut Source, patience: fn(usize) -> u32) {
    let mut election = Election::new(patience);
    let mut round = 0;
    while source.remaining() > 0 && round < FAULTY_ROUNDS_MAX {
        election.round(|message| {
            // Nothing is lost once there is nothing left to decide it.
            let is_lost = source.remaining() > 0 && source.bool();
            if is_lost {
                source.note(format_args!("round {round}: {message:?} is lost"));
            }
            is_lost
        });
        round += 1;
    }
    for _ in 0..QUIET_ROUNDS {
        election.round(|_| false);
    }
    assert!(election.leader().is_some(), "no leader after {QUIET_ROUNDS} quiet rounds");
}

property! {
    /// Every node waits for the same number of rounds: the planted livelock.
    #[should_panic(expected = "no leader")]
    pub fn elects_a_leader(source) {
        comes_to_rest(source, |_| 3);
    }
}

property! {
    /// Nodes wait for different numbers of rounds, so no two stand for election again and again at the same time.
    pub fn elects_a_leader_in_turn(source) {
        comes_to_rest(source, |node| 3 + 2 * node as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuzzbox_guest::native::{Choice, Search, run};

    /// The losses that the first messages meet, as bits.
    fn fails(losses: u32, len: u32) -> bool {
        let stream: Vec<Choice> = (0..len).map(|at| Choice::Index((losses >> at & 1).into())).collect();
        run(stream.into(), elects_a_leader).outcome.is_failure()
    }

    #[test]
    fn the_fewest_losses_without_end_are_known() {
        let shortest = (0..=12).find(|&len| (0..1 << len).any(|losses| fails(losses, len)));
        assert_eq!(shortest, Some(LOSSES_MIN));
        let failures: Vec<u32> = (0..1 << LOSSES_MIN).filter(|&losses| fails(losses, LOSSES_MIN)).collect();
        assert_eq!(failures, [(1 << LOSSES_MIN) - 1], "every message is lost");
    }

    /// Both followers miss three rounds of messages from the leader.
    const LOSSES_MIN: u32 = 2 * 3;

    #[test]
    fn a_search_reaches_the_fewest_losses() {
        let failure = Search::default().find("elects_a_leader", elects_a_leader).expect("a failure");
        // A byte decides about a message, and seeds stand for whole words of four.
        assert_eq!(failure.seed.bytes().len() as u32, LOSSES_MIN.next_multiple_of(4), "{}", failure.seed);
        assert_eq!(failure.run.notes.len() as u32, LOSSES_MIN, "{:?}", failure.run.notes);
    }

    #[test]
    fn nodes_that_take_turns_agree_in_a_hundred_thousand_executions() {
        let search = Search { runs: 100_000, size_max: 512, ..Search::default() };
        let failure = search.find("elects_a_leader_in_turn", elects_a_leader_in_turn);
        assert!(failure.is_none(), "{failure:?}");
    }
}
