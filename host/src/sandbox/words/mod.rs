//! The messages with which guests fail, where there is no stream to write them to.
//!
//! Who calls `env.abort(message, file, line, column)` of the host, or the innermost functions of its language's library for panics, says why
//! it fails, but in numbers. These are kept: for imports by the host ([`Given`]), for functions of the module by code at their entries
//! ([`called`]). What they mean is read from memory when the execution has ended and somebody wants to know.
//!
//! Everything here is the guest's to invent: pointers, lengths, texts. Nothing of it decides anything.

mod assemblyscript;
mod format;
mod memory;
mod points;

pub(super) use assemblyscript::{Aborted, define as define_assemblyscript};

use super::host::Host;
use super::injected::Injected;
use super::memory::Region;
use super::target::Target;
use crate::outcome::Trap;
use crate::said::Message;
use fuzzbox_instrument::{Called, called};
use memory::Memory;
use points::Kind;
use wasmtime::{Instance, Store};

/// The parameters of a function that ends executions with a message.
#[derive(Clone, Debug)]
pub(super) struct Given {
    kind: Kind,
    params: Vec<u64>,
}

impl Given {
    /// What an import was called with; `None` if it is not known to take a message.
    pub(super) fn to_import(
        module: &str,
        name: &str,
        params: impl ExactSizeIterator<Item = Option<u64>>,
    ) -> Option<Self> {
        let kind = points::of_import(module, name, params.len())?;
        Some(Self { kind, params: params.collect::<Option<_>>()? })
    }
}

/// Whether a function of this name is one whose parameters say why programs fail.
pub(super) fn takes_message(name: &str) -> bool {
    points::of_function(name).is_some()
}

/// Whether a function of this name is `core::fmt::write`.
pub(super) fn formats(name: &str) -> bool {
    name.contains("fmt")
        && name.contains("write")
        && format!("{:#}", rustc_demangle::demangle(name)) == "core::fmt::write"
}

/// An instance after an execution that failed.
pub(super) struct Failed<'a> {
    pub(super) target: &'a Target,
    pub(super) store: &'a mut Store<Host>,
    pub(super) instance: &'a Instance,
    pub(super) injected: &'a Injected,
    /// The guest's first memory.
    pub(super) memory: &'a Region,
    /// The guest was called, and its state is another one.
    pub(super) spent: bool,
}

impl Failed<'_> {
    /// The message with which it failed: what the last function was given that takes one and was live then, and the place that
    /// the last of them was given that takes one.
    pub(super) fn message(&mut self, trap: &Trap) -> Option<Message> {
        if let Some(given) = self.store.data_mut().given.take() {
            return given
                .message_in(&Memory(self.memory), &mut |_| None)
                .filter(|message| *message != Message::default());
        }
        let mut found: Option<Message> = None;
        for call in called(self.injected.bytes()) {
            let is_live = trap.frames.iter().any(|frame| frame.function == call.function);
            let Some(given) = Some(call).filter(|_| is_live).and_then(|call| self.given(call)) else {
                continue;
            };
            let (memory, mut told) = (self.memory, found.as_ref().is_some_and(|found| !found.text.is_empty()));
            let message = given.message_in(&Memory(memory), &mut |arguments| {
                // Once: that changes the guest's state.
                let first = !std::mem::replace(&mut told, true);
                if first { self.formatted(arguments) } else { None }
            });
            let Some(message) = message else { continue };
            let place = found.as_ref().filter(|found| found.file.is_some()).cloned();
            let text = found.filter(|found| !found.text.is_empty()).map_or(message.text.clone(), |found| found.text);
            found = Some(Message { text, ..place.unwrap_or(message) });
        }
        found.filter(|message| *message != Message::default())
    }

    /// What a function of the module was given.
    fn given(&self, Called { function, params }: Called) -> Option<Given> {
        let kind = points::of_function(self.target.edges.function_name(function)?)?;
        Some(Given { kind, params })
    }

    fn formatted(&mut self, arguments: &[u32]) -> Option<String> {
        let (_, export) = self.target.injected.callable.as_ref()?;
        let table = self.target.state.tables.first()?;
        self.spent = true;
        self.injected.set_fuel(format::FUEL);
        self.injected.forget_calls();
        format::format(self.store, self.instance, (export, table), self.memory, arguments)
    }
}
