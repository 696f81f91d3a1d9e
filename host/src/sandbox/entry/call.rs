//! The entry bound to an instance: how it is given an input, and the call itself.

use crate::sandbox::entry::Entry;
use crate::sandbox::entry::binding::Binding;
use crate::sandbox::entry::check::CheckCall;
use crate::sandbox::entry::component::ComponentCall;
use crate::sandbox::entry::parameter::Parameter;
use crate::sandbox::imports::host::Host;
use crate::sandbox::memory::Region;
use anyhow::{Context, Result};
use std::sync::Arc;
use wasmtime::{Func, Instance, Store, TypedFunc, ValRaw};

/// The entry, bound to an instance.
pub(crate) enum Call {
    /// `(ptr, len)` with at most one result, an i32.
    Harness { function: Harness, place: Place, rejects: bool },
    /// Any other function with parameters.
    Function { function: Raw, parameters: Box<[Parameter]>, place: Option<Place>, wide: bool },
    /// A function that draws its input.
    Property { function: Raw },
    /// The check of a value.
    Check(CheckCall),
    /// A function without parameters.
    Command { function: Raw, files: Vec<String> },
    /// A function of a component.
    Component(ComponentCall),
}

/// Where inputs lie in linear memory.
pub(crate) struct Place {
    region: Arc<Region>,
    /// The offset at which each input ends.
    end: usize,
}

pub(crate) enum Harness {
    Narrow(TypedFunc<(i32, i32), i32>),
    NarrowVoid(TypedFunc<(i32, i32), ()>),
    Wide(TypedFunc<(i64, i64), i32>),
    WideVoid(TypedFunc<(i64, i64), ()>),
}

/// A function of any type whose parameters are numbers. Its results are of no interest.
pub(crate) struct Raw {
    function: Func,
    /// Parameters, of which the first call's results take the place.
    values: Box<[ValRaw]>,
}

impl Call {
    /// Binds the entry; `place` is where inputs lie, for those that take bytes.
    pub(crate) fn bind(
        binding: &Binding<'_>,
        store: &mut Store<Host>,
        instance: &Instance,
        place: Option<Place>,
    ) -> Result<Self> {
        let export = binding.entry.export();
        let function = instance.get_func(&mut *store, export).context("the entry was found before")?;
        Ok(match binding.entry {
            Entry::Component { .. } => Self::Component(ComponentCall::bind(binding, store, instance)?),
            Entry::Check { .. } => Self::Check(CheckCall::bind(binding, store, instance)?),
            Entry::Property { .. } => Self::Property { function: Raw::new(store, function) },
            Entry::Command { files, .. } => Self::Command { function: Raw::new(store, function), files: files.clone() },
            Entry::Function { parameters, wide, .. } => match (&**parameters, place) {
                ([Parameter::Pointer, Parameter::Length], Some(place)) if Harness::fits(store, function) => {
                    let function = Harness::bind(store, function, *wide)?;
                    Self::Harness { function, place, rejects: binding.entry.rejects() }
                }
                (_, place) => Self::Function {
                    function: Raw::new(store, function),
                    parameters: parameters.clone(),
                    place,
                    wide: *wide,
                },
            },
        })
    }

    /// Gives the entry an input and calls it, `enter` right before. The result is -1 if the input is not to be kept.
    pub(crate) fn run(&mut self, store: &mut Store<Host>, input: &[u8], enter: impl FnOnce()) -> wasmtime::Result<i32> {
        match self {
            Self::Harness { function, place, rejects } => {
                store.data_mut().wasi.reset(&[]);
                let start = place.put(input);
                enter();
                let result = function.call(store, start, input.len())?;
                Ok(if *rejects { result } else { 0 })
            }
            Self::Function { function, parameters, place, wide } => {
                store.data_mut().wasi.reset(&[]);
                let start = |len| place.as_ref().map_or(0, |place| place.start(len));
                let bytes = Parameter::decode(parameters, input, &mut function.values, start, *wide);
                if let Some(place) = place {
                    place.put(bytes);
                }
                enter();
                function.call(store)
            }
            Self::Property { function } => {
                store.data_mut().wasi.reset(&[]);
                enter();
                function.call(store)
            }
            Self::Check(call) => call.run(store, input, enter).map(|()| 0),
            Self::Command { function, files } => {
                let wasi = &mut store.data_mut().wasi;
                wasi.reset(if files.is_empty() { input } else { &[] });
                for path in files {
                    wasi.set_file(path, input);
                }
                enter();
                function.call(store)
            }
            Self::Component(call) => call.run(store, input, enter),
        }
    }
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
    fn start(&self, len: usize) -> usize {
        self.end - len
    }

    /// Writes an input, and returns where it starts.
    fn put(&self, input: &[u8]) -> usize {
        let start = self.start(input.len());
        // SAFETY: no guest runs.
        unsafe { self.region.write(start, input) };
        start
    }
}

impl Harness {
    /// Whether the results are none, or an i32.
    pub(crate) fn fits(store: &Store<Host>, function: Func) -> bool {
        let ty = function.ty(store);
        ty.results().len() <= 1 && ty.results().all(|result| result.is_i32())
    }

    pub(crate) fn bind(store: &Store<Host>, function: Func, wide: bool) -> Result<Self> {
        let void = function.ty(store).results().len() == 0;
        Ok(match (wide, void) {
            (false, false) => Self::Narrow(function.typed(store)?),
            (false, true) => Self::NarrowVoid(function.typed(store)?),
            (true, false) => Self::Wide(function.typed(store)?),
            (true, true) => Self::WideVoid(function.typed(store)?),
        })
    }

    /// Calls the harness with the input at `start`, which is inside the memory. At the end of 4 GiB is only the empty
    /// input, whose address is 0 then.
    pub(crate) fn call(&self, store: &mut Store<Host>, start: usize, len: usize) -> wasmtime::Result<i32> {
        let narrow = |value: usize| (value as u32).cast_signed();
        let wide = |value: usize| i64::try_from(value).expect("inside a memory");
        match self {
            Self::Narrow(function) => function.call(store, (narrow(start), narrow(len))),
            Self::NarrowVoid(function) => function.call(store, (narrow(start), narrow(len))).map(|()| 0),
            Self::Wide(function) => function.call(store, (wide(start), wide(len))),
            Self::WideVoid(function) => function.call(store, (wide(start), wide(len))).map(|()| 0),
        }
    }
}

impl Raw {
    fn new(store: &Store<Host>, function: Func) -> Self {
        let ty = function.ty(store);
        let values = vec![ValRaw::u32(0); ty.params().len().max(ty.results().len())];
        Self { function, values: values.into() }
    }

    /// Calls with the present values as parameters. Whatever it returns is nothing: 0.
    fn call(&mut self, store: &mut Store<Host>) -> wasmtime::Result<i32> {
        // SAFETY: `values` has room for the parameters and for the results, and whoever fills it does so by the
        // function's own type, all of whose parameters are numbers. Results, which may be references, are never read.
        unsafe { self.function.call_unchecked(store, &raw mut *self.values) }.map(|()| 0)
    }
}
