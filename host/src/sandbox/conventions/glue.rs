//! Reads the JavaScript that was made with a module, as far as it calls it. It is text that somebody else wrote: what
//! isn't understood gives nothing.

use std::collections::{BTreeMap, BTreeSet};

/// An argument of a call, as it is written.
pub(super) type Arguments<'g> = Vec<&'g str>;

/// Longer calls are left out, in bytes.
const CALL_BYTES_MAX: usize = 2000;

/// How much before a call is looked at for what its variables are, in bytes.
const BEFORE_BYTES: usize = 2500;

/// Objects of which the module's functions are read.
const OBJECTS: [&str; 2] = ["wasm.", "exports."];

/// The JavaScript that was made with a module, and where it speaks of the module's functions.
pub(super) struct Glue<'g> {
    text: &'g str,
    /// Where functions are called first, and where their arguments begin.
    calls: BTreeMap<&'g str, (usize, usize)>,
    /// What Emscripten's `cwrap` and `ccall` are told that functions take.
    signatures: BTreeMap<&'g str, Vec<&'g str>>,
    /// Functions that are handed to others as allocators: `pass(x, wasm.a, wasm.b)`, `pass(x, wasm.a)`.
    allocators: BTreeSet<&'g str>,
}

impl<'g> Glue<'g> {
    pub(super) fn of(text: &'g str) -> Self {
        let (mut calls, mut allocators) = (BTreeMap::new(), BTreeSet::new());
        for object in OBJECTS {
            for (at, _) in text.match_indices(object) {
                let start = at + object.len();
                let name = word(&text[start..]);
                let end = start + name.len();
                if text[end..].starts_with('(') {
                    calls.entry(name).or_insert((at, end + 1));
                }
                let ends = text[end..].starts_with(", wasm.") || text[end..].starts_with(");");
                if ends && text[..at].ends_with(", ") {
                    allocators.insert(name);
                }
            }
        }
        Self { text, calls, signatures: signatures(text), allocators }
    }

    /// What a function takes, as `cwrap` is told: `number`, `string`, `array`, `boolean`.
    pub(super) fn signature(&self, name: &str) -> Option<&[&'g str]> {
        self.signatures.get(name).map(|types| &**types)
    }

    /// Whether it is that of wasm-bindgen, which calls all that may be called.
    pub(super) fn is_of_bindgen(&self) -> bool {
        self.calls.keys().chain(&self.allocators).any(|name| name.starts_with("__wbindgen_"))
    }

    /// Whether the function is handed to others as an allocator.
    pub(super) fn is_allocator(&self, name: &str) -> bool {
        self.allocators.contains(name)
    }

    /// The first call `wasm.NAME(...)`: its arguments, and the text before it.
    pub(super) fn call(&self, name: &str) -> Option<(Arguments<'g>, &'g str)> {
        let &(at, inside) = self.calls.get(name)?;
        let arguments = arguments(&self.text[inside..])?;
        let start = self.text.floor_char_boundary(at.saturating_sub(BEFORE_BYTES));
        // What is before the function that the call is in speaks of other variables of the same names.
        let before = &self.text[start..at];
        let before = before.rfind("\n}").map_or(before, |end| &before[end..]);
        Some((arguments, before))
    }
}

/// `cwrap("NAME", "number", ["string", "number"])`, whatever `cwrap` is called.
fn signatures(text: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut found = BTreeMap::new();
    for (at, _) in text.match_indices('(') {
        if let Some((name, types)) = signature(&text[at + 1..]) {
            found.entry(name).or_insert(types);
        }
    }
    found
}

/// What follows the parenthesis, if it is a signature.
fn signature(text: &str) -> Option<(&str, Vec<&str>)> {
    const TYPES_MAX: usize = 40;
    let (name, rest) = quoted(text)?;
    let rest = rest.trim_start().strip_prefix(',')?.trim_start();
    // What is returned, or nothing.
    let rest =
        quoted(rest).map_or_else(|| rest.trim_start_matches(|c| c != ',' && c != ')' && c != '\n'), |(_, rest)| rest);
    let mut rest = rest.trim_start().strip_prefix(',')?.trim_start().strip_prefix('[')?;
    let mut types = Vec::new();
    while let (Some((ty, behind)), true) = (quoted(rest), types.len() < TYPES_MAX) {
        if !["number", "string", "array", "boolean", "bigint", "pointer"].contains(&ty) {
            return None;
        }
        types.push(ty);
        let behind = behind.trim_start();
        rest = behind.strip_prefix(',').unwrap_or(behind);
    }
    rest.trim_start().starts_with(']').then_some((name, types))
}

/// The word in quotes at the start, and what is behind.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let quote = text.chars().next().filter(|&c| c == '"' || c == '\'')?;
    let inside = &text[1..];
    let found = word(inside);
    Some((found, inside[found.len()..].strip_prefix(quote)?))
}

/// The name at the start of a text.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$');
    &text[..end.unwrap_or(text.len())]
}

/// What is between the parentheses of a call, the first of which is read already.
fn arguments(text: &str) -> Option<Arguments<'_>> {
    let (mut depth, mut start, mut found) = (0_u32, 0, Vec::new());
    for (at, c) in text.char_indices().take_while(|(at, _)| *at < CALL_BYTES_MAX) {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => {
                let last = text[start..at].trim();
                if !last.is_empty() {
                    found.push(last);
                }
                return Some(found);
            }
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// What a variable was last given before a call: `f` of `x = f(...)`.
pub(super) fn given<'g>(before: &'g str, variable: &str) -> Option<&'g str> {
    for assignment in [format!("{variable} = "), format!("{variable}=")] {
        if let Some(at) = before.rfind(&assignment) {
            let value = &before[at + assignment.len()..];
            let end = value.find([';', '\n']).unwrap_or(value.len());
            return Some(&value[..end]);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_what_cwrap_is_told() {
        let glue = Glue::of(
            r#"a=Module.cwrap("parse","number",["string", "number"]);b=Z('open_it', null, ['array']);c(void 0);
            ccall("end",null,[],[]);d("f","x",["other"]);e("g","number",["string");h("i", j, ["number"])"#,
        );
        assert_eq!(glue.signature("parse"), Some(&["string", "number"][..]));
        assert_eq!(glue.signature("open_it"), Some(&["array"][..]));
        assert_eq!(glue.signature("end"), Some(&[][..]));
        assert_eq!(glue.signature("i"), Some(&["number"][..]));
        assert_eq!((glue.signature("f"), glue.signature("g")), (None, None));
    }

    #[test]
    fn calls_and_their_variables_are_found() {
        let glue = "export function f(x) {\n const ptr0 = other(x);\n}\nfunction g(x, y) {\n  const ptr0 = \
                    passStringToWasm0(x, wasm.m, wasm.r); const len0 = L;\n  wasm.g(retptr, ptr0, len0, isNone(y) ? 0 : \
                    add(y, [1, 2]));\n}";
        let glue = Glue::of(glue);
        let (arguments, before) = glue.call("g").unwrap();
        assert_eq!(arguments, ["retptr", "ptr0", "len0", "isNone(y) ? 0 : add(y, [1, 2])"]);
        assert_eq!(given(before, "ptr0"), Some("passStringToWasm0(x, wasm.m, wasm.r)"));
        assert_eq!(given(before, "len0"), Some("L"));
        assert!(glue.is_allocator("r") && !glue.is_allocator("g") && !glue.is_of_bindgen());
        assert_eq!(glue.call("f"), None);
        assert_eq!(Glue::of("wasm.h((((").call("h"), None);
        assert_eq!(Glue::of("wasm.h()").call("h").unwrap().0, [""; 0]);
    }
}
