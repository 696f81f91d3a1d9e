//! Many entries in one section, or of a function's head.

use wasm_encoder::*;

use super::Named;
use super::parts::{MEMORY, MUTABLE, Parts, TABLE, TAG, bits, code, entries};

pub(super) const ATTACKS: &[Named] = &[
    ("types", |count| entries(count, |module, _| _ = module.ty(&[], &[]))),
    ("different types", |count| entries(count, |module, number| _ = module.ty(&bits(number, 16), &[]))),
    ("types of structs", |count| entries(count, |module, _| _ = module.structure())),
    ("function imports", |count| {
        entries(count, |module, _| _ = module.imports.import("", "", EntityType::Function(0)))
    }),
    ("global imports", |count| entries(count, |module, _| _ = module.imports.import("", "", MUTABLE))),
    ("functions", |count| entries(count, |module, _| module.function(0, &[], |_| {}))),
    ("functions with results", |count| {
        let mut module = Parts::new();
        let ty = module.ty(&[], &[ValType::I32; 4]);
        (0..count).for_each(|_| module.function(ty, &[], |code| _ = code.unreachable()));
        module.finish()
    }),
    ("tables", |count| entries(count, |module, _| _ = module.tables.table(TABLE))),
    ("memories", |count| entries(count, |module, _| _ = module.memories.memory(MEMORY))),
    ("globals", |count| entries(count, |module, _| _ = module.globals.global(MUTABLE, &ConstExpr::i32_const(0)))),
    ("tags", |count| entries(count, |module, _| _ = module.tags.tag(TAG))),
    ("exports", |count| {
        entries(count, |module, number| _ = module.exports.export(&format!("{number:x}"), ExportKind::Func, 0))
    }),
    ("exports with our names", |count| {
        entries(count, |module, number| _ = module.exports.export(&format!("fuzzbox{number}:"), ExportKind::Func, 0))
    }),
    ("element segments", |count| {
        entries(count, |module, _| _ = module.elements.passive(Elements::Functions((&[][..]).into())))
    }),
    ("elements", |count| {
        entries(1, |module, _| _ = module.elements.passive(Elements::Functions(vec![0; count].into())))
    }),
    ("data segments", |count| entries(count, |module, _| _ = module.data.passive([]))),
    ("data", |count| entries(1, |module, _| _ = module.data.passive(vec![0; count]))),
    ("names", |count| {
        let mut map = NameMap::new();
        let mut module = Parts::new();
        for function in 0..count {
            module.imports.import("", "", EntityType::Function(0));
            map.append(function as u32, "");
        }
        module.names.functions(&map);
        module.finish()
    }),
    ("long import names", |count| {
        let name = "n".repeat(count.min(100_000));
        entries(10, |module, _| _ = module.imports.import(&name, &name, EntityType::Function(0)))
    }),
    ("locals", |count| code(&[(count as u32, ValType::I32)], |_| {})),
    ("locals of many sorts", |count| {
        let kinds = [ValType::I32, ValType::I64, ValType::F32, ValType::F64];
        let groups: Vec<_> = (0..count).map(|number| (1, kinds[number % 4])).collect();
        code(&groups, |code| _ = code.local_get(0).br_table([0, 0], 0))
    }),
    ("functions with many locals", |count| {
        entries(count, |module, _| module.function(0, &[(50_000, ValType::I64)], |_| {}))
    }),
    ("functions with a switch", |count| {
        entries(count, |module, _| module.function(1, &[], |code| _ = code.local_get(0).br_table([0, 0, 0], 0)))
    }),
    ("functions with a loop", |count| {
        entries(count, |module, _| module.function(1, &[], |code| _ = code.loop_(BlockType::Empty).br(0).end()))
    }),
    ("functions with a legacy try", |count| {
        entries(count, |module, _| module.function(0, &[], |code| _ = code.try_(BlockType::Empty).catch_all().end()))
    }),
];
