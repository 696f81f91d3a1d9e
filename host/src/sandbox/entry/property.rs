//! Properties: functions without parameters, which draw their input from a choice stream.

use crate::sandbox::entry::Entry;
use crate::sandbox::entry::call::{Binding, Call, Raw, Returned};
use crate::sandbox::entry::check::{PROPERTY_ALLOC, PROPERTY_CHECK, is_check};
use crate::sandbox::entry::command::{COMMAND, check_warm_up};
use crate::sandbox::entry::way::{Export, Form, Way};
use crate::sandbox::imports::host::Host;
use crate::sandbox::source::interface::Interface;
use crate::sandbox::source::words::{Shortened, list};
use crate::settings::Settings;
use anyhow::{Result, ensure};
use fuzzbox_instrument::protocol;
use wasmtime::{Instance, Store};

/// How the names of properties begin: functions that draw their input.
const PROPERTY: &str = "fbx_";

/// How names begin, and what they are, that belong to properties but are none.
const PROPERTY_PARTS: [&str; 3] = ["fbx_gen_", PROPERTY_CHECK, PROPERTY_ALLOC];

/// An export without parameters in a module that draws, or that is called as properties are.
pub(super) fn entry(export: &Export<'_>) -> Result<Option<Entry>> {
    let is_drawn = draws(export.interface) || is_property(export.name);
    let is_one = is_drawn && export.ty.params().is_empty();
    Ok(is_one.then(|| Entry::new(Property { export: export.name.to_owned() })))
}

/// A function without parameters in a module that draws: the input is the choice stream.
#[derive(Debug)]
pub(super) struct Property {
    pub(super) export: String,
}

impl Way for Property {
    fn export(&self) -> &str {
        &self.export
    }

    fn what(&self) -> String {
        "(), a property that draws its input".to_owned()
    }

    fn place(&self, _: bool) -> String {
        "a choice stream, from which the guest draws".to_owned()
    }

    fn over_read(&self, _: bool) -> &'static str {
        "impossible: what is drawn has an end"
    }

    fn form(&self) -> Form {
        Form::Choices
    }

    fn is_program(&self) -> bool {
        self.export == COMMAND
    }

    fn check(&self, settings: &Settings) -> Result<()> {
        check_warm_up(self, settings)
    }

    fn check_of_values(&self, interface: &Interface) -> Option<String> {
        let check = format!("{PROPERTY_CHECK}{}", self.export.strip_prefix(PROPERTY)?);
        let ty = interface.function(&check)?;
        is_check(interface, &check, ty).then_some(check)
    }

    fn bind(&self, _: Binding<'_>, store: &mut Store<Host>, instance: &Instance) -> Result<Box<dyn Call>> {
        Ok(Box::new(PropertyCall(Raw::of_export(store, instance, &self.export)?)))
    }
}

/// A property, bound to an instance.
struct PropertyCall(Raw);

impl Call for PropertyCall {
    fn run(&mut self, store: &mut Store<Host>, _: &[u8], enter: &dyn Fn()) -> wasmtime::Result<i32> {
        store.data_mut().wasi.reset(&[]);
        enter();
        self.0.call(store)
    }

    fn returned(&self) -> Returned<'_> {
        self.0.returned()
    }
}

/// Whether the module speaks the protocol.
fn draws(interface: &Interface) -> bool {
    interface.imports.iter().any(|import| protocol::is_function(&import.module, &import.name))
}

/// Whether an export with this name is a property.
fn is_property(name: &str) -> bool {
    name.starts_with(PROPERTY) && !PROPERTY_PARTS.iter().any(|part| name.starts_with(part))
}

/// The property that a module exports; an error that lists them if there are several.
pub(super) fn only(interface: &Interface) -> Result<Option<String>> {
    let properties = interface.functions().filter(|(name, ty)| is_property(name) && ty.params().is_empty());
    let names: Vec<&str> = properties.map(|(name, _)| name).collect();
    ensure!(
        names.len() <= 1,
        "the module has several properties: {}\nhelp: choose one of them by --entry",
        list(&names.iter().map(|name| Shortened(name)).collect::<Vec<_>>())
    );
    Ok(names.first().map(|name| (*name).to_owned()))
}
