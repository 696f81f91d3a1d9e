//! Interruptions that are sure to end an execution.

use fuzzbox::sandbox::{Execution, Interrupter};
use std::time::{Duration, Instant};

/// What was interrupted for so long and goes on will not end.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Ends an endless execution. An interruption that finds no code of the guest does nothing, so it is repeated, as by a watchdog.
///
/// # Panics
///
/// If somebody had interrupted it before, or it goes on.
pub fn interrupt_until_over(interrupter: &Interrupter, execution: Execution) {
    assert!(interrupter.interrupt_only(execution).unwrap(), "it is under way, and nobody had interrupted it");
    let begun = Instant::now();
    while interrupter.running() == Some(execution) {
        assert!(begun.elapsed() < TIMEOUT, "it was interrupted and goes on");
        std::thread::sleep(Duration::from_millis(1));
        assert!(!interrupter.interrupt_only(execution).unwrap(), "it can't be interrupted twice");
    }
}
