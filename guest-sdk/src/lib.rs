//! What a fuzz target in Rust, compiled to WebAssembly, can use: no std, no dependencies.
//!
//! A guest needs nothing of it: fuzzbox calls `LLVMFuzzerTestOneInput(ptr, len)`, or `_start` with the input on standard
//! input. The crate keeps the name and the place of the structured draws that guests will have.
#![no_std]
