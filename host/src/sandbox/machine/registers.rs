//! The registers of an interrupted thread.

/// Whether faults can be handled here. Where they can't, nothing is restored: each execution has a new instance.
pub(crate) const HANDLED: bool = cfg!(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")));

/// The registers of an interrupted thread from which its frames can be found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registers {
    /// The instruction.
    pub(crate) pc: usize,
    /// Address of the innermost frame's record: the caller's frame pointer, and the return address.
    pub(crate) frame: usize,
    /// The stack pointer.
    pub(crate) stack: usize,
}

impl Registers {
    /// Lets the interrupted thread go on at `pc`.
    ///
    /// # Safety
    ///
    /// `context` is what a signal handler was given, and code at `pc` needs no registers.
    pub(crate) unsafe fn go_on_at(context: *mut libc::c_void, pc: usize) {
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
    pub(crate) unsafe fn of(context: *const libc::c_void) -> Self {
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
