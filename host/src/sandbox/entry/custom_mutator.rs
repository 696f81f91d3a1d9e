//! `LLVMFuzzerCustomMutator` and `LLVMFuzzerCustomCrossOver`: what a harness makes new inputs with, as libFuzzer calls
//! it. An entry like others, but that its inputs are requests, and that what it writes is of interest.

use crate::sandbox::entry::Entry;
use crate::sandbox::entry::call::{Binding, Call, Place};
use crate::sandbox::entry::way::{Form, Way};
use crate::sandbox::imports::host::{Host, Inner};
use crate::sandbox::source::interface::Interface;
use anyhow::{Context, Result};
use std::ops::Range;
use wasmparser::ValType;
use wasmtime::{Instance, Store, TypedFunc};

/// Which of the two functions, and what it is given beside a seed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change<'a> {
    /// Changes an input in place.
    Mutate(&'a [u8]),
    /// Makes an input of two others.
    CrossOver(&'a [u8], &'a [u8]),
    /// Changes nothing: what is of interest is what would be changed inside of an input.
    Open(&'a [u8]),
    /// Puts these bytes inside of an input, in the place of what is there.
    Replace(&'a [u8], &'a [u8]),
}

/// Numbers at the start of a request: how long the result may be, the seed, how long the first of two inputs is, and
/// what becomes of what is inside.
const NUMBERS: usize = 4;

/// The last of these numbers.
const OPEN: u32 = 1;
const REPLACE: u32 = 2;

/// Calls of `LLVMFuzzerMutate` have different seeds up to so many bits of their number.
const CALLS_BITS: u32 = 32;

/// What the entry is given for a change whose result may have so many bytes.
pub(crate) fn request(change: Change<'_>, len_max: u32, seed: u32) -> Vec<u8> {
    let (first, second, inner) = match change {
        Change::Mutate(input) => (input, &[][..], 0),
        Change::CrossOver(first, second) => (first, second, 0),
        Change::Open(input) => (input, &[][..], OPEN),
        Change::Replace(input, inner) => (input, inner, REPLACE),
    };
    let numbers = [len_max, seed, u32::try_from(first.len()).expect("inputs are short"), inner];
    let mut request: Vec<u8> = numbers.into_iter().flat_map(u32::to_le_bytes).collect();
    request.extend_from_slice(first);
    request.extend_from_slice(second);
    request
}

/// The bytes of a request for inputs and results of at most so many bytes.
pub(crate) fn request_bytes_max(input_bytes_max: u32) -> u32 {
    input_bytes_max.saturating_mul(2).saturating_add(4 * NUMBERS as u32)
}

impl Entry {
    /// The guest's own mutator, and what crosses over, of those that there are.
    pub(crate) fn custom_mutators(interface: &Interface) -> (Option<Self>, Option<Self>) {
        let entry = |export, parameters| {
            let ty = interface.function(export)?;
            let fits = ty.params().len() == parameters && ty.params().iter().all(|param| *param == ValType::I32);
            (fits && ty.results() == [ValType::I32]).then(|| Self::new(CustomMutator { export }))
        };
        (entry("LLVMFuzzerCustomMutator", 4), entry("LLVMFuzzerCustomCrossOver", 7))
    }
}

/// One of the two functions.
#[derive(Debug)]
struct CustomMutator {
    export: &'static str,
}

impl Way for CustomMutator {
    fn export(&self) -> &str {
        self.export
    }

    fn what(&self) -> String {
        "(inputs), a mutator of libFuzzer's form".to_owned()
    }

    fn place(&self, _: bool) -> String {
        "in memory".to_owned()
    }

    fn over_read(&self, _: bool) -> &'static str {
        "not found: there is room for what it makes"
    }

    fn form(&self) -> Form {
        Form::InMemory(0)
    }

    fn placed_bytes_max(&self, request: usize) -> usize {
        // Two inputs, and a result as long as one.
        request.saturating_mul(2)
    }

    fn bind(&self, binding: Binding<'_>, store: &mut Store<Host>, instance: &Instance) -> Result<Box<dyn Call>> {
        let place = binding.place.context("inputs are in memory")?;
        let function = match self.export {
            "LLVMFuzzerCustomMutator" => Function::Mutator(instance.get_typed_func(store, self.export)?),
            _ => Function::CrossOver(instance.get_typed_func(store, self.export)?),
        };
        Ok(Box::new(CustomCall { function, place, written: Written::Nothing }))
    }
}

enum Function {
    /// `(data, size, max_size, seed) -> size`.
    Mutator(TypedFunc<(u32, u32, u32, u32), u32>),
    /// `(data1, size1, data2, size2, out, max_out_size, seed) -> size`.
    CrossOver(TypedFunc<CrossOverParams, u32>),
}

type CrossOverParams = (u32, u32, u32, u32, u32, u32, u32);

struct CustomCall {
    function: Function,
    place: Place,
    written: Written,
}

/// The last result.
enum Written {
    Nothing,
    InMemory(Range<usize>),
    /// What was inside of an input.
    Inner(Vec<u8>),
}

impl Call for CustomCall {
    fn run(&mut self, store: &mut Store<Host>, input: &[u8], enter: &dyn Fn()) -> wasmtime::Result<i32> {
        let Self { function, place, written } = self;
        store.data_mut().wasi.reset(&[]);
        *written = Written::Nothing;
        let (numbers, bytes) = input.split_at_checked(4 * NUMBERS).unwrap_or_default();
        let number = |at: usize| numbers[4 * at..].first_chunk().map_or(0, |&bytes| u32::from_le_bytes(bytes));
        let numbers: [u32; NUMBERS] = std::array::from_fn(|at| if numbers.is_empty() { 0 } else { number(at) });
        let [len_max, seed, first, inner] = numbers;
        let first = bytes.len().min(first as usize);
        let host = store.data_mut();
        host.mutations = u64::from(seed) << CALLS_BITS;
        host.inner = match inner {
            OPEN => Inner::Noted(None),
            REPLACE => Inner::Replaced(Some(bytes[first..].to_vec())),
            _ => Inner::Mutated,
        };
        // Whatever is written too far meets the closed page.
        let out = place.start(len_max as usize);
        let word = |value: usize| u32::try_from(value).map_err(|_| wasmtime::Trap::MemoryOutOfBounds);
        let made = match function {
            Function::Mutator(function) => {
                place.put_at(out, &bytes[..first]);
                enter();
                function.call(&mut *store, (word(out)?, word(first)?, len_max, seed))?
            }
            Function::CrossOver(function) => {
                let start = out - bytes.len();
                place.put_at(start, bytes);
                let (a, b, second) = (word(start)?, word(start + first)?, word(bytes.len() - first)?);
                enter();
                function.call(&mut *store, (a, word(first)?, b, second, word(out)?, len_max, seed))?
            }
        };
        *written = match std::mem::replace(&mut store.data_mut().inner, Inner::Mutated) {
            Inner::Noted(inner) => inner.map_or(Written::Nothing, Written::Inner),
            // What asked for nothing to be changed has not made what was wanted.
            Inner::Replaced(Some(_)) => Written::Nothing,
            Inner::Mutated | Inner::Replaced(None) => Written::InMemory(out..out + made.min(len_max) as usize),
        };
        Ok(0)
    }

    fn written(&self) -> Option<Vec<u8>> {
        match &self.written {
            Written::Nothing => None,
            Written::InMemory(range) if range.is_empty() => Some(Vec::new()),
            Written::InMemory(range) => Some(self.place.bytes(range.clone()).to_vec()),
            Written::Inner(bytes) => Some(bytes.clone()),
        }
    }
}
