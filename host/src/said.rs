//! What a guest says of its own accord: for people, and no part of what decides.

/// What the guest said in an execution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// The message with which it failed, if it gave one to what fails.
    pub message: Option<Message>,
    /// What it wrote to its standard output last.
    pub stdout: Written,
    /// What it wrote to its standard error last.
    pub stderr: Written,
}

/// Why a guest fails, in its own words. Nothing of it is trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The words; empty if only the place is known.
    pub text: String,
    /// Source file, as the guest names it.
    pub file: Option<String>,
    /// Line in it.
    pub line: Option<u32>,
    /// Column in it.
    pub column: Option<u32>,
}

/// The end of what was written to a stream: at most [`TAIL_BYTES`](crate::sandbox::wasi::TAIL_BYTES).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Any bytes.
    pub bytes: Vec<u8>,
    /// There was more before them.
    pub cut: bool,
}

impl Said {
    /// The ends of what was written, and whether there was more.
    pub(crate) fn written(stdout: (Vec<u8>, bool), stderr: (Vec<u8>, bool)) -> Self {
        let written = |(bytes, cut)| Written { bytes, cut };
        Self { message: None, stdout: written(stdout), stderr: written(stderr) }
    }
}
