//! `cargo fuzzbox`: what cargo finds by its name, and starts.

use std::process::ExitCode;

/// Opens its memory in large pieces. That of the C library opens it bit by bit, by a system call each time, for which
/// all threads wait in the kernel.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    fuzzbox::cli::cargo_main()
}
