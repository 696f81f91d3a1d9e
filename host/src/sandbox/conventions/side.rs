//! Modules that another program loads (Emscripten's `dylink.0`): where each one's data, its functions' places in the
//! table and the stack are is decided here, once, and all are linked to one module.
//!
//! ```text
//! 0        1024             ...              stack    heap
//! | unused | data of the target | data of others | 64 KiB... | grows
//! ```
//!
//! What a module asks for by `GOT.mem` is an address that one of them exports, or a border of these; what it asks for
//! by `GOT.func` is the place in the table of a function that one of them exports, which is put behind those of all.

use crate::sandbox::conventions::wasm_text::{escaped, words};
use crate::sandbox::source::interface::Interface;
use crate::sandbox::source::words::Shortened;
use anyhow::{Context, Result, anyhow, bail, ensure};
use fuzzbox_instrument::{NamedModule, Provisions, link_modules, provide, rename};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use wasmparser::{Dylink0Subsection, ExternalKind, FuncType, KnownCustom, Operator, Parser, Payload, TypeRef};

/// Below the first module's data: nobody stores there who means it.
const DATA_START: u32 = 1024;
const STACK_BYTES: u32 = 1 << 20;
const PAGE_BYTES: u32 = 1 << 16;
/// More than that is nobody's data, in bytes or elements.
const SIZE_MAX: u32 = 1 << 28;

/// Functions that a loader calls, in this order.
const INITIALISERS: [&str; 2] = ["__wasm_apply_data_relocs", "__wasm_call_ctors"];

/// A module and its name for people.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// What it is called in errors.
    pub name: &'a str,
    /// Binary.
    pub wasm: &'a [u8],
}

/// What a module says of itself to its loader.
#[derive(Default)]
struct Needs {
    memory_bytes: u32,
    memory_align: u32,
    elements: u32,
}

/// Whether a module is to be loaded by another program.
pub(super) fn is_side(interface: &Interface) -> bool {
    interface.imports.iter().any(|import| import.name == "__memory_base")
}

/// The first module and those that are loaded with it, as one.
///
/// # Errors
///
/// If one of them is no side module, or asks for what none of them has.
pub(super) fn loaded(parts: &[Part<'_>]) -> Result<Vec<u8>> {
    let (mut at, mut element) = (DATA_START, 1_u32);
    let mut places = Vec::new();
    for part in parts {
        let needs = needs(part)?;
        at = at.next_multiple_of(needs.memory_align);
        places.push((at, element));
        at = at.saturating_add(needs.memory_bytes);
        element = element.saturating_add(needs.elements);
        ensure!(at < SIZE_MAX && element < SIZE_MAX, "`{}` asks for more than a program has", part.name);
    }
    let stack_low = at.next_multiple_of(16);
    let heap = stack_low + STACK_BYTES;
    let borders = BTreeMap::from([
        ("__stack_low", stack_low),
        ("__stack_high", heap),
        ("__heap_base", heap),
        ("__stack_pointer", heap),
        ("__dso_handle", DATA_START),
    ]);
    let addresses = addresses(parts, &places)?;
    let functions = functions(parts, element)?;
    element += functions.len() as u32;
    let mut own = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let interface = Interface::of(part.wasm)?;
        let mut globals = Vec::new();
        for import in interface.imports.iter().filter(|import| matches!(import.ty, TypeRef::Global(_))) {
            let value = match (&*import.module, &*import.name) {
                (_, "__memory_base") => places[number].0,
                (_, "__table_base") => places[number].1,
                ("GOT.func", name) => functions[name].0,
                (_, name) => *borders.get(name).or_else(|| addresses.get(name)).with_context(|| {
                    format!(
                        "`{}` asks for the address of `{name}` (GOT.mem), which no module given by --link exports",
                        part.name
                    )
                })?,
            };
            globals.push(((import.module.clone(), import.name.clone()), value.cast_signed()));
        }
        let provisions = Provisions {
            pages_min: u64::from(heap.div_ceil(PAGE_BYTES)) + 1,
            elements_min: element.into(),
            globals,
            leaves_memories: number > 0,
        };
        let provided = provide(part.wasm, &provisions)?.unwrap_or_else(|| part.wasm.to_vec());
        // Each has functions of these names.
        let named = |name: &str| INITIALISERS.contains(&name).then(|| format!("{number} {name}"));
        own.push(rename(&provided, |_, _| None, named)?);
    }
    let loader = wat::parse_str(loader(parts, &functions)?)?;
    let mut modules: Vec<_> =
        parts.iter().zip(&own).map(|(part, wasm)| NamedModule { name: part.name, wasm, is_hidden: false }).collect();
    modules.push(NamedModule { name: "the loader", wasm: &loader, is_hidden: false });
    link_modules(&modules)
}

fn needs(part: &Part<'_>) -> Result<Needs> {
    for payload in Parser::new(0).parse_all(part.wasm) {
        let Payload::CustomSection(section) = payload? else { continue };
        let KnownCustom::Dylink0(subsections) = section.as_known() else { continue };
        for subsection in subsections {
            if let Dylink0Subsection::MemInfo(info) = subsection? {
                ensure!(
                    info.memory_alignment < 16,
                    "`{}` asks for an alignment of 2^{}",
                    part.name,
                    info.memory_alignment
                );
                return Ok(Needs {
                    memory_bytes: info.memory_size,
                    memory_align: 1 << info.memory_alignment.max(4),
                    elements: info.table_size,
                });
            }
        }
    }
    bail!("`{}` is not to be loaded by another program: it has no section `dylink.0` (--link)", part.name)
}

/// The addresses of data that modules export.
fn addresses<'a>(parts: &[Part<'a>], places: &[(u32, u32)]) -> Result<BTreeMap<&'a str, u32>> {
    let mut found = BTreeMap::new();
    for (part, (base, _)) in parts.iter().zip(places) {
        let (mut values, mut imported) = (Vec::new(), 0);
        for payload in Parser::new(0).parse_all(part.wasm) {
            match payload? {
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        imported += usize::from(matches!(import?.ty, TypeRef::Global(_)));
                    }
                }
                Payload::GlobalSection(section) => {
                    for global in section {
                        let mut operators = global?.init_expr.get_operators_reader();
                        let first = operators.read().ok();
                        values.push(match first {
                            Some(Operator::I32Const { value }) => Some(value.cast_unsigned()),
                            _ => None,
                        });
                    }
                }
                Payload::ExportSection(section) => {
                    for export in section {
                        let export = export?;
                        let index = (export.index as usize)
                            .checked_sub(imported)
                            .filter(|_| export.kind == ExternalKind::Global);
                        if let Some(Some(offset)) = index.and_then(|index| values.get(index)) {
                            found.entry(export.name).or_insert(base.wrapping_add(*offset));
                        }
                    }
                }
                _ => {}
            }
        }
    }
    Ok(found)
}

/// Functions whose place in the table is asked for, and their types; the first place is `first`.
fn functions(parts: &[Part<'_>], first: u32) -> Result<BTreeMap<String, (u32, FuncType)>> {
    let interfaces = parts.iter().map(|part| Interface::of(part.wasm)).collect::<Result<Vec<_>>>()?;
    let mut found = BTreeMap::new();
    for (part, own) in parts.iter().zip(&interfaces) {
        for import in own.imports.iter().filter(|import| import.module == "GOT.func") {
            let exported = interfaces.iter().find_map(|interface| interface.function(&import.name));
            let ty = exported.with_context(|| {
                format!(
                    "`{}` asks for the place in the table of the function `{}` (GOT.func), which no module given by \
                     --link exports",
                    part.name,
                    Shortened(&import.name)
                )
            })?;
            let next = first + found.len() as u32;
            found.entry(import.name.clone()).or_insert_with(|| (next, ty.clone()));
        }
    }
    Ok(found)
}

/// A module that does what loaders do: puts functions into the table, and calls what is called first.
fn loader(parts: &[Part<'_>], functions: &BTreeMap<String, (u32, FuncType)>) -> Result<String> {
    let (mut imports, mut calls) = (String::new(), String::new());
    if !functions.is_empty() {
        imports.push_str("(import \"env\" \"__indirect_function_table\" (table 0 funcref))");
    }
    for (number, (name, (place, ty))) in functions.iter().enumerate() {
        let words = |types| {
            words(types).map_err(|other| anyhow!("a function of `GOT.func` takes or returns {other}, which C has not"))
        };
        let (name, params, results) = (escaped(name), words(ty.params())?, words(ty.results())?);
        _ = writeln!(imports, "(import \"env\" \"{name}\" (func $g{number} (param {params}) (result {results})))");
        _ = writeln!(calls, "(elem (i32.const {place}) $g{number})");
    }
    let elements = std::mem::take(&mut calls);
    for (number, part) in parts.iter().enumerate() {
        let interface = Interface::of(part.wasm)?;
        for name in INITIALISERS.iter().filter(|name| interface.function(name).is_some()) {
            _ = writeln!(imports, "(import \"env\" \"{number} {name}\" (func $f{number}{name}))");
            _ = writeln!(calls, "(call $f{number}{name})");
        }
    }
    Ok(format!("(module {imports} (func (export \"_initialize\") {calls}) {elements})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(text: &str) -> Vec<u8> {
        let mut wasm = wat::parse_str(text).unwrap();
        // Section 0: its name; 1, memory: 32 bytes, aligned to 16, one element.
        wasm.splice(8..8, *b"\0\x0f\x08dylink.0\x01\x04\x20\x04\x01\0");
        wasm
    }

    #[test]
    fn functions_whose_place_is_asked_for_are_in_the_table() {
        let target = side(
            r#"(module (import "env" "memory" (memory 1)) (import "env" "__memory_base" (global i32))
            (import "env" "__indirect_function_table" (table 0 funcref)) (import "env" "__table_base" (global i32))
            (import "GOT.func" "seven" (global $seven (mut i32))) (import "GOT.func" "own" (global $own (mut i32)))
            (func $f (export "own") (result i32) (i32.const 5))
            (func (export "malloc") (param i32) (result i32) (i32.const 64))
            (func (export "both") (result i32)
                (i32.add (call_indirect (result i32) (global.get $seven)) (call_indirect (result i32) (global.get $own))))
            (elem (global.get 1) $f))"#,
        );
        let other = side(
            r#"(module (import "env" "memory" (memory 1)) (import "env" "__memory_base" (global i32))
            (func (export "seven") (result i32) (i32.const 7)))"#,
        );
        let parts = [Part { name: "a", wasm: &target }, Part { name: "b", wasm: &other }];
        let linked = loaded(&parts).unwrap();
        let engine = wasmtime::Engine::default();
        let module = wasmtime::Module::new(&engine, &linked).unwrap();
        let mut store = wasmtime::Store::new(&engine, ());
        let instance = wasmtime::Instance::new(&mut store, &module, &[]).unwrap();
        let both = instance.get_typed_func::<(), i32>(&mut store, "both").unwrap();
        assert_eq!(both.call(&mut store, ()).unwrap(), 12);
        let alone = loaded(&parts[..1]).unwrap_err().to_string();
        assert!(alone.ends_with("function `seven` (GOT.func), which no module given by --link exports"), "{alone}");
    }

    #[test]
    fn each_module_has_its_place() {
        let target = side(
            r#"(module (import "env" "memory" (memory 1)) (import "env" "__memory_base" (global $base i32))
            (import "env" "__indirect_function_table" (table 0 funcref)) (import "env" "__table_base" (global i32))
            (import "GOT.mem" "word" (global $word (mut i32))) (import "env" "own" (func $own (result i32)))
            (func (export "malloc") (param i32) (result i32) (global.get $base))
            (func (export "read") (result i32) (i32.add (call $own) (i32.load (global.get $word))))
            (func $callback (result i32) (i32.const 1)) (elem (global.get 1) $callback))"#,
        );
        let other = side(
            r#"(module (import "env" "memory" (memory 1)) (import "env" "__memory_base" (global $base i32))
            (global (export "word") i32 (i32.const 8))
            (func (export "own") (result i32) (global.get $base))
            (func (export "__wasm_call_ctors")) (data (global.get $base) "12345678word"))"#,
        );
        let parts = [Part { name: "a", wasm: &target }, Part { name: "b", wasm: &other }];
        let linked = loaded(&parts).unwrap();
        let interface = Interface::of(&linked).unwrap();
        assert_eq!(interface.imports.len(), 0);
        for export in ["malloc", "read", "own", "_initialize", "memory", "__indirect_function_table"] {
            assert!(interface.export(export).is_some(), "{export}");
        }
        assert_eq!((interface.memories.len(), interface.tables[0].initial), (1, 3));
        let alone = loaded(&parts[..1]).unwrap_err().to_string();
        assert_eq!(alone, "`a` asks for the address of `word` (GOT.mem), which no module given by --link exports");
        let plain = wat::parse_str("(module)").unwrap();
        let error = loaded(&[parts[0], Part { name: "c", wasm: &plain }]).unwrap_err().to_string();
        assert!(error.contains("`c` is not to be loaded by another program"), "{error}");
    }
}
