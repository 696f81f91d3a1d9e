//! What is looked at next: one step on from an exemplar, or a random walk.
//!
//! Most of what is executed looks at what each alternative leads to from each exemplar, the simplest first and those
//! last that led back to themselves, as what is refused does: so no state next to a known one is missed for long. When
//! all that was looked at, it is looked at again: in a language of few words two beginnings look equal until a random
//! way shows otherwise. The rest are random walks from any exemplar, which find alternatives and what is further away.

use super::states::{Classes, Found, States};
use crate::engine::rng::Rng;
use anyhow::Result;

/// Steps take so many of so many executions.
const STEPS_PART: (u64, u64) = (7, 8);
/// Alternatives that are stepped on by, at most; walks try the others.
const STEP_SYMBOLS_MAX: u64 = 8;
/// So many walks come between two looks at the same steps at least.
const WALKS_MIN: u32 = 2;
/// A walk that stays in a state goes on once in so many times.
const GOES_ON: usize = 4;

impl States {
    /// Looks at what is next. `None` if nothing may be executed any more.
    pub(super) fn explore(&mut self, guest: &mut impl Classes, rng: &mut Rng) -> Result<Option<()>> {
        let before = guest.executions();
        let (steps, all) = self.steps.spent;
        let may_step = steps * STEPS_PART.1 <= all * STEPS_PART.0;
        let step = if may_step { self.next_step() } else { None };
        let is_step = step.is_some();
        let done = match step {
            Some(step) => self.step(step, guest, rng)?,
            None => self.walk(guest, rng)?,
        };
        let executions = guest.executions() - before;
        self.steps.spent.0 += if is_step { executions } else { 0 };
        self.steps.spent.1 += executions;
        Ok(done)
    }

    /// The exemplar to step on from, if there is one.
    fn next_step(&mut self) -> Option<(u64, usize, usize)> {
        let known = (self.exemplars().len(), self.symbols().min(STEP_SYMBOLS_MAX));
        let is_done = self.steps.open.is_empty() && known == (self.steps.tried.len(), self.steps.symbols);
        if is_done && self.steps.walks >= WALKS_MIN {
            self.steps.begin_again();
        }
        if known != (self.steps.tried.len(), self.steps.symbols) {
            let lengths: Vec<_> = self.exemplars().map(<[u64]>::len).collect();
            self.steps.reopen(&lengths, known.1);
        }
        self.steps.open.first().copied()
    }

    /// Looks at one alternative behind an exemplar.
    fn step(&mut self, step: (u64, usize, usize), guest: &mut impl Classes, rng: &mut Rng) -> Result<Option<()>> {
        let place = step.2;
        let (symbol, back) = self.steps.tried[place];
        let exemplar = self.exemplars().nth(place).expect("it is one of them");
        let beginning = [exemplar, &[symbol]].concat();
        let found = if self.steps.again {
            self.look(&beginning, guest, rng)?
        } else {
            self.incorporate(&beginning, guest, rng)?
        };
        let Some(found) = found else { return Ok(None) };
        let tried = (symbol + 1, back + u64::from(found == Found::State(place)));
        self.steps.tried[place] = tried;
        self.steps.open.remove(&step);
        if tried.0 < self.steps.symbols {
            self.steps.open.insert((tried.1, step.1, place));
        }
        Ok(Some(()))
    }

    /// Goes on from an exemplar at random, and looks at the beginnings of that.
    fn walk(&mut self, guest: &mut impl Classes, rng: &mut Rng) -> Result<Option<()>> {
        self.steps.walks = self.steps.walks.saturating_add(1);
        let start = self.any(rng).to_vec();
        let before = guest.executions();
        let Some(stream) = guest.walk(&start, rng)? else {
            return Ok((guest.executions() > before).then_some(()));
        };
        self.add_symbols(&stream);
        let mut last = None;
        for len in start.len() + 1..=stream.len() {
            match self.incorporate(&stream[..len], guest, rng)? {
                // Out of executions: what is left of this walk is another one's.
                None => return Ok(None),
                Some(Found::Before) => {}
                Some(found) if last == Some(found) && !rng.one_in(GOES_ON) => break,
                Some(found) => last = Some(found),
            }
        }
        Ok(Some(()))
    }
}
