//! Scenarios: what happens to a simulated system, said in advance.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// Asked of something.
type Predicate<'a, T> = Box<dyn Fn(&T) -> bool + 'a>;

/// A manual for a simulator of a system with faults: which messages are lost, until what has happened, and then what.
///
/// A property that simulates a network draws which messages are lost. A scenario is asked in the place of these draws: it
/// loses what it says and nothing else, and draws nothing, so that the same happens each time. It has steps one after the other,
/// each with rules of its own, and goes on to the next when the state of the system is what the step waits for. `M` is what can be
/// lost, `S` the state.
///
/// ```
/// use fuzzbox_guest::Scenario;
///
/// // Node 0 is not heard until another node leads; then all is well.
/// let mut scenario = Scenario::new()
///     .drop_if(|from: &usize| *from == 0)
///     .until(|leader: &usize| *leader != 0)
///     .then()
///     .until(|leader| *leader == 1);
/// let mut leader = 0;
/// for round in 0..3 {
///     let heard: Vec<usize> = [0, 1].into_iter().filter(|from| !scenario.drops(from)).collect();
///     leader = heard[0].max(leader);
///     scenario.observe(&leader);
///     assert_eq!(heard.len(), if round == 0 { 1 } else { 2 });
/// }
/// assert!(scenario.is_done());
/// ```
pub struct Scenario<'a, M, S> {
    /// The present one first.
    steps: Vec<Step<'a, M, S>>,
    /// How many are done.
    done: usize,
}

/// What holds until something has happened.
struct Step<'a, M, S> {
    drops: Vec<Predicate<'a, M>>,
    /// Nothing waits for what has none.
    until: Option<Predicate<'a, S>>,
}

impl<'a, M, S> Step<'a, M, S> {
    fn new() -> Self {
        Self { drops: Vec::new(), until: None }
    }
}

impl<M, S> core::fmt::Debug for Scenario<'_, M, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Scenario").field("steps", &self.steps.len()).field("done", &self.done).finish()
    }
}

impl<M, S> Default for Scenario<'_, M, S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a, M, S> Scenario<'a, M, S> {
    /// Nothing is lost, and nothing is waited for.
    pub fn new() -> Self {
        Self { steps: vec![Step::new()], done: 0 }
    }

    /// In this step what the predicate holds for is lost, beside what else is.
    #[must_use]
    pub fn drop_if(mut self, is_lost: impl Fn(&M) -> bool + 'a) -> Self {
        self.last().drops.push(Box::new(is_lost));
        self
    }

    /// This step lasts until the state is so. Of several conditions the last one counts.
    #[must_use]
    pub fn until(mut self, is_over: impl Fn(&S) -> bool + 'a) -> Self {
        self.last().until = Some(Box::new(is_over));
        self
    }

    /// What follows is of the next step, which begins with nothing that is lost.
    #[must_use]
    pub fn then(mut self) -> Self {
        self.steps.push(Step::new());
        self
    }

    fn last(&mut self) -> &mut Step<'a, M, S> {
        self.steps.last_mut().expect("there is always a step")
    }

    /// Whether a message is lost. Once the scenario is done none is.
    pub fn drops(&self, message: &M) -> bool {
        self.steps.get(self.done).is_some_and(|step| step.drops.iter().any(|drops| drops(message)))
    }

    /// Shows the state, after each step of the simulation. Returns how many of the scenario's steps are done if one was by this:
    /// what a key frame can tell. One state ends one step at most.
    pub fn observe(&mut self, state: &S) -> Option<usize> {
        let step = self.steps.get(self.done)?;
        let is_over = step.until.as_ref().is_none_or(|until| until(state));
        self.done += usize::from(is_over);
        is_over.then_some(self.done)
    }

    /// Whether all steps are done: everything has happened that the scenario waits for.
    pub fn is_done(&self) -> bool {
        self.done == self.steps.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_have_their_own_rules_and_wait_for_their_own_states() {
        let mut scenario = Scenario::new()
            .drop_if(|&message: &u32| message == 1)
            .drop_if(|&message| message > 7)
            .until(|&state: &u32| state >= 2)
            .then()
            .drop_if(|&message| message == 2)
            .until(|&state| state >= 1)
            .then()
            .until(|&state| state == 0);
        let lost = |scenario: &Scenario<'_, u32, u32>| (0..10).filter(|it| scenario.drops(it)).collect::<Vec<u32>>();
        assert_eq!((lost(&scenario), scenario.observe(&1)), (vec![1, 8, 9], None));
        assert_eq!((lost(&scenario), scenario.observe(&2)), (vec![1, 8, 9], Some(1)));
        // One state ends one step.
        assert_eq!((lost(&scenario), scenario.observe(&5)), (vec![2], Some(2)));
        assert_eq!((lost(&scenario), scenario.observe(&5), scenario.is_done()), (vec![], None, false));
        assert_eq!((scenario.observe(&0), scenario.is_done()), (Some(3), true));
        assert_eq!((lost(&scenario), scenario.observe(&0)), (vec![], None));
    }

    #[test]
    fn a_step_that_waits_for_nothing_is_over_at_once() {
        let mut scenario = Scenario::<u32, u32>::new().then();
        assert_eq!((scenario.observe(&0), scenario.observe(&0), scenario.observe(&0)), (Some(1), Some(2), None));
    }
}
