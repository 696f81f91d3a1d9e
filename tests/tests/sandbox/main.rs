//! The sandbox: what guests can do, and that nothing of it is left behind.

mod code_cache;
mod components;
mod draws;
mod entry;
#[path = "../rewriter/execution/mod.rs"]
mod execution;
mod growing;
mod input_end;
mod limits;
mod own_memory;
mod quick_failures;
mod restored_equals_fresh;
mod restored_smith;
mod torture;
mod variants;
mod wasi_oracle;
