//! The `fuzzbox` command for the tests of this crate: the same `main` as the real one, where a test can find it.

use std::process::ExitCode;

fn main() -> ExitCode {
    fuzzbox::cli::main()
}
