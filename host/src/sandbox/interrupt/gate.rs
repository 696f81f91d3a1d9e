//! Ends an execution from another thread.
//!
//! The thread that executes is sent a signal. Its handler ([`crate::sandbox::interrupt::thread`]) finds the guest's
//! code interrupted, at any instruction, and lets it go on in a function that does nothing but trap. So nothing in the
//! guest's code has to look whether it should end.
//!
//! If something else is interrupted that the guest has called (a bulk operator's library function, a function of the
//! host), there is no such way out. But all that can take long has a load behind it from one page, which is made
//! inaccessible.
//!
//! Code with fuel needs no signal: it looks at its fuel at every function's entry and every loop's head, so the page to
//! take away is the one that the fuel is on.
//!
//! The host must not lose its own state by that. Therefore one atomic per executor says where its thread is:
//!
//! ```text
//!     the executor calls the guest       somebody interrupts: compare-exchange,
//!                                        the page is closed, a signal is sent
//!   idle -----------------------> inside -------------------------------------> taken
//!    ^                              |                                             |
//!    |------------------------------| the call ended                              |
//!    |----------------------------------------------------------------------------| the call ended:
//!                                                             the executor opens the page
//! ```
//!
//! - The handler does something only if it finds `taken` and the guest's code, else nothing. So a signal that comes too
//!   late, or too early, is harmless; and whoever wants an execution to end repeats it until there is another one, as a
//!   watchdog does anyway.
//! - What was taken is over: the execution is [interrupted](crate::outcome::Outcome::Interrupted) even if the guest
//!   returned in the same moment. So each success of [`Interrupter::interrupt`] is one such outcome.
//! - The page is closed and opened while a lock is held. An executor that finds itself taken waits for it, so
//!   that nothing is closed after it was opened.
//! - There is no way back from `taken`, not even if closing fails.

use crate::sandbox::interrupt::stop::{Execution, Stop, StopCell, Taking};
use crate::sandbox::interrupt::thread::{Thread, handle_interruptions};
use crate::sandbox::memory::{PAGE_BYTES, Region};
use fuzzbox_instrument::layout;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::{fmt, io};

/// Where the page is, in the injected memory: of code without fuel, and of code with fuel.
const POLL: usize = layout::POLL as usize;

const FUEL: usize = layout::FUEL as usize;

/// Where the thread of an executor is.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// Where its thread is. What is in the guest points here, so it has to leave before the gate goes.
    stop: StopCell,
    /// The thread that was last in the guest.
    thread: Thread,
    /// Where the page is.
    page: AtomicUsize,
    /// The injected memory of the present instance. Locked while its page is closed or opened by this.
    region: Mutex<Weak<Region>>,
}

/// What keeps an executor from being made if its guest was interrupted before it was given any input.
#[derive(Debug)]
pub(crate) struct Unprepared;

impl fmt::Display for Unprepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "it was interrupted before it was given any input: its start function or its initialisers take too long",
        )
    }
}

impl std::error::Error for Unprepared {}

impl Gate {
    /// From now on the executor runs this code, with fuel or without.
    pub(crate) fn expect(&self, stop: Option<Stop>, has_fuel: bool) {
        handle_interruptions();
        *self.lock() = Weak::new();
        self.page.store(if has_fuel { FUEL } else { POLL }, Relaxed);
        self.stop.set(stop);
    }

    /// From now on this is the injected memory. The executor's thread may be inside.
    pub(crate) fn watch(&self, region: &Arc<Region>) {
        let mut watched = self.lock();
        if let Some(before) = watched.upgrade().filter(|before| self.is_taken() && !Arc::ptr_eq(before, region)) {
            // It may be a memory of the guest's that looked like ours. If this fails it is refused what it needs, and
            // the instance is given up in any case.
            let _ = before.reopen(self.page());
        }
        *watched = Arc::downgrade(region);
    }

    /// Runs `job`, which calls the guest and touches nothing of the injected memory, before there is anything to go
    /// back to. It can be interrupted as soon as the injected memory is watched.
    pub(crate) fn prepare<T>(&self, job: impl FnOnce() -> T) -> anyhow::Result<T> {
        self.enter();
        let result = job();
        let region = self.lock().upgrade();
        if self.leave(region.as_deref())? { Err(Unprepared.into()) } else { Ok(result) }
    }

    /// The executor's thread is about to call the guest.
    pub(crate) fn enter(&self) {
        self.stop.assert_idle();
        self.thread.enter(&self.stop);
        self.stop.enter();
    }

    /// The executor's thread is back from the guest. Returns whether the execution was interrupted; the page is there
    /// again in any case.
    pub(crate) fn leave(&self, region: Option<&Region>) -> io::Result<bool> {
        Thread::leave();
        if !self.stop.leave() {
            return Ok(false);
        }
        // Whoever took it may not have closed it so far.
        let _closed = self.lock();
        region.map_or(Ok(()), |region| region.reopen(self.page()))?;
        Ok(true)
    }

    /// Ends the execution that is under way, if it is `only`. Returns whether nobody had done that before.
    pub(crate) fn take(&self, only: Option<Execution>) -> io::Result<bool> {
        let region = self.lock();
        let Some(region) = region.upgrade() else { return Ok(false) };
        let taking = self.stop.take(only);
        if taking == Taking::Missed {
            return Ok(false);
        }
        // The executor can't leave `taken` while the lock is held.
        let closed = region.close(self.page());
        self.thread.interrupt();
        closed.map(|()| taking == Taking::First)
    }

    /// Does for a fault in the injected memory what [`Region::open`] does for others, and refuses the guest what was
    /// taken away. Async-signal-safe. Called by the thread that is in the guest.
    pub(crate) fn open(&self, region: &Region, fault: usize, by_guest: bool) -> bool {
        let is_page = region.offset(fault).is_some_and(|offset| offset / *PAGE_BYTES == self.page() / *PAGE_BYTES);
        !(is_page && by_guest && self.is_taken()) && region.open(fault, by_guest)
    }

    fn page(&self) -> usize {
        self.page.load(Relaxed)
    }

    /// The execution that is under way, if there is one.
    pub(crate) fn running(&self) -> Option<Execution> {
        self.stop.running()
    }

    /// Whether the execution that is under way is to end.
    pub(crate) fn is_taken(&self) -> bool {
        self.stop.is_taken()
    }

    fn lock(&self) -> MutexGuard<'_, Weak<Region>> {
        self.region.lock().expect("no panic while held")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::memory::{Image, Writes};
    use std::io::pipe;
    use std::os::fd::AsRawFd;

    /// Whether the page that can be taken away is readable: it asks the kernel, which doesn't die of it.
    fn is_readable(region: &Region) -> bool {
        let (_reader, writer) = pipe().unwrap();
        let address = (base(region) + POLL) as *const libc::c_void;
        // SAFETY: the kernel looks whether it can read there.
        unsafe { libc::write(writer.as_raw_fd(), address, 1) == 1 }
    }

    fn base(region: &Region) -> usize {
        // SAFETY: no guest anywhere; the first page is never closed.
        unsafe { region.bytes().as_ptr() as usize }
    }

    fn watched() -> (Gate, Arc<Region>) {
        let region = Arc::new(Region::new(4 << 16, None, 0, 0).unwrap());
        // SAFETY: no guest anywhere.
        unsafe { region.track(Arc::new(Image::of(region.bytes()).unwrap()), None, Writes::default()).unwrap() };
        let gate = Gate::default();
        gate.expect(Some(Stop { functions: 1_000..2_000, at: 1_900 }), false);
        gate.watch(&region);
        (gate, region)
    }

    #[test]
    fn only_the_code_of_a_guest_that_was_taken_goes_elsewhere() {
        let (gate, region) = watched();
        assert_eq!(gate.stop.stops(1_500), None);
        for _ in 0..3 {
            gate.enter();
            assert_eq!(gate.stop.stops(1_500), None);
            assert!(gate.take(None).unwrap());
            let stops = [999, 1_000, 1_999, 2_000].map(|pc| gate.stop.stops(pc));
            assert_eq!(stops, [None, Some(1_900), Some(1_900), None]);
            assert!(gate.leave(Some(&region)).unwrap());
            assert_eq!(gate.stop.stops(1_500), None);
        }
        gate.expect(None, true);
        gate.watch(&region);
        gate.enter();
        assert!(gate.take(None).unwrap());
        assert_eq!(gate.stop.stops(1_500), None, "this code has nowhere to go");
        assert!(gate.leave(Some(&region)).unwrap());
    }

    #[test]
    fn the_page_is_closed_as_long_as_the_guest_is_taken_but_not_for_the_host() {
        let (gate, region) = watched();
        let poll = base(&region) + POLL;
        assert!(!gate.take(None).unwrap(), "no guest runs");
        let mut before = None;
        for _ in 0..3 {
            gate.enter();
            let execution = gate.running().unwrap();
            assert!(is_readable(&region) && gate.take(Some(execution)).unwrap() && !is_readable(&region));
            assert!(!gate.open(&region, poll, true), "the guest traps");
            assert!(gate.open(&region, poll, false) && is_readable(&region), "the host goes on");
            assert!(before.is_none_or(|before| !gate.take(Some(before)).unwrap()) && is_readable(&region));
            assert!(!gate.take(None).unwrap(), "it was interrupted before");
            assert!(!is_readable(&region), "but it has not ended");
            assert!(gate.leave(Some(&region)).unwrap() && is_readable(&region));
            before = Some(execution);
        }
        gate.enter();
        assert!(!gate.leave(Some(&region)).unwrap(), "nothing is left of the past");
    }
}
