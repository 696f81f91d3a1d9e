//! `fuzzbox bench`: measurements.

mod exec;
mod measure;
mod search;
mod statistics;

use super::exit::Verdict;

/// Flags of `bench`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Executions per CPU second, replaying a directory of inputs in each variant of the module
    Exec(exec::Args),
    /// Executions and CPU seconds until strategies find a failure or reach edges, by many seeds
    Search(search::Args),
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        match self.what {
            What::Exec(args) => args.run(),
            What::Search(args) => args.run(),
        }
    }
}
