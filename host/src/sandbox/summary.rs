//! What a person wants to know about a target before it is fuzzed.

use super::entry::Entry;
use super::parameter::Parameter;
use super::target::Target;
use crate::store::ModuleId;
use fuzzbox_instrument::Takes;
use serde::Serialize;
use std::collections::BTreeSet;
use wasmparser::TypeRef;

/// A target in words and numbers, for `inspect`.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The module's id.
    pub module: ModuleId,
    /// The entry and how it takes its input.
    pub entry: String,
    /// Where the input is for the guest.
    pub input: String,
    /// Whether a read past the end of the input is found.
    pub over_read: &'static str,
    /// What runs before the first input, in this order.
    pub before: Vec<String>,
    /// `module.name type`, in the module's order.
    pub imports: Vec<String>,
    /// `name type`, in the module's order.
    pub exports: Vec<String>,
    /// Size and limit of each linear memory of the guest.
    pub memories: Vec<String>,
    /// Edges that are counted.
    pub edges: u64,
    /// Functions that have edges.
    pub functions: u64,
    /// How state is restored after an execution, and why so.
    pub restore: String,
    /// Writes below address 1024 are found.
    pub finds_low_stores: bool,
    /// The module has debug information.
    pub has_dwarf: bool,
}

impl Target {
    /// Describes the target.
    pub fn summary(&self) -> Summary {
        let describe = |ty| self.interface.describe(ty);
        let imports = self
            .interface
            .imports
            .iter()
            .map(|import| format!("{}.{} {}", visible(&import.module), visible(&import.name), describe(import.ty)));
        let exports = self.interface.exports.iter();
        let memories = self.interface.memories.iter().map(|&memory| describe(TypeRef::Memory(memory)));
        let functions: BTreeSet<u32> = self.edges.edges.iter().map(|edge| edge.function).collect();
        Summary {
            module: self.id,
            entry: self.entry.to_string(),
            input: self.input(),
            over_read: self.over_read(),
            before: self.before(),
            imports: imports.collect(),
            exports: match &self.component {
                Some(component) => component.exports(),
                None => exports.map(|export| format!("{} {}", visible(&export.name), describe(export.ty))).collect(),
            },
            memories: memories.collect(),
            edges: self.edges.edges.len() as u64,
            functions: functions.len() as u64,
            restore: self.restore_plan(),
            finds_low_stores: self.rewritten.finds_low_stores,
            has_dwarf: fuzzbox_instrument::custom_sections(&self.bytes).any(|(name, _)| name == ".debug_line"),
        }
    }

    /// Where the input is for the guest, in words.
    fn input(&self) -> String {
        let parameters = match &self.entry {
            Entry::Check { .. } => return "a value, where `fbx_alloc` says".to_owned(),
            Entry::Property { .. } => return "a choice stream, from which the guest draws".to_owned(),
            Entry::Command { files, .. } if files.is_empty() => return "standard input".to_owned(),
            Entry::Command { files, .. } => return format!("the file {}", files.join(" and ")),
            Entry::Component { takes, .. } => {
                return match takes {
                    Takes::Bytes => "a list that the component's allocator has room for",
                    Takes::Text => {
                        "a string that the component's allocator has room for; bytes that are no UTF-8 are Latin-1"
                    }
                    Takes::Nothing | Takes::Other => "standard input",
                }
                .to_owned();
            }
            Entry::Function { parameters, .. } => parameters,
        };
        let place = match self.attempts.done() {
            _ if !self.entry.takes_bytes() => None,
            Some(done) if !done.at_end => Some("in a block of the guest's `malloc`"),
            Some(done) if done.closed_page => Some("in memory, before an inaccessible page"),
            _ => Some("at the end of memory"),
        };
        let numbers = Parameter::number_bytes(parameters);
        match place {
            None => format!("numbers, from its first {numbers} bytes"),
            Some(place) if numbers == 0 => place.to_owned(),
            Some(place) => format!("numbers, from its first {numbers} bytes; the others {place}"),
        }
    }

    /// Whether a read past the end of the input is found, in words.
    fn over_read(&self) -> &'static str {
        match &self.entry {
            Entry::Property { .. } => "impossible: what is drawn has an end",
            Entry::Check { .. } => "not found: behind the value is other memory of the guest",
            Entry::Command { .. } => "not found: the guest reads its input into memory of its own",
            Entry::Component { .. } => "not found: behind the input is other memory of the component",
            Entry::Function { .. } if !self.entry.takes_bytes() => "impossible: numbers have no end",
            Entry::Function { .. } if self.attempts.done().is_some_and(|done| done.at_end) => {
                if self.attempts.done().is_some_and(|done| done.closed_page) {
                    "found: the page behind the input is inaccessible"
                } else {
                    "found: it traps, as long as the guest has not grown its memory"
                }
            }
            Entry::Function { .. } => "not found: behind the input is other memory of the guest",
        }
    }

    /// What runs before the first input.
    fn before(&self) -> Vec<String> {
        let exports = |name: &str| self.interface.function(name).is_some();
        let initialisers =
            [("_initialize", !self.entry.is_program()), ("LLVMFuzzerInitialize", self.entry.takes_bytes())];
        let called = initialisers.iter().filter(|(name, is_called)| *is_called && exports(name));
        let mut before: Vec<_> = called.map(|(name, _)| (*name).to_owned()).collect();
        if let Some(done) = self.attempts.done() {
            if done.heap {
                before.push(format!("growth of the heap by {} KiB", self.settings.grow_heap_bytes.div_ceil(1024)));
            }
            if done.warm_up {
                before.push("a run with the empty input".to_owned());
            }
        }
        before
    }
}

/// A name in one line, also one that is empty.
fn visible(name: &str) -> String {
    if name.is_empty() { "\"\"".to_owned() } else { name.escape_debug().to_string() }
}
