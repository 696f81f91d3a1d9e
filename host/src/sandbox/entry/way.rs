//! What a way to give an input has to say of itself.

use crate::sandbox::entry::call::{Binding, Call};
use crate::sandbox::entry::heap;
use crate::sandbox::imports::host::Host;
use crate::sandbox::source::interface::Interface;
use crate::sandbox::source::words::Shortened;
use crate::settings::{Allocator, Settings};
use anyhow::Result;
use fuzzbox_instrument::Injected;
use std::fmt;
use wasmparser::FuncType;
use wasmtime::{Instance, Store};

/// A way to give an input.
pub(crate) trait Way: fmt::Debug + Send + Sync {
    /// The name of the export that is called.
    fn export(&self) -> &str;

    /// What people call it.
    fn name(&self) -> &str {
        self.export()
    }

    /// What it takes, and what it is: `(ptr, len), a libFuzzer harness`.
    fn what(&self) -> String;

    /// Where the input is for the guest, in words; `closed_page` says whether an inaccessible page follows it.
    fn place(&self, closed_page: bool) -> String;

    /// Whether a read past the end of the input is found, in words.
    fn over_read(&self, closed_page: bool) -> &'static str;

    /// What inputs are.
    fn form(&self) -> Form {
        Form::Bytes
    }

    /// The most bytes that inputs of so many bytes take in memory.
    fn placed_bytes_max(&self, input: usize) -> usize {
        input
    }

    /// Whether it is the export that runs a whole program.
    fn is_program(&self) -> bool {
        false
    }

    /// Whether a call goes on where the one before it asked for a snapshot, though it runs a whole program.
    fn goes_on(&self) -> bool {
        false
    }

    /// Refuses settings that mean nothing for it.
    fn check(&self, _: &Settings) -> Result<()> {
        Ok(())
    }

    /// The export that checks the values which this property gives away, if it is a property in two parts.
    fn check_of_values(&self, _: &Interface) -> Option<String> {
        None
    }

    /// If it takes an address and a length and nothing else: the export, and whether both have 64 bits.
    fn harness(&self) -> Option<(&str, bool)> {
        None
    }

    /// Whether the guest's heap can be grown from outside, by this allocator.
    fn has_heap(&self, interface: &Interface, allocator: Allocator) -> bool {
        heap::is_there(interface, allocator)
    }

    /// Lets the guest's allocator take memory: blocks are allocated and given back. Tells whether any was; `None` if
    /// the guest failed in between.
    fn grow_heap(
        &self,
        store: &mut Store<Host>,
        instance: &Instance,
        allocator: (Allocator, &Injected),
        bytes: u32,
    ) -> Option<bool> {
        heap::grow(store, instance, allocator, bytes)
    }

    /// Binds it to an instance.
    fn bind(&self, binding: Binding<'_>, store: &mut Store<Host>, instance: &Instance) -> Result<Box<dyn Call>>;
}

/// An export that is asked for, as ways see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Export<'a> {
    pub(super) name: &'a str,
    pub(super) ty: &'a FuncType,
    /// That of the module.
    pub(super) interface: &'a Interface,
    pub(super) settings: &'a Settings,
}

/// What inputs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Bytes, which the guest gets by what it calls, or in memory that it allocates.
    Bytes,
    /// Numbers, which take so many bytes, and then bytes that are put into linear memory.
    InMemory(usize),
    /// Numbers alone, which take so many bytes.
    Numbers(usize),
    /// A choice stream.
    Choices,
}

/// Name and type of an entry, and what it is.
pub(super) fn shown(way: &dyn Way) -> String {
    format!("{}{}", Shortened(way.name()), way.what())
}
