//! The `fuzzbox` command for the tests of this crate: the same `main` as the real one, where a test can find it.

use std::process::ExitCode;

/// Opens its memory in large pieces. That of the C library opens it bit by bit, by a system call each time, for which
/// all threads wait in the kernel.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    fuzzbox::cli::main()
}
