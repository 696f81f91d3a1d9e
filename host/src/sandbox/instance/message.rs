//! The message with which an execution failed, read when somebody wants to know.

use crate::outcome::Trap;
use crate::said::Message;
use crate::sandbox::imports::host::Host;
use crate::sandbox::instance::injected::Injected;
use crate::sandbox::instance::message_format;
use crate::sandbox::memory::Region;
use crate::sandbox::messages::memory::Memory;
use crate::sandbox::messages::{FORMATS, ImportCall, panic_functions};
use crate::sandbox::targets::Target;
use fuzzbox_instrument::{Called, called};
use wasmtime::{Instance, Store};

/// An instance after an execution that failed.
pub(crate) struct FailedInstance<'a> {
    pub(crate) target: &'a Target,
    pub(crate) store: &'a mut Store<Host>,
    pub(crate) instance: &'a Instance,
    pub(crate) injected: &'a Injected,
    /// The guest's first memory.
    pub(crate) memory: &'a Region,
    /// The guest was called, and its state is another one.
    pub(crate) spent: bool,
}

impl FailedInstance<'_> {
    /// The message with which it failed: what the last function was given that takes one and was live then, and the
    /// place that the last of them was given that takes one.
    pub(crate) fn message(&mut self, trap: &Trap) -> Option<Message> {
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
    fn given(&self, Called { function, params }: Called) -> Option<ImportCall> {
        let kind = panic_functions::of_function(self.target.edges.function_name(function)?)?;
        Some(ImportCall { kind, params })
    }

    fn formatted(&mut self, arguments: &[u32]) -> Option<String> {
        let (_, export) = self.target.rewritten.injected.callable.get(FORMATS)?;
        let table = self.target.rewritten.state.tables.first()?;
        self.spent = true;
        self.injected.set_fuel(message_format::FUEL);
        self.injected.forget_calls();
        message_format::format(self.store, self.instance, (export, table), self.memory, arguments)
    }
}
