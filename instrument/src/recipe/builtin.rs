//! The words of recipes that are called as exports are.

use wasm_encoder::{Instruction, MemArg};
use wasmparser::ValType;

/// What a word does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Builtin {
    /// Copies the input, or a text.
    Write,
    /// Copies bytes from an address to another.
    Copy,
    /// Stores a number.
    Store(Cell),
    /// Loads a number.
    Load(Cell),
    /// Makes a number another type's.
    Convert(ValType),
}

/// A number in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    Bits8,
    Bits16,
    Bits32,
    Bits64,
    F32,
    F64,
}

const ALL: [(&str, Builtin); 18] = [
    ("write", Builtin::Write),
    ("copy", Builtin::Copy),
    ("write8", Builtin::Store(Cell::Bits8)),
    ("write16", Builtin::Store(Cell::Bits16)),
    ("write32", Builtin::Store(Cell::Bits32)),
    ("write64", Builtin::Store(Cell::Bits64)),
    ("writef32", Builtin::Store(Cell::F32)),
    ("writef64", Builtin::Store(Cell::F64)),
    ("read8", Builtin::Load(Cell::Bits8)),
    ("read16", Builtin::Load(Cell::Bits16)),
    ("read32", Builtin::Load(Cell::Bits32)),
    ("read64", Builtin::Load(Cell::Bits64)),
    ("readf32", Builtin::Load(Cell::F32)),
    ("readf64", Builtin::Load(Cell::F64)),
    ("i32", Builtin::Convert(ValType::I32)),
    ("i64", Builtin::Convert(ValType::I64)),
    ("f32", Builtin::Convert(ValType::F32)),
    ("f64", Builtin::Convert(ValType::F64)),
];

impl Builtin {
    /// The word's meaning, if it has one.
    pub(super) fn of(word: &str) -> Option<Self> {
        ALL.iter().find(|(name, _)| *name == word).map(|&(_, builtin)| builtin)
    }

    /// How many arguments it takes.
    pub(super) fn arguments(self) -> usize {
        match self {
            Self::Copy => 3,
            Self::Write | Self::Store(_) => 2,
            Self::Load(_) | Self::Convert(_) => 1,
        }
    }
}

impl Cell {
    /// The type of the number.
    pub(super) fn ty(self) -> ValType {
        match self {
            Self::Bits8 | Self::Bits16 | Self::Bits32 => ValType::I32,
            Self::Bits64 => ValType::I64,
            Self::F32 => ValType::F32,
            Self::F64 => ValType::F64,
        }
    }

    pub(super) fn store(self, arg: MemArg) -> Instruction<'static> {
        match self {
            Self::Bits8 => Instruction::I32Store8(arg),
            Self::Bits16 => Instruction::I32Store16(arg),
            Self::Bits32 => Instruction::I32Store(arg),
            Self::Bits64 => Instruction::I64Store(arg),
            Self::F32 => Instruction::F32Store(arg),
            Self::F64 => Instruction::F64Store(arg),
        }
    }

    pub(super) fn load(self, arg: MemArg) -> Instruction<'static> {
        match self {
            Self::Bits8 => Instruction::I32Load8U(arg),
            Self::Bits16 => Instruction::I32Load16U(arg),
            Self::Bits32 => Instruction::I32Load(arg),
            Self::Bits64 => Instruction::I64Load(arg),
            Self::F32 => Instruction::F32Load(arg),
            Self::F64 => Instruction::F64Load(arg),
        }
    }
}
