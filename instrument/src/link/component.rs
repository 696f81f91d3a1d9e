//! What a component consists of once it is instantiated: core instances, and functions that are lifted and lowered.
//!
//! Nothing runs here. Sections are read in file order, as an engine would that instantiates the component, and each index
//! space holds what an index stands for in the end: aliases and arguments of instances are followed, not kept.

use std::collections::BTreeMap;
use std::rc::Rc;

use anyhow::{Context, Result, bail, ensure};
use wasmparser::{
    BinaryReader, CanonicalFunction, CanonicalOption, ComponentAlias, ComponentExternalKind, ComponentInstance,
    ComponentOuterAliasKind, ComponentType, ComponentTypeRef, ComponentValType, ExternalKind, FromReader,
    Instance as CoreInstance, SectionLimited, TypeBounds,
};

use crate::component::DEPTH_MAX;
use crate::sections::component_sections;
use crate::survey::MODULE_BYTES_MAX;

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

/// A core instance.
pub(super) enum Core<'a> {
    /// One of a module, and the core instances by which its imports are satisfied.
    Module { wasm: &'a [u8], args: BTreeMap<&'a str, usize> },
    /// One that was put together from exports of others.
    Exports(BTreeMap<&'a str, CoreItem<'a>>),
}

/// Something that core modules import and export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CoreItem<'a> {
    /// An export of the instance of a module.
    Export { instance: usize, name: &'a str },
    /// A function, by its number in [`Assembly::hosts`].
    Host(usize),
}

/// A function that only a host can provide: a lowered import, or one that the canonical ABI defines.
pub(super) struct Host<'a> {
    /// The instance that the component imports it from, or nothing; `canon` for those of the canonical ABI.
    pub(super) interface: String,
    pub(super) name: String,
    /// The memory that its strings and lists are in, and who allocates them there.
    pub(super) memory: Option<CoreItem<'a>>,
    pub(super) realloc: Option<CoreItem<'a>>,
    /// The component's own resource that it is for.
    pub(super) resource: Option<Resource<'a>>,
}

/// A resource that a component defines.
#[derive(Clone, Copy)]
pub(super) struct Resource<'a> {
    /// No other resource has it.
    pub(super) number: u32,
    /// What is called with the representation when the last handle is dropped.
    pub(super) destructor: Option<CoreItem<'a>>,
}

pub(super) type Exports<'a> = BTreeMap<&'a str, Item<'a>>;

#[derive(Clone)]
pub(super) enum Item<'a> {
    Func(Func<'a>),
    Instance(Instance<'a>),
    Component(Component<'a>),
    Module(Option<&'a [u8]>),
    Type(Type<'a>),
    Value,
}

#[derive(Clone)]
pub(super) enum Func<'a> {
    /// An import of the component, by the instance it is from and its name.
    Imported(Rc<str>, Rc<str>),
    Lifted(Rc<Lift<'a>>),
}

/// A core function as a function of a component.
pub(super) struct Lift<'a> {
    pub(super) core: CoreItem<'a>,
    /// The scope it is lifted in.
    scope: usize,
    /// All that is passed and returned are numbers.
    numbers: bool,
    pub(super) options: Options<'a>,
}

impl Lift<'_> {
    /// Whether a call from another component is a call of the core function: one or no result, and nothing in memory.
    fn is_plain(&self) -> bool {
        let Options { memory, post_return, unusual, .. } = &self.options;
        self.numbers && memory.is_none() && post_return.is_none() && unusual.is_none()
    }
}

/// Canonical options.
#[derive(Clone, Default)]
pub(super) struct Options<'a> {
    pub(super) memory: Option<CoreItem<'a>>,
    pub(super) realloc: Option<CoreItem<'a>>,
    pub(super) post_return: Option<CoreItem<'a>>,
    /// An option that makes it something else than a plain call with strings in UTF-8, by name.
    pub(super) unusual: Option<&'static str>,
}

#[derive(Clone)]
pub(super) enum Instance<'a> {
    /// An import of the component.
    Imported(Rc<str>),
    Own(Rc<Exports<'a>>),
}

#[derive(Clone, Copy)]
pub(super) struct Component<'a> {
    wasm: &'a [u8],
    /// The scope that it is defined in.
    parent: Option<usize>,
}

/// A type, as far as it matters: resources are told apart by name.
#[derive(Clone)]
pub(super) enum Type<'a> {
    Imported(Rc<str>, Rc<str>),
    /// A resource that a component defines.
    Own(Resource<'a>),
    /// A function over numbers of 32 and 64 bits, which core functions pass as they are.
    Numbers,
    Other,
}

/// The index spaces of a component that is being instantiated. They only grow, so a component inside can refer to them by
/// index later.
#[derive(Default)]
struct Scope<'a> {
    /// The scope of the component's definition.
    parent: Option<usize>,
    /// The scope that instantiates it.
    instantiated_by: Option<usize>,
    modules: Vec<Option<&'a [u8]>>,
    /// By number in [`Assembly::cores`].
    core_instances: Vec<usize>,
    core_funcs: Vec<CoreItem<'a>>,
    core_memories: Vec<CoreItem<'a>>,
    core_tables: Vec<CoreItem<'a>>,
    core_globals: Vec<CoreItem<'a>>,
    core_tags: Vec<CoreItem<'a>>,
    components: Vec<Component<'a>>,
    instances: Vec<Instance<'a>>,
    funcs: Vec<Func<'a>>,
    types: Vec<Type<'a>>,
    exports: Exports<'a>,
}

/// An index that the validator has checked.
fn at<T: Clone>(items: &[T], index: u32) -> Result<T> {
    items.get(index as usize).cloned().context("has an index out of range")
}

impl<'a> Scope<'a> {
    fn push(&mut self, item: Item<'a>) {
        match item {
            Item::Func(func) => self.funcs.push(func),
            Item::Instance(instance) => self.instances.push(instance),
            Item::Component(component) => self.components.push(component),
            Item::Module(module) => self.modules.push(module),
            Item::Type(ty) => self.types.push(ty),
            Item::Value => {}
        }
    }

    fn item(&self, kind: ComponentExternalKind, index: u32) -> Result<Item<'a>> {
        Ok(match kind {
            ComponentExternalKind::Module => Item::Module(at(&self.modules, index)?),
            ComponentExternalKind::Func => Item::Func(at(&self.funcs, index)?),
            ComponentExternalKind::Value => Item::Value,
            ComponentExternalKind::Type => Item::Type(at(&self.types, index)?),
            ComponentExternalKind::Instance => Item::Instance(at(&self.instances, index)?),
            ComponentExternalKind::Component => Item::Component(at(&self.components, index)?),
        })
    }

    fn core(&mut self, kind: ExternalKind) -> &mut Vec<CoreItem<'a>> {
        match kind {
            ExternalKind::Func | ExternalKind::FuncExact => &mut self.core_funcs,
            ExternalKind::Table => &mut self.core_tables,
            ExternalKind::Memory => &mut self.core_memories,
            ExternalKind::Global => &mut self.core_globals,
            ExternalKind::Tag => &mut self.core_tags,
        }
    }

    fn options(&self, options: &[CanonicalOption]) -> Result<Options<'a>> {
        let mut all = Options::default();
        for option in options {
            match *option {
                CanonicalOption::UTF8 => {}
                CanonicalOption::Memory(index) => all.memory = Some(at(&self.core_memories, index)?),
                CanonicalOption::Realloc(index) => all.realloc = Some(at(&self.core_funcs, index)?),
                CanonicalOption::PostReturn(index) => all.post_return = Some(at(&self.core_funcs, index)?),
                CanonicalOption::UTF16 => all.unusual = Some("string-encoding=utf16"),
                CanonicalOption::CompactUTF16 => all.unusual = Some("string-encoding=latin1+utf16"),
                CanonicalOption::Async => all.unusual = Some("async"),
                CanonicalOption::Callback(_) => all.unusual = Some("callback"),
                CanonicalOption::CoreType(_) => all.unusual = Some("core-type"),
                CanonicalOption::Gc => all.unusual = Some("gc"),
            }
        }
        Ok(all)
    }
}

/// Reads the entries of a section.
fn entries<'a, T: FromReader<'a>>(bytes: &'a [u8]) -> Result<SectionLimited<'a, T>> {
    let mut reader = BinaryReader::new(bytes, 0);
    reader.set_features(crate::component_features());
    Ok(SectionLimited::new(reader)?)
}

impl<'a> Assembly<'a> {
    /// Instantiates a valid component whose imports are the host's.
    pub(super) fn of(wasm: &'a [u8]) -> Result<Self> {
        let mut assembly = Self::default();
        assembly.exports = assembly.instantiate(Component { wasm, parent: None }, None, None, 1)?;
        Ok(assembly)
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

/// A name like `TaskReturn { .. }` as people write it: `task-return`.
fn kebab(debug: &str) -> String {
    let mut name = String::new();
    for char in debug.chars().take_while(|char| char.is_ascii_alphanumeric()) {
        if char.is_ascii_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(char.to_ascii_lowercase());
    }
    name
}

/// What the component imports from an instance, or, without one, itself.
fn imported<'a>(interface: &str, name: &str, kind: ComponentExternalKind) -> Result<Item<'a>> {
    let names = || (Rc::from(interface), Rc::from(name));
    Ok(match kind {
        ComponentExternalKind::Func => {
            let (interface, name) = names();
            Item::Func(Func::Imported(interface, name))
        }
        ComponentExternalKind::Type => {
            let (interface, name) = names();
            Item::Type(Type::Imported(interface, name))
        }
        ComponentExternalKind::Instance if interface.is_empty() => Item::Instance(Instance::Imported(Rc::from(name))),
        ComponentExternalKind::Instance => Item::Instance(Instance::Imported(Rc::from(format!("{interface}#{name}")))),
        ComponentExternalKind::Module => Item::Module(None),
        ComponentExternalKind::Value => Item::Value,
        ComponentExternalKind::Component => {
            bail!("imports the component `{}`, which nobody provides", name.escape_debug())
        }
    })
}

/// Whether a type is that of a function that takes and returns nothing but numbers of 32 and 64 bits.
fn is_over_numbers(ty: &ComponentType<'_>) -> bool {
    use wasmparser::PrimitiveValType::{F32, F64, S32, S64, U32, U64};
    let is_number = |ty| matches!(ty, ComponentValType::Primitive(S32 | U32 | S64 | U64 | F32 | F64));
    match ty {
        ComponentType::Func(ty) => {
            !ty.async_ && ty.params.iter().all(|(_, ty)| is_number(*ty)) && ty.result.is_none_or(is_number)
        }
        _ => false,
    }
}
