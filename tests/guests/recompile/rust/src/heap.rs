//! An allocator that only ever grows.

use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::{AtomicUsize, Ordering};

const BYTES: usize = 1 << 20;

#[repr(C, align(16))]
struct Bytes(core::cell::UnsafeCell<[u8; BYTES]>);

unsafe impl Sync for Bytes {}

static BYTES_OF_HEAP: Bytes = Bytes(core::cell::UnsafeCell::new([0; BYTES]));

pub struct Heap {
    used: AtomicUsize,
}

impl Heap {
    pub const fn new() -> Heap {
        Heap { used: AtomicUsize::new(0) }
    }
}

unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let start = self.used.load(Ordering::Relaxed).next_multiple_of(layout.align());
        match start.checked_add(layout.size()) {
            Some(end) if end <= BYTES => {
                self.used.store(end, Ordering::Relaxed);
                unsafe { BYTES_OF_HEAP.0.get().cast::<u8>().add(start) }
            }
            _ => core::ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}
