//! Third pass: writes the new module, section by section.
//!
//! Sections are copied as they are, or get entries at their end; then what was there before keeps its bytes, because
//! no index changes. Only function bodies are written anew.

mod body;

use anyhow::{Context, Result};
use rayon::prelude::*;
use wasm_encoder::{
    ConstExpr, DataSection, Encode, ExportKind, ExportSection, MemorySection, MemoryType, Module, RawSection,
    Section as _, SectionId, TypeSection,
};
use wasmparser::BinaryReader;

use crate::added::{Added, extended};
use crate::counters::Placement;
use crate::offsets::OffsetMap;
use crate::plan::Plan;
use crate::sections::sections;
use crate::survey::Survey;
use crate::types::AddedTypes;
use crate::{Injected, Options, StateExports, layout, trace};

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
pub(crate) fn rewrite(
    survey: &Survey<'_>,
    plan: &Plan,
    placements: &[Placement],
    options: &Options,
) -> Result<Rewritten> {
    let mut old = [const { None }; ORDER.len()];
    for section in sections(survey.wasm)? {
        let section = section?;
        if let Some(place) = ORDER.iter().position(|&id| u8::from(id) == section.id) {
            old[place] = Some(section.bytes);
        }
    }
    let added = Added::new(survey, options);
    let counters = placements.iter().map(|placement| placement.len).sum();
    let injected = injected(survey, &added, counters, options)?;
    let state = state_exports(survey, plan, &added);
    let mut wasm = Module::HEADER.to_vec();
    let mut offsets = OffsetMap::default();
    for (id, old) in ORDER.into_iter().zip(old) {
        let data = match (id, old) {
            (SectionId::Code, Some(_)) => Some(code_section(survey, plan, placements, &added, &injected, &mut offsets)?),
            (SectionId::Code, None) if added.functions() > 0 => {
                Some(code_section(survey, plan, placements, &added, &injected, &mut offsets)?)
            }
            (SectionId::DataCount, Some(count)) if options.fuel.is_some() => Some(increased(count)?),
            (SectionId::Type, old) => extended(old, &added_types(&plan.types))?,
            (SectionId::Function, old) => extended(old, &added.function_types())?,
            (SectionId::Table, old) => extended(old, &added.tables())?,
            (SectionId::Memory, old) => extended(old, &added_memory(&injected))?,
            (SectionId::Global, old) => extended(old, &added.saved_globals(survey)?)?,
            (SectionId::Export, old) => extended(old, &added_exports(survey, &added, &injected, &state))?,
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

fn injected(survey: &Survey<'_>, added: &Added, counters: u32, options: &Options) -> Result<Injected> {
    let name = |name: &str| format!("{}{name}", survey.export_prefix);
    let trace = added.recorders.map(|_| trace::place(counters, options.trace_bytes)).transpose()?;
    Ok(Injected {
        memory_export: name("injected"),
        pages: trace.as_ref().map_or(layout::pages(counters), |trace| u64::from(trace.end).div_ceil(layout::PAGE_BYTES)),
        trap_table_export: added.traps.map(|_| name("traps")),
        trace,
    })
}

/// The names under which the host finds all state of the module.
fn state_exports(survey: &Survey<'_>, plan: &Plan, added: &Added) -> StateExports {
    let name = |kind: &str, index: u32| format!("{}{kind}:{index}", survey.export_prefix);
    let function = |kind: &str| format!("{}{kind}", survey.export_prefix);
    StateExports {
        memories: (0..survey.memories).map(|index| name("memory", index)).collect(),
        tables: (0..survey.tables).map(|index| name("table", index)).collect(),
        globals: survey.mutable_globals.iter().map(|&(index, _)| name("global", index)).collect(),
        save_globals: added.globals.map(|_| function("save")),
        restore_globals: added.globals.map(|_| function("restore")),
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

fn added_exports(survey: &Survey<'_>, added: &Added, injected: &Injected, state: &StateExports) -> ExportSection {
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
    section.export(&injected.memory_export, ExportKind::Memory, survey.memories);
    section
}

/// An active segment gives a new instance its fuel: the start function runs before the host could.
fn added_data(survey: &Survey<'_>, options: &Options) -> DataSection {
    let mut section = DataSection::new();
    if let Some(fuel) = options.fuel {
        let place = ConstExpr::i32_const(layout::FUEL.cast_signed());
        section.active(survey.memories, &place, fuel.to_le_bytes());
    }
    section
}

/// The data count section after a segment was added.
fn increased(count: &[u8]) -> Result<Vec<u8>> {
    let mut data = Vec::new();
    (BinaryReader::new(count, 0).read_var_u32()? + 1).encode(&mut data);
    Ok(data)
}

/// How many functions are written before they are put together: enough for all cores, and not all of the module twice.
const BATCH: usize = 4096;

/// The content of the code section; `offsets` gets runs from its start. Functions are written in parallel.
fn code_section(
    survey: &Survey<'_>,
    plan: &Plan,
    placements: &[Placement],
    added: &Added,
    injected: &Injected,
    offsets: &mut OffsetMap,
) -> Result<Vec<u8>> {
    let mut code = Vec::new();
    (plan.functions.len() as u32 + added.functions()).encode(&mut code);
    let mut first_counter = 0;
    let jobs: Vec<_> = plan.functions.iter().zip(placements).map(|(function, placement)| {
        let first = first_counter;
        first_counter += placement.len;
        (function, placement, first)
    }).collect();
    for batch in jobs.chunks(BATCH) {
        let written: Vec<_> = batch
            .par_iter()
            .map(|&(function, placement, first)| body::body(survey.wasm, function, placement, first, survey.memories))
            .collect();
        for (written, (function, ..)) in written.into_iter().zip(batch) {
            let refused = || format!("has function {}, which can't be rewritten", function.index);
            let (bytes, runs) = written.with_context(refused)?;
            bytes.len().encode(&mut code);
            offsets.append(runs, u32::try_from(code.len()).context(TOO_LARGE)?);
            code.extend_from_slice(&bytes);
            offsets.outside(u32::try_from(code.len()).context(TOO_LARGE)?);
        }
    }
    for body in added.bodies(survey, injected.trace.as_ref()) {
        code.extend_from_slice(&body);
    }
    Ok(code)
}
