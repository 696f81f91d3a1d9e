//! What ways to give an input have in common, once there is an instance.

use crate::sandbox::imports::host::Host;
use crate::sandbox::memory::{Memories, Region};
use anyhow::{Context, Result};
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;
use wasmtime::{Func, Instance, Store, ValRaw, ValType};

/// An entry, bound to an instance.
pub(crate) trait Call: Send + Sync {
    /// Gives the entry an input and calls it, `enter` right before. The result is -1 if the input is not to be kept.
    fn run(&mut self, store: &mut Store<Host>, input: &[u8], enter: &dyn Fn()) -> wasmtime::Result<i32>;

    /// What the last call returned, if it did; nothing for what returns nothing that means something.
    fn returned(&self) -> Returned<'_> {
        Returned::default()
    }

    /// What the last call wrote for the host, if that is what the entry does.
    fn written(&self) -> Option<Vec<u8>> {
        None
    }
}

/// What a call returned.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Returned<'a> {
    types: &'a [Number],
    values: &'a [ValRaw],
}

/// The type of a number that is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    I32,
    I64,
    F32,
    F64,
    V128,
    /// A reference is none: nobody knows what it stands for.
    None,
}

impl<'a> Returned<'a> {
    pub(super) fn i32(value: &'a [ValRaw]) -> Self {
        Self { types: &[Number::I32], values: value }
    }

    /// Its numbers, each as bits that are equal for equal ones, and of what kind it is. All NaNs are equal.
    pub(crate) fn numbers(self) -> impl Iterator<Item = (u128, &'static str)> + 'a {
        let float = |float: f64, bits: u64| if float.is_nan() { (u128::MAX, NAN) } else { (bits.into(), kind(float)) };
        self.types.iter().zip(self.values).map(move |(ty, value)| match ty {
            Number::I32 => (value.get_u32().into(), kind(value.get_i32().into())),
            Number::I64 => (value.get_u64().into(), kind(value.get_i64() as f64)),
            Number::F32 => float(f32::from_bits(value.get_f32()).into(), value.get_f32().into()),
            Number::F64 => float(f64::from_bits(value.get_f64()), value.get_f64()),
            Number::V128 => (value.get_v128(), "vector"),
            Number::None => (0, "reference"),
        })
    }

    /// Its numbers in words.
    pub(crate) fn words(self) -> String {
        let words = self.types.iter().zip(self.values).map(|(ty, value)| match ty {
            Number::I32 => value.get_i32().to_string(),
            Number::I64 => value.get_i64().to_string(),
            Number::F32 => f32::from_bits(value.get_f32()).to_string(),
            Number::F64 => f64::from_bits(value.get_f64()).to_string(),
            Number::V128 => format!("{:#034x}", value.get_v128()),
            Number::None => "a reference".to_owned(),
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

const NAN: &str = "NaN";

/// Of what kind a number is.
fn kind(number: f64) -> &'static str {
    match number.partial_cmp(&0.0) {
        Some(Ordering::Less) => "negative",
        Some(Ordering::Equal) => "0",
        Some(Ordering::Greater) => "positive",
        None => NAN,
    }
}

impl Number {
    fn of(ty: &ValType) -> Self {
        match ty {
            ValType::I32 => Self::I32,
            ValType::I64 => Self::I64,
            ValType::F32 => Self::F32,
            ValType::F64 => Self::F64,
            ValType::V128 => Self::V128,
            ValType::Ref(_) => Self::None,
        }
    }
}

/// What an entry is bound by, beside an instance.
pub(crate) struct Binding<'a> {
    /// Where the regions of memories are found.
    pub(crate) memories: &'a Memories,
    /// The guest's memories, by the names under which the rewriter exports them.
    pub(crate) exported: &'a [String],
    /// Where inputs lie, for those that take bytes in memory.
    pub(crate) place: Option<Place>,
}

/// Where inputs lie in linear memory.
pub(crate) struct Place {
    region: Arc<Region>,
    /// The offset at which each input ends.
    end: usize,
}

impl Place {
    /// Inputs end at offset `end` of a memory.
    pub(crate) fn new(region: Arc<Region>, end: usize) -> Self {
        Self { region, end }
    }

    /// Makes the page of the machine that begins where inputs end inaccessible to the guest.
    pub(crate) fn forbid_what_follows(&self) {
        // SAFETY: no guest runs.
        let forbidden = unsafe { self.region.forbid(self.end) };
        debug_assert!(forbidden, "memory was grown by that page");
    }

    /// The offset at which an input of `len` bytes starts.
    pub(super) fn start(&self, len: usize) -> usize {
        self.end - len
    }

    /// Writes an input, and returns where it starts.
    pub(super) fn put(&self, input: &[u8]) -> usize {
        let start = self.start(input.len());
        self.put_at(start, input);
        start
    }

    /// Writes bytes that end no later than inputs do.
    pub(super) fn put_at(&self, start: usize, bytes: &[u8]) {
        // SAFETY: no guest runs.
        unsafe { self.region.write(start, bytes) };
    }

    /// Bytes that end no later than inputs do.
    pub(super) fn bytes(&self, part: Range<usize>) -> &[u8] {
        // SAFETY: no guest runs.
        unsafe { self.region.annex_part(part) }
    }
}

/// A function of any type whose parameters are numbers.
pub(super) struct Raw {
    function: Func,
    /// The types of its results.
    results: Box<[Number]>,
    /// Parameters, of which the first call's results take the place.
    pub(super) values: Box<[ValRaw]>,
}

impl Raw {
    /// An export that was found before.
    pub(super) fn of_export(store: &mut Store<Host>, instance: &Instance, export: &str) -> Result<Self> {
        let function = instance.get_func(&mut *store, export).context("the entry was found before")?;
        Ok(Self::new(store, function))
    }

    pub(super) fn new(store: &Store<Host>, function: Func) -> Self {
        let ty = function.ty(store);
        let values = vec![ValRaw::u32(0); ty.params().len().max(ty.results().len())];
        let results = ty.results().map(|ty| Number::of(&ty)).collect();
        Self { function, results, values: values.into() }
    }

    /// Calls with the present values as parameters. Whatever it returns is nothing: 0.
    pub(super) fn call(&mut self, store: &mut Store<Host>) -> wasmtime::Result<i32> {
        // SAFETY: `values` has room for the parameters and for the results, and whoever fills it does so by the
        // function's own type, all of whose parameters are numbers. Results that are references are never read.
        unsafe { self.function.call_unchecked(store, &raw mut *self.values) }.map(|()| 0)
    }

    /// What the last call returned.
    pub(super) fn returned(&self) -> Returned<'_> {
        Returned { types: &self.results, values: &self.values }
    }
}

impl Raw {
    /// What the last call returned, of a function that returns an i32 and nothing else.
    pub(super) fn result(&self) -> i32 {
        self.values[0].get_i32()
    }
}

/// Copies bytes to where the guest wants them, while none of its code runs; if they have no room there, that is its
/// failure.
pub(super) fn copy_in(region: &Region, at: u32, bytes: &[u8]) -> wasmtime::Result<()> {
    let end = (at as usize).checked_add(bytes.len());
    if end.is_none_or(|end| end > region.size()) {
        return Err(wasmtime::Trap::MemoryOutOfBounds.into());
    }
    // SAFETY: no guest runs.
    unsafe { region.write(at as usize, bytes) };
    Ok(())
}
