//! Everything that we provide, linked to a module.

use crate::sandbox::imports::host::Host;
use crate::sandbox::imports::{Imports, Missing, assemblyscript, frames, libfuzzer, personality};
use crate::sandbox::source::interface::Interface;
use crate::sandbox::wasi;
use crate::settings::Stub;
use anyhow::{Context, Result};
use fuzzbox_instrument::ComponentImport;
use fuzzbox_instrument::recipe::given_name;
use wasmtime::{Caller, Engine, Extern, ExternType, FuncType, Linker, Module, Store};

/// The module of functions that only fuzzbox provides.
const PROTOCOL: &str = "fuzzbox_v1";

/// `() -> ()`: when the entry has returned, the state is to be that in which every execution begins.
const SNAPSHOT_HERE: &str = "snapshot_here";

/// What a call of `fuzzbox_v1.feature` takes at most, in units of fuel: it looks at a name and at all features.
const FEATURE_WORK: u64 = 1 << 13;

/// Links `module` with everything that we provide, and what is `missing` with stubs. If `tells_frames`, functions that
/// end an execution say what was live.
pub(crate) fn link(
    module: &Module,
    lowered: &[ComponentImport],
    missing: (Option<Stub>, &Missing),
    tells_frames: bool,
    protocol: &[(&'static str, String)],
) -> Result<Imports> {
    let types = module.imports().map(|import| import.ty());
    let mut linker = provided(module.engine(), lowered.iter().zip(types), tells_frames, missing.0)?;
    let functions = module.imports().filter_map(|import| match import.ty() {
        ExternType::Func(ty) => Some((import.module(), import.name(), ty)),
        _ => None,
    });
    impersonate(&mut linker, functions, (tells_frames, missing.0)).map_err(anyhow::Error::from)?;
    pass_on(module, &mut linker, protocol).map_err(anyhow::Error::from)?;
    give(module, &mut linker).map_err(anyhow::Error::from)?;
    match missing {
        (Some(stub), missing) if !missing.is_empty() => Ok(Imports::Stubbed(linker, stub, missing.clone())),
        _ => Ok(Imports::Provided(linker.instantiate_pre(module)?)),
    }
}

/// Everything that we provide: WASI preview 1, `fuzzbox_v1`, and of what a component imports (`lowered`, with types)
/// WASI preview 2. What AssemblyScript imports, too, unless what else is missing is stubbed: whoever asked for stubs
/// has them for this.
pub(super) fn provided<'a>(
    engine: &Engine,
    lowered: impl Iterator<Item = (&'a ComponentImport, ExternType)>,
    tells_frames: bool,
    stub: Option<Stub>,
) -> Result<Linker<Host>> {
    let mut linker = Linker::new(engine);
    let leaving = move |caller: &mut Caller<'_, Host>| {
        if tells_frames {
            frames::capture(caller);
        }
    };
    wasi::link(&mut linker, |host: &mut Host| (host.memory, &mut host.wasi), leaving).context("failed to link WASI")?;
    linker
        .func_wrap(PROTOCOL, SNAPSHOT_HERE, |mut caller: Caller<'_, Host>| -> wasmtime::Result<()> {
            caller.data_mut().asked_for_snapshot = true;
            Ok(caller.data_mut().wasi.called()?)
        })
        .map_err(anyhow::Error::from)?;
    libfuzzer::define(&mut linker).map_err(anyhow::Error::from)?;
    for (import, ty) in lowered {
        wasi::p2::define(&mut linker, import, &ty, |host| &mut host.wasi, leaving)
            .map_err(anyhow::Error::from)
            .context("failed to link WASI preview 2")?;
    }
    if matches!(stub, None | Some(Stub::Reject)) {
        assemblyscript::define(&mut linker, leaving).map_err(anyhow::Error::from)?;
    }
    Ok(linker)
}

/// Defines what other hosts than WASI provide, of functions that nobody has defined with their types.
pub(super) fn impersonate<'a>(
    linker: &mut Linker<Host>,
    functions: impl Iterator<Item = (&'a str, &'a str, FuncType)>,
    (tells_frames, stub): (bool, Option<Stub>),
) -> wasmtime::Result<()> {
    let leaving = move |caller: &mut Caller<'_, Host>| {
        if tells_frames {
            frames::capture(caller);
        }
    };
    let engine = linker.engine().clone();
    let mut store = Store::new(&engine, Host::nothing());
    linker.allow_shadowing(true);
    for (module, name, ty) in functions {
        let Some(provided) = personality::of(module, name, &ty) else { continue };
        let ours = linker.get(&mut store, module, name).ok().and_then(Extern::into_func);
        let is_there = ours.is_some_and(|ours| FuncType::eq(&ours.ty(&store), &ty));
        if !is_there && !provided.yields_to(stub, name) {
            personality::define(linker, (module, name), ty, provided, leaving)?;
        }
    }
    linker.allow_shadowing(false);
    Ok(())
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

/// Defines the imports that a call recipe gives, as calls of the module's own functions.
fn give(module: &Module, linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    for import in module.imports() {
        let export = given_name(import.module(), import.name());
        if let (ExternType::Func(ty), Some(ExternType::Func(_))) = (import.ty(), module.get_export(&export)) {
            personality::define_given(linker, (import.module(), import.name()), ty, export)?;
        }
    }
    linker.allow_shadowing(false);
    Ok(())
}

/// Whether a module can ask for a snapshot.
pub(crate) fn can_ask_for_snapshot(interface: &Interface) -> bool {
    interface.imports(PROTOCOL, SNAPSHOT_HERE)
}
