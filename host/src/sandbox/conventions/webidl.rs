//! Classes of C++ that JavaScript has by Emscripten's WebIDL binder: a function for each method, whose name says of
//! which class it is and how many arguments it has beside its object.
//!
//! ```text
//! emscripten_bind_Decoder_Decoder_0()                     makes an object
//! emscripten_bind_Decoder_DecodeArrayToMesh_3(o, p, len, mesh)
//! emscripten_bind_DecoderBuffer_Init_2(b, p, len)         carries bytes to where they are read
//! emscripten_bind_Decoder_DecodeBufferToMesh_2(o, b, mesh)
//! ```
//!
//! Of what class an argument is the names tell at best: that whose last word is in the method's name.

use crate::sandbox::conventions::heap::Heap;
use crate::sandbox::conventions::library::Library;
use crate::sandbox::conventions::{Proposal, rank, takes};
use std::collections::BTreeMap;

pub(super) const NAME: &str = "webidl";

const PREFIX: &str = "emscripten_bind_";
/// How many methods are looked at, and in how many ways bytes are carried to each.
const METHODS_MAX: usize = 16;
const CARRIERS_MAX: usize = 3;
/// Methods with more arguments are left out.
const ARGUMENTS_MAX: usize = 6;
/// What a method's name has that takes bytes to read them later.
const CARRIES: [&str; 6] = ["init", "load", "set", "open", "assign", "append"];

struct Method<'i> {
    export: &'i str,
    class: &'i str,
    name: &'i str,
    /// Beside the object.
    arguments: usize,
}

pub(super) fn proposals(library: &Library<'_>) -> Vec<Proposal> {
    let Some(heap) = Heap::of(library) else { return Vec::new() };
    let (classes, methods) = (classes(library), methods(library));
    let mut worthy: Vec<_> = methods.iter().filter(|method| rank::interest(method.name) > 0).collect();
    worthy.retain(|method| classes.contains_key(method.class) && (1..=ARGUMENTS_MAX).contains(&method.arguments));
    worthy.sort_by_key(|method| std::cmp::Reverse(rank::interest(method.name)));
    let carriers: Vec<_> = methods
        .iter()
        .filter(|method| method.arguments == 2 && classes.contains_key(method.class))
        .filter(|method| CARRIES.iter().any(|word| method.name.to_lowercase().starts_with(word)))
        .collect();
    let bytes = format!("p = {}; write(p, input); o = {}(); ", heap.block("len"), "{}");
    let mut proposals = Vec::new();
    for method in worthy.into_iter().take(METHODS_MAX) {
        let begin = bytes.replace("{}", classes[method.class]);
        let mut propose = |made: &str, first: &[&str], worth: i32| {
            let Some(rest) = method.arguments.checked_sub(first.len()) else { return };
            let (more, rest) = objects(method, rest, &classes);
            let arguments: Vec<&str> =
                ["o"].iter().chain(first).copied().chain(rest.iter().map(|name| &**name)).collect();
            proposals.push(Proposal {
                export: method.export.to_owned(),
                call: format!("{begin}{made}{more}{}({})", method.export, arguments.join(", ")),
                convention: NAME,
                guessed: true,
                tried: None,
                score: worth + rank::interest(method.name),
            });
        };
        propose("", &["p", "len"], if method.name.contains("Array") { 15 } else { 5 });
        let others = carriers.iter().filter(|carrier| carrier.class != method.class);
        for (number, carrier) in others.take(CARRIERS_MAX).enumerate() {
            let made = format!("b = {}(); {}(b, p, len); ", classes[carrier.class], carrier.export);
            let is_named = method.name.contains(last_word(carrier.class));
            propose(&made, &["b"], if is_named { 20 } else { 8 } - number as i32);
        }
    }
    proposals
}

/// Constructors without arguments, by class.
fn classes<'i>(library: &Library<'i>) -> BTreeMap<&'i str, &'i str> {
    let of = |name: &'i str| {
        let both = name.strip_prefix(PREFIX)?.strip_suffix("_0")?;
        let class = both.get(..both.len().checked_sub(1)? / 2)?;
        (both.strip_prefix(class)?.strip_prefix('_')? == class).then_some((class, name))
    };
    let made = library.functions().filter(|(_, ty)| ty.params().is_empty() && ty.results().len() == 1);
    made.filter_map(|(name, _)| of(name)).collect()
}

/// Methods of classes that can be made, over numbers of 32 bits alone.
fn methods<'i>(library: &Library<'i>) -> Vec<Method<'i>> {
    let classes = classes(library);
    let of = |export: &'i str| {
        let (rest, arguments) = export.strip_prefix(PREFIX)?.rsplit_once('_')?;
        let arguments = arguments.parse().ok()?;
        let mut ends = rest.match_indices('_').map(|(at, _)| at);
        let at = ends.rfind(|&at| classes.contains_key(&rest[..at]))?;
        let (class, name) = (&rest[..at], &rest[at + 1..]);
        (class != name && !name.starts_with("__")).then_some(Method { export, class, name, arguments })
    };
    let fitting = library.functions().filter_map(|(name, ty)| Some((of(name)?, ty)));
    fitting.filter(|(method, ty)| takes(ty, method.arguments + 1)).map(|(method, _)| method).collect()
}

/// `DecoderBuffer`: `Buffer`.
fn last_word(class: &str) -> &str {
    &class[class.rfind(|c: char| c.is_ascii_uppercase()).unwrap_or(0)..]
}

/// What the last arguments are, and how they are made: an object of the class that the method names, else 0.
fn objects(method: &Method<'_>, count: usize, classes: &BTreeMap<&str, &str>) -> (String, Vec<String>) {
    let named = classes.iter().filter(|(class, _)| **class != method.class && method.name.contains(**class));
    // The longest is meant: `PointCloud` names no `Point`.
    let made = named.max_by_key(|(class, _)| class.len()).filter(|_| count > 0);
    let mut rest = vec!["0".to_owned(); count];
    let Some((_, maker)) = made else { return (String::new(), rest) };
    rest[count - 1] = "m".to_owned();
    (format!("m = {maker}(); "), rest)
}
