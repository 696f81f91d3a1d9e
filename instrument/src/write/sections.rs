//! Sections with entries at their end: what was there before keeps its bytes.

use std::borrow::Cow;

use anyhow::{Context, Result};
use wasm_encoder::{Encode, ExportKind, ExportSection, MemorySection, MemoryType, TypeSection};

use crate::added::Additions;
use crate::added::types::AddedTypes;
use crate::instrumented::{Injected, StateExports};
use crate::module::survey::Survey;

/// Appends entries, which a section of their own holds, to the content of a section; `None` if there are none at all.
pub(crate) fn extended<'a>(old: Option<&'a [u8]>, added: &impl Encode) -> Result<Option<Cow<'a, [u8]>>> {
    let mut section = Vec::new();
    added.encode(&mut section);
    let mut reader = wasmparser::BinaryReader::new(&section, 0);
    reader.read_var_u32()?; // the section's size
    let added = reader.read_var_u32()?;
    let added_bytes = &section[reader.current_position()..];
    let (count, bytes) = match old {
        None => (0, &[][..]),
        Some(old) => {
            let mut reader = wasmparser::BinaryReader::new(old, 0);
            (reader.read_var_u32()?, &old[reader.current_position()..])
        }
    };
    if added == 0 {
        return Ok(old.map(Cow::from));
    }
    let mut data = Vec::with_capacity(5 + bytes.len() + added_bytes.len());
    count.checked_add(added).context("has too many entries in a section")?.encode(&mut data);
    data.extend_from_slice(bytes);
    data.extend_from_slice(added_bytes);
    Ok(Some(data.into()))
}

/// The function types that were added, as a section of their own.
pub(crate) fn added_types(types: &AddedTypes) -> TypeSection {
    let mut section = TypeSection::new();
    for ty in types.as_slice() {
        section.ty().func_type(ty);
    }
    section
}

pub(super) fn added_memory(injected: &Injected) -> MemorySection {
    let pages = injected.pages;
    let ty = MemoryType { minimum: pages, maximum: Some(pages), memory64: false, shared: false, page_size_log2: None };
    let mut section = MemorySection::new();
    section.memory(ty);
    section
}

pub(super) fn added_exports(
    survey: &Survey<'_>,
    added: &Additions,
    injected: &Injected,
    state: &StateExports,
) -> ExportSection {
    let mut section = ExportSection::new();
    for (index, name) in (0..).zip(&state.memories) {
        section.export(name, ExportKind::Memory, index);
    }
    for (index, name) in (0..).zip(&state.tables) {
        section.export(name, ExportKind::Table, index);
    }
    for (&(index, _), name) in survey.mutable_globals.iter().zip(&state.globals) {
        section.export(name, ExportKind::Global, index);
    }
    if let (Some(globals), Some(save), Some(restore)) = (added.globals, &state.save_globals, &state.restore_globals) {
        section.export(save, ExportKind::Func, globals.save);
        section.export(restore, ExportKind::Func, globals.restore);
    }
    if let (Some(traps), Some(name)) = (added.traps, &injected.trap_table_export) {
        section.export(name, ExportKind::Table, traps.table);
    }
    for (index, name) in injected.callable.values() {
        section.export(name, ExportKind::Func, *index);
    }
    if let (Some(annex), Some(place)) = (added.annex, &injected.annex) {
        section.export(&place.table_export, ExportKind::Table, annex.table);
    }
    let functions = added.protocol.iter().flat_map(|protocol| protocol.exports(&survey.protocol));
    for ((_, name), (_, function)) in injected.protocol_exports.iter().zip(functions) {
        section.export(name, ExportKind::Func, function);
    }
    section.export(&injected.memory_export, ExportKind::Memory, survey.memories);
    section
}
