//! What the guest can call: WASI, and stubs for what nobody provides.

use super::host::Host;
use super::settings::Stub;
use super::trap;
use super::wasi;
use anyhow::{Context, Result, anyhow};
use std::collections::BTreeSet;
use std::fmt;
use wasmtime::{
    Caller, Extern, ExternType, FuncType, Global, ImportType, Instance, InstancePre, Linker, Memory, MemoryType,
    Module, Mutability, Ref, Store, Table, Val,
};

/// The module of functions that only fuzzbox provides.
const PROTOCOL: &str = "fuzzbox_v1";
/// `() -> ()`: when the entry has returned, the state is to be that in which every execution begins.
const SNAPSHOT_HERE: &str = "snapshot_here";

/// More imports than this are not listed one by one in an error.
const LISTED_MAX: usize = 12;

/// Ends an execution because a stubbed import was called.
#[derive(Debug)]
pub(super) struct StubCalled {
    name: String,
}

impl fmt::Display for StubCalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the stubbed import {} was called", self.name)
    }
}

impl std::error::Error for StubCalled {}

/// How a module's imports are satisfied; the same for each of its instances.
pub(super) enum Imports {
    /// Everything is provided, by functions that belong to no store: linked once.
    Provided(InstancePre<Host>),
    /// What is missing is stubbed. Stubs that are not functions belong to a store, so each instance links its own.
    Stubbed(Linker<Host>, Stub),
}

impl fmt::Debug for Imports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if matches!(self, Self::Provided(_)) { "Provided" } else { "Stubbed" })
    }
}

impl Imports {
    /// Links `module` with everything that we provide: WASI preview 1, and `fuzzbox_v1`. If `frames`, functions that end an
    /// execution say what was live.
    ///
    /// # Errors
    ///
    /// If imports are missing and are not to be stubbed; the error lists them.
    pub(super) fn of(
        module: &Module,
        stub: Option<Stub>,
        frames: bool,
        protocol: &[(&'static str, String)],
    ) -> Result<Self> {
        let mut linker = Linker::new(module.engine());
        let leaving = move |caller: &mut Caller<'_, Host>| {
            if frames {
                trap::capture(caller);
            }
        };
        wasi::link(&mut linker, |host: &mut Host| (host.memory, &mut host.wasi), leaving)
            .context("failed to link WASI")?;
        linker
            .func_wrap(PROTOCOL, SNAPSHOT_HERE, |mut caller: Caller<'_, Host>| {
                caller.data_mut().asked_for_snapshot = true;
            })
            .map_err(anyhow::Error::from)?;
        pass_on(module, &mut linker, protocol).map_err(anyhow::Error::from)?;
        let missing = missing(module, &linker);
        match stub {
            Some(stub) if !missing.is_empty() => Ok(Self::Stubbed(linker, stub)),
            None if !missing.is_empty() => Err(refusal(&missing)),
            _ => Ok(Self::Provided(linker.instantiate_pre(module)?)),
        }
    }

    /// Makes an instance, which runs its start function.
    pub(super) fn instantiate(&self, module: &Module, store: &mut Store<Host>) -> wasmtime::Result<Instance> {
        match self {
            Self::Provided(instance) => instance.instantiate(store),
            Self::Stubbed(linker, stub) => {
                let mut linker = linker.clone();
                define_stubs(module, &mut linker, store, *stub)?;
                linker.instantiate(store, module)
            }
        }
    }
}

/// Defines the functions that the rewriter replaced, as pairs of import and export. Calls in the module's code don't come here; those
/// through tables and the like do, and go on to what replaces the import.
fn pass_on(module: &Module, linker: &mut Linker<Host>, protocol: &[(&'static str, String)]) -> wasmtime::Result<()> {
    for (import, export) in protocol {
        let Some(ExternType::Func(ty)) = module.get_export(export) else { continue };
        if linker.get(&mut Store::new(module.engine(), Host::nothing()), PROTOCOL, import).is_ok() {
            continue;
        }
        let export = export.clone();
        linker.func_new(PROTOCOL, import, ty, move |mut caller, params, results| {
            let function = caller.get_export(&export).and_then(Extern::into_func);
            let function = function.ok_or_else(|| wasmtime::format_err!("the rewriter exports `{export}`"))?;
            function.call(&mut caller, params, results)
        })?;
    }
    Ok(())
}

/// Whether a module can ask for a snapshot.
pub(super) fn can_ask_for_snapshot(module: &Module) -> bool {
    module.imports().any(|import| (import.module(), import.name()) == (PROTOCOL, SNAPSHOT_HERE))
}

/// Refuses a module because nobody provides what it imports.
fn refusal(missing: &[(String, String, ExternType)]) -> anyhow::Error {
    let names: Vec<_> = missing
        .iter()
        .take(LISTED_MAX)
        .map(|(module, name, ty)| format!("{}.{} ({})", module.escape_debug(), name.escape_debug(), kind(ty)))
        .collect();
    let more = missing.len().saturating_sub(LISTED_MAX);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    anyhow!(
        "nobody provides the imports {}{more}\n\
         help: `--stub-imports trap` lets them end an execution when called, `--stub-imports zero` return zeros",
        names.join(", ")
    )
}

/// Defines what is missing in `linker` as stubs. What is not a function belongs to `store`.
fn define_stubs(
    module: &Module,
    linker: &mut Linker<Host>,
    store: &mut Store<Host>,
    stub: Stub,
) -> wasmtime::Result<()> {
    let missing = missing(module, linker);
    linker.allow_shadowing(true);
    for (module_name, name, ty) in missing {
        let what = format!("{module_name}.{name}");
        let item: Extern = match ty {
            ExternType::Func(ty) => stub_function(store, ty, what, stub).into(),
            ExternType::Memory(ty) => stub_memory(store, &ty)?.into(),
            ExternType::Tag(ty) => wasmtime::Tag::new(&mut *store, &ty)?.into(),
            ExternType::Global(ty) => {
                let value = zero(ty.content()).ok_or_else(|| {
                    wasmtime::format_err!("{what} can't be stubbed: it holds a reference that is never null")
                })?;
                Global::new(&mut *store, ty, value)?.into()
            }
            ExternType::Table(ty) if ty.element().is_nullable() => {
                let null = Ref::null(ty.element().heap_type());
                Table::new(&mut *store, ty, null)?.into()
            }
            ExternType::Table(_) => {
                wasmtime::bail!("{what} can't be stubbed: it holds references that are never null")
            }
        };
        linker.define(&mut *store, &module_name, &name, item)?;
    }
    Ok(())
}

/// A memory of an instance of its own: those that wasmtime makes without one are not made by our creator of memories.
fn stub_memory(store: &mut Store<Host>, ty: &MemoryType) -> wasmtime::Result<Memory> {
    const HAS_MAXIMUM: u8 = 1;
    const IS_64: u8 = 4;
    const HAS_PAGE_SIZE: u8 = 8;
    let flag = |flag, set| if set { flag } else { 0 };
    let flags = flag(HAS_MAXIMUM, ty.maximum().is_some()) | flag(IS_64, ty.is_64()) | HAS_PAGE_SIZE;
    let numbers = [Some(ty.minimum()), ty.maximum(), Some(ty.page_size_log2().into())];
    let mut memory = vec![1, flags];
    numbers.into_iter().flatten().for_each(|number| write_leb128(&mut memory, number));
    // Section 5, memories: this one. Section 7, exports: this one, without a name.
    let len = u8::try_from(memory.len()).expect("three numbers");
    let module = [b"\0asm\x01\0\0\0\x05", &[len][..], &memory, &[7, 4, 1, 0, 2, 0]].concat();
    let module = Module::new(store.engine(), module)?;
    let instance = Instance::new(&mut *store, &module, &[])?;
    Ok(instance.get_memory(store, "").expect("the module exports its memory"))
}

fn write_leb128(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn stub_function(store: &mut Store<Host>, ty: FuncType, name: String, stub: Stub) -> wasmtime::Func {
    let zeros: Option<Vec<Val>> = ty.results().map(|ty| zero(&ty)).collect();
    wasmtime::Func::new(store, ty, move |_, _, results| match (stub, &zeros) {
        (Stub::Zero, Some(zeros)) => {
            results.clone_from_slice(zeros);
            Ok(())
        }
        // A result that has no zero (a reference that is never null) can't be made up.
        _ => Err(wasmtime::Error::from(StubCalled { name: name.clone() })),
    })
}

fn zero(ty: &wasmtime::ValType) -> Option<Val> {
    Val::default_for_ty(ty)
}

/// Imports that nobody provides, each once, in the module's order. A function that we have with another type is not provided:
/// other hosts extended WASI's sockets under the same names.
fn missing(module: &Module, linker: &Linker<Host>) -> Vec<(String, String, ExternType)> {
    let mut store = Store::new(module.engine(), Host::nothing());
    let mut is_provided = |import: &ImportType<'_>| {
        let ours = linker.get(&mut store, import.module(), import.name()).ok().and_then(Extern::into_func);
        let types = ours.map(|function| function.ty(&store)).zip(import.ty().func().cloned());
        types.is_some_and(|(ours, theirs)| FuncType::eq(&ours, &theirs))
    };
    let mut missing: Vec<(String, String, ExternType)> = Vec::new();
    let mut seen = BTreeSet::new();
    for import in module.imports() {
        if !is_provided(&import) && seen.insert((import.module(), import.name())) {
            missing.push((import.module().to_owned(), import.name().to_owned(), import.ty()));
        }
    }
    missing
}

fn kind(ty: &ExternType) -> String {
    match ty {
        ExternType::Func(ty) => format!("func {}", super::entry::signature(ty)),
        ExternType::Memory(_) => "memory".to_owned(),
        ExternType::Table(_) => "table".to_owned(),
        ExternType::Tag(_) => "tag".to_owned(),
        ExternType::Global(ty) => {
            format!("{}global {}", if ty.mutability() == Mutability::Var { "mutable " } else { "" }, ty.content())
        }
    }
}
