//! Parameters of an entry, and how an input becomes their values.

use crate::settings::EntryArgs;
use anyhow::{Context, Result, ensure};
use wasmparser::{FuncType, ValType};
use wasmtime::ValRaw;

/// More parameters than this are refused.
const PARAMETERS_MAX: usize = 256;

/// What a parameter of an entry is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// A number, which is the next bytes of the input.
    Number(Number),
    /// The address of the bytes that no number took.
    Pointer,
    /// How many these are.
    Length,
}

/// A type of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    I32,
    I64,
    F32,
    F64,
    V128,
}

impl Number {
    /// The type as a number; `None` for references.
    fn of(ty: ValType) -> Option<Self> {
        Some(match ty {
            ValType::I32 => Self::I32,
            ValType::I64 => Self::I64,
            ValType::F32 => Self::F32,
            ValType::F64 => Self::F64,
            ValType::V128 => Self::V128,
            ValType::Ref(_) => return None,
        })
    }

    /// The type's name in WebAssembly.
    fn name(self) -> &'static str {
        match self {
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::V128 => "v128",
        }
    }

    /// Bytes of the input that a number of the type takes.
    fn bytes(self) -> usize {
        match self {
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
            Self::V128 => 16,
        }
    }

    /// Takes a number from the start of `input`: little-endian; bytes that are missing are 0.
    fn take(self, input: &mut &[u8]) -> ValRaw {
        let (taken, rest) = input.split_at(input.len().min(self.bytes()));
        *input = rest;
        let mut bytes = [0; 16];
        bytes[..taken.len()].copy_from_slice(taken);
        let bits = u128::from_le_bytes(bytes);
        match self {
            Self::I32 => ValRaw::u32(bits as u32),
            Self::I64 => ValRaw::u64(bits as u64),
            Self::F32 => ValRaw::f32(bits as u32),
            Self::F64 => ValRaw::f64(bits as u64),
            Self::V128 => ValRaw::v128(bits),
        }
    }
}

impl Parameter {
    /// What each parameter of `ty` is given. `addresses` is the type of the memory's addresses, if there is a memory.
    ///
    /// # Errors
    ///
    /// If a parameter is a reference, there are too many, or the pointer that `args` asks for can't be one.
    pub(crate) fn of(ty: &FuncType, addresses: Option<ValType>, args: EntryArgs) -> Result<Box<[Self]>> {
        let count = ty.params().len();
        ensure!(count <= PARAMETERS_MAX, "it has {count} parameters, at most {PARAMETERS_MAX} can be given");
        let numbers: Option<Vec<_>> = ty.params().iter().map(|&ty| Number::of(ty)).collect();
        let numbers = numbers.context("a parameter is a reference, and no input can be one")?;
        let mut parameters: Box<[_]> = numbers.into_iter().map(Self::Number).collect();
        let is_address = |index| addresses.is_some() && ty.params().get(index).copied() == addresses;
        let is_pair = |first: usize| is_address(first) && is_address(first + 1);
        let pointer = match args {
            EntryArgs::Numbers => None,
            EntryArgs::Bytes(None) => {
                let first = (0..count).find(|&first| is_pair(first));
                Some(first.context("no two parameters in a row can be pointer and length (--entry-args bytes)")?)
            }
            EntryArgs::Bytes(Some(first)) => {
                let first = usize::from(first);
                ensure!(
                    is_pair(first),
                    "parameters {first} and {} can't be pointer and length (--entry-args {args})",
                    first + 1
                );
                Some(first)
            }
            // Nothing is said of pointers.
            _ => Some(0).filter(|&first| is_pair(first)),
        };
        if let Some(first) = pointer {
            parameters[first] = Self::Pointer;
            parameters[first + 1] = Self::Length;
        }
        Ok(parameters)
    }

    /// The parameter in a signature, as a person writes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Number(number) => number.name(),
            Self::Pointer => "ptr",
            Self::Length => "len",
        }
    }

    /// Bytes that the numbers among `parameters` take.
    pub(crate) fn number_bytes(parameters: &[Self]) -> usize {
        let bytes = |parameter: &Self| if let Self::Number(number) = parameter { number.bytes() } else { 0 };
        parameters.iter().map(bytes).sum()
    }

    /// Sets `values` from `input`: numbers take bytes from its start, in the order of the parameters. The rest is
    /// returned; `place` says at which address bytes of that length are, in the memory whose addresses are `wide`.
    pub(crate) fn decode<'i>(
        parameters: &[Self],
        input: &'i [u8],
        values: &mut [ValRaw],
        place: impl FnOnce(usize) -> usize,
        wide: bool,
    ) -> &'i [u8] {
        let rest = Self::decode_numbers(parameters, input, values);
        Self::set_place(parameters, values, (place(rest.len()), rest.len()), wide);
        rest
    }

    /// As [`Parameter::decode`], without address and length.
    pub(crate) fn decode_numbers<'i>(parameters: &[Self], mut input: &'i [u8], values: &mut [ValRaw]) -> &'i [u8] {
        for (parameter, value) in parameters.iter().zip(&mut *values) {
            if let Self::Number(number) = parameter {
                *value = number.take(&mut input);
            }
        }
        input
    }

    /// Sets address and length among `values`, in the memory whose addresses are `wide`.
    pub(crate) fn set_place(parameters: &[Self], values: &mut [ValRaw], (start, len): (usize, usize), wide: bool) {
        let address = |value: usize| if wide { ValRaw::u64(value as u64) } else { ValRaw::u32(value as u32) };
        for (parameter, value) in parameters.iter().zip(values) {
            match parameter {
                Self::Number(_) => {}
                Self::Pointer => *value = address(start),
                Self::Length => *value = address(len),
            }
        }
    }
}
