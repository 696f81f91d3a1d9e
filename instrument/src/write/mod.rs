//! Last pass: writes the new module, section by section.
//!
//! Sections are copied as they are, or get entries at their end; then what was there before keeps its bytes, because
//! no index changes. Only function bodies are written anew: `body` writes one, `code` puts them together with what is
//! `added`, `protocol` and `annex` write the code of that. `sections` has the entries of all other sections.

mod added;
mod annex;
mod body;
mod code;
mod maximum;
mod protocol;
pub(crate) mod sections;

use std::borrow::Cow;

use anyhow::{Context, Result};
use wasm_encoder::{Module, RawSection, Section as _, SectionId};

use crate::added::Additions;
use crate::added::types::AddedTypes;
use crate::instrumented::{Injected, StateExports};
use crate::module::survey::Survey;
use crate::offsets::OffsetMap;
use code::TOO_LARGE;
use sections::{added_exports, added_memory, added_types, extended};

pub(crate) use code::CodeSection;

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
    added: &Additions,
    types: &AddedTypes,
    mut code: CodeSection,
    injected: &Injected,
    state: &StateExports,
) -> Result<(Vec<u8>, OffsetMap)> {
    code.add(added::bodies(added, survey, injected)?.concat());
    let old = |id: SectionId| survey.sections[usize::from(u8::from(id))];
    let rest: usize = ORDER.iter().filter_map(|&id| old(id)).map(|bytes| bytes.len()).sum();
    let mut wasm = Vec::with_capacity(code.len + rest);
    wasm.extend_from_slice(&Module::HEADER);
    let mut offsets = OffsetMap::default();
    let mut code = Some(code).filter(|code| code.functions > 0);
    let (imports, memories) = match added.annex {
        Some(annex) => maximum::lifted(survey, annex, old(SectionId::Import), old(SectionId::Memory))?,
        None => (None, None),
    };
    for id in ORDER {
        let old = old(id);
        if id == SectionId::Code
            && let Some(code) = code.take()
        {
            offsets = code.append_to(&mut wasm)?;
            continue;
        }
        let data: Option<Cow<'_, [u8]>> = match id {
            SectionId::Type => extended(old, &added_types(types))?,
            SectionId::Function => extended(old, &added::function_types(added, survey))?,
            SectionId::Table => extended(old, &added::tables(added))?,
            SectionId::Import => imports.as_deref().or(old).map(Cow::from),
            SectionId::Memory => {
                extended(memories.as_deref().or(old), &added_memory(injected))?.map(|data| data.into_owned().into())
            }
            SectionId::Global => extended(old, &added::saved_globals(survey)?)?,
            SectionId::Export => extended(old, &added_exports(survey, added, injected, state))?,
            _ => old.map(Cow::from),
        };
        let Some(data) = data else { continue };
        RawSection { id: id.into(), data: &data }.append_to(&mut wasm);
    }
    u32::try_from(wasm.len()).context(TOO_LARGE)?;
    Ok((wasm, offsets))
}
