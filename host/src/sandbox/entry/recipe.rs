//! Call recipes: the function that one became is given the input as any function over bytes is, or its text.

use crate::sandbox::entry::call::{Binding, Call, Place, Raw, Returned};
use crate::sandbox::entry::file_args::FileArgs;
use crate::sandbox::entry::parameter::Parameter;
use crate::sandbox::entry::text::{GROWTH_MAX, as_text, as_utf16};
use crate::sandbox::entry::way::{Form, Way};
use crate::sandbox::imports::host::Host;
use crate::sandbox::source::Recipe;
use crate::sandbox::source::interface::Interface;
use crate::settings::{EntryArgs, Settings};
use anyhow::{Context, Result, ensure};
use fuzzbox_instrument::recipe::{EXPORT, Encoding};
use wasmparser::ValType;
use wasmtime::{Instance, Store};

/// The function of a call recipe.
#[derive(Debug)]
pub(super) struct RecipeEntry {
    /// The recipe in a line.
    text: String,
    subject: Option<String>,
    /// What is drawn, and then the pair [`Parameter::Pointer`], [`Parameter::Length`] if it takes the input.
    parameters: Box<[Parameter]>,
    takes: Option<Encoding>,
    /// Pointers and lengths have 64 bits (memory64).
    wide: bool,
    /// The recipe names [`FILE`], and has the input nowhere else.
    names_file: bool,
}

/// The file with the input, where a recipe names it.
const FILE: &str = "/input";

impl RecipeEntry {
    /// `interface` is that of the module with the recipe's function.
    pub(super) fn new(recipe: &Recipe, interface: &Interface) -> Result<Self> {
        let ty = interface.function(EXPORT).context("the recipe's function was exported")?;
        let addresses = interface.addresses();
        let draws = ty.params().len() - if recipe.takes.is_some() { 2 } else { 0 };
        let args = match recipe.takes {
            Some(_) => EntryArgs::Bytes(Some(u16::try_from(draws)?)),
            None => EntryArgs::Numbers,
        };
        let names_file = ty.params().is_empty() && recipe.text.contains(FILE);
        let lines = recipe.text.lines().map(str::trim).filter(|line| !line.is_empty());
        Ok(Self {
            text: lines.collect::<Vec<_>>().join(" "),
            subject: recipe.subject.clone(),
            parameters: Parameter::of(ty, addresses, args).context("the recipe's function can't be called")?,
            takes: recipe.takes,
            wide: matches!(addresses, Some(ValType::I64)),
            names_file,
        })
    }

    /// A recipe that has neither the input's address nor numbers of it: whatever it calls reads standard input.
    fn is_on_stdin(&self) -> bool {
        self.parameters.is_empty()
    }
}

impl Way for RecipeEntry {
    fn export(&self) -> &str {
        EXPORT
    }

    fn name(&self) -> &str {
        self.subject.as_deref().unwrap_or(EXPORT)
    }

    fn what(&self) -> String {
        format!(", called by the recipe `{}`", self.text)
    }

    fn place(&self, closed_page: bool) -> String {
        let numbers = Parameter::number_bytes(&self.parameters);
        let first = match numbers {
            0 => String::new(),
            _ => format!("numbers, from its first {numbers} bytes; the others "),
        };
        if self.is_on_stdin() {
            return if self.names_file {
                format!("standard input, and the file {FILE}")
            } else {
                "standard input".into()
            };
        }
        let page = if closed_page { "before an inaccessible page" } else { "at the end of memory" };
        match self.takes {
            None => format!("numbers, from its first {numbers} bytes"),
            Some(Encoding::Bytes) => format!("{first}in memory, {page}, for the recipe to take"),
            Some(Encoding::Utf8) => {
                format!("{first}as UTF-8 in memory, {page}, for the recipe to take; bytes that are none are Latin-1")
            }
            Some(Encoding::Utf16) => format!(
                "{first}as UTF-16 in memory, {page}, for the recipe to take; bytes that are no UTF-8 are Latin-1"
            ),
        }
    }

    fn over_read(&self, closed_page: bool) -> &'static str {
        match closed_page {
            _ if self.is_on_stdin() => "impossible: the input is not in memory",
            _ if self.takes.is_none() => "impossible: numbers have no end",
            true => "found where the recipe gives the input's own address; not where it makes a copy",
            false => "not found: faults are not handled here",
        }
    }

    fn form(&self) -> Form {
        let numbers = Parameter::number_bytes(&self.parameters);
        match self.takes {
            Some(_) => Form::InMemory(numbers),
            None if self.is_on_stdin() => Form::Bytes,
            None => Form::Numbers(numbers),
        }
    }

    fn check(&self, settings: &Settings) -> Result<()> {
        ensure!(
            FileArgs::of(&settings.args).paths.is_empty(),
            "`@@` in --arg stands for a file with the input, but a call recipe takes it from memory"
        );
        Ok(())
    }

    fn placed_bytes_max(&self, input: usize) -> usize {
        match self.takes {
            Some(Encoding::Utf8 | Encoding::Utf16) => input.saturating_mul(GROWTH_MAX),
            Some(Encoding::Bytes) | None => input,
        }
    }

    fn bind(&self, binding: Binding<'_>, store: &mut Store<Host>, instance: &Instance) -> Result<Box<dyn Call>> {
        Ok(Box::new(RecipeCall {
            function: Raw::of_export(store, instance, EXPORT)?,
            parameters: self.parameters.clone(),
            place: binding.place,
            takes: self.takes,
            wide: self.wide,
            text: String::new(),
            utf16: Vec::new(),
            names_file: self.names_file,
        }))
    }
}

/// The function of a recipe, bound to an instance.
struct RecipeCall {
    function: Raw,
    parameters: Box<[Parameter]>,
    place: Option<Place>,
    takes: Option<Encoding>,
    wide: bool,
    /// The input as text, if it is none as it is.
    text: String,
    utf16: Vec<u8>,
    names_file: bool,
}

impl Call for RecipeCall {
    fn run(&mut self, store: &mut Store<Host>, input: &[u8], enter: &dyn Fn()) -> wasmtime::Result<i32> {
        let Self { function, parameters, place, takes, wide, text, utf16, names_file } = self;
        let wasi = &mut store.data_mut().wasi;
        wasi.reset(if parameters.is_empty() { input } else { &[] });
        if *names_file {
            wasi.set_file(FILE, input);
        }
        let rest = Parameter::decode_numbers(parameters, input, &mut function.values);
        let bytes = match takes {
            Some(Encoding::Utf8) => as_text(rest, text).as_bytes(),
            Some(Encoding::Utf16) => {
                utf16.clear();
                as_utf16(as_text(rest, text), utf16);
                utf16
            }
            Some(Encoding::Bytes) | None => rest,
        };
        if let Some(place) = place {
            let start = place.put(bytes);
            Parameter::set_place(parameters, &mut function.values, (start, bytes.len()), *wide);
        }
        enter();
        function.call(store)?;
        Ok(function.result())
    }

    fn returned(&self) -> Returned<'_> {
        self.function.returned()
    }
}
