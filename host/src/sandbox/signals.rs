//! The fault handler: what depends on the platform's signals is here and in [`super::memory`].

use super::memory::Region;
use std::sync::Arc;
use wasmtime::Store;
use wasmtime::unix::StoreExt;

/// Lets the first write to each page of `regions` mark it hot.
///
/// wasmtime calls the handler for every fault while the store's guest (or a host function called by it) runs. A write to a tracked page is
/// ours; everything else is the guest's own fault and goes on to wasmtime, which turns it into a trap.
pub(super) fn handle_first_writes<T>(store: &mut Store<T>, regions: Vec<Arc<Region>>) {
    // SAFETY: the handler only reads the siginfo it is given, and `Region::open` is async-signal-safe.
    unsafe {
        store.set_signal_handler(move |signal, info, _context| {
            signal == libc::SIGSEGV && {
                let address = (*info).si_addr() as usize;
                regions.iter().any(|region| region.open(address))
            }
        });
    }
}
