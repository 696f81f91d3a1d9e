//! Makes targets ready. Ready means executed once: whatever keeps a module from being executed is said here, and not by
//! the first worker.

use crate::sandbox::candidate::Candidate;
use crate::sandbox::code::background::compiling;
use crate::sandbox::code::cache::CodeCache;
use crate::sandbox::code::compiler::Code;
use crate::sandbox::code::history::{Growths, History, key};
use crate::sandbox::code::variant::Variant;
use crate::sandbox::executor::Executor;
use crate::sandbox::instance::prepare::FirstInputFails;
use crate::sandbox::interrupt::gate::Unprepared;
use crate::sandbox::interrupt::interrupter::Interrupter;
use crate::sandbox::targets::Target;
use crate::sandbox::targets::against::Against;
use crate::sandbox::targets::warmth::Warmth;
use crate::settings::Settings;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// Why a target is not made in a variant: engines have limits, and with what is added there the module is beyond one,
/// or an input with which executions begin.
#[derive(Clone, Copy, Debug)]
pub struct Unsuited;

impl fmt::Display for Unsuited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the module is beyond what engines accept when more is put into it")
    }
}

impl Target {
    /// Makes `bytes` (a core module or a component, binary or text) ready to be executed under `settings`.
    ///
    /// # Errors
    ///
    /// If `bytes` is not a module that can be fuzzed: invalid, without entry, with unknown imports, or it
    /// fails while it is initialised.
    pub fn load(bytes: &[u8], settings: Settings) -> Result<Self> {
        Self::load_cached(bytes, settings, &CodeCache::default())
    }

    /// As [`Target::load`]. What machine code is in `code` is not compiled again, and what is compiled is kept there;
    /// so for the other variants that are made of the target.
    ///
    /// # Errors
    ///
    /// As for [`Target::load`]; never because of `code`.
    pub fn load_cached(bytes: &[u8], settings: Settings, code: &CodeCache) -> Result<Self> {
        Self::compiled(Candidate::new(bytes, settings)?, code, Code::Optimised)
    }

    /// Makes a candidate ready. What machine code is in `cache` is not compiled again, and what is compiled is kept
    /// there; so for the other variants that are made of the target. In quick code ([`Target::is_quick`]) it is only if
    /// that was asked for, and optimised code is not in the cache.
    ///
    /// # Errors
    ///
    /// If the module is invalid, or its initialisers fail; never because of `cache`.
    pub fn compiled(candidate: Candidate, cache: &CodeCache, code: Code) -> Result<Self> {
        Self::compiled_watched(candidate, cache, code, &|_| ())
    }

    /// As [`Target::compiled`]; `watch` is given the handle to interrupt the module with, before any of it is called.
    ///
    /// # Errors
    ///
    /// As for [`Target::compiled`], and if it was interrupted.
    pub fn compiled_watched(
        candidate: Candidate,
        cache: &CodeCache,
        code: Code,
        watch: &dyn Fn(Interrupter),
    ) -> Result<Self> {
        let (again, against) = (candidate.clone(), candidate.against.clone());
        let target = Arc::new(Self::compile(candidate, (Variant::Metered, &History::default()), (cache, code), None)?);
        // Whatever keeps the module from being executed is said now, not by the first worker.
        match Executor::watched(&target, watch) {
            // Where initialisers end may be a matter of how large frames are: optimised code decides.
            Err(error) if target.is_quick() && !error.is::<Unprepared>() => {
                Self::compiled_watched(again, cache, Code::Optimised, watch)
            }
            Err(error) => Err(error),
            Ok(executor) => {
                drop(executor);
                let target = Arc::into_inner(target).expect("the executor is gone");
                let against = against.map(|other| Self::compiled_against(&other, cache, code, watch)).transpose()?;
                Ok(Self { against, ..target })
            }
        }
    }

    /// Makes the other build ready, in quick code if the target may be and it is large, too.
    fn compiled_against(
        other: &Candidate,
        cache: &CodeCache,
        code: Code,
        watch: &dyn Fn(Interrupter),
    ) -> Result<Against> {
        let code = if code == Code::Quick { other.code_to_begin_with() } else { code };
        let made = Self::compiled_watched(other.clone(), cache, code, watch);
        made.map(Against::new).context("failed to load the build that it is compared with")
    }

    /// As [`Target::load`], in a variant.
    ///
    /// # Errors
    ///
    /// As for [`Target::load`] and [`Target::in_variant`].
    pub fn load_variant(bytes: &[u8], settings: Settings, variant: Variant) -> Result<Self> {
        let target = Self::load(bytes, settings)?;
        if variant == Variant::Metered { Ok(target) } else { Arc::new(target).in_variant(variant) }
    }

    /// Makes the same module ready in another variant, under the same settings.
    ///
    /// Nobody interrupts initialisers. They end here because they ended before, when this target was loaded: in
    /// [`Variant::Metered`] an endless one runs out of fuel.
    ///
    /// # Errors
    ///
    /// If the module can't be rewritten so, or the initialisers leave another state in this variant than in the other,
    /// which would be a mistake of ours.
    pub fn in_variant(self: &Arc<Self>, variant: Variant) -> Result<Self> {
        self.in_variant_after(variant, &History::default())
    }

    /// As [`Target::in_variant`], laid out for executions like those of the past.
    ///
    /// # Errors
    ///
    /// As for [`Target::in_variant`].
    pub fn in_variant_after(self: &Arc<Self>, variant: Variant, past: &History) -> Result<Self> {
        self.in_variant_of((variant, past), Code::Optimised)
    }

    /// As [`Target::in_variant_after`], in such code.
    ///
    /// # Errors
    ///
    /// As for [`Target::in_variant`].
    pub(crate) fn in_variant_of(self: &Arc<Self>, laid_out: (Variant, &History), code: Code) -> Result<Self> {
        let target = self.compiled_alike(laid_out, code, None)?;
        // Where places and limits are not told, of the other build they are not either: see `with_against_after`.
        let against = self.against.clone().filter(|_| target.has_fuel());
        Ok(Self { against, ..target })
    }

    /// As [`Target::in_variant_after`], but functions that have counters only trap if they are not among these, nor
    /// entered by initialisers: in a large module most are never entered, and to compile them all takes long. An
    /// execution that enters one of them has not said what it does ([`Target::has_left`]).
    ///
    /// # Errors
    ///
    /// As for [`Target::in_variant`].
    pub(crate) fn in_excerpt_after(
        self: &Arc<Self>,
        variant: Variant,
        past: &History,
        mut functions: BTreeSet<u32>,
    ) -> Result<Self> {
        functions.extend(self.learned.initialised().into_iter().flatten());
        self.compiled_alike((variant.clone(), past), Code::Optimised, Some(functions))
            // What is executed before the first input may enter what is not known of.
            .or_else(|_| self.in_variant_after(variant, past))
    }

    /// With the build that `decides` is compared with, in the variant that counts all edges, laid out for executions of
    /// these inputs.
    ///
    /// # Errors
    ///
    /// As for [`Target::in_variant`].
    pub(crate) fn with_against_after(self, decides: &Self, inputs: &[Arc<[u8]>]) -> Result<Self> {
        let Some(against) = &decides.against else { return Ok(self) };
        let past = History::of(&against.target, inputs.iter().map(|input| &**input))?.or_cached(&against.target);
        let made = Arc::new(against.target.in_variant_after(Variant::Full, &past)?);
        Ok(Self { against: Some(against.with(made)), ..self })
    }

    /// Compiles the same module in another variant, which begins as this does and shares what both have; all of it, or
    /// these functions.
    pub(super) fn compiled_alike(
        self: &Arc<Self>,
        laid_out: (Variant, &History),
        code: Code,
        functions: Option<BTreeSet<u32>>,
    ) -> Result<Self> {
        let made = Self::compile(self.candidate.clone(), laid_out, (&self.cache, code), functions);
        let mut target = made.context(Unsuited)?;
        target.learned = self.learned.shared();
        target.restores = self.restores;
        target.warmth.clone_from(&self.warmth);
        let target = Arc::new(target);
        let state = self.learned.state(|| Ok(Executor::new(self)?.state_hash()))?;
        let own = Executor::new(&target).map(|mut executor| executor.state_hash());
        let own = own.map_err(|error| if error.is::<FirstInputFails>() { error.context(Unsuited) } else { error })?;
        ensure!(own == state, "the initialisers leave another state in another variant of the module");
        Ok(Arc::into_inner(target).expect("the executor is gone"))
    }

    /// This target in optimised code; itself, if it is. The first time it is compiled, and whoever else asks meanwhile
    /// waits for that. Not to be called by a task on a pool, where waiting would run other tasks.
    ///
    /// # Errors
    ///
    /// As for [`Target::in_variant`].
    pub fn optimised(self: &Arc<Self>) -> Result<Arc<Self>> {
        if !self.is_quick() {
            return Ok(self.clone());
        }
        let _making = self.optimised.making.lock().expect("a panic ends the process");
        if let Some(optimised) = self.optimised.whole.get() {
            return Ok(optimised.clone());
        }
        let mut made = match &self.warmth {
            // It may be there.
            Some(Warmth { inputs, cold }) if self.variant == cold.variant => cold.optimised()?.warm(inputs.clone()),
            _ => self.in_variant(self.variant.clone())?,
        };
        made.optimise_against()?;
        Ok(self.optimised.whole.get_or_init(|| Arc::new(made)).clone())
    }

    /// This target in code that compares addresses, so that what executions grow stays open; itself, if its code can't.
    /// What fails there is executed again in this one, and only that counts: a comparison may go a little further than
    /// the access. It is optimised, also if this one is not.
    ///
    /// # Errors
    ///
    /// As for [`Target::in_variant`].
    pub(crate) fn comparing(self: &Arc<Self>) -> Result<Arc<Self>> {
        match self.in_variant_after(self.variant.clone(), &History::default().comparing()) {
            Ok(mut made) if made.compares_addresses() => {
                made.optimise_against()?;
                Ok(Arc::new(Self { exact: Some(self.clone()), ..made }))
            }
            Err(error) if !error.is::<Unsuited>() => Err(error),
            _ => self.optimised(),
        }
    }

    /// Has the build that it is compared with in optimised code.
    fn optimise_against(&mut self) -> Result<()> {
        if let Some(against) = self.against.take() {
            self.against = Some(against.with(against.target.optimised()?));
        }
        Ok(())
    }

    /// As [`Target::optimised`], on a thread of its own.
    pub(crate) fn optimise(self: &Arc<Self>) -> Result<Receiver<Result<Arc<Self>>>> {
        let target = self.clone();
        compiling(move || target.optimised())
    }
}

/// Fuel after which no more inputs are executed to lay out code: about a second.
const PAST_FUEL_MAX: u64 = 2_000_000_000;

impl History {
    /// Executes inputs, until that takes too long, and counts. The target is one with fuel.
    ///
    /// # Errors
    ///
    /// As for [`Executor::run`].
    pub fn of<'a>(target: &Arc<Target>, inputs: impl IntoIterator<Item = &'a [u8]>) -> Result<Self> {
        let mut counts = vec![0; target.edges.edges.len()];
        let mut executor = Executor::new(target)?;
        let mut growths = Growths::default();
        for input in inputs {
            executor.run(input)?;
            growths.add(&executor.growth());
            executor.observation().edges(|edge, count| counts[edge as usize] += u64::from(count));
            if growths.fuel > PAST_FUEL_MAX {
                break;
            }
        }
        Ok(Self::new(counts, growths.pay(1)))
    }

    /// This past, or the one that the cache has of the target, if that is much the same: code that was laid out by it
    /// is in the cache.
    #[must_use]
    pub fn or_cached(self, target: &Target) -> Self {
        let candidate = &target.candidate;
        let called = candidate.settings.call.as_deref().unwrap_or_else(|| candidate.entry.export());
        let (cache, key) = (&target.cache, key(candidate.id, called));
        if let Some(cached) = Self::load(cache, &key).filter(|cached| cached.is_like(&self)) {
            return cached;
        }
        self.keep(cache, &key);
        self
    }
}
