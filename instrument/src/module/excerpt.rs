//! A module in which some functions have nothing to do: for executions of which it is known what they call.

use anyhow::{Context, Result};
use wasmparser::{Parser, Payload, TypeRef};

/// A null is said not to be one: a trap of a kind of its own. What is behind it is never executed.
const TRAP: [u8; 4] = [0xd0, 0x70, 0xd4, 0x00];
const NOP: u8 = 0x01;
const END: u8 = 0x0b;

/// Lets functions of a valid module do nothing but trap, because of a null reference: those whose index `is_left_out`,
/// if they have room for that. No byte of the others moves, so offsets mean what they meant, and the module stays valid
/// where there are typed function references.
///
/// # Errors
///
/// If `wasm` can't be read.
pub fn leave_out(wasm: &mut [u8], is_left_out: impl Fn(u32) -> bool) -> Result<()> {
    let mut function = 0;
    let mut bodies = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.context("failed to read the module")? {
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import.context("failed to read the imports")?;
                    function += u32::from(matches!(import.ty, TypeRef::Func(_) | TypeRef::FuncExact(_)));
                }
            }
            Payload::CodeSectionEntry(body) => {
                if is_left_out(function) {
                    let range = body.range();
                    bodies.push(usize::try_from(range.start)?..usize::try_from(range.end)?);
                }
                function += 1;
            }
            _ => {}
        }
    }
    for body in bodies {
        if let [locals, a, b, c, d, rest @ .., end] = &mut wasm[body] {
            (*locals, [*a, *b, *c, *d], *end) = (0, TRAP, END);
            rest.fill(NOP);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasmparser::Validator;

    #[test]
    fn what_is_left_out_traps_and_all_else_stays_where_it_is() {
        let module = wat::parse_str(
            r#"(module
                (import "m" "f" (func $f (param i32) (result i64)))
                (func $empty)
                (func $one (result i32) (i32.const 1000000))
                (func $two (param f32) (result i64 f64) (local v128 i32)
                    (block (br_if 0 (local.get 2)) (local.set 2 (i32.const 1)))
                    (call $f (local.get 2)) (f64.const 1))
                (func $three (call $empty)))"#,
        )
        .unwrap();
        let printed = |wasm: &[u8]| wasmprinter::print_bytes(wasm).unwrap();
        let mut all = module.clone();
        leave_out(&mut all, |_| false).unwrap();
        assert_eq!(all, module);
        for chosen in 0..1_u32 << 5 {
            let mut less = module.clone();
            leave_out(&mut less, |function| chosen >> function & 1 == 1).unwrap();
            Validator::new_with_features(wasmparser::WasmFeatures::all()).validate_all(&less).unwrap();
            assert_eq!(less.len(), module.len());
            // The import can't be left out, and the empty function and the last have no room.
            let functions = (2..4).filter(|function| chosen >> function & 1 == 1).count();
            assert_eq!(printed(&less).matches("ref.as_non_null").count(), functions);
            assert_eq!(printed(&less).contains("f64.const"), chosen >> 3 & 1 == 0);
        }
        assert!(leave_out(&mut module[..module.len() - 1].to_vec(), |_| true).is_err());
    }
}
