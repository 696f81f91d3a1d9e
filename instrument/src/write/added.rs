//! Writes what is appended: functions, a table, globals.

use anyhow::Result;
use wasm_encoder::{
    ConstExpr, Encode, FunctionSection, GlobalSection, GlobalType, InstructionSink, RefType, TableSection, TableType,
};
use wasmparser::ValType;

use super::{annex, protocol};
use crate::added::annex::Annex;
use crate::added::{Additions, Globals, Traps};
use crate::instrumented::Injected;
use crate::module::survey::Survey;
use crate::module::types::encoded;
use crate::trace::Recorders;

/// The functions' types.
pub(super) fn function_types(added: &Additions, survey: &Survey<'_>) -> FunctionSection {
    let mut section = FunctionSection::new();
    for _ in 0..added.plain_functions() {
        section.function(added.plain_type);
    }
    let types = added.types(survey);
    for ty in added.other_types(survey) {
        section.function(added.type_index(&types, ty));
    }
    section
}

/// The functions' bodies, in order, each with its size before it.
pub(super) fn bodies(added: &Additions, survey: &Survey<'_>, injected: &Injected) -> Result<Vec<Vec<u8>>> {
    let mut bodies = Vec::new();
    bodies.extend(added.traps.map(|_| body(|_| {})));
    bodies.extend(added.stop.map(|_| body(|code| _ = code.unreachable())));
    if let Some(Globals { saved, .. }) = added.globals {
        let globals = || (saved..).zip(&survey.mutable_globals);
        bodies.push(body(|code| {
            for (saved, &(global, _)) in globals() {
                code.global_get(global).global_set(saved);
            }
        }));
        bodies.push(body(|code| {
            for (saved, &(global, ty)) in globals() {
                code.global_get(saved);
                if matches!(ty, ValType::Ref(ty) if !ty.is_nullable()) {
                    code.ref_as_non_null();
                }
                code.global_set(global);
            }
        }));
    }
    let annexed = added.annex.is_some_and(|annex| annex.is(survey, 0));
    bodies.extend(injected.trace.iter().flat_map(|trace| Recorders::bodies(survey, trace, annexed)));
    if let Some(annex) = added.annex {
        let host = added.type_index(&added.types(survey), Annex::host_type());
        bodies.extend(annex::bodies(annex, survey, host));
    }
    if let Some(protocol) = added.protocol {
        bodies.extend(protocol::bodies(protocol, survey, added)?);
    }
    Ok(bodies)
}

/// The tables for the host's functions.
pub(super) fn tables(added: &Additions) -> TableSection {
    let mut section = TableSection::new();
    let ty = TableType { element_type: RefType::FUNCREF, table64: false, minimum: 1, maximum: Some(1), shared: false };
    if let Some(Traps { nothing, .. }) = added.traps {
        section.table_with_init(ty, &ConstExpr::ref_func(nothing));
    }
    if added.annex.is_some() {
        annex::table(&mut section);
    }
    section
}

/// The globals that hold what was saved. A reference that can't be null is null until then.
pub(super) fn saved_globals(survey: &Survey<'_>) -> Result<GlobalSection> {
    let mut section = GlobalSection::new();
    for &(_, ty) in &survey.mutable_globals {
        let (val_type, init) = match encoded(ty)? {
            ty @ wasm_encoder::ValType::I32 => (ty, ConstExpr::i32_const(0)),
            ty @ wasm_encoder::ValType::I64 => (ty, ConstExpr::i64_const(0)),
            ty @ wasm_encoder::ValType::F32 => (ty, ConstExpr::f32_const(0.0.into())),
            ty @ wasm_encoder::ValType::F64 => (ty, ConstExpr::f64_const(0.0.into())),
            ty @ wasm_encoder::ValType::V128 => (ty, ConstExpr::v128_const(0)),
            wasm_encoder::ValType::Ref(RefType { heap_type, .. }) => {
                let ty = wasm_encoder::ValType::Ref(RefType { nullable: true, heap_type });
                (ty, ConstExpr::ref_null(heap_type))
            }
        };
        section.global(GlobalType { val_type, mutable: true, shared: false }, &init);
    }
    Ok(section)
}

/// A body without locals, with its size before it.
fn body(write: impl FnOnce(&mut InstructionSink<'_>)) -> Vec<u8> {
    let mut code = vec![0]; // no locals
    write(&mut InstructionSink::new(&mut code));
    InstructionSink::new(&mut code).end();
    let mut body = Vec::new();
    code.len().encode(&mut body);
    body.extend_from_slice(&code);
    body
}
