//! What a mutant was made with, by number.

use super::lengths::Length;

/// The changes that a mutant had, and the tokens that were put into it.
#[derive(Clone, Debug, Default)]
pub(super) struct Used {
    /// By their places in the mutator's table.
    pub(super) changes: Vec<usize>,
    /// By their places in a list.
    pub(super) tokens: Vec<(List, usize)>,
    /// What of it still counts others of its bytes.
    pub(super) lengths: Vec<Length>,
}

/// Where tokens are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    /// The user's dictionary, and strings of the module.
    Tokens,
    /// What the code compares with.
    Fields,
    /// What testcases were compared with.
    Compared,
}
