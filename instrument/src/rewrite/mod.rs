//! Third pass: writes the new module, section by section.
//!
//! Sections are copied as they are, or get entries at their end; then what was there before keeps its bytes, because
//! no index changes. Only function bodies are written anew.

mod body;
mod code;

use anyhow::{Context, Result};
use wasm_encoder::{
    ConstExpr, DataSection, Encode, ExportKind, ExportSection, MemorySection, MemoryType, Module, RawSection,
    Section as _, SectionId, TypeSection,
};
use wasmparser::BinaryReader;

use crate::offsets::OffsetMap;
use crate::plan::Plan;
use crate::sections::sections;
use crate::survey::Survey;
use crate::types::AddedTypes;
use crate::{Injected, Options, StateExports, layout};

/// The sections in the order in which a module has them.
const ORDER: [SectionId; 13] = [
    SectionId::Type,
    SectionId::Import,
    SectionId::Function,
    SectionId::Table,
    SectionId::Memory,
    SectionId::Tag,
    SectionId::Global,
    SectionId::Export,
    SectionId::Start,
    SectionId::Element,
    SectionId::DataCount,
    SectionId::Code,
    SectionId::Data,
];

/// What is known about the new module besides its edges.
pub(crate) struct Rewritten {
    pub(crate) wasm: Vec<u8>,
    pub(crate) injected: Injected,
    pub(crate) state: StateExports,
    pub(crate) offsets: OffsetMap,
}

/// Writes the module as it was planned.
pub(crate) fn rewrite(survey: &Survey<'_>, plan: &Plan, options: &Options) -> Result<Rewritten> {
    let mut old = [const { None }; ORDER.len()];
    for section in sections(survey.wasm)? {
        let section = section?;
        if let Some(place) = ORDER.iter().position(|&id| u8::from(id) == section.id) {
            old[place] = Some(section.bytes);
        }
    }
    let memory_export = format!("{}injected", survey.export_prefix);
    let injected = Injected { memory_export, pages: layout::pages(plan.edges.len()) };
    let state = state_exports(survey, plan);
    let mut wasm = Module::HEADER.to_vec();
    let mut offsets = OffsetMap::default();
    for (id, old) in ORDER.into_iter().zip(old) {
        let data = match (id, old) {
            (SectionId::Code, Some(_)) => Some(code_section(survey, plan, &mut offsets)?),
            (SectionId::DataCount, Some(count)) => Some(increased(count)?),
            (SectionId::Type, old) => extended(old, &added_types(&plan.types))?,
            (SectionId::Memory, old) => extended(old, &added_memory(&injected))?,
            (SectionId::Export, old) => extended(old, &added_exports(survey, &injected, &state))?,
            (SectionId::Data, old) => extended(old, &added_data(survey, options))?,
            (_, old) => old.map(<[u8]>::to_vec),
        };
        let Some(data) = data else { continue };
        RawSection { id: id.into(), data: &data }.append_to(&mut wasm);
        if id == SectionId::Code {
            let start = u32::try_from(wasm.len() - data.len()).context(TOO_LARGE)?;
            offsets = std::mem::take(&mut offsets).moved(start).context(TOO_LARGE)?;
        }
    }
    u32::try_from(wasm.len()).context(TOO_LARGE)?;
    Ok(Rewritten { wasm, injected, state, offsets })
}

/// The largest function body that engines accept, in bytes.
pub(crate) const BODY_BYTES_MAX: usize = 7_654_321;

const TOO_LARGE: &str = "has more than 4 GiB when it is rewritten";

/// The names under which the host finds all state of the module.
fn state_exports(survey: &Survey<'_>, plan: &Plan) -> StateExports {
    let name = |kind: &str, index: u32| format!("{}{kind}:{index}", survey.export_prefix);
    StateExports {
        memories: (0..survey.memories).map(|index| name("memory", index)).collect(),
        tables: (0..survey.tables).map(|index| name("table", index)).collect(),
        globals: survey.mutable_globals.iter().map(|&index| name("global", index)).collect(),
        irreversible: plan.changes_objects.then_some("its code allocates or changes garbage-collected objects"),
    }
}

/// The function types that were added, as a section of their own.
pub(crate) fn added_types(types: &AddedTypes) -> TypeSection {
    let mut section = TypeSection::new();
    for ty in types.as_slice() {
        section.ty().func_type(ty);
    }
    section
}

fn added_memory(injected: &Injected) -> MemorySection {
    let pages = injected.pages;
    let ty = MemoryType { minimum: pages, maximum: Some(pages), memory64: false, shared: false, page_size_log2: None };
    let mut section = MemorySection::new();
    section.memory(ty);
    section
}

fn added_exports(survey: &Survey<'_>, injected: &Injected, state: &StateExports) -> ExportSection {
    let mut section = ExportSection::new();
    for (index, name) in (0..).zip(&state.memories) {
        section.export(name, ExportKind::Memory, index);
    }
    for (index, name) in (0..).zip(&state.tables) {
        section.export(name, ExportKind::Table, index);
    }
    for (&index, name) in survey.mutable_globals.iter().zip(&state.globals) {
        section.export(name, ExportKind::Global, index);
    }
    section.export(&injected.memory_export, ExportKind::Memory, survey.memories);
    section
}

/// An active segment gives a new instance its fuel: the start function runs before the host could.
fn added_data(survey: &Survey<'_>, options: &Options) -> DataSection {
    let mut section = DataSection::new();
    let place = ConstExpr::i32_const(layout::FUEL.cast_signed());
    section.active(survey.memories, &place, options.start_fuel.to_le_bytes());
    section
}

/// A section with more entries at its end; `None` if there are none at all.
pub(crate) fn extended(old: Option<&[u8]>, added: &impl Encode) -> Result<Option<Vec<u8>>> {
    let mut section = Vec::new();
    added.encode(&mut section);
    let mut reader = BinaryReader::new(&section, 0);
    reader.read_var_u32()?; // the section's size
    let added = reader.read_var_u32()?;
    let added_bytes = &section[reader.current_position()..];
    let (count, bytes) = match old {
        None => (0, &[][..]),
        Some(old) => {
            let mut reader = BinaryReader::new(old, 0);
            (reader.read_var_u32()?, &old[reader.current_position()..])
        }
    };
    if added == 0 {
        return Ok(old.map(<[u8]>::to_vec));
    }
    let mut data = Vec::with_capacity(5 + bytes.len() + added_bytes.len());
    (count + added).encode(&mut data);
    data.extend_from_slice(bytes);
    data.extend_from_slice(added_bytes);
    Ok(Some(data))
}

/// The data count section after a segment was added.
fn increased(count: &[u8]) -> Result<Vec<u8>> {
    let mut data = Vec::new();
    (BinaryReader::new(count, 0).read_var_u32()? + 1).encode(&mut data);
    Ok(data)
}

/// The content of the code section; `offsets` gets runs from its start.
fn code_section(survey: &Survey<'_>, plan: &Plan, offsets: &mut OffsetMap) -> Result<Vec<u8>> {
    let mut code = Vec::new();
    (plan.functions.len() as u32).encode(&mut code);
    for function in &plan.functions {
        body::body(survey.wasm, function, survey.memories, &mut code, offsets)
            .with_context(|| format!("has function {}, which can't be rewritten", function.index))?;
    }
    Ok(code)
}
