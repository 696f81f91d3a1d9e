//! The search: what is found, with what effort, and the same whatever the number of jobs.

mod challenges_in_wasm;
mod cheap_hangs;
mod compares;
mod crashes_shrunk;
mod custom_mutators;
mod directed;
mod edited_generators;
mod frames;
mod generator_edits;
mod goals;
mod grammar;
mod hangs;
mod lengths;
mod nearness;
mod same_search;
mod strategies;
mod warm;

/// What the command has. These tests spend much of their time in the compiler, which takes a tenth less with it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
