//! Writes what knows where the annex of a memory is.

use wasm_encoder::{BlockType, Encode, RefType, TableSection, TableType};

use crate::added::annex::{Annex, Helper};
use crate::layout::code::Code;
use crate::module::survey::Survey;

/// Adds the table to a section. Nothing is in it, and nobody calls that until there is an annex.
pub(super) fn table(section: &mut TableSection) {
    section.table(TableType {
        element_type: RefType::FUNCREF,
        table64: false,
        minimum: 1,
        maximum: Some(1),
        shared: false,
    });
}

/// The functions' bodies, in order, each with its size before it. `host` is the type of the host's function.
pub(super) fn bodies(annex: Annex, survey: &Survey<'_>, host: u32) -> Vec<Vec<u8>> {
    let mut body = Body { annex, survey, bytes: Vec::new() };
    let bodies = annex.helpers(survey).into_iter().map(|helper| {
        body.bytes.clear();
        match helper {
            Helper::Grow => body.grow(host),
            Helper::Access => body.access(),
            Helper::Range { wide, first, second } => body.range(wide, first, second),
        }
        body.code().end();
        let mut bytes = Vec::new();
        body.bytes.len().encode(&mut bytes);
        bytes.extend_from_slice(&body.bytes);
        bytes
    });
    bodies.collect()
}

/// A body as far as it is written.
struct Body<'a, 's> {
    annex: Annex,
    survey: &'a Survey<'s>,
    bytes: Vec<u8>,
}

impl Body<'_, '_> {
    fn code(&mut self) -> Code<'_> {
        Code::new(&mut self.bytes, self.survey.memories)
    }

    /// Declares so many locals of 64 bits.
    fn locals(&mut self, count: u32) {
        1_u32.encode(&mut self.bytes);
        count.encode(&mut self.bytes);
        wasm_encoder::ValType::I64.encode(&mut self.bytes);
    }

    /// Puts a local on the stack, extended to 64 bits.
    fn extended(&mut self, local: u32, wide: bool) {
        let mut code = self.code();
        code.local_get(local);
        if !wide {
            code.i64_extend_i32_u();
        }
    }

    /// Puts the guest's pages on the stack, in 64 bits.
    fn pages(&mut self) {
        let Annex { memory, .. } = self.annex;
        let wide = self.annex.is_wide(self.survey);
        let mut code = self.code();
        code.memory_size(memory);
        if !wide {
            code.i64_extend_i32_u();
        }
        code.hidden();
        code.i64_sub();
    }

    /// Traps if there is an annex, and so many bytes at an address are neither in the guest's part nor behind where the
    /// annex begins: the operator itself sees that they end where memory does. All are locals of 64 bits; the last is
    /// free.
    fn check(&mut self, address: u32, length: u32, free: u32) {
        let shift = self.annex.page_log2(self.survey).into();
        let mut code = self.code();
        code.local_get(address);
        code.annex();
        code.i64_lt_u().if_(BlockType::Empty);
        self.pages();
        let mut code = self.code();
        code.i64_const(shift).i64_shl().local_tee(free).local_get(length).i64_lt_u();
        code.local_get(address).local_get(free).local_get(length).i64_sub().i64_gt_u().i32_or();
        code.if_(BlockType::Empty);
        code.out_of_bounds();
        code.end().end();
    }

    fn grow(&mut self, host: u32) {
        let Annex { memory, table, .. } = self.annex;
        let (delta, old) = (1, 2);
        let (wide, shift) = (self.annex.is_wide(self.survey), self.annex.page_log2(self.survey));
        let refuse = |code: &mut Code<'_>| {
            if wide {
                code.i64_const(-1)
            } else {
                code.i32_const(-1)
            };
        };
        self.locals(2);
        self.extended(0, wide);
        self.code().local_set(delta);
        self.pages();
        let maximum = self.annex.maximum;
        let mut code = self.code();
        code.local_set(old);
        if let Some(maximum) = maximum {
            // What is imported can be larger from the start.
            code.local_get(delta).i64_const(maximum.cast_signed()).local_get(old).i64_sub().i64_gt_u();
            code.local_get(old).i64_const(maximum.cast_signed()).i64_gt_u().i32_or().if_(BlockType::Empty);
            refuse(&mut code);
            code.return_().end();
        }
        code.annex();
        code.i64_eqz().if_(BlockType::Empty).local_get(0).memory_grow(memory).return_().end();
        code.local_get(delta).i32_const(0).call_indirect(table, host).if_(BlockType::Empty);
        code.show(delta, shift);
        code.local_get(old);
        if !wide {
            code.i32_wrap_i64();
        }
        code.return_().end();
        refuse(&mut code);
    }

    fn access(&mut self) {
        let (offset, width, address, free) = (1, 2, 3, 4);
        let wide = self.annex.is_wide(self.survey);
        self.locals(2);
        self.extended(0, wide);
        let mut code = self.code();
        code.local_get(offset).i64_add().local_tee(address).local_get(offset).i64_lt_u();
        code.if_(BlockType::Empty);
        code.out_of_bounds();
        code.end();
        self.check(address, width, free);
        self.code().local_get(0);
    }

    fn range(&mut self, wide: [bool; 3], first: bool, second: bool) {
        let (length, address, free) = (3, 4, 5);
        self.locals(3);
        self.extended(2, wide[2]);
        self.code().local_set(length);
        for (operand, checked) in [(0, first), (1, second)] {
            if checked {
                self.extended(operand, wide[operand as usize]);
                self.code().local_set(address);
                self.check(address, length, free);
            }
        }
        self.code().local_get(0).local_get(1).local_get(2);
    }
}
