//! Which export is the entry, and in which way it takes its input.

use crate::sandbox::entry::command::COMMAND;
use crate::sandbox::entry::function::LIBFUZZER;
use crate::sandbox::entry::misspelled::{exports, not_exported};
use crate::sandbox::entry::property::{self, Property};
use crate::sandbox::entry::recipe::RecipeEntry;
use crate::sandbox::entry::way::Export;
use crate::sandbox::entry::{Entry, WAYS};
use crate::sandbox::source::interface::Interface;
use crate::sandbox::source::words::signature;
use crate::sandbox::source::{Component, Recipe};
use crate::settings::Settings;
use anyhow::{Result, bail, ensure};
use wasmparser::FuncType;

impl Entry {
    /// Chooses the entry of a module: what `settings` name, else its only property, else a libFuzzer harness, else a
    /// WASI command.
    ///
    /// # Errors
    ///
    /// If there is none, with the list of exports and what would make the module a target; or if it can't be given its
    /// input in the way that `settings` ask for.
    pub(crate) fn choose(interface: &Interface, settings: &Settings) -> Result<Self> {
        let entry = if let Some(name) = &settings.entry {
            let Some(ty) = interface.function(name) else {
                return Err(not_exported(name, interface, false));
            };
            Self::of_type(name, ty, interface, settings)?
        } else if let Some(export) = property::only(interface)? {
            Self::new(Property { export })
        } else {
            let function = |name| Some((name, interface.function(name)?));
            let Some((name, ty)) = [LIBFUZZER, COMMAND].into_iter().find_map(function) else {
                bail!(
                    "the module has no entry that can be fuzzed\n{}\n\
                     a target exports one of\n  \
                     void fbx_NAME(void);   (any language; it draws what it needs)\n  \
                     int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);   (any language; the input is in memory)\n  \
                     _start, as every WASI command does                             (the input is on stdin)\n\
                     or a function over numbers or (pointer, length), to be named by --entry",
                    exports(interface)
                );
            };
            let entry = Self::of_type(name, ty, interface, settings)?;
            let is_usual = ty.params().is_empty() == (name == COMMAND);
            ensure!(is_usual, "export `{name}` has the unusual type {}", signature(ty));
            entry
        };
        entry.way.check(settings)?;
        Ok(entry)
    }

    /// Chooses the entry of a component: what `settings` name, else the only function over a list of bytes or a string,
    /// else the only command. `interface` is the linked module's.
    ///
    /// # Errors
    ///
    /// If there is none or there are several, with their types; or if it can't be given its input.
    pub(crate) fn of_component(component: &Component, interface: &Interface, settings: &Settings) -> Result<Self> {
        Ok(Self::new(component.choose(interface, settings)?))
    }

    /// The function of a call recipe. `interface` is that of the module that it was put into.
    ///
    /// # Errors
    ///
    /// If settings ask for what it can't have.
    pub(crate) fn of_recipe(recipe: &Recipe, interface: &Interface, settings: &Settings) -> Result<Self> {
        ensure!(settings.entry.is_none(), "--call says what is called: there is no --entry beside it");
        let entry = Self::new(RecipeEntry::new(recipe, interface)?);
        entry.way.check(settings)?;
        Ok(entry)
    }

    /// An export by its name and type.
    fn of_type(name: &str, ty: &FuncType, interface: &Interface, settings: &Settings) -> Result<Self> {
        let export = Export { name, ty, interface, settings };
        let entry = WAYS.iter().find_map(|way| way(&export).transpose());
        entry.expect("the last way takes all exports")
    }
}
