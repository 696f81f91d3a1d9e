//! A module as conventions see it: its functions by name, and its JavaScript.

use crate::sandbox::conventions::glue::Glue;
use crate::sandbox::source::interface::Interface;
use std::collections::{BTreeMap, BTreeSet};
use wasmparser::FuncType;

/// Functions behind so many are not looked at.
const FUNCTIONS_MAX: usize = 10_000;

/// Nor are those with longer names, in bytes: nobody types them.
const NAME_BYTES_MAX: usize = 500;

/// A module as conventions see it.
pub(super) struct Library<'i> {
    pub(super) interface: &'i Interface,
    pub(super) glue: Glue<'i>,
    /// In the module's order.
    functions: Vec<(&'i str, &'i FuncType)>,
    by_name: BTreeMap<&'i str, &'i FuncType>,
    /// Classes of wasm-bindgen.
    classes: BTreeSet<&'i str>,
}

/// Whether a name can be typed in a recipe, in quotes or not.
fn is_typed(name: &str) -> bool {
    name.len() <= NAME_BYTES_MAX && !name.contains(|c: char| c.is_control() || c == '`')
}

impl<'i> Library<'i> {
    pub(super) fn of(interface: &'i Interface, glue: &'i str) -> Self {
        let functions: Vec<_> = interface.functions().filter(|(name, _)| is_typed(name)).take(FUNCTIONS_MAX).collect();
        let by_name: BTreeMap<_, _> = functions.iter().copied().collect();
        let classes = by_name.keys().filter_map(|name| name.strip_prefix("__wbg_")?.strip_suffix("_free"));
        Self { interface, glue: Glue::of(glue), classes: classes.collect(), functions, by_name }
    }

    /// Exported functions.
    pub(super) fn functions(&self) -> impl Iterator<Item = (&'i str, &'i FuncType)> {
        self.functions.iter().copied()
    }

    pub(super) fn function(&self, name: &str) -> Option<&'i FuncType> {
        self.by_name.get(name).copied()
    }

    /// The class that a function is a method of, if its name says so.
    pub(super) fn class(&self, function: &str) -> Option<&'i str> {
        let prefixes = function.rmatch_indices('_').map(|(at, _)| &function[..at]);
        prefixes.filter_map(|prefix| self.classes.get(prefix)).next().copied()
    }
}
