//! The `fuzzbox` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    fuzzbox::cli::main()
}
