//! Which inputs instances execute before their first, so that those after them need not grow the memory.
//!
//! Of the inputs that are known, the one that grows the memory most is executed first, and as often as it still does;
//! then the one that grows it most in what is left by that, and so on, until growth is rare enough to cost nothing.
//! An input after which samples end otherwise than in a cold instance is left out; a few of these say that the guest
//! keeps more from one call to the next than memory. It depends on the inputs and their order alone.

use crate::outcome::{Outcome, Verdict};
use crate::sandbox::code::history::Growths;
use crate::sandbox::executor::Executor;
use crate::sandbox::targets::Target;
use anyhow::Result;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Inputs that are executed to find out how they grow the memory, at most.
const SAMPLES: usize = 256;
/// Fuel that these may take together, in units: about a second.
const SAMPLES_FUEL_MAX: u64 = 2_000_000_000;
/// As many executions come before the first input at most.
const INPUTS_MAX: usize = 12;
/// So many inputs after which samples end otherwise may be tried in vain.
const UNSUITED_MAX: usize = 4;
/// Of the executions that grew the memory one in so many may still do so.
const LEFT_PART: u64 = 4;

/// What the execution of an input did to the memory.
#[derive(Clone, Debug)]
pub(crate) struct Growth {
    outcome: Outcome,
    /// The guest can be called again after it.
    returned: bool,
    /// In bytes.
    grown: u64,
    counted: Growths,
}

impl Growth {
    /// Executes inputs and says what each did.
    pub(crate) fn of_each(executor: &mut Executor, inputs: &[Arc<[u8]>]) -> Result<Vec<Self>> {
        let growth = |input: &Arc<[u8]>| {
            let outcome = executor.run(input)?;
            let (returned, grown) = (executor.has_returned(), executor.grown_bytes());
            Ok(Self { outcome, returned, grown, counted: executor.growth() })
        };
        inputs.iter().map(growth).collect()
    }

    fn all(growths: &[Self]) -> Growths {
        let mut all = Growths::default();
        growths.iter().for_each(|growth| all.add(&growth.counted));
        all
    }
}

/// [`Growth::of_each`] of inputs on an executor of the target; `None` if that was aborted.
pub(crate) type Execute<'a> = dyn FnMut(&Arc<Target>, &[Arc<[u8]>]) -> Result<Option<Vec<Growth>>> + 'a;

impl Target {
    /// This target, which has fuel, warmed by some of these inputs: all that are known to grow the memory, and of the
    /// others some that are spread evenly; `None` if executions don't grow the memory so often
    /// that it pays, or if that can't be helped so.
    ///
    /// # Errors
    ///
    /// As for [`Executor::run`].
    pub(crate) fn warmed_by(
        self: &Arc<Self>,
        growing: &[Arc<[u8]>],
        inputs: &[Arc<[u8]>],
        execute: &mut Execute<'_>,
    ) -> Result<Option<Arc<Self>>> {
        if !self.can_be_warm() || inputs.is_empty() {
            return Ok(None);
        }
        let every = inputs.len().div_ceil(SAMPLES);
        let mut samples: Vec<_> = growing.iter().chain(inputs.iter().step_by(every)).cloned().collect();
        let Some(cold) = execute(self, &samples)? else { return Ok(None) };
        samples.truncate(affordable(&cold));
        let cold = &cold[..samples.len()];
        if Growth::all(cold).are_rare() {
            return Ok(None);
        }
        let (mut first, mut growths, mut warm): (Vec<Arc<[u8]>>, Vec<Growth>, _) = (Vec::new(), cold.to_vec(), None);
        let mut unsuited = BTreeSet::new();
        while first.len() < INPUTS_MAX && unsuited.len() < UNSUITED_MAX && !Growth::all(&growths).are_rare() {
            let passed =
                |growth: &Growth| growth.returned && growth.outcome.verdict() == Verdict::Passed && growth.grown > 0;
            let suited = (0..growths.len()).filter(|index| passed(&growths[*index]) && !unsuited.contains(index));
            // Of equals the first.
            let largest = suited.max_by_key(|&index| (growths[index].grown, std::cmp::Reverse(index)));
            let Some(largest) = largest else { break };
            first.push(samples[largest].clone());
            let target = Arc::new(self.warm(first.as_slice().into()));
            let Some(now) = execute(&target, &samples)? else { return Ok(None) };
            if now.iter().map(|growth| &growth.outcome).eq(cold.iter().map(|growth| &growth.outcome)) {
                (growths, warm) = (now, Some(target));
            } else {
                first.pop();
                unsuited.insert(largest);
            }
        }
        let helps = Growth::all(&growths).grown * LEFT_PART <= Growth::all(cold).grown;
        Ok(warm.filter(|_| helps))
    }

    /// Whether instances can have executed something before their first input, and go back to that. Builds that are
    /// compared begin alike.
    fn can_be_warm(&self) -> bool {
        let again = !self.candidate.entry.is_program() && !self.takes_choices() && self.against.is_none();
        again && self.restores && self.rewritten.state.irreversible.is_none()
    }
}

/// How many of these executions can be made again and again.
fn affordable(growths: &[Growth]) -> usize {
    let mut fuel: u64 = 0;
    let within = |growth: &&Growth| {
        fuel = fuel.saturating_add(growth.counted.fuel);
        fuel <= SAMPLES_FUEL_MAX
    };
    growths.iter().take_while(within).count()
}
