//! C++ exceptions and `longjmp` of Emscripten's modules that leave them to JavaScript: what that does is linked to the
//! module, as functions in WebAssembly that throw and catch exceptions of its own. So nothing leaves the module, and it
//! is counted, fuelled and restored as all else.
//!
//! ```text
//! invoke_vi(f, x)                  calls f(x); what is thrown is caught, the stack is as before, and setThrew is told
//! __cxa_throw(p, type, destructor)   notes p in its header, and throws
//! __cxa_find_matching_catch_3(a, b)  which of the types catches what was thrown last: by __cxa_can_catch
//! ```
//!
//! The header before each thrown object is that of Emscripten: count, type, destructor, caught, rethrown, and the
//! address that a handler sees.

use crate::sandbox::conventions::wasm_text::words;
use crate::sandbox::source::interface::Interface;
use anyhow::Result;
use fuzzbox_instrument::{NamedModule, link_modules};
use std::fmt::Write as _;
use wasmparser::FuncType;

/// The functions of C++ that JavaScript has, in wasm text, by name; of what they call what the module has to export.
const FUNCTIONS: [(&str, &str); 16] = [
    (
        "__cxa_allocate_exception",
        "(param i32) (result i32)
        (i32.add (call $malloc (i32.add (local.get 0) (i32.const 24))) (i32.const 24))",
    ),
    ("__cxa_free_exception", "(param i32) (call $free (i32.sub (local.get 0) (i32.const 24)))"),
    (
        "__cxa_throw",
        "(param i32 i32 i32)
        (i32.store (i32.sub (local.get 0) (i32.const 24)) (i32.const 0))
        (i32.store (i32.sub (local.get 0) (i32.const 20)) (local.get 1))
        (i32.store (i32.sub (local.get 0) (i32.const 16)) (local.get 2))
        (i32.store16 (i32.sub (local.get 0) (i32.const 12)) (i32.const 0))
        (global.set $last (local.get 0))
        (global.set $uncaught (i32.add (global.get $uncaught) (i32.const 1)))
        (throw $thrown (local.get 0))",
    ),
    (
        "__cxa_rethrow",
        "(local $node i32) (local $at i32)
        (local.set $node (global.get $caught))
        (if (i32.eqz (local.get $node)) (then unreachable))
        (local.set $at (i32.load offset=4 (local.get $node)))
        (if (i32.load8_u (i32.sub (local.get $at) (i32.const 11)))
            (then
                (global.set $caught (i32.load (local.get $node)))
                (call $free (local.get $node)))
            (else
                (i32.store8 (i32.sub (local.get $at) (i32.const 11)) (i32.const 1))
                (i32.store8 (i32.sub (local.get $at) (i32.const 12)) (i32.const 0))
                (global.set $uncaught (i32.add (global.get $uncaught) (i32.const 1)))))
        (global.set $last (local.get $at))
        (throw $thrown (local.get $at))",
    ),
    ("llvm_eh_typeid_for", "(param i32) (result i32) (local.get 0)"),
    (
        "__cxa_begin_catch",
        "(param i32) (result i32)
        (if (i32.eqz (i32.load8_u (i32.sub (local.get 0) (i32.const 12))))
            (then
                (i32.store8 (i32.sub (local.get 0) (i32.const 12)) (i32.const 1))
                (global.set $uncaught (i32.sub (global.get $uncaught) (i32.const 1)))))
        (i32.store8 (i32.sub (local.get 0) (i32.const 11)) (i32.const 0))
        (call $push (local.get 0))
        (call $retain (local.get 0))
        (call $seen (local.get 0))",
    ),
    (
        "__cxa_end_catch",
        "(local $node i32) (local $at i32)
        (call $setThrew (i32.const 0) (i32.const 0))
        (local.set $node (global.get $caught))
        (if (i32.eqz (local.get $node)) (then unreachable))
        (local.set $at (i32.load offset=4 (local.get $node)))
        (global.set $caught (i32.load (local.get $node)))
        (call $free (local.get $node))
        (call $release (local.get $at))
        (global.set $last (i32.const 0))",
    ),
    ("__cxa_get_exception_ptr", "(param i32) (result i32) (call $seen (local.get 0))"),
    ("__cxa_uncaught_exceptions", "(result i32) (global.get $uncaught)"),
    ("__cxa_increment_exception_refcount", "(param i32) (if (local.get 0) (then (call $retain (local.get 0))))"),
    ("__cxa_decrement_exception_refcount", "(param i32) (if (local.get 0) (then (call $release (local.get 0))))"),
    (
        "__cxa_current_primary_exception",
        "(result i32)
        (if (result i32) (global.get $caught)
            (then
                (call $retain (i32.load offset=4 (global.get $caught)))
                (i32.load offset=4 (global.get $caught)))
            (else (i32.const 0)))",
    ),
    (
        "__cxa_rethrow_primary_exception",
        "(param i32)
        (if (local.get 0) (then
            (call $push (local.get 0))
            (i32.store8 (i32.sub (local.get 0) (i32.const 11)) (i32.const 1))
            (global.set $last (local.get 0))
            (throw $thrown (local.get 0))))",
    ),
    (
        "__resumeException",
        "(param i32)
        (if (i32.eqz (global.get $last)) (then (global.set $last (local.get 0))))
        (throw $thrown (global.get $last))",
    ),
    ("_emscripten_throw_longjmp", "(throw $jumped)"),
    ("__cxa_call_unexpected", "(param i32) unreachable"),
];

/// What these share.
const SHARED: &str = "
    (tag $thrown (param i32)) (tag $jumped)
    (global $last (mut i32) (i32.const 0)) (global $uncaught (mut i32) (i32.const 0))
    (global $caught (mut i32) (i32.const 0)) (global $temporary (mut i32) (i32.const 0))
    (func $push (param $at i32) (local $node i32)
        (local.set $node (call $malloc (i32.const 8)))
        (i32.store (local.get $node) (global.get $caught))
        (i32.store offset=4 (local.get $node) (local.get $at))
        (global.set $caught (local.get $node)))
    (func $retain (param $at i32)
        (i32.store (i32.sub (local.get $at) (i32.const 24))
            (i32.add (i32.load (i32.sub (local.get $at) (i32.const 24))) (i32.const 1))))
    (func $release (param $at i32) (local $destructor i32)
        (i32.store (i32.sub (local.get $at) (i32.const 24))
            (i32.sub (i32.load (i32.sub (local.get $at) (i32.const 24))) (i32.const 1)))
        (if (i32.or (i32.load (i32.sub (local.get $at) (i32.const 24)))
                (i32.load8_u (i32.sub (local.get $at) (i32.const 11)))) (then (return)))
        (local.set $destructor (i32.load (i32.sub (local.get $at) (i32.const 16))))
        (if (local.get $destructor)
            (then (drop (call_indirect (param i32) (result i32) (local.get $at) (local.get $destructor)))))
        (call $free (i32.sub (local.get $at) (i32.const 24))))";

/// The address that a handler sees of what was thrown.
const SEEN: &str = "
    (func $seen (param $at i32) (result i32)
        (if (call $__cxa_is_pointer_type (i32.load (i32.sub (local.get $at) (i32.const 20))))
            (then (return (i32.load (local.get $at)))))
        (select (i32.load (i32.sub (local.get $at) (i32.const 8))) (local.get $at)
            (i32.load (i32.sub (local.get $at) (i32.const 8)))))";
/// The same by a function that later versions of the library have for it.
const SEEN_BY_MODULE: &str = "
    (func $seen (param i32) (result i32) (call $__cxa_get_exception_ptr (local.get 0)))";

/// What is called of the module: by which of its exports, and its type.
const CALLED: [(&str, &[&str], &str); 9] = [
    ("malloc", &["malloc", "_malloc"], "(param i32) (result i32)"),
    ("free", &["free", "_free"], "(param i32)"),
    ("setThrew", &["setThrew", "_setThrew"], "(param i32 i32)"),
    ("save", &["stackSave", "emscripten_stack_get_current"], "(result i32)"),
    ("restore", &["stackRestore", "_emscripten_stack_restore"], "(param i32)"),
    ("setTempRet0", &["_emscripten_tempret_set", "setTempRet0"], "(param i32)"),
    ("__cxa_can_catch", &["__cxa_can_catch"], "(param i32 i32 i32) (result i32)"),
    ("__cxa_is_pointer_type", &["__cxa_is_pointer_type"], "(param i32) (result i32)"),
    ("__cxa_get_exception_ptr", &["__cxa_get_exception_ptr"], "(param i32) (result i32)"),
];

/// The module with all that catches and throws in the place of JavaScript; `None` if it leaves nothing of that to
/// JavaScript, or does not export what that takes.
pub(super) fn linked(wasm: &[u8], interface: &Interface) -> Result<Option<Vec<u8>>> {
    let leaves = interface.imports.iter().any(|import| import.module == "env" && import.name.starts_with("invoke_"));
    let Some(text) = runtime(interface).filter(|_| leaves) else { return Ok(None) };
    let runtime = wat::parse_str(&text)?;
    let target = NamedModule { name: "the module", wasm, is_hidden: false };
    let runtime = NamedModule { name: "its exceptions", wasm: &runtime, is_hidden: true };
    link_modules(&[target, runtime]).map(Some)
}

/// The functions that the module imports, as wasm text.
fn runtime(interface: &Interface) -> Option<String> {
    let wanted = || interface.imports.iter().filter(|import| import.module == "env");
    let throws = wanted().any(|import| import.name == "__cxa_throw" || import.name.starts_with("__cxa_find_matching"));
    let mut text = String::from("(module\n(import \"env\" \"__indirect_function_table\" (table 0 funcref))\n");
    text.push_str("(import \"env\" \"memory\" (memory 0))\n");
    if !["memory", "__indirect_function_table"].iter().all(|name| interface.export(name).is_some()) {
        return None;
    }
    let mut absent = String::new();
    let has = |name: &str| interface.function(name).is_some();
    let seen = if has("__cxa_get_exception_ptr") { SEEN_BY_MODULE } else { SEEN };
    for (own, names, ty) in CALLED {
        // One of these two is enough.
        let other = match own {
            "__cxa_is_pointer_type" => "__cxa_get_exception_ptr",
            "__cxa_get_exception_ptr" => "__cxa_is_pointer_type",
            _ => "",
        };
        if !has(own) && has(other) {
            continue;
        }
        match names.iter().find(|name| interface.function(name).is_some()) {
            Some(name) => _ = writeln!(text, "(import \"env\" \"{name}\" (func ${own} {ty}))"),
            // Without C++ nobody calls them.
            None if !throws && own != "setThrew" && own != "save" && own != "restore" => {
                _ = writeln!(absent, "(func ${own} {ty} unreachable)");
            }
            None if own == "setTempRet0" => {
                absent.push_str("(func $setTempRet0 (param i32) (global.set $temporary (local.get 0)))\n")
            }
            None => return None,
        }
    }
    text.push_str(SHARED);
    text.push_str(seen);
    text.push_str(&absent);
    for import in wanted() {
        let Some(ty) = interface.function_type(import.ty) else { continue };
        let name = &import.name;
        let body = FUNCTIONS.iter().find(|(known, _)| known == name).map(|(_, body)| (*body).to_owned());
        let body = match name.as_str() {
            "emscripten_longjmp" => {
                Some("(param i32 i32) (call $setThrew (local.get 0) (local.get 1)) (throw $jumped)".to_owned())
            }
            "getTempRet0" => Some("(result i32) (global.get $temporary)".to_owned()),
            "setTempRet0" => Some("(param i32) (global.set $temporary (local.get 0))".to_owned()),
            _ if name.starts_with("invoke_") => Some(invoke(ty)?),
            _ if name.starts_with("__cxa_find_matching_catch") => Some(matching(ty)),
            _ => body,
        };
        if let Some(body) = body {
            _ = writeln!(text, "(func (export \"{name}\") {body})");
        }
    }
    text.push(')');
    Some(text)
}

/// Calls an element of the table, and catches what it throws: then zero is returned, and the module asks for the rest.
fn invoke(ty: &FuncType) -> Option<String> {
    let (params, results) = (words(ty.params()).ok()?, words(ty.results()).ok()?);
    let inner = words(ty.params().get(1..)?).ok()?;
    let stack = ty.params().len();
    let arguments: String = (1..stack).map(|index| format!("(local.get {index})")).collect();
    let zeros: String =
        ty.results().iter().map(|ty| words(&[*ty]).ok().map(|ty| format!("({ty}.const 0)"))).collect::<Option<_>>()?;
    Some(format!(
        "(param {params}) (result {results}) (local i32)
        (local.set {stack} (call $save))
        (block $jumped
            (drop (block $thrown (result i32)
                (try_table (catch $thrown $thrown) (catch $jumped $jumped)
                    (call_indirect (param {inner}) (result {results}) {arguments} (local.get 0))
                    (return))
                (unreachable))))
        (call $restore (local.get {stack}))
        (call $setThrew (i32.const 1) (i32.const 0))
        {zeros}"
    ))
}

/// Which of the types that are given catches what was thrown last.
fn matching(ty: &FuncType) -> String {
    let count = ty.params().len();
    let at = count;
    let mut text = format!(
        "(param {}) (result i32) (local i32)
        (local.set {at} (global.get $last))
        (if (i32.eqz (local.get {at})) (then (call $setTempRet0 (i32.const 0)) (return (i32.const 0))))
        (i32.store (i32.sub (local.get {at}) (i32.const 8)) (local.get {at}))
        (if (i32.eqz (i32.load (i32.sub (local.get {at}) (i32.const 20))))
            (then (call $setTempRet0 (i32.const 0)) (return (local.get {at}))))
        (block $found",
        vec!["i32"; count].join(" ")
    );
    for index in 0..count {
        _ = write!(
            text,
            "
            (br_if $found (i32.eqz (local.get {index})))
            (br_if $found (i32.eq (local.get {index}) (i32.load (i32.sub (local.get {at}) (i32.const 20)))))
            (if (call $__cxa_can_catch (local.get {index}) (i32.load (i32.sub (local.get {at}) (i32.const 20)))
                    (i32.sub (local.get {at}) (i32.const 8)))
                (then (call $setTempRet0 (local.get {index})) (return (local.get {at}))))"
        );
    }
    _ = write!(
        text,
        ")
        (call $setTempRet0 (i32.load (i32.sub (local.get {at}) (i32.const 20))))
        (local.get {at})"
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module that leaves to JavaScript what it throws, and jumps, in all forms that there are.
    const MODULE: &str = r#"(module
        (import "env" "invoke_vi" (func $invoke (param i32 i32)))
        (import "env" "invoke_ddj" (func (param i32 f64 i64) (result f64)))
        (import "env" "__cxa_throw" (func $throw (param i32 i32 i32)))
        (import "env" "__cxa_find_matching_catch_3" (func (param i32) (result i32)))
        (import "env" "__cxa_find_matching_catch_2" (func (result i32)))
        (import "env" "__cxa_begin_catch" (func (param i32) (result i32)))
        (import "env" "__cxa_end_catch" (func)) (import "env" "__cxa_rethrow" (func))
        (import "env" "__cxa_allocate_exception" (func (param i32) (result i32)))
        (import "env" "__resumeException" (func (param i32)))
        (import "env" "_emscripten_throw_longjmp" (func)) (import "env" "getTempRet0" (func (result i32)))
        (import "env" "unknown" (func))
        (memory (export "memory") 1) (table (export "__indirect_function_table") 1 funcref)
        (func (export "malloc") (param i32) (result i32) (i32.const 64)) (func (export "free") (param i32))
        (func (export "setThrew") (param i32 i32)) (func (export "stackSave") (result i32) (i32.const 0))
        (func (export "stackRestore") (param i32))
        (func (export "__cxa_can_catch") (param i32 i32 i32) (result i32) (i32.const 0))
        (func (export "__cxa_is_pointer_type") (param i32) (result i32) (i32.const 0)))"#;

    #[test]
    fn what_throws_and_catches_is_in_the_module() {
        let wasm = wat::parse_str(MODULE).unwrap();
        let interface = Interface::of(&wasm).unwrap();
        let linked = linked(&wasm, &interface).unwrap().unwrap();
        let after = Interface::of(&linked).unwrap();
        let imports: Vec<_> = after.imports.iter().map(|import| &*import.name).collect();
        assert_eq!(imports, ["unknown"]);
        assert_eq!(after.exports.len(), interface.exports.len(), "nothing else is exported");
        assert_eq!(super::linked(&linked, &after).unwrap(), None);
        let later = wat::parse_str(MODULE.replace("__cxa_is_pointer_type", "__cxa_get_exception_ptr")).unwrap();
        assert!(super::linked(&later, &Interface::of(&later).unwrap()).unwrap().is_some());
        let without = wat::parse_str(MODULE.replace("setThrew", "setThew")).unwrap();
        assert_eq!(super::linked(&without, &Interface::of(&without).unwrap()).unwrap(), None);
    }
}
