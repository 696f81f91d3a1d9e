//! What index spaces of components hold.

use std::collections::BTreeMap;
use std::rc::Rc;

use anyhow::{Context, Result, bail};
use wasmparser::{CanonicalOption, ComponentExternalKind, ComponentType, ComponentValType, ExternalKind};

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
    pub(super) scope: usize,
    /// All that is passed and returned are numbers.
    pub(super) numbers: bool,
    pub(super) options: Options<'a>,
}

impl Lift<'_> {
    /// Whether a call from another component is a call of the core function: one or no result, and nothing in memory.
    pub(super) fn is_plain(&self) -> bool {
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
    pub(super) wasm: &'a [u8],
    /// The scope that it is defined in.
    pub(super) parent: Option<usize>,
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

/// The index spaces of a component that is being instantiated. They only grow, so a component inside can refer to them
/// by index later.
#[derive(Default)]
pub(super) struct Scope<'a> {
    /// The scope of the component's definition.
    pub(super) parent: Option<usize>,
    /// The scope that instantiates it.
    pub(super) instantiated_by: Option<usize>,
    pub(super) modules: Vec<Option<&'a [u8]>>,
    /// By number in [`Assembly::cores`].
    pub(super) core_instances: Vec<usize>,
    pub(super) core_funcs: Vec<CoreItem<'a>>,
    pub(super) core_memories: Vec<CoreItem<'a>>,
    pub(super) core_tables: Vec<CoreItem<'a>>,
    pub(super) core_globals: Vec<CoreItem<'a>>,
    pub(super) core_tags: Vec<CoreItem<'a>>,
    pub(super) components: Vec<Component<'a>>,
    pub(super) instances: Vec<Instance<'a>>,
    pub(super) funcs: Vec<Func<'a>>,
    pub(super) types: Vec<Type<'a>>,
    pub(super) exports: Exports<'a>,
}

/// An index that the validator has checked.
pub(super) fn at<T: Clone>(items: &[T], index: u32) -> Result<T> {
    items.get(index as usize).cloned().context("has an index out of range")
}

impl<'a> Scope<'a> {
    pub(super) fn push(&mut self, item: Item<'a>) {
        match item {
            Item::Func(func) => self.funcs.push(func),
            Item::Instance(instance) => self.instances.push(instance),
            Item::Component(component) => self.components.push(component),
            Item::Module(module) => self.modules.push(module),
            Item::Type(ty) => self.types.push(ty),
            Item::Value => {}
        }
    }

    pub(super) fn item(&self, kind: ComponentExternalKind, index: u32) -> Result<Item<'a>> {
        Ok(match kind {
            ComponentExternalKind::Module => Item::Module(at(&self.modules, index)?),
            ComponentExternalKind::Func => Item::Func(at(&self.funcs, index)?),
            ComponentExternalKind::Value => Item::Value,
            ComponentExternalKind::Type => Item::Type(at(&self.types, index)?),
            ComponentExternalKind::Instance => Item::Instance(at(&self.instances, index)?),
            ComponentExternalKind::Component => Item::Component(at(&self.components, index)?),
        })
    }

    pub(super) fn core(&mut self, kind: ExternalKind) -> &mut Vec<CoreItem<'a>> {
        match kind {
            ExternalKind::Func | ExternalKind::FuncExact => &mut self.core_funcs,
            ExternalKind::Table => &mut self.core_tables,
            ExternalKind::Memory => &mut self.core_memories,
            ExternalKind::Global => &mut self.core_globals,
            ExternalKind::Tag => &mut self.core_tags,
        }
    }

    pub(super) fn options(&self, options: &[CanonicalOption]) -> Result<Options<'a>> {
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

/// A name like `TaskReturn { .. }` as people write it: `task-return`.
pub(super) fn kebab(debug: &str) -> String {
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
pub(super) fn imported<'a>(interface: &str, name: &str, kind: ComponentExternalKind) -> Result<Item<'a>> {
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
pub(super) fn is_over_numbers(ty: &ComponentType<'_>) -> bool {
    use wasmparser::PrimitiveValType::{F32, F64, S32, S64, U32, U64};
    let is_number = |ty| matches!(ty, ComponentValType::Primitive(S32 | U32 | S64 | U64 | F32 | F64));
    match ty {
        ComponentType::Func(ty) => {
            !ty.async_ && ty.params.iter().all(|(_, ty)| is_number(*ty)) && ty.result.is_none_or(is_number)
        }
        _ => false,
    }
}
