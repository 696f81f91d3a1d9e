//! The search: what is found, with what effort, and the same whatever the number of jobs.

mod challenges_in_wasm;
mod cheap_hangs;
mod compares;
mod crashes_shrunk;
mod custom_mutators;
mod directed;
mod edited_generators;
mod generator_edits;
mod hangs;
mod same_search;
mod strategies;
mod warm;
