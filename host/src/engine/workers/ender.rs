//! Ends what workers execute when a campaign is to end: nobody knows how long a guest would go on. And ends what goes
//! on although it has fuel.

use crate::sandbox::{Execution, Executor, Interrupter, Target};
use anyhow::{Context, Result};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::available_parallelism;
use std::time::Duration;

/// How often it is looked whether a campaign is to end, and then interrupted what still runs: what finds no code of the
/// guest is in vain.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// No execution takes so long that has a core for itself and so much fuel: it uses that up in seconds, and what has
/// none is watched.
const LONGEST: Duration = Duration::from_mins(1);
const LONGEST_FUEL: u64 = 4_000_000_000;

/// How long an execution of this target can't take.
pub(in crate::engine) fn longest(target: &Target) -> Duration {
    let times = target.candidate.settings.fuel_max.div_ceil(LONGEST_FUEL).max(1);
    LONGEST.saturating_mul(u32::try_from(times).unwrap_or(u32::MAX))
}

/// Interrupts every execution while a flag is set. What was interrupted by this is no verdict: its round is dropped.
///
/// An execution that takes longer than it can is interrupted as well. Where it has fuel that is a mistake of ours,
/// which ends the campaign with an [error](Overlong): a verdict must not depend on a clock.
#[derive(Debug)]
pub(in crate::engine) struct Ender {
    watched: Arc<Mutex<Vec<Watched>>>,
    /// Dropped to end the thread.
    _alive: Sender<()>,
}

#[derive(Debug)]
struct Watched {
    interrupter: Interrupter,
    longest: Duration,
    /// The execution that was under way when it was looked at last, and how often it was.
    seen: Option<(Execution, u32)>,
}

impl Ender {
    /// Starts the thread. It ends when this is dropped.
    pub(in crate::engine) fn new(abort: Arc<AtomicBool>) -> Result<Self> {
        let watched = Arc::<Mutex<Vec<Watched>>>::default();
        let (alive, ended) = channel();
        let shared = watched.clone();
        let thread = std::thread::Builder::new().name("ender".to_owned());
        thread.spawn(move || end(&shared, &abort, &ended)).context("failed to start a thread")?;
        Ok(Self { watched, _alive: alive })
    }

    /// Watches an executor for as long as it lives. No execution that has a core for itself takes `longest`.
    pub(in crate::engine) fn watch(&self, interrupter: Interrupter, longest: Duration) {
        let mut watched = self.watched.lock().expect("no panic while held");
        watched.retain(|watched| watched.interrupter.is_of_use());
        watched.push(Watched { interrupter, longest, seen: None });
    }
}

impl Watched {
    /// Interrupts an execution that takes too long, while so many have to share a core. It is looked, and no clock is
    /// read: that a machine slept says nothing.
    fn look(&mut self, sharing: usize) {
        let Some(execution) = self.interrupter.running() else {
            self.seen = None;
            return;
        };
        let before = self.seen.filter(|(seen, _)| *seen == execution).map_or(0, |(_, times)| times);
        self.seen = Some((execution, before.saturating_add(1)));
        if f64::from(before) > self.longest.div_duration_f64(LOOK_EVERY) * sharing as f64 {
            let _ = self.interrupter.interrupt_only(execution);
        }
    }
}

fn end(watched: &Mutex<Vec<Watched>>, abort: &AtomicBool, ended: &Receiver<()>) {
    let cores = available_parallelism().map_or(1, usize::from);
    while ended.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        let mut watched = watched.lock().expect("no panic while held");
        let sharing = watched.len().div_ceil(cores);
        for watched in &mut *watched {
            watched.look(sharing);
            if abort.load(Relaxed) {
                // If the machine is out of mappings, so that the guest can't be stopped, it is tried again the next
                // time.
                let _ = watched.interrupter.interrupt();
            }
        }
    }
}

/// An execution with fuel took longer than it can.
#[derive(Debug)]
pub(in crate::engine) struct Overlong {
    fuel_max: u64,
    /// The guest's calls, innermost first.
    calls: Vec<String>,
}

impl Overlong {
    /// The last execution of `executor`.
    pub(in crate::engine) fn of(executor: &Executor) -> Self {
        let target = executor.target();
        let name = |function: u32| target.edges.function_name(function).map(str::to_owned);
        let call = |function| name(function).unwrap_or_else(|| format!("function {function}"));
        let calls = executor.interrupted_in().iter().map(|frame| call(frame.function)).collect();
        Self { fuel_max: target.candidate.settings.fuel_max, calls }
    }
}

impl fmt::Display for Overlong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fuel_max, calls } = self;
        write!(f, "an execution goes on and on, with {fuel_max} units of fuel, which is a mistake of fuzzbox")?;
        match &**calls {
            [] => Ok(()),
            [innermost, ..] => {
                write!(f, ": it is in `{innermost}`")?;
                calls[1..].iter().take(8).try_for_each(|call| write!(f, " < `{call}`"))
            }
        }
    }
}

impl std::error::Error for Overlong {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Outcome;
    use crate::settings::Settings;

    #[test]
    fn what_goes_on_although_it_has_fuel_is_ended_and_named() {
        let text = r#"(module
            (memory (export "memory") 1)
            (func $forever (loop (br 0)))
            (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) (call $forever) (i32.const 0)))"#;
        let target = Arc::new(Target::load(text.as_bytes(), Settings::default()).unwrap());
        let ender = Ender::new(Arc::default()).unwrap();
        let mut executor = Executor::watched(&target, |interrupter| ender.watch(interrupter, LOOK_EVERY)).unwrap();
        assert_eq!(executor.run(b"").unwrap(), Outcome::Interrupted);
        let error = Overlong::of(&executor).to_string();
        assert!(error.ends_with("it is in `forever` < `LLVMFuzzerTestOneInput`"), "{error}");
    }
}
