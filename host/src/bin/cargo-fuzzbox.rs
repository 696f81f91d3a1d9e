//! `cargo fuzzbox`: what cargo finds by its name, and starts.

use std::process::ExitCode;

fn main() -> ExitCode {
    fuzzbox::cli::cargo_main()
}
