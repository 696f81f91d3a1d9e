//! Legacy exceptions become those of WebAssembly 3.0: `try`, `catch`, `rethrow` and `delegate`, which clang and
//! Emscripten wrote for years and which engines drop, are translated to `try_table` and `throw_ref`.
//!
//! This happens before anything else, and only to modules which have such operators. `scan` validates a function and
//! finds out what its `try`s catch; `write` writes it anew. Functions without legacy operators are copied.

mod scan;
mod write;

use anyhow::{Context, Result, ensure};
use wasm_encoder::{Encode, Module, RawSection, Section as _, SectionId};
use wasmparser::FuncValidatorAllocations;

use crate::added::types::AddedTypes;
use crate::module::bodies::Bodies;
use crate::module::features::INVALID;
use crate::module::limits::BODY_BYTES_MAX;
use crate::module::names::is_name_section;
use crate::module::sections::sections;
use crate::module::survey::{Survey, survey};
use crate::module::validate::validate;
use crate::offsets::OffsetMap;
use crate::write::sections::{added_types, extended};

/// A module without legacy exceptions.
#[derive(Clone, Debug)]
pub struct Translated {
    /// The module. It validates with [`output_features`](crate::output_features), and the name section is all it has of
    /// custom sections.
    pub wasm: Vec<u8>,
    /// The way back from offsets in `wasm` to the original module.
    pub offsets: OffsetMap,
}

/// Translates legacy exceptions; other modules come out as they are, but for custom sections.
///
/// ```wat
/// try $t (result i32)             block $t (result i32)
///                                   block $all (result exnref)
///                                     block $tag (result i64)                    ;; the tag's parameters
///                                       try_table (result i32) (catch $tag $tag) (catch_all_ref $all)
///   ...                                   ...
///                                       end
///                                       br $t
/// catch $tag                          end
///   ...                               ...
///                                     br $t
/// catch_all                         end
///                                   local.set $exn                               ;; only if it is thrown again
///   ...                             ...
///   rethrow $t                      local.get $exn
///                                   throw_ref
/// end                             end
///
/// try $outer                      try_table $outer (catch ...)
///                                   block $again (result exnref)                 ;; only if something is delegated here
///   try                               try_table (catch_all_ref $again)
///     ...                               ...
///   delegate $outer                   end
///                                     br $outer
///                                   end
///                                   throw_ref
/// catch ...                       ...
/// ```
///
/// To delegate to what isn't a `try` is to delegate to the next `try` around it, or to the caller: then `$again` lies
/// around the whole body. A clause's body lies outside of its `try`, so what it throws, its own `try` doesn't catch.
///
/// **Index spaces stay put:** types for blocks are appended, and locals for exceptions that are thrown again. These
/// locals are shared by all clauses which are not inside one another.
///
/// # Errors
///
/// As those of [`instrument`](crate::instrument), of which this is the first step.
pub fn translate_legacy_exceptions(wasm: &[u8]) -> Result<Translated> {
    let (survey, bodies) = survey(wasm)?;
    let mut types = AddedTypes::new(&survey);
    let mut offsets = OffsetMap::default();
    let code = code_section(&survey, bodies, &mut types, &mut offsets)?;
    let mut translated = Module::HEADER.to_vec();
    for section in sections(wasm)? {
        let section = section?;
        let changed = match section.id {
            0 if !is_name_section(section.bytes) => continue,
            id if id == u8::from(SectionId::Type) => extended(Some(section.bytes), &added_types(&types))?,
            _ => None,
        };
        let is_code = section.id == u8::from(SectionId::Code);
        let data = if is_code { &code } else { changed.as_deref().unwrap_or(section.bytes) };
        RawSection { id: section.id, data }.append_to(&mut translated);
        if is_code {
            let start = u32::try_from(translated.len() - data.len()).context(TOO_LARGE)?;
            offsets = std::mem::take(&mut offsets).moved(start).context(TOO_LARGE)?;
        }
    }
    validate(&translated).context("is beyond what engines accept when its legacy exceptions are translated")?;
    Ok(Translated { wasm: translated, offsets })
}

const TOO_LARGE: &str = "has more than 4 GiB when its legacy exceptions are translated";

/// The content of the code section; `offsets` gets runs from its start.
fn code_section(
    survey: &Survey<'_>,
    bodies: Bodies<'_>,
    types: &mut AddedTypes,
    offsets: &mut OffsetMap,
) -> Result<Vec<u8>> {
    let mut code = Vec::new();
    (bodies.len() as u32).encode(&mut code);
    let mut allocations = FuncValidatorAllocations::default();
    for (function, body) in bodies {
        let index = function.index;
        let mut validator = function.into_validator(allocations);
        let scan = scan::scan(&mut validator, &body).context(INVALID)?;
        allocations = validator.into_allocations();
        let (bytes, runs) = write::write(survey, types, &scan, &body)
            .and_then(|(bytes, runs)| {
                ensure!(
                    bytes.len() <= BODY_BYTES_MAX,
                    "has {} bytes when it is translated, more than the {BODY_BYTES_MAX} that engines accept",
                    bytes.len()
                );
                Ok((bytes, runs))
            })
            .with_context(|| format!("has function {index}, whose legacy exceptions can't be translated"))?;
        bytes.len().encode(&mut code);
        offsets.append(runs, u32::try_from(code.len()).context(TOO_LARGE)?);
        code.extend_from_slice(&bytes);
        offsets.outside(u32::try_from(code.len()).context(TOO_LARGE)?);
    }
    Ok(code)
}
