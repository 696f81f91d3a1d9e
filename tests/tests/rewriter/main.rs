//! The rewriter: what it makes behaves as the original, and says what was executed.

mod calls;
mod canonical_nans;
mod cfg_executed;
mod checks;
mod components;
mod counts;
mod execution;
mod fuel_charges;
mod legacy;
mod smith;
mod testsuite;
mod trace;

/// What the command has. These tests spend much of their time in the compiler, which takes a tenth less with it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
