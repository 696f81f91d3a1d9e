//! Emscripten's short names: `a.b` and `e`, of which the JavaScript beside the module says what they were.
//!
//! ```text
//! _malloc = Module["_malloc"] = ... Module["asm"]["f"]      export f is malloc
//! _free = c.R                                               export R is free
//! wasmImports = {"a": ___cxa_throw, "b": _abort}            import a.a is __cxa_throw, a.b is abort
//! ```
//!
//! Where the JavaScript was made short as well, what it imports has lost its name: `imported_bodies` knows it by what
//! it does.

use crate::sandbox::conventions::imported_bodies;
use crate::sandbox::source::interface::Interface;
use std::collections::{BTreeMap, BTreeSet};
use wasmparser::TypeRef;

/// The name by which memories are known.
const MEMORY: &str = "memory";
/// That of the function that calls constructors.
const CONSTRUCTORS: &str = "__wasm_call_ctors";
/// That of the table of functions.
const TABLE: &str = "__indirect_function_table";

/// Functions that have the same name in JavaScript and in the module.
const STACK: [&str; 3] = ["stackAlloc", "stackSave", "stackRestore"];

/// Names by short names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) imports: BTreeMap<String, String>,
    pub(crate) exports: BTreeMap<String, String>,
}

/// What the glue says of a module's short names.
pub(crate) fn names(interface: &Interface, glue: &str) -> Names {
    let short: BTreeSet<&str> =
        interface.imports.iter().filter(|import| import.module == "a").map(|import| &*import.name).collect();
    let mut exports = exports(interface, glue);
    let taken: BTreeSet<String> = interface.exports.iter().map(|export| export.name.clone()).collect();
    exports.retain(|_, name| !taken.contains(name));
    for (test, name) in [(is_memory as fn(&TypeRef) -> bool, MEMORY), (is_table, TABLE)] {
        let mut all = interface.exports.iter().filter(|export| test(&export.ty));
        if let (Some(only), None, false) = (all.next(), all.next(), taken.contains(name)) {
            exports.insert(only.name.clone(), name.to_owned());
        }
    }
    // Constructors are the first that is exported, whether the JavaScript has their name or not.
    let first = interface.functions().next().filter(|(_, ty)| ty.params().is_empty() && ty.results().is_empty());
    if let Some((first, _)) = first
        && !exports.contains_key(first)
        && !taken.contains(CONSTRUCTORS)
        && exports.values().all(|name| name != CONSTRUCTORS)
    {
        exports.insert(first.to_owned(), CONSTRUCTORS.to_owned());
    }
    let imports = imports(&short, glue).unwrap_or_else(|| imported_bodies::names(interface, glue));
    Names { imports, exports }
}

fn is_memory(ty: &TypeRef) -> bool {
    matches!(ty, TypeRef::Memory(_))
}

fn is_table(ty: &TypeRef) -> bool {
    matches!(ty, TypeRef::Table(_))
}

/// Exports: of all objects that are read, the one most of whose elements are exports.
fn exports(interface: &Interface, glue: &str) -> BTreeMap<String, String> {
    let functions: BTreeSet<&str> = interface.functions().map(|(name, _)| name).collect();
    let mut by_object: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
    for (at, _) in glue.match_indices('=') {
        let Some(name) = name_before(&glue[..at]) else { continue };
        let Some((object, element)) = element_after(&glue[at + 1..]) else { continue };
        if functions.contains(element) {
            let of = by_object.entry(object).or_default();
            // Two names for one export are no names.
            of.entry(element.to_owned()).or_insert_with(|| name.to_owned());
        }
    }
    let mut found = by_object.into_values().max_by_key(BTreeMap::len).unwrap_or_default();
    let mut seen = BTreeSet::new();
    found.retain(|_, name| seen.insert(name.clone()));
    found
}

/// The name in C of what is assigned to: `malloc` of `n._malloc`, `Module["_malloc"]` and `_malloc`.
fn name_before(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let text = text.strip_suffix("\"]").or_else(|| text.strip_suffix("']")).unwrap_or(text);
    let start = text.rfind(|c: char| !is_part(c)).map_or(0, |end| end + 1);
    let name = &text[start..];
    let is_runtime = STACK.contains(&name).then_some(name);
    is_runtime.or_else(|| name.strip_prefix('_').filter(|name| name.len() > 1))
}

/// `c.R`, `Module["asm"]["R"]` or `wasmExports["R"]`: what is read, and its element.
fn element_after(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let mut rest = text.trim_start_matches(is_part);
    let mut element = None;
    for _ in 0..3 {
        let Some((inside, behind)) = one_element(rest) else { break };
        (element, rest) = (Some((&text[..text.len() - rest.len()], inside)), behind);
    }
    let ends = !rest.starts_with(|c: char| is_part(c) || c == '(');
    element.filter(|(object, _)| ends && !object.is_empty())
}

/// What is read at the start: `.R` or `["R"]`; and what is behind.
fn one_element(text: &str) -> Option<(&str, &str)> {
    if let Some(rest) = text.strip_prefix('.') {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        return (end > 0).then(|| rest.split_at(end));
    }
    let rest = text.strip_prefix("[\"").or_else(|| text.strip_prefix("['"))?;
    let end = rest.find(|c| !is_part(c))?;
    let behind = rest[end..].strip_prefix("\"]").or_else(|| rest[end..].strip_prefix("']"))?;
    Some((&rest[..end], behind))
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

/// Imports: an object of names with all of them in it, most of which are those of functions in C.
fn imports(short: &BTreeSet<&str>, glue: &str) -> Option<BTreeMap<String, String>> {
    if short.is_empty() {
        return None;
    }
    glue.match_indices('{').find_map(|(at, _)| {
        let mut found = BTreeMap::new();
        let mut rest = &glue[at + 1..];
        loop {
            let (key, behind) = word(rest)?;
            let behind = behind.trim_start().strip_prefix(':')?;
            let (value, behind) = word(behind)?;
            if let Some(name) = in_c(value) {
                found.insert(key.to_owned(), name.to_owned());
            }
            let behind = behind.trim_start();
            if behind.starts_with('}') {
                break;
            }
            rest = behind.strip_prefix(',')?;
        }
        let all = short.iter().filter(|name| found.contains_key(**name)).count();
        (all > 0 && 2 * all >= short.len()).then_some(found)
    })
}

/// The name in C of a function of JavaScript; some have no other.
fn in_c(name: &str) -> Option<&str> {
    let is_same = name.starts_with("invoke_") || ["getTempRet0", "setTempRet0"].contains(&name);
    name.strip_prefix('_').or(is_same.then_some(name))
}

/// The word at the start, in quotes or not, and what is behind.
fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let (text, quoted) = text.strip_prefix('"').map_or((text, false), |text| (text, true));
    let end = text.find(|c| !is_part(c))?;
    let (word, behind) = text.split_at(end);
    let behind = if quoted { behind.strip_prefix('"')? } else { behind };
    (!word.is_empty()).then_some((word, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_the_forms_that_emscripten_writes() {
        let module = r#"(module (import "a" "a" (func)) (import "a" "b" (func)) (import "a" "i" (func)) (memory (export "c") 1)
            (func (export "d")) (func (export "e")) (func (export "f")) (table (export "g") 1 funcref)
            (func (export "malloc")))"#;
        let interface = Interface::of(&wat::parse_str(module).unwrap()).unwrap();
        let older = r#"var asmLibraryArg={"a":___cxa_throw,"b":_abort,"i":invoke_v};
            var ___wasm_call_ctors=Module["___wasm_call_ctors"]=function(){return(___wasm_call_ctors=Module["asm"]["d"]).apply()};
            var _argon2_hash=Module["_argon2_hash"]=function(){return(_argon2_hash=Module["asm"]["e"]).apply()};
            _malloc = Module["asm"]["f"]; x = y.z; _unrelated = q.d"#;
        let shorter = "q={a:___cxa_throw,b:_abort,i:invoke_v,z:x};ctors=L.x;___wasm_call_ctors=L.d,n=(xe=n._argon2_hash=L.e)(1),_free=n.q;t=_x=L.f();";
        for (glue, f) in [(older, None), (shorter, None)] {
            let found = names(&interface, glue);
            let imports: Vec<_> = found.imports.iter().map(|(short, name)| (&**short, &**name)).collect();
            assert_eq!(imports, [("a", "__cxa_throw"), ("b", "abort"), ("i", "invoke_v")]);
            let export = |short: &str| found.exports.get(short).map(String::as_str);
            assert_eq!(
                [export("c"), export("d"), export("e")],
                [Some("memory"), Some("__wasm_call_ctors"), Some("argon2_hash")]
            );
            assert_eq!((export("f"), export("g")), (f, Some("__indirect_function_table")));
        }
        let without = names(&interface, "").exports;
        assert_eq!((without.len(), &*without["d"]), (3, "__wasm_call_ctors"));
        assert_eq!(names(&interface, "{{{:{a:{a,=_=[\"=.=a.").imports.len(), 0);
    }
}
