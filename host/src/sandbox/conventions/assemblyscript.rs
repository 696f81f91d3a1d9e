//! AssemblyScript: objects are made by `__new(bytes, class)` and kept from the collector by `__pin`; a string is an
//! object of UTF-16.

use crate::sandbox::conventions::library::Library;
use crate::sandbox::conventions::{Proposal, allocates, glue, rank, written};
use wasmparser::ValType;

pub(super) const NAME: &str = "assemblyscript";

/// The class of strings, since 0.20.
const STRING: u32 = 2;
/// The class of buffers.
const BUFFER: u32 = 1;

pub(super) fn proposals(library: &Library<'_>) -> Vec<Proposal> {
    let is = |name: &str, params| library.function(name).is_some_and(|ty| allocates(ty, params));
    if !is("__new", 2) {
        return Vec::new();
    }
    let mut proposals = Vec::new();
    for (name, ty) in library.functions().filter(|(name, _)| !name.starts_with('_')) {
        let Some(first) = ty.params().iter().position(|&ty| ty == ValType::I32) else { continue };
        // How the glue makes the argument.
        let told = library.glue.call(name).and_then(|(arguments, before)| {
            let argument = arguments.get(first)?;
            Some(glue::given(before, argument).unwrap_or(argument))
        });
        let is_object = told.is_none_or(|told| told.contains("__lower"));
        if !is_object || told.is_none() && ty.params().len() > 2 {
            continue;
        }
        let is_buffer = told.is_some_and(|told| told.contains("Buffer"));
        if told.is_some_and(|told| !is_buffer && !told.contains("String")) {
            continue;
        }
        let (class, word) = if is_buffer { (BUFFER, "input") } else { (STRING, "utf16") };
        let pin = if is("__pin", 1) { "p = __pin(p); " } else { "" };
        let arguments: Vec<_> = (0..ty.params().len()).map(|index| if index == first { "p" } else { "0" }).collect();
        let call =
            format!("p = __new(len, {class}); {pin}write(p, {word}); {}({})", written(name), arguments.join(", "));
        let score = 40 + rank::interest(name) + if told.is_some() { 20 } else { 0 };
        proposals.push(Proposal {
            export: name.to_owned(),
            call,
            convention: NAME,
            guessed: told.is_none(),
            tried: None,
            score,
        });
    }
    proposals
}
