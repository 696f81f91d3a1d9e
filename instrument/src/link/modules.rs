//! Links core modules by the names of what they import and export: a module, and others that give it what it imports or
//! call what it exports.
//!
//! ```text
//! target: imports env.f, exports parse      ->  one module: exports of both, imports that neither gives
//! shim:   imports lib.parse, exports f, go
//! ```
//!
//! The name alone counts, not that of the module that something is imported from. Functions may be given in both
//! directions; memories, tables, globals and tags only by an earlier module to a later one.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};
use wasm_encoder::{CustomSection, ExportKind};
use wasmparser::{CompositeInnerType, ExternalKind, FuncType, Parser, Payload, TypeRef, Validator};

use super::assembly::Assembly;
use super::merge::Merger;
use super::name_section;
use super::scope::{Core, CoreItem, Host};
use crate::module::features::{INVALID, features};

/// A module to be linked, and what people call it.
#[derive(Clone, Copy, Debug)]
pub struct NamedModule<'a> {
    /// For errors.
    pub name: &'a str,
    /// Binary.
    pub wasm: &'a [u8],
    /// What it exports is for the other modules alone.
    pub is_hidden: bool,
}

/// What a module imports and exports.
#[derive(Default)]
struct Surface<'a> {
    imports: Vec<(&'a str, &'a str, TypeRef)>,
    exports: BTreeMap<&'a str, (ExternalKind, u32)>,
    order: Vec<&'a str>,
    types: Vec<Option<FuncType>>,
    /// Their types, imported ones included.
    functions: Vec<u32>,
}

impl<'a> Surface<'a> {
    fn of(wasm: &'a [u8]) -> Result<Self> {
        let mut surface = Self::default();
        for payload in Parser::new(0).parse_all(wasm) {
            match payload? {
                Payload::TypeSection(section) => {
                    for group in section {
                        surface.types.extend(group?.into_types().map(|ty| match ty.composite_type.inner {
                            CompositeInnerType::Func(ty) => Some(ty),
                            _ => None,
                        }));
                    }
                }
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        let import = import?;
                        if let TypeRef::Func(ty) | TypeRef::FuncExact(ty) = import.ty {
                            surface.functions.push(ty);
                        }
                        surface.imports.push((import.module, import.name, import.ty));
                    }
                }
                Payload::FunctionSection(section) => {
                    for ty in section {
                        surface.functions.push(ty?);
                    }
                }
                Payload::ExportSection(section) => {
                    for export in section {
                        let export = export?;
                        surface.exports.insert(export.name, (export.kind, export.index));
                        surface.order.push(export.name);
                    }
                }
                _ => {}
            }
        }
        Ok(surface)
    }

    fn function(&self, index: u32) -> Option<&FuncType> {
        self.types.get(*self.functions.get(index as usize)? as usize)?.as_ref()
    }
}

fn kind(ty: TypeRef) -> ExternalKind {
    match ty {
        TypeRef::Func(_) | TypeRef::FuncExact(_) => ExternalKind::Func,
        TypeRef::Table(_) => ExternalKind::Table,
        TypeRef::Memory(_) => ExternalKind::Memory,
        TypeRef::Global(_) => ExternalKind::Global,
        TypeRef::Tag(_) => ExternalKind::Tag,
    }
}

fn word(kind: ExternalKind) -> &'static str {
    match kind {
        ExternalKind::Func | ExternalKind::FuncExact => "function",
        ExternalKind::Table => "table",
        ExternalKind::Memory => "memory",
        ExternalKind::Global => "global",
        ExternalKind::Tag => "tag",
    }
}

/// Links modules to one. Each is given what others export under the names that it imports, the first module's exports
/// before those of others; functions that nobody exports stay imports. All that is exported is exported by the linked
/// module, under a name that several have what the first of them exports; but for what is hidden. A module that begins
/// with a start function keeps it, in the order of the modules.
///
/// # Errors
///
/// If a module is invalid, imports what is exported as something else, or imports a memory, table, global or tag that
/// no earlier module exports.
pub fn link_modules(modules: &[NamedModule<'_>]) -> Result<Vec<u8>> {
    let mut surfaces = Vec::new();
    for NamedModule { name, wasm, .. } in modules {
        let checked = Validator::new_with_features(features()).validate_all(wasm).context(INVALID);
        checked.with_context(|| format!("`{name}` can't be linked"))?;
        surfaces.push(Surface::of(wasm)?);
    }
    let mut assembly = Assembly::default();
    let mut hosts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut later: BTreeMap<usize, (usize, &str)> = BTreeMap::new();
    let mut instances: Vec<usize> = Vec::new();
    for (number, surface) in surfaces.iter().enumerate() {
        let mut given: BTreeMap<&str, BTreeMap<&str, CoreItem<'_>>> = BTreeMap::new();
        for &(from, name, ty) in &surface.imports {
            let provider = provider(&surfaces, modules, number, (from, name, ty))?;
            let item = match provider {
                Some(part) if part < number => CoreItem::Export { instance: instances[part], name },
                _ => {
                    let host = *hosts.entry((from, name)).or_insert_with(|| {
                        assembly.hosts.push(host(from, name));
                        assembly.hosts.len() - 1
                    });
                    later.extend(provider.map(|part| (host, (part, name))));
                    CoreItem::Host(host)
                }
            };
            given.entry(from).or_default().insert(name, item);
        }
        let mut args = BTreeMap::new();
        for (from, items) in given {
            args.insert(from, assembly.cores.len());
            assembly.cores.push(Core::Exports(items));
        }
        instances.push(assembly.cores.len());
        assembly.cores.push(Core::Module { wasm: modules[number].wasm, args });
    }
    let mut merger = Merger::new(&assembly)?;
    merger.give_later(&later.into_iter().map(|(host, (part, name))| (host, (instances[part], name))).collect())?;
    let exports = exports(modules, &surfaces, &instances, &merger)?;
    written(&assembly, merger, &exports)
}

/// What the linked module exports.
fn exports(
    modules: &[NamedModule<'_>],
    surfaces: &[Surface<'_>],
    instances: &[usize],
    merger: &Merger<'_>,
) -> Result<Vec<(String, ExportKind, u32)>> {
    let (mut exports, mut taken) = (Vec::new(), BTreeSet::new());
    for (number, (surface, &instance)) in surfaces.iter().zip(instances).enumerate() {
        for &name in surface.order.iter().filter(|_| !modules[number].is_hidden) {
            let item = CoreItem::Export { instance, name };
            let (kind, index) = (surface.exports[name].0, merger.index(item));
            let index = index.context("exports what it does not have")?;
            if taken.insert(name) {
                exports.push((name.to_owned(), export_kind(kind), index));
            }
        }
    }
    Ok(exports)
}

/// The linked module, with the names of its functions, and debug information.
fn written(assembly: &Assembly<'_>, merger: Merger<'_>, exports: &[(String, ExportKind, u32)]) -> Result<Vec<u8>> {
    let imported: Vec<_> = merger
        .hosts()
        .map(|host| (assembly.hosts[host].interface.clone(), assembly.hosts[host].name.clone()))
        .collect();
    let names: Vec<_> = merger.names().into_iter().collect();
    let debugged = merger.debugged();
    let (mut module, addresses) = merger.write(&imported, exports, debugged.map(|(part, _)| part))?;
    module.section(&name_section(&names));
    if let Some((_, from)) = debugged {
        let sections = crate::module::sections::custom_sections(from);
        for (name, data) in sections.filter(|(name, _)| name.starts_with(".debug_")) {
            module.section(&CustomSection { name: name.into(), data: data.into() });
        }
        let (name, data) = addresses.section();
        module.section(&CustomSection { name: name.into(), data: data.into() });
    }
    let wasm = module.finish();
    let checked = Validator::new_with_features(features()).validate_all(&wasm);
    checked.context("is beyond what engines accept when it is linked to one module")?;
    Ok(wasm)
}

fn host(from: &str, name: &str) -> Host<'static> {
    let (interface, name) = (from.to_owned(), name.to_owned());
    Host { interface, name, memory: None, realloc: None, resource: None }
}

fn export_kind(kind: ExternalKind) -> ExportKind {
    match kind {
        ExternalKind::Func | ExternalKind::FuncExact => ExportKind::Func,
        ExternalKind::Table => ExportKind::Table,
        ExternalKind::Memory => ExportKind::Memory,
        ExternalKind::Global => ExportKind::Global,
        ExternalKind::Tag => ExportKind::Tag,
    }
}

/// The module that gives another what it imports, if one does.
fn provider(
    surfaces: &[Surface<'_>],
    modules: &[NamedModule<'_>],
    number: usize,
    (from, name, ty): (&str, &str, TypeRef),
) -> Result<Option<usize>> {
    let wanted = kind(ty);
    let shown = || format!("`{}` imports the {} `{from}.{name}`", modules[number].name, word(wanted));
    let mut parts = (0..surfaces.len()).filter(|&part| part != number);
    let Some(part) = parts.find(|&part| surfaces[part].exports.contains_key(name)) else {
        ensure!(wanted == ExternalKind::Func, "{}, which no module exports", shown());
        return Ok(None);
    };
    let (found, index) = surfaces[part].exports[name];
    let exporter = modules[part].name;
    ensure!(found == wanted, "{}, which is a {} in `{exporter}`", shown(), word(found));
    if let TypeRef::Func(index_wanted) | TypeRef::FuncExact(index_wanted) = ty {
        let wanted = surfaces[number].types.get(index_wanted as usize).and_then(Option::as_ref);
        if let (Some(wanted), Some(found)) = (wanted, surfaces[part].function(index))
            && wanted != found
        {
            bail!("{} as {wanted}, and in `{exporter}` it is {found}", shown());
        }
    } else if part > number {
        let given_back = surfaces[part].imports.iter().any(|(_, name, _)| surfaces[number].exports.contains_key(name));
        let cycle = if given_back { ", and imports from it in turn" } else { ", which comes later" };
        bail!("{}, which `{exporter}` exports{cycle}", shown());
    }
    Ok(Some(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(modules: &[(&str, &str)]) -> Result<String> {
        let assembled: Vec<_> = modules.iter().map(|(name, text)| (*name, wat::parse_str(text).unwrap())).collect();
        let modules: Vec<_> =
            assembled.iter().map(|(name, wasm)| NamedModule { name, wasm, is_hidden: false }).collect();
        let linked = link_modules(&modules)?;
        wasmprinter::print_bytes(&linked)
    }

    const LIBRARY: &str = r#"(module (import "env" "hook" (func (param i32))) (import "env" "other" (func))
        (memory (export "memory") 1) (func (export "parse") (param i32 i32) (call 0 (local.get 1)) (call 1)))"#;

    #[test]
    fn functions_are_given_in_both_directions() {
        let shim = r#"(module (import "lib" "parse" (func (param i32 i32))) (import "lib" "memory" (memory 1))
            (func (export "hook") (param i32) (i32.store (local.get 0) (i32.const 7)))
            (func (export "go") (call 0 (i32.const 1) (i32.const 2))))"#;
        let linked = link(&[("a", LIBRARY), ("b", shim)]).unwrap();
        assert!(linked.contains(r#"(import "env" "other" (func"#), "{linked}");
        assert!(!linked.contains(r#"(import "env" "hook""#), "{linked}");
        for export in ["memory", "parse", "hook", "go"] {
            assert!(linked.contains(&format!("(export \"{export}\"")), "{linked}");
        }
        assert_eq!(linked.matches("(memory ").count() - linked.matches("(export \"memory\" (memory ").count(), 1);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let error = |shim: &str| format!("{:#}", link(&[("a", LIBRARY), ("b", shim)]).unwrap_err());
        assert_eq!(
            error(r#"(module (import "lib" "memry" (memory 1)))"#),
            "`b` imports the memory `lib.memry`, which no module exports"
        );
        assert_eq!(
            error(r#"(module (import "lib" "parse" (func (param i64))))"#),
            "`b` imports the function `lib.parse` as (func (param i64)), and in `a` it is (func (param i32 i32))"
        );
        assert_eq!(
            error(r#"(module (import "lib" "parse" (global i32)))"#),
            "`b` imports the global `lib.parse`, which is a function in `a`"
        );
        let first = r#"(module (import "b" "g" (global i32)) (global (export "h") i32 (i32.const 1)))"#;
        let second = r#"(module (import "a" "h" (global i32)) (global (export "g") i32 (i32.const 1)))"#;
        assert_eq!(
            link(&[("a", first), ("b", second)]).unwrap_err().to_string(),
            "`a` imports the global `b.g`, which `b` exports, and imports from it in turn"
        );
    }
}
