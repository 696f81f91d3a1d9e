//! What is written in C, and all that exports an allocator: the input is copied to a block, and its address given.
//!
//! ```text
//! p = malloc(len); write(p, input); parse(p, len); free(p)
//! p = allocate_mappings(len); write(p, input); parse_mappings(p)
//! p = alloc(len); write(p, input); format()
//! p = cabi_realloc(0, 0, 1, len); write(p, string); parse(p, len)
//! ```
//!
//! A parameter of which nothing is known is 0: a random address would be a failure of nobody but us.

use crate::sandbox::conventions::kind::Kind;
use crate::sandbox::conventions::library::Library;
use crate::sandbox::conventions::{Proposal, allocates, embind, rank, takes, written};
use wasmparser::{FuncType, ValType};

pub(super) const NAME: &str = "heap";

/// Functions with more parameters are left out: nobody could guess them.
const PARAMETERS_MAX: usize = 4;

pub(super) fn proposals(library: &Library<'_>) -> Vec<Proposal> {
    // Objects of these have an allocator that is for other things.
    if matches!(Kind::of(library.interface), Kind::WasmBindgen | Kind::AssemblyScript | Kind::Go) {
        return Vec::new();
    }
    let Some(heap) = Heap::of(library) else { return Vec::new() };
    let mut proposals = Vec::new();
    for (name, ty) in library.functions() {
        let interest = rank::interest(name);
        if name == heap.alloc || interest <= -50 || embind::is_of_a_class(name) {
            continue;
        }
        let told = library.glue.signature(name).filter(|types| types.iter().any(is_text));
        let guessed = told.is_none();
        let fitting = match told {
            Some(types) => told_arguments(types, ty),
            None => heap.arguments(name, ty, interest),
        };
        let Some((arguments, worth)) = fitting else { continue };
        proposals.push(Proposal {
            export: name.to_owned(),
            call: heap.recipe(name, &arguments),
            convention: NAME,
            guessed,
            tried: None,
            score: worth + interest,
        });
    }
    proposals
}

/// Whether JavaScript gives a text, or bytes.
fn is_text(told: &&str) -> bool {
    *told == "string" || *told == "array"
}

/// What a function is given whose JavaScript says what is a text: the input is all of its texts. Numbers beside them
/// would have to be known: most are addresses of things.
fn told_arguments(types: &[&str], ty: &FuncType) -> Option<(Vec<&'static str>, i32)> {
    let is_number = |ty: &ValType| matches!(ty, ValType::I32 | ValType::I64 | ValType::F32 | ValType::F64);
    let fits = types.len() == ty.params().len() && ty.params().iter().all(is_number);
    if !fits || types.contains(&"number") || types.contains(&"pointer") {
        return None;
    }
    let arguments = types.iter().map(|told| if is_text(told) { "p" } else { "0" });
    Some((arguments.collect(), 50))
}

/// How much a name has to promise for a function with parameters of which nothing is known.
const TRUSTED_MIN: i32 = 35;

/// How blocks are made.
pub(super) struct Heap<'i> {
    pub(super) alloc: &'i str,
    /// `alloc(len)`, with all that it wants.
    call: String,
    /// What gives a block back.
    free: Option<&'i str>,
    /// What comes after `alloc_` in its name, if it is for one thing alone.
    purpose: Option<&'i str>,
    is_cabi: bool,
}

impl<'i> Heap<'i> {
    pub(super) fn of(library: &Library<'i>) -> Option<Self> {
        let named = |name: &'i str, free: &'static str| {
            library.function(name).filter(|ty| allocates(ty, 1))?;
            let free = library.function(free).filter(|ty| takes(ty, 1)).map(|_| free);
            Some(Self { alloc: name, call: format!("{name}(len)"), free, purpose: None, is_cabi: false })
        };
        let usual = [("malloc", "free"), ("_malloc", "_free"), ("omalloc", "ofree"), ("wasm_malloc", "wasm_free")];
        usual.into_iter().find_map(|(name, free)| named(name, free)).or_else(|| Self::other(library))
    }

    /// Whether blocks are for anything.
    pub(super) fn is_general(&self) -> bool {
        self.purpose.is_none() && !self.is_cabi
    }

    /// A block of so many bytes.
    pub(super) fn block(&self, bytes: &str) -> String {
        let arguments = self.call.find('(').unwrap_or(0);
        let (name, arguments) = self.call.split_at(arguments);
        name.to_owned() + &arguments.replacen("len", bytes, 1)
    }

    /// Any function that allocates by its name and its type.
    fn other(library: &Library<'i>) -> Option<Self> {
        let is_alloc = |name: &str| {
            let lower = name.to_lowercase();
            lower.contains("alloc")
                && !["dealloc", "realloc", "calloc", "free", "stack"].iter().any(|word| lower.contains(word))
        };
        let with = |params: usize| {
            let mut found = library.functions().filter(move |(name, ty)| is_alloc(name) && allocates(ty, params));
            found.next()
        };
        let make = |alloc: &'i str, arguments: &str| {
            let purpose = ["allocate_", "alloc_"].iter().find_map(|prefix| alloc.strip_prefix(prefix));
            let call = format!("{}({arguments})", written(alloc));
            Self { alloc, call, free: None, purpose, is_cabi: false }
        };
        if let Some((alloc, _)) = with(1) {
            return Some(make(alloc, "len"));
        }
        // Size and alignment.
        if let Some((alloc, _)) = with(2) {
            return Some(make(alloc, "len, 1"));
        }
        let cabi = ["cabi_realloc", "canonical_abi_realloc"];
        let cabi = cabi.into_iter().find(|name| library.function(name).is_some_and(|ty| allocates(ty, 4)))?;
        Some(Self { is_cabi: true, ..make(cabi, "0, 0, 1, len") })
    }

    /// What a function is given, and how much that it fits is worth.
    fn arguments(&self, name: &str, ty: &FuncType, interest: i32) -> Option<(Vec<&'static str>, i32)> {
        let params = ty.params();
        // Others are about a thing of which they are given the address.
        if interest < 0 || params.len() > PARAMETERS_MAX {
            return None;
        }
        let is_for_it = self.purpose.is_some_and(|purpose| name.ends_with(purpose));
        // An allocator for one thing is for functions over that thing.
        if self.purpose.is_some() && !is_for_it {
            return None;
        }
        let mut arguments = vec!["0"; params.len()];
        match params {
            // The module knows where the block is.
            [] if interest > 0 && self.purpose.is_none() && self.free.is_none() && !self.is_cabi => {
                Some((arguments, 10))
            }
            [ValType::I32] if is_for_it || interest > 0 => {
                arguments[0] = "p";
                Some((arguments, if is_for_it { 60 } else { 10 }))
            }
            // Of more parameters one has to be lucky: only what says that it reads something is worth a misuse.
            [ValType::I32, ValType::I32, more @ ..] if more.is_empty() && interest > 0 || interest >= TRUSTED_MIN => {
                arguments[..2].copy_from_slice(&["p", "len"]);
                Some((arguments, if params.len() == 2 { 40 } else { 20 }))
            }
            _ => None,
        }
    }

    fn recipe(&self, name: &str, arguments: &[&str]) -> String {
        let word = if self.is_cabi { "string" } else { "input" };
        let ends = arguments.contains(&"p") && !arguments.contains(&"len") && self.purpose.is_none();
        // A text without a length has an end.
        let (alloc, end) = match ends {
            true => (self.call.replacen("len", "len + 1", 1), "; write8(p + len, 0)"),
            false => (self.call.clone(), ""),
        };
        let free = self.free.map_or_else(String::new, |free| format!("; {free}(p)"));
        format!("p = {alloc}; write(p, {word}){end}; {}({}){free}", written(name), arguments.join(", "))
    }
}
