//! The fault handler: what depends on the platform's signals is here and in [`crate::sandbox::memory`].

use crate::sandbox::faults::record::FaultRecord;
use crate::sandbox::interrupt::gate::Gate;
use crate::sandbox::machine::registers::Registers;
use crate::sandbox::memory::Region;
use std::ops::Range;
use std::sync::Arc;
use wasmtime::unix::StoreExt;
use wasmtime::{Module, Store};

/// What the handler of a store has to know.
pub(crate) struct Faults {
    /// The guest's memories.
    pub(crate) guest: Vec<Arc<Region>>,
    pub(crate) injected: Arc<Region>,
    pub(crate) gate: Arc<Gate>,
    /// Where to record what becomes a trap.
    pub(crate) record: Arc<FaultRecord>,
}

/// Lets the first write to each page mark it hot, and the guest trap where it was interrupted.
///
/// wasmtime calls the handler for every fault while the store's guest (or a host function called by it) runs. A write
/// to a tracked page is ours, if the gate says that it wasn't taken away; so is whatever else than the guest's own code
/// does inside its memories, because nobody could make a trap of it. Everything else is the guest's own fault: it is
/// recorded and goes on to wasmtime, which turns it into a trap.
pub(crate) fn handle_faults<T>(store: &mut Store<T>, module: &Module, faults: Faults) {
    // The store keeps the module's code where it is.
    let code = module.text().as_ptr_range();
    let code = code.start as usize..code.end as usize;
    // SAFETY: the handler only reads the siginfo and the context it is given, and what it calls is async-signal-safe.
    unsafe {
        store.set_signal_handler(move |signal, info, context| {
            let address = (signal == libc::SIGSEGV).then(|| (*info).si_addr() as usize);
            faults.handle(address, Registers::of(context), &code)
        });
    }
}

impl Faults {
    /// Whether the fault (of an access to memory if it has an address) was for us, so that what faulted can be tried
    /// again.
    ///
    /// # Safety
    ///
    /// `registers` are those of the thread that this interrupts.
    unsafe fn handle(&self, address: Option<usize>, registers: Registers, code: &Range<usize>) -> bool {
        let by_guest = code.contains(&registers.pc);
        let ours = address.is_some_and(|address| {
            self.guest.iter().any(|region| region.open(address, by_guest))
                || self.gate.open(&self.injected, address, by_guest)
        });
        if !ours && by_guest {
            // SAFETY: by the contract.
            unsafe { self.record.record(registers, code) };
        }
        ours
    }
}

#[cfg(test)]
mod tests;
