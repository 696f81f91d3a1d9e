//! What there is of the machine beneath a guest: registers of an interrupted thread, and the native stack.

pub(super) mod registers;
pub(super) mod stack;
