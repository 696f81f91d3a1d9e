//! Types with many parameters and results, and operators that have all of these on the stack.

use wasm_encoder::*;

use super::Named;
use super::parts::{Parts, bits, entries};

pub(super) const ATTACKS: &[Named] = &[
    ("br_ifs with many values", |count| many_values(count, |code, _| code.local_get(0).br_if(0))),
    ("blocks with many values", |count| many_values(count, |code, ty| code.block(ty).end())),
    ("loops with many values", |count| many_values(count, |code, ty| code.loop_(ty).end())),
    ("ifs with many values", |count| many_values(count, |code, ty| code.local_get(0).if_(ty).end())),
    ("try_tables with many values", |count| {
        many_values(count, |code, ty| code.try_table(ty, [Catch::One { tag: 0, label: 0 }]).end())
    }),
    ("legacy delegates with many values", |count| many_values(count, |code, ty| code.try_(ty).delegate(0))),
    ("legacy clauses with many values", |count| many_values(count, |code, ty| code.try_(ty).catch(0).end())),
    ("br_tables with many values", |count| {
        many_values(count, |code, ty| code.block(ty).local_get(0).br_table([0; 8], 0).end())
    }),
    ("calls with many values", |count| many_values(count, |code, _| code.call(0))),
    ("brs with many values", |count| many_values(count, |code, ty| code.block(ty).br(0).end())),
    ("long types", |count| entries(count, |module, number| _ = module.ty(&bits(number, 300), &[]))),
    ("functions of a long type", |count| {
        let mut module = Parts::new();
        let ty = module.ty(&[ValType::F64; 1_000], &[]);
        (0..count).for_each(|_| module.function(ty, &[], |_| {}));
        module.finish()
    }),
    ("pairs of long types", pairs),
];

/// A module with a function that has a thousand parameters, the same as results, all on the stack before and after each
/// of the operators; `write` gets a block type that takes and leaves them. There is a tag with the same values.
fn many_values(
    count: usize,
    write: impl for<'c, 'b> Fn(&'c mut InstructionSink<'b>, BlockType) -> &'c mut InstructionSink<'b>,
) -> Vec<u8> {
    let mut module = Parts::new();
    let values = [ValType::I32; 1_000];
    let ty = module.ty(&values, &values);
    let exception = module.ty(&values, &[]);
    module.tags.tag(TagType { kind: TagKind::Exception, func_type_idx: exception });
    module.function(ty, &[], |code| {
        (0..values.len()).for_each(|local| _ = code.local_get(local as u32));
        (0..count).for_each(|_| _ = write(code, BlockType::FunctionType(ty)));
    });
    module.finish()
}

/// Many `try_table`s and clauses of long types, so that there are many pairs of a type and a clause.
fn pairs(count: usize) -> Vec<u8> {
    const LENGTH: usize = 300;
    let side = count.isqrt().max(1);
    let mut module = Parts::new();
    let params: Vec<_> = (0..side).map(|number| module.ty(&bits(number, LENGTH), &[])).collect();
    let mut labels = Vec::new();
    for number in 0..side {
        let values = bits(number + 1, LENGTH);
        labels.push(module.ty(&[], &values));
        let ty = module.ty(&values, &[]);
        module.tags.tag(TagType { kind: TagKind::Exception, func_type_idx: ty });
    }
    module.function(0, &[], |code| {
        for &ty in labels.iter().rev() {
            code.block(BlockType::FunctionType(ty));
        }
        for (number, &ty) in params.iter().enumerate() {
            for value in bits(number, LENGTH) {
                if value == ValType::I32 {
                    code.i32_const(0)
                } else {
                    code.i64_const(0)
                };
            }
            let catches: Vec<_> = (0..side as u32).map(|tag| Catch::One { tag, label: tag }).collect();
            code.try_table(BlockType::FunctionType(ty), catches).unreachable().end();
        }
        labels.iter().for_each(|_| _ = code.unreachable().end());
        code.unreachable();
    });
    module.finish()
}
