//! All that an execution shows, to be compared.

use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::Executor;

/// Everything that an execution shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// How it ended.
    pub outcome: Outcome,
    /// Edges and how often each was taken, in the order of their numbers.
    pub edges: Vec<(u32, u32)>,
    /// Units of fuel that were used.
    pub fuel: u64,
    /// What was written to standard output.
    pub stdout: Vec<u8>,
    /// What was written to standard error.
    pub stderr: Vec<u8>,
    /// The code given to `proc_exit`.
    pub exit_code: Option<u32>,
    /// The guest's memories, globals and sizes of tables afterwards.
    pub state: blake3::Hash,
}

/// Executes `input` and looks at everything.
///
/// # Panics
///
/// If the host fails.
pub fn show(executor: &mut Executor, input: &[u8]) -> Shown {
    let outcome = executor.run(input).expect("the host doesn't fail");
    let observation = executor.observation();
    let mut edges = Vec::new();
    observation.edges(|edge, count| edges.push((edge, count)));
    edges.sort_unstable();
    Shown {
        outcome,
        edges,
        fuel: observation.fuel(),
        stdout: observation.stdout().to_vec(),
        stderr: observation.stderr().to_vec(),
        exit_code: observation.exit_code(),
        state: executor.state_hash(),
    }
}
