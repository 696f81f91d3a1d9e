//! How libraries are called for which nobody wrote a harness: which export is worth it, and the call recipe for it, by
//! what compilers and binding generators have in common.
//!
//! What a module says of itself is its exports and their types. Where the JavaScript lies beside it that was made with
//! it (*glue*), its calls tell more: which numbers are a string, which an array, which an object.
//!
//! `kind` says what made a module, `rank` which name sounds like a parser. There is a file for each convention:
//! `bindgen` (wasm-bindgen), `embind` and `webidl` (classes
//! of C++), `assemblyscript`, `heap` (C and all that exports an allocator, TinyGo and cabi among
//! them), `program` (`main`, where nothing starts it), `objects` (what has to be made first). None of these knows a
//! library; `tree_sitter` and `itk_wasm` know the runtime of many. `library` is a module as they see it, `glue` reads
//! JavaScript, `minified` what that says of names that were made short, `imported_bodies` what functions without names
//! do, `stack` finds the one that makes room on the stack, `exceptions` is what throws and catches in the place of
//! JavaScript, `go` starts programs in its place, `side` loads
//! what programs load, and `wasm_text` is for modules that are written here.

mod assemblyscript;
mod bindgen;
mod embind;
mod exceptions;
pub(crate) mod glue;
pub(crate) mod go;
mod heap;
mod imported_bodies;
mod itk_wasm;
pub(crate) mod kind;
mod library;
mod minified;
mod objects;
mod program;
mod rank;
mod side;
mod stack;
#[cfg(test)]
mod tests;
mod tree_sitter;
mod wasm_text;
mod webidl;

use crate::sandbox::conventions::kind::Kind;
use crate::sandbox::conventions::library::Library;
use crate::sandbox::source::interface::Interface;
use crate::sandbox::source::words::Shortened;
use crate::sandbox::wasi;
use crate::text::nearest;
use anyhow::{Context, Result, anyhow, bail};
use fuzzbox_instrument::recipe::{Checker, is_word};
use fuzzbox_instrument::{NamedModule, Provisions, link_modules, provide};
use serde::Serialize;
pub use side::Part;
use std::collections::BTreeSet;
use wasmparser::{FuncType, ValType};

/// A way to call an export that a convention knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proposal {
    /// The export that is given the input.
    pub export: String,
    /// The recipe, for `--call`.
    pub call: String,
    /// By what it is known: `wasm-bindgen`.
    pub convention: &'static str,
    /// Whether types and names are all that is known: it may be a misuse, and what is found then is nobody's mistake
    /// but that of the recipe.
    pub guessed: bool,
    /// What it did, if it was executed.
    pub tried: Option<Tried>,
    /// How much it is worth to be fuzzed; of no meaning but for its order.
    #[serde(skip)]
    score: i32,
}

impl Proposal {
    /// This way, and what it did.
    pub(crate) fn after(self, tried: Tried) -> Self {
        Self { tried: Some(tried), ..self }
    }
}

/// What a way to call an export did with some inputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tried {
    /// Edges that the empty input reached.
    pub empty_edges: usize,
    /// Edges that all reached together.
    pub edges: usize,
    /// How many inputs failed.
    pub failures: usize,
}

/// A convention: its name, and what it proposes.
type Convention = (&'static str, fn(&Library<'_>) -> Vec<Proposal>);

const ALL: [Convention; 9] = [
    (bindgen::NAME, bindgen::proposals),
    (embind::NAME, embind::proposals),
    (webidl::NAME, webidl::proposals),
    (assemblyscript::NAME, assemblyscript::proposals),
    (tree_sitter::NAME, tree_sitter::proposals),
    (itk_wasm::NAME, itk_wasm::proposals),
    (heap::NAME, heap::proposals),
    (program::NAME, program::proposals),
    (objects::NAME, objects::proposals),
];

/// The calls that conventions know of a module, the most promising first, one for each export. `glue` is the JavaScript
/// that lies beside it. What only an execution can tell is not among them.
pub(crate) fn proposals(interface: &Interface, glue: &str) -> Vec<Proposal> {
    let mut seen = BTreeSet::new();
    let known = ways(interface, glue).into_iter().filter(|proposal| proposal.convention != objects::NAME);
    known.filter(|proposal| seen.insert(proposal.export.clone())).collect()
}

/// All ways to call exports that may be right, the most promising first.
fn ways(interface: &Interface, glue: &str) -> Vec<Proposal> {
    let library = Library::of(interface, glue);
    let (mut all, mut seen) = (Vec::new(), BTreeSet::new());
    for (_, convention) in ALL {
        // A later convention knows less.
        let new: Vec<_> = convention(&library).into_iter().filter(|proposal| !is_known(&seen, proposal)).collect();
        seen.extend(new.iter().map(|proposal| (proposal.export.clone(), proposal.guessed)));
        all.extend(new);
    }
    all.sort_by_key(|proposal| std::cmp::Reverse(proposal.score));
    all
}

/// Whether an earlier convention knows the export: by more than types, or is as likely to be right.
fn is_known(seen: &BTreeSet<(String, bool)>, proposal: &Proposal) -> bool {
    let knows = |guessed| seen.contains(&(proposal.export.clone(), guessed));
    knows(false) || knows(true) && proposal.convention != objects::NAME
}

/// The first of [`proposals`] that fit the module, no more than `max`; or, if `all`, of the ways that may be right.
pub(crate) fn checked(interface: &Interface, wasm: &[u8], glue: &str, max: usize, all: bool) -> Vec<Proposal> {
    let Ok(checker) = Checker::of(wasm) else { return Vec::new() };
    let proposals = if all { ways(interface, glue) } else { proposals(interface, glue) };
    let fitting = proposals.into_iter().filter(|proposal| checker.check(&proposal.call).is_ok());
    fitting.take(max).collect()
}

/// The recipe that `typed` means: itself, or what a convention knows by the name of an export, as `format` or
/// `wasm-bindgen:format`.
pub(crate) fn recipe(typed: &str, interface: &Interface, glue: &str) -> Result<String> {
    let (convention, export) = match typed.split_once(':') {
        Some((convention, export)) if ALL.iter().any(|(name, _)| *name == convention) => (Some(convention), export),
        _ => (None, typed),
    };
    // What embind gives has its parameters in its name.
    let typed_export = |name: &'_ str| name.strip_prefix(export).is_some_and(|rest| rest.starts_with('('));
    let full = || interface.functions().map(|(name, _)| name).find(|name| typed_export(name));
    let export = if interface.function(export).is_some() { export } else { full().unwrap_or(export) };
    let is_export = interface.function(export).is_some();
    let is_name = !export.is_empty() && export.chars().all(|c| c.is_alphanumeric() || "_$.-#".contains(c));
    if convention.is_none() && !is_export && !is_name {
        return Ok(typed.to_owned());
    }
    if !is_export {
        let near = nearest(export, interface.functions().map(|(name, _)| name));
        let help = near.map_or_else(String::new, |near| format!("\nhelp: did you mean --call {}?", Shortened(near)));
        bail!("the module exports no function `{}` (--call){help}", Shortened(export));
    }
    let of = |name: &str| convention.is_none_or(|convention| convention == name);
    let library = Library::of(interface, glue);
    let known = ALL.iter().filter(|(name, _)| of(name)).flat_map(|(_, convention)| convention(&library));
    let found = known.into_iter().find(|proposal| proposal.export == export);
    found.map(|proposal| proposal.call).ok_or_else(|| {
        anyhow!(
            "no convention tells how `{}` is called{}\nhelp: say it, such as --call 'p = malloc(len); write(p, input); \
             {}(p, len)'",
            Shortened(export),
            convention.map_or_else(String::new, |convention| format!(" ({convention})")),
            written(&Shortened(export).to_string())
        )
    })
}

/// The module as its loader would have it: with the names that the glue knows, if its own were made short, as
/// Emscripten makes them; with a memory, a table and numbers of its own where Emscripten's modules import them; and
/// with what throws and catches in the place of JavaScript, or starts the program.
/// `None` if nothing of that is to be done.
///
/// # Errors
///
/// If the module can't be read, or imports what can't be its own.
pub fn completed(wasm: &[u8], glue: &str) -> Result<Option<Vec<u8>>> {
    let Ok(interface) = Interface::of(wasm) else { return Ok(None) };
    let renamed = match Kind::of(&interface) {
        Kind::Minified => Some(with_long_names(wasm, &interface, glue)?),
        Kind::Emscripten => None,
        Kind::Go => return go::started(wasm, &interface),
        // What is loaded by itself is a program; other parts are for one.
        Kind::Side if interface.function("malloc").is_some() => {
            return linked(Part { name: "the module", wasm }, &[], &[]).map(Some);
        }
        _ => return Ok(None),
    };
    let provided = provide(renamed.as_deref().unwrap_or(wasm), &Provisions::default())?.or(renamed);
    let so_far = provided.as_deref().unwrap_or(wasm);
    let given = embind::linked(so_far, &Interface::of(so_far)?)?.or(provided);
    let so_far = given.as_deref().unwrap_or(wasm);
    Ok(exceptions::linked(so_far, &Interface::of(so_far)?)?.or(given))
}

/// A module with others: those that are loaded with it (`dylink.0`), and those that call it or that it calls.
///
/// # Errors
///
/// If something does not fit, with the names of both.
pub fn linked(target: Part<'_>, sides: &[Part<'_>], with: &[Part<'_>]) -> Result<Vec<u8>> {
    let interface = Interface::of(target.wasm)?;
    let mut own = target.wasm.to_vec();
    if side::is_side(&interface) || !sides.is_empty() {
        let parts: Vec<_> = std::iter::once(target).chain(sides.iter().copied()).collect();
        own = side::loaded(&parts)?;
    }
    if with.is_empty() {
        return Ok(own);
    }
    let given = Interface::of(&own)?;
    for part in with {
        check_shim(*part, target.name, &given, with)?;
    }
    let mut modules = vec![NamedModule { name: target.name, wasm: &own, is_hidden: false }];
    modules.extend(with.iter().map(|part| NamedModule { name: part.name, wasm: part.wasm, is_hidden: false }));
    link_modules(&modules)
}

/// Refuses a module that imports a function which is nobody's: not the target's, another module's, or a host's.
fn check_shim(shim: Part<'_>, target: &str, given: &Interface, with: &[Part<'_>]) -> Result<()> {
    let own = Interface::of(shim.wasm).with_context(|| format!("failed to load `{}`", shim.name))?;
    for import in own.imports.iter().filter(|import| own.function_type(import.ty).is_some()) {
        let is_hosts = ["env", "fuzzbox_v1"].contains(&&*import.module) || import.module.starts_with("wasi");
        let is_others = || {
            let mut others = with.iter().filter_map(|part| Interface::of(part.wasm).ok());
            others.any(|other| other.function(&import.name).is_some())
        };
        if is_hosts || given.export(&import.name).is_some() || is_others() {
            continue;
        }
        let near = nearest(&import.name, given.functions().map(|(name, _)| name));
        let help = near.map_or_else(String::new, |near| format!("\nhelp: did you mean `{}`?", Shortened(near)));
        bail!(
            "`{}` imports the function `{}.{}`, which `{target}` does not export{help}",
            shim.name,
            Shortened(&import.module),
            Shortened(&import.name)
        );
    }
    Ok(())
}

fn with_long_names(wasm: &[u8], interface: &Interface, glue: &str) -> Result<Vec<u8>> {
    let mut names = minified::names(interface, glue);
    if !["stackAlloc", stack::NAME].iter().any(|name| names.exports.values().any(|long| long == name)) {
        let unnamed: Vec<&str> = interface
            .functions()
            .filter(|(name, ty)| allocates(ty, 1) && !names.exports.contains_key(*name))
            .map(|(name, _)| name)
            .collect();
        if let Some(short) = stack::allocator(wasm, &unnamed) {
            names.exports.insert(short, stack::NAME.to_owned());
        }
    }
    let import = |module: &str, name: &str| {
        let long = names.imports.get(name).filter(|_| module == "a")?;
        let module = if wasi::functions().contains(&&**long) { wasi::MODULE } else { "env" };
        Some((module.to_owned(), long.clone()))
    };
    fuzzbox_instrument::rename(wasm, import, |name| names.exports.get(name).cloned())
}

/// The name of an export as recipes write it.
fn written(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
        && !name.is_empty()
        && !is_word(name)
        && !name.starts_with(|c: char| c.is_numeric());
    if is_plain { name.to_owned() } else { format!("`{name}`") }
}

/// Whether all parameters are i32, and there are so many.
fn takes(ty: &FuncType, count: usize) -> bool {
    ty.params().len() == count && ty.params().iter().all(|&ty| ty == ValType::I32)
}

/// Whether it takes so many i32 and returns one.
fn allocates(ty: &FuncType, count: usize) -> bool {
    takes(ty, count) && ty.results() == [ValType::I32]
}
