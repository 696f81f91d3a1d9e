//! Where things lie in a module: function bodies, and the sections that speak of them.

use super::dwarf::Dwarf;
use std::collections::BTreeMap;
use std::ops::Range;
use wasmparser::{BinaryReader, Parser, Payload, TypeRef};

/// Longer build ids are taken for damage.
const BUILD_ID_BYTES_MAX: usize = 1024;

/// What is read of a module.
#[derive(Default)]
pub(super) struct Layout<'a> {
    pub(super) code: Code,
    /// The sections that [`Dwarf::reads`], by name.
    pub(super) debug_sections: BTreeMap<&'a str, &'a [u8]>,
    pub(super) identity: Identity,
    /// URL of a module that has the DWARF.
    pub(super) external_debug_info: Option<String>,
    /// URL of a source map.
    pub(super) source_mapping_url: Option<String>,
}

/// Where the code lies.
#[derive(Default)]
pub(super) struct Code {
    /// Number of imported functions: the first body belongs to the function with this index.
    pub(super) imported: u32,
    /// File offsets of each defined function's body, from its locals to its end, in the order of the code section.
    pub(super) bodies: Vec<Range<u32>>,
    /// File offset of the code section's contents, the origin of DWARF addresses.
    pub(super) start: Option<u32>,
}

/// What two files of one build have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Identity {
    /// blake3 of the code section's contents.
    pub(super) code: Option<blake3::Hash>,
    pub(super) build_id: Option<Vec<u8>>,
}

impl<'a> Layout<'a> {
    /// Reads as far as the module can be read.
    pub(super) fn read(bytes: &'a [u8]) -> Self {
        let mut layout = Self::default();
        for payload in Parser::new(0).parse_all(bytes) {
            let Ok(payload) = payload else { break };
            match payload {
                Payload::Version { encoding: wasmparser::Encoding::Component, .. } => break,
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports() {
                        let Ok(import) = import else { break };
                        if matches!(import.ty, TypeRef::Func(_) | TypeRef::FuncExact(_)) {
                            layout.code.imported = layout.code.imported.saturating_add(1);
                        }
                    }
                }
                Payload::CodeSectionStart { unchecked_range: range, .. } => {
                    layout.code.start = u32::try_from(range.start).ok();
                    layout.identity.code =
                        slice(bytes, range).filter(|contents| has_bodies(contents)).map(blake3::hash);
                }
                Payload::CodeSectionEntry(body) => {
                    match (u32::try_from(body.range().start), u32::try_from(body.range().end)) {
                        (Ok(start), Ok(end)) => layout.code.bodies.push(start..end),
                        _ => break,
                    }
                }
                Payload::CustomSection(section) => layout.custom(section.name(), section.data()),
                _ => {}
            }
        }
        layout
    }

    /// The first section of a name counts.
    fn custom(&mut self, name: &'a str, data: &'a [u8]) {
        match name {
            "external_debug_info" if self.external_debug_info.is_none() => self.external_debug_info = url(data),
            "sourceMappingURL" if self.source_mapping_url.is_none() => self.source_mapping_url = url(data),
            "build_id" if self.identity.build_id.is_none() => {
                let mut reader = BinaryReader::new(data, 0);
                let length = reader.read_var_u32().map_or(0, |length| length as usize);
                let id = reader.read_bytes(length).ok().filter(|id| (1..=BUILD_ID_BYTES_MAX).contains(&id.len()));
                self.identity.build_id = id.map(<[u8]>::to_vec);
            }
            name if Dwarf::reads(name) => {
                self.debug_sections.entry(name).or_insert(data);
            }
            _ => {}
        }
    }

    /// The module has DWARF of its own.
    pub(super) fn has_dwarf(&self) -> bool {
        self.debug_sections.get(".debug_info").is_some_and(|section| !section.is_empty())
    }
}

impl Code {
    /// The body of a function by its index.
    pub(super) fn body(&self, function: u32) -> Option<&Range<u32>> {
        self.bodies.get(function.checked_sub(self.imported)? as usize)
    }

    /// Where the body begins that ends at an offset.
    pub(super) fn body_until(&self, end: u32) -> Option<u32> {
        let at = self.bodies.binary_search_by_key(&end, |body| body.end).ok()?;
        Some(self.bodies[at].start)
    }

    /// The offsets that speak of the function whose code is at `offset`: its body with the length before it. `None` if
    /// no function's code is there.
    pub(super) fn function_at(&self, offset: u32) -> Option<Range<u32>> {
        let after = self.bodies.partition_point(|body| body.start <= offset);
        let body = after.checked_sub(1)?;
        let before = body.checked_sub(1).map_or(self.start, |before| Some(self.bodies[before].end))?;
        Some(before..self.bodies[body].end).filter(|function| offset < function.end)
    }
}

fn slice(bytes: &[u8], range: Range<u64>) -> Option<&[u8]> {
    bytes.get(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
}

/// Whether a code section has functions; one without tells no two modules apart.
fn has_bodies(contents: &[u8]) -> bool {
    BinaryReader::new(contents, 0).read_var_u32().is_ok_and(|count| count > 0)
}

/// A URL with its length before it.
fn url(data: &[u8]) -> Option<String> {
    let mut reader = BinaryReader::new(data, 0);
    let url = reader.read_unlimited_string().ok()?.trim();
    (!url.is_empty()).then(|| url.to_owned())
}
