//! Libraries whose functions want an object: something makes it, and others take its address first; or they store it
//! where they are told to.
//!
//! ```text
//! h = new_runtime(); h = new_context(h, 0); eval(h, p, len, 0)
//! o = malloc(16); open(n, o); h = read32(o); exec(h, p, 0, 0)
//! a = malloc(8); write32(a, p); write32(a + 4, len); h = create(a, a + 4, 1, 0)
//! h = open(p, len, 0); while next(h) ...
//! q = malloc(65536); decompress(q, 65536, p, len)
//! ```
//!
//! Which numbers a function takes beside the input nobody knows: they are 0, or the address of a block of zeros, which
//! is an empty text, and room for what is stored. Several ways are proposed for each function, and which one works is
//! for an execution to say (`inspect --try`).

use crate::sandbox::conventions::heap::Heap;
use crate::sandbox::conventions::kind::Kind;
use crate::sandbox::conventions::library::Library;
use crate::sandbox::conventions::{Proposal, embind, rank, written};
use std::collections::BTreeSet;
use wasmparser::{FuncType, ValType};

pub(super) const NAME: &str = "objects";

/// Functions with more parameters are left out.
const PARAMETERS_MAX: usize = 12;
/// How many functions that take an input are looked at, and how many ways to make an object.
const CONSUMERS_MAX: usize = 8;
const HANDLES_MAX: usize = 8;
/// How little a name may promise.
const DULL: i32 = -20;
/// How often what is next is asked for.
const FOLLOWED_MAX: u32 = 8;

/// What a name has that makes an object, and what one has that ends it.
const MAKES: [&str; 7] = ["new", "create", "init", "open", "make", "start", "construct"];
const ENDS: [&str; 7] = ["free", "close", "delete", "destroy", "finish", "end", "release"];
/// What goes on with an object.
const FOLLOWS: [&str; 2] = ["next", "read"];

/// What has room for what it makes of its input, and how it may be given both: where that is, and how much or where it
/// says how much.
const TURNS: [&str; 7] = ["decompress", "uncompress", "inflate", "decode", "unpack", "expand", "convert"];
const ROOM: &str = "q = {}; n = {}; write64(n, 65536); ";
const BOTH: [&[&str]; 6] = [
    &["q", "65536", "p", "len"],
    &["q", "n", "p", "len"],
    &["p", "len", "q", "65536"],
    &["p", "len", "q", "n"],
    &["p", "q", "len", "65536"],
    &["q", "p", "len"],
];

/// A block of zeros.
const ZEROS: &str = "write64(o, 0); write64(o + 8, 0)";

pub(super) fn proposals(library: &Library<'_>) -> Vec<Proposal> {
    if matches!(Kind::of(library.interface), Kind::WasmBindgen | Kind::AssemblyScript | Kind::Go) {
        return Vec::new();
    }
    let heap = match Heap::of(library) {
        Some(heap) if heap.is_general() => heap,
        Some(_) => return Vec::new(),
        None => return without(library),
    };
    let mut consumers: Vec<_> = library
        .functions()
        .filter(|(name, ty)| *name != heap.alloc && fits(ty) && !embind::is_of_a_class(name))
        .map(|(name, ty)| (name, ty, rank::interest(name)))
        .filter(|(name, _, interest)| *interest > DULL && !has_word(name, &ENDS))
        .collect();
    // What only might be of interest is looked at where there is not much else.
    consumers.sort_by_key(|(_, _, interest)| std::cmp::Reverse(*interest));
    consumers.truncate(CONSUMERS_MAX);
    let handles = handles(library, &heap);
    let mut proposals = Vec::new();
    for (name, ty, interest) in consumers {
        let mut ways = Vec::new();
        for (number, handle) in handles.iter().filter(|handle| handle.is_for(name)).take(HANDLES_MAX).enumerate() {
            for (way, arguments) in taking(ty, &["h"]).into_iter().enumerate() {
                let call = format!("{}; {}", handle.made, call(name, &arguments, library, &heap));
                ways.push((call, 5 - number as i32 - way as i32));
            }
        }
        if has_word(name, &MAKES) || handles.is_empty() {
            for (way, arguments) in taking(ty, &[]).into_iter().enumerate() {
                ways.push((call(name, &arguments, library, &heap), -(way as i32)));
            }
        }
        ways.extend(turning(name, ty, &heap).into_iter().map(|recipe| (recipe, 0)));
        proposals.extend(ways.into_iter().map(|(recipe, worth)| Proposal {
            export: name.to_owned(),
            call: format!("{}; {recipe}", text(&heap)),
            convention: NAME,
            guessed: true,
            tried: None,
            score: worth + interest - 20,
        }));
    }
    proposals
}

/// Where nobody allocates: the input itself, for whoever takes an address and a length.
fn without(library: &Library<'_>) -> Vec<Proposal> {
    let has_addresses = library.interface.addresses() == Some(ValType::I32);
    let takes = |ty: &FuncType| fits(ty) && ty.params().starts_with(&[ValType::I32, ValType::I32]);
    let ways = library.functions().filter(|(_, ty)| has_addresses && takes(ty)).filter_map(|(name, ty)| {
        let interest = rank::interest(name);
        let zeros = ", 0".repeat(ty.params().len() - 2);
        (interest > -50).then(|| Proposal {
            export: name.to_owned(),
            call: format!("{}(input, len{zeros})", written(name)),
            convention: NAME,
            guessed: true,
            tried: None,
            score: interest - 20,
        })
    });
    ways.collect()
}

/// Whether nothing but numbers is given.
fn fits(ty: &FuncType) -> bool {
    let is_number = |ty: &ValType| matches!(ty, ValType::I32 | ValType::I64 | ValType::F32 | ValType::F64);
    (1..=PARAMETERS_MAX).contains(&ty.params().len()) && ty.params().iter().all(is_number)
}

/// The input as bytes and as text, and a block of zeros.
fn text(heap: &Heap<'_>) -> String {
    format!("o = {}; {ZEROS}; p = {}; write(p, input); write8(p + len, 0)", heap.block("64"), heap.block("len + 1"))
}

/// What a function may be given behind `first`.
fn taking(ty: &FuncType, first: &[&'static str]) -> Vec<Vec<&'static str>> {
    let params = ty.params();
    let Some(room) = params.len().checked_sub(first.len()) else { return Vec::new() };
    let mut ways: Vec<Vec<&'static str>> = Vec::new();
    let inputs: [&[&str]; 3] = [&["p", "len"], &["p"], &["0", "p", "len"]];
    for input in inputs.iter().filter(|input| input.len() <= room) {
        for rest in [[0, 0], [1, 0], [usize::MAX, 0]] {
            let mut arguments = [first, input].concat();
            let blocks = rest[0].min(params.len() - arguments.len());
            if rest[0] > 0 && blocks == 0 {
                continue;
            }
            arguments.extend(std::iter::repeat_n("o", blocks));
            arguments.extend(std::iter::repeat_n("0", params.len() - arguments.len()));
            ways.push(arguments);
        }
    }
    // Texts and their lengths, as arrays of so many.
    if first.is_empty() && room >= 3 {
        let mut arguments = vec!["a", "a + 4", "1"];
        arguments.extend(std::iter::repeat_n("0", room - 3));
        ways.push(arguments);
    }
    // An address is given where one is wanted: other types of numbers are 0.
    ways.retain(|way| {
        let is_plain = |(argument, ty): (&&str, &ValType)| *ty == ValType::I32 || *argument == "0";
        way.iter().zip(params).all(is_plain)
    });
    let mut seen = BTreeSet::new();
    ways.retain(|way| seen.insert(way.clone()));
    ways
}

/// Calls that give room for what is made of the input.
fn turning(name: &str, ty: &FuncType, heap: &Heap<'_>) -> Vec<String> {
    if !words_of(name).any(|word| TURNS.iter().any(|turns| word.starts_with(turns))) {
        return Vec::new();
    }
    let room = ROOM.replacen("{}", &heap.block("65536"), 1).replacen("{}", &heap.block("8"), 1);
    let params = ty.params();
    let fitting = BOTH
        .iter()
        .filter(|both| both.len() <= params.len() && params[..both.len()].iter().all(|ty| *ty == ValType::I32));
    let given = fitting.map(|both| {
        let zeros = std::iter::repeat_n("0", params.len() - both.len());
        let arguments: Vec<_> = both.iter().copied().chain(zeros).collect();
        format!("{room}{}({})", written(name), arguments.join(", "))
    });
    given.collect()
}

/// The call, and what follows if it makes an object.
fn call(name: &str, arguments: &[&str], library: &Library<'_>, heap: &Heap<'_>) -> String {
    let arrays = match arguments.contains(&"a") {
        true => format!("a = {}; write32(a, p); write32(a + 4, len); ", heap.block("8")),
        false => String::new(),
    };
    let call = format!("{}({})", written(name), arguments.join(", "));
    let makes = has_word(name, &MAKES) && library.function(name).is_some_and(|ty| ty.results() == [ValType::I32]);
    let follows = |word: &str| {
        library.functions().find(|(other, ty)| {
            has_word(other, &[word]) && super::allocates(ty, 1) && *other != name && rank::interest(other) > -90
        })
    };
    let next = FOLLOWS.into_iter().find_map(follows);
    let Some((next, _)) = next.filter(|_| makes) else { return arrays + &call };
    let words = words(name);
    let reads = library.functions().find(|(other, ty)| {
        let is_data = words_of(other).any(|word| ["data", "filedata", "content", "bytes"].contains(&&*word));
        is_data && super::allocates(ty, 2) && !words.contains(*other)
    });
    let read = reads.map_or_else(String::new, |(read, _)| format!(" {}(r, 4096);", written(read)));
    format!(
        "{arrays}r = {call}; n = 0; if r == 0 n = {FOLLOWED_MAX}; while n < {FOLLOWED_MAX} {{ n = n + 1; \
         if {}(r) <= 0 n = {FOLLOWED_MAX};{read} }}",
        written(next)
    )
}

/// A way to make an object.
struct Handle {
    /// The statements after which it is `h`.
    made: String,
    words: BTreeSet<String>,
}

impl Handle {
    /// Whether a function is about the same things, by its name.
    fn is_for(&self, name: &str) -> bool {
        let own = words(name);
        own.intersection(&self.words).next().is_some()
    }
}

/// Ways to make objects without an input: those that are made of others first.
fn handles(library: &Library<'_>, heap: &Heap<'_>) -> Vec<Handle> {
    let makers = || {
        library.functions().filter(|(name, ty)| {
            // What allocates one kind of things makes them.
            let allocates = has_word(name, &["alloc"]) && !words(name).is_empty() && rank::interest(name) >= -100;
            *name != heap.alloc
                && (allocates || has_word(name, &MAKES) && rank::interest(name) > -90)
                && !has_word(name, &ENDS)
                && ty.results() == [ValType::I32]
                && ty.params().iter().all(|ty| *ty == ValType::I32)
                && ty.params().len() <= 3
        })
    };
    let zeros = |count: usize| vec!["0"; count].join(", ");
    let [mut first, mut second, mut stored, mut of_kind] = [const { Vec::new() }; 4];
    for (name, ty) in makers() {
        match ty.params().len() {
            0 => first.push(Handle { made: format!("h = {}()", written(name)), words: words(name) }),
            1 if has_word(name, &["alloc"]) => {
                of_kind.push(Handle { made: format!("h = {}(0)", written(name)), words: words(name) })
            }
            2 => {
                let made = format!(
                    "n = {}; write64(n, 0); q = {}; write64(q, 0); if {}(n, q) != 0 reject; h = read32(q)",
                    heap.block("16"),
                    heap.block("16"),
                    written(name)
                );
                stored.push(Handle { made, words: words(name) });
            }
            _ => {}
        }
    }
    for Handle { made, words: of } in &first {
        for (name, ty) in makers().filter(|(_, ty)| !ty.params().is_empty()) {
            if words(name).intersection(of).next().is_some() {
                let arguments = match ty.params().len() {
                    1 => "h".to_owned(),
                    count => format!("h, {}", zeros(count - 1)),
                };
                let made = format!("{made}; h = {}({arguments})", written(name));
                second.push(Handle { made, words: words(name) });
            }
        }
    }
    // What is made of something is what things are done with; shorter names are those of the main things.
    second.sort_by_key(|handle| handle.made.len());
    second.truncate(6);
    first.truncate(3);
    stored.truncate(2);
    of_kind.truncate(3);
    second.into_iter().chain(first).chain(stored).chain(of_kind).collect()
}

fn has_word(name: &str, words: &[&str]) -> bool {
    words_of(name).any(|word| words.contains(&&*word))
}

fn words(name: &str) -> BTreeSet<String> {
    let is_verb = |word: &String| MAKES.contains(&&**word) || ENDS.contains(&&**word) || word == "alloc";
    words_of(name).filter(|word| !is_verb(word)).collect()
}

/// The words of a name, in small letters: `createOnigScanner`, `sqlite3_open_v2`, `QTS_NewRuntime`.
fn words_of(name: &str) -> impl Iterator<Item = String> {
    let (mut words, mut word, mut was_small) = (Vec::new(), String::new(), false);
    for c in name.chars() {
        let begins = c.is_ascii_uppercase() && was_small;
        if (begins || !c.is_ascii_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_ascii_alphanumeric() {
            word.push(c.to_ascii_lowercase());
        }
        was_small = c.is_ascii_lowercase() || c.is_ascii_digit();
    }
    words.push(word);
    words.into_iter().filter(|word| !word.is_empty())
}
