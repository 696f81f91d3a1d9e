//! Interrupts what takes too long: one thread for all executors.

use crate::sandbox::interrupt::interrupter::Interrupter;
use crate::sandbox::interrupt::stop::Execution;
use anyhow::{Context, Result};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What an execution may take, as a share of the time that the limit on fuel takes: so whatever exceeds that limit is
/// interrupted, even if a unit of fuel takes 16 times as long in one program as in another.
const SHARE: u32 = 16;

/// A shorter time would interrupt what the machine merely did not get to, and cost more than it saves.
const TIME_MIN: Duration = Duration::from_millis(5);

/// Where executions hang often the watchdog looks more often than [`TIME_MIN`], but not more often than this.
const TIME_SHORTEST: Duration = Duration::from_micros(200);

/// What it takes to look once, about.
const LOOK_COST: Duration = Duration::from_micros(10);

/// It decides how often it looks by the interruptions of so long a time.
const ADAPT_EVERY: Duration = Duration::from_millis(50);

/// Interrupts each execution that takes twice its time, and none that takes less than it.
///
/// Its time is shorter the more it has to interrupt, down to what executions are [expected](Watchdog::expect) to take:
/// each that hangs costs one and a half times of it, and each look costs something as well.
///
/// An interruption is no verdict: that is for a variant with fuel, which depends on no clock.
#[derive(Debug)]
pub struct Watchdog {
    time: Duration,
    watched: Arc<Mutex<Vec<Watched>>>,
    /// What executions take that don't hang, at most, in nanoseconds.
    expected: Arc<AtomicU64>,
    /// Nanoseconds that 2^20 units of fuel take.
    nanos: u64,
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
        let expected = Arc::new(AtomicU64::new(u64::MAX));
        let theirs = expected.clone();
        let thread = std::thread::Builder::new().name("watchdog".to_owned());
        thread.spawn(move || watch(&shared, &ended, time, &theirs)).context("failed to start the watchdog")?;
        let nanos = u64::try_from(fuel_time(1 << 20).as_nanos()).unwrap_or(u64::MAX);
        Ok(Self { time, watched, expected, nanos, _alive: alive })
    }

    /// From now on executions are expected to take no more than so many units of fuel, unless they hang.
    pub fn expect(&self, fuel: u64) {
        let nanos = (u128::from(fuel) * u128::from(self.nanos)) >> 20;
        self.expected.store(u64::try_from(nanos).unwrap_or(u64::MAX), Ordering::Relaxed);
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

fn watch(watched: &Mutex<Vec<Watched>>, ended: &Receiver<()>, longest: Duration, expected: &AtomicU64) {
    let (mut time, mut interrupted, mut since) = (longest, 0, Instant::now());
    while ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
        for Watched { interrupter, seen } in watched.lock().expect("no panic while held").iter_mut() {
            let running = interrupter.running();
            if let Some(execution) = running.filter(|_| running == *seen) {
                // If the machine is out of mappings, so that the guest can't be stopped, it is tried again the next
                // time.
                interrupted += u32::from(interrupter.interrupt_only(execution).unwrap_or_default());
            }
            *seen = running;
        }
        let passed = since.elapsed();
        if passed >= ADAPT_EVERY {
            // Twice what is expected: a variant without fuel is faster than its fuel says, but other programs take
            // their turns.
            let expected = Duration::from_nanos(expected.load(Ordering::Relaxed)).saturating_mul(2);
            time = time_by(interrupted, passed).max(expected).clamp(TIME_SHORTEST.min(longest), longest);
            (interrupted, since) = (0, Instant::now());
        }
    }
}

/// The time for which looking and what hangs until then cost the least together, if so many were interrupted in a
/// while.
fn time_by(interrupted: u32, passed: Duration) -> Duration {
    // With h hangs a second, looking every t takes LOOK_COST / t + 1.5 h t of each second.
    let rate = f64::from(interrupted) / passed.as_secs_f64();
    let seconds = (LOOK_COST.as_secs_f64() / (1.5 * rate)).sqrt();
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// About how many units of fuel code takes in a second on this machine.
pub fn fuel_per_second() -> f64 {
    const UNITS: u64 = 1 << 30;
    UNITS as f64 / fuel_time(UNITS).as_secs_f64()
}

/// About the time that so many units of fuel take on this machine.
fn fuel_time(units: u64) -> Duration {
    const STEPS: u32 = 1 << 14;
    // Each step waits for the one before: a product and what is mixed into it, which are four cycles on the machines we
    // know. (Of products and sums alone, compilers make one step of several.) Compiled wasm takes about 4/3 of a unit
    // in a cycle (2e9 units in half a second at 3 GHz).
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
    use crate::settings::Settings;

    #[test]
    fn the_watchdog_looks_more_often_the_more_hangs() {
        let second = Duration::from_secs(1);
        assert_eq!(time_by(0, second), Duration::MAX);
        let times: Vec<_> = [1, 10, 1000].map(|hangs| time_by(hangs, second)).into();
        assert!(times.is_sorted_by(|a, b| a > b) && times[0] < Duration::from_millis(10), "{times:?}");
    }

    #[test]
    fn the_time_is_in_proportion_to_the_fuel() {
        let time = |fuel| fuel_time(fuel).as_secs_f64();
        assert!((0.01..100.0).contains(&time(2_000_000_000)), "{}", time(2_000_000_000));
        assert!(Watchdog::time_for(1_000).is_none());
        assert!(Watchdog::time_for(Settings::default().fuel_max).is_some(), "else campaigns stay with what has fuel");
        assert!(Watchdog::time_for(u64::from(u32::MAX) << 10).is_some());
    }
}
