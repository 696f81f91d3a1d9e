//! What fails in quick code is executed again in optimised code, and only that counts: quick code may tell a place an
//! instruction early or late, and has larger frames.
//!
//! Optimising all of a large module takes half a minute. But of an execution it is known which functions it entered, so
//! it is enough to optimise an *excerpt*: the module in which all other functions only trap. Should one of these be
//! entered all the same, as where quick code ended too early, the excerpt says nothing, and the whole module is waited
//! for. So it is when several excerpts were made.

use crate::outcome::{Outcome, TrapKind};
use crate::sandbox::code::background::{compiling, received};
use crate::sandbox::code::compiler::Code;
use crate::sandbox::code::history::History;
use crate::sandbox::executor::{Executor, Other, Way};
use crate::sandbox::instance::kept::KeptInstance;
use crate::sandbox::machine::stack::with_room;
use crate::sandbox::targets::Target;
use crate::stream::Rule;
use anyhow::Result;
use std::collections::BTreeSet;
use std::mem::swap;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// As many are made of a target at most: by then the whole module is the better bargain.
const EXCERPTS_MAX: usize = 8;

impl Target {
    /// Has an excerpt made, on a thread of its own, in which these functions are whole, or finds one. It sends `None`
    /// if none is made any more.
    fn excerpt(self: &Arc<Self>, functions: BTreeSet<u32>) -> Result<Receiver<Result<Option<Arc<Self>>>>> {
        let target = self.clone();
        compiling(move || target.make_excerpt(functions))
    }

    fn make_excerpt(self: &Arc<Self>, mut functions: BTreeSet<u32>) -> Result<Option<Arc<Self>>> {
        let mut excerpts = self.optimised.excerpts.lock().expect("a panic ends the process");
        if let Some(last) = &excerpts.last {
            if last.has_all(&functions) {
                return Ok(Some(last.clone()));
            }
            functions.extend(last.functions.iter().flatten());
        }
        if excerpts.made == EXCERPTS_MAX {
            return Ok(None);
        }
        excerpts.made += 1;
        let laid_out = (self.variant.clone(), &History::default());
        let excerpt = Arc::new(self.compiled_alike(laid_out, Code::Optimised, Some(functions))?);
        excerpts.last = Some(excerpt.clone());
        Ok(Some(excerpt))
    }

    /// Whether an execution that ended so may have entered a function that only traps here, and not in the module.
    pub(crate) fn has_left(&self, outcome: &Outcome) -> bool {
        self.functions.is_some() && outcome.trap().is_some_and(|trap| trap.kind == TrapKind::NullReference)
    }

    /// Whether a function is whole.
    fn has(&self, function: u32) -> bool {
        self.functions.as_ref().is_none_or(|whole| whole.contains(&function))
    }

    /// Whether these functions are whole.
    fn has_all(&self, functions: &BTreeSet<u32>) -> bool {
        self.functions.as_ref().is_none_or(|whole| functions.is_subset(whole))
    }
}

impl Executor {
    /// Whether that the last execution ended so is to be [decided](Executor::decide) elsewhere.
    pub(super) fn is_undecided(&self, outcome: &Outcome) -> bool {
        outcome.trap().is_some() || self.instance.overflowed()
    }

    /// How an execution ends that ended so in the target's own code: what fails in code that is quick, or compares
    /// addresses, is executed again where that is decided.
    pub(super) fn decide(&mut self, (input, rule): (&[u8], &Rule), way: Way, mut outcome: Outcome) -> Result<Outcome> {
        let is_traced = self.target.variant.has_trace();
        let exact = self.target.exact.as_ref().map(|exact| exact.optimised_by_now().unwrap_or(exact).clone());
        if let Some(exact) = exact.filter(|exact| is_traced || !exact.is_quick()) {
            outcome = self.execute_exact((input, rule), way, exact)?;
        }
        // Who wants to know what was recorded asks somebody else for the place.
        if !self.target.exact().is_quick() || is_traced && !self.instance.overflowed() {
            return Ok(outcome);
        }
        self.leave_other();
        self.execute_optimised((input, rule), way, &outcome)
    }

    /// Executes again what ended so in quick code.
    fn execute_optimised(&mut self, (input, rule): (&[u8], &Rule), way: Way, outcome: &Outcome) -> Result<Outcome> {
        if let Some(outcome) = self.execute_excerpt((input, rule), way, outcome)? {
            return Ok(outcome);
        }
        let Some(optimised) = self.wait(&self.target.exact().optimise()?)? else { return Ok(Outcome::Interrupted) };
        let optimised = optimised?;
        if self.target.exact.is_some() {
            return self.execute_exact((input, rule), way, optimised);
        }
        self.go_over(optimised)?;
        self.execute_once(input, rule, way)
    }

    /// Executes an input in an excerpt, whose instance stays in place to be looked at until the next execution. `None`
    /// if that says nothing.
    fn execute_excerpt(
        &mut self,
        (input, rule): (&[u8], &Rule),
        way: Way,
        outcome: &Outcome,
    ) -> Result<Option<Outcome>> {
        if !self.target.restores || way == Way::Unrestored || self.target.exact().optimised_by_now().is_some() {
            return Ok(None);
        }
        let Some(functions) = self.entered(outcome) else { return Ok(None) };
        if self.other.as_ref().is_none_or(|other| other.target.is_quick() || !other.target.has_all(&functions)) {
            self.other = None;
            let Some(made) = self.wait(&self.target.exact().excerpt(functions)?)? else {
                return Ok(Some(Outcome::Interrupted));
            };
            // Where initialisers end may be a matter of how large frames are: the whole module decides.
            let Ok(Some(target)) = made else { return Ok(None) };
            self.add_other(target)?;
        }
        self.swap();
        let outcome = self.execute_once(input, rule, way)?;
        let innermost = outcome.trap().map(|trap| trap.frames.first());
        let is_known = match innermost {
            Some(Some(frame)) => self.target.has(frame.function),
            Some(None) => false,
            None => true,
        };
        if !is_known {
            self.leave_other();
        }
        Ok(is_known.then_some(outcome))
    }

    /// The functions that the last execution or the initialisers entered; `None` if they aren't known.
    fn entered(&self, outcome: &Outcome) -> Option<BTreeSet<u32>> {
        let mut functions = self.target.functions_of(&self.instance.counted()?);
        // A function may fail before it counts.
        functions.extend(outcome.trap().iter().flat_map(|trap| &trap.frames).map(|frame| frame.function));
        functions.extend(self.target.learned.initialised().into_iter().flatten());
        Some(functions)
    }

    /// Executes an input again that ended so where addresses are compared, in the target that decides. That instance
    /// stays in place to be looked at until the next execution.
    fn execute_exact(&mut self, (input, rule): (&[u8], &Rule), way: Way, exact: Arc<Target>) -> Result<Outcome> {
        if self.other.as_ref().is_none_or(|other| !Arc::ptr_eq(&other.target, &exact)) {
            self.other = None;
            self.add_other(exact)?;
        }
        self.swap();
        self.execute_once(input, rule, way)
    }

    /// Makes the other instance, which the gate watches from then on: it is to be put in place at once.
    fn add_other(&mut self, target: Arc<Target>) -> Result<()> {
        let instance = with_room(target.variant.stack_bytes(), || KeptInstance::new(&target, &self.gate));
        let instance = instance.inspect_err(|_| self.watch())?;
        self.other = Some(Other { target, instance, dirty: false, is_own: false });
        Ok(())
    }

    /// Puts the executor's own instance back in its place, if another took it.
    pub(super) fn leave_other(&mut self) {
        if self.other.as_ref().is_some_and(|other| other.is_own) {
            self.swap();
        }
    }

    /// The target that this was made for, or went over to.
    pub fn target(&self) -> &Arc<Target> {
        self.other.as_ref().filter(|other| other.is_own).map_or(&self.target, |other| &other.target)
    }

    fn swap(&mut self) {
        let Some(other) = &mut self.other else { return };
        swap(&mut self.target, &mut other.target);
        swap(&mut self.instance, &mut other.instance);
        swap(&mut self.dirty, &mut other.dirty);
        other.is_own = !other.is_own;
        self.watch();
    }

    /// Lets the instance that is in place be interrupted.
    fn watch(&self) {
        self.gate.expect(self.target.stop.clone(), self.target.variant.has_fuel());
        self.gate.watch(self.instance.region());
    }

    /// Goes on in optimised code.
    fn go_over(&mut self, optimised: Arc<Target>) -> Result<()> {
        self.other = None;
        self.instance = with_room(optimised.variant.stack_bytes(), || KeptInstance::new(&optimised, &self.gate))?;
        self.target = optimised;
        self.dirty = false;
        Ok(())
    }

    /// Waits for code; `None` if that was interrupted.
    fn wait<T>(&self, made: &Receiver<Result<T>>) -> Result<Option<Result<T>>> {
        self.gate.enter();
        let made = received(made, || self.gate.is_taken());
        let interrupted = self.gate.leave(Some(self.instance.region()))?;
        Ok(made.filter(|_| !interrupted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;
    use crate::sandbox::code::variant::Variant;
    use crate::settings::Settings;

    #[test]
    fn what_enters_a_function_that_is_not_there_has_left_and_nothing_else() {
        let text = r#"(module (memory (export "memory") 1)
            (func $one (param $n i32) (result i32) (if (local.get $n) (then (return (i32.const 1000)))) (i32.const 7777))
            (func $two (param $n i32) (result i32) (if (local.get $n) (then unreachable)) (i32.const 8888))
            (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
                (if (i32.eq (local.get $size) (i32.const 1)) (then (drop (call $one (local.get $size)))))
                (if (i32.eq (local.get $size) (i32.const 2)) (then (drop (call $two (local.get $size)))))
                (i32.const 0)))"#;
        let whole = Arc::new(Target::load(text.as_bytes(), Settings::default()).unwrap());
        for variant in [Variant::Full, Variant::Metered] {
            let [(first, left_first), (second, left_second)] =
                [BTreeSet::from([0, 2]), BTreeSet::from([1, 2])].map(|functions| {
                    let made = whole.in_excerpt_after(variant.clone(), &History::default(), functions).unwrap();
                    let mut executor = Executor::new(&Arc::new(made)).unwrap();
                    let outcomes = [&b""[..], b"1", b"22"].map(|input| executor.run(input).unwrap());
                    let left = outcomes.each_ref().map(|outcome| executor.target().has_left(outcome));
                    (outcomes.map(|outcome| outcome.verdict() == Verdict::Passed), left)
                });
            assert_eq!((first, left_first), ([true, true, false], [false, false, true]));
            assert_eq!((second, left_second), ([true, false, false], [false, true, false]));
        }
    }
}
