//! The outermost framing of a module: its header and the sections after it, in file order.

use std::borrow::Cow;
use std::ops::Range;

use anyhow::{Context, Result, bail, ensure};
use wasm_encoder::{RawSection, Section as _};
use wasmparser::BinaryReader;

use crate::module::limits::DEPTH_MAX;

const MODULE_HEADER: [u8; 8] = *b"\0asm\x01\0\0\0";
const COMPONENT_HEADER: [u8; 8] = *b"\0asm\x0d\0\x01\0";
const CUSTOM: u8 = 0;

/// Section ids of what can hold code, in components.
pub(crate) const CORE_MODULE: u8 = 1;
pub(crate) const COMPONENT: u8 = 4;

/// A section as it lies in the file, its content not looked at.
pub(crate) struct Section<'a> {
    /// The section's id: 0 custom, 1 types, 2 imports, ...
    pub(crate) id: u8,
    /// Where it starts, with its id.
    pub(crate) start: usize,
    /// The content's place in the file, behind id and size.
    pub(crate) range: Range<usize>,
    /// The content.
    pub(crate) bytes: &'a [u8],
}

/// Iterates over the sections of a core module; ends after the first error.
pub(crate) fn sections(wasm: &[u8]) -> Result<Sections<'_>> {
    match header(wasm)? {
        MODULE_HEADER => Ok(Sections { wasm, at: 8 }),
        COMPONENT_HEADER => {
            bail!("is a component; only core modules can be rewritten (those inside by `instrument_component`)")
        }
        header => bail!("{}", unknown(header)),
    }
}

/// Iterates over the sections of a component, those of components inside not among them; ends after the first error.
pub(crate) fn component_sections(wasm: &[u8]) -> Result<Sections<'_>> {
    match header(wasm)? {
        COMPONENT_HEADER => Ok(Sections { wasm, at: 8 }),
        MODULE_HEADER => bail!("is a core module, not a component"),
        header => bail!("{}", unknown(header)),
    }
}

fn header(wasm: &[u8]) -> Result<[u8; 8]> {
    ensure!(!wasm.is_empty(), "is empty");
    ensure!(wasm.starts_with(b"\0asm"), "is not a wasm module: it doesn't start with `\\0asm`");
    wasm.first_chunk().copied().context("is not a wasm module: it ends within its header")
}

fn unknown(header: [u8; 8]) -> String {
    format!("has the unknown wasm version {:#x}", u32::from_le_bytes([header[4], header[5], header[6], header[7]]))
}

pub(crate) struct Sections<'a> {
    wasm: &'a [u8],
    at: usize,
}

impl<'a> Sections<'a> {
    fn read(&mut self) -> Result<Section<'a>> {
        let start = self.at;
        let mut reader = BinaryReader::new(&self.wasm[start..], start as u64);
        let id = reader.read_u8()?;
        let size = reader.read_var_u32()? as usize;
        let bytes = reader.read_bytes(size)?;
        let end = start + reader.current_position();
        self.at = end;
        Ok(Section { id, start, range: end - size..end, bytes })
    }
}

impl<'a> Iterator for Sections<'a> {
    type Item = Result<Section<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.wasm.len() {
            return None;
        }
        let at = self.at;
        let section = self.read().with_context(|| format!("has a broken section at offset {at:#x}"));
        if section.is_err() {
            self.at = self.wasm.len();
        }
        Some(section)
    }
}

/// Copies a module or a component without its custom sections, those of modules and components inside neither: the
/// bytes that its id is the hash of.
///
/// What executes is what is kept, so stripping names or debug info changes no id. The order of the other sections and
/// their content are kept byte for byte; only a section's size is written in the shortest way.
///
/// Only the framing is looked at. Fails if the file is neither, a section reaches past its end, or components are
/// nested too deep.
pub fn strip_custom_sections(wasm: &[u8]) -> Result<Vec<u8>> {
    if header(wasm)? == COMPONENT_HEADER { strip_component(wasm, 1) } else { strip(wasm) }
}

fn strip(module: &[u8]) -> Result<Vec<u8>> {
    let mut stripped = MODULE_HEADER.to_vec();
    for section in sections(module)? {
        let section = section?;
        if section.id != CUSTOM {
            RawSection { id: section.id, data: section.bytes }.append_to(&mut stripped);
        }
    }
    Ok(stripped)
}

fn strip_component(component: &[u8], depth: usize) -> Result<Vec<u8>> {
    ensure!(depth <= DEPTH_MAX, "has components that are nested more than {DEPTH_MAX} deep");
    let mut stripped = COMPONENT_HEADER.to_vec();
    for section in component_sections(component)? {
        let section = section?;
        let data = match section.id {
            CUSTOM => continue,
            CORE_MODULE => Cow::Owned(strip(section.bytes)?),
            COMPONENT => Cow::Owned(strip_component(section.bytes, depth + 1)?),
            _ => Cow::Borrowed(section.bytes),
        };
        RawSection { id: section.id, data: &data }.append_to(&mut stripped);
    }
    Ok(stripped)
}

/// Iterates over a module's custom sections as (name, content), in file order.
///
/// Custom sections are a convenience, so this never fails: it ends where the framing breaks and leaves out what has
/// no readable name.
pub fn custom_sections(wasm: &[u8]) -> impl Iterator<Item = (&str, &[u8])> {
    sections(wasm).into_iter().flatten().map_while(Result::ok).filter(|section| section.id == CUSTOM).filter_map(
        |section| {
            let mut reader = BinaryReader::new(section.bytes, section.range.start as u64);
            let name = reader.read_unlimited_string().ok()?;
            Some((name, &section.bytes[reader.current_position()..]))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wasm(text: &str) -> Vec<u8> {
        wat::parse_str(text).unwrap()
    }

    #[test]
    fn stripping_drops_custom_sections_only() {
        let plain = wasm("(module (func (export \"f\")))");
        let named =
            wasm("(module (@custom \"a\" (before first) \"1\") (func $f (export \"f\")) (@custom \"b\" \"2\"))");
        assert_ne!(plain.len(), named.len());
        assert_eq!(strip_custom_sections(&named).unwrap(), strip_custom_sections(&plain).unwrap());
        assert!(custom_sections(&strip_custom_sections(&named).unwrap()).next().is_none());
    }

    #[test]
    fn custom_sections_come_in_file_order() {
        let named = wasm("(module (@custom \"a\" (before first) \"1\") (func (export \"f\")) (@custom \"b\" \"23\"))");
        let found: Vec<_> = custom_sections(&named).collect();
        assert_eq!(found, [("a", &b"1"[..]), ("b", &b"23"[..])]);
    }

    #[test]
    fn what_is_no_module_is_refused_by_name() {
        let error = |bytes: &[u8]| format!("{:#}", strip_custom_sections(bytes).unwrap_err());
        assert_eq!(error(b""), "is empty");
        assert_eq!(error(b"(module)"), "is not a wasm module: it doesn't start with `\\0asm`");
        assert_eq!(error(b"\0asm\x01"), "is not a wasm module: it ends within its header");
        assert_eq!(error(b"\0asm\x07\0\0\0"), "has the unknown wasm version 0x7");
        assert!(error(b"\0asm\x01\0\0\0\x01\x7f").starts_with("has a broken section at offset 0x8: "));
    }
}
