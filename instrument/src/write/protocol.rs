//! Writes the bodies of the protocol that a module needs: those of its imports, whom they call, and what they need of
//! the guest.

use anyhow::{Result, bail};
use wasm_encoder::{BlockType, Encode, MemArg};

use crate::added::Additions;
use crate::added::annex::Helper;
use crate::added::protocol::ProtocolFunctions;
use crate::added::relocation::Relocation;
use crate::layout::code::Code;
use crate::module::survey::Survey;
use crate::protocol::Assembled;

/// The functions' bodies, in order, each with its size before it.
pub(super) fn bodies(linked: ProtocolFunctions, survey: &Survey<'_>, added: &Additions) -> Result<Vec<Vec<u8>>> {
    let imports = &survey.protocol;
    let all = Assembled::get();
    let mut bodies = Vec::new();
    for &body in linked.bodies(imports) {
        let code = match all.imports.get(body as usize) {
            Some((name, _)) => of_guest(name, survey, added)?,
            None => Relocation { all, imports, linked, memory: survey.memories }
                .body(&all.functions[body as usize - all.imports.len()])?,
        };
        bodies.push(code);
    }
    for &(_, body) in imports.all() {
        let mut code = vec![0]; // no locals
        let mut sink = Code::new(&mut code, survey.memories);
        for param in 0..all.ty(body).params().len() as u32 - 1 {
            sink.local_get(param);
        }
        sink.i32_const(0).call(linked.index(imports, body)).end();
        bodies.push(code);
    }
    let sized = |code: Vec<u8>| {
        let mut sized = Vec::with_capacity(code.len() + 5);
        code.encode(&mut sized); // with its length
        sized
    };
    Ok(bodies.into_iter().map(sized).collect())
}

/// One of the functions that are about the guest: by what its memory and the host are like.
fn of_guest(name: &str, survey: &Survey<'_>, added: &Additions) -> Result<Vec<u8>> {
    let mut bytes = vec![0]; // no locals
    let injected = survey.memories;
    let guest = survey.memory_types.first();
    let wide = guest.is_some_and(|guest| guest.memory64);
    let mut code = Code::new(&mut bytes, injected);
    let beyond = code.cell(0, 0);
    let cell = MemArg { target: wasm_encoder::MemArgTarget::Memory(0), ..beyond };
    let address = |code: &mut Code<'_>, param| {
        code.local_get(param);
        if wide {
            code.i64_extend_i32_u();
        }
    };
    let annex = added.annex.filter(|annex| annex.is(survey, 0));
    let looked_at = |code: &mut Code<'_>, helper| {
        if let Some(function) = annex.and_then(|annex| annex.index(survey, helper)) {
            code.call(function);
        }
    };
    match (name, guest) {
        ("stop", _) => {
            if let Some(traps) = added.traps {
                code.i32_const(0).call_indirect(traps.table, added.plain_type);
            }
            code.unreachable();
        }
        ("size", None) => _ = code.i64_const(0),
        ("size", Some(guest)) => {
            code.memory_size(0);
            if !wide {
                code.i64_extend_i32_u();
            }
            code.i64_const(guest.page_size_log2.unwrap_or(16).into()).i64_shl();
        }
        ("copy_out", None) => {
            // Nothing can be copied to address 0; all else is out of bounds.
            code.local_get(0).local_get(2).i32_or().if_(BlockType::Empty);
            code.i32_const(-1).i64_load(beyond).drop().end();
        }
        // Bounds were checked before.
        (_, None) => _ = code.unreachable(),
        ("load", _) => {
            address(&mut code, 0);
            code.i32_load(cell);
        }
        ("load8", _) => {
            address(&mut code, 0);
            code.i32_load8_u(MemArg { align: 0, ..cell });
        }
        ("store", _) => {
            address(&mut code, 0);
            code.local_get(1).i32_store8(cell);
        }
        ("copy_in", _) => {
            code.local_get(0);
            address(&mut code, 1);
            code.local_get(2);
            looked_at(&mut code, Helper::Range { wide: [false, wide, false], first: false, second: true });
            code.memory_copy(injected, 0);
        }
        ("copy_out", _) => {
            address(&mut code, 0);
            code.local_get(1).local_get(2);
            looked_at(&mut code, Helper::Range { wide: [wide, false, false], first: true, second: false });
            code.memory_copy(0, injected);
        }
        _ => bail!("needs the unknown function {name}"),
    }
    code.end();
    Ok(bytes)
}
