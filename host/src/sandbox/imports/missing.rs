//! The imports that nobody provides, found out before anything is compiled.

use crate::sandbox::conventions::kind::NAMES_ARE_SHORT;
use crate::sandbox::imports::Missing;
use crate::sandbox::imports::host::Host;
use crate::sandbox::imports::link::{impersonate, provided};
use crate::sandbox::imports::personality::{self, Personality};
use crate::sandbox::source::interface::{Import, Interface};
use crate::sandbox::source::words::Shortened;
use crate::settings::Stub;
use anyhow::{Result, anyhow, bail};
use fuzzbox_instrument::{ComponentImport, protocol};
use std::collections::BTreeMap;
use wasmparser::{TypeRef, ValType};
use wasmtime::{Engine, Extern, ExternType, FuncType, Store};

/// More imports than this are not listed one by one in an error.
const LISTED_MAX: usize = 5;

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
    let mut linker = provided(&engine, typed, false, stub)?;
    let functions = interface
        .imports
        .iter()
        .filter_map(|import| Some((&*import.module, &*import.name, function_type(&engine, interface, import)?)));
    impersonate(&mut linker, functions, (false, stub)).map_err(anyhow::Error::from)?;
    let mut store = Store::new(&engine, Host::nothing());
    let mut is_provided = |import: &Import| {
        if interface.gives(import) {
            return true;
        }
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

/// The type of an imported function as wasmtime's; `None` if it is none, or has references other than those of
/// JavaScript, as nothing has that we provide.
fn function_type(engine: &Engine, interface: &Interface, import: &Import) -> Option<FuncType> {
    let convert = |types: &[ValType]| {
        let convert = |ty: &ValType| {
            Some(match ty {
                ValType::I32 => wasmtime::ValType::I32,
                ValType::I64 => wasmtime::ValType::I64,
                ValType::F32 => wasmtime::ValType::F32,
                ValType::F64 => wasmtime::ValType::F64,
                ValType::V128 => wasmtime::ValType::V128,
                ValType::Ref(ty) if ty.is_extern_ref() && ty.is_nullable() => wasmtime::ValType::EXTERNREF,
                ValType::Ref(_) => return None,
            })
        };
        types.iter().map(convert).collect::<Option<Vec<_>>>()
    };
    let ty = interface.function_type(import.ty)?;
    Some(FuncType::new(engine, convert(ty.params())?, convert(ty.results())?))
}

/// Which personalities a module needs, and which of its imports only their names are known of.
pub(crate) fn personalities(interface: &Interface) -> Vec<(Personality, Vec<String>)> {
    let engine = Engine::default();
    let mut found: BTreeMap<Personality, Vec<String>> = BTreeMap::new();
    for import in interface.imports.iter().filter(|import| !interface.gives(import)) {
        let ty = function_type(&engine, interface, import);
        let Some(provided) = ty.and_then(|ty| personality::of(&import.module, &import.name, &ty)) else { continue };
        let unknown = found.entry(provided.personality).or_default();
        unknown.extend(provided.is_unknown().then(|| shown(import)));
    }
    found.into_iter().collect()
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

/// Refuses a module because nobody provides what it imports.
fn refusal(interface: &Interface, missing: &[&Import]) -> anyhow::Error {
    let names: Vec<_> = missing
        .iter()
        .take(LISTED_MAX)
        .map(|import| format!("{} ({})", shown(import), interface.describe(import.ty)))
        .collect();
    let more = missing.len().saturating_sub(LISTED_MAX);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let is_short = |import: &&Import| import.module == "a" && import.name.len() <= 2;
    let why = if missing.iter().any(is_short) { format!(" ({NAMES_ARE_SHORT})") } else { String::new() };
    anyhow!(
        "nobody provides the imports {}{more}{why}\n\
         help: `--stub-imports trap` lets them end an execution when called, `zero` return zeros, `reject` reject the input",
        names.join(", ")
    )
}
