//! Memories, tables and globals that a module imports become its own: for modules whose loader makes them and does
//! nothing else with them.
//!
//! Imports come first in each index space, and so does what takes their place: if all of a kind become the module's
//! own, no index changes.

use anyhow::{Context, Result, ensure};
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{
    ConstExpr, ExportKind, ExportSection, GlobalSection, ImportSection, MemorySection, RawSection, Section as _,
    TableSection,
};
use wasmparser::{
    BinaryReader, ExportSectionReader, GlobalSectionReader, GlobalType, ImportSectionReader, MemorySectionReader,
    TableSectionReader, TypeRef, ValType,
};

use crate::module::sections::sections;

/// The names by which a memory and a table are known.
const MEMORY: &str = "memory";
const TABLE: &str = "__indirect_function_table";

const UNREADABLE: &str = "has a section that can't be encoded";

const IMPORTS: u8 = 2;
const TABLES: u8 = 4;
const MEMORIES: u8 = 5;
const GLOBALS: u8 = 6;
const EXPORTS: u8 = 7;

/// The order of sections by id, as far as it matters here.
const ORDER: [u8; 13] = [1, 2, 3, 4, 5, 13, 6, 7, 8, 9, 12, 10, 11];

/// What is imported beside functions and tags, in the module's order.
#[derive(Default)]
struct Imported {
    memories: Vec<wasmparser::MemoryType>,
    tables: Vec<wasmparser::TableType>,
    globals: Vec<(String, String, GlobalType)>,
    /// Memories and tables stay imports.
    keeps: bool,
}

/// What is given in the place of imports.
#[derive(Clone, Debug, Default)]
pub struct Provisions {
    /// Memories have at least so many pages, and tables so many elements.
    pub pages_min: u64,
    /// See there.
    pub elements_min: u64,
    /// What globals begin with, by module and name; others begin with zero.
    pub globals: Vec<((String, String), i32)>,
    /// Memories and tables stay imports: only globals become the module's own.
    pub leaves_memories: bool,
}

/// Makes all memories, tables and globals that the module imports its own. The first of each is exported, memories as
/// `memory` and tables as `__indirect_function_table`, unless something is exported under these names. `None` if
/// nothing of that kind is imported.
///
/// # Errors
///
/// If the module can't be read, or a global is no number of 32 bits.
pub fn provide(wasm: &[u8], provisions: &Provisions) -> Result<Option<Vec<u8>>> {
    let (mut imported, exported) = read(wasm)?;
    imported.keeps = provisions.leaves_memories;
    if imported.keeps {
        (imported.memories, imported.tables) = (Vec::new(), Vec::new());
    }
    if imported.memories.is_empty() && imported.tables.is_empty() && imported.globals.is_empty() {
        return Ok(None);
    }
    let mut left = [IMPORTS, TABLES, MEMORIES, GLOBALS, EXPORTS].into_iter().peekable();
    let mut new = b"\0asm\x01\0\0\0".to_vec();
    let rank = |id: u8| ORDER.iter().position(|&other| other == id);
    for section in sections(wasm)? {
        let section = section?;
        // Those that the module has not stand before the next that it has.
        while let Some(id) = left.next_if(|&id| section.id != 0 && rank(section.id) > rank(id)) {
            imported.write(id, None, &exported, provisions, &mut new)?;
        }
        match left.next_if_eq(&section.id) {
            Some(id) => {
                let reader = BinaryReader::new(section.bytes, section.range.start as u64);
                imported.write(id, Some(reader), &exported, provisions, &mut new)?;
            }
            None => RawSection { id: section.id, data: section.bytes }.append_to(&mut new),
        }
    }
    for id in left {
        imported.write(id, None, &exported, provisions, &mut new)?;
    }
    Ok(Some(new))
}

/// What is imported, and the names of what is exported.
fn read(wasm: &[u8]) -> Result<(Imported, Vec<String>)> {
    let (mut imported, mut exported) = (Imported::default(), Vec::new());
    for section in sections(wasm)? {
        let section = section?;
        let reader = BinaryReader::new(section.bytes, section.range.start as u64);
        match section.id {
            IMPORTS => {
                for import in ImportSectionReader::new(reader)?.into_imports() {
                    let import = import?;
                    match import.ty {
                        TypeRef::Memory(ty) => imported.memories.push(ty),
                        TypeRef::Table(ty) => imported.tables.push(ty),
                        TypeRef::Global(ty) => {
                            imported.globals.push((import.module.to_owned(), import.name.to_owned(), ty));
                        }
                        _ => {}
                    }
                }
            }
            EXPORTS => {
                for export in ExportSectionReader::new(reader)? {
                    exported.push(export?.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok((imported, exported))
}

impl Imported {
    /// Writes the section `id`: what was imported, and then what was there already.
    fn write(
        &self,
        id: u8,
        old: Option<BinaryReader<'_>>,
        exported: &[String],
        provisions: &Provisions,
        new: &mut Vec<u8>,
    ) -> Result<()> {
        match id {
            IMPORTS => {
                let mut section = ImportSection::new();
                let all = old.map(ImportSectionReader::new).transpose()?.map(ImportSectionReader::into_imports);
                for import in all.into_iter().flatten() {
                    let import = import?;
                    let is_own = match import.ty {
                        TypeRef::Memory(_) | TypeRef::Table(_) => !self.keeps,
                        TypeRef::Global(_) => true,
                        _ => false,
                    };
                    if !is_own {
                        let ty = RoundtripReencoder.entity_type(import.ty).context(UNREADABLE)?;
                        section.import(import.module, import.name, ty);
                    }
                }
                section.append_to(new);
            }
            TABLES => self.write_tables(old, provisions, new)?,
            MEMORIES => self.write_memories(old, provisions, new)?,
            GLOBALS => self.write_globals(old, provisions, new)?,
            _ => self.write_exports(old, exported, new)?,
        }
        Ok(())
    }

    fn write_tables(&self, old: Option<BinaryReader<'_>>, provisions: &Provisions, new: &mut Vec<u8>) -> Result<()> {
        let mut section = TableSection::new();
        for &ty in &self.tables {
            let mut ty = RoundtripReencoder.table_type(ty).context(UNREADABLE)?;
            ty.minimum = ty.minimum.max(provisions.elements_min);
            ty.maximum = ty.maximum.map(|maximum| maximum.max(ty.minimum));
            section.table(ty);
        }
        if let Some(reader) = old {
            let old = TableSectionReader::new(reader)?;
            RoundtripReencoder.parse_table_section(&mut section, old).context(UNREADABLE)?;
        }
        if !section.is_empty() {
            section.append_to(new);
        }
        Ok(())
    }

    fn write_memories(&self, old: Option<BinaryReader<'_>>, provisions: &Provisions, new: &mut Vec<u8>) -> Result<()> {
        let mut section = MemorySection::new();
        for &ty in &self.memories {
            ensure!(!ty.shared, "imports a shared memory");
            let mut ty = RoundtripReencoder.memory_type(ty).context(UNREADABLE)?;
            ty.minimum = ty.minimum.max(provisions.pages_min);
            ty.maximum = ty.maximum.map(|maximum| maximum.max(ty.minimum));
            section.memory(ty);
        }
        if let Some(reader) = old {
            let old = MemorySectionReader::new(reader)?;
            RoundtripReencoder.parse_memory_section(&mut section, old).context(UNREADABLE)?;
        }
        if !section.is_empty() {
            section.append_to(new);
        }
        Ok(())
    }

    fn write_globals(&self, old: Option<BinaryReader<'_>>, provisions: &Provisions, new: &mut Vec<u8>) -> Result<()> {
        let mut section = GlobalSection::new();
        for (module, name, ty) in &self.globals {
            ensure!(ty.content_type == ValType::I32, "imports the global `{module}.{name}`, which is no i32");
            let given = provisions.globals.iter().find(|(of, _)| (&of.0, &of.1) == (module, name));
            let value = given.map_or(0, |(_, value)| *value);
            let ty = RoundtripReencoder.global_type(*ty).context(UNREADABLE)?;
            section.global(ty, &ConstExpr::i32_const(value));
        }
        if let Some(reader) = old {
            let old = GlobalSectionReader::new(reader)?;
            RoundtripReencoder.parse_global_section(&mut section, old).context(UNREADABLE)?;
        }
        if !section.is_empty() {
            section.append_to(new);
        }
        Ok(())
    }

    fn write_exports(&self, old: Option<BinaryReader<'_>>, exported: &[String], new: &mut Vec<u8>) -> Result<()> {
        let mut section = ExportSection::new();
        if let Some(reader) = old {
            let old = ExportSectionReader::new(reader)?;
            RoundtripReencoder.parse_export_section(&mut section, old).context(UNREADABLE)?;
        }
        let named = [
            (MEMORY, ExportKind::Memory, self.memories.is_empty()),
            (TABLE, ExportKind::Table, self.tables.is_empty()),
        ];
        for (name, kind, is_empty) in named {
            if !is_empty && !exported.iter().any(|other| other == name) {
                section.export(name, kind, 0);
            }
        }
        section.append_to(new);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_imported_is_the_modules_own_and_keeps_its_index() {
        let module = wat::parse_str(
            r#"(module (import "env" "memory" (memory 1 4)) (import "env" "f" (func)) (import "e" "t" (table 1 funcref))
            (import "env" "base" (global i32)) (import "env" "sp" (global (mut i32)))
            (global (mut i32) (i32.const 7))
            (func (export "g") (result i32) (i32.load (i32.add (global.get 1) (global.get 2))))
            (elem (i32.const 0) 0) (data (global.get 0) "x"))"#,
        )
        .unwrap();
        let globals = vec![(("env".to_owned(), "base".to_owned()), 1024)];
        let provisions = Provisions { pages_min: 2, elements_min: 3, globals, leaves_memories: false };
        let expected = wat::parse_str(
            r#"(module (import "env" "f" (func)) (table 3 funcref) (memory 2 4)
            (global i32 (i32.const 1024)) (global (mut i32) (i32.const 0)) (global (mut i32) (i32.const 7))
            (export "g" (func 1)) (export "memory" (memory 0)) (export "__indirect_function_table" (table 0))
            (func (result i32) (i32.load (i32.add (global.get 1) (global.get 2))))
            (elem (i32.const 0) 0) (data (global.get 0) "x"))"#,
        )
        .unwrap();
        let text = |wasm: &[u8]| wasmprinter::print_bytes(wasm).unwrap();
        let provided = provide(&module, &provisions).unwrap().unwrap();
        // How types are shared is not the pass's.
        assert_eq!(text(&provided).replace(" (type 1)", ""), text(&expected).replace(" (type 1)", ""));
        assert_eq!(provide(&provided, &provisions).unwrap(), None);
        assert!(provide(b"\0asm", &provisions).is_err());
    }
}
