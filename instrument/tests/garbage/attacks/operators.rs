//! Many of one operator, after each other or in each other.

use wasm_encoder::*;

use super::Named;
use super::parts::{CELL, Parts, code, nested, operators, repeat, with_i32};

const EMPTY: BlockType = BlockType::Empty;
const ALL: [Catch; 1] = [Catch::All { label: 0 }];

pub(super) const ATTACKS: &[Named] = &[
    // After each other.
    ("nops", |count| operators(count, |code| code.nop())),
    ("blocks", |count| operators(count, |code| code.block(EMPTY).end())),
    ("loops", |count| operators(count, |code| code.loop_(EMPTY).end())),
    ("ifs", |count| operators(count, |code| code.local_get(0).if_(EMPTY).end())),
    ("ifs with else", |count| operators(count, |code| code.local_get(0).if_(EMPTY).else_().end())),
    ("br_ifs", |count| operators(count, |code| code.local_get(0).br_if(0))),
    ("br_ifs back", |count| {
        code(&[], |code| {
            code.loop_(EMPTY);
            repeat(code, count, |code| code.local_get(0).br_if(0));
            code.end();
        })
    }),
    ("br_on_nulls", |count| {
        code(&[], |code| {
            code.ref_null(HeapType::FUNC);
            repeat(code, count, |code| code.br_on_null(0));
            code.drop();
        })
    }),
    ("br_on_non_nulls", |count| {
        code(&[], |code| {
            code.block(BlockType::Result(ValType::Ref(RefType { nullable: false, heap_type: HeapType::FUNC })));
            repeat(code, count, |code| code.local_get(1).br_on_non_null(0));
            code.unreachable().end().drop();
        })
    }),
    ("br_on_casts", |count| {
        code(&[], |code| {
            code.block(BlockType::Result(ValType::Ref(RefType::ANYREF))).ref_null(HeapType::ANY);
            repeat(code, count, |code| code.br_on_cast(0, RefType::ANYREF, RefType::I31REF));
            code.end().drop();
        })
    }),
    ("br_on_nulls of many types", |count| {
        let mut module = Parts::new();
        let structs: Vec<_> = (0..count).map(|_| module.structure()).collect();
        module.function(0, &[], |code| {
            for index in structs {
                code.block(EMPTY).ref_null(HeapType::Concrete(index)).br_on_null(0).drop().end();
            }
        });
        module.finish()
    }),
    ("brs", |count| operators(count, |code| code.block(EMPTY).br(0).end())),
    ("brs back", |count| {
        operators(count, |code| code.block(EMPTY).loop_(EMPTY).local_get(0).br_if(1).br(0).end().end())
    }),
    ("selects", |count| with_i32(count, |code| code.local_get(0).local_get(0).select())),
    ("unreachables", |count| operators(count, |code| code.unreachable())),
    ("unreachables in arms", |count| operators(count, |code| code.local_get(0).if_(EMPTY).unreachable().end())),
    ("throws", |count| operators(count, |code| code.local_get(0).if_(EMPTY).throw(0).end())),
    ("returns", |count| operators(count, |code| code.local_get(0).if_(EMPTY).return_().end())),
    ("calls", |count| operators(count, |code| code.call(0))),
    ("indirect calls", |count| operators(count, |code| code.local_get(0).call_indirect(0, 0))),
    ("tail calls", |count| operators(count, |code| code.local_get(0).if_(EMPTY).return_call(0).end())),
    ("loads", |count| with_i32(count, |code| code.i32_load(CELL))),
    ("compares", |count| with_i32(count, |code| code.local_get(0).i32_eq())),
    ("tests", |count| with_i32(count, |code| code.i32_eqz())),
    ("float compares", |count| {
        operators(count, |code| code.f64_const(1.0.into()).f64_const(1.0.into()).f64_lt().drop())
    }),
    ("memory.grows", |count| with_i32(count, |code| code.memory_grow(0))),
    ("memory.fills", |count| operators(count, |code| code.local_get(0).local_get(0).local_get(0).memory_fill(0))),
    ("memory.copies", |count| operators(count, |code| code.local_get(0).local_get(0).local_get(0).memory_copy(0, 0))),
    ("memory.inits", |count| operators(count, |code| code.local_get(0).local_get(0).local_get(0).memory_init(0, 0))),
    ("table.sets", |count| operators(count, |code| code.local_get(0).local_get(1).table_set(0))),
    ("data.drops", |count| operators(count, |code| code.data_drop(0))),
    ("waits", |count| with_i32(count, |code| code.local_get(0).i64_const(0).memory_atomic_wait32(CELL))),
    // In each other.
    ("nested blocks", |count| nested(count, |code| code.block(EMPTY))),
    ("nested loops", |count| nested(count, |code| code.loop_(EMPTY))),
    ("nested ifs", |count| nested(count, |code| code.local_get(0).if_(EMPTY))),
    ("nested try_tables", |count| nested(count, |code| code.try_table(EMPTY, ALL))),
    ("nested try_tables without clauses", |count| nested(count, |code| code.try_table(EMPTY, []))),
    ("nested legacy clauses", |count| nested(count, |code| code.try_(EMPTY).catch_all())),
    ("nested legacy bodies", |count| nested(count, |code| code.try_(EMPTY))),
    ("nested legacy rethrows", |count| {
        nested(count, |code| code.try_(EMPTY).call(0).catch_all().local_get(0).if_(EMPTY).rethrow(1).end())
    }),
    ("branches out of nested loops", |count| {
        code(&[], |code| {
            repeat(code, count, |code| code.loop_(EMPTY));
            repeat(code, count, |code| code.local_get(0).br_if(count as u32 - 1));
            repeat(code, count, |code| code.end());
        })
    }),
    ("branches out of nested try_tables", |count| {
        code(&[], |code| {
            repeat(code, count, |code| code.try_table(EMPTY, ALL));
            repeat(code, count, |code| code.local_get(0).br_if(count as u32));
            repeat(code, count, |code| code.end());
        })
    }),
    // Arms and clauses.
    ("br_table arms", |count| code(&[], |code| _ = code.local_get(0).br_table(vec![0; count], 0))),
    ("br_table arms back", |count| {
        code(&[], |code| _ = code.loop_(EMPTY).local_get(0).br_table(vec![0; count], 1).end())
    }),
    ("br_tables", |count| operators(count, |code| code.block(EMPTY).local_get(0).br_table([0], 0).end())),
    ("br_tables without arms", |count| operators(count, |code| code.block(EMPTY).local_get(0).br_table([], 0).end())),
    ("br_table arms out of try_tables", |count| {
        code(&[], |code| {
            repeat(code, 3, |code| code.try_table(EMPTY, ALL));
            code.local_get(0).br_table(vec![3; count], 0).end().end().end();
        })
    }),
    ("clauses", |count| clauses(count, EMPTY)),
    ("clauses of a typed try_table", |count| clauses(count, BlockType::Result(ValType::V128))),
    ("try_tables with ten clauses", |count| {
        let catches = [const { Catch::All { label: 0 } }; 10];
        operators(count.div_ceil(10), |code| code.try_table(EMPTY, catches.clone()).end())
    }),
    ("legacy clauses", |count| {
        code(&[], |code| {
            code.try_(EMPTY);
            repeat(code, count, |code| code.catch(0));
            code.end();
        })
    }),
    ("legacy tries", |count| operators(count, |code| code.try_(EMPTY).catch_all().end())),
    ("legacy rethrows", |count| operators(count, |code| code.try_(EMPTY).catch_all().rethrow(0).end())),
    ("legacy delegates", |count| operators(count, |code| code.try_(EMPTY).delegate(0))),
];

/// A `try_table` with many clauses.
fn clauses(count: usize, ty: BlockType) -> Vec<u8> {
    code(&[], |code| {
        code.block(EMPTY);
        code.try_table(ty, vec![Catch::All { label: 0 }; count]).unreachable().end();
        code.unreachable().end();
    })
}
