//! Room on the native stack, without which a guest that recurses would write past the end of it.

use crate::sandbox::limits::HOST_STACK_BYTES;
use anyhow::{Context, Result};

/// Calls `job` where so many bytes of stack are left for a guest, and some for the host: on this thread, or else on one
/// of its own, which costs some 50 us. Threads with [`THREAD_STACK_BYTES`](crate::sandbox::THREAD_STACK_BYTES) always
/// have room.
///
/// # Errors
///
/// Those of `job`; or if a thread can't be started.
pub(crate) fn with_room<T: Send>(guest_bytes: usize, job: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let needed = guest_bytes + HOST_STACK_BYTES;
    if left().is_some_and(|left| left >= needed) {
        return job();
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(needed + HOST_STACK_BYTES);
        let running = thread.spawn_scoped(scope, job).context("failed to start a thread to execute on")?;
        running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// How many bytes of this thread's stack are left, if that can be told. Asks the system once per thread.
#[cfg(target_os = "linux")]
fn left() -> Option<usize> {
    use std::cell::OnceCell;
    thread_local! {
        static LOWEST: OnceCell<Option<usize>> = const { OnceCell::new() };
    }
    let lowest = LOWEST.with(|lowest| *lowest.get_or_init(lowest_address))?;
    let here = 0_u8;
    (&raw const here).addr().checked_sub(lowest)
}

#[cfg(target_os = "linux")]
fn lowest_address() -> Option<usize> {
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut lowest, mut bytes) = (std::ptr::null_mut(), 0);
    // SAFETY: the attributes are used only after they were filled in, and destroyed once; the other pointers are to
    // locals.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let told = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut lowest, &raw mut bytes);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        (told == 0).then(|| lowest.addr())
    }
}

#[cfg(not(target_os = "linux"))]
fn left() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::{Builder, ThreadId, current};

    fn threads(stack_bytes: usize, guest_bytes: usize) -> (ThreadId, ThreadId) {
        let outer = Builder::new().stack_size(stack_bytes).spawn(move || {
            let inner = with_room(guest_bytes, || {
                assert!(left().is_none_or(|left| left >= guest_bytes));
                Ok(current().id())
            });
            (current().id(), inner.unwrap())
        });
        outer.unwrap().join().unwrap()
    }

    #[test]
    fn a_thread_with_room_executes_itself_and_one_without_has_it_done() {
        // A thread may get more than it asked for, but not so much.
        let (here, there) = threads(1 << 20, 128 << 20);
        assert_ne!(here, there);
        if cfg!(target_os = "linux") {
            let (here, there) = threads(4 << 20, 1 << 20);
            assert_eq!(here, there);
        }
    }
}
