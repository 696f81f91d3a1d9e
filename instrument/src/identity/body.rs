//! A function body taken apart: its shape, which no linker changes, and the numbers in it, which a linker may.

use std::collections::BTreeMap;

use anyhow::Result;
use wasmparser::{
    BlockType, BrTable, Catch, FuncType, FunctionBody, HeapType, Ieee32, Ieee64, MemArg, MemArgTarget, Operator,
    Ordering, RefType, ResumeTable, TryTable, V128, ValType,
};

use super::hash::{Hash, hash};
use super::types::Types;

/// A number in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) kind: SlotKind,
    pub(super) value: u64,
}

/// What a number may mean, as told by the operators around it and never by its value: so it belongs to the shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum SlotKind {
    /// A number and nothing else.
    Number,
    /// A constant as wide as an address: a number, an address or a place in the table.
    Word,
    /// A constant that is loaded from: an address.
    Address,
    /// What a load or store adds to its address: the distance of a field, or an address if the other is an index.
    Offset,
    /// A constant that is called: a place in the table.
    Place,
    /// A function's index.
    Function,
    /// A global's index.
    Global,
    /// A data segment's index.
    Data,
    /// An element segment's index.
    Element,
}

/// What a body is besides its index and what it refers to.
#[derive(PartialEq, Eq)]
pub(super) struct Body {
    /// Hash of signature, operators, types and control flow: everything but the slots' values.
    pub(super) shape: Hash,
    /// Hash of the signature.
    pub(super) signature: Hash,
    /// All numbers, in the order of the code.
    pub(super) slots: Vec<Slot>,
}

/// What the bodies of a module have in common.
pub(super) struct Context<'a> {
    pub(super) types: &'a Types,
    /// Per tag index: what it is.
    pub(super) tags: &'a [Hash],
    /// Whether addresses are 64 bits wide.
    pub(super) wide: bool,
}

/// Reads a body that is known to be valid.
pub(super) fn read_body(context: &Context<'_>, ty: &FuncType, body: &FunctionBody<'_>) -> Result<Body> {
    let mut reader = Reader {
        context,
        shape: Vec::new(),
        slots: Vec::new(),
        params: ty.params().len() as u32,
        locals: BTreeMap::new(),
        declared: Vec::new(),
        word: false,
    };
    context.types.func_type(&mut reader.shape, ty);
    let signature = hash(&[b"signature", &reader.shape]);
    let mut locals = body.get_locals_reader()?;
    let mut end = ty.params().len() as u32;
    for _ in 0..locals.get_count() {
        let (count, ty) = locals.read()?;
        end = end.saturating_add(count);
        reader.declared.push((end, ty));
    }
    let mut operators = body.get_operators_reader()?;
    while !operators.eof() {
        reader.operator(&operators.read()?);
    }
    let kinds: Vec<u8> = reader.slots.iter().map(|slot| slot.kind as u8).collect();
    Ok(Body { shape: hash(&[b"shape", &reader.shape, &kinds]), signature, slots: reader.slots })
}

struct Reader<'a> {
    context: &'a Context<'a>,
    shape: Vec<u8>,
    slots: Vec<Slot>,
    params: u32,
    /// Per local: its number in the order of first use. Parameters keep theirs.
    locals: BTreeMap<u32, u32>,
    /// Where each declaration ends in the index space, and its type.
    declared: Vec<(u32, ValType)>,
    /// Whether the operator before was a constant as wide as an address.
    word: bool,
}

/// Takes an operator apart by wasmparser's own list of operators and their immediates.
macro_rules! take_apart {
    ($(@$proposal:ident $op:ident $({ $($arg:ident: $argty:ty),* })? => $visit:ident ($($ann:tt)*))*) => {
        impl Reader<'_> {
            fn immediates(&mut self, operator: &Operator<'_>) {
                match operator {
                    $(
                        Operator::$op $({ $($arg),* })? => {
                            self.shape.extend(concat!(stringify!($op), ";").bytes());
                            $($($arg.put(self, stringify!($arg));)*)?
                        }
                    )*
                    other => self.shape.extend(format!("{other:?};").bytes()),
                }
            }
        }
    };
}
wasmparser::for_each_operator!(take_apart);

impl Reader<'_> {
    fn operator(&mut self, operator: &Operator<'_>) {
        if self.word {
            self.settle(operator);
        }
        self.word = matches!(operator, Operator::I32Const { .. }) && !self.context.wide
            || matches!(operator, Operator::I64Const { .. }) && self.context.wide;
        self.immediates(operator);
        if self.word
            && let Some(last) = self.slots.last_mut()
        {
            last.kind = SlotKind::Word;
        }
    }

    /// Says what the last slot is, a constant, given the operator that takes it.
    fn settle(&mut self, taker: &Operator<'_>) {
        use Operator as O;
        let kind = match taker {
            O::I32Load { .. }
            | O::I64Load { .. }
            | O::F32Load { .. }
            | O::F64Load { .. }
            | O::V128Load { .. }
            | O::I32Load8S { .. }
            | O::I32Load8U { .. }
            | O::I32Load16S { .. }
            | O::I32Load16U { .. }
            | O::I64Load8S { .. }
            | O::I64Load8U { .. }
            | O::I64Load16S { .. }
            | O::I64Load16U { .. }
            | O::I64Load32S { .. }
            | O::I64Load32U { .. } => SlotKind::Address,
            O::CallIndirect { .. } | O::ReturnCallIndirect { .. } => SlotKind::Place,
            O::I32Mul
            | O::I32DivS
            | O::I32DivU
            | O::I32RemS
            | O::I32RemU
            | O::I32Shl
            | O::I32ShrS
            | O::I32ShrU
            | O::I32Rotl
            | O::I32Rotr
            | O::I32And
            | O::I32Xor
            | O::I32LtS
            | O::I32LeS
            | O::I32GtS
            | O::I32GeS
            | O::I32Store8 { .. }
            | O::I32Store16 { .. }
            | O::I64Mul
            | O::I64DivS
            | O::I64DivU
            | O::I64RemS
            | O::I64RemU
            | O::I64Shl
            | O::I64ShrS
            | O::I64ShrU
            | O::I64Rotl
            | O::I64Rotr
            | O::I64And
            | O::I64Xor
            | O::I64LtS
            | O::I64LeS
            | O::I64GtS
            | O::I64GeS
            | O::I64Store8 { .. }
            | O::I64Store16 { .. }
            | O::I64Store32 { .. }
            | O::MemoryGrow { .. }
            | O::BrIf { .. }
            | O::BrTable { .. }
            | O::If { .. } => SlotKind::Number,
            _ => return,
        };
        if let Some(slot) = self.slots.last_mut() {
            slot.kind = kind;
        }
    }

    fn slot(&mut self, kind: SlotKind, value: u64) {
        self.slots.push(Slot { kind, value });
    }

    fn number(&mut self, number: u32) {
        self.shape.extend(number.to_le_bytes());
    }

    /// Writes a local by when it was first used, so that neither the order of declarations nor unused ones matter.
    fn local(&mut self, index: u32) {
        if index < self.params {
            self.shape.push(b'p');
            self.number(index);
        } else if let Some(&number) = self.locals.get(&index) {
            self.shape.push(b'l');
            self.number(number);
        } else {
            self.shape.push(b'n');
            let place = self.declared.partition_point(|&(end, _)| end <= index);
            if let Some(&(_, ty)) = self.declared.get(place) {
                self.context.types.val_type(&mut self.shape, ty);
            }
            self.locals.insert(index, self.locals.len() as u32);
        }
    }

    fn tag(&mut self, index: u32) {
        self.shape.extend(self.context.tags.get(index as usize).copied().unwrap_or_default());
    }
}

/// An immediate of an operator. `what` is the name wasmparser gives it.
trait Immediate {
    fn put(&self, reader: &mut Reader<'_>, what: &'static str);
}

impl Immediate for u32 {
    fn put(&self, reader: &mut Reader<'_>, what: &'static str) {
        let value = u64::from(*self);
        match what {
            "function_index" => reader.slot(SlotKind::Function, value),
            "global_index" => reader.slot(SlotKind::Global, value),
            "data_index" | "array_data_index" => reader.slot(SlotKind::Data, value),
            "elem_index" | "array_elem_index" => reader.slot(SlotKind::Element, value),
            "local_index" => reader.local(*self),
            "tag_index" => reader.tag(*self),
            "type_index"
            | "struct_type_index"
            | "array_type_index"
            | "array_type_index_src"
            | "array_type_index_dst"
            | "cont_type_index"
            | "argument_index"
            | "result_index" => reader.context.types.index(&mut reader.shape, *self),
            // Depths, fields, sizes; memories and tables too, which modules have few of and in one order.
            _ => reader.number(*self),
        }
    }
}

impl Immediate for i32 {
    fn put(&self, reader: &mut Reader<'_>, _: &'static str) {
        reader.slot(SlotKind::Number, u64::from(self.cast_unsigned()));
    }
}

impl Immediate for i64 {
    fn put(&self, reader: &mut Reader<'_>, _: &'static str) {
        reader.slot(SlotKind::Number, self.cast_unsigned());
    }
}

impl Immediate for Ieee32 {
    fn put(&self, reader: &mut Reader<'_>, _: &'static str) {
        reader.slot(SlotKind::Number, u64::from(self.bits()));
    }
}

impl Immediate for Ieee64 {
    fn put(&self, reader: &mut Reader<'_>, _: &'static str) {
        reader.slot(SlotKind::Number, self.bits());
    }
}

impl Immediate for V128 {
    fn put(&self, reader: &mut Reader<'_>, _: &'static str) {
        let bits = u128::from_le_bytes(*self.bytes());
        reader.slot(SlotKind::Number, bits as u64);
        reader.slot(SlotKind::Number, (bits >> 64) as u64);
    }
}

impl Immediate for MemArg {
    fn put(&self, reader: &mut Reader<'_>, _: &'static str) {
        // The alignment is a hint, but the compiler's own: it does not change by itself.
        reader.shape.push(self.align);
        match self.target {
            MemArgTarget::Memory(memory) => reader.number(memory),
            MemArgTarget::Array(ty) => reader.context.types.index(&mut reader.shape, ty),
        }
        if let Some(ordering) = &self.ordering {
            reader.shape.extend(format!("{ordering:?};").bytes());
        }
        reader.slot(SlotKind::Offset, self.offset);
    }
}

impl Immediate for u8 {
    fn put(&self, reader: &mut Reader<'_>, _: &'static str) {
        reader.shape.push(*self);
    }
}

impl Immediate for [u8; 16] {
    fn put(&self, reader: &mut Reader<'_>, _: &'static str) {
        reader.shape.extend(self);
    }
}

impl Immediate for Ordering {
    fn put(&self, reader: &mut Reader<'_>, _: &'static str) {
        reader.shape.extend(format!("{self:?};").bytes());
    }
}

impl Immediate for ResumeTable {
    fn put(&self, reader: &mut Reader<'_>, _: &'static str) {
        reader.shape.extend(format!("{self:?};").bytes());
    }
}

impl Immediate for BlockType {
    fn put(&self, reader: &mut Reader<'_>, _: &'static str) {
        reader.context.types.block_type(&mut reader.shape, *self);
        reader.shape.push(b';');
    }
}

impl Immediate for HeapType {
    fn put(&self, reader: &mut Reader<'_>, _: &'static str) {
        reader.context.types.heap_type(&mut reader.shape, *self);
    }
}

impl Immediate for RefType {
    fn put(&self, reader: &mut Reader<'_>, _: &'static str) {
        reader.context.types.ref_type(&mut reader.shape, *self);
    }
}

impl Immediate for ValType {
    fn put(&self, reader: &mut Reader<'_>, _: &'static str) {
        reader.context.types.val_type(&mut reader.shape, *self);
    }
}

impl Immediate for Vec<ValType> {
    fn put(&self, reader: &mut Reader<'_>, what: &'static str) {
        reader.number(self.len() as u32);
        self.iter().for_each(|ty| ty.put(reader, what));
    }
}

impl Immediate for BrTable<'_> {
    fn put(&self, reader: &mut Reader<'_>, _: &'static str) {
        reader.number(self.len());
        self.targets().map_while(Result::ok).for_each(|depth| reader.number(depth));
        reader.number(self.default());
    }
}

impl Immediate for TryTable {
    fn put(&self, reader: &mut Reader<'_>, what: &'static str) {
        self.ty.put(reader, what);
        reader.number(self.catches.len() as u32);
        for &catch in &self.catches {
            let (how, tag, label) = match catch {
                Catch::One { tag, label } => (0, Some(tag), label),
                Catch::OneRef { tag, label } => (1, Some(tag), label),
                Catch::All { label } => (2, None, label),
                Catch::AllRef { label } => (3, None, label),
            };
            reader.shape.push(how);
            tag.into_iter().for_each(|tag| reader.tag(tag));
            reader.number(label);
        }
    }
}
