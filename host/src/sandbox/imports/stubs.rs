//! Stubs, for imports that nobody provides.

use crate::sandbox::imports::host::Host;
use crate::sandbox::imports::personality::{Thrown, bits};
use crate::sandbox::imports::{Missing, frames};
use crate::sandbox::messages::ImportCall;
use crate::settings::Stub;
use std::fmt;
use wasmtime::{
    Extern, ExternType, FuncType, Global, Instance, Linker, Memory, MemoryType, Module, Ref, Store, Table, Val,
};

/// Ends an execution because a stubbed import was called.
#[derive(Debug)]
pub(crate) struct StubCalled {
    name: String,
}

impl fmt::Display for StubCalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the stubbed import {} was called", self.name)
    }
}

impl std::error::Error for StubCalled {}

/// Defines what is missing in `linker` as stubs. What is not a function belongs to `store`.
pub(crate) fn define_stubs(
    module: &Module,
    linker: &mut Linker<Host>,
    store: &mut Store<Host>,
    stub: Stub,
    missing: &Missing,
) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let mut missing = missing.clone();
    for import in module.imports() {
        let (module_name, name) = (import.module(), import.name());
        if !missing.remove(&(module_name.to_owned(), name.to_owned())) {
            continue;
        }
        let what = format!("{module_name}.{name}");
        let item: Extern = match import.ty() {
            ExternType::Func(ty) => stub_function(store, ty, (module_name, name), stub).into(),
            ExternType::Memory(ty) => stub_memory(store, &ty)?.into(),
            ExternType::Tag(ty) => wasmtime::Tag::new(&mut *store, &ty)?.into(),
            ExternType::Global(ty) => {
                let value = zero(ty.content()).ok_or_else(|| {
                    wasmtime::format_err!("{what} can't be stubbed: it holds a reference that is never null")
                })?;
                Global::new(&mut *store, ty, value)?.into()
            }
            ExternType::Table(ty) if ty.element().is_nullable() => {
                let null = Ref::null(ty.element().heap_type());
                Table::new(&mut *store, ty, null)?.into()
            }
            ExternType::Table(_) => {
                wasmtime::bail!("{what} can't be stubbed: it holds references that are never null")
            }
        };
        linker.define(&mut *store, module_name, name, item)?;
    }
    Ok(())
}

/// A memory of an instance of its own: those that wasmtime makes without one are not made by our creator of memories.
fn stub_memory(store: &mut Store<Host>, ty: &MemoryType) -> wasmtime::Result<Memory> {
    const HAS_MAXIMUM: u8 = 1;
    const IS_64: u8 = 4;
    const HAS_PAGE_SIZE: u8 = 8;
    let flag = |flag, set| if set { flag } else { 0 };
    let flags = flag(HAS_MAXIMUM, ty.maximum().is_some()) | flag(IS_64, ty.is_64()) | HAS_PAGE_SIZE;
    let numbers = [Some(ty.minimum()), ty.maximum(), Some(ty.page_size_log2().into())];
    let mut memory = vec![1, flags];
    numbers.into_iter().flatten().for_each(|number| write_leb128(&mut memory, number));
    // Section 5, memories: this one. Section 7, exports: this one, without a name.
    let len = u8::try_from(memory.len()).expect("three numbers");
    let module = [b"\0asm\x01\0\0\0\x05", &[len][..], &memory, &[7, 4, 1, 0, 2, 0]].concat();
    let module = Module::new(store.engine(), module)?;
    let instance = Instance::new(&mut *store, &module, &[])?;
    Ok(instance.get_memory(store, "").expect("the module exports its memory"))
}

fn write_leb128(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// What is known to take a message keeps that.
fn stub_function(store: &mut Store<Host>, ty: FuncType, name: (&str, &str), stub: Stub) -> wasmtime::Func {
    let (module, name) = (name.0.to_owned(), name.1.to_owned());
    let zeros: Option<Vec<Val>> = ty.results().map(|ty| zero(&ty)).collect();
    wasmtime::Func::new(store, ty, move |mut caller, params, results| {
        let given = ImportCall::to_import(&module, &name, params.iter().map(bits));
        if given.is_some() {
            caller.data_mut().given = given;
        }
        caller.data_mut().wasi.called()?;
        match (stub, &zeros) {
            // Before there is an input there is none to reject.
            (Stub::Reject, Some(zeros)) if !caller.data().has_input => {
                results.clone_from_slice(zeros);
                Ok(())
            }
            (Stub::Zero, Some(zeros)) => {
                results.clone_from_slice(zeros);
                Ok(())
            }
            (Stub::Reject, _) => {
                frames::capture(&mut caller);
                Err(wasmtime::Error::from(Thrown::new(&format!("{module}.{name}"), "it is stubbed")))
            }
            // A result that has no zero (a reference that is never null) can't be made up.
            _ => Err(wasmtime::Error::from(StubCalled { name: format!("{module}.{name}") })),
        }
    })
}

fn zero(ty: &wasmtime::ValType) -> Option<Val> {
    Val::default_for_ty(ty)
}
