//! Functions with parameters: bytes of the input in linear memory, numbers from its first bytes, or both.

use crate::sandbox::entry::Entry;
use crate::sandbox::entry::call::{Binding, Call, Place, Raw, Returned};
use crate::sandbox::entry::file_args::FileArgs;
use crate::sandbox::entry::parameter::Parameter;
use crate::sandbox::entry::way::{Export, Form, Way, shown};
use crate::sandbox::imports::host::Host;
use crate::sandbox::source::interface::Interface;
use crate::sandbox::source::words::{Shortened, list, signature};
use crate::settings::Settings;
use anyhow::{Context, Result, ensure};
use wasmparser::{FuncType, ValType};
use wasmtime::{Func, Instance, Store, TypedFunc, ValRaw};

/// libFuzzer's entry point.
pub(super) const LIBFUZZER: &str = "LLVMFuzzerTestOneInput";

/// An export with parameters.
pub(super) fn entry(&Export { name, ty, interface, settings }: &Export<'_>) -> Result<Option<Entry>> {
    let function = || Function::new(name, ty, interface, settings).map(Entry::new);
    (!ty.params().is_empty()).then(function).transpose()
}

/// A function with parameters.
#[derive(Debug)]
pub(super) struct Function {
    export: String,
    /// What each parameter is given: the pair [`Parameter::Pointer`], [`Parameter::Length`] at most once.
    parameters: Box<[Parameter]>,
    /// Pointers and lengths have 64 bits (memory64).
    wide: bool,
}

impl Function {
    /// A function that `settings` name, or a harness of libFuzzer's.
    pub(super) fn new(name: &str, ty: &FuncType, interface: &Interface, settings: &Settings) -> Result<Self> {
        let addresses = interface.addresses();
        let parameters = Parameter::of(ty, addresses, settings.entry_args)
            .with_context(|| format!("export `{}{}` can't be an entry", Shortened(name), signature(ty)))?;
        let wide = matches!(addresses, Some(ValType::I64));
        let function = Self { export: name.to_owned(), parameters, wide };
        if name == LIBFUZZER && settings.entry.is_none() {
            ensure!(addresses.is_some(), "export `{name}` takes a pointer, but the module has no memory");
            let fits = function.rejects() && matches!(ty.results(), [] | [ValType::I32]);
            ensure!(
                fits,
                "export `{name}` has the unusual type {}\nhelp: --entry {name} calls it nevertheless",
                signature(ty)
            );
        }
        Ok(function)
    }

    fn takes_bytes(&self) -> bool {
        self.parameters.contains(&Parameter::Pointer)
    }

    /// Whether it takes an address and a length and nothing else.
    fn is_harness(&self) -> bool {
        matches!(*self.parameters, [Parameter::Pointer, Parameter::Length])
    }

    /// Whether a result of -1 means "do not keep this input", as it does for libFuzzer.
    fn rejects(&self) -> bool {
        self.export == LIBFUZZER && self.is_harness()
    }
}

impl Way for Function {
    fn export(&self) -> &str {
        &self.export
    }

    fn what(&self) -> String {
        let names: Vec<_> = self.parameters.iter().map(|parameter| parameter.name()).collect();
        let what = match () {
            () if self.rejects() => "a libFuzzer harness",
            () if !self.takes_bytes() => "a function over numbers from the input",
            () if self.parameters.len() == 2 => "a function over the input's bytes",
            () => "a function over numbers from the input and the bytes after them",
        };
        format!("({}), {what}", list(&names))
    }

    fn place(&self, closed_page: bool) -> String {
        let numbers = Parameter::number_bytes(&self.parameters);
        let place = match closed_page {
            _ if !self.takes_bytes() => return format!("numbers, from its first {numbers} bytes"),
            true => "in memory, before an inaccessible page",
            false => "at the end of memory",
        };
        match numbers {
            0 => place.to_owned(),
            _ => format!("numbers, from its first {numbers} bytes; the others {place}"),
        }
    }

    fn over_read(&self, closed_page: bool) -> &'static str {
        match closed_page {
            _ if !self.takes_bytes() => "impossible: numbers have no end",
            true => "found: the page behind the input is inaccessible",
            false => "not found: faults are not handled here",
        }
    }

    fn form(&self) -> Form {
        let numbers = Parameter::number_bytes(&self.parameters);
        if self.takes_bytes() { Form::InMemory(numbers) } else { Form::Numbers(numbers) }
    }

    fn check(&self, settings: &Settings) -> Result<()> {
        ensure!(
            FileArgs::of(&settings.args).paths.is_empty(),
            "`@@` in --arg stands for a file with the input, but {} is given its input otherwise",
            shown(self)
        );
        Ok(())
    }

    fn harness(&self) -> Option<(&str, bool)> {
        self.is_harness().then_some((&self.export, self.wide))
    }

    fn bind(&self, binding: Binding<'_>, store: &mut Store<Host>, instance: &Instance) -> Result<Box<dyn Call>> {
        let function = instance.get_func(&mut *store, &self.export).context("the entry was found before")?;
        let place = binding.place;
        Ok(match place {
            Some(place) if self.is_harness() && Harness::fits(store, function) => {
                let returns = function.ty(&*store).results().len() == 1;
                let function = Harness::bind(store, function, self.wide)?;
                let returned = [ValRaw::i32(0)];
                Box::new(HarnessCall { function, place, rejects: self.rejects(), returns, returned })
            }
            place => Box::new(FunctionCall {
                function: Raw::new(store, function),
                parameters: self.parameters.clone(),
                place,
                wide: self.wide,
            }),
        })
    }
}

/// `(ptr, len)` with at most one result, an i32, bound to an instance.
struct HarnessCall {
    function: Harness,
    place: Place,
    rejects: bool,
    returns: bool,
    /// What the last call returned, if it did.
    returned: [ValRaw; 1],
}

impl Call for HarnessCall {
    fn run(&mut self, store: &mut Store<Host>, input: &[u8], enter: &dyn Fn()) -> wasmtime::Result<i32> {
        store.data_mut().wasi.reset(&[]);
        let start = self.place.put(input);
        enter();
        let result = self.function.call(store, start, input.len())?;
        self.returned = [ValRaw::i32(result)];
        Ok(if self.rejects { result } else { 0 })
    }

    fn returned(&self) -> Returned<'_> {
        if self.returns { Returned::i32(&self.returned) } else { Returned::default() }
    }
}

/// Any other function with parameters, bound to an instance.
struct FunctionCall {
    function: Raw,
    parameters: Box<[Parameter]>,
    place: Option<Place>,
    wide: bool,
}

impl Call for FunctionCall {
    fn run(&mut self, store: &mut Store<Host>, input: &[u8], enter: &dyn Fn()) -> wasmtime::Result<i32> {
        let Self { function, parameters, place, wide } = self;
        store.data_mut().wasi.reset(&[]);
        let start = |len| place.as_ref().map_or(0, |place| place.start(len));
        let bytes = Parameter::decode(parameters, input, &mut function.values, start, *wide);
        if let Some(place) = place {
            place.put(bytes);
        }
        enter();
        function.call(store)
    }

    fn returned(&self) -> Returned<'_> {
        self.function.returned()
    }
}

pub(crate) enum Harness {
    Narrow(TypedFunc<(i32, i32), i32>),
    NarrowVoid(TypedFunc<(i32, i32), ()>),
    Wide(TypedFunc<(i64, i64), i32>),
    WideVoid(TypedFunc<(i64, i64), ()>),
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
