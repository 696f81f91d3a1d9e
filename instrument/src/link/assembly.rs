//! What a component consists of once it is instantiated: core instances, and functions that are lifted and lowered.
//!
//! Nothing runs here. Sections are read in file order, as an engine would that instantiates the component, and each
//! index space holds what an index stands for in the end: aliases and arguments of instances are followed, not kept.

use std::collections::BTreeMap;
use std::rc::Rc;

use anyhow::{Context, Result, bail, ensure};
use wasmparser::component_types::{ComponentAnyTypeId, ResourceId};
use wasmparser::types::Types;
use wasmparser::{
    BinaryReader, CanonicalFunction, ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind,
    ComponentType, ComponentTypeRef, FromReader, Instance as CoreInstance, SectionLimited, TypeBounds,
};

use super::scope::{
    Component, Core, CoreItem, Exports, Func, Host, Instance, Item, Lift, Options, Resource, Scope, Type, at, imported,
    is_over_numbers, kebab,
};
use super::values::HandleType;
use crate::module::limits::{DEPTH_MAX, MODULE_BYTES_MAX};
use crate::module::sections::component_sections;

/// The most definitions that are read, those of a component as often as it is instantiated.
const STEPS_MAX: u32 = 1 << 20;

/// The most core modules that are instantiated.
const MODULES_MAX: usize = 1_000;

/// All core instances of an instantiated component, and what it exports.
#[derive(Default)]
pub(super) struct Assembly<'a> {
    /// In the order in which they are made: each is given exports of earlier ones only.
    pub(super) cores: Vec<Core<'a>>,
    /// Functions that modules are given and no module defines.
    pub(super) hosts: Vec<Host<'a>>,
    /// What the component exports, by name.
    pub(super) exports: Exports<'a>,
    scopes: Vec<Scope<'a>>,
    steps: u32,
    module_bytes: usize,
    modules: usize,
    resources: u32,
}

/// Reads the entries of a section.
fn entries<'a, T: FromReader<'a>>(bytes: &'a [u8]) -> Result<SectionLimited<'a, T>> {
    let mut reader = BinaryReader::new(bytes, 0);
    reader.set_features(crate::module::features::component_features());
    Ok(SectionLimited::new(reader)?)
}

impl<'a> Assembly<'a> {
    /// Instantiates a valid component whose imports are the host's.
    pub(super) fn of(wasm: &'a [u8]) -> Result<Self> {
        let mut assembly = Self::default();
        assembly.exports = assembly.instantiate(Component { wasm, parent: None }, None, None, 1)?;
        Ok(assembly)
    }

    /// The resources that have a name in the component itself, and what handles of them are of.
    pub(super) fn resources(&self, types: &Types) -> BTreeMap<ResourceId, HandleType> {
        let own = self.scopes.first().map_or(&[][..], |scope| &scope.types);
        let count = types.as_ref().component_type_count();
        let resources = (0..count).zip(own).filter_map(|(index, ty)| {
            let ComponentAnyTypeId::Resource(id) = types.component_any_type_at(index) else { return None };
            let of = match ty {
                Type::Own(resource) => HandleType::Own(resource.number),
                Type::Imported(..) => HandleType::Imported,
                _ => return None,
            };
            Some((id.resource(), of))
        });
        resources.collect()
    }

    /// The core item that an instance exports under a name.
    pub(super) fn core_export(&self, instance: usize, name: &'a str) -> Result<CoreItem<'a>> {
        match self.cores.get(instance).context("has a core instance out of range")? {
            Core::Module { .. } => Ok(CoreItem::Export { instance, name }),
            Core::Exports(exports) => exports.get(name).copied().context("has a core export that isn't there"),
        }
    }

    /// Whether an instance is `inside` of another, or it is the same: these may not call each other.
    fn contains(&self, outside: usize, inside: usize) -> bool {
        let mut around = Some(inside);
        while let Some(scope) = around.filter(|scope| *scope != outside) {
            around = self.scopes[scope].instantiated_by;
        }
        around.is_some()
    }

    /// Instantiates a component with arguments, or with imports of the host's; gives its exports.
    fn instantiate(
        &mut self,
        component: Component<'a>,
        args: Option<&Exports<'a>>,
        instantiated_by: Option<usize>,
        depth: usize,
    ) -> Result<Exports<'a>> {
        ensure!(depth <= DEPTH_MAX, "has components that instantiate each other more than {DEPTH_MAX} deep");
        let id = self.scopes.len();
        self.scopes.push(Scope { parent: component.parent, instantiated_by, ..Scope::default() });
        for section in component_sections(component.wasm)? {
            let section = section?;
            self.section(id, section.id, section.bytes, args, depth)?;
        }
        Ok(std::mem::take(&mut self.scopes[id].exports))
    }

    fn step(&mut self) -> Result<()> {
        self.steps += 1;
        ensure!(self.steps <= STEPS_MAX, "has components that take more than {STEPS_MAX} definitions to instantiate");
        Ok(())
    }

    fn section(
        &mut self,
        id: usize,
        section: u8,
        bytes: &'a [u8],
        args: Option<&Exports<'a>>,
        depth: usize,
    ) -> Result<()> {
        self.step()?;
        match section {
            1 => self.scopes[id].modules.push(Some(bytes)),
            2 => {
                for instance in entries::<CoreInstance<'_>>(bytes)? {
                    self.core_instance(id, instance?)?;
                }
            }
            4 => self.scopes[id].components.push(Component { wasm: bytes, parent: Some(id) }),
            5 => {
                for instance in entries::<ComponentInstance<'_>>(bytes)? {
                    self.instance(id, instance?, depth)?;
                }
            }
            6 => {
                for alias in entries::<ComponentAlias<'_>>(bytes)? {
                    self.alias(id, &alias?)?;
                }
            }
            7 => {
                for ty in entries::<ComponentType<'_>>(bytes)? {
                    self.step()?;
                    let ty = match ty? {
                        ComponentType::Resource { dtor, .. } => {
                            self.resources += 1;
                            let scope = &self.scopes[id];
                            let destructor = dtor.map(|index| at(&scope.core_funcs, index)).transpose()?;
                            Type::Own(Resource { number: self.resources, destructor })
                        }
                        ty if is_over_numbers(&ty) => Type::Numbers,
                        _ => Type::Other,
                    };
                    self.scopes[id].types.push(ty);
                }
            }
            8 => {
                for function in entries::<CanonicalFunction>(bytes)? {
                    self.canonical(id, &function?)?;
                }
            }
            9 => bail!("has a start function of components, which is not supported"),
            10 => {
                for import in entries::<wasmparser::ComponentImport<'_>>(bytes)? {
                    self.import(id, &import?, args)?;
                }
            }
            11 => {
                for export in entries::<wasmparser::ComponentExport<'_>>(bytes)? {
                    let export = export?;
                    self.step()?;
                    let scope = &mut self.scopes[id];
                    let item = scope.item(export.kind, export.index)?;
                    scope.exports.insert(export.name.name, item.clone());
                    scope.push(item);
                }
            }
            _ => {} // core types and custom sections
        }
        Ok(())
    }

    fn core_instance(&mut self, id: usize, instance: CoreInstance<'a>) -> Result<()> {
        self.step()?;
        let core = match instance {
            CoreInstance::Instantiate { module_index, args } => {
                let scope = &self.scopes[id];
                let wasm = at(&scope.modules, module_index)?;
                let wasm = wasm.context("instantiates a core module that it imports, which nobody provides")?;
                let args = args.iter().map(|arg| Ok((arg.name, at(&scope.core_instances, arg.index)?)));
                let args = args.collect::<Result<_>>()?;
                self.module_bytes += wasm.len();
                ensure!(
                    self.module_bytes <= MODULE_BYTES_MAX,
                    "instantiates core modules of more than the {MODULE_BYTES_MAX} bytes allowed"
                );
                self.modules += 1;
                ensure!(self.modules <= MODULES_MAX, "instantiates more than {MODULES_MAX} core modules");
                Core::Module { wasm, args }
            }
            CoreInstance::FromExports(exports) => {
                let mut all = BTreeMap::new();
                for export in &exports {
                    self.step()?;
                    all.insert(export.name, at(self.scopes[id].core(export.kind), export.index)?);
                }
                Core::Exports(all)
            }
        };
        self.scopes[id].core_instances.push(self.cores.len());
        self.cores.push(core);
        Ok(())
    }

    fn instance(&mut self, id: usize, instance: ComponentInstance<'a>, depth: usize) -> Result<()> {
        self.step()?;
        let exports = match instance {
            ComponentInstance::Instantiate { component_index, args } => {
                let component = at(&self.scopes[id].components, component_index)?;
                let mut given = Exports::new();
                for arg in &args {
                    self.step()?;
                    given.insert(arg.name, self.scopes[id].item(arg.kind, arg.index)?);
                }
                self.instantiate(component, Some(&given), Some(id), depth + 1)?
            }
            ComponentInstance::FromExports(exports) => {
                let mut all = Exports::new();
                for export in &exports {
                    self.step()?;
                    all.insert(export.name.name, self.scopes[id].item(export.kind, export.index)?);
                }
                all
            }
        };
        self.scopes[id].instances.push(Instance::Own(Rc::new(exports)));
        Ok(())
    }

    fn alias(&mut self, id: usize, alias: &ComponentAlias<'a>) -> Result<()> {
        self.step()?;
        match *alias {
            ComponentAlias::InstanceExport { kind, instance_index, name } => {
                let item = match at(&self.scopes[id].instances, instance_index)? {
                    Instance::Own(exports) => exports.get(name).cloned().context("has an alias of nothing")?,
                    Instance::Imported(interface) => imported(&interface, name, kind)?,
                };
                self.scopes[id].push(item);
            }
            ComponentAlias::CoreInstanceExport { kind, instance_index, name } => {
                let instance = at(&self.scopes[id].core_instances, instance_index)?;
                let item = self.core_export(instance, name)?;
                self.scopes[id].core(kind).push(item);
            }
            ComponentAlias::Outer { kind, count, index } => {
                let mut outer = id;
                for _ in 0..count {
                    outer = self.scopes[outer].parent.context("has an alias out of range")?;
                }
                let kind = match kind {
                    ComponentOuterAliasKind::CoreModule => ComponentExternalKind::Module,
                    ComponentOuterAliasKind::CoreType => return Ok(()),
                    ComponentOuterAliasKind::Type => ComponentExternalKind::Type,
                    ComponentOuterAliasKind::Component => ComponentExternalKind::Component,
                };
                let item = self.scopes[outer].item(kind, index)?;
                self.scopes[id].push(item);
            }
        }
        Ok(())
    }

    fn import(
        &mut self,
        id: usize,
        import: &wasmparser::ComponentImport<'a>,
        args: Option<&Exports<'a>>,
    ) -> Result<()> {
        self.step()?;
        let name = import.name.name;
        let item = match (args, import.ty) {
            (Some(args), _) => args.get(name).cloned().context("has an instance without one of its arguments")?,
            (None, ComponentTypeRef::Type(TypeBounds::Eq(index))) => Item::Type(at(&self.scopes[id].types, index)?),
            (None, ty) => imported("", name, ty.kind())?,
        };
        self.scopes[id].push(item);
        Ok(())
    }

    fn canonical(&mut self, id: usize, function: &CanonicalFunction) -> Result<()> {
        self.step()?;
        let scope = &self.scopes[id];
        let host = |interface: &str, name: String| Host {
            interface: interface.to_owned(),
            name,
            memory: None,
            realloc: None,
            resource: None,
        };
        let canon = |name: &str| host("canon", name.to_owned());
        let resource = |what: &str, index| -> Result<Host<'a>> {
            Ok(match at(&scope.types, index)? {
                Type::Imported(interface, name) => host(&interface, format!("[resource-{what}]{name}")),
                Type::Own(resource) => Host { resource: Some(resource), ..canon(&format!("resource.{what}")) },
                _ => bail!("has handles of something that is no resource"),
            })
        };
        let host = match function {
            CanonicalFunction::Lift { core_func_index, options, type_index } => {
                let core = at(&scope.core_funcs, *core_func_index)?;
                let numbers = matches!(at(&scope.types, *type_index)?, Type::Numbers);
                let lift = Lift { core, scope: id, numbers, options: scope.options(options)? };
                self.scopes[id].funcs.push(Func::Lifted(Rc::new(lift)));
                return Ok(());
            }
            CanonicalFunction::Lower { func_index, options } => {
                let options = scope.options(options)?;
                match at(&scope.funcs, *func_index)? {
                    Func::Imported(interface, name) => {
                        let name = match options.unusual {
                            Some(option) => format!("{name} ({option})"),
                            None => name.to_string(),
                        };
                        let Options { memory, realloc, .. } = options;
                        Host { memory, realloc, ..host(&interface, name) }
                    }
                    Func::Lifted(lift) if self.contains(id, lift.scope) || self.contains(lift.scope, id) => {
                        canon("call between a component and one inside")
                    }
                    Func::Lifted(lift) if lift.is_plain() && options.unusual.is_none() => {
                        let core = lift.core;
                        self.scopes[id].core_funcs.push(core);
                        return Ok(());
                    }
                    Func::Lifted(_) => canon("call between components"),
                }
            }
            CanonicalFunction::ResourceNew { resource: index } => resource("new", *index)?,
            CanonicalFunction::ResourceDrop { resource: index } => resource("drop", *index)?,
            CanonicalFunction::ResourceRep { resource: index } => resource("rep", *index)?,
            other => canon(&kebab(&format!("{other:?}"))),
        };
        self.scopes[id].core_funcs.push(CoreItem::Host(self.hosts.len()));
        self.hosts.push(host);
        Ok(())
    }
}
