//! What a person wants to know about a target before it is fuzzed.

use super::entry::signature;
use super::target::{Target, added_exports};
use crate::store::ModuleId;
use serde::Serialize;
use std::collections::BTreeSet;
use wasmtime::ExternType;

/// A target in words and numbers, for `inspect`.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The module's id.
    pub module: ModuleId,
    /// The entry and how it takes its input.
    pub entry: String,
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
        let added = added_exports(&self.injected, &self.state);
        let imports = self.module.imports().map(|import| {
            format!("{}.{} {}", import.module().escape_debug(), import.name().escape_debug(), describe(&import.ty()))
        });
        let exports = self.module.exports().filter(|export| !added.contains(export.name()));
        let memories =
            self.state.memories.iter().filter_map(|name| self.module.get_export(name)).map(|ty| describe(&ty));
        let functions: BTreeSet<u32> = self.edges.edges.iter().map(|edge| edge.function).collect();
        Summary {
            module: self.id,
            entry: self.entry.to_string(),
            imports: imports.collect(),
            exports: exports
                .map(|export| format!("{} {}", export.name().escape_debug(), describe(&export.ty())))
                .collect(),
            memories: memories.collect(),
            edges: self.edges.edges.len() as u64,
            functions: functions.len() as u64,
            restore: self.restore_plan(),
            finds_low_stores: self.finds_low_stores,
            has_dwarf: fuzzbox_instrument::custom_sections(&self.bytes).any(|(name, _)| name == ".debug_line"),
        }
    }
}

fn describe(ty: &ExternType) -> String {
    match ty {
        ExternType::Func(ty) => format!("func {}", signature(ty)),
        ExternType::Global(ty) => format!("global {}", ty.content()),
        ExternType::Table(ty) => format!("table of {} {}", ty.minimum(), ty.element()),
        ExternType::Tag(ty) => format!("tag {}", signature(ty.ty())),
        ExternType::Memory(ty) => {
            let kib = |pages: u64| pages.saturating_mul(ty.page_size()) >> 10;
            let limit = ty.maximum().map_or_else(String::new, |pages| format!(" to {} KiB", kib(pages)));
            let wide = if ty.is_64() { ", 64-bit" } else { "" };
            format!("memory of {} KiB{limit}{wide}", kib(ty.minimum()))
        }
    }
}
