//! Making inputs by the guest's own functions, `LLVMFuzzerCustomMutator` and `LLVMFuzzerCustomCrossOver`, as libFuzzer
//! knows them: for harnesses whose inputs are compressed, signed or encoded otherwise.
//!
//! They are called in an instance of their own, which begins each call in the same state. So what they make depends on
//! what they are given alone, a seed among it. It is the code that decides (with fuel), and what fails in it has made
//! nothing.

use crate::outcome::Verdict;
use crate::sandbox::candidate::Candidate;
use crate::sandbox::code::history::History;
use crate::sandbox::code::variant::Variant;
use crate::sandbox::entry::Entry;
use crate::sandbox::entry::custom_mutator::{Change, request, request_bytes_max};
use crate::sandbox::executor::Executor;
use crate::sandbox::imports::host::MutateBytes;
use crate::sandbox::targets::Target;
use crate::settings::Settings;
use anyhow::Result;
use std::sync::Arc;

/// Fuel that one mutant may take: some tenths of a second. Settings say how long an execution may take before it is a
/// hang, but who waits that long for each mutant executes nothing.
const CALL_FUEL_MAX: u64 = 1 << 28;

/// The functions of a guest that make inputs, ready to be called.
#[derive(Debug)]
pub struct CustomTargets {
    mutator: Option<Arc<Target>>,
    cross_over: Option<Arc<Target>>,
}

impl CustomTargets {
    /// Those of a target that is a libFuzzer harness; `None` if it has none. `mutate` is what `LLVMFuzzerMutate` does.
    ///
    /// # Errors
    ///
    /// If the module can't be made ready once more.
    pub fn of(target: &Target, mutate: &MutateBytes) -> Result<Option<Self>> {
        if target.candidate.entry.way().harness().is_none() {
            return Ok(None);
        }
        Self::of_module(&target.candidate, target, mutate)
    }

    /// Those of any module, for a target: its code is kept where the target's is. `None` if it has none.
    ///
    /// # Errors
    ///
    /// If the module can't be made ready.
    pub fn of_module(module: &Candidate, target: &Target, mutate: &MutateBytes) -> Result<Option<Self>> {
        let (mutator, cross_over) = Entry::custom_mutators(&module.interface);
        if mutator.is_none() && cross_over.is_none() {
            return Ok(None);
        }
        let input_bytes_max = request_bytes_max(module.settings.input_bytes_max);
        let settings = Settings { input_bytes_max, warm_up: false, ..module.settings.clone() };
        let made = |entry: Entry| {
            let candidate = Candidate { settings: settings.clone(), entry, ..module.clone() };
            let code = (&target.cache, candidate.code_to_begin_with());
            let target = Target::compile(candidate, (Variant::Metered, &History::default()), code, None)?;
            anyhow::Ok(Arc::new(Target { mutate: Some(mutate.clone()), ..target }))
        };
        let (mutator, cross_over) = (mutator.map(made).transpose()?, cross_over.map(made).transpose()?);
        Ok(Some(Self { mutator, cross_over }))
    }

    /// Whether those of a module can be made ready for a target: it is initialised once.
    ///
    /// # Errors
    ///
    /// If they can't.
    pub fn check(module: &Candidate, target: &Target) -> Result<()> {
        match Self::of_module(module, target, &MutateBytes::new(|_, _, _| ()))? {
            Some(targets) => CustomMutator::new(&targets).map(drop),
            None => Ok(()),
        }
    }
}

/// Instances of these functions.
#[derive(Debug)]
pub struct CustomMutator {
    mutator: Option<Executor>,
    cross_over: Option<Executor>,
}

impl CustomMutator {
    /// Makes instances.
    ///
    /// # Errors
    ///
    /// As for [`Executor::new`].
    pub fn new(targets: &CustomTargets) -> Result<Self> {
        let instance = |target: &Option<Arc<Target>>| {
            let mut executor = target.as_ref().map(Executor::new).transpose()?;
            executor.iter_mut().for_each(|executor| executor.set_fuel_max(CALL_FUEL_MAX));
            anyhow::Ok(executor)
        };
        Ok(Self { mutator: instance(&targets.mutator)?, cross_over: instance(&targets.cross_over)? })
    }

    /// Whether there is a function that changes one input.
    pub fn mutates(&self) -> bool {
        self.mutator.is_some()
    }

    /// Whether there is a function that makes an input of two.
    pub fn crosses_over(&self) -> bool {
        self.cross_over.is_some()
    }

    /// What the guest makes of an input, in at most `len_max` bytes or as many as that has; `None` if it fails.
    ///
    /// # Errors
    ///
    /// If the host fails.
    pub fn mutate(&mut self, input: &[u8], len_max: usize, seed: u32) -> Result<Option<Vec<u8>>> {
        make(self.mutator.as_mut(), Change::Mutate(input), len_max.max(input.len()), seed)
    }

    /// What the guest's mutator would have changed inside of an input: the first bytes that it gives to
    /// `LLVMFuzzerMutate`, with this seed. `None` if it fails, or changes nothing so.
    ///
    /// # Errors
    ///
    /// If the host fails.
    pub fn open(&mut self, input: &[u8], len_max: usize, seed: u32) -> Result<Option<Vec<u8>>> {
        make(self.mutator.as_mut(), Change::Open(input), len_max.max(input.len()), seed)
    }

    /// The input with `inner` in the place of what [`CustomMutator::open`] showed with the same seed, in at most
    /// `len_max` bytes or as many as the input has; `None` if the guest fails.
    ///
    /// # Errors
    ///
    /// If the host fails.
    pub fn replace(&mut self, input: &[u8], inner: &[u8], len_max: usize, seed: u32) -> Result<Option<Vec<u8>>> {
        make(self.mutator.as_mut(), Change::Replace(input, inner), len_max.max(input.len()), seed)
    }

    /// What the guest makes of two inputs, in at most `len_max` bytes; `None` if it fails.
    ///
    /// # Errors
    ///
    /// If the host fails.
    pub fn cross_over(&mut self, a: &[u8], b: &[u8], len_max: usize, seed: u32) -> Result<Option<Vec<u8>>> {
        make(self.cross_over.as_mut(), Change::CrossOver(a, b), len_max, seed)
    }
}

fn make(by: Option<&mut Executor>, change: Change<'_>, len_max: usize, seed: u32) -> Result<Option<Vec<u8>>> {
    let Some(executor) = by else { return Ok(None) };
    let request = request(change, u32::try_from(len_max)?, seed);
    if request.len() > executor.target().candidate.settings.input_bytes_max as usize {
        return Ok(None);
    }
    let outcome = executor.run(&request)?;
    Ok(executor.written().filter(|_| outcome.verdict() == Verdict::Passed))
}
