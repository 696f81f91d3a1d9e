//! Recorders: the appended functions that write the trace. Code calls one where something is to be recorded, with the
//! operands on the stack, and gets them back, so it needs no locals and stays short:
//!
//! ```wat
//! local.get 0        local.get 0
//! local.get 1        local.get 1
//!                    i32.const SITE << 4 | OPERATOR     ;; what is called a tag
//!                    call $compare_i32                  ;; (i32 i32 i32) -> (i32 i32)
//! i32.lt_u           i32.lt_u
//! ```
//!
//! A recorder takes bounded time, spends no fuel, can't trap, and writes nowhere but in the trace and its cells. One
//! may overflow the stack, as any call; then the function that called it needed more stack than there was in any case,
//! or nearly so.

use std::ops::Range;

use anyhow::{Result, ensure};
use wasm_encoder::{BlockType, Encode};
use wasmparser::ValType::{self, F32, F64, I32, I64};

use super::format::{
    CLASS_BYTES, CLASS_CAUGHT, CLASS_CHOOSE, CLASS_COMPARE, CLASS_ENTER, CLASS_LEAVE, CLASS_MEMORY, CLASS_QUADS,
    CLASS_TEST, CONTENT_BYTES, SLOT_BYTES,
};
use crate::layout;
use crate::layout::code::Code;
use crate::module::survey::Survey;
use crate::module::types::Types;

/// The longest record, in bytes.
const LONGEST: u32 = 3 * SLOT_BYTES;

/// Behind a trace that is at least so many times as long are counts, a byte for each tag that falls on it: how often it
/// was recorded since most of the room was used.
const COUNTS: u32 = 1 << 16;
const COUNTS_PART: u32 = 4;

/// From then on each tag is recorded so often: else the loops of a large execution would take all the room, and what
/// comes after them would not be seen at all.
const REPEATS_MAX: i32 = 4;

/// A function that records.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recorder {
    /// Two operands of this type.
    Compare(ValType),
    /// One operand of this type.
    Test(ValType),
    /// The index of a `br_table`, with how many targets it has.
    Choose,
    /// Three operands, extended to 64 bits, and the memories, one byte each.
    Memory,
    /// Two pointers into memory 0 and a length, extended.
    Bytes,
    /// The halves of two floats of 128 bits, the low one of each first.
    Quads,
    /// A function's index; gives the depth of the call.
    Enter,
    /// The depth of the call that is left.
    Leave,
    /// The depth of the call that has caught an exception.
    Caught,
}

/// All of them, in the order of their indices.
const ALL: [Recorder; 13] = [
    Recorder::Compare(I32),
    Recorder::Compare(I64),
    Recorder::Compare(F32),
    Recorder::Compare(F64),
    Recorder::Test(I32),
    Recorder::Test(I64),
    Recorder::Choose,
    Recorder::Memory,
    Recorder::Bytes,
    Recorder::Quads,
    Recorder::Enter,
    Recorder::Leave,
    Recorder::Caught,
];

impl Recorder {
    /// The function's type. The last parameter is the tag, and of [`Recorder::Memory`] the one before.
    fn types(self) -> Types {
        match self {
            Recorder::Compare(I64) => (&[I64, I64, I32], &[I64, I64]),
            Recorder::Compare(F32) => (&[F32, F32, I32], &[F32, F32]),
            Recorder::Compare(F64) => (&[F64, F64, I32], &[F64, F64]),
            Recorder::Compare(_) => (&[I32, I32, I32], &[I32, I32]),
            Recorder::Test(I64) => (&[I64, I32], &[I64]),
            Recorder::Test(_) => (&[I32, I32], &[I32]),
            Recorder::Choose => (&[I32, I32, I32], &[I32]),
            Recorder::Memory => (&[I64, I64, I64, I32, I32], &[]),
            Recorder::Bytes => (&[I64, I64, I64, I32], &[]),
            Recorder::Quads => (&[I64, I64, I64, I64, I32], &[]),
            Recorder::Enter => (&[I32, I32], &[I32]),
            Recorder::Leave | Recorder::Caught => (&[I32, I32], &[]),
        }
    }
}

/// The indices of the recorders: they follow each other.
#[derive(Clone, Copy)]
pub(crate) struct Recorders {
    first: u32,
}

impl Recorders {
    /// How many there are.
    pub(crate) const COUNT: u32 = ALL.len() as u32;

    /// Those from the function `first` on.
    pub(crate) fn new(first: u32) -> Recorders {
        Recorders { first }
    }

    /// A recorder's function index.
    pub(crate) fn index(self, recorder: Recorder) -> u32 {
        self.first + ALL.iter().position(|&other| other == recorder).expect("all are listed") as u32
    }

    /// The functions' types, in order; some are alike.
    pub(crate) fn types() -> impl Iterator<Item = Types> {
        ALL.into_iter().map(Recorder::types)
    }

    /// The functions' bodies, in order, each with its size before it. The trace is where `trace` says.
    pub(crate) fn bodies(survey: &Survey<'_>, trace: &Range<u32>, annexed: bool) -> Vec<Vec<u8>> {
        ALL.into_iter().map(|recorder| body(recorder, survey, trace, annexed)).collect()
    }
}

/// What stands for an operator in code: its offset in the module, which is below 2^28, and which one of its class it
/// is.
pub(crate) fn tag(site: u32, operator: u8) -> i32 {
    (site << 4 | u32::from(operator)).cast_signed()
}

/// Where the trace is in an injected memory with so many counters. It takes whole slots, and has room for the longest
/// record.
pub(crate) fn place(counters: u32, bytes: u32) -> Result<Range<u32>> {
    let max = layout::TRACE_BYTES_MAX;
    ensure!(bytes <= max, "is to have a trace of {bytes} bytes, more than the {max} allowed");
    let start = u32::try_from(layout::pages(counters) * layout::PAGE_BYTES)?;
    Ok(start..start + (bytes / SLOT_BYTES * SLOT_BYTES).max(LONGEST))
}

/// A recorder's body as far as it is written.
struct Body<'t> {
    bytes: Vec<u8>,
    /// The injected memory.
    memory: u32,
    trace: &'t Range<u32>,
    /// A local: where the record starts in the trace.
    at: u32,
    /// A parameter: the tag.
    tag: u32,
}

fn body(recorder: Recorder, survey: &Survey<'_>, trace: &Range<u32>, annexed: bool) -> Vec<u8> {
    let (params, results) = recorder.types();
    let at = params.len() as u32;
    let tag = if recorder == Recorder::Memory { 3 } else { at - 1 };
    let mut body = Body { bytes: Vec::new(), memory: survey.memories, trace, at, tag };
    let locals: &[_] = if recorder == Recorder::Bytes { &[(1, I32), (3, I64)] } else { &[(1, I32)] };
    locals.len().encode(&mut body.bytes);
    for &(count, ty) in locals {
        let ty = if ty == I32 { wasm_encoder::ValType::I32 } else { wasm_encoder::ValType::I64 };
        (count as u32).encode(&mut body.bytes);
        ty.encode(&mut body.bytes);
    }
    match recorder {
        Recorder::Compare(ty) => body.compare(ty),
        Recorder::Test(ty) => body.test(ty),
        Recorder::Choose => body.choose(),
        Recorder::Memory => body.memory_operator(),
        Recorder::Bytes => body.compared_bytes(survey, annexed),
        Recorder::Quads => body.compared_quads(),
        Recorder::Enter => body.enter(),
        Recorder::Leave => body.leave(CLASS_LEAVE, true),
        Recorder::Caught => body.leave(CLASS_CAUGHT, false),
    }
    let mut code = body.code();
    // Operands go back.
    if recorder == Recorder::Enter {
        code.local_get(at);
    } else {
        for operand in 0..results.len() as u32 {
            code.local_get(operand);
        }
    }
    code.end();
    let mut sized = Vec::new();
    body.bytes.len().encode(&mut sized);
    sized.extend_from_slice(&body.bytes);
    sized
}

/// The first word of a record after its tag, without what is only known when it is written.
fn header(class: u8, width: u8) -> i32 {
    i32::from(class) | i32::from(width) << 8
}

fn width(ty: ValType) -> u8 {
    if matches!(ty, I64 | F64) { 8 } else { 4 }
}

impl Body<'_> {
    fn code(&mut self) -> Code<'_> {
        Code::new(&mut self.bytes, self.memory)
    }

    /// Writes a record of so many slots if there is room for the longest, so that from the first that finds none on all
    /// are lost, and if its tag is [recorded](REPEATS_MAX) again; else counts it as lost.
    fn record(&mut self, slots: u32, fields: impl FnOnce(&mut Self)) {
        let (at, room) = (self.at, self.room());
        let mut code = self.code();
        let (used, lost) = (code.cell(layout::TRACE_USED.into(), 2), code.cell(layout::TRACE_LOST.into(), 3));
        code.i32_const(0).i32_load(used).local_tee(at).i32_const((room - LONGEST).cast_signed()).i32_le_u();
        self.is_recorded_again();
        self.code().if_(BlockType::Empty);
        fields(self);
        let mut code = self.code();
        let size = (slots * SLOT_BYTES).cast_signed();
        code.i32_const(0).local_get(at).i32_const(size).i32_add().i32_store(used);
        self.begin_to_count(size);
        let mut code = self.code();
        code.else_();
        code.i32_const(0).i32_const(0).i64_load(lost).i64_const(1).i64_add().i64_store(lost);
        code.end();
    }

    /// How many bytes there are for records.
    fn room(&self) -> u32 {
        let all = self.trace.end - self.trace.start;
        if all >= COUNTS_PART * COUNTS { all - COUNTS } else { all }
    }

    /// How much of the room is used from where on is counted how often tags are recorded; `None` if there is no place
    /// for counts.
    fn most(&self) -> Option<i32> {
        let room = self.room();
        (room < self.trace.end - self.trace.start).then_some((room / 4 * 3).cast_signed())
    }

    /// Whether there is room for a record is on the stack: leaves there whether it is to be made, and counts that.
    fn is_recorded_again(&mut self) {
        let Some(most) = self.most() else { return };
        let (at, tag, counts) = (self.at, self.tag, u64::from(self.trace.end - COUNTS));
        let mut code = self.code();
        let count = code.cell(counts, 0);
        code.if_(BlockType::Result(wasm_encoder::ValType::I32));
        code.local_get(at).i32_const(most).i32_ge_u();
        code.if_(BlockType::Result(wasm_encoder::ValType::I32));
        // Sites are some bytes from each other, so those of a function fall on different counts.
        let index = |code: &mut Code<'_>| _ = code.local_get(tag).i32_const(16 - 4).i32_shl().i32_const(16).i32_shr_u();
        index(&mut code);
        code.i32_load8_u(count).i32_const(REPEATS_MAX).i32_lt_u();
        code.if_(BlockType::Result(wasm_encoder::ValType::I32));
        index(&mut code);
        index(&mut code);
        code.i32_load8_u(count).i32_const(1).i32_add().i32_store8(count).i32_const(1);
        code.else_().i32_const(0).end();
        code.else_().i32_const(1).end();
        code.else_().i32_const(0).end();
    }

    /// A record of so many bytes was made: clears all counts when that is the one from which on there are some.
    fn begin_to_count(&mut self, size: i32) {
        let (at, counts, memory) = (self.at, self.trace.end - COUNTS, self.memory);
        let Some(most) = self.most() else { return };
        let mut code = self.code();
        code.local_get(at).i32_const(most).i32_lt_u();
        code.local_get(at).i32_const(size).i32_add().i32_const(most).i32_ge_u().i32_and();
        code.if_(BlockType::Empty);
        code.i32_const(counts.cast_signed()).i32_const(0).i32_const(COUNTS.cast_signed()).memory_fill(memory);
        code.end();
    }

    /// Stores 32 bits into the record.
    fn store(&mut self, offset: u32, value: impl FnOnce(&mut Code<'_>)) {
        let (at, place) = (self.at, u64::from(self.trace.start + offset));
        let mut code = self.code();
        code.local_get(at);
        value(&mut code);
        let cell = code.cell(place, 2);
        code.i32_store(cell);
    }

    /// Stores one of the three numbers of a record: a parameter of this type.
    fn number(&mut self, number: u32, param: u32, ty: ValType) {
        let (at, place) = (self.at, u64::from(self.trace.start + 8 + 8 * number));
        let mut code = self.code();
        code.local_get(at).local_get(param);
        match ty {
            I32 => code.i64_extend_i32_u(),
            F32 => code.i32_reinterpret_f32().i64_extend_i32_u(),
            F64 => code.i64_reinterpret_f64(),
            _ => &mut *code,
        };
        let cell = code.cell(place, 3);
        code.i64_store(cell);
    }

    /// Stores the tag, which is a parameter, and the header.
    fn head(&mut self, tag: u32, class: u8, width: u8) {
        self.store(0, |code| _ = code.local_get(tag));
        self.store(4, |code| _ = code.i32_const(header(class, width)));
    }

    fn compare(&mut self, ty: ValType) {
        let class = CLASS_COMPARE + if matches!(ty, F32 | F64) { 1 } else { 0 };
        self.record(1, |body| {
            body.head(2, class, width(ty));
            body.number(0, 0, ty);
            body.number(1, 1, ty);
        });
    }

    fn test(&mut self, ty: ValType) {
        self.record(1, |body| {
            body.head(1, CLASS_TEST, width(ty));
            body.number(0, 0, ty);
        });
    }

    fn choose(&mut self) {
        self.record(1, |body| {
            body.head(2, CLASS_CHOOSE, 4);
            body.number(0, 0, I32);
            body.number(1, 1, I32);
        });
    }

    fn memory_operator(&mut self) {
        self.record(1, |body| {
            body.store(0, |code| _ = code.local_get(3));
            body.store(4, |code| {
                code.local_get(4).i32_const(16).i32_shl().i32_const(header(CLASS_MEMORY, 8)).i32_or();
            });
            (0..3).for_each(|number| body.number(number, number, I64));
        });
    }

    /// Records what lies at two pointers, as far as it is in the memory, as long as it is to be compared, and at most
    /// [`CONTENT_BYTES`] of it. If the memory is `annexed` (it may have an annex), nothing is copied from what is
    /// nobody's, between the guest's part and the annex: there copying is no trap but a fault of the host's.
    fn compared_bytes(&mut self, survey: &Survey<'_>, annexed: bool) {
        let Some(guest) = survey.memory_types.first() else { return };
        let (lengths, size) = ([self.at + 1, self.at + 2], self.at + 3);
        let page = guest.page_size_log2.unwrap_or(16);
        self.record(3, |body| {
            let mut code = body.code();
            code.memory_size(0);
            if !guest.memory64 {
                code.i64_extend_i32_u();
            }
            code.i64_const(page.into()).i64_shl().local_set(size);
            for (pointer, length) in (0..).zip(lengths) {
                // Where the part of the memory ends that it is in.
                code.local_get(size);
                if annexed {
                    code.local_get(size);
                    code.hidden();
                    code.i64_const(page.into()).i64_shl().i64_sub().local_get(pointer);
                    code.annex();
                    code.i64_ge_u().select();
                }
                // What is in the memory.
                code.local_tee(length).local_get(pointer).i64_sub().i64_const(0);
                code.local_get(pointer).local_get(length).i64_lt_u().select().local_set(length);
                // What is compared.
                code.local_get(length).local_get(2).local_get(length).local_get(2).i64_lt_u().select();
                code.local_tee(length).i64_const(CONTENT_BYTES.into());
                code.local_get(length).i64_const(CONTENT_BYTES.into()).i64_lt_u().select().local_set(length);
            }
            for (pointer, length) in (0..).zip(lengths) {
                let place = body.trace.start + SLOT_BYTES + pointer * CONTENT_BYTES;
                let (at, injected) = (body.at, body.memory);
                let mut code = body.code();
                code.local_get(at).i32_const(place.cast_signed()).i32_add();
                // Copying nothing from outside of the memory would trap.
                code.local_get(pointer).i64_const(0).local_get(length).i32_wrap_i64().select();
                if !guest.memory64 {
                    code.i32_wrap_i64();
                }
                code.local_get(length).i32_wrap_i64().memory_copy(injected, 0);
            }
            body.store(0, |code| _ = code.local_get(3));
            body.store(4, |code| {
                code.local_get(lengths[0]).local_get(lengths[1]).i64_const(8).i64_shl().i64_or();
                code.i32_wrap_i64().i32_const(16).i32_shl().i32_const(header(CLASS_BYTES, 1)).i32_or();
            });
            (0..3).for_each(|number| body.number(number, number, I64));
        });
    }

    /// Records two floats of 128 bits.
    fn compared_quads(&mut self) {
        self.record(2, |body| {
            body.head(4, CLASS_QUADS, 16);
            // In the next slot, which is as far behind the numbers of this one.
            let numbers_before = SLOT_BYTES / 8 - 1;
            (0..4).for_each(|half| body.number(numbers_before + half, half, I64));
        });
    }

    /// Goes one call deeper, and leaves that depth in the local.
    fn enter(&mut self) {
        let at = self.at;
        let mut code = self.code();
        let depth = code.cell(layout::TRACE_DEPTH.into(), 2);
        code.i32_const(0).i32_const(0).i32_load(depth).i32_const(1).i32_add().i32_store(depth);
        self.record(1, |body| {
            body.head(1, CLASS_ENTER, 4);
            body.number(0, 0, I32);
            let mut code = body.code();
            code.i32_const(0).i32_load(depth).local_set(0);
            body.number(1, 0, I32);
        });
        self.code().i32_const(0).i32_load(depth).local_set(at);
    }

    /// The depth becomes that outside of the call, or that in it.
    fn leave(&mut self, class: u8, outside: bool) {
        let mut code = self.code();
        let depth = code.cell(layout::TRACE_DEPTH.into(), 2);
        code.i32_const(0).local_get(0).i32_const(outside.into()).i32_sub().i32_store(depth);
        self.record(1, |body| {
            body.head(1, class, 4);
            body.number(0, 0, I32);
        });
    }
}
