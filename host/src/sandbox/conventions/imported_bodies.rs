//! What functions are that JavaScript gives to Emscripten's modules, where their names are lost: by what they do.
//!
//! ```text
//! var b={a:function(a,b,c,d){...},e:()=>Date.now(),c:X,...}    X = some function of the JavaScript
//! ```
//!
//! What no compressor of JavaScript changes is looked for: constants, properties of the language's own objects, texts,
//! and which sign an error's number is returned with; and the types with which the module imports it. What is not
//! recognised keeps its short name, and nobody provides it.

use crate::sandbox::source::interface::Interface;
use std::collections::{BTreeMap, BTreeSet};
use wasmparser::ValType;

/// Longer functions are not looked at behind so many bytes.
const BODY_BYTES_MAX: usize = 4000;
/// Functions that one calls are looked at so deep.
const DEPTH_MAX: usize = 2;
/// And so many of them.
const CALLED_MAX: usize = 12;

/// The names of imports by their short names.
pub(super) fn names(interface: &Interface, glue: &str) -> BTreeMap<String, String> {
    let short: BTreeMap<&str, String> = interface
        .imports
        .iter()
        .filter(|import| import.module == "a")
        .filter_map(|import| {
            let ty = interface.function_type(import.ty)?;
            Some((&*import.name, letters(ty.params()) + ":" + &letters(ty.results())))
        })
        .collect();
    if short.is_empty() {
        return BTreeMap::new();
    }
    // Several files may have been made with the module: the one whose functions are best known.
    let defined = Definitions::of(glue);
    let found = objects(&short, glue).map(|(at, bodies)| recognised(&short, &bodies, (at, &defined)));
    found.max_by_key(BTreeMap::len).unwrap_or_default()
}

/// The names of what an object at a place in the JavaScript has.
fn recognised(
    short: &BTreeMap<&str, String>,
    bodies: &BTreeMap<&str, &str>,
    glue: (usize, &Definitions<'_>),
) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut taken = BTreeSet::new();
    for (short, ty) in short {
        let Some(body) = bodies.get(short) else { continue };
        let deep = with_called(body, glue);
        let Some(name) = name(ty, body, &deep, gets_descriptor(body, glue)) else { continue };
        // Two functions of one name: all but `exit` are another than what they look like.
        if name == "exit" || taken.insert(name.clone()) {
            found.insert((*short).to_owned(), name);
        }
    }
    found
}

fn letters(types: &[ValType]) -> String {
    let letter = |ty: &ValType| match ty {
        ValType::I32 => 'i',
        ValType::I64 => 'j',
        ValType::F32 => 'f',
        ValType::F64 => 'd',
        _ => '?',
    };
    types.iter().map(letter).collect()
}

/// The objects in the JavaScript that have all short names, with their places.
fn objects<'g>(
    short: &BTreeMap<&str, String>,
    glue: &'g str,
) -> impl Iterator<Item = (usize, BTreeMap<&'g str, &'g str>)> {
    glue.match_indices('{').filter_map(|(at, _)| {
        let object = object(&glue[at + 1..], short.len())?;
        short.keys().all(|name| object.contains_key(name)).then_some((at, object))
    })
}

/// The elements of the object whose bracket was read; `None` if it is none, or has fewer than `len`.
fn object(text: &str, len: usize) -> Option<BTreeMap<&str, &str>> {
    let (mut found, mut rest) = (BTreeMap::new(), text);
    loop {
        let trimmed = rest.trim_start();
        let inside = trimmed.trim_start_matches('"');
        let end = inside.find(|c: char| !is_part(c))?;
        let behind = inside[end..].trim_start_matches('"').trim_start().strip_prefix(':')?;
        if end == 0 || end > 3 {
            return None;
        }
        let value_end = value_end(behind)?;
        found.insert(&inside[..end], &behind[..value_end]);
        match behind[value_end..].chars().next() {
            Some(',') => rest = &behind[value_end + 1..],
            _ => break,
        }
    }
    (found.len() >= len).then_some(found)
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

/// Where a value ends: before the comma or the bracket that is not in it.
fn value_end(text: &str) -> Option<usize> {
    let (mut depth, mut quote, mut escaped) = (0_u32, None, false);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') if depth > 0 => depth -= 1,
            (None, ',' | '}' | ';') if depth == 0 => return Some(at),
            (None, ')' | ']') => return None,
            _ => {}
        }
    }
    None
}

/// A function's text, that of the function if it is only a name; and of what it calls.
fn with_called(body: &str, (near, defined): (usize, &Definitions<'_>)) -> String {
    let (mut text, mut seen) = (start(body).to_owned(), BTreeSet::new());
    let mut todo = vec![(start(body), 0)];
    while let Some((body, depth)) = todo.pop() {
        let names = called(body);
        for name in names {
            if seen.len() >= CALLED_MAX || !seen.insert(name) {
                continue;
            }
            let Some(definition) = defined.nearest(name, near) else { continue };
            text.push_str(definition);
            if depth + 1 < DEPTH_MAX {
                todo.push((definition, depth + 1));
            }
        }
    }
    text
}

fn start(text: &str) -> &str {
    &text[..text.floor_char_boundary(BODY_BYTES_MAX)]
}

/// The functions whose names stand alone in a text: what it calls, or all that it is.
fn called(body: &str) -> Vec<&str> {
    if !body.is_empty() && body.chars().all(is_part) {
        return vec![body];
    }
    let mut found = Vec::new();
    for (at, _) in body.match_indices('(') {
        let before = &body[..at];
        let start = before.rfind(|c: char| !is_part(c)).map_or(0, |end| end + 1);
        let name = &before[start..];
        let is_method = before[..start].ends_with('.');
        let words = ["function", "if", "for", "while", "switch", "catch", "return", "throw", "Number", "Date"];
        if !name.is_empty() && !is_method && !words.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// The JavaScript, and where in it functions and classes get their names: found once, since megabytes may lie beside a
/// module, and each of its imports calls some.
struct Definitions<'g> {
    glue: &'g str,
    /// By name: where the value or the declaration begins, and whether it is a value.
    places: BTreeMap<&'g str, Vec<(usize, bool)>>,
}

impl<'g> Definitions<'g> {
    fn of(glue: &'g str) -> Self {
        let mut places: BTreeMap<&str, Vec<(usize, bool)>> = BTreeMap::new();
        for (word, opener) in [("function ", '('), ("class ", '{')] {
            for (at, _) in glue.match_indices(word) {
                let rest = &glue[at + word.len()..];
                let name = &rest[..rest.find(|c: char| !is_part(c)).unwrap_or(rest.len())];
                if !name.is_empty() && rest[name.len()..].starts_with(opener) {
                    places.entry(name).or_default().push((at, false));
                }
            }
        }
        for (at, _) in glue.match_indices('=') {
            let before = &glue[..at];
            let name = &before[before.rfind(|c: char| !is_part(c)).map_or(0, |end| end + 1)..];
            let value = &glue[at + 1..];
            let is_function = value.starts_with('(')
                || value.starts_with("function")
                || value.trim_start_matches(is_part).starts_with("=>");
            if !name.is_empty() && !before[..at - name.len()].ends_with('.') && is_function {
                places.entry(name).or_default().push((at + 1, true));
            }
        }
        Self { glue, places }
    }

    /// The text of a function or class by its name: `function x(...){...}`, `class x{...}`, `x=(...)=>...`,
    /// `x=function`. Of several it is the one that is nearest to a place.
    fn nearest(&self, name: &str, near: usize) -> Option<&'g str> {
        let text = |&(at, is_value): &(usize, bool)| {
            let text = &self.glue[at..];
            let end = if is_value {
                value_end(start(text))?
            } else {
                let open = text.find('{')? + 1;
                open + block_end(&text[open..])?
            };
            Some((at, &text[..end]))
        };
        let found = self.places.get(name)?.iter().filter_map(text);
        found.min_by_key(|(at, _)| at.abs_diff(near)).map(|(_, text)| start(text))
    }
}

/// Whether a short function is called that refuses what is no descriptor, with error 8.
fn gets_descriptor(body: &str, (near, defined): (usize, &Definitions<'_>)) -> bool {
    const SHORT: usize = 120;
    let is_it = |text: &str| text.len() < SHORT && text.contains("(8)");
    body.contains("getStreamFromFD")
        || called(body).into_iter().any(|name| defined.nearest(name, near).is_some_and(is_it))
}

/// Where a block ends whose bracket was read.
fn block_end(text: &str) -> Option<usize> {
    let mut depth = 0_u32;
    for (at, c) in text.char_indices().take_while(|(at, _)| *at < BODY_BYTES_MAX) {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// How an import's errors are returned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Errors {
    /// `return-e.errno`: a system call.
    Negative,
    /// `return e.errno`: WASI.
    Positive,
    None,
}

fn errors(body: &str) -> Errors {
    let end = body.trim_end().trim_end_matches('}').trim_end_matches(';');
    let Some(at) = end.rfind("return") else { return Errors::None };
    let returned = end[at + 6..].trim();
    let is_element = |text: &str| text.contains('.') && text.chars().all(|c| is_part(c) || c == '.');
    match returned.strip_prefix('-') {
        Some(element) if is_element(element) && body.contains("catch") => Errors::Negative,
        None if is_element(returned) && body.contains("catch") => Errors::Positive,
        _ => Errors::None,
    }
}

/// What an import is: its type, its own text, that with what it calls, and whether it looks up a descriptor.
fn name(ty: &str, body: &str, deep: &str, gets_descriptor: bool) -> Option<String> {
    let has = |text: &str| body.contains(text);
    let calls = |text: &str| deep.contains(text);
    let name = match errors(body) {
        Errors::Negative => system_call(ty, body, deep, gets_descriptor)?,
        Errors::Positive => match ty {
            "iiii:i" if calls(".read(") && !calls(".write(") => "fd_read",
            "iiii:i" if calls(".write(") => "fd_write",
            "iiii:i" if calls("2097155)===1") || calls("1===(") => "fd_read",
            "iiii:i" => "fd_write",
            "ijii:i" | "iiiii:i" => "fd_seek",
            "iiiji:i" if calls(".read(") => "fd_pread",
            "iiiji:i" => "fd_pwrite",
            "i:i" if calls("fsync") => "fd_sync",
            "i:i" => "fd_close",
            "ii:i" => "fd_fdstat_get",
            _ => return None,
        },
        Errors::None => return other(ty, body, &has, &calls),
    };
    Some(name.to_owned())
}

/// A system call, which returns its error's number with a minus.
fn system_call(ty: &str, body: &str, deep: &str, gets_descriptor: bool) -> Option<&'static str> {
    let has = |text: &str| body.contains(text);
    let calls = |text: &str| deep.contains(text);
    Some(match ty {
        "iii:i" if has("21509") || has("21505") => "__syscall_ioctl",
        "iii:i" if has("512===") || has("===512") => "__syscall_unlinkat",
        "iii:i" if has("case 3:") && has("case 4:") => "__syscall_fcntl64",
        "iii:i" if has("280") => "__syscall_getdents64",
        "iii:i" if has("stream_ops.poll") || has(".poll(") => "__syscall_poll",
        "iii:i" if has("511") || calls("|16384") => "__syscall_mkdirat",
        "iiii:i" if has("256") && has("4096") => "__syscall_newfstatat",
        "iiii:i" if has("\"x\"") || has("'x'") => "__syscall_faccessat",
        "iiii:i" if has(".readlink") => "__syscall_readlinkat",
        "iiii:i" if calls(".rename(") => "__syscall_renameat",
        "iiii:i" if returns_element(body) => "__syscall_openat",
        "i:i" if returns_element(body) => "__syscall_dup",
        "iiiijii:i" => "_mmap_js",
        "iiiiij:i" => "_munmap_js",
        "i:i" if has("createPipe") || has("readable_fd") => "__syscall_pipe",
        "i:i" if calls(".rmdir") => "__syscall_rmdir",
        "ii:i" if has("-68") => "__syscall_getcwd",
        "ii:i" if !calls(".getTime(") && !calls("ctime") => return None,
        "ii:i" if gets_descriptor => "__syscall_fstat64",
        "ii:i" if has(",!0)") || has("lstat") => "__syscall_lstat64",
        "ii:i" => "__syscall_stat64",
        _ => return None,
    })
}

/// Whether what is returned is an element of what a function gave, as a descriptor's number is.
fn returns_element(body: &str) -> bool {
    body.match_indices("}catch").any(|(at, _)| {
        let before = body[..at].trim_end_matches(is_part);
        before.len() < at && before.ends_with(").")
    })
}

fn other(ty: &str, body: &str, has: &dyn Fn(&str) -> bool, calls: &dyn Fn(&str) -> bool) -> Option<String> {
    let text = body.trim();
    let returns = |number: &str| {
        text.strip_suffix('}').is_some_and(|text| text.trim_end_matches(';').ends_with(&format!("return {number}")))
            || text.ends_with(&format!("=>{number}"))
    };
    let name = match ty {
        _ if has("Assertion failed") => "__assert_fail",
        _ if has("!==") && has("+0") && has("catch") => {
            let (params, results) = ty.split_once(':')?;
            let params = params.strip_prefix('i')?;
            return Some(format!("invoke_{}{params}", if results.is_empty() { "v" } else { results }));
        }
        "iii:" if calls("copyWithin") || has(".set(") => "_emscripten_memcpy_js",
        "iii:" if calls("throw") => "__cxa_throw",
        "jii:" | "ii:" | "ji:" if has("getUTCSeconds") => "_gmtime_js",
        "jii:" | "ii:" | "ji:" if has("getSeconds") => "_localtime_js",
        "i:i" | "i:j" if has("getFullYear") || calls("getTimezoneOffset") => "_mktime_js",
        "iiii:" | "iii:" if calls("getTimezoneOffset") => "_tzset_js",
        "id:i" if calls("clearTimeout") => "_setitimer_js",
        ":d" if calls("performance.now") => "emscripten_get_now",
        ":d" if calls("Date.now") => "emscripten_date_now",
        "iji:i" if calls("Date.now") || calls("performance.now") => "clock_time_get",
        "i:i" if calls(".grow(") => "emscripten_resize_heap",
        "i:i" if returns("52") => "fd_close",
        "iiiii:i" | "ijii:i" if returns("70") || returns("52") => "fd_seek",
        "iiii:i" if returns("52") => "fd_read",
        "iiii:i" if has("[") && has("for") => "fd_write",
        "ii:i" if calls("getRandomValues") || calls("randomFillSync") => "random_get",
        "ii:i" if (calls("LANG") || calls("environ")) && is_sizes(body) => "environ_sizes_get",
        "ii:i" if calls("LANG") || calls("environ") => "environ_get",
        "i:" if calls("Exit") || calls("quit") => "exit",
        ":" if has("Infinity") || has("throw 1/0") => "_emscripten_throw_longjmp",
        ":" if has("\"\"") || calls("RuntimeError") || has("abort") => "_abort_js",
        ":" if has("=!1") && has("=0") => "_emscripten_runtime_keepalive_clear",
        ":i" if returns("2147483648") || returns("4294901760") => "emscripten_get_heap_max",
        _ => return None,
    };
    Some(name.to_owned())
}

/// Of the two functions about the environment, the one that tells sizes stores how many there are.
fn is_sizes(body: &str) -> bool {
    body.match_indices(".length").any(|(at, _)| {
        let before = body[..at].trim_end_matches(is_part);
        before.ends_with("]=") && !body[at + 7..].starts_with('+')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Functions of the kinds that compressors leave, written for this test.
    const GLUE: &str = r#"
        function Q(a){var s=L[a];if(!s)throw new X(8);return s}
        function W(s,a,b,c){if(0===(s.flags&2097155))throw new X(8);return s.ops.write(s,a,b,c)}
        function S(a,b){T[a>>2]=b.dev;T[a+8>>2]=b.ctime;return 0}
        function Z(a){J(a);throw new Exit(a)}
        var t={a:function(a,b,c,d){try{var e=Q(a);return T[d>>2]=W(e,b,c),0}catch(f){if("ErrnoError"!==f.name)throw f;return f.F}},
        b:()=>Date.now(),c:function(a,b,c,d){try{return open(G(b),c).fd}catch(f){if("ErrnoError"!==f.name)throw f;return-f.F}},
        d:Z,e:function(a,b){try{return S(b,Q(a).node)}catch(f){throw f;return-f.F}},
        f:function(a,b){try{return S(b,st(G(a)))}catch(f){throw f;return-f.F}},
        g:(a,b)=>{try{D(a)(b)}catch(c){if(c!==c+0)throw c;V(1,0)}},h:a=>{for(;;)try{M.grow(a);return!0}catch(c){}},
        i:(a,b)=>other(a,b)};"#;

    #[test]
    fn functions_without_names_are_known_by_what_they_do() {
        let module = r#"(module (import "a" "a" (func (param i32 i32 i32 i32) (result i32)))
            (import "a" "b" (func (result f64))) (import "a" "c" (func (param i32 i32 i32 i32) (result i32)))
            (import "a" "d" (func (param i32))) (import "a" "e" (func (param i32 i32) (result i32)))
            (import "a" "f" (func (param i32 i32) (result i32))) (import "a" "g" (func (param i32 i32)))
            (import "a" "h" (func (param i32) (result i32))) (import "a" "i" (func (param i32 i32))))"#;
        let interface = Interface::of(&wat::parse_str(module).unwrap()).unwrap();
        let found = names(&interface, GLUE);
        let found: Vec<_> = found.iter().map(|(short, name)| format!("{short} {name}")).collect();
        assert_eq!(
            found,
            [
                "a fd_write",
                "b emscripten_date_now",
                "c __syscall_openat",
                "d exit",
                "e __syscall_fstat64",
                "f __syscall_stat64",
                "g invoke_vi",
                "h emscripten_resize_heap"
            ]
        );
        assert_eq!(names(&interface, "{a:{b:(,{a:[,{{{a:").len(), 0);
        assert_eq!(names(&interface, "").len(), 0);
    }
}
