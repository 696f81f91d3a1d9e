//! The few pieces of code that are inserted, in terms of the injected memory.

use std::ops::{Deref, DerefMut};

use wasm_encoder::{BlockType, InstructionSink, MemArg, MemArgTarget};

use crate::layout;

/// Writes instructions, and knows the injected memory.
pub(super) struct Code<'b> {
    sink: InstructionSink<'b>,
    memory: u32,
}

impl<'b> Code<'b> {
    pub(super) fn new(bytes: &'b mut Vec<u8>, memory: u32) -> Code<'b> {
        Code { sink: InstructionSink::new(bytes), memory }
    }

    /// A place in the injected memory, `2^align` bytes large.
    fn cell(&self, offset: u64, align: u32) -> MemArg {
        MemArg { offset, align, target: MemArgTarget::Memory(self.memory), ordering: None }
    }

    fn counter(&self, edge: u32) -> MemArg {
        self.cell(layout::counter(edge), 2)
    }

    /// Adds 1 to a counter. Cranelift makes it `add dword ptr [base + offset], 1`, without a bounds check.
    pub(super) fn count(&mut self, edge: u32) {
        let counter = self.counter(edge);
        self.i32_const(0).i32_const(0).i32_load(counter).i32_const(1).i32_add().i32_store(counter);
    }

    /// Takes `cost` from the fuel, and stops if it is used up. The second load costs nothing: it is that of a value
    /// just stored.
    pub(super) fn spend(&mut self, cost: u32) {
        let fuel = self.cell(layout::FUEL.into(), 3);
        self.i32_const(0).i32_const(0).i64_load(fuel).i64_const(cost.into()).i64_sub().i64_store(fuel);
        self.i32_const(0).i64_load(fuel).i64_const(0).i64_lt_s().if_(BlockType::Empty);
        self.flag(layout::FLAG_OUT_OF_FUEL);
        self.unreachable().end();
    }

    /// Takes fuel for the length on the stack, `2^shift` to the unit; leaves the length. Whether the fuel is used up is
    /// seen at the next function entry or loop head.
    pub(super) fn spend_length(&mut self, local: u32, wide: bool, shift: u32) {
        let fuel = self.cell(layout::FUEL.into(), 3);
        self.local_set(local).i32_const(0).i32_const(0).i64_load(fuel).local_get(local);
        if !wide {
            self.i64_extend_i32_u();
        }
        self.i64_const(shift.into()).i64_shr_u().i64_sub().i64_store(fuel).local_get(local);
    }

    /// Sets a flag.
    pub(super) fn flag(&mut self, flag: u32) {
        let flag = self.cell(flag.into(), 0);
        self.i32_const(0).i32_const(1).i32_store8(flag);
    }

    /// Counts the arm that the index on the stack chooses; leaves the index.
    pub(super) fn count_arm(&mut self, edge: u32, arms: u32, index: u32, address: u32) {
        let counter = self.counter(edge);
        let default = (arms - 1).cast_signed();
        self.local_tee(index).i32_const(default).local_get(index).i32_const(default).i32_lt_u().select();
        self.i32_const(2).i32_shl().local_tee(address);
        self.local_get(address).i32_load(counter).i32_const(1).i32_add().i32_store(counter);
        self.local_get(index);
    }

    /// Counts if the code that `test` writes leaves 1 and not 0 for the reference on the stack; leaves the reference.
    pub(super) fn count_if(&mut self, edge: u32, local: u32, test: impl FnOnce(&mut InstructionSink<'_>)) {
        let counter = self.counter(edge);
        self.local_set(local).i32_const(0).local_get(local);
        test(self);
        self.i32_const(0).i32_load(counter).i32_add().i32_store(counter).local_get(local);
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
