//! Which export of a module is fuzzed, and how it takes its input: a file for each way.
//!
//! A way is a [`Way`]: it says for people what it is, what of the settings it has no use for, and binds the export to
//! an instance, which makes a [`Call`](call::Call). Another one is a file here, and a line of [`WAYS`].

pub(super) mod call;
mod check;
pub(super) mod choose;
mod command;
mod component;
mod component_parameter;
pub(super) mod component_result;
pub(super) mod custom_mutator;
pub(super) mod file_args;
pub(super) mod function;
pub(super) mod heap;
pub(super) mod misspelled;
pub(super) mod parameter;
mod property;
mod recipe;
mod text;
pub(super) mod way;

use crate::sandbox::entry::way::{Export, Form, Way, shown};
use anyhow::Result;
use std::fmt;
use std::sync::Arc;

/// Takes an export as an entry, if it takes its input in one of the ways.
type EntryOf = fn(&Export<'_>) -> Result<Option<Entry>>;

/// The ways in which exports of modules take their inputs, in the order in which they are asked. Each takes the exports
/// that are its own; the last one takes all.
const WAYS: &[EntryOf] = &[check::entry, function::entry, property::entry, command::entry];

/// The export of a target that is called, and how it takes its input.
#[derive(Clone, Debug)]
pub struct Entry {
    way: Arc<dyn Way>,
    /// The way's, which is asked for in every execution.
    form: Form,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&*self.way))
    }
}

impl Entry {
    fn new(way: impl Way + 'static) -> Self {
        Self { form: way.form(), way: Arc::new(way) }
    }

    /// The name of the export that is called.
    pub fn export(&self) -> &str {
        self.way.export()
    }

    /// What people call it: the export's name, or a component's function as `interface#name`.
    pub fn name(&self) -> &str {
        self.way.name()
    }

    /// How it takes its input.
    pub(crate) fn way(&self) -> &dyn Way {
        &*self.way
    }

    /// Whether it is the export that runs a whole program.
    pub(crate) fn is_program(&self) -> bool {
        self.way.is_program()
    }

    /// Whether a call may ask for a snapshot, and what follows it goes on from there.
    pub(crate) fn can_be_gone_on_with(&self) -> bool {
        !self.way.is_program() || self.way.goes_on()
    }

    /// Whether the input is a choice stream.
    pub(crate) fn takes_choices(&self) -> bool {
        self.form == Form::Choices
    }

    /// Whether bytes of the input are put into linear memory.
    pub(crate) fn takes_bytes(&self) -> bool {
        matches!(self.form, Form::InMemory(_))
    }

    /// Whether the input is a record of numbers, in which each byte means something by its place.
    pub(crate) fn takes_numbers(&self) -> bool {
        matches!(self.form, Form::Numbers(_))
    }

    /// How many bytes at the start of the input are numbers. What is missing of them is 0, so an input that is filled
    /// up means the same.
    pub(crate) fn numbers_bytes(&self) -> usize {
        match self.form {
            Form::InMemory(bytes) | Form::Numbers(bytes) => bytes,
            Form::Bytes | Form::Choices => 0,
        }
    }
}
