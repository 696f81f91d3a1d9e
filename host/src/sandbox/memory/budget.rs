//! The kernel's limit on mappings, which all workers share.
//!
//! Each run of writable pages between read-only ones splits a mapping in three, and a process may have 65,530 mappings
//! by default. When what is set aside for it is spent, a memory becomes one writable mapping and is restored as a
//! whole.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};

/// Mappings that may be taken.
pub(super) type Pool = AtomicIsize;

/// Half of what the kernel allows; the other half is for everything else in the process: code, stacks, other memories.
static OF_PROCESS: LazyLock<Pool> = LazyLock::new(|| {
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok().and_then(|text| text.trim().parse().ok());
    AtomicIsize::new(limit.unwrap_or(65_530) / 2)
});

/// What one user has taken from a pool. Gives it back when dropped. Async-signal-safe.
#[derive(Debug)]
pub(super) struct Budget {
    pool: &'static Pool,
    taken: AtomicIsize,
}

impl Budget {
    pub(super) fn new(pool: &'static Pool) -> Self {
        Self { pool, taken: AtomicIsize::new(0) }
    }

    /// The pool of the process. It reads a file the first time, which a fault handler must not.
    pub(super) fn of_process() -> &'static Pool {
        &OF_PROCESS
    }

    /// Takes so many mappings, or gives them back if the number is negative. If there are not enough, takes none and
    /// returns `false`; giving back never fails.
    pub(super) fn take(&self, mappings: isize) -> bool {
        if self.pool.fetch_sub(mappings, Relaxed) < mappings && mappings > 0 {
            self.pool.fetch_add(mappings, Relaxed);
            return false;
        }
        self.taken.fetch_add(mappings, Relaxed);
        true
    }

    pub(super) fn give_all_back(&self) {
        self.pool.fetch_add(self.taken.swap(0, Relaxed), Relaxed);
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        self.give_all_back();
    }
}
