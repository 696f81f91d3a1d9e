//! Third pass: writes the new module, section by section.
//!
//! Sections are copied as they are, or get entries at their end; then what was there before keeps its bytes, because
//! no index changes. Only function bodies are written anew.

mod body;
mod limits;

use std::borrow::Cow;
use std::ops::Range;

use anyhow::{Context, Result, ensure};
use body::Written;
use rayon::prelude::*;
use wasm_encoder::{
    BranchHint, BranchHints, Encode, ExportKind, ExportSection, MemorySection, MemoryType, Module, RawSection,
    Section as _, SectionId, TypeSection,
};

use crate::added::{Added, extended};
use crate::counters::{CounterNumbers, Placement, profile};
use crate::offsets::OffsetMap;
use crate::plan::FunctionPlan;
use crate::sections::sections;
use crate::survey::Survey;
use crate::types::AddedTypes;
use crate::{AnnexPlace, Injected, Options, StateExports, layout, trace};

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

/// Puts the new module together. Also gives the way back from its offsets.
pub(crate) fn assemble(
    survey: &Survey<'_>,
    added: &Added,
    types: &AddedTypes,
    mut code: CodeSection,
    injected: &Injected,
    state: &StateExports,
) -> Result<(Vec<u8>, OffsetMap)> {
    code.add(added.bodies(survey, injected)?.concat());
    let mut old = [const { None }; ORDER.len()];
    for section in sections(survey.wasm)? {
        let section = section?;
        if let Some(place) = ORDER.iter().position(|&id| u8::from(id) == section.id) {
            old[place] = Some(section.bytes);
        }
    }
    let rest: usize = old.iter().flatten().map(|bytes| bytes.len()).sum();
    let mut wasm = Vec::with_capacity(code.len + rest);
    wasm.extend_from_slice(&Module::HEADER);
    let mut offsets = OffsetMap::default();
    let mut code = Some(code).filter(|code| code.functions > 0);
    let (imports, memories) = match added.annex {
        Some(annex) => limits::lifted(survey, annex, old[1], old[4])?,
        None => (None, None),
    };
    for (id, old) in ORDER.into_iter().zip(old) {
        if id == SectionId::Code
            && let Some(code) = code.take()
        {
            offsets = code.append_to(&mut wasm)?;
            continue;
        }
        let data: Option<Cow<'_, [u8]>> = match id {
            SectionId::Type => extended(old, &added_types(types))?,
            SectionId::Function => extended(old, &added.function_types(survey))?,
            SectionId::Table => extended(old, &added.tables())?,
            SectionId::Import => imports.as_deref().or(old).map(Cow::from),
            SectionId::Memory => {
                extended(memories.as_deref().or(old), &added_memory(injected))?.map(|data| data.into_owned().into())
            }
            SectionId::Global => extended(old, &added.saved_globals(survey)?)?,
            SectionId::Export => extended(old, &added_exports(survey, added, injected, state))?,
            _ => old.map(Cow::from),
        };
        let Some(data) = data else { continue };
        RawSection { id: id.into(), data: &data }.append_to(&mut wasm);
    }
    u32::try_from(wasm.len()).context(TOO_LARGE)?;
    Ok((wasm, offsets))
}

/// The largest function body that engines accept, in bytes.
pub(crate) const BODY_BYTES_MAX: usize = 7_654_321;

const TOO_LARGE: &str = "has more than 4 GiB when it is rewritten";

impl Injected {
    pub(crate) fn new(survey: &Survey<'_>, added: &Added, options: &Options, counters: u32) -> Result<Injected> {
        let name = |name: &str| format!("{}{name}", survey.export_prefix);
        let trace = added.recorders.map(|_| trace::place(counters, options.trace_bytes)).transpose()?;
        let end = |range: &Range<u32>| u64::from(range.end).div_ceil(layout::PAGE_BYTES);
        let pages = trace.as_ref().map_or(layout::pages(counters), end);
        let stream = added.protocol.map(|protocol| {
            let start = protocol.start;
            ensure!(pages * layout::PAGE_BYTES <= start.into(), "has more counters than were foreseen");
            let bytes = if protocol.recording { layout::stream::BYTES_WITH_RECORDS } else { layout::stream::BYTES };
            anyhow::Ok(start..start + bytes)
        });
        let stream = stream.transpose()?;
        let exports = added.protocol.iter().flat_map(|protocol| protocol.exports(&survey.protocol));
        let callable = options.callable.and_then(|is_callable| {
            let is = |name: &Option<String>| name.as_deref().is_some_and(is_callable);
            (0..).zip(&survey.names).find(|(_, name)| is(name)).map(|(index, _)| index)
        });
        Ok(Injected {
            memory_export: name("injected"),
            callable: callable.map(|index| (index, name("callable"))),
            pages: stream.as_ref().map_or(pages, end),
            stream,
            protocol_exports: exports.map(|(import, _)| (import, name(&format!("v1:{import}")))).collect(),
            trap_table_export: added.traps.map(|_| name("traps")),
            stop: added.stop,
            annex: added.annex.map(|annex| AnnexPlace {
                memory: annex.memory,
                maximum: annex.maximum(survey),
                table_export: name("growth"),
                bounds: annex.bounds,
            }),
            trace,
        })
    }
}

impl StateExports {
    pub(crate) fn new(survey: &Survey<'_>, added: &Added, changes_objects: bool) -> StateExports {
        let name = |kind: &str, index: u32| format!("{}{kind}:{index}", survey.export_prefix);
        let function = |kind: &str| format!("{}{kind}", survey.export_prefix);
        StateExports {
            memories: (0..survey.memories).map(|index| name("memory", index)).collect(),
            tables: (0..survey.tables).map(|index| name("table", index)).collect(),
            globals: survey.mutable_globals.iter().map(|&(index, _)| name("global", index)).collect(),
            save_globals: added.globals.map(|_| function("save")),
            restore_globals: added.globals.map(|_| function("restore")),
            irreversible: changes_objects.then_some("its code allocates or changes garbage-collected objects"),
        }
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
    if let Some((index, name)) = &injected.callable {
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

/// The content of the code section, as far as it is written.
pub(crate) struct CodeSection {
    /// How many functions it will have.
    functions: u32,
    /// Its parts, in order. They are put together only in the module: all of it at once is large enough.
    parts: Vec<Vec<u8>>,
    len: usize,
    /// Runs from its start.
    offsets: OffsetMap,
    /// Where branches mostly go.
    hints: BranchHints,
}

impl CodeSection {
    pub(crate) fn new(functions: u32) -> CodeSection {
        let mut count = Vec::new();
        functions.encode(&mut count);
        CodeSection {
            functions,
            len: count.len(),
            parts: vec![count],
            offsets: OffsetMap::default(),
            hints: BranchHints::new(),
        }
    }

    /// Writes the next functions, in parallel, and forgets their plans. `numbers` has those of each one's
    /// counters.
    pub(crate) fn write(
        &mut self,
        survey: &Survey<'_>,
        plans: Vec<FunctionPlan>,
        placements: &[Placement],
        (numbers, options): (&[CounterNumbers], &Options),
    ) -> Result<()> {
        let jobs: Vec<_> = plans.into_iter().zip(placements).zip(numbers).collect();
        let write = |((function, placement), &numbers): ((FunctionPlan, &Placement), &CounterNumbers)| {
            let refused = || format!("has function {}, which can't be rewritten", function.index);
            let numbers = (numbers, profile(&function, options));
            body::body(survey.wasm, &function, placement, numbers, survey.memories).with_context(refused)
        };
        let functions: Vec<u32> = jobs.iter().map(|((function, _), _)| function.index).collect();
        let written: Vec<Result<Written>> = jobs.into_par_iter().map(write).collect();
        // The first error in the module is the one to tell.
        let written = written.into_iter().collect::<Result<Vec<_>>>()?;
        let mut part = Vec::with_capacity(written.iter().map(|body| body.bytes.len() + LEB_BYTES_MAX).sum());
        let place = |part: &Vec<u8>| u32::try_from(self.len + part.len()).context(TOO_LARGE);
        for (function, Written { bytes, offsets, hints }) in functions.into_iter().zip(written) {
            bytes.len().encode(&mut part);
            self.offsets.append(offsets, place(&part)?);
            part.extend_from_slice(&bytes);
            if !hints.is_empty() {
                let hint = |(branch_func_offset, holds): (u32, bool)| BranchHint {
                    branch_func_offset,
                    branch_hint_value: holds.into(),
                };
                self.hints.function_hints(function, hints.into_iter().map(hint));
            }
            self.offsets.outside(place(&part)?);
        }
        self.add(part);
        Ok(())
    }

    /// Adds what isn't from the module.
    fn add(&mut self, mut part: Vec<u8>) {
        part.shrink_to_fit();
        self.len += part.len();
        self.parts.push(part);
    }

    /// Writes the section into the module, behind what is to be known of its branches.
    fn append_to(self, wasm: &mut Vec<u8>) -> Result<OffsetMap> {
        if !self.hints.is_empty() {
            self.hints.append_to(wasm);
        }
        wasm.push(SectionId::Code.into());
        self.len.encode(wasm);
        let start = u32::try_from(wasm.len()).context(TOO_LARGE)?;
        for part in self.parts {
            wasm.extend_from_slice(&part);
        }
        self.offsets.moved(start).context(TOO_LARGE)
    }
}

/// The longest that the size of a body may be.
const LEB_BYTES_MAX: usize = 5;
