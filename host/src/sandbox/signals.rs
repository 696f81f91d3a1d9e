//! The fault handler: what depends on the platform's signals is here and in [`super::memory`].

use super::interrupt::Gate;
use super::memory::Region;
use std::sync::Arc;
use wasmtime::Store;
use wasmtime::unix::StoreExt;

/// Lets the first write to each page of `guest` and `injected` mark it hot, and the guest trap where it was interrupted.
///
/// wasmtime calls the handler for every fault while the store's guest (or a host function called by it) runs. A write to a tracked page is
/// ours, if `gate` says that it wasn't taken away; everything else is the guest's own fault and goes on to wasmtime, which turns it into a trap.
pub(super) fn handle_faults<T>(store: &mut Store<T>, guest: Vec<Arc<Region>>, injected: Arc<Region>, gate: Arc<Gate>) {
    // SAFETY: the handler only reads the siginfo it is given, and what it calls is async-signal-safe.
    unsafe {
        store.set_signal_handler(move |signal, info, _context| {
            signal == libc::SIGSEGV && {
                let address = (*info).si_addr() as usize;
                guest.iter().any(|region| region.open(address)) || gate.open(&injected, address)
            }
        });
    }
}
