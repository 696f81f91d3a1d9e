//! Links a component to one core module that does the same.
//!
//! ```text
//! component                                       linked module
//!   core module $main, adapters, shims       ->     all their functions, memories, tables, globals
//!   core instances: who is given whose exports ->   nothing: indices say it
//!   canon lift (core func $main "f")         ->     export `f`, and in `Linked::functions` how to call it
//!   canon lower (func $import "g")           ->     import `g`, and in `Linked::imports` where its strings are
//! ```
//!
//! So a component is executed, instrumented and restored as any module is. What is done once at instantiation keeps its
//! order: segments of a module that comes after one with a start function are copied by a start function of ours.
//!
//! `modules` links core modules by names, in the same way.
//!
//! `assembly` finds out what there is (`scope` are its index spaces), `merge` puts modules together and `write` writes
//! them, `addresses` leads back for debug information, `types` says what functions take, `values` what they give.

mod addresses;
mod assembly;
mod merge;
mod modules;
mod scope;
mod types;
mod values;
mod write;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use wasm_encoder::{CustomSection, ExportKind, NameMap, NameSection};
use wasmparser::Validator;
use wasmparser::component_types::{ComponentEntityType, ComponentFuncTypeId, ResourceId};
use wasmparser::types::Types;

use crate::module::claims::check_counts;
use crate::module::features::{INVALID, component_features};
use crate::module::limits::{DEPTH_MAX, MODULE_BYTES_MAX};
use crate::module::sections::{component_sections, sections};
use assembly::Assembly;
use merge::Merger;
use scope::{CoreItem, Exports, Func, Instance, Item};
use values::Values;

pub use addresses::Addresses;
pub use modules::{NamedModule, link_modules};
pub use types::Takes;
pub use values::{HandleType, Shape, ValueType};

/// A component as one core module.
#[derive(Clone, Debug)]
pub struct Linked {
    /// The module. It validates with [`features`](crate::features). Its name section has the names of all modules.
    /// Debug information is that of one, which has the most, and [`Addresses::of`] the linked module leads there.
    pub wasm: Vec<u8>,
    /// The functions that the component exports, in the order of their names.
    pub functions: Vec<ComponentFunction>,
    /// What the module imports, in the order of its imports.
    pub imports: Vec<ComponentImport>,
}

/// A function that a component exports.
#[derive(Clone, Debug)]
pub struct ComponentFunction {
    /// `name`, or `interface#name` for a function of an instance: `docs:adder/add@0.1.0#add`.
    pub name: String,
    /// Its type as text: `func(x: list<u8>) -> result<u32, string>`.
    pub ty: String,
    /// What its parameters are.
    pub takes: Takes,
    /// The core functions that a call of it is; or why it can't be called, in words that follow "it".
    pub lift: Result<ComponentLift, String>,
}

/// How a function of a component is called, by names of the linked module's exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentLift {
    /// The core function.
    pub function: String,
    /// The memory that parameters are in, if there is one.
    pub memory: Option<String>,
    /// Who allocates them: `(old, old size, alignment, size) -> address`.
    pub realloc: Option<String>,
    /// What is called with the results when they have been read.
    pub post_return: Option<String>,
    /// What it gives.
    pub result: Option<Arc<ValueType>>,
}

/// A function that a linked module imports.
#[derive(Clone, Debug)]
pub struct ComponentImport {
    /// The names that the linked module imports it by. The first is [`ComponentImport::interface`], or `$root`.
    pub module: String,
    /// No two imports have both names in common.
    pub name: String,
    /// The instance that the component imports it from: `wasi:cli/exit@0.2.6`; empty if it is none; `canon` if the
    /// canonical ABI defines the function.
    pub interface: String,
    /// Its name there; `[resource-drop]x` drops a resource `x`.
    pub function: String,
    /// The export of the linked module that its pointers mean.
    pub memory: Option<String>,
    /// The export that allocates what it returns.
    pub realloc: Option<String>,
    /// If it is `resource.new`, `resource.rep` or `resource.drop` of the canonical ABI: the number of the resource that
    /// the component defines.
    pub resource: Option<u32>,
    /// The export that is called with the representation of a resource that is dropped.
    pub destructor: Option<String>,
}

/// Whether a binary is a component and no core module.
pub fn is_component(wasm: &[u8]) -> bool {
    // After the magic number: a version of 16 bits, and a layer, which is 0 for modules and 1 for components.
    wasm.starts_with(b"\0asm") && wasm.get(6..8) == Some(&[1, 0])
}

/// Links a component to one core module.
///
/// ```
/// let component = wat::parse_str(r#"
///     (component
///       (core module $m (func (export "f") (param i32) (result i32) (local.get 0)))
///       (core instance $i (instantiate $m))
///       (func (export "f") (param "x" u32) (result u32) (canon lift (core func $i "f"))))"#)?;
/// let linked = fuzzbox_instrument::link_component(&component)?;
/// assert_eq!(linked.functions[0].ty, "func(x: u32) -> u32");
/// # anyhow::Ok(())
/// ```
///
/// Nothing is linked across components that pass each other more than numbers: calls between them become imports named
/// `canon`. So do functions of the canonical ABI.
///
/// # Errors
///
/// If the file is no component, or invalid; if components are nested or instantiate each other more than 100 deep, or
/// it takes too much to instantiate them; if it instantiates core modules or components that it imports; or if the
/// linked module would be beyond what engines accept.
pub fn link_component(wasm: &[u8]) -> Result<Linked> {
    ensure!(wasm.len() <= MODULE_BYTES_MAX, "has {} bytes, more than the {MODULE_BYTES_MAX} allowed", wasm.len());
    check(wasm, 1)?;
    let types = Validator::new_with_features(component_features()).validate_all(wasm).context(INVALID)?;
    let assembly = Assembly::of(wasm)?;
    let merger = Merger::new(&assembly)?;
    let mut names = Names::new(&merger, assembly.resources(&types));
    let mut functions = Vec::new();
    collect(&assembly.exports, &types, &mut names, &mut functions);
    let imports: Vec<_> = merger.hosts().map(|host| names.import(&assembly.hosts[host])).collect();
    let imported: Vec<_> = imports.iter().map(|import| (import.module.clone(), import.name.clone())).collect();
    let exports = std::mem::take(&mut names.exports);
    drop(names);
    let mut function_names: Vec<(u32, String)> = (0..).zip(imported.iter().map(|(a, b)| format!("{a}#{b}"))).collect();
    function_names.extend(merger.names());
    let debugged = merger.debugged();
    let (mut module, addresses) = merger.write(&imported, &exports, debugged.map(|(part, _)| part))?;
    module.section(&name_section(&function_names));
    if let Some((_, from)) = debugged {
        for (name, data) in
            crate::module::sections::custom_sections(from).filter(|(name, _)| name.starts_with(".debug_"))
        {
            module.section(&CustomSection { name: name.into(), data: data.into() });
        }
        let (name, data) = addresses.section();
        module.section(&CustomSection { name: name.into(), data: Cow::Owned(data) });
    }
    let wasm = module.finish();
    Validator::new_with_features(crate::module::features::features())
        .validate_all(&wasm)
        .context("is beyond what engines accept when it is linked to one module")?;
    Ok(Linked { wasm, functions, imports })
}

/// Checks how deep components are nested, and what core modules claim, before anybody else reads them.
fn check(wasm: &[u8], depth: usize) -> Result<()> {
    ensure!(depth <= DEPTH_MAX, "has components that are nested more than {DEPTH_MAX} deep");
    for section in component_sections(wasm)? {
        let section = section?;
        match section.id {
            1 => sections(section.bytes).and_then(check_counts).context("has a core module that can't be read")?,
            4 => check(section.bytes, depth + 1)?,
            _ => {}
        }
    }
    Ok(())
}

/// Collects the functions among a component's exports, and those of the instances there.
fn collect(exports: &Exports<'_>, types: &Types, names: &mut Names<'_, '_>, functions: &mut Vec<ComponentFunction>) {
    for (name, item) in exports {
        let ty = types.component_item_for_export(name).map(|item| &item.ty);
        match (item, ty) {
            (Item::Func(func), Some(ComponentEntityType::Func(ty))) => {
                functions.push(names.function((*name).to_owned(), func, types, *ty));
            }
            (Item::Instance(Instance::Own(inside)), Some(ComponentEntityType::Instance(ty))) => {
                let items = &types[*ty].exports;
                for (function, item) in inside.iter() {
                    if let (Item::Func(func), Some(ComponentEntityType::Func(ty))) =
                        (item, items.get(*function).map(|item| &item.ty))
                    {
                        functions.push(names.function(format!("{name}#{function}"), func, types, *ty));
                    }
                }
            }
            _ => {}
        }
    }
}

/// Names of the linked module's imports and exports.
struct Names<'m, 'a> {
    merger: &'m Merger<'a>,
    exports: Vec<(String, ExportKind, u32)>,
    /// Their names; functions and memories are exported.
    exported: BTreeMap<(bool, u32), String>,
    imports: BTreeSet<(String, String)>,
    values: Values,
}

impl<'m, 'a> Names<'m, 'a> {
    fn new(merger: &'m Merger<'a>, resources: BTreeMap<ResourceId, HandleType>) -> Self {
        let (exported, imports) = (BTreeMap::new(), BTreeSet::new());
        Self { merger, exports: Vec::new(), exported, imports, values: Values::new(resources) }
    }

    /// The name by which a core item is exported, which is `what` and a number, so that none is a name that means
    /// something elsewhere.
    fn export(&mut self, what: &str, kind: ExportKind, item: CoreItem<'_>) -> Option<String> {
        let index = self.merger.index(item)?;
        let known = self.exported.entry((kind == ExportKind::Func, index)).or_insert_with(|| {
            let name = format!("{what} {index}");
            self.exports.push((name.clone(), kind, index));
            name
        });
        Some(known.clone())
    }

    fn function(&mut self, name: String, func: &Func<'_>, types: &Types, ty: ComponentFuncTypeId) -> ComponentFunction {
        let takes = Takes::of(types, ty);
        let lift = match func {
            _ if types[ty].async_ => Err("is async".to_owned()),
            Func::Imported(interface, name) => Err(format!("is the import `{interface}#{name}` again")),
            Func::Lifted(lift) => match lift.options.unusual {
                Some(option) => Err(format!("has the canonical option {option}")),
                None => match self.values.result(types, ty) {
                    Ok(result) => self.lift(lift, result).ok_or_else(|| "is no function of a core module".to_owned()),
                    Err(()) => Err("gives what is too large, or nested too deep".to_owned()),
                },
            },
        };
        ComponentFunction { name, ty: types::show(types, ty), takes, lift }
    }

    fn lift(&mut self, lift: &scope::Lift<'_>, result: Option<Arc<ValueType>>) -> Option<ComponentLift> {
        let options = &lift.options;
        let mut function = |what, item: Option<CoreItem<'_>>| match item {
            Some(item) => self.export(what, ExportKind::Func, item).map(Some),
            None => Some(None),
        };
        let realloc = function("realloc", options.realloc)?;
        let post_return = function("post-return", options.post_return)?;
        let lifted = function("function", Some(lift.core))??;
        let memory = options.memory.and_then(|memory| self.export("memory", ExportKind::Memory, memory));
        Some(ComponentLift { function: lifted, memory, realloc, post_return, result })
    }

    fn import(&mut self, host: &scope::Host<'_>) -> ComponentImport {
        let interface = host.interface.clone();
        let module = if interface.is_empty() { "$root".to_owned() } else { interface.clone() };
        let mut name = host.name.clone();
        for number in 2.. {
            if self.imports.insert((module.clone(), name.clone())) {
                break;
            }
            name = format!("{} ({number})", host.name);
        }
        let memory = host.memory.and_then(|memory| self.export("memory", ExportKind::Memory, memory));
        let realloc = host.realloc.and_then(|realloc| self.export("realloc", ExportKind::Func, realloc));
        let destructor = host.resource.and_then(|resource| resource.destructor);
        let destructor = destructor.and_then(|function| self.export("destructor", ExportKind::Func, function));
        ComponentImport {
            module,
            name,
            interface,
            function: host.name.clone(),
            memory,
            realloc,
            resource: host.resource.map(|resource| resource.number),
            destructor,
        }
    }
}

fn name_section(functions: &[(u32, String)]) -> NameSection {
    let mut map = NameMap::new();
    functions.iter().for_each(|(index, name)| map.append(*index, name));
    let mut section = NameSection::new();
    section.functions(&map);
    section
}
