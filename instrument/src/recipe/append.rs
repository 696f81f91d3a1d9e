//! Puts functions behind all others of a module, and globals. Nothing else changes but the sizes of sections.

use crate::link::Addresses;
use crate::module::sections::sections;
use crate::module::types::encoded;
use crate::recipe::view::View;
use anyhow::{Context, Result, bail, ensure};
use wasm_encoder::{ConstExpr, CustomSection, Encode, Function, GlobalType, RawSection, Section as _};
use wasmparser::{BinaryReader, ValType};

const TYPES: u8 = 1;
const FUNCTIONS: u8 = 3;
const GLOBALS: u8 = 6;
const EXPORTS: u8 = 7;
const CODE: u8 = 10;

/// The order of sections by id: custom ones stand anywhere.
const ORDER: [u8; 13] = [1, 2, 3, 4, 5, 13, 6, 7, 8, 9, 12, 10, 11];

/// The custom section that says where code was before.
const ORIGIN: &str = "fuzzbox.origin";

/// Where the code lay in the file of the module to which something was put: source maps speak of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// By how many bytes all that was there before was moved towards the end of the file.
    pub moved_by: u32,
}

impl Origin {
    /// Reads it from a module that has it.
    pub fn of(wasm: &[u8]) -> Option<Self> {
        let (_, content) = crate::module::sections::custom_sections(wasm).find(|(name, _)| *name == ORIGIN)?;
        Some(Self { moved_by: BinaryReader::new(content, 0).read_var_u32().ok()? })
    }
}

/// A function to append, and to export.
pub(super) struct Added {
    pub(super) name: String,
    pub(super) params: Vec<ValType>,
    pub(super) results: Vec<ValType>,
    pub(super) body: Function,
}

/// Appends functions, and two globals of a type that are 0.
pub(super) fn append(wasm: &[u8], view: &View, functions: &[Added], globals: Option<ValType>) -> Result<Vec<u8>> {
    let count = u32::try_from(functions.len())?;
    let [mut types, mut indices, mut exports, mut bodies] = [const { Vec::new() }; 4];
    for (number, function) in (0..).zip(functions) {
        if view.exports.contains_key(&function.name) {
            bail!("the module exports a function `{}` of its own", function.name);
        }
        function.encode_type(&mut types)?;
        (view.types + number).encode(&mut indices);
        function.name.encode(&mut exports);
        exports.push(0);
        (view.functions + number).encode(&mut exports);
        function.body.encode(&mut bodies);
    }
    let globals = globals.map(|ty| Ok::<_, anyhow::Error>(encode_global(ty)?.repeat(2))).transpose()?;
    let of_functions = [(TYPES, types), (FUNCTIONS, indices), (EXPORTS, exports), (CODE, bodies)];
    let mut entries: Vec<_> = of_functions.map(|(id, entries)| (id, count, entries)).into();
    entries.extend(globals.map(|entries| (GLOBALS, 2, entries)));
    entries.sort_by_key(|(id, ..)| *id);
    let mut entries = entries.into_iter().peekable();
    let mut new = b"\0asm\x01\0\0\0".to_vec();
    let rank = |id: u8| ORDER.iter().position(|&other| other == id);
    let (mut moved_by, mut addresses) = (None, Addresses::default());
    for section in sections(wasm)? {
        let section = section?;
        // Those that the module has not stand before the next that it has.
        while let Some((id, count, entry)) = entries.next_if(|(id, ..)| rank(section.id) > rank(*id) && section.id != 0)
        {
            RawSection { id, data: &list(count, &[], &entry) }.append_to(&mut new);
        }
        let Some((_, count, entry)) = entries.next_if(|(id, ..)| *id == section.id) else {
            RawSection { id: section.id, data: section.bytes }.append_to(&mut new);
            continue;
        };
        let mut reader = BinaryReader::new(section.bytes, section.range.start as u64);
        let before = reader.read_var_u32().context("has a section without a count")?;
        let rest = &section.bytes[reader.current_position()..];
        let content = list(before + count, rest, &entry);
        if section.id == CODE {
            let appended = content.len() - entry.len();
            let (first, old) = (appended - rest.len(), reader.current_position());
            addresses.push(u32::try_from(first)?, u32::try_from(old)?);
            addresses.outside(u32::try_from(appended)?);
            // Behind id and size, the content is the last that was written.
            let start = new.len() + 1 + encode(&u32::try_from(content.len())?).len();
            moved_by = Some(u32::try_from(start + first)?.wrapping_sub(u32::try_from(section.range.start + old)?));
        }
        RawSection { id: section.id, data: &content }.append_to(&mut new);
    }
    for (id, count, entry) in entries {
        RawSection { id, data: &list(count, &[], &entry) }.append_to(&mut new);
    }
    if let Some(moved_by) = moved_by {
        let (name, content) = addresses.section();
        CustomSection { name: name.into(), data: content.into() }.append_to(&mut new);
        CustomSection { name: ORIGIN.into(), data: encode(&moved_by).into() }.append_to(&mut new);
    }
    ensure!(new.len() <= crate::module::limits::MODULE_BYTES_MAX, "is too large with the recipe");
    Ok(new)
}

/// A mutable global that is 0.
fn encode_global(ty: ValType) -> Result<Vec<u8>> {
    let ty = GlobalType { val_type: encoded(ty)?, mutable: true, shared: false };
    let zero =
        if ty.val_type == wasm_encoder::ValType::I64 { ConstExpr::i64_const(0) } else { ConstExpr::i32_const(0) };
    let mut bytes = encode(&ty);
    zero.encode(&mut bytes);
    Ok(bytes)
}

fn encode(what: &impl Encode) -> Vec<u8> {
    let mut bytes = Vec::new();
    what.encode(&mut bytes);
    bytes
}

/// The content of a section with entries at its end.
fn list(count: u32, entries: &[u8], added: &[u8]) -> Vec<u8> {
    let mut bytes = encode(&count);
    bytes.extend_from_slice(entries);
    bytes.extend_from_slice(added);
    bytes
}

impl Added {
    fn encode_type(&self, bytes: &mut Vec<u8>) -> Result<()> {
        bytes.push(0x60);
        for types in [&self.params, &self.results] {
            types.len().encode(bytes);
            for &ty in types {
                encoded(ty)?.encode(bytes);
            }
        }
        Ok(())
    }
}
