//! What a target is made from: a module or a component, as it was given.

pub(super) mod allocator;
mod foreign;
pub(super) mod interface;
pub(super) mod words;

use crate::sandbox::source::interface::Interface;
use crate::sandbox::source::words::Shortened;
use crate::text::nearest;
use anyhow::{Context, Result, anyhow, bail};
use fuzzbox_instrument::recipe::{Encoding, RecipeError, link_growth, link_recipe};
use fuzzbox_instrument::{ComponentFunction, ComponentImport};
use std::borrow::Cow;
use std::sync::Arc;

/// What a target is made from.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// As it was given, text already assembled.
    pub(crate) file: Arc<[u8]>,
    /// The module that executes: the file, or what a component is linked to.
    pub(crate) module: Arc<[u8]>,
    pub(crate) component: Option<Arc<Component>>,
    /// What calls the module, if a recipe does: then the module has its function.
    pub(crate) recipe: Option<Arc<Recipe>>,
}

/// A call recipe whose function is in the module.
#[derive(Debug)]
pub(crate) struct Recipe {
    /// As it was typed.
    pub(crate) text: String,
    /// The export that is fuzzed, as far as that can be told.
    pub(crate) subject: Option<String>,
    /// As what it takes the input, if it takes one.
    pub(crate) takes: Option<Encoding>,
}

/// What is to be known about a linked component.
#[derive(Debug)]
pub(crate) struct Component {
    pub(crate) functions: Vec<ComponentFunction>,
    pub(crate) imports: Vec<ComponentImport>,
}

impl Source {
    /// Assembles text, and links a component.
    pub(crate) fn new(bytes: &[u8]) -> Result<Self> {
        let file: Arc<[u8]> = assemble(bytes)?.into();
        if !fuzzbox_instrument::is_component(&file) {
            let source = Self { module: file.clone(), file, component: None, recipe: None };
            return Ok(source);
        }
        let linked =
            fuzzbox_instrument::link_component(&file).context("the component can't be linked to one module")?;
        let component = Component { functions: linked.functions, imports: linked.imports };
        Ok(Self { module: linked.wasm.into(), file, component: Some(Arc::new(component)), recipe: None })
    }

    /// Puts the function of a recipe into the module, if there is one.
    ///
    /// # Errors
    ///
    /// If the recipe is wrong, or does not fit the module, with the place; or if the source is a component.
    pub(crate) fn called_by(self, call: Option<&str>) -> Result<Self> {
        let grows = self.component.is_none() && has_heap_of_host(&self.module);
        let Some(text) = call else {
            // What is no module is for others to say.
            let grown = if grows { link_growth(&self.module).ok() } else { None };
            return Ok(Self { module: grown.map_or_else(|| self.module.clone(), Into::into), ..self });
        };
        if self.component.is_some() {
            bail!("a component's functions say how they are called (--call)\nhelp: name one by --entry");
        }
        let recipe = link_recipe(&self.module, text, grows).map_err(|error| self.with_help(error))?;
        let called = Recipe { text: text.to_owned(), subject: recipe.subject, takes: recipe.takes };
        Ok(Self { module: recipe.wasm.into(), recipe: Some(Arc::new(called)), ..self })
    }

    /// What is wrong with a recipe, and the name that may be meant.
    fn with_help(&self, error: anyhow::Error) -> anyhow::Error {
        let Some(wrong) = error.downcast_ref::<RecipeError>() else { return error };
        let interface = Interface::of(&self.module).unwrap_or_default();
        let exports = interface.functions().map(|(name, _)| name);
        let names = exports.chain(interface.imports.iter().map(|import| &*import.name));
        let near = wrong.unknown.as_deref().and_then(|typed| nearest(typed, names));
        let help = near.map_or_else(String::new, |near| format!("\nhelp: did you mean `{}`?", Shortened(near)));
        anyhow!("the call recipe is wrong in {wrong}{help}")
    }

    /// What a component imports: the module's first imports.
    pub(crate) fn lowered(&self) -> &[ComponentImport] {
        self.component.as_ref().map_or(&[], |component| &component.imports)
    }
}

/// Whether a module asks its host for more memory, as Emscripten's do.
fn has_heap_of_host(wasm: &[u8]) -> bool {
    Interface::of(wasm).is_ok_and(|interface| interface.imports("env", "emscripten_resize_heap"))
}

/// The export that a call recipe is for, by its text alone.
pub fn recipe_subject(call: &str) -> Option<String> {
    // A name that stands for a recipe is the export's, perhaps behind a convention's.
    if !call.contains('(') {
        return call.rsplit(':').next().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    }
    fuzzbox_instrument::recipe::subject(call)
}

/// The core module that is executed for `bytes`, which are a module or a component, binary or text; with the function
/// of a recipe if that is how it is called.
///
/// # Errors
///
/// If `bytes` is neither, or a component that can't be linked to one module, or the recipe does not fit.
pub fn core_module<'a>(bytes: &'a [u8], call: Option<&str>) -> Result<Cow<'a, [u8]>> {
    let assembled = assemble(bytes)?;
    if call.is_some() || fuzzbox_instrument::is_component(&assembled) || has_heap_of_host(&assembled) {
        return Ok(Source::new(&assembled)?.called_by(call)?.module.to_vec().into());
    }
    Ok(assembled)
}

/// Turns wasm text into a binary module; leaves a binary as it is.
///
/// # Errors
///
/// If `bytes` is neither, or the text has errors.
pub fn assemble(bytes: &[u8]) -> Result<Cow<'_, [u8]>> {
    if bytes.is_empty() {
        bail!("the file is empty");
    }
    if bytes.starts_with(b"\0") {
        foreign::refuse_object(bytes)?;
        return Ok(bytes.into());
    }
    foreign::refuse(bytes)?;
    let text = std::str::from_utf8(bytes).ok().filter(|text| {
        let start = text.trim_start();
        start.starts_with('(') || start.starts_with(';')
    });
    let Some(text) = text else { bail!("it is neither a wasm module (no `\\0asm` at its start) nor wasm text") };
    Ok(wat::parse_str(text)?.into())
}
