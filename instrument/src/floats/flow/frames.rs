//! Control frames.

use crate::floats::values::{Slot, Value};

/// A control frame of code that can be reached.
pub(super) struct Frame {
    pub(super) kind: Kind,
    /// How high the stack is below its parameters.
    pub(super) height: usize,
    /// What a branch to it carries: values that are joined, or [`EXACT`] for what is no float.
    pub(super) label: Vec<Value>,
    /// Blocks from which its label is reached.
    pub(super) from: Vec<u32>,
}

pub(super) enum Kind {
    Function,
    Block,
    /// The label is this block.
    Loop(u32),
    /// Up to `else`: the block before it, and the parameters.
    If(u32, Vec<Slot>),
}
