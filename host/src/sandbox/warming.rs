//! Which inputs instances execute before their first, so that those after them need not grow the memory.
//!
//! Of the inputs that are known and need no more than most, the one that grows the memory most is executed first; then
//! the two that grow it most in what is left by that, then four, and so on, the same ones again if they still do, until
//! growth is rare enough to cost nothing. Inputs that it doesn't help to execute are left out, and one after which
//! samples end otherwise than in a cold instance; a few of these say that the guest keeps more from one call to the
//! next than memory. It depends on the inputs and their order alone.

use crate::outcome::Outcome;
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
/// So many inputs that don't help may be.
const VAIN_MAX: usize = 4;
/// What an input grows the memory by is no more than so many times the mean of those that do so: who needs far more is
/// rare, and then all others would spread over what it left.
const TYPICAL: u64 = 2;
/// It may be so many bytes in any case.
const TYPICAL_BYTES_MIN: u64 = 1 << 20;
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
        if !self.can_be_warm() || growing.is_empty() && inputs.is_empty() {
            return Ok(None);
        }
        let every = inputs.len().div_ceil(SAMPLES).max(1);
        let mut samples: Vec<_> = growing.iter().chain(inputs.iter().step_by(every)).cloned().collect();
        let Some(cold) = execute(self, &samples)? else { return Ok(None) };
        samples.truncate(affordable(&cold));
        let cold = &cold[..samples.len()];
        if Growth::all(cold).are_rare() {
            return Ok(None);
        }
        let (mut first, mut growths, mut warm): (Vec<Arc<[u8]>>, Vec<Growth>, _) = (Vec::new(), cold.to_vec(), None);
        let grown_max = typical(cold);
        let (mut unsuited, mut vain, mut together) = (BTreeSet::new(), BTreeSet::new(), 1);
        let bytes = |growths: &[Growth]| growths.iter().map(|growth| growth.grown).sum::<u64>();
        while first.len() < INPUTS_MAX
            && unsuited.len() < UNSUITED_MAX
            && vain.len() < VAIN_MAX
            && !Growth::all(&growths).are_rare()
        {
            let is_first = |Growth { outcome, returned, grown, .. }: &Growth| {
                *returned && matches!(outcome, Outcome::Ok | Outcome::Rejected) && (1..=grown_max).contains(grown)
            };
            let is_left = |index: &usize| !unsuited.contains(index) && !vain.contains(index);
            let mut suited: Vec<_> =
                (0..growths.len()).filter(|index| is_first(&growths[*index]) && is_left(index)).collect();
            // Of equals the first.
            suited.sort_by_key(|&index| std::cmp::Reverse(growths[index].grown));
            suited.truncate(together.min(INPUTS_MAX - first.len()));
            let Some(&largest) = suited.first() else { break };
            let before = first.len();
            first.extend(suited.iter().map(|&index| samples[index].clone()));
            let target = Arc::new(self.warm(first.as_slice().into()));
            let Some(now) = execute(&target, &samples)? else { return Ok(None) };
            let ends_alike = now.iter().map(|growth| &growth.outcome).eq(cold.iter().map(|growth| &growth.outcome));
            if ends_alike && bytes(&now) < bytes(&growths) {
                (growths, warm, together) = (now, Some(target), 2 * together);
                continue;
            }
            first.truncate(before);
            if suited.len() > 1 {
                together = 1;
            } else if ends_alike {
                vain.insert(largest);
            } else {
                unsuited.insert(largest);
            }
        }
        let helps = Growth::all(&growths).grown * LEFT_PART <= Growth::all(cold).grown;
        Ok(warm.filter(|_| helps))
    }

    /// Whether instances can have executed something before their first input, and go back to that. Builds that are
    /// compared begin alike.
    fn can_be_warm(&self) -> bool {
        let again = !self.candidate.entry.is_program() && self.against.is_none();
        again && self.restores && self.rewritten.state.irreversible.is_none()
    }
}

/// By how many bytes an input may grow the memory that is executed first, where all grew it so.
fn typical(growths: &[Growth]) -> u64 {
    let grown = growths.iter().filter(|growth| growth.grown > 0);
    let (sum, count) = grown.fold((0, 0), |(sum, count), growth| (sum + growth.grown, count + 1));
    (TYPICAL * sum / u64::max(count, 1)).max(TYPICAL_BYTES_MIN)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    /// The first inputs that are chosen of 1 to 40 and 255, where the memory grows by what `grows` says of an input
    /// and of those that were executed first; and how often all were executed to find that out.
    fn chosen(grows: impl Fn(u8, &[u8]) -> u64) -> (Option<Vec<u8>>, usize) {
        let module = r#"(module (memory (export "memory") 1)
            (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) (i32.const 0)))"#;
        let target = Arc::new(Target::load(module.as_bytes(), Settings::default()).unwrap());
        let inputs: Vec<Arc<[u8]>> = (1..=40).chain([255]).map(|input: u8| [input].into()).collect();
        let mut trials = 0;
        let mut execute = |target: &Arc<Target>, inputs: &[Arc<[u8]>]| {
            trials += 1;
            let first: Vec<u8> = target.warm_up_inputs().iter().map(|input| input[0]).collect();
            let growth = |input: &Arc<[u8]>| {
                let grown = grows(input[0], &first);
                let is_grown = u64::from(grown > 0);
                let counted = Growths { execs: 1, grown: is_grown, steps: is_grown, fuel: 1 };
                Growth { outcome: Outcome::Ok, returned: true, grown, counted }
            };
            Ok(Some(inputs.iter().map(growth).collect()))
        };
        let warm = target.warmed_by(&[], &inputs, &mut execute).unwrap();
        (warm.map(|warm| warm.warm_up_inputs().iter().map(|input| input[0]).collect()), trials)
    }

    #[test]
    fn the_largest_are_executed_first_and_few_trials_tell() {
        let largest =
            |input: u8, first: &[u8]| u64::from(input.saturating_sub(first.iter().copied().max().unwrap_or(0)));
        assert_eq!(chosen(|input, first| largest(input, first)), (Some(vec![255]), 2));
        // Each size by itself.
        let own = |input: u8, first: &[u8]| u64::from(input) * u64::from(!first.contains(&input));
        let (chosen_own, trials) = chosen(|input, first| if input > 12 { 0 } else { own(input, first) });
        assert_eq!((chosen_own, trials), (Some((1..=12).rev().collect()), 5));
    }

    #[test]
    fn what_grows_the_memory_whatever_was_executed_before_is_left_out() {
        let stubborn = |input: u8, first: &[u8]| match input {
            255 => 1_000,
            _ => u64::from(input.saturating_sub(first.iter().copied().max().unwrap_or(0))),
        };
        assert_eq!(chosen(stubborn), (Some(vec![255]), 3), "it helps the others");
        let (first, trials) = chosen(|input, first| match input {
            255 => 1_000,
            _ => u64::from(input.saturating_sub(first.iter().copied().filter(|&first| first < 255).max().unwrap_or(0))),
        });
        assert_eq!((first, trials), (Some(vec![40]), 3));
        assert_eq!(chosen(|input, _| u64::from(input)), (None, 1 + VAIN_MAX), "nothing helps");
    }

    #[test]
    fn what_few_need_is_not_what_all_begin_with() {
        const MIB: u64 = 1 << 20;
        let largest =
            |wanted: u64, first: &[u8]| wanted.saturating_sub(u64::from(first.iter().copied().max().unwrap_or(0)));
        let rare =
            |input: u8, first: &[u8]| if input == 255 { 90 * MIB } else { largest(input.into(), first) * MIB / 40 };
        let (first, _) = chosen(rare);
        assert_eq!(first, Some(vec![40]), "not the one of 90 MiB");
    }

    #[test]
    fn what_draws_has_its_choices_when_it_is_executed_first() {
        let module = r#"(module
            (import "fuzzbox_v1" "draw_int" (func $int (param i64 i64 i64) (result i64)))
            (memory (export "memory") 1)
            (global $pages (mut i32) (i32.const 0))
            (func (export "fbx_grows") (local $wanted i32)
                (local.set $wanted (i32.wrap_i64 (call $int (i64.const 0) (i64.const 100) (i64.const 0))))
                (if (i32.gt_u (local.get $wanted) (global.get $pages)) (then
                    (drop (memory.grow (i32.sub (local.get $wanted) (global.get $pages))))
                    (global.set $pages (local.get $wanted))))))"#;
        let target = Arc::new(Target::load(module.as_bytes(), Settings::default()).unwrap());
        let grown = |target: &Arc<Target>, inputs: &[Arc<[u8]>]| -> Vec<u64> {
            let growths = Growth::of_each(&mut Executor::new(target).unwrap(), inputs).unwrap();
            growths.iter().map(|growth| growth.grown >> 16).collect()
        };
        let inputs: Vec<Arc<[u8]>> = (0..50).map(|choice: u8| [choice].into()).collect();
        let cold = grown(&target, &inputs);
        let (first, &largest) = cold.iter().enumerate().max_by_key(|(_, grown)| **grown).unwrap();
        assert!(largest >= 20, "{cold:?}");
        let warm = Arc::new(target.warm([inputs[first].clone()].into()));
        assert_eq!(grown(&warm, &inputs), [0; 50]);
        assert_eq!(grown(&Arc::new(target.warm([inputs[0].clone()].into())), &inputs), cold);
    }
}
