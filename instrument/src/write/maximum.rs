//! Lifts the maximum of a memory that has an annex: the guest's part keeps to it in another way.

use anyhow::Result;
use wasm_encoder::Encode;
use wasmparser::{BinaryReader, ImportSectionReader, MemorySectionReader, MemoryType, TypeRef};

use crate::added::annex::Annex;
use crate::module::survey::Survey;

/// The contents of the import section and of the memory section, each if it is another one now.
pub(super) type Sections = (Option<Vec<u8>>, Option<Vec<u8>>);

/// Lifts the maximum of the memory in the content of these two sections.
pub(super) fn lifted(
    survey: &Survey<'_>,
    annex: Annex,
    imports: Option<&[u8]>,
    memories: Option<&[u8]>,
) -> Result<Sections> {
    if annex.maximum.is_none() {
        return Ok((None, None));
    }
    let imported = survey.memory_imports.len() as u32;
    Ok(if annex.memory < imported {
        (imports.map(|imports| in_imports(survey, annex, imports)).transpose()?, None)
    } else {
        (None, memories.map(|memories| in_memories(annex.memory - imported, memories)).transpose()?)
    })
}

/// In the memory section, of its memory number `lifted`.
fn in_memories(lifted: u32, old: &[u8]) -> Result<Vec<u8>> {
    let mut section = wasm_encoder::MemorySection::new();
    for (index, ty) in (0..).zip(MemorySectionReader::new(BinaryReader::new(old, 0))?) {
        section.memory(encoded(ty?, index == lifted));
    }
    Ok(content(&section))
}

/// In the import section, of all memories that are this one.
fn in_imports(survey: &Survey<'_>, annex: Annex, old: &[u8]) -> Result<Vec<u8>> {
    let mut section = wasm_encoder::ImportSection::new();
    let mut memories = 0..;
    for import in ImportSectionReader::new(BinaryReader::new(old, 0))?.into_imports() {
        let import = import?;
        let ty = match import.ty {
            TypeRef::Memory(ty) => {
                let lifts = memories.next().is_some_and(|memory| annex.is(survey, memory));
                wasm_encoder::EntityType::Memory(encoded(ty, lifts))
            }
            other => other.try_into()?,
        };
        section.import(import.module, import.name, ty);
    }
    Ok(content(&section))
}

fn encoded(ty: MemoryType, lifts: bool) -> wasm_encoder::MemoryType {
    let mut new = wasm_encoder::MemoryType::from(ty);
    new.maximum = new.maximum.filter(|_| !lifts);
    new
}

/// What a section holds, without id and size.
fn content(section: &impl Encode) -> Vec<u8> {
    let mut bytes = Vec::new();
    section.encode(&mut bytes);
    let mut reader = BinaryReader::new(&bytes, 0);
    reader.read_var_u32().expect("a section begins with its size");
    bytes.split_off(reader.current_position())
}
