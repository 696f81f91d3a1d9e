//! What a function of a component gives, lifted as the canonical ABI says: whatever is no value there is the
//! component's failure.
//!
//! Nothing is made of it. A host that makes something of it looks at the same bytes.

use crate::sandbox::memory::Region;
use crate::sandbox::wasi::Wasi;
use fuzzbox_instrument::{Shape, ValueType};
use std::borrow::Cow;
use std::fmt;

/// What a value that is looked at costs, in units of fuel: lists may have each other as elements, so there can be very
/// many.
const VALUE_WORK: u64 = 16;

/// Ends an execution because a component gave what is no value of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadResult {
    OutOfBounds,
    Unaligned,
    NoText,
    NoCharacter,
    NoCase,
}

impl BadResult {
    /// The same for every failure of this kind.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::OutOfBounds => "out of bounds",
            Self::Unaligned => "unaligned address",
            Self::NoText => "string that is not UTF-8",
            Self::NoCharacter => "char that is no scalar value",
            Self::NoCase => "discriminant out of range",
        }
    }
}

impl fmt::Display for BadResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the component gave a result that is none: {}", self.class())
    }
}

impl std::error::Error for BadResult {}

/// Looks at a result: the number that the core function gave, which is the address of what isn't one number. No guest
/// runs.
pub(crate) fn check(ty: &ValueType, given: u32, memory: Option<&Region>, wasi: &mut Wasi) -> wasmtime::Result<()> {
    let in_memory = ty.flat > 1;
    if !ty.is_checked && !in_memory {
        return Ok(());
    }
    let mut lift = Lift::new(memory, wasi);
    if in_memory { lift.value_at(ty, given) } else { lift.number(ty, given) }
}

struct Lift<'a> {
    /// What is in memory: offsets and bytes, ascending. All between them is zero.
    pieces: Vec<(usize, &'a [u8])>,
    size: usize,
    wasi: &'a mut Wasi,
}

impl<'a> Lift<'a> {
    fn new(memory: Option<&'a Region>, wasi: &'a mut Wasi) -> Self {
        // SAFETY: no guest runs, and nothing writes meanwhile.
        let pieces = memory.map_or_else(Vec::new, |memory| unsafe { memory.accessible() });
        Self { pieces, size: memory.map_or(0, Region::size), wasi }
    }

    /// Checks that `len` bytes are there, at a multiple of `align`.
    fn check_place(&self, at: u32, len: u64, align: u32) -> Result<(), BadResult> {
        if !at.is_multiple_of(align) {
            return Err(BadResult::Unaligned);
        }
        if u64::from(at) + len > self.size as u64 { Err(BadResult::OutOfBounds) } else { Ok(()) }
    }

    /// Bytes that are there.
    fn bytes(&self, at: usize, len: usize) -> Cow<'a, [u8]> {
        let first = self.pieces.partition_point(|(start, _)| *start <= at).saturating_sub(1);
        if let Some((start, piece)) = self.pieces.get(first)
            && let Some(bytes) = at.checked_sub(*start).and_then(|from| piece.get(from..)?.get(..len))
        {
            return Cow::Borrowed(bytes);
        }
        let mut copy = vec![0; len];
        for (start, piece) in self.pieces[first..].iter().take_while(|(start, _)| *start < at + len) {
            let (from, to) = ((*start).max(at), (start + piece.len()).min(at + len));
            if from < to {
                copy[from - at..to - at].copy_from_slice(&piece[from - start..to - start]);
            }
        }
        Cow::Owned(copy)
    }

    /// A number of `bytes` bytes, at most four, that is there.
    fn load(&self, at: u32, bytes: u32) -> u32 {
        let mut number = [0; 4];
        number[..bytes as usize].copy_from_slice(&self.bytes(at as usize, bytes as usize));
        u32::from_le_bytes(number)
    }

    /// A value in memory, wherever that is said to be.
    fn value_at(&mut self, ty: &ValueType, at: u32) -> wasmtime::Result<()> {
        self.check_place(at, ty.size.into(), ty.align)?;
        self.value(ty, at)
    }

    /// A value whose bytes are there.
    fn value(&mut self, ty: &ValueType, at: u32) -> wasmtime::Result<()> {
        if !ty.is_checked {
            return Ok(());
        }
        self.wasi.worked(VALUE_WORK)?;
        match &ty.shape {
            Shape::Plain => Ok(()),
            Shape::Char | Shape::Handle(_) => self.number(ty, self.load(at, 4)),
            Shape::String => self.string(self.load(at, 4), self.load(at + 4, 4)),
            Shape::List(element) => self.list(element, self.load(at, 4), self.load(at + 4, 4)),
            Shape::Fields(fields) => fields.iter().try_for_each(|(offset, field)| self.value(field, at + offset)),
            Shape::Repeated(element, count) => {
                (0..*count).try_for_each(|index| self.value(element, at + index * element.size))
            }
            Shape::Variant { discriminant, payload, cases } => {
                let case = cases.get(self.load(at, *discriminant) as usize).ok_or(BadResult::NoCase)?;
                case.as_ref().map_or(Ok(()), |case| self.value(case, at + payload))
            }
        }
    }

    fn string(&mut self, at: u32, len: u32) -> wasmtime::Result<()> {
        self.check_place(at, len.into(), 1)?;
        self.wasi.worked(len.into())?;
        let bytes = self.bytes(at as usize, len as usize);
        Ok(std::str::from_utf8(&bytes).map(drop).map_err(|_| BadResult::NoText)?)
    }

    fn list(&mut self, element: &ValueType, at: u32, count: u32) -> wasmtime::Result<()> {
        self.check_place(at, u64::from(count) * u64::from(element.size), element.align)?;
        if !element.is_checked {
            return Ok(());
        }
        (0..count).try_for_each(|index| self.value(element, at + index * element.size))
    }

    /// A value that is one number.
    fn number(&mut self, ty: &ValueType, number: u32) -> wasmtime::Result<()> {
        match &ty.shape {
            Shape::Char => char::from_u32(number).map(drop).ok_or(BadResult::NoCharacter)?,
            Shape::Handle(of) => self.wasi.give_away(number, *of)?,
            Shape::Variant { cases, .. } if number as usize >= cases.len() => return Err(BadResult::NoCase.into()),
            Shape::Fields(fields) => fields.iter().try_for_each(|(_, field)| self.number(field, number))?,
            Shape::Repeated(element, _) => self.number(element, number)?,
            Shape::Variant { .. } | Shape::Plain | Shape::String | Shape::List(_) => {}
        }
        Ok(())
    }
}
