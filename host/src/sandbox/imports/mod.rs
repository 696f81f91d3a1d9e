//! What the guest can call: WASI, what other hosts provide, `fuzzbox_v1`, and stubs for what nobody provides.
//!
//! Before a module is compiled, `missing` finds out what nobody provides; then `link` links its code with all else, and
//! `stubs` makes stand-ins in each instance. `personality` has the hosts in JavaScript.

pub(super) mod assemblyscript;
pub(super) mod frames;
pub(super) mod host;
pub(super) mod libfuzzer;
pub(super) mod link;
pub(super) mod missing;
pub(super) mod personality;
pub(super) mod stubs;

use crate::sandbox::imports::host::Host;
use crate::sandbox::imports::stubs::define_stubs;
use crate::settings::Stub;
use std::collections::BTreeSet;
use std::fmt;
use wasmtime::{Instance, InstancePre, Linker, Module, Store};

/// Imports that nobody provides: module and name.
pub(crate) type Missing = BTreeSet<(String, String)>;

/// How a module's imports are satisfied; the same for each of its instances.
#[derive(Clone)]
pub(crate) enum Imports {
    /// Everything is provided, by functions that belong to no store: linked once.
    Provided(InstancePre<Host>),
    /// What is missing is stubbed. Stubs that are not functions belong to a store, so each instance links its own.
    Stubbed(Linker<Host>, Stub, Missing),
}

impl fmt::Debug for Imports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if matches!(self, Self::Provided(_)) { "Provided" } else { "Stubbed" })
    }
}

impl Imports {
    /// Makes an instance, which runs its start function.
    pub(crate) fn instantiate(&self, module: &Module, store: &mut Store<Host>) -> wasmtime::Result<Instance> {
        match self {
            Self::Provided(instance) => instance.instantiate(store),
            Self::Stubbed(linker, stub, missing) => {
                let mut linker = linker.clone();
                define_stubs(module, &mut linker, store, *stub, missing)?;
                linker.instantiate(store, module)
            }
        }
    }
}
