//! What the guest can call: WASI, and stubs for what nobody provides.

pub(super) mod assemblyscript;
pub(super) mod host;
pub(super) mod leaving;
pub(super) mod reference;
pub(super) mod stubs;

use crate::sandbox::imports::host::Host;
use crate::sandbox::imports::stubs::define_stubs;
use crate::sandbox::source::interface::{Import, Interface};
use crate::sandbox::source::words::Shortened;
use crate::sandbox::wasi;
use crate::settings::Stub;
use anyhow::{Context, Result, anyhow, bail};
use fuzzbox_instrument::{ComponentImport, protocol};
use std::collections::BTreeSet;
use std::fmt;
use wasmparser::{TypeRef, ValType};
use wasmtime::{Caller, Engine, Extern, ExternType, FuncType, Instance, InstancePre, Linker, Module, Store};

/// The module of functions that only fuzzbox provides.
const PROTOCOL: &str = "fuzzbox_v1";

/// `() -> ()`: when the entry has returned, the state is to be that in which every execution begins.
const SNAPSHOT_HERE: &str = "snapshot_here";

/// What a call of `fuzzbox_v1.feature` takes at most, in units of fuel: it looks at a name and at all features.
const FEATURE_WORK: u64 = 1 << 13;

/// More imports than this are not listed one by one in an error.
const LISTED_MAX: usize = 5;

/// How a module's imports are satisfied; the same for each of its instances.
pub(crate) enum Imports {
    /// Everything is provided, by functions that belong to no store: linked once.
    Provided(InstancePre<Host>),
    /// What is missing is stubbed. Stubs that are not functions belong to a store, so each instance links its own.
    Stubbed(Linker<Host>, Stub, Missing),
}

/// Imports that nobody provides: module and name.
pub(crate) type Missing = BTreeSet<(String, String)>;

impl fmt::Debug for Imports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if matches!(self, Self::Provided(_)) { "Provided" } else { "Stubbed" })
    }
}

impl Imports {
    /// Links `module` with everything that we provide, and what is `missing` with stubs. If `frames`, functions that
    /// end an execution say what was live.
    pub(crate) fn of(
        module: &Module,
        lowered: &[ComponentImport],
        missing: (Option<Stub>, &Missing),
        frames: bool,
        protocol: &[(&'static str, String)],
    ) -> Result<Self> {
        let types = module.imports().map(|import| import.ty());
        let mut linker = provided(module.engine(), lowered.iter().zip(types), frames, missing.0)?;
        pass_on(module, &mut linker, protocol).map_err(anyhow::Error::from)?;
        match missing {
            (Some(stub), missing) if !missing.is_empty() => Ok(Self::Stubbed(linker, stub, missing.clone())),
            _ => Ok(Self::Provided(linker.instantiate_pre(module)?)),
        }
    }

    /// Makes an instance, which runs its start function.
    pub(crate) fn instantiate(&self, module: &Module, store: &mut Store<Host>) -> wasmtime::Result<Instance> {
        match self {
            Self::Provided(instance) => instance.instantiate(store),
            Self::Stubbed(linker, stub, missing) => {
                let mut linker = linker.clone();
                define_stubs(module, &mut linker, store, *stub, missing)?;
                linker.instantiate(store, module)
            }
        }
    }
}

/// Everything that we provide: WASI preview 1, `fuzzbox_v1`, and of what a component imports (`lowered`, with types)
/// WASI preview 2. What AssemblyScript imports, too, unless what else is missing is stubbed: whoever asked for stubs
/// has them for this.
fn provided<'a>(
    engine: &Engine,
    lowered: impl Iterator<Item = (&'a ComponentImport, ExternType)>,
    frames: bool,
    stub: Option<Stub>,
) -> Result<Linker<Host>> {
    let mut linker = Linker::new(engine);
    let leaving = move |caller: &mut Caller<'_, Host>| {
        if frames {
            leaving::capture(caller);
        }
    };
    wasi::link(&mut linker, |host: &mut Host| (host.memory, &mut host.wasi), leaving).context("failed to link WASI")?;
    linker
        .func_wrap(PROTOCOL, SNAPSHOT_HERE, |mut caller: Caller<'_, Host>| -> wasmtime::Result<()> {
            caller.data_mut().asked_for_snapshot = true;
            Ok(caller.data_mut().wasi.called()?)
        })
        .map_err(anyhow::Error::from)?;
    for (import, ty) in lowered {
        wasi::p2::define(&mut linker, import, &ty, |host| &mut host.wasi, leaving)
            .map_err(anyhow::Error::from)
            .context("failed to link WASI preview 2")?;
    }
    if stub.is_none() {
        assemblyscript::define(&mut linker, leaving).map_err(anyhow::Error::from)?;
    }
    Ok(linker)
}

/// Who provides the imports of a module: by import, in the module's order, whether anybody does. A function that we
/// have with another type is not provided: other hosts extended WASI's sockets under the same names. `lowered` says
/// what a component's are.
pub(crate) fn are_provided(
    interface: &Interface,
    lowered: &[ComponentImport],
    stub: Option<Stub>,
) -> Result<Vec<bool>> {
    let engine = Engine::default();
    let typed = lowered.iter().zip(&interface.imports).filter_map(|(lowered, import)| {
        let ty = function_type(&engine, interface, import)?;
        Some((lowered, ExternType::Func(ty)))
    });
    let linker = provided(&engine, typed, false, stub)?;
    let mut store = Store::new(&engine, Host::nothing());
    let mut is_provided = |import: &Import| {
        // What the rewriter replaces; if the type is another it says so.
        if protocol::is_function(&import.module, &import.name) && interface.function_type(import.ty).is_some() {
            return true;
        }
        let ours = linker.get(&mut store, &import.module, &import.name).ok().and_then(Extern::into_func);
        let types = ours.map(|function| function.ty(&store)).zip(function_type(&engine, interface, import));
        types.is_some_and(|(ours, theirs)| FuncType::eq(&ours, &theirs))
    };
    Ok(interface.imports.iter().map(&mut is_provided).collect())
}

/// The type of an imported function as wasmtime's; `None` if it is none, or has references, as nothing has that we
/// provide.
fn function_type(engine: &Engine, interface: &Interface, import: &Import) -> Option<FuncType> {
    let convert = |types: &[ValType]| {
        let convert = |ty: &ValType| {
            Some(match ty {
                ValType::I32 => wasmtime::ValType::I32,
                ValType::I64 => wasmtime::ValType::I64,
                ValType::F32 => wasmtime::ValType::F32,
                ValType::F64 => wasmtime::ValType::F64,
                ValType::V128 => wasmtime::ValType::V128,
                ValType::Ref(_) => return None,
            })
        };
        types.iter().map(convert).collect::<Option<Vec<_>>>()
    };
    let ty = interface.function_type(import.ty)?;
    Some(FuncType::new(engine, convert(ty.params())?, convert(ty.results())?))
}

/// The imports that nobody provides.
///
/// # Errors
///
/// If there are some and they are not to be stubbed, with a list of them; or if one can't be stubbed.
pub(crate) fn missing(interface: &Interface, lowered: &[ComponentImport], stub: Option<Stub>) -> Result<Missing> {
    let provided = are_provided(interface, lowered, stub)?;
    let mut names = Missing::new();
    let mut listed = Vec::new();
    for (import, _) in interface.imports.iter().zip(provided).filter(|(_, provided)| !provided) {
        if names.insert((import.module.clone(), import.name.clone())) {
            listed.push(import);
        }
    }
    if stub.is_none() && !listed.is_empty() {
        return Err(refusal(interface, &listed));
    }
    for import in listed {
        if is_never_null(import.ty) {
            bail!("{} can't be stubbed: it holds references that are never null", shown(import));
        }
    }
    Ok(names)
}

/// Whether something holds a reference for which there is no value to begin with.
fn is_never_null(ty: TypeRef) -> bool {
    match ty {
        TypeRef::Global(ty) => matches!(ty.content_type, ValType::Ref(ty) if !ty.is_nullable()),
        TypeRef::Table(ty) => !ty.element_type.is_nullable(),
        TypeRef::Func(_) | TypeRef::FuncExact(_) | TypeRef::Memory(_) | TypeRef::Tag(_) => false,
    }
}

/// An import's name, in one line.
pub(crate) fn shown(import: &Import) -> String {
    format!("{}.{}", Shortened(&import.module), Shortened(&import.name))
}

/// Defines the functions that the rewriter replaced, as pairs of import and export. Calls in the module's code don't
/// come here; those through tables and the like do, and go on to what replaces the import.
fn pass_on(module: &Module, linker: &mut Linker<Host>, protocol: &[(&'static str, String)]) -> wasmtime::Result<()> {
    for (import, export) in protocol {
        let Some(ExternType::Func(ty)) = module.get_export(export) else { continue };
        if linker.get(&mut Store::new(module.engine(), Host::nothing()), PROTOCOL, import).is_ok() {
            continue;
        }
        let export = export.clone();
        let work = if *import == "feature" { FEATURE_WORK } else { 0 };
        linker.func_new(PROTOCOL, import, ty, move |mut caller, params, results| {
            caller.data_mut().wasi.passed_on(work)?;
            let function = caller.get_export(&export).and_then(Extern::into_func);
            let function = function.ok_or_else(|| wasmtime::format_err!("the rewriter exports `{export}`"))?;
            function.call(&mut caller, params, results)
        })?;
    }
    Ok(())
}

/// Whether a module can ask for a snapshot.
pub(crate) fn can_ask_for_snapshot(interface: &Interface) -> bool {
    interface.imports(PROTOCOL, SNAPSHOT_HERE)
}

/// Refuses a module because nobody provides what it imports.
fn refusal(interface: &Interface, missing: &[&Import]) -> anyhow::Error {
    let names: Vec<_> = missing
        .iter()
        .take(LISTED_MAX)
        .map(|import| format!("{} ({})", shown(import), interface.describe(import.ty)))
        .collect();
    let more = missing.len().saturating_sub(LISTED_MAX);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    anyhow!(
        "nobody provides the imports {}{more}\n\
         help: `--stub-imports trap` lets them end an execution when called, `--stub-imports zero` return zeros",
        names.join(", ")
    )
}
