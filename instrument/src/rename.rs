//! Other names for imports and exports: of modules whose names were made short.

use anyhow::{Context, Result};
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{ExportSection, ImportSection, RawSection, Section as _};
use wasmparser::{BinaryReader, ExportSectionReader, ImportSectionReader};

use crate::module::sections::sections;

const IMPORTS: u8 = 2;
const EXPORTS: u8 = 7;

/// Gives a module's imports, by module and name, and its exports other names, or leaves them theirs. All else stays as
/// it is.
///
/// # Errors
///
/// If the module can't be read.
pub fn rename(
    wasm: &[u8],
    mut import: impl FnMut(&str, &str) -> Option<(String, String)>,
    mut export: impl FnMut(&str) -> Option<String>,
) -> Result<Vec<u8>> {
    let mut new = wasm.get(..8).context("ends within its header")?.to_vec();
    for section in sections(wasm)? {
        let section = section?;
        let reader = BinaryReader::new(section.bytes, section.range.start as u64);
        match section.id {
            IMPORTS => {
                let mut renamed = ImportSection::new();
                for old in ImportSectionReader::new(reader)?.into_imports() {
                    let old = old?;
                    let ty = RoundtripReencoder.entity_type(old.ty).context("has an import that can't be encoded")?;
                    match import(old.module, old.name) {
                        Some((module, name)) => renamed.import(&module, &name, ty),
                        None => renamed.import(old.module, old.name, ty),
                    };
                }
                renamed.append_to(&mut new);
            }
            EXPORTS => {
                let mut renamed = ExportSection::new();
                for old in ExportSectionReader::new(reader)? {
                    let old = old?;
                    let kind =
                        RoundtripReencoder.export_kind(old.kind).context("has an export that can't be encoded")?;
                    let name = export(old.name).unwrap_or_else(|| old.name.to_owned());
                    renamed.export(&name, kind, old.index);
                }
                renamed.append_to(&mut new);
            }
            id => {
                RawSection { id, data: section.bytes }.append_to(&mut new);
            }
        }
    }
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_change_and_nothing_else() {
        let module = |import: &str, export: &str| {
            let text = format!(
                r#"(module (import {import} (func (param i32))) (import "m" "t" (table 1 funcref))
                (memory 1) (export "{export}" (func 0)) (export "memory" (memory 0)) (func (call 0 (i32.const 1))))"#
            );
            wat::parse_str(text).unwrap()
        };
        let import = |module: &str, name: &str| (module == "a").then(|| ("env".to_owned(), format!("_{name}")));
        let export = |name: &str| (name == "b").then(|| "parse".to_owned());
        let renamed = rename(&module(r#""a" "x""#, "b"), import, export).unwrap();
        assert_eq!(renamed, module(r#""env" "_x""#, "parse"));
        assert!(rename(b"\0asm", import, export).is_err());
    }
}
