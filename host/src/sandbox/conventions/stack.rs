//! The function that makes room on a module's stack, by its code: compilers write it the same way, whatever its name
//! became.
//!
//! ```text
//! global.get $sp   local.get 0   i32.sub   i32.const -16   i32.and   local.tee   global.set $sp   local.get
//! ```

use std::collections::BTreeMap;
use wasmparser::{ExternalKind, FunctionBody, Operator, Parser, Payload, TypeRef};

/// Functions with more operators are another one.
const OPERATORS_MAX: usize = 16;

/// The name by which it is known.
pub(super) const NAME: &str = "_emscripten_stack_alloc";

/// The export that makes room on the stack, if it is among `candidates`.
pub(super) fn allocator(wasm: &[u8], candidates: &[&str]) -> Option<String> {
    let (mut imported, mut body) = (0, 0);
    let mut exports: BTreeMap<u32, String> = BTreeMap::new();
    for payload in Parser::new(0).parse_all(wasm).map_while(Result::ok) {
        match payload {
            Payload::ImportSection(section) => {
                let functions = section.into_imports().map_while(Result::ok);
                let is_function = |ty| matches!(ty, TypeRef::Func(_) | TypeRef::FuncExact(_));
                imported = functions.filter(|import| is_function(import.ty)).count() as u32;
            }
            Payload::ExportSection(section) => {
                let functions = section.into_iter().map_while(Result::ok);
                for export in functions.filter(|export| export.kind == ExternalKind::Func) {
                    if candidates.contains(&export.name) {
                        exports.insert(export.index, export.name.to_owned());
                    }
                }
            }
            Payload::CodeSectionEntry(code) => {
                let name = exports.get(&(imported + body));
                if let Some(name) = name.filter(|_| makes_room(&code)) {
                    return Some(name.clone());
                }
                body += 1;
            }
            _ => {}
        }
    }
    None
}

fn makes_room(body: &FunctionBody<'_>) -> bool {
    let Ok(reader) = body.get_operators_reader() else { return false };
    let operators: Vec<_> = reader.into_iter().map_while(Result::ok).take(OPERATORS_MAX + 1).collect();
    let has = |test: fn(&Operator<'_>) -> bool| operators.iter().any(test);
    operators.len() <= OPERATORS_MAX
        && has(|operator| matches!(operator, Operator::GlobalGet { .. }))
        && has(|operator| matches!(operator, Operator::GlobalSet { .. }))
        && has(|operator| matches!(operator, Operator::I32Sub))
        && has(|operator| matches!(operator, Operator::I32Const { value: -16 }))
        && has(|operator| matches!(operator, Operator::I32And))
        && !has(|operator| matches!(operator, Operator::Call { .. } | Operator::I32Load { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_known_by_its_code() {
        let wasm = wat::parse_str(
            r#"(module (import "a" "a" (func)) (global $sp (mut i32) (i32.const 4096))
            (func (export "b") (param i32) (result i32) (i32.and (local.get 0) (i32.const -16)))
            (func (export "c") (param i32) (result i32)
                (global.set $sp (local.tee 0 (i32.and (i32.sub (global.get $sp) (local.get 0)) (i32.const -16))))
                (local.get 0)))"#,
        )
        .unwrap();
        assert_eq!(allocator(&wasm, &["b", "c"]).as_deref(), Some("c"));
        assert_eq!(allocator(&wasm, &["b"]), None);
        assert_eq!(allocator(b"\0asm", &["b"]), None);
    }
}
