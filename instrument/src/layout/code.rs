//! The few pieces of code that are inserted, in terms of the injected memory.

use std::ops::{Deref, DerefMut};

use wasm_encoder::{BlockType, InstructionSink, MemArg, MemArgTarget};

use crate::layout::{self, Flag};

/// Writes instructions, and knows the injected memory.
pub(crate) struct Code<'b> {
    sink: InstructionSink<'b>,
    memory: u32,
}

impl<'b> Code<'b> {
    pub(crate) fn new(bytes: &'b mut Vec<u8>, memory: u32) -> Code<'b> {
        Code { sink: InstructionSink::new(bytes), memory }
    }

    /// A place in the injected memory, `2^align` bytes large.
    pub(crate) fn cell(&self, offset: u64, align: u32) -> MemArg {
        MemArg { offset, align, target: MemArgTarget::Memory(self.memory), ordering: None }
    }

    fn counter(&self, counter: u32) -> MemArg {
        self.cell(layout::counter(counter), 2)
    }

    /// Adds 1 to a counter. Cranelift makes it `add dword ptr [base + offset], 1`, without a bounds check.
    pub(crate) fn count(&mut self, counter: u32) {
        let counter = self.counter(counter);
        self.i32_const(0).i32_const(0).i32_load(counter).i32_const(1).i32_add().i32_store(counter);
    }

    /// Begins to take fuel: loads what there is.
    pub(crate) fn load_fuel(&mut self) {
        let fuel = self.cell(layout::FUEL.into(), 3);
        self.i32_const(0).i32_const(0).i64_load(fuel);
    }

    /// Takes as much fuel as is on the stack from what was loaded, and stops if it is used up: what there is is counted
    /// from `start`. The second load costs nothing: it is that of a value just stored.
    pub(crate) fn spend(&mut self, start: i64) {
        let fuel = self.cell(layout::FUEL.into(), 3);
        self.i64_sub().i64_store(fuel);
        self.i32_const(0).i64_load(fuel).i64_const(start.wrapping_neg()).i64_lt_s();
        self.stop_if(Flag::OutOfFuel);
    }

    /// Opens a block whose type is filled in later with [`patch`], one byte behind where this starts.
    pub(crate) fn block_to_be_filled_in(&mut self) {
        self.block(BlockType::FunctionType(TO_BE_FILLED_IN));
    }

    /// Sets a flag.
    pub(crate) fn flag(&mut self, flag: Flag) {
        let flag = self.cell(flag.offset().into(), 0);
        self.i32_const(0).i32_const(1).i32_store8(flag);
    }

    /// Adds a call to those that are live, and stops if these are more than `limit`. The second load costs nothing, as
    /// that of the fuel.
    pub(crate) fn enter_call(&mut self, limit: u32) {
        let calls = self.cell(layout::CALLS.into(), 2);
        self.i32_const(0).i32_const(0).i32_load(calls).i32_const(1).i32_add().i32_store(calls);
        self.i32_const(0).i32_load(calls).i32_const(limit.cast_signed()).i32_gt_u();
        self.stop_if(Flag::StackOverflow);
    }

    /// Takes a call away from those that are live.
    pub(crate) fn leave_call(&mut self) {
        let calls = self.cell(layout::CALLS.into(), 2);
        self.i32_const(0).i32_const(0).i32_load(calls).i32_const(1).i32_sub().i32_store(calls);
    }

    /// Keeps in a local how many calls are live.
    pub(crate) fn save_calls(&mut self, local: u32) {
        let calls = self.cell(layout::CALLS.into(), 2);
        self.i32_const(0).i32_load(calls).local_set(local);
    }

    /// Gives that back.
    pub(crate) fn restore_calls(&mut self, local: u32) {
        let calls = self.cell(layout::CALLS.into(), 2);
        self.i32_const(0).local_get(local).i32_store(calls);
    }

    /// Sets a flag and traps if the condition on the stack holds.
    pub(crate) fn stop_if(&mut self, flag: Flag) {
        self.if_(BlockType::Empty);
        self.flag(flag);
        self.unreachable().end();
    }

    /// Leaves the number on the stack as it is, but as one that nobody can know.
    pub(crate) fn hide(&mut self, wide: bool) {
        let zero = self.cell(layout::ZERO.into(), if wide { 3 } else { 2 });
        if wide {
            self.i32_const(0).i64_load(zero).i64_or();
        } else {
            self.i32_const(0).i32_load(zero).i32_or();
        }
    }

    /// Puts on the stack, in 64 bits, how many pages the host has hidden from the guest.
    pub(crate) fn hidden(&mut self) {
        let hidden = self.cell(layout::HIDDEN.into(), 3);
        self.i32_const(0).i64_load(hidden);
    }

    /// Hides fewer pages, by the number in a local, of so many bytes each, as a power of two.
    pub(crate) fn show(&mut self, local: u32, page_log2: u32) {
        let hidden = self.cell(layout::HIDDEN.into(), 3);
        self.i32_const(0).i32_const(0).i64_load(hidden).local_get(local).i64_sub().i64_store(hidden);
        for cell in [layout::GUEST_END, layout::ROOM] {
            let cell = self.cell(cell.into(), 3);
            self.i32_const(0).i32_const(0).i64_load(cell);
            self.local_get(local).i64_const(page_log2.into()).i64_shl().i64_add().i64_store(cell);
        }
    }

    /// Puts on the stack how far behind the beginning of the annex a local of 32 bits is, modulo 2^32.
    pub(crate) fn behind_annex(&mut self, address: u32) {
        let annex = self.cell(layout::ANNEX.into(), 2);
        self.local_get(address).i32_const(0).i32_load(annex).i32_sub();
    }

    /// Puts on the stack how much [room](layout::ROOM) there is for the guest.
    pub(crate) fn room(&mut self) {
        let room = self.cell(layout::ROOM.into(), 3);
        self.i32_const(0).i64_load(room);
    }

    /// Puts on the stack, in 64 bits, where the annex begins.
    pub(crate) fn annex(&mut self) {
        let annex = self.cell(layout::ANNEX.into(), 3);
        self.i32_const(0).i64_load(annex);
    }

    /// Puts on the stack, in 64 bits, how long the guest's part is, in bytes.
    pub(crate) fn guest_end(&mut self) {
        let end = self.cell(layout::GUEST_END.into(), 3);
        self.i32_const(0).i64_load(end);
    }

    /// Traps as an access outside of a memory does.
    pub(crate) fn out_of_bounds(&mut self) {
        // The injected memory never has 4 GiB.
        let nowhere = self.cell(u32::MAX.into(), 0);
        self.i32_const(0).i32_load8_u(nowhere).drop();
    }

    /// Loads from the page that a watchdog can take away.
    pub(crate) fn poll(&mut self) {
        let poll = self.cell(layout::POLL.into(), 0);
        self.i32_const(0).i32_load8_u(poll).drop();
    }

    /// Counts the arm that the index on the stack chooses; leaves the index. The arms' counters follow each other.
    pub(crate) fn count_arm(&mut self, first: u32, arms: u32, index: u32, address: u32) {
        let counter = self.counter(first);
        let default = (arms - 1).cast_signed();
        self.local_tee(index).i32_const(default).local_get(index).i32_const(default).i32_lt_u().select();
        self.i32_const(2).i32_shl().local_tee(address);
        self.local_get(address).i32_load(counter).i32_const(1).i32_add().i32_store(counter);
        self.local_get(index);
    }

    /// Counts if the code that `test` writes leaves 1 and not 0 for the reference on the stack; leaves the reference.
    pub(crate) fn count_if(&mut self, counter: u32, local: u32, test: impl FnOnce(&mut InstructionSink<'_>)) {
        let counter = self.counter(counter);
        self.local_set(local).i32_const(0).local_get(local);
        test(self);
        self.i32_const(0).i32_load(counter).i32_add().i32_store(counter).local_get(local);
    }

    /// Counts a `select` by the condition on the stack, if it is not 0 and if it is; leaves the condition.
    pub(crate) fn count_select(&mut self, first: Option<u32>, second: Option<u32>, local: u32) {
        self.local_set(local);
        for (counter, first) in
            first.map(|counter| (counter, true)).into_iter().chain(second.map(|counter| (counter, false)))
        {
            let counter = self.counter(counter);
            self.i32_const(0).local_get(local).i32_eqz();
            if first {
                self.i32_eqz();
            }
            self.i32_const(0).i32_load(counter).i32_add().i32_store(counter);
        }
        self.local_get(local);
    }
}

/// A number that is filled in later takes so many bytes.
const PADDED_BYTES: usize = 5;

/// A number that takes as many.
const TO_BE_FILLED_IN: u32 = 1 << 30;

/// Fills in a number, as LEB128 of [`PADDED_BYTES`] bytes. It is the same signed and unsigned, as it has bits to spare.
pub(crate) fn patch(bytes: &mut [u8], at: usize, number: u32) {
    for (place, byte) in bytes[at..at + PADDED_BYTES].iter_mut().enumerate() {
        let more = if place + 1 < PADDED_BYTES { 0x80 } else { 0 };
        *byte = (number >> (7 * place)) as u8 & 0x7f | more;
    }
}

impl<'b> Deref for Code<'b> {
    type Target = InstructionSink<'b>;

    fn deref(&self) -> &Self::Target {
        &self.sink
    }
}

impl DerefMut for Code<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.sink
    }
}
