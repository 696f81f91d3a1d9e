//! How libraries are called for which nobody wrote a harness: which export is worth it, and the call recipe for it, by
//! what compilers and binding generators have in common.
//!
//! What a module says of itself is its exports and their types. Where the JavaScript lies beside it that was made with
//! it (*glue*), its calls tell more: which numbers are a string, which an array, which an object.
//!
//! `kind` says what made a module, `rank` which name sounds like a parser. There is a file for each convention:
//! `bindgen` (wasm-bindgen), `assemblyscript`, `heap` (C and all that exports an allocator, TinyGo and cabi among
//! them), `program` (`main`, where nothing starts it). None of them knows a library. `library` is a module as they see
//! it, `glue` reads JavaScript, `minified` what that says of names that were made short.

mod assemblyscript;
mod bindgen;
pub(crate) mod glue;
mod heap;
pub(crate) mod kind;
mod library;
mod minified;
mod program;
mod rank;
#[cfg(test)]
mod tests;

use crate::sandbox::conventions::kind::Kind;
use crate::sandbox::conventions::library::Library;
use crate::sandbox::source::interface::Interface;
use crate::sandbox::source::words::Shortened;
use crate::sandbox::wasi;
use crate::text::nearest;
use anyhow::{Result, anyhow, bail};
use fuzzbox_instrument::recipe::{Checker, is_word};
use serde::Serialize;
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
    /// How much it is worth to be fuzzed; of no meaning but for its order.
    #[serde(skip)]
    score: i32,
}

/// A convention: its name, and what it proposes.
type Convention = (&'static str, fn(&Library<'_>) -> Vec<Proposal>);

const ALL: [Convention; 4] = [
    (bindgen::NAME, bindgen::proposals),
    (assemblyscript::NAME, assemblyscript::proposals),
    (heap::NAME, heap::proposals),
    (program::NAME, program::proposals),
];

/// The calls that conventions know of a module, the most promising first, one for each export. `glue` is the JavaScript
/// that lies beside it.
pub(crate) fn proposals(interface: &Interface, glue: &str) -> Vec<Proposal> {
    let library = Library::of(interface, glue);
    let (mut all, mut seen) = (Vec::new(), BTreeSet::new());
    for (_, convention) in ALL {
        // A later convention knows less.
        all.extend(convention(&library).into_iter().filter(|proposal| seen.insert(proposal.export.clone())));
    }
    all.sort_by_key(|proposal| std::cmp::Reverse(proposal.score));
    all
}

/// The first of [`proposals`] that fit the module, no more than `max`.
pub(crate) fn checked(interface: &Interface, wasm: &[u8], glue: &str, max: usize) -> Vec<Proposal> {
    let Ok(checker) = Checker::of(wasm) else { return Vec::new() };
    let proposals = proposals(interface, glue).into_iter();
    proposals.filter(|proposal| checker.check(&proposal.call).is_ok()).take(max).collect()
}

/// The recipe that `typed` means: itself, or what a convention knows by the name of an export, as `format` or
/// `wasm-bindgen:format`.
pub(crate) fn recipe(typed: &str, interface: &Interface, glue: &str) -> Result<String> {
    let (convention, export) = match typed.split_once(':') {
        Some((convention, export)) if ALL.iter().any(|(name, _)| *name == convention) => (Some(convention), export),
        _ => (None, typed),
    };
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

/// The module with the names that the glue knows, if its own were made short, as Emscripten makes them.
///
/// # Errors
///
/// If the module can't be read.
pub fn with_long_names(wasm: &[u8], glue: &str) -> Result<Option<Vec<u8>>> {
    let Ok(interface) = Interface::of(wasm) else { return Ok(None) };
    if Kind::of(&interface) != Kind::Minified {
        return Ok(None);
    }
    let names = minified::names(&interface, glue);
    let import = |module: &str, name: &str| {
        let long = names.imports.get(name).filter(|_| module == "a")?;
        let module = if wasi::functions().contains(&&**long) { wasi::MODULE } else { "env" };
        Some((module.to_owned(), long.clone()))
    };
    fuzzbox_instrument::rename(wasm, import, |name| names.exports.get(name).cloned()).map(Some)
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
