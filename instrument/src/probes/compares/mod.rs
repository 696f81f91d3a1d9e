//! Compares: records the operands of operators that compare, decide, or take as much memory as they are told.
//!
//! Those are the comparisons of `i32`, `i64`, `f32` and `f64`, `eqz` included; `if`, `br_if` and `select`, whose
//! condition is compared with 0; `br_table`; and `memory.copy`, `memory.fill` and `memory.init`. Beside these `xor`,
//! where that is a part of a comparison of what is wider. A condition that a comparison gives says nothing new, and
//! neither does its negation by `i32.eqz`. Comparisons of SIMD lanes are left out: they are made to be many at once;
//! and of references, which have no bits to show.

mod differences;

use std::collections::BTreeSet;

use anyhow::Result;
use wasmparser::{FunctionBody, Operator, ValType};

use super::probe::{Probe, Site};
use crate::module::survey::Survey;
use crate::trace::{
    MEMORY_COPY, MEMORY_FILL, MEMORY_INIT, PART, Recorder, Recorders, TEST_BR_IF, TEST_EQZ, TEST_IF, TEST_SELECT,
    compares, tag,
};

pub(super) struct Compares {
    recorders: Recorders,
    /// Whether the operator before was a comparison.
    compared: bool,
    /// Offsets of operators by which something wider is compared.
    differences: BTreeSet<u32>,
}

impl Compares {
    pub(super) fn new(recorders: Recorders, body: &FunctionBody<'_>) -> Compares {
        Compares { recorders, compared: false, differences: differences::differences(body) }
    }

    /// Records the operands of `memory.copy` and the like: there are few of them in a module, of many types, so they go
    /// through locals and are extended.
    fn memory(&self, operator: u8, types: [ValType; 3], memories: [u32; 2], site: &mut Site<'_, '_>) -> Result<()> {
        let mut locals = [0; 3];
        for ((number, ty), local) in (0..).zip(types).zip(&mut locals) {
            *local = site.scratch(ty, number)?;
        }
        let (tag, recorder) = (tag(site.at, operator), self.recorders.index(Recorder::Memory));
        let mut code = site.code();
        code.local_set(locals[2]).local_set(locals[1]).local_tee(locals[0]);
        code.local_get(locals[1]).local_get(locals[2]);
        for (local, ty) in locals.into_iter().zip(types) {
            code.local_get(local);
            if ty == ValType::I32 {
                code.i64_extend_i32_u();
            }
        }
        // Modules have at most 100 memories.
        let memories = memories[0] & 0xff | (memories[1] & 0xff) << 8;
        code.i32_const(tag).i32_const(memories.cast_signed()).call(recorder);
        Ok(())
    }
}

impl Probe for Compares {
    fn before(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        use Operator as O;
        let compared = std::mem::take(&mut self.compared);
        if !site.live {
            return Ok(());
        }
        let (recorder, number) = if let Some((ty, number)) = compares(operator) {
            self.compared = true;
            (Recorder::Compare(ty), number)
        } else {
            match *operator {
                O::I32Xor if self.differences.contains(&site.at) => (Recorder::Compare(ValType::I32), PART),
                O::I64Xor if self.differences.contains(&site.at) => (Recorder::Compare(ValType::I64), PART),
                O::I32Eqz => {
                    self.compared = true;
                    (Recorder::Test(ValType::I32), TEST_EQZ)
                }
                O::I64Eqz => {
                    self.compared = true;
                    (Recorder::Test(ValType::I64), TEST_EQZ)
                }
                O::If { .. } => (Recorder::Test(ValType::I32), TEST_IF),
                O::BrIf { .. } => (Recorder::Test(ValType::I32), TEST_BR_IF),
                O::Select | O::TypedSelect { .. } | O::TypedSelectMulti { .. } => {
                    (Recorder::Test(ValType::I32), TEST_SELECT)
                }
                O::BrTable { ref targets } => {
                    site.code().i32_const(targets.len().cast_signed());
                    (Recorder::Choose, 0)
                }
                O::MemoryCopy { dst_mem, src_mem } => {
                    let (to, from) = (address(site.survey, dst_mem), address(site.survey, src_mem));
                    let length = if to == from { to } else { ValType::I32 };
                    return self.memory(MEMORY_COPY, [to, from, length], [dst_mem, src_mem], site);
                }
                O::MemoryFill { mem } => {
                    let to = address(site.survey, mem);
                    return self.memory(MEMORY_FILL, [to, ValType::I32, to], [mem, mem], site);
                }
                O::MemoryInit { mem, .. } => {
                    let to = address(site.survey, mem);
                    return self.memory(MEMORY_INIT, [to, ValType::I32, ValType::I32], [mem, mem], site);
                }
                _ => return Ok(()),
            }
        };
        // What a comparison gives is 0 or 1.
        if !(compared && recorder == Recorder::Test(ValType::I32)) {
            let tag = tag(site.at, number);
            site.code().i32_const(tag).call(self.recorders.index(recorder));
        }
        Ok(())
    }
}

/// The type of addresses in a memory.
fn address(survey: &Survey<'_>, memory: u32) -> ValType {
    if survey.memory_types[memory as usize].memory64 { ValType::I64 } else { ValType::I32 }
}
