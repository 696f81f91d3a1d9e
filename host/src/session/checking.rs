//! Several targets, checked after a change.
//!
//! What is known of all of them is tried first, since a change breaks that most often, and it takes least. Then the
//! time is shared: half of it alike, half by what a target brought in its last turns.

use super::running::Running;
use super::setup::Session;
use super::turns::FirstInputs;
use crate::report::{Checked, CheckedTarget, Done, Event, NotStarted, Reporter};
use crate::store::State;
use anyhow::Result;
use std::time::{Duration, Instant};

/// Turns that each target has, on average; but turns are not shorter, nor longer, than these.
const TURNS: u32 = 10;
const TURN_MIN: Duration = Duration::from_millis(500);
const TURN_MAX: Duration = Duration::from_secs(30);

/// A target that is being checked.
struct Check<'a> {
    session: &'a Session<'a>,
    /// `None` once it has ended.
    running: Option<Running<'a>>,
    /// How it ended.
    done: Option<Done>,
    /// What is told of it when all have ended, as far as that was known when the first inputs were executed.
    told: CheckedTarget,
    /// Edges and failures per second, those of the last turns more than those before.
    brings: f64,
}

/// Checks each target: tries what is known of it, and fuzzes it for a part of `time`, or until it ends by itself.
/// Tells a table at the end.
pub(crate) fn check<'a, E: From<anyhow::Error>>(
    sessions: &'a [Session<'a>],
    first_inputs: &FirstInputs<'_, E>,
    time: Option<Duration>,
    aborted: &dyn Fn() -> bool,
    reporter: &mut dyn Reporter,
) -> Result<Vec<Done>, E> {
    let mut checks = Vec::new();
    let mut not_started = Vec::new();
    for session in sessions {
        if aborted() {
            not_started.push(Event::NotStarted(NotStarted { target: session.name.clone() }));
        } else {
            checks.push(Check::begin(session, first_inputs(session)?, reporter)?);
        }
    }
    fuzz(&mut checks, time, aborted, reporter)?;
    for check in &mut checks {
        check.end(if aborted() { "interrupted" } else { "--time reached" }, reporter)?;
    }
    let told = checks.iter().map(Check::told).collect::<Result<_>>()?;
    not_started.push(Event::Checked(Checked { targets: told }));
    reporter.report_all(&not_started).map_err(anyhow::Error::from)?;
    Ok(checks.into_iter().filter_map(|check| check.done).collect())
}

/// Fuzzes what has not ended, in turns, until the time is over.
fn fuzz(
    checks: &mut [Check<'_>],
    time: Option<Duration>,
    aborted: &dyn Fn() -> bool,
    reporter: &mut dyn Reporter,
) -> Result<()> {
    let began = Instant::now();
    let left = || time.map_or(Duration::MAX, |time| time.saturating_sub(began.elapsed()));
    while !aborted() && !left().is_zero() && checks.iter().any(|check| check.running.is_some()) {
        let open: Vec<f64> = checks.iter().filter(|check| check.running.is_some()).map(|check| check.brings).collect();
        for check in checks.iter_mut() {
            if check.running.is_none() || aborted() || left().is_zero() {
                continue;
            }
            let turn = turn(time, &open, check.brings).min(left());
            check.turn(turn, reporter)?;
        }
    }
    Ok(())
}

/// A turn of a target that brings so much, where `open` is what all of those bring that have not ended.
fn turn(time: Option<Duration>, open: &[f64], brings: f64) -> Duration {
    let all: f64 = open.iter().sum();
    // On average 1.
    let share = if all > 0.0 { (1.0 + brings * open.len() as f64 / all) / 2.0 } else { 1.0 };
    let even = time.map_or(TURN_MAX, |time| time / TURNS / u32::try_from(open.len()).unwrap_or(u32::MAX).max(1));
    even.mul_f64(share).clamp(TURN_MIN, TURN_MAX)
}

impl<'a> Check<'a> {
    /// Tries what is known of a target.
    fn begin(session: &'a Session<'a>, seeds: Vec<Vec<u8>>, reporter: &mut dyn Reporter) -> Result<Self> {
        let mut running = Running::begin(session, seeds)?;
        running.retrace(reporter)?;
        let told = CheckedTarget {
            target: session.name.clone(),
            retraced: running.retraced().cloned(),
            inputs: running.inputs(),
            open: 0,
            fixed: 0,
            new: 0,
            new_edges: running.edges(),
            execs: 0,
        };
        Ok(Self { session, running: Some(running), done: None, told, brings: 0.0 })
    }

    fn turn(&mut self, time: Duration, reporter: &mut dyn Reporter) -> Result<()> {
        let Some(running) = &mut self.running else { return Ok(()) };
        let (began, before) = (Instant::now(), running.news());
        running.turn(Some(time), reporter)?;
        let now = running.news().saturating_sub(before) as f64 / began.elapsed().as_secs_f64().max(1e-3);
        self.brings = (self.brings + now) / 2.0;
        if running.has_ended() { self.end("", reporter) } else { Ok(()) }
    }

    /// Ends it, if it has not ended by itself: for that reason.
    fn end(&mut self, why: &str, reporter: &mut dyn Reporter) -> Result<()> {
        let Some(mut running) = self.running.take() else { return Ok(()) };
        running.stop(why);
        let first_edges = self.told.new_edges;
        let done = running.end(reporter)?;
        self.told.new_edges = done.edges.saturating_sub(first_edges);
        self.told.execs = done.execs;
        self.told.new = done.findings.iter().filter(|finding| !finding.known).count() as u64;
        self.done = Some(done);
        Ok(())
    }

    /// What is told of it, with what the store says by now.
    fn told(&self) -> Result<CheckedTarget> {
        let Session { store, name, target, .. } = self.session;
        let module = target.candidate.id;
        let lives = store.lives(name, &store.findings(Some(name))?)?;
        let count = |is: &dyn Fn(&crate::store::Life) -> bool| lives.iter().filter(|life| is(life)).count() as u64;
        Ok(CheckedTarget {
            open: count(&|life| life.is_open()),
            fixed: count(&|life| life.state == State::Fixed && life.module == module),
            ..self.told.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_brings_more_has_longer_turns_and_nobody_has_none() {
        let seconds = |time, open: &[f64], brings| turn(Some(Duration::from_secs(time)), open, brings).as_secs_f64();
        assert_eq!(seconds(60, &[0.0, 0.0], 0.0), 3.0);
        assert_eq!(seconds(60, &[2.0, 0.0], 2.0), 4.5);
        assert_eq!(seconds(60, &[2.0, 0.0], 0.0), 1.5);
        assert_eq!(seconds(1, &[1.0; 9], 1.0), 0.5);
        assert_eq!(turn(None, &[1.0], 1.0), TURN_MAX);
    }
}
