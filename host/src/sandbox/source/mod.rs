//! What a target is made from: a module or a component, as it was given.

mod foreign;
pub(super) mod interface;
pub(super) mod words;

use anyhow::{Context, Result, bail};
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
            return Ok(Self { module: file.clone(), file, component: None });
        }
        let linked =
            fuzzbox_instrument::link_component(&file).context("the component can't be linked to one module")?;
        let component = Component { functions: linked.functions, imports: linked.imports };
        Ok(Self { module: linked.wasm.into(), file, component: Some(Arc::new(component)) })
    }

    /// What a component imports: the module's first imports.
    pub(crate) fn lowered(&self) -> &[ComponentImport] {
        self.component.as_ref().map_or(&[], |component| &component.imports)
    }
}

/// The core module that is executed for `bytes`, which are a module or a component, binary or text.
///
/// # Errors
///
/// If `bytes` is neither, or a component that can't be linked to one module.
pub fn core_module(bytes: &[u8]) -> Result<Cow<'_, [u8]>> {
    let assembled = assemble(bytes)?;
    if fuzzbox_instrument::is_component(&assembled) {
        return Ok(Source::new(&assembled)?.module.to_vec().into());
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
