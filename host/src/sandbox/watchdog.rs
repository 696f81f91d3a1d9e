//! Interrupts what takes too long: one thread for all executors.

use super::interrupt::{Execution, Interrupter};
use anyhow::{Context, Result};
use std::hint::black_box;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What an execution may take, as a share of the time that the limit on fuel takes: so whatever exceeds that limit is
/// interrupted, even if a unit of fuel takes 16 times as long in one program as in another.
const SHARE: u32 = 16;

/// A shorter time would interrupt what the machine merely did not get to, and cost more than it saves.
const TIME_MIN: Duration = Duration::from_millis(5);

/// Interrupts each execution that takes twice its time, and none that takes less than it.
///
/// An interruption is no verdict: that is for a variant with fuel, which depends on no clock.
#[derive(Debug)]
pub struct Watchdog {
    time: Duration,
    watched: Arc<Mutex<Vec<Watched>>>,
    /// Dropped to end the thread.
    _alive: Sender<()>,
}

#[derive(Debug)]
struct Watched {
    interrupter: Interrupter,
    /// The execution that was under way when it was looked at last.
    seen: Option<Execution>,
}

impl Watchdog {
    /// How long an execution may take if the limit is `fuel_max` units, so that nothing exceeds the limit without being
    /// interrupted on this machine. `None` if that is too short to be told.
    pub fn time_for(fuel_max: u64) -> Option<Duration> {
        let time = fuel_time(fuel_max) / SHARE;
        (time >= TIME_MIN).then_some(time)
    }

    /// Starts the thread. It ends when this is dropped.
    ///
    /// # Errors
    ///
    /// If the thread can't be started.
    pub fn new(time: Duration) -> Result<Self> {
        let watched = Arc::<Mutex<Vec<Watched>>>::default();
        let (alive, ended) = channel();
        let shared = watched.clone();
        let thread = std::thread::Builder::new().name("watchdog".to_owned());
        thread.spawn(move || watch(&shared, &ended, time)).context("failed to start the watchdog")?;
        Ok(Self { time, watched, _alive: alive })
    }

    /// Watches an executor for as long as it lives.
    pub fn watch(&self, interrupter: Interrupter) {
        let mut watched = self.watched.lock().expect("no panic while held");
        watched.retain(|watched| watched.interrupter.is_of_use());
        watched.push(Watched { interrupter, seen: None });
    }

    /// How long an execution may take.
    pub fn time(&self) -> Duration {
        self.time
    }
}

fn watch(watched: &Mutex<Vec<Watched>>, ended: &Receiver<()>, time: Duration) {
    while ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
        for Watched { interrupter, seen } in watched.lock().expect("no panic while held").iter_mut() {
            let running = interrupter.running();
            if let Some(execution) = running.filter(|_| running == *seen) {
                // If the machine is out of mappings, so that the guest can't be stopped, it is tried again the next time.
                let _ = interrupter.interrupt_only(execution);
            }
            *seen = running;
        }
    }
}

/// About the time that so many units of fuel take on this machine.
fn fuel_time(units: u64) -> Duration {
    const STEPS: u32 = 1 << 14;
    // Each step waits for the one before: a product and what is mixed into it, which are four cycles on the machines we know.
    // (Of products and sums alone, compilers make one step of several.) Compiled wasm takes about 4/3 of a unit in a cycle
    // (2e9 units in half a second at 3 GHz).
    const UNITS_PER_STEP: f64 = 4.0 * 4.0 / 3.0;
    let step = || {
        let start = Instant::now();
        let mut value = black_box(1_u64);
        for _ in 0..STEPS {
            value = value.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ value >> 32;
        }
        black_box(value);
        start.elapsed()
    };
    let fastest = (0..16).map(|_| step()).min().expect("there are some");
    Duration::from_secs_f64(fastest.as_secs_f64() / f64::from(STEPS) / UNITS_PER_STEP * units as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Settings;

    #[test]
    fn the_time_is_in_proportion_to_the_fuel() {
        let time = |fuel| fuel_time(fuel).as_secs_f64();
        assert!((0.01..100.0).contains(&time(2_000_000_000)), "{}", time(2_000_000_000));
        assert!(Watchdog::time_for(1_000).is_none());
        assert!(Watchdog::time_for(Settings::default().fuel_max).is_some(), "else campaigns stay with what has fuel");
        assert!(Watchdog::time_for(u64::from(u32::MAX) << 10).is_some());
    }
}
