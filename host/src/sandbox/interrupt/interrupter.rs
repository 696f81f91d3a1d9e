//! Who ends executions, from any thread.

use crate::sandbox::interrupt::gate::Gate;
use crate::sandbox::interrupt::stop::Execution;
use std::io;
use std::sync::{Arc, Weak};

/// Ends executions of one [`Executor`](crate::sandbox::Executor), from any thread; obtained by
/// [`Executor::interrupter`](crate::sandbox::Executor::interrupter).
///
/// A watchdog needs no clock in the executor's thread: it looks at [`Interrupter::running`] once in a while, and
/// interrupts what it has seen before. Looking every *t*, it ends each execution that takes 2 *t*, and none that takes
/// less than *t*.
///
/// ```no_run
/// fn watch(interrupter: &fuzzbox::sandbox::Interrupter, tick: impl Fn()) -> std::io::Result<()> {
///     let mut seen = None;
///     loop {
///         tick();
///         let running = interrupter.running();
///         if let Some(execution) = running.filter(|_| running == seen) {
///             interrupter.interrupt_only(execution)?;
///         }
///         seen = running;
///     }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Interrupter {
    gate: Weak<Gate>,
}

impl Interrupter {
    pub(crate) fn new(gate: &Arc<Gate>) -> Self {
        Self { gate: Arc::downgrade(gate) }
    }

    /// Interrupts the execution that is under way. Returns whether there was one that nobody had interrupted before; if
    /// so, its outcome will be [`Outcome::Interrupted`](crate::outcome::Outcome::Interrupted).
    ///
    /// If the guest's code runs at this moment, it stops at once; otherwise where it goes on after one bulk operator or
    /// host function, or when this is called again, which returns `false` as there is no other execution.
    ///
    /// # Errors
    ///
    /// If the machine is out of mappings. The execution may then go on until this is called again, and when it ends its
    /// outcome is `Interrupted` in any case.
    pub fn interrupt(&self) -> io::Result<bool> {
        self.gate.upgrade().map_or(Ok(false), |gate| gate.take(None))
    }

    /// Interrupts that execution, if it is still under way; otherwise as [`Interrupter::interrupt`].
    ///
    /// # Errors
    ///
    /// As for [`Interrupter::interrupt`].
    pub fn interrupt_only(&self, execution: Execution) -> io::Result<bool> {
        self.gate.upgrade().map_or(Ok(false), |gate| gate.take(Some(execution)))
    }

    /// Whether the executor still lives.
    pub fn is_of_use(&self) -> bool {
        self.gate.strong_count() > 0
    }

    /// The execution that is under way, if there is one.
    pub fn running(&self) -> Option<Execution> {
        self.gate.upgrade()?.running()
    }
}
