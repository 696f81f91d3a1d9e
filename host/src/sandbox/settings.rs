//! What can change the outcome of an execution, apart from module and input.

use serde::{Deserialize, Serialize};

/// Everything apart from module and input that an execution's outcome depends on. Part of a result's address, and stored with
/// each finding, so that it is reproduced under the same conditions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Export to call; chosen by [`super::Entry`]'s rules if none is named.
    pub entry: Option<String>,
    /// Arguments of a WASI command after its name.
    pub args: Vec<String>,
    /// Longest input, in bytes.
    pub input_bytes_max: u32,
    /// Limit on the sum of the guest's linear memories, in bytes. A growth beyond it fails as `memory.grow` does.
    pub memory_bytes_max: u64,
    /// Units of fuel (about one per instruction) that an execution may take until it is a hang. The default is about half a second:
    /// real programs need a quarter of a second for what they were made for (icepack packing its largest device, 985 million).
    pub fuel_max: u64,
    /// What becomes of imports that nobody provides; an error if `None`.
    pub stub_imports: Option<Stub>,
    /// `proc_exit` with a code other than 0 is a crash.
    pub crash_on_exit: bool,
}

/// What a stubbed import does when it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Stub {
    /// Ends the execution as a crash.
    Trap,
    /// Returns zeros and nulls.
    Zero,
}

impl Settings {
    /// The largest fuel limit: counters have 32 bits and no edge is counted twice for one unit of fuel.
    pub const FUEL_MAX: u64 = u32::MAX as u64;
    /// The largest limit on input length, in bytes.
    pub const INPUT_BYTES_MAX: u32 = 64 << 20;
    /// The largest limit on memory, in bytes.
    pub const MEMORY_BYTES_MAX: u64 = 4 << 30;
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            entry: None,
            args: Vec::new(),
            input_bytes_max: 1 << 20,
            memory_bytes_max: 256 << 20,
            fuel_max: 2_000_000_000,
            stub_imports: None,
            crash_on_exit: false,
        }
    }
}
