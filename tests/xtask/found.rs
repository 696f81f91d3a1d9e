//! What campaigns find, to be compared; and guests that want to be given words.

use fuzzbox::engine::Campaign;

/// What a campaign found: the same for the same seed, whoever executes it.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// The inputs in the corpus, in their order.
    pub corpus: Vec<Vec<u8>>,
    /// Signature, input, and executions until then of each failure.
    pub failures: Vec<(String, Vec<u8>, u64)>,
    /// Executions that ran out of all fuel.
    pub hangs: u64,
    /// Rounds that were finished.
    pub rounds: u64,
}

impl Found {
    /// What `campaign` found so far.
    pub fn of(campaign: &Campaign) -> Self {
        let failures =
            campaign.failures().map(|failure| (failure.signature.clone(), failure.input.to_vec(), failure.execs));
        Self {
            corpus: campaign.corpus().testcases().iter().map(|testcase| testcase.bytes.to_vec()).collect(),
            failures: failures.collect(),
            hangs: campaign.totals().hangs,
            rounds: campaign.totals().rounds,
        }
    }
}

/// Wasm text that does `then` if the bytes at `$data` begin with `word`, which it compares one after the other.
pub fn if_begins_with(word: &str, then: &str) -> String {
    word.bytes().enumerate().rev().fold(then.to_owned(), |then, (at, byte)| {
        format!("(if (i32.eq (i32.load8_u offset={at} (local.get $data)) (i32.const {byte})) (then {then}))")
    })
}
