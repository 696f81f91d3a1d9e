//! Ends an execution from another thread: see [`gate`] for how, and [`interrupter`] for who.

pub(super) mod gate;
pub(super) mod interrupter;
pub(super) mod stop;
mod thread;
pub(super) mod watchdog;

pub use thread::is_ignored;
