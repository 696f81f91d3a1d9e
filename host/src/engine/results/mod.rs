//! What executions showed, by input: who knows that need not execute.
//!
//! # The cache makes it faster, the store makes it better
//!
//! What an input shows follows from module, input and settings alone. So a campaign that is told what its first inputs
//! show takes that for executions: it counts them, and finds the same as one that executes. Which results there are
//! therefore changes nothing but speed, and they may be deleted at any time; what changes the search is in the store.
//!
//! Results are bytes until somebody asks: a testcase shows thousands of features, most of which are the next edge's.

mod inherited;
mod packed;

pub use inherited::{Carry, Inherited};

use super::testcase::{Scores, Testcase};
use crate::coverage::Profile;
use crate::id::InputId;
use crate::outcome::{Outcome, Verdict};
use crate::packed::{Packed, put_bytes, put_number};
use crate::sandbox::{Candidate, Observation, Target};
use crate::stream::Node;
use std::collections::BTreeMap;

/// Results that are kept together take no more, in bytes.
const BYTES_MAX: usize = 64 << 20;
/// What a result takes beside its bytes.
const ENTRY_BYTES: usize = size_of::<InputId>() + 4;

/// What the execution of an input showed, in the variant that decides and with all of the fuel.
#[derive(Clone, Debug)]
pub(super) struct ExecutionResult {
    pub(super) outcome: Outcome,
    /// Fuel that it took, in units.
    pub(super) fuel: u64,
    /// All features, also of what failed.
    pub(super) profile: Profile,
    /// What was drawn, if the guest draws and it was a case.
    pub(super) drawn: Option<Node>,
    /// The scores that it told.
    pub(super) scores: Scores,
}

impl ExecutionResult {
    /// Of the last execution, which ended so.
    pub(super) fn of(outcome: Outcome, target: &Target, observation: Observation<'_>) -> Self {
        let fuel = observation.fuel();
        let (profile, scores, drawn) = match outcome.verdict() {
            Verdict::Passed | Verdict::Failed(..) => {
                let draws = || Node::of(&observation.draws().canonical());
                let drawn = target.takes_choices().then(draws);
                (Profile::of(observation), Scores::of(observation), drawn)
            }
            Verdict::NoCase | Verdict::Unknown => (Profile::default(), Scores::default(), None),
        };
        Self { outcome, fuel, profile, drawn, scores }
    }
}

/// Results of one module under the same settings.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// Where the module's code begins in its file: places in it are counted from there, since custom sections are no
    /// part of the module.
    code_start: u32,
    results: BTreeMap<InputId, Stored>,
    /// What `results` take.
    bytes: usize,
    /// Some came since they were read.
    has_news: bool,
}

/// A result as bytes.
#[derive(Clone, Debug)]
struct Stored {
    bytes: Box<[u8]>,
    /// It was of use to this campaign, or made by it.
    used: bool,
}

impl Results {
    /// None are known of a module.
    pub(crate) fn of(candidate: &Candidate) -> Self {
        Self { code_start: candidate.code_start(), ..Self::default() }
    }

    /// Adds what [`Results::to_bytes`] gave, for the same module and settings. What is damaged adds nothing from there
    /// on.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let mut packed = Packed::new(bytes);
        while let Some((input, result)) = packed.take(size_of::<InputId>()).zip(packed.bytes()) {
            let input = InputId(input.try_into().expect("so many were taken"));
            self.insert(input, result, false);
        }
    }

    /// All as bytes; those that this campaign used or made first, as many as there may be.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes.min(BYTES_MAX));
        let (used, others): (Vec<_>, Vec<_>) = self.results.iter().partition(|(_, stored)| stored.used);
        for (input, stored) in used.into_iter().chain(others) {
            if bytes.len() + stored.bytes.len() + ENTRY_BYTES > BYTES_MAX {
                break;
            }
            bytes.extend_from_slice(&input.0);
            put_bytes(&mut bytes, &stored.bytes);
        }
        bytes
    }

    /// The same, known before this campaign: it used none so far.
    pub(super) fn of_earlier(mut self) -> Self {
        self.results.values_mut().for_each(|stored| stored.used = false);
        self
    }

    /// How many are known.
    pub fn len(&self) -> usize {
        self.results.len()
    }

    /// Whether none are known.
    pub fn is_empty(&self) -> bool {
        self.results.is_empty()
    }

    /// Whether some came since they were last [kept](Results::kept).
    pub(crate) fn has_news(&self) -> bool {
        self.has_news
    }

    /// What there is now is kept somewhere.
    pub(crate) fn kept(&mut self) {
        self.has_news = false;
    }

    /// What an input shows, if that is known.
    pub(super) fn get(&self, input: InputId) -> Option<ExecutionResult> {
        let stored = self.results.get(&input)?;
        let mut packed = Packed::new(&stored.bytes);
        let result = ExecutionResult::unpack(&mut packed, self.code_start)?;
        packed.is_empty().then_some(result)
    }

    /// Whether it was known of an input what it shows, before this campaign found out.
    pub(super) fn is_recalled(&self, input: InputId) -> bool {
        self.results.get(&input).is_some_and(|stored| !stored.used)
    }

    /// How the execution of an input ends, if that is known.
    pub(crate) fn outcome(&self, input: InputId) -> Option<Outcome> {
        self.get(input).map(|result| result.outcome)
    }

    /// The bytes of a result; none of what can't be kept, such as what was interrupted.
    pub(super) fn packed(&self, result: &ExecutionResult) -> Option<Vec<u8>> {
        result.pack(self.code_start)
    }

    /// A result was of use, or is there now.
    pub(super) fn used(&mut self, input: InputId, new: Option<Vec<u8>>) {
        if let Some(stored) = self.results.get_mut(&input) {
            stored.used = true;
        } else if let Some(new) = new {
            self.has_news |= self.insert(input, &new, true);
        }
    }

    /// It is known from now on what an input shows; nobody used it so far.
    pub(super) fn take(&mut self, input: InputId, result: Option<Vec<u8>>) {
        if let Some(result) = result {
            self.has_news |= self.insert(input, &result, false);
        }
    }

    /// Keeps what a testcase showed. Of what was drawn the result would be of another stream than is executed, which
    /// does the same and takes other fuel.
    pub(super) fn found(&mut self, testcase: &Testcase) {
        if testcase.sample.is_some() || self.results.contains_key(&testcase.id) {
            return;
        }
        let Testcase { id, fuel, profile, scores, .. } = testcase.clone();
        let result = ExecutionResult { outcome: Outcome::Ok, fuel, profile, drawn: None, scores };
        self.used(id, self.packed(&result));
    }

    /// Whether there was room for it.
    fn insert(&mut self, input: InputId, result: &[u8], used: bool) -> bool {
        let bytes = result.len() + ENTRY_BYTES;
        // What others made goes first when they are written.
        let has_room = self.bytes + bytes <= if used { 2 * BYTES_MAX } else { BYTES_MAX };
        if has_room && !self.results.contains_key(&input) {
            self.bytes += bytes;
            self.results.insert(input, Stored { bytes: result.into(), used });
        }
        has_room
    }
}

/// Appends a set of features: each as its distance from the one before and the number of its bucket.
fn put_profile(bytes: &mut Vec<u8>, profile: &Profile) {
    put_number(bytes, profile.0.len() as u64);
    let mut last = 0;
    for &(edge, bucket) in &profile.0 {
        put_number(bytes, u64::from(edge - last) << 3 | u64::from(bucket.trailing_zeros()));
        last = edge;
    }
}

/// Reads what [`put_profile`] wrote.
fn profile(packed: &mut Packed<'_>) -> Option<Profile> {
    let count: u64 = packed.number()?;
    let mut edge: u32 = 0;
    let features: Option<Vec<_>> = (0..count)
        .map(|_| {
            let feature: u64 = packed.number()?;
            edge = edge.checked_add(u32::try_from(feature >> 3).ok()?)?;
            Some((edge, 1 << (feature & 7)))
        })
        .collect();
    features.map(Profile)
}
