//! What a recipe sees of its module, and what is to be known of it to append a function.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use wasmparser::{CompositeInnerType, ExternalKind, FuncType, Parser, Payload, TypeRef};

/// What a recipe sees of its module.
#[derive(Debug, Default)]
pub(super) struct View {
    /// The exported functions, by name, and those that are imported, by `module.name`: index and type.
    pub(super) exports: BTreeMap<String, (u32, FuncType)>,
    /// The memory that pointers mean, which is the export `memory` or the first, and whether it has 64-bit addresses.
    pub(super) memory: Option<(u32, bool)>,
    /// The imported functions: module, name and type.
    pub(super) imports: Vec<(String, String, FuncType)>,
    /// How many globals there are.
    pub(super) globals: u32,
    /// How many types there are.
    pub(super) types: u32,
    /// How many functions there are.
    pub(super) functions: u32,
}

/// What sections say, by index.
#[derive(Default)]
struct Sections<'a> {
    types: Vec<Option<FuncType>>,
    /// The type of each function.
    functions: Vec<u32>,
    /// Whether each memory has 64-bit addresses.
    memories: Vec<bool>,
    exports: Vec<(&'a str, ExternalKind, u32)>,
    /// Imported functions: module, name and index.
    imports: Vec<(&'a str, &'a str, u32)>,
    globals: u32,
}

impl<'a> Sections<'a> {
    fn read(&mut self, payload: Payload<'a>) -> Result<()> {
        match payload {
            Payload::TypeSection(section) => {
                for group in section {
                    self.types.extend(group?.into_types().map(|ty| match ty.composite_type.inner {
                        CompositeInnerType::Func(ty) => Some(ty),
                        _ => None,
                    }));
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import?;
                    match import.ty {
                        TypeRef::Func(ty) | TypeRef::FuncExact(ty) => {
                            let index = u32::try_from(self.functions.len())?;
                            self.imports.push((import.module, import.name, index));
                            self.functions.push(ty);
                        }
                        TypeRef::Memory(ty) => self.memories.push(ty.memory64),
                        TypeRef::Global(_) => self.globals += 1,
                        _ => {}
                    }
                }
            }
            Payload::FunctionSection(section) => {
                for ty in section {
                    self.functions.push(ty?);
                }
            }
            Payload::MemorySection(section) => {
                for memory in section {
                    self.memories.push(memory?.memory64);
                }
            }
            Payload::GlobalSection(section) => self.globals += section.count(),
            Payload::ExportSection(section) => {
                for export in section {
                    let export = export?;
                    self.exports.push((export.name, export.kind, export.index));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The type of a function.
    fn ty(&self, function: u32) -> Option<FuncType> {
        let ty = *self.functions.get(function as usize)?;
        self.types.get(ty as usize)?.clone()
    }
}

impl View {
    pub(super) fn of(wasm: &[u8]) -> Result<Self> {
        let mut sections = Sections::default();
        for payload in Parser::new(0).parse_all(wasm) {
            sections.read(payload?)?;
        }
        let (mut view, mut memory) = (Self::default(), 0);
        for &(name, kind, index) in &sections.exports {
            match kind {
                ExternalKind::Func | ExternalKind::FuncExact => {
                    let ty = sections.ty(index).context("exports a function that it does not have")?;
                    view.exports.insert(name.to_owned(), (index, ty));
                }
                ExternalKind::Memory if name == "memory" => memory = index,
                _ => {}
            }
        }
        for &(module, name, index) in &sections.imports {
            if let Some(ty) = sections.ty(index) {
                view.exports.entry(format!("{module}.{name}")).or_insert((index, ty.clone()));
                view.imports.push((module.to_owned(), name.to_owned(), ty));
            }
        }
        view.globals = sections.globals;
        view.memory = sections.memories.get(memory as usize).map(|&wide| (memory, wide));
        view.types = u32::try_from(sections.types.len())?;
        view.functions = u32::try_from(sections.functions.len())?;
        Ok(view)
    }
}
