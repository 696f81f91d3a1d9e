//! What a module says of itself beside its code: what it imports and exports, and of which type. Enough to tell whether
//! it can be a target, before anything is rewritten or compiled.

use crate::sandbox::source::allocator;
use crate::sandbox::source::words::{Shortened, signature};
use anyhow::{Context, Result};
use fuzzbox_instrument::recipe::{EXPORT, GIVEN, GROWTH, given_name};
use wasmparser::{
    CompositeInnerType, CustomSectionReader, ExternalKind, FuncType, GlobalType, KnownCustom, MemoryType, Name, Naming,
    Parser, Payload, TableType, TypeRef, ValType,
};

/// The sections of a module that say what it is for others. Indices are in bounds; whether the module is valid
/// otherwise is for the rewriter to say.
#[derive(Debug, Default)]
pub(crate) struct Interface {
    /// By index: function types; `None` for structs and arrays.
    types: Vec<Option<FuncType>>,
    /// In the module's order.
    pub(crate) imports: Vec<Import>,
    /// In the module's order.
    pub(crate) exports: Vec<Export>,
    /// By index, imported ones included.
    pub(crate) memories: Vec<MemoryType>,
    /// The index of the memory that pointers mean: the export `memory`, else the first; if there is one.
    pub(crate) memory: Option<u32>,
    /// By index, imported ones included.
    pub(crate) tables: Vec<TableType>,
    /// Whether there are exceptions to throw.
    pub(crate) has_tags: bool,
    /// The size of the code section in bytes.
    pub(crate) code_bytes: u32,
    /// The module's own functions that have names of an allocator's, exported or not.
    pub(crate) allocators: allocator::Found,
    /// How many functions there are, imported ones included.
    pub(crate) functions_total: u32,
}

/// Something that a module imports.
#[derive(Debug)]
pub(crate) struct Import {
    pub(crate) module: String,
    pub(crate) name: String,
    pub(crate) ty: TypeRef,
}

/// Something that a module exports.
#[derive(Debug)]
pub(crate) struct Export {
    pub(crate) name: String,
    pub(crate) ty: TypeRef,
}

impl Export {
    /// Whether it is no export of the module's, but was put there.
    pub(crate) fn is_ours(&self) -> bool {
        [EXPORT, GROWTH].contains(&&*self.name) || self.name.starts_with(GIVEN)
    }
}

/// What is in the other index spaces, of no interest later.
#[derive(Default)]
struct Spaces {
    functions: Vec<u32>,
    globals: Vec<GlobalType>,
    tags: Vec<wasmparser::TagType>,
}

impl Interface {
    /// Reads the sections of the module `wasm`.
    ///
    /// # Errors
    ///
    /// If they can't be read, or something is exported that isn't there.
    pub(crate) fn of(wasm: &[u8]) -> Result<Self> {
        let mut interface = Self::default();
        let mut spaces = Spaces::default();
        for payload in Parser::new(0).parse_all(wasm) {
            interface.read(payload?, &mut spaces)?;
        }
        interface.has_tags = !spaces.tags.is_empty();
        interface.functions_total = spaces.functions.len() as u32;
        interface.memory = interface.memory.or((!interface.memories.is_empty()).then_some(0));
        Ok(interface)
    }

    /// Whether a call recipe gives an import.
    pub(crate) fn gives(&self, import: &Import) -> bool {
        self.function(&given_name(&import.module, &import.name)).is_some()
    }

    fn read(&mut self, payload: Payload<'_>, spaces: &mut Spaces) -> Result<()> {
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
                    self.add(import.ty, spaces);
                    let (module, name) = (import.module.to_owned(), import.name.to_owned());
                    self.imports.push(Import { module, name, ty: import.ty });
                }
            }
            Payload::FunctionSection(section) => {
                for ty in section {
                    spaces.functions.push(ty?);
                }
            }
            Payload::TableSection(section) => {
                for table in section {
                    self.tables.push(table?.ty);
                }
            }
            Payload::MemorySection(section) => {
                self.memories.extend(section.into_iter().collect::<Result<Vec<_>, _>>()?);
            }
            Payload::TagSection(section) => {
                spaces.tags.extend(section.into_iter().collect::<Result<Vec<_>, _>>()?);
            }
            Payload::GlobalSection(section) => {
                for global in section {
                    spaces.globals.push(global?.ty);
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    let export = export?;
                    let ty = self.get(spaces, export.kind, export.index);
                    let ty =
                        ty.with_context(|| format!("exports `{}`, which it does not have", Shortened(export.name)))?;
                    if let ("memory", ExternalKind::Memory) = (export.name, export.kind) {
                        self.memory = Some(export.index);
                    }
                    self.exports.push(Export { name: export.name.to_owned(), ty });
                }
            }
            Payload::CodeSectionStart { size, .. } => self.code_bytes = size,
            Payload::CustomSection(section) => self.read_names(&section),
            _ => {}
        }
        Ok(())
    }

    /// Looks for functions of allocators among the names of the module's own. Names that can't be read are none.
    fn read_names(&mut self, section: &CustomSectionReader<'_>) {
        let imported = self.imports.iter().filter(|import| is_function(import.ty)).count();
        for name in function_names(section).filter(|name| name.index as usize >= imported) {
            self.allocators.add(name.index, name.name);
        }
    }

    /// Takes something imported into its index space.
    fn add(&mut self, ty: TypeRef, spaces: &mut Spaces) {
        match ty {
            TypeRef::Func(ty) | TypeRef::FuncExact(ty) => spaces.functions.push(ty),
            TypeRef::Table(ty) => self.tables.push(ty),
            TypeRef::Memory(ty) => self.memories.push(ty),
            TypeRef::Global(ty) => spaces.globals.push(ty),
            TypeRef::Tag(ty) => spaces.tags.push(ty),
        }
    }

    fn get(&self, spaces: &Spaces, kind: ExternalKind, index: u32) -> Option<TypeRef> {
        let index = index as usize;
        Some(match kind {
            ExternalKind::Func | ExternalKind::FuncExact => TypeRef::Func(*spaces.functions.get(index)?),
            ExternalKind::Table => TypeRef::Table(*self.tables.get(index)?),
            ExternalKind::Memory => TypeRef::Memory(*self.memories.get(index)?),
            ExternalKind::Global => TypeRef::Global(*spaces.globals.get(index)?),
            ExternalKind::Tag => TypeRef::Tag(*spaces.tags.get(index)?),
        })
    }

    /// The type of an export.
    pub(crate) fn export(&self, name: &str) -> Option<TypeRef> {
        self.exports.iter().find(|export| export.name == name).map(|export| export.ty)
    }

    /// The type of an exported function.
    pub(crate) fn function(&self, name: &str) -> Option<&FuncType> {
        self.function_type(self.export(name)?)
    }

    /// The type of a function, imported or exported; `None` for anything else.
    pub(crate) fn function_type(&self, ty: TypeRef) -> Option<&FuncType> {
        match ty {
            TypeRef::Func(index) | TypeRef::FuncExact(index) => self.types.get(index as usize)?.as_ref(),
            _ => None,
        }
    }

    /// The exported functions, with their types; not those that we put there.
    pub(crate) fn functions(&self) -> impl Iterator<Item = (&str, &FuncType)> {
        let own = self.exports.iter().filter(|export| !export.is_ours());
        own.filter_map(|export| Some((&*export.name, self.function_type(export.ty)?)))
    }

    /// The type of addresses in the memory that pointers mean.
    pub(crate) fn addresses(&self) -> Option<ValType> {
        Some(self.memories.get(self.memory? as usize)?.index_type())
    }

    /// Whether something is imported under this name.
    pub(crate) fn imports(&self, module: &str, name: &str) -> bool {
        self.imports.iter().any(|import| (&*import.module, &*import.name) == (module, name))
    }

    /// A type in words: `func (i32) -> i32`, `memory of 64 KiB`.
    pub(crate) fn describe(&self, ty: TypeRef) -> String {
        let function = |index: u32| {
            let ty = self.types.get(index as usize).and_then(Option::as_ref);
            ty.map_or_else(|| "of an unknown type".to_owned(), signature)
        };
        match ty {
            TypeRef::Func(index) | TypeRef::FuncExact(index) => format!("func {}", function(index)),
            TypeRef::Tag(ty) => format!("tag {}", function(ty.func_type_idx)),
            TypeRef::Table(ty) => format!("table of {} {}", ty.initial, ty.element_type),
            TypeRef::Memory(ty) => describe_memory(&ty),
            TypeRef::Global(ty) => format!("{}global {}", if ty.mutable { "mutable " } else { "" }, ty.content_type),
        }
    }
}

/// The size of a page of a memory, in bytes.
pub(crate) fn page_bytes(memory: &MemoryType) -> u64 {
    // More than 16 is refused by whoever validates the module.
    1u64.checked_shl(memory.page_size_log2.unwrap_or(16)).unwrap_or(u64::MAX)
}

/// The size of a memory from the start, in bytes.
pub(crate) fn initial_bytes(memory: &MemoryType) -> u64 {
    memory.initial.saturating_mul(page_bytes(memory))
}

fn describe_memory(ty: &MemoryType) -> String {
    let kib = |pages: u64| pages.saturating_mul(page_bytes(ty)) >> 10;
    let limit = ty.maximum.map_or_else(String::new, |pages| format!(" to {} KiB", kib(pages)));
    let wide = if ty.memory64 { ", 64-bit" } else { "" };
    let shared = if ty.shared { ", shared" } else { "" };
    format!("memory of {} KiB{limit}{wide}{shared}", kib(ty.initial))
}

/// The names of functions that a custom section has, up to what can't be read.
pub(crate) fn function_names<'a>(section: &CustomSectionReader<'a>) -> impl Iterator<Item = Naming<'a>> + use<'a> {
    let names = match section.as_known() {
        KnownCustom::Name(names) => Some(names),
        _ => None,
    };
    let functions = names.into_iter().flat_map(|names| names.map_while(Result::ok)).filter_map(|names| match names {
        Name::Function(functions) => Some(functions),
        _ => None,
    });
    functions.flat_map(|functions| functions.into_iter().map_while(Result::ok))
}

/// Whether it is a function's type.
fn is_function(ty: TypeRef) -> bool {
    matches!(ty, TypeRef::Func(_) | TypeRef::FuncExact(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_come_first_in_every_index_space() {
        let wasm = wat::parse_str(
            r#"(module
                (import "a" "f" (func (param i64)))
                (import "a" "m" (memory 2 3))
                (import "a" "g" (global (mut f32)))
                (import "a" "t" (table 4 funcref))
                (import "a" "e" (tag (param f64)))
                (func (export "own") (param i32 i32) (result i32 i32) unreachable)
                (memory (export "memory") i64 1)
                (global (export "c") v128 (v128.const i64x2 0 0))
                (export "f" (func 0)) (export "m" (memory 0)) (export "g" (global 0)) (export "t" (table 0))
                (export "e" (tag 0)))"#,
        )
        .unwrap();
        let interface = Interface::of(&wasm).unwrap();
        let shown = |name: &str| interface.describe(interface.export(name).unwrap());
        assert_eq!(
            ["own", "memory", "c", "f", "m", "g", "t", "e"].map(shown),
            [
                "func (i32, i32) -> (i32, i32)",
                "memory of 64 KiB, 64-bit",
                "global v128",
                "func (i64)",
                "memory of 128 KiB to 192 KiB",
                "mutable global f32",
                "table of 4 funcref",
                "tag (f64)"
            ]
        );
        assert_eq!(interface.addresses(), Some(ValType::I64), "of the export `memory`, not of the first");
        assert_eq!(interface.function("memory"), None);
        assert_eq!(interface.functions().map(|(name, _)| name).collect::<Vec<_>>(), ["own", "f"]);
        assert!(interface.imports("a", "t") && !interface.imports("a", "own") && interface.has_tags);
    }

    #[test]
    fn what_is_exported_has_to_be_there() {
        // Section 7, exports: memory 0 under the name `m`, in a module without memories.
        let wasm = b"\0asm\x01\0\0\0\x07\x05\x01\x01m\x02\0";
        let error = Interface::of(wasm).unwrap_err().to_string();
        assert_eq!(error, "exports `m`, which it does not have");
    }
}
