//! Ends an execution from another thread, by taking away pages that endless code can't do without.
//!
//! Every cycle of the guest's code touches the injected memory at or above [`layout::POLLS`]: it counts, or it polls. So
//! whoever makes these pages inaccessible makes the guest trap, in its own time and at no cost until then. The host reads
//! the same pages, and a fault of its own would kill the process. Therefore one atomic per executor says where its thread is:
//!
//! ```text
//!         the executor calls the guest           somebody interrupts: compare-exchange, then the pages are closed
//!   idle -----------------------------> inside ---------------------------------------------------> taken
//!    ^                                    |                                                           |
//!    |------------------------------------| the call ended                                            |
//!    |------------------------------------------------------------------------------------------------| the call ended:
//!                                                                          the executor opens the pages, then reads them
//! ```
//!
//! - Only `inside` can be taken, so the pages are never closed when the host looks at them: it does so in `idle` only.
//! - A function of the host or of a library, called by the guest, that touches what was taken would die of it. The
//!   handler opens the page for it, and notes that ([`Gate::pierced`]): the guest may find it open when the function
//!   returns. It can't be closed then, for nobody but the guest's code knows when that is. Instead, each further attempt to interrupt
//!   the execution closes the pages again. So whoever wants an execution to end repeats it until there is another one, as a
//!   watchdog does anyway.
//! - What was taken is over: the execution is [interrupted](super::Outcome::Interrupted) even if the guest returned in the
//!   same moment, before it met a closed page. So each success of [`Interrupter::interrupt`] is one such outcome.
//! - The pages are closed and opened while a lock is held. An executor that finds itself taken waits for it, so
//!   that nothing is closed after it was opened.
//! - There is no way back from `taken`, not even if closing fails: the handler may have refused an access already.
//! - The guest's first write to a counter's page is a fault as well, after which the handler opens that page ([`Gate::open`]).
//!   It looks at the state before and after: if the guest was taken in between, it closes again what it may have opened too
//!   late for whoever took it.

use super::memory::Region;
use fuzzbox_instrument::layout;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// The bits of [`Gate::state`] that are not the execution's number.
const PLACE: u64 = 3;
/// No guest runs. The host may look at the pages.
const IDLE: u64 = 0;
/// The guest runs, or a host function that it called.
const INSIDE: u64 = 1;
/// The guest runs and has lost its pages, or is about to lose them.
const TAKEN: u64 = 2;
/// One execution.
const STEP: u64 = PLACE + 1;

/// The first byte of the injected memory that can be taken away.
const FIRST: usize = layout::POLLS as usize;

/// Where the thread of an executor is.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// The number of the execution, and in the lowest two bits its place.
    state: AtomicU64,
    /// A page that was taken was opened for somebody whom a fault would have killed.
    pierced: AtomicBool,
    /// Locked while pages are closed or opened by this.
    pages: Mutex<Pages>,
}

#[derive(Debug, Default)]
struct Pages {
    /// The injected memory of the present instance.
    region: Weak<Region>,
    closed: bool,
}

/// Ends executions of one [`Executor`](super::Executor), from any thread; obtained by
/// [`Executor::interrupter`](super::Executor::interrupter).
///
/// A watchdog needs no clock in the executor's thread: it looks at [`Interrupter::running`] once in a while, and interrupts
/// what it has seen before. Looking every *t*, it ends each execution that takes 2 *t*, and none that takes less than *t*.
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

/// One execution of one executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution(u64);

impl Interrupter {
    pub(super) fn new(gate: &Arc<Gate>) -> Self {
        Self { gate: Arc::downgrade(gate) }
    }

    /// Interrupts the execution that is under way. Returns whether there was one that nobody had interrupted before; if so,
    /// its outcome will be [`Outcome::Interrupted`](super::Outcome::Interrupted).
    ///
    /// The guest stops when it next counts or polls. What it can do before is bounded, but not by much if it is one bulk
    /// operator or a host function. If such a function touches what was taken away, the guest may go on until this is called
    /// again, which returns `false` as there is no other execution.
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
        let state = self.gate.upgrade()?.state.load(SeqCst);
        (state & PLACE != IDLE).then_some(Execution(state & !PLACE))
    }
}

impl Gate {
    /// From now on the executor runs an instance with this injected memory.
    pub(super) fn watch(&self, region: &Arc<Region>) {
        *self.lock() = Pages { region: Arc::downgrade(region), closed: false };
    }

    /// The executor's thread is about to call the guest.
    pub(super) fn enter(&self) {
        let state = self.state.load(SeqCst);
        debug_assert_eq!(state & PLACE, IDLE, "an executor runs one thing at a time");
        self.state.store((state & !PLACE).wrapping_add(STEP) | INSIDE, SeqCst);
    }

    /// The executor's thread is back from the guest. Returns whether the execution was interrupted; the pages are there
    /// again in any case.
    pub(super) fn leave(&self, region: &Region) -> io::Result<bool> {
        let execution = self.state.load(SeqCst) & !PLACE;
        if self.state.swap(execution | IDLE, SeqCst) & PLACE != TAKEN {
            return Ok(false);
        }
        // Whoever took them may not have closed them so far.
        let mut pages = self.lock();
        region.reopen(FIRST)?;
        pages.closed = false;
        self.pierced.store(false, SeqCst);
        Ok(true)
    }

    /// Ends the execution that is under way, if it is `only` and its pages aren't closed already.
    fn take(&self, only: Option<Execution>) -> io::Result<bool> {
        let mut pages = self.lock();
        let Some(region) = pages.region.upgrade() else { return Ok(false) };
        let state = self.state.load(SeqCst);
        let execution = state & !PLACE;
        if state & PLACE == IDLE || only.is_some_and(|only| only != Execution(execution)) {
            return Ok(false);
        }
        if pages.closed {
            // If it is pierced after this, it is for the next attempt.
            if self.pierced.swap(false, SeqCst) {
                region.close(FIRST).inspect_err(|_| self.pierced.store(true, SeqCst))?;
            }
            return Ok(false);
        }
        // Taken before means that they could not be closed then. The executor can't leave `taken` while they are locked.
        let inside = execution | INSIDE;
        if state == inside && self.state.compare_exchange(inside, execution | TAKEN, SeqCst, SeqCst).is_err() {
            return Ok(false);
        }
        region.close(FIRST)?;
        pages.closed = true;
        Ok(true)
    }

    /// Does for a fault in the injected memory what [`Region::open`] does for others, and refuses the guest what was taken
    /// away. Async-signal-safe. Called by the thread that is in the guest.
    pub(super) fn open(&self, region: &Region, fault: usize, by_guest: bool) -> bool {
        let can_be_taken = region.offset(fault).is_some_and(|offset| offset >= FIRST);
        if by_guest && can_be_taken && self.is_taken() || !region.open(fault, by_guest) {
            return false;
        }
        if !self.is_taken() {
            // If the guest is taken after this, what was opened is closed by whoever takes it.
            return true;
        }
        if by_guest {
            return region.close(FIRST).is_ok() && !can_be_taken;
        }
        // It may have been opened after whoever took it had closed it.
        self.pierced.store(true, SeqCst);
        true
    }

    fn is_taken(&self) -> bool {
        self.state.load(SeqCst) & PLACE == TAKEN
    }

    fn lock(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().expect("no panic while held")
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::Image;
    use super::*;
    use std::io::{Read, pipe};
    use std::os::fd::AsRawFd;

    const PAGE_BYTES: usize = 1 << 16;
    const PAGES: usize = 32;

    /// Says which of the pages that can be taken away are readable: it asks the kernel, which doesn't die of it.
    fn readable(region: &Region) -> Vec<bool> {
        let (mut reader, writer) = pipe().unwrap();
        let mut is_readable = |page: usize| {
            let address = base(region).wrapping_add(FIRST + page * PAGE_BYTES) as *const libc::c_void;
            // SAFETY: the kernel looks whether it can read there.
            let readable = unsafe { libc::write(writer.as_raw_fd(), address, 1) } == 1;
            if readable {
                reader.read_exact(&mut [0]).unwrap();
            }
            readable
        };
        (0..PAGES).map(&mut is_readable).collect()
    }

    fn base(region: &Region) -> usize {
        // SAFETY: no guest anywhere; the first page is never closed.
        unsafe { region.bytes().as_ptr() as usize }
    }

    fn track(region: &Region) {
        // SAFETY: no guest anywhere.
        unsafe { region.track(Arc::new(Image::of(region.bytes()).unwrap()), None).unwrap() };
    }

    #[test]
    fn a_host_function_gets_what_was_taken_and_the_next_attempt_takes_it_again() {
        let region = Arc::new(Region::new(FIRST + PAGES * PAGE_BYTES, None, 0, 0).unwrap());
        track(&region);
        let gate = Gate::default();
        gate.watch(&region);
        let page = |index: usize| base(&region) + FIRST + index * PAGE_BYTES;
        let open_pages = || readable(&region).iter().filter(|&&readable| readable).count();
        for round in 0..3 {
            gate.enter();
            let execution = Execution(gate.state.load(SeqCst) & !PLACE);
            assert!(gate.open(&region, page(1), true) || round > 0, "a page that is hot before it is taken");
            assert!(gate.take(None).unwrap());
            // One that is hot and one that is not, as long as there are such.
            for index in [1, 2 + round] {
                assert!(!gate.open(&region, page(index), true), "the guest traps");
                assert!(gate.open(&region, page(index), false), "the host goes on");
                assert_eq!((readable(&region)[index], open_pages()), (true, 1));
                assert!(!gate.open(&region, page(0), true), "the guest traps elsewhere");
                assert!(!gate.take(None).unwrap(), "it was interrupted before");
                assert_eq!(open_pages(), 0);
            }
            assert!(gate.open(&region, page(1), false));
            assert!(!gate.take(Some(Execution(execution.0 + STEP))).unwrap());
            assert_eq!(open_pages(), 1, "that is another execution");
            assert!(gate.leave(&region).unwrap());
            assert_eq!(readable(&region), [true; PAGES]);
        }
        gate.enter();
        assert!(gate.take(None).unwrap(), "nothing is left of the past");
        assert!(!gate.take(None).unwrap());
        assert!(gate.leave(&region).unwrap());
    }

    #[test]
    fn no_page_is_open_after_all_were_taken_while_they_were_opened() {
        for round in 0..3_000 {
            let region = Arc::new(Region::new(FIRST + PAGES * PAGE_BYTES, None, 0, 0).unwrap());
            track(&region);
            let gate = Gate::default();
            gate.watch(&region);
            assert!(!gate.take(None).unwrap(), "no guest runs");
            gate.enter();
            let mut faults = 0;
            std::thread::scope(|scope| {
                let taker = scope.spawn(|| {
                    (0..round % 100 * 30).for_each(|_| std::hint::spin_loop());
                    assert!(gate.take(None).unwrap());
                });
                // The guest writes to one page after the other, until it traps.
                let mut page = 0;
                while gate.open(&region, base(&region) + FIRST + page * PAGE_BYTES, true) && page + 1 < PAGES {
                    page += 1;
                    faults += 1;
                }
                taker.join().unwrap();
            });
            assert_eq!(readable(&region), [false; PAGES], "round {round}, {faults} faults");
            assert!(!gate.open(&region, base(&region) + FIRST, true), "the guest traps");
            assert!(gate.leave(&region).unwrap());
            assert_eq!(readable(&region), [true; PAGES], "round {round}");
        }
    }
}
