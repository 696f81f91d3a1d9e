//! Components as targets: each is linked to one core module, and one of its functions is called as the canonical ABI
//! says.
//!
//! What a function is given: a `list<u8>` is the input as it is, a `string` is the input as text (`text`); one without
//! parameters has it on standard input. Memory for a parameter comes from the component's own `realloc`.
//! Results are looked at (`component_result`), and `post-return` is called with them.

use crate::sandbox::entry::call::{Binding, Call};
use crate::sandbox::entry::component_parameter::Parameter;
use crate::sandbox::entry::component_result;
use crate::sandbox::entry::file_args::FileArgs;
use crate::sandbox::entry::text::as_text;
use crate::sandbox::entry::way::Way;
use crate::sandbox::imports::host::Host;
use crate::sandbox::memory::Region;
use crate::sandbox::source::Component;
use crate::sandbox::source::interface::Interface;
use crate::sandbox::source::words::Shortened;
use crate::sandbox::wasi::Exit;
use crate::settings::{Allocator, EntryArgs, Settings};
use anyhow::{Context, Result, bail, ensure};
use fuzzbox_instrument::{ComponentFunction, ComponentLift, Injected, Takes, ValueType};
use std::borrow::Cow;
use std::sync::Arc;
use wasmparser::{FuncType, ValType};
use wasmtime::{Func, Instance, Store, TypedFunc, ValRaw};

/// More functions than this are not listed in an error.
const LISTED_MAX: usize = 20;

impl Component {
    /// Chooses the entry: what `settings` name, else the only function over a list of bytes or a string, else the only
    /// command.
    ///
    /// # Errors
    ///
    /// If there is none or there are several, with their types; or if it can't be given its input.
    pub(super) fn choose(&self, interface: &Interface, settings: &Settings) -> Result<Lifted> {
        ensure!(
            settings.entry_args == EntryArgs::Auto,
            "a component's function is given what its type says, not what --entry-args says"
        );
        let function = match &settings.entry {
            Some(name) => self.named(name)?,
            None => self.only()?,
        };
        let shown = shown(function);
        let lift = match &function.lift {
            Ok(lift) => lift,
            Err(why) => bail!("`{shown}` can't be fuzzed: it {why}"),
        };
        ensure!(
            function.takes != Takes::Other,
            "`{shown}` can't be fuzzed: it takes other than one list<u8> or string\n{}",
            self.listed()
        );
        ensure!(
            FileArgs::of(&settings.args).paths.is_empty(),
            "`@@` in --arg stands for a file with the input, and components have no files"
        );
        let entry = Lifted { name: function.name.clone(), takes: function.takes, lift: lift.clone() };
        ensure!(
            !(entry.is_program() && settings.warm_up),
            "a command can't be warmed up: it runs the whole program, which is done then (--warm-up)"
        );
        check_types(interface, lift, function.takes)
            .with_context(|| format!("`{}` can't be fuzzed", Shortened(&function.name)))?;
        Ok(entry)
    }

    /// The function that is called `name`, the version of its interface left out or not.
    fn named(&self, name: &str) -> Result<&ComponentFunction> {
        if let Some(function) = self.functions.iter().find(|function| function.name == name) {
            return Ok(function);
        }
        let mut same = self.functions.iter().filter(|function| without_version(&function.name) == name);
        match (same.next(), same.next()) {
            (Some(function), None) => Ok(function),
            (Some(_), Some(_)) => {
                bail!("the component exports several versions of `{}` (--entry)\n{}", Shortened(name), self.listed())
            }
            (None, _) => bail!("the component exports no function `{}` (--entry)\n{}", Shortened(name), self.listed()),
        }
    }

    /// What is exported, for people: one line for each function.
    pub(crate) fn exports(&self) -> Vec<String> {
        let with_why = |function: &ComponentFunction| {
            let why = function.lift.as_ref().err().map_or_else(String::new, |why| format!(" (it {why})"));
            format!("{}{why}", shown(function))
        };
        self.functions.iter().map(with_why).collect()
    }

    fn only(&self) -> Result<&ComponentFunction> {
        let fit = |takes| move |function: &&ComponentFunction| function.lift.is_ok() && takes == function.takes;
        let functions = &self.functions;
        let mut found: Vec<_> = functions.iter().filter(|f| fit(Takes::Bytes)(f) || fit(Takes::Text)(f)).collect();
        if found.is_empty() {
            found = functions.iter().filter(|f| fit(Takes::Nothing)(f) && is_command(&f.name)).collect();
        }
        match found[..] {
            [function] => Ok(function),
            [] => bail!(
                "the component has no entry that can be fuzzed\n{}\n\
                 a target exports a function that takes one list<u8> or string, or it is a command (wasi:cli/run)",
                self.listed()
            ),
            _ => bail!(
                "the component has several functions that can be fuzzed\n{}\nhelp: name one with --entry",
                self.listed()
            ),
        }
    }

    /// All functions in one line, shortened.
    fn listed(&self) -> String {
        let mut shown = self.exports();
        shown.truncate(LISTED_MAX);
        match self.functions.len() {
            0 => "it exports no functions".to_owned(),
            n if n > LISTED_MAX => format!("its functions are {}; and {} more", shown.join("; "), n - LISTED_MAX),
            _ => format!("its functions are {}", shown.join("; ")),
        }
    }
}

/// Name and type of a function.
fn shown(function: &ComponentFunction) -> String {
    format!("{}: {}", Shortened(&function.name), Shortened(&function.ty))
}

/// Whether a function runs a whole program: that of the interface `wasi:cli/run` 0.2.
fn is_command(name: &str) -> bool {
    name.starts_with("wasi:cli/run@0.2.") && name.ends_with("#run")
}

/// `ns:package/interface#f` of `ns:package/interface@1.2.3#f`.
fn without_version(name: &str) -> Cow<'_, str> {
    match (name.find('@'), name.find('#')) {
        (Some(at), Some(hash)) if at < hash => format!("{}{}", &name[..at], &name[hash..]).into(),
        _ => name.into(),
    }
}

/// Refuses a function whose pointers have 64 bits, or that can't be called for another reason. `interface` is the
/// linked module's.
fn check_types(interface: &Interface, lift: &ComponentLift, takes: Takes) -> Result<()> {
    let function = |name: &str| interface.function(name).context("it has no core function");
    let is =
        |ty: &FuncType, params: usize| ty.params().len() == params && ty.params().iter().all(|&ty| ty == ValType::I32);
    let entry = function(&lift.function)?;
    ensure!(entry.results().len() <= 1, "its core function has several results");
    if takes == Takes::Nothing {
        ensure!(is(entry, 0), "its core function takes parameters");
        return check_post_return(lift, entry, function);
    }
    ensure!(is(entry, 2), "its core function takes other than an address and a length of 32 bits");
    let (Some(realloc), Some(_)) = (&lift.realloc, &lift.memory) else {
        bail!("nobody allocates its parameter");
    };
    let realloc = function(realloc)?;
    let fits = is(realloc, 4) && realloc.results() == [ValType::I32];
    ensure!(fits, "what allocates its parameter has another type than the canonical ABI's for 32-bit memories");
    check_post_return(lift, entry, function)
}

fn check_post_return<'a>(
    lift: &ComponentLift,
    entry: &FuncType,
    function: impl Fn(&str) -> Result<&'a FuncType>,
) -> Result<()> {
    let Some(name) = &lift.post_return else { return Ok(()) };
    let post_return = function(name)?;
    ensure!(
        post_return.params() == entry.results() && post_return.results().is_empty(),
        "its post-return function has another type than its results"
    );
    Ok(())
}

/// A function of a component: the input is its parameter, or standard input if it has none.
#[derive(Debug)]
pub(super) struct Lifted {
    /// `name`, or `interface#name`.
    name: String,
    takes: Takes,
    /// The core functions that a call of it is.
    lift: ComponentLift,
}

impl Way for Lifted {
    fn export(&self) -> &str {
        &self.lift.function
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn what(&self) -> String {
        match self.takes {
            Takes::Bytes => "(list<u8>), a component's function over the input's bytes",
            Takes::Text => "(string), a component's function over the input as text",
            Takes::Nothing | Takes::Other => "(), a component's function that reads stdin",
        }
        .to_owned()
    }

    fn place(&self, _: bool) -> String {
        match self.takes {
            Takes::Bytes => "a list that the component's allocator has room for",
            Takes::Text => "a string that the component's allocator has room for; bytes that are no UTF-8 are Latin-1",
            Takes::Nothing | Takes::Other => "standard input",
        }
        .to_owned()
    }

    fn over_read(&self, _: bool) -> &'static str {
        "not found: behind the input is other memory of the component"
    }

    fn is_program(&self) -> bool {
        is_command(&self.name)
    }

    fn has_heap(&self, _: &Interface, _: Allocator) -> bool {
        self.lift.realloc.is_some()
    }

    /// A block is allocated, and but for a byte given back.
    fn grow_heap(
        &self,
        store: &mut Store<Host>,
        instance: &Instance,
        _: (Allocator, &Injected),
        bytes: u32,
    ) -> Option<bool> {
        let Some(realloc) = &self.lift.realloc else { return Some(false) };
        let realloc: TypedFunc<(u32, u32, u32, u32), u32> = instance.get_typed_func(&mut *store, realloc).ok()?;
        let block = realloc.call(&mut *store, (0, 0, 1, bytes)).ok()?;
        realloc.call(&mut *store, (block, bytes, 1, 1)).ok().map(|_| true)
    }

    fn bind(&self, binding: Binding<'_>, store: &mut Store<Host>, instance: &Instance) -> Result<Box<dyn Call>> {
        let Self { name, takes, lift } = self;
        let mut function = |name: &str| instance.get_func(&mut *store, name).context("the function was found before");
        let entry = function(&lift.function)?;
        let post_return = lift.post_return.as_deref().map(&mut function).transpose()?;
        let memory = lift
            .memory
            .as_deref()
            .map(|memory| binding.memories.exported(&mut *store, instance, memory))
            .transpose()?;
        let parameter = match (&lift.realloc, &memory) {
            (Some(realloc), Some(memory)) if *takes != Takes::Nothing => {
                let realloc = instance.get_typed_func(&mut *store, realloc)?;
                Some(Parameter { realloc, region: memory.clone() })
            }
            _ => None,
        };
        let (is_command, result) = (is_command(name), lift.result.clone());
        let (takes, text) = (*takes, String::new());
        let call = ComponentCall { takes, is_command, function: entry, parameter, post_return, result, memory, text };
        Ok(Box::new(call))
    }
}

/// The function of a component, bound to an instance.
struct ComponentCall {
    takes: Takes,
    is_command: bool,
    function: Func,
    parameter: Option<Parameter>,
    post_return: Option<Func>,
    /// What it gives, if it gives something, and where that is if it is more than a number.
    result: Option<Arc<ValueType>>,
    memory: Option<Arc<Region>>,
    /// The input as text, if it is none as it is.
    text: String,
}

impl Call for ComponentCall {
    fn run(&mut self, store: &mut Store<Host>, input: &[u8], enter: &dyn Fn()) -> wasmtime::Result<i32> {
        let stdin = if self.takes == Takes::Nothing { input } else { &[] };
        store.data_mut().wasi.reset(stdin);
        enter();
        let mut values = [ValRaw::u64(0), ValRaw::u64(0)];
        if let Some(parameter) = &self.parameter {
            let bytes = match self.takes {
                Takes::Text => as_text(input, &mut self.text).as_bytes(),
                _ => input,
            };
            let at = parameter.put(store, bytes)?;
            values = [ValRaw::u32(at), ValRaw::u32(bytes.len() as u32)];
        }
        // SAFETY: The types were checked when the entry was chosen: two numbers of 32 bits, or nothing, and at most one
        // result, for which there is room.
        unsafe { self.function.call_unchecked(&mut *store, &raw mut values)? };
        let result = values[0];
        if let Some(ty) = &self.result {
            component_result::check(ty, result.get_u32(), self.memory.as_deref(), &mut store.data_mut().wasi)?;
        }
        if let Some(post_return) = self.post_return {
            // SAFETY: It takes what the function returned, and returns nothing.
            unsafe { post_return.call_unchecked(&mut *store, &raw mut values)? };
        }
        if self.is_command && result.get_i32() != 0 {
            return Err(Exit(1).into());
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_can_be_left_out() {
        assert_eq!(without_version("a:b/c@0.1.0#f"), "a:b/c#f");
        assert_eq!(without_version("a:b/c#f"), "a:b/c#f");
        assert_eq!(without_version("f"), "f");
        assert!(is_command("wasi:cli/run@0.2.6#run") && !is_command("wasi:cli/run@0.3.0#run") && !is_command("run"));
    }
}
