//! The fault handler: what depends on the platform's signals is here and in [`super::memory`].

use super::fault::FaultRecord;
use super::interrupt::Gate;
use super::memory::Region;
use std::ops::Range;
use std::sync::Arc;
use wasmtime::unix::StoreExt;
use wasmtime::{Module, Store};

/// What the handler of a store has to know.
pub(super) struct Faults {
    /// The guest's memories.
    pub(super) guest: Vec<Arc<Region>>,
    pub(super) injected: Arc<Region>,
    pub(super) gate: Arc<Gate>,
    /// Where to record what becomes a trap.
    pub(super) record: Arc<FaultRecord>,
}

/// Whether faults can be handled here. Where they can't, nothing is restored: each execution has a new instance.
pub(super) const HANDLED: bool = cfg!(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")));

/// The registers of an interrupted thread from which its frames can be found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registers {
    /// The instruction.
    pub(super) pc: usize,
    /// Address of the innermost frame's record: the caller's frame pointer, and the return address.
    pub(super) frame: usize,
    /// The stack pointer.
    pub(super) stack: usize,
}

/// Lets the first write to each page mark it hot, and the guest trap where it was interrupted.
///
/// wasmtime calls the handler for every fault while the store's guest (or a host function called by it) runs. A write to a tracked page is
/// ours, if the gate says that it wasn't taken away; so is whatever else than the guest's own code does inside its memories, because nobody
/// could make a trap of it. Everything else is the guest's own fault: it is recorded and goes on to wasmtime, which turns
/// it into a trap.
pub(super) fn handle_faults<T>(store: &mut Store<T>, module: &Module, faults: Faults) {
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
    /// Whether the fault (of an access to memory if it has an address) was for us, so that what faulted can be tried again.
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

impl Registers {
    /// Lets the interrupted thread go on at `pc`.
    ///
    /// # Safety
    ///
    /// `context` is what a signal handler was given, and code at `pc` needs no registers.
    pub(super) unsafe fn go_on_at(context: *mut libc::c_void, pc: usize) {
        // SAFETY: that is its type.
        let machine = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext };
        #[cfg(target_arch = "x86_64")]
        {
            machine.gregs[libc::REG_RIP as usize] = pc as libc::greg_t;
        }
        #[cfg(target_arch = "aarch64")]
        {
            machine.pc = pc as libc::c_ulonglong;
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        unreachable!("nothing is interrupted here, {machine:p} {pc:#x}")
    }

    /// # Safety
    ///
    /// `context` is what a signal handler was given.
    pub(super) unsafe fn of(context: *const libc::c_void) -> Self {
        // SAFETY: that is its type.
        let machine = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
        #[cfg(target_arch = "x86_64")]
        {
            let register = |index: libc::c_int| machine.gregs[index as usize] as usize;
            let [pc, frame, stack] = [libc::REG_RIP, libc::REG_RBP, libc::REG_RSP].map(register);
            Self { pc, frame, stack }
        }
        #[cfg(target_arch = "aarch64")]
        {
            let [pc, frame, stack] = [machine.pc, machine.regs[29], machine.sp].map(|value| value as usize);
            Self { pc, frame, stack }
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        unreachable!("faults are not handled here, {machine:p}")
    }
}

#[cfg(test)]
mod tests;
