//! The exports that are made of what C++ gives JavaScript, as wasm text.

use crate::sandbox::conventions::embind::{Function, TEXT, Type, VIEW, WIDE};
use crate::sandbox::conventions::wasm_text::escaped;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Texts as invokers take them: the length, and the characters, with a zero behind them.
const TEXTS: &str = "
    (func $text (param $at i32) (param $len i32) (result i32) (local $to i32)
        (local.set $to (call $malloc (i32.add (local.get $len) (i32.const 5))))
        (i32.store (local.get $to) (local.get $len))
        (memory.copy (i32.add (local.get $to) (i32.const 4)) (local.get $at) (local.get $len))
        (i32.store8 offset=4 (i32.add (local.get $to) (local.get $len)) (i32.const 0))
        (local.get $to))
    (func $wide (param $at i32) (param $len i32) (param $size i32) (result i32) (local $to i32) (local $next i32)
        (local.set $len (i32.shr_u (local.get $len) (i32.const 1)))
        (local.set $to
            (call $malloc (i32.add (i32.mul (local.get $len) (local.get $size)) (i32.const 8))))
        (i32.store (local.get $to) (local.get $len))
        (local.set $next (i32.add (local.get $to) (i32.const 4)))
        (block $end
            (loop $more
                (br_if $end (i32.eqz (local.get $len)))
                (i32.store (local.get $next) (i32.load16_u (local.get $at)))
                (local.set $at (i32.add (local.get $at) (i32.const 2)))
                (local.set $next (i32.add (local.get $next) (local.get $size)))
                (local.set $len (i32.sub (local.get $len) (i32.const 1)))
                (br $more)))
        (if (i32.eq (local.get $size) (i32.const 2))
            (then (i32.store16 (local.get $next) (i32.const 0)))
            (else (i32.store (local.get $next) (i32.const 0))))
        (local.get $to))";

/// What JavaScript is told of the memory in the place of [`TAKES`]: a view's size, and where it is.
pub(super) const VIEWS: &str = r#"(module
    (import "env" "memory" (memory 0))
    (global $view (mut i32) (i32.const 0))
    (func (export "view") (result i32) (global.get $view))
    (func (export "_emval_take_value") (param i32 i32) (result i32)
        (global.set $view (i32.load offset=4 (local.get 1)))
        (i32.const 0)))"#;
/// The import by which JavaScript takes a value.
pub(super) const TAKES: &str = "_emval_take_value";

/// A module with an export for each function; `None` if there is none.
pub(super) fn module(functions: &[Function], malloc: &str, takes_view: bool) -> Option<String> {
    let mut text = format!(
        "(module
    (import \"env\" \"__indirect_function_table\" (table 0 funcref))
    (import \"env\" \"memory\" (memory 0))
    (import \"env\" \"{malloc}\" (func $malloc (param i32) (result i32)))
    (import \"env\" \"emscripten_throw_number\" (func $throw (param f64)))"
    );
    if takes_view {
        text.push_str("\n    (import \"env\" \"view\" (func $view (result i32)))");
    }
    text.push_str(TEXTS);
    let mut names = BTreeSet::new();
    for function in functions {
        let name = exported(function);
        if let Some(wrapped) = wrapped(function).filter(|_| names.insert(name.clone())) {
            _ = write!(text, "\n    (func (export \"{}\") {wrapped})", escaped(&name));
        }
    }
    if takes_view {
        _ = write!(text, "\n    (func (export \"{VIEW}\") (result i32) (call $view))");
    }
    text.push(')');
    (!names.is_empty()).then_some(text)
}

/// The name, with what it takes.
fn exported(function: &Function) -> String {
    let shown = |ty: &Type| match ty {
        Type::Number(name) => name.clone(),
        Type::Text => TEXT.to_owned(),
        Type::Wide(_) => WIDE.to_owned(),
        Type::Object(class) => format!("{class}&"),
        Type::Made(name, _) => format!("[{name}]"),
        Type::Value => "[val]".to_owned(),
    };
    let params: Vec<_> = function.params.iter().map(shown).collect();
    format!("{}({})", function.name, params.join(", "))
}

/// A letter of a signature as a type.
fn word(letter: char) -> Option<&'static str> {
    Some(match letter {
        'i' | 'p' => "i32",
        'j' => "i64",
        'f' => "f32",
        'd' => "f64",
        _ => return None,
    })
}

/// Calls the invoker, and tells JavaScript of what that throws; `None` if its signature doesn't fit.
fn wrapped(function: &Function) -> Option<String> {
    let mut letters = function.signature.chars();
    let (result, zero) = match letters.next()? {
        'v' => (String::new(), String::new()),
        letter => (format!("(result {})", word(letter)?), format!("({}.const 0)", word(letter)?)),
    };
    let types = letters.map(word).collect::<Option<Vec<_>>>()?;
    if types.len() != 1 + usize::from(function.is_method) + function.params.len() || types[0] != "i32" {
        return None;
    }
    let (mut own, mut given) = (Vec::new(), format!("(i32.const {})", function.context.cast_signed()));
    let mut take = |ty: &'static str| {
        own.push(ty);
        format!("(local.get {})", own.len() - 1)
    };
    if function.is_method {
        given += &take("i32");
    }
    for (ty, &wanted) in function.params.iter().zip(&types[1 + usize::from(function.is_method)..]) {
        given += &match ty {
            Type::Number(_) => take(wanted),
            _ if wanted != "i32" => return None,
            Type::Object(_) => take("i32"),
            Type::Text => format!("(call $text {} {})", take("i32"), take("i32")),
            Type::Wide(size) => format!("(call $wide {} {} (i32.const {size}))", take("i32"), take("i32")),
            Type::Made(_, maker) => format!("(call_indirect (result i32) (i32.const {}))", maker.cast_signed()),
            Type::Value => "(i32.const 0)".to_owned(),
        };
    }
    Some(format!(
        "(param {}) {result}
        (block $thrown
            (try_table (catch_all $thrown)
                (call_indirect (param {}) {result} {given} (i32.const {}))
                (return)))
        (call $throw (f64.const 0))
        {zero}",
        own.join(" "),
        types.join(" "),
        function.invoker.cast_signed()
    ))
}
