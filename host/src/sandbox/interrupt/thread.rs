//! The thread that runs a guest, and the signal that interrupts it.

use crate::sandbox::interrupt::stop::StopCell;
use crate::sandbox::machine::registers::{HANDLED, Registers};
use std::cell::Cell;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::Relaxed;

/// The thread that was last in a guest, by the kernel's number; 0 if there was none.
#[derive(Debug, Default)]
pub(crate) struct Thread(AtomicI32);

/// By it a thread is interrupted. It tells of urgent data on sockets, which has to be asked for, so that nobody else
/// sends it; and it is ignored where it has no handler.
const INTERRUPT: libc::c_int = libc::SIGURG;

thread_local! {
    /// That of the executor whose guest this thread runs; null if there is none.
    static INSIDE: Cell<*const StopCell> = const { Cell::new(ptr::null()) };
    /// The kernel's number of this thread; 0 if it was not asked for.
    static NUMBER: Cell<i32> = const { Cell::new(0) };
}

impl Thread {
    /// The thread that calls this enters a guest, which can be interrupted as `stop` says. It has to leave it before
    /// that goes.
    pub(crate) fn enter(&self, stop: &StopCell) {
        if NUMBER.get() == 0 {
            NUMBER.set(number());
        }
        self.0.store(NUMBER.get(), Relaxed);
        INSIDE.set(stop);
    }

    /// The thread that calls this is back from the guest.
    pub(crate) fn leave() {
        INSIDE.set(ptr::null());
    }

    /// Interrupts the thread. If it is gone, nothing happens, or another thread of this process is interrupted for
    /// nothing.
    pub(crate) fn interrupt(&self) {
        send(self.0.load(Relaxed));
    }
}

/// Installs the handler of interruptions, once, where there can be one.
pub(crate) fn handle_interruptions() {
    static INSTALLED: Once = Once::new();
    if !HANDLED {
        return;
    }
    INSTALLED.call_once(|| {
        // SAFETY: the handler only reads and writes the context it is given, and what it calls is async-signal-safe.
        let failed = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = interrupted as *const () as libc::sighandler_t;
            // On the stack for signals, because the guest's may be at its end; and what the kernel was doing for a host
            // function goes on.
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(INTERRUPT, &raw const action, ptr::null_mut()) != 0
        };
        assert!(!failed, "a signal that can be handled: {}", std::io::Error::last_os_error());
    });
}

/// Lets the guest's code go on where it traps, if it is to end.
unsafe extern "C" fn interrupted(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let stop = INSIDE.get();
    // SAFETY: the thread is in the guest that this is of, and it lives until the thread has left it; the context is
    // what a handler is given. What the code that traps finds in registers doesn't matter to it, and it needs no more
    // of the stack than is left for the host behind each frame of the guest.
    unsafe {
        if let Some(at) = stop.as_ref().and_then(|stop| stop.stops(Registers::of(context).pc)) {
            Registers::go_on_at(context, at);
        }
    }
}

/// Whether this process was started with a signal ignored.
pub fn is_ignored(signal: i32) -> bool {
    // SAFETY: it only asks, and what it writes is plain data.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, ptr::null(), &raw mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

#[cfg(target_os = "linux")]
fn number() -> i32 {
    // SAFETY: it has no preconditions.
    unsafe { libc::gettid() }
}

#[cfg(target_os = "linux")]
fn send(thread: i32) {
    // SAFETY: threads of this process have a handler for the signal, or ignore it.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, INTERRUPT) };
}

#[cfg(not(target_os = "linux"))]
fn number() -> i32 {
    0
}

#[cfg(not(target_os = "linux"))]
fn send(_thread: i32) {}
