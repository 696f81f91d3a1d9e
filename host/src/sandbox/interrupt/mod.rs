//! Ends an execution from another thread: see [`gate`] for how, and [`interrupter`] for who.
//!
//! # What has no fuel is interrupted
//!
//! What has no fuel is interrupted. The variants `full` and `fast` have no fuel: another thread sends a signal, whose
//! handler lets the guest's code, wherever it is, go on in a function that traps (a trap leaves wasmtime's entry as it
//! was called, whatever registers and frames hold). What the guest calls outside of its code is not interrupted; behind
//! what may take long (bulk operators, growth, imported functions) there is a load from a page that is taken away. One
//! atomic per executor (idle, inside, taken) makes a signal that comes too late harmless. That a clock decided is no
//! verdict: the outcome is `Interrupted`, and whether it is a hang is for the variant with fuel to say. In these
//! variants `unreachable` is a host function that fails, which costs less than a signal.

pub(super) mod gate;
pub(super) mod interrupter;
pub(super) mod stop;
mod thread;
pub(super) mod watchdog;

pub use thread::is_ignored;
