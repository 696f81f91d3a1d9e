//! What passes work with: the current stream, and a question.
//!
//! # What is executed ahead is not seen
//!
//! What is executed ahead is not seen. The shrinker tries candidates on all workers, but a result is counted, accepted
//! or kept as another failure only when its turn comes. So it does not depend on the number of workers. The shrinker
//! runs on one of their threads: a single candidate is executed there, and not handed over.

use super::known::{Attempts, trim};
use super::limits::Limits;
use super::report::ShrinkReport;
use super::subject::{Attempt, Order, Subject, Tail, Verdict};
use crate::engine::Rng;
use crate::stream::Taste;
use crate::stream::{Choice, Span, Trace, encode, shortlex};
use anyhow::anyhow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Different slips that are kept at most.
const SLIPS_MAX: usize = 64;

/// Why a pass ends before it is done.
#[derive(Debug)]
pub(super) enum Stop {
    /// A limit is reached.
    Spent,
    /// The host failed.
    Host(anyhow::Error),
}

/// What a pass gives back.
pub(super) type Step<T> = Result<T, Stop>;

/// The current stream, and all that was learned about others.
pub(super) struct Shrinker<'a> {
    subject: &'a dyn Subject,
    limits: Limits,
    taste: Taste,
    current: Arc<Attempt>,
    known: Attempts,
    pub(super) report: ShrinkReport,
    pub(super) slips: BTreeMap<String, Vec<Choice>>,
    pass: &'static str,
    bill: Bill,
    /// Evaluations at the last success.
    last_success: u64,
    /// The most evaluations between two successes so far.
    longest_gap: u64,
}

/// Who pays for executions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bill {
    /// The passes.
    Passes,
    /// The exhaustive finish.
    Exhaustive,
    /// The explanation.
    Explanation,
}

/// What came of a question.
pub(super) struct Answer {
    /// It is simpler than what was current, and has become that.
    pub(super) improved: bool,
    pub(super) attempt: Arc<Attempt>,
}

impl<'a> Shrinker<'a> {
    /// Begins with the execution of `first`; `None` if that does not fail in the same way.
    pub(super) fn new(
        subject: &'a dyn Subject,
        first: &[Choice],
        limits: Limits,
        taste: Taste,
    ) -> anyhow::Result<Option<Self>> {
        let order = Order { choices: first.to_vec(), tail: Tail::Zero };
        let attempt = match execute(subject, std::slice::from_ref(&order)) {
            Ok(mut attempts) => attempts.remove(0),
            Err(Stop::Spent) => return Ok(None),
            Err(Stop::Host(error)) => return Err(error),
        };
        if attempt.verdict != Verdict::Same {
            return Ok(None);
        }
        let mut known = Attempts::default();
        let current = Arc::new(attempt);
        known.put(&order, current.clone());
        Ok(Some(Self {
            subject,
            limits,
            taste,
            current,
            known,
            report: ShrinkReport::default(),
            slips: BTreeMap::new(),
            pass: "",
            bill: Bill::Passes,
            last_success: 0,
            longest_gap: 0,
        }))
    }

    /// The simplest failing execution so far.
    pub(super) fn current(&self) -> Arc<Attempt> {
        self.current.clone()
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn taste(&self) -> Taste {
        self.taste
    }

    /// From now on `pass` is who asks.
    pub(super) fn enter(&mut self, pass: &'static str) {
        self.pass = pass;
    }

    pub(super) fn charge(&mut self, bill: Bill) {
        self.bill = bill;
    }

    /// Random numbers that depend on nothing but the current stream: a pass that uses them does the same when it is
    /// run again.
    pub(super) fn rng(&self) -> Rng {
        let hash = blake3::hash(&encode(&self.current.trace.choices));
        Rng::of_task(u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("a hash has 32 bytes")), 0, 0)
    }

    /// Executes `choices`, and goes on with it if that fails in the same way and is simpler.
    pub(super) fn consider(&mut self, choices: Vec<Choice>) -> Step<bool> {
        Ok(self.look(choices, Tail::Zero)?.improved)
    }

    /// As [`Shrinker::consider`], and shows the execution.
    pub(super) fn look(&mut self, choices: Vec<Choice>, tail: Tail) -> Step<Answer> {
        let order = self.order(choices, tail);
        let attempt = match self.known.get(&order) {
            Some(attempt) => attempt,
            None => self.evaluate(&order)?,
        };
        let improved =
            attempt.verdict == Verdict::Same && shortlex(&attempt.trace.choices, &self.current.trace.choices).is_lt();
        if improved {
            self.current = attempt.clone();
            self.longest_gap = self.longest_gap.max(self.report.evaluations - self.last_success);
            self.last_success = self.report.evaluations;
            self.report.passes.entry(self.pass).or_default().successes += 1;
        }
        Ok(Answer { improved, attempt })
    }

    /// Considers what `make` makes of the current trace for `from`, `from + 1`, ... below `to`, and stops at the
    /// first success.
    ///
    /// Several are executed at once, but as far as anyone can see they are considered one after the other.
    pub(super) fn first(
        &mut self,
        from: usize,
        to: usize,
        make: impl Fn(&Trace, usize) -> Option<Vec<Choice>>,
    ) -> Step<Option<usize>> {
        let base = self.current();
        let mut ahead = from;
        for at in from..to {
            if at >= ahead {
                ahead = self.execute_ahead(at, to, |at| make(&base.trace, at))?;
            }
            if let Some(choices) = make(&base.trace, at)
                && self.consider(choices)?
            {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Executes the next few that are not known, on all threads, and returns where it got to.
    fn execute_ahead(&mut self, from: usize, to: usize, make: impl Fn(usize) -> Option<Vec<Choice>>) -> Step<usize> {
        let jobs = self.subject.jobs();
        if jobs < 2 {
            return Ok(to);
        }
        let mut orders: Vec<Order> = Vec::new();
        let mut at = from;
        while at < to && orders.len() < jobs {
            let order = make(at).map(|choices| self.order(choices, Tail::Zero));
            orders.extend(order.filter(|order| !self.known.has(order) && !orders.contains(order)));
            at += 1;
        }
        if orders.len() > 1 {
            let attempts = execute(self.subject, &orders)?;
            for (order, attempt) in orders.iter().zip(attempts) {
                self.known.put_ahead(order, attempt);
            }
        }
        Ok(at)
    }

    /// Without choices at the end that the tail gives as well, unless the guest knows how many there are.
    fn order(&self, choices: Vec<Choice>, tail: Tail) -> Order {
        match self.current.trace.entropy {
            Some(_) => Order { choices, tail },
            None => trim(choices, tail),
        }
    }

    fn evaluate(&mut self, order: &Order) -> Step<Arc<Attempt>> {
        self.pay()?;
        let attempt = match self.known.take_ahead(order) {
            Some(attempt) => attempt,
            None => Arc::new(execute(self.subject, std::slice::from_ref(order))?.remove(0)),
        };
        self.known.put(order, attempt.clone());
        if let Verdict::Slip(signature) = &attempt.verdict {
            self.slip(signature, &attempt.trace.choices);
        }
        Ok(attempt)
    }

    fn pay(&mut self) -> Step<()> {
        let report = &mut self.report;
        match self.bill {
            Bill::Exhaustive => report.exhaustive += 1,
            Bill::Explanation => report.explained += 1,
            Bill::Passes => {
                let stall_max = self.limits.stall_max.max(self.longest_gap.saturating_mul(5));
                if report.evaluations >= self.limits.execs_max || report.evaluations - self.last_success >= stall_max {
                    return Err(Stop::Spent);
                }
                report.evaluations += 1;
                report.passes.entry(self.pass).or_default().evaluations += 1;
            }
        }
        Ok(())
    }

    fn slip(&mut self, signature: &str, choices: &[Choice]) {
        match self.slips.get_mut(signature) {
            Some(simplest) => {
                if shortlex(choices, simplest).is_lt() {
                    *simplest = choices.to_vec();
                }
            }
            None => {
                if self.slips.len() < SLIPS_MAX {
                    self.slips.insert(signature.to_owned(), choices.to_vec());
                }
            }
        }
    }
}

fn execute(subject: &dyn Subject, orders: &[Order]) -> Step<Vec<Attempt>> {
    let attempts = subject.attempt_all(orders).map_err(Stop::Host)?;
    if attempts.len() < orders.len() {
        return Err(Stop::Spent);
    }
    for Trace { choices, draws, spans, .. } in attempts.iter().map(|attempt| &attempt.trace) {
        let is_inside = |span: &Span| span.start <= span.end && span.end as usize <= choices.len();
        if draws.len() != choices.len() || !spans.iter().all(is_inside) {
            return Err(Stop::Host(anyhow!("the trace of an execution contradicts itself")));
        }
    }
    Ok(attempts)
}
