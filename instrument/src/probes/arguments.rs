//! Arguments: records what functions are given whose names the host wants to know of, where they are entered.
//!
//! ```wat
//! (called += 1)
//! i32.load called, 15, i32.and, 6, i32.shl, local.set $slot
//! local.get $slot, function, i64.store                ;; in the injected memory, as all of this
//! local.get $slot, local.get 0, i64.extend_i32_u, i64.store offset=8
//! ...
//! ```
//!
//! The slots are used again and again: the last ones are there. A function that has as many locals as there may be is
//! left out.

use anyhow::Result;
use wasmparser::ValType;

use super::probe::{Function, Probe, Site};
use crate::layout;
use crate::module::survey::Survey;
use crate::module::types::Values;

pub(super) struct Arguments {
    params: Vec<ValType>,
}

impl Arguments {
    /// `None` if the function isn't wanted.
    pub(super) fn new(survey: &Survey<'_>, function: &Function<'_, '_>, wanted: fn(&str) -> bool) -> Option<Arguments> {
        let name = survey.names.get(function.index as usize)?.as_deref()?;
        let Values::Results(ty) = function.results else { return None };
        let ty = survey.types.get(ty as usize)?.as_ref()?;
        wanted(name).then(|| Arguments { params: ty.params().to_vec() })
    }
}

impl Probe for Arguments {
    fn enter(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        let Ok(slot) = site.scratch(ValType::I32, 0) else { return Ok(()) };
        let count = (self.params.len() as u32).min(layout::CALLED_PARAMS);
        let function = (u64::from(site.function()) | u64::from(count) << 32).cast_signed();
        let mut code = site.code();
        let called = code.cell(layout::CALLED.into(), 2);
        code.i32_const(0).i32_const(0).i32_load(called).i32_const(1).i32_add().i32_store(called);
        code.i32_const(0).i32_load(called).i32_const((layout::CALLED_SLOTS - 1).cast_signed()).i32_and();
        code.i32_const(layout::CALLED_SLOT_BYTES.trailing_zeros().cast_signed()).i32_shl().local_set(slot);
        let start = code.cell(layout::CALLED_START.into(), 3);
        code.local_get(slot).i64_const(function).i64_store(start);
        for (param, ty) in (0..layout::CALLED_PARAMS).zip(&self.params) {
            let cell = code.cell(u64::from(layout::CALLED_START + 8 * (1 + param)), 3);
            match ty {
                ValType::I32 => _ = code.local_get(slot).local_get(param).i64_extend_i32_u().i64_store(cell),
                ValType::I64 => _ = code.local_get(slot).local_get(param).i64_store(cell),
                _ => _ = code.local_get(slot).i64_const(0).i64_store(cell),
            }
        }
        Ok(())
    }
}
