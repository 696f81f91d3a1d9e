//! What the guest can call: WASI, and stubs for what nobody provides.

use super::host::Host;
use super::settings::Stub;
use super::wasi;
use anyhow::{Context, Result, bail};
use std::fmt;
use wasmtime::{
    Engine, Extern, ExternType, FuncType, Global, Linker, Memory, Module, Mutability, Ref, Store, Table, Val,
};

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

/// Links everything that we provide: WASI preview 1.
pub(super) fn linker(engine: &Engine) -> Result<Linker<Host>> {
    let mut linker = Linker::new(engine);
    wasi::link(&mut linker, |host: &mut Host| (host.memory, &mut host.wasi)).context("failed to link WASI")?;
    Ok(linker)
}

/// Refuses imports that nobody provides, with a list of them, unless they are to be stubbed.
pub(super) fn check(module: &Module, linker: &Linker<Host>, store: &mut Store<Host>, stub: Option<Stub>) -> Result<()> {
    let missing = missing(module, linker, store);
    if missing.is_empty() || stub.is_some() {
        return Ok(());
    }
    let names: Vec<_> = missing
        .iter()
        .take(LISTED_MAX)
        .map(|(module, name, ty)| format!("{}.{} ({})", module.escape_debug(), name.escape_debug(), kind(ty)))
        .collect();
    let more = missing.len().saturating_sub(LISTED_MAX);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    bail!(
        "nobody provides the imports {}{more}\nhelp: `--stub-imports trap` lets them end an execution when called, `--stub-imports zero` return zeros",
        names.join(", ")
    )
}

/// Defines what is missing in `linker` as stubs. What is not a function belongs to `store`.
pub(super) fn stub(module: &Module, linker: &mut Linker<Host>, store: &mut Store<Host>, stub: Stub) -> Result<()> {
    for (module_name, name, ty) in missing(module, linker, store) {
        let what = format!("{module_name}.{name}");
        let item: Extern = match ty {
            ExternType::Func(ty) => stub_function(store, ty, what.clone(), stub).into(),
            ExternType::Memory(ty) => {
                Memory::new(&mut *store, ty).map_err(|error| error.context(format!("failed to stub {what}")))?.into()
            }
            ExternType::Global(ty) => {
                let value = zero(ty.content())
                    .with_context(|| format!("{what} can't be stubbed: it holds a reference that is never null"))?;
                Global::new(&mut *store, ty, value).map_err(anyhow::Error::from)?.into()
            }
            ExternType::Table(ty) => {
                let null = Ref::null(ty.element().heap_type());
                Table::new(&mut *store, ty, null).map_err(anyhow::Error::from)?.into()
            }
            ExternType::Tag(ty) => wasmtime::Tag::new(&mut *store, &ty).map_err(anyhow::Error::from)?.into(),
        };
        linker.define(&mut *store, &module_name, &name, item).map_err(anyhow::Error::from)?;
    }
    Ok(())
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

/// Imports that `linker` doesn't have, each once, in the module's order.
fn missing(module: &Module, linker: &Linker<Host>, store: &mut Store<Host>) -> Vec<(String, String, ExternType)> {
    let mut missing: Vec<(String, String, ExternType)> = Vec::new();
    for import in module.imports() {
        let known = linker.get(&mut *store, import.module(), import.name()).is_ok();
        let seen = missing.iter().any(|(module, name, _)| (&**module, &**name) == (import.module(), import.name()));
        if !known && !seen {
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
