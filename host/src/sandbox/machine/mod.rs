//! What there is of the machine beneath a guest: registers of an interrupted thread, the native stack, and the heap.

pub(super) mod heap;
pub(super) mod registers;
pub(super) mod stack;
