//! A module as it is, in an instance that is kept: nothing is counted, limited, restored or looked at. What all else is
//! compared with.

use crate::sandbox::candidate::Candidate;
use crate::sandbox::code::compiler::{INLINED_CODE_BYTES_MAX, compiler_settings};
use crate::sandbox::code::variant::Variant;
use crate::sandbox::entry::function::Harness;
use crate::sandbox::imports::host::{Host, Limits};
use crate::sandbox::imports::link::link;
use crate::sandbox::instance::prepare::initialise;
use crate::sandbox::machine::stack::with_room;
use crate::sandbox::targets::Target;
use crate::sandbox::wasi::Wasi;
use anyhow::{Context, Result};
use fuzzbox_instrument::{EdgeSet, translate_legacy_exceptions};
use wasmtime::{Engine, Inlining, Instance, Memory, Module, Store};

/// An instance of a module that was not rewritten. What hangs in it hangs for ever.
pub struct Plain {
    store: Store<Host>,
    harness: Harness,
    memory: Memory,
    /// Where inputs end: behind all that the guest knows of.
    end: usize,
    stack_bytes: usize,
}

impl std::fmt::Debug for Plain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plain").finish_non_exhaustive()
    }
}

impl Plain {
    /// Compiles the module that `target` was made of as its fastest variant is, and initialises an instance. `None` if
    /// its entry does not take an address and a length, or it draws.
    ///
    /// # Errors
    ///
    /// If the module can't be compiled, or its initialisers fail, which they did not in `target`.
    pub fn new(target: &Target) -> Result<Option<Self>> {
        let Candidate { source, settings, entry, interface, missing, .. } = &target.candidate;
        let Some((export, wide)) = entry.way().harness().filter(|_| target.rewritten.injected.stream.is_none()) else {
            return Ok(None);
        };
        let stack_bytes = Variant::Fast(EdgeSet::default()).stack_bytes();
        let mut config = compiler_settings();
        config.max_wasm_stack(stack_bytes).async_stack_size(stack_bytes);
        if interface.code_bytes <= INLINED_CODE_BYTES_MAX {
            config.compiler_inlining(Inlining::Yes);
        }
        let engine = Engine::new(&config).map_err(anyhow::Error::from)?;
        let module = match Module::new(&engine, &source.module) {
            Ok(module) => module,
            // Nobody executes legacy exceptions but by translating them.
            Err(_) => {
                let translated = translate_legacy_exceptions(&source.module)?;
                Module::new(&engine, &translated.wasm).map_err(anyhow::Error::from)?
            }
        };
        let imports = link(&module, source.lowered(), (settings.stub_imports, missing), true, &[])?;
        let room = settings.input_bytes_max as usize;
        let bytes_max = usize::try_from(settings.memory_bytes_max)?.saturating_add(room.next_multiple_of(1 << 16));
        with_room(stack_bytes, || {
            let mut store =
                Store::new(&engine, Host::new(Wasi::new(target.candidate.wasi.clone()), Limits::new(bytes_max, 0)));
            store.limiter(|host| host);
            let instance = imports.instantiate(&module, &mut store).map_err(anyhow::Error::from)?;
            let memory = instance.get_memory(&mut store, "memory").context("the module exports no memory")?;
            store.data_mut().memory = Some(memory);
            initialise(target, &mut store, &instance)?;
            libfuzzer_initialize(&mut store, &instance)?;
            let pages = (room as u64).div_ceil(memory.page_size(&store));
            memory.grow(&mut store, pages).map_err(anyhow::Error::from).context("there is no room for inputs")?;
            let function = instance.get_func(&mut store, export).context("the entry was found before")?;
            if !Harness::fits(&store, function) {
                return Ok(None);
            }
            let (harness, end) = (Harness::bind(&store, function, wide)?, memory.data_size(&store));
            Ok(Some(Self { store, harness, memory, end, stack_bytes }))
        })
    }

    /// Executes an input of at most as many bytes as the settings allow, from whatever state the last execution left.
    /// Whether it returned.
    ///
    /// # Errors
    ///
    /// If there is no stack.
    pub fn run(&mut self, input: &[u8]) -> Result<bool> {
        let Self { store, harness, memory, end, stack_bytes } = self;
        with_room(*stack_bytes, || {
            store.data_mut().wasi.reset(&[]);
            let start = *end - input.len();
            memory.data_mut(&mut *store)[start..*end].copy_from_slice(input);
            Ok(harness.call(store, start, input.len()).is_ok())
        })
    }
}

/// Calls `LLVMFuzzerInitialize`, if there is one, without arguments.
fn libfuzzer_initialize(store: &mut Store<Host>, instance: &Instance) -> Result<()> {
    let function = instance.get_typed_func::<(i32, i32), i32>(&mut *store, "LLVMFuzzerInitialize");
    let Ok(initialize) = function else { return Ok(()) };
    initialize.call(&mut *store, (0, 0)).map(|_| ()).map_err(anyhow::Error::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    #[test]
    fn legacy_exceptions_are_translated() {
        // Text has no words for them any more. An input whose first byte is odd throws; what catches that fails if
        // there is more.
        let sections: [(u8, &[u8]); 6] = [
            (1, b"\x02\x60\x00\x00\x60\x02\x7f\x7f\x01\x7f"),
            (3, b"\x01\x01"),
            (5, b"\x01\x00\x01"),
            (13, b"\x01\x00\x00"),
            (7, b"\x02\x06memory\x02\x00\x16LLVMFuzzerTestOneInput\x00\x00"),
            (
                10,
                b"\x01\x1f\x00\x06\x40\x20\x00\x2d\x00\x00\x41\x01\x71\x04\x40\x08\x00\x0b\
                \x07\x00\x20\x01\x41\x01\x4b\x04\x40\x00\x0b\x0b\x41\x00\x0b",
            ),
        ];
        let mut guest = b"\0asm\x01\0\0\0".to_vec();
        for (id, content) in sections {
            guest.extend([id, content.len() as u8]);
            guest.extend(content);
        }
        let target = Target::load(&guest, Settings::default()).unwrap();
        let mut plain = Plain::new(&target).unwrap().unwrap();
        assert!(plain.run(&[1]).unwrap() && plain.run(&[2, 1]).unwrap() && !plain.run(&[1, 1]).unwrap());
    }

    #[test]
    fn what_an_execution_does_stays_and_inputs_are_where_the_module_is_told() {
        let guest = r#"(module
            (memory (export "memory") 1)
            (global $calls (mut i32) (i32.const 0))
            (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
                (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
                (if (i32.ne (i32.load8_u (local.get 0)) (global.get $calls)) (then unreachable))
                (i32.const 0)))"#;
        let target = Target::load(guest.as_bytes(), Settings::default()).unwrap();
        let mut plain = Plain::new(&target).unwrap().unwrap();
        assert!(plain.run(&[1, 9]).unwrap() && plain.run(&[2]).unwrap());
        assert!(!plain.run(&[2]).unwrap(), "it is the third");
        let command = r#"(module (memory (export "memory") 1) (func (export "_start")))"#;
        let target = Target::load(command.as_bytes(), Settings::default()).unwrap();
        assert!(Plain::new(&target).unwrap().is_none());
    }
}
