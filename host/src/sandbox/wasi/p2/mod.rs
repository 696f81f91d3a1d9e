//! WASI preview 2, as far as programs get it that have no files and no network: for linked components.
//!
//! Functions are those of the canonical ABI, after lowering: strings and lists are pointer and length in the memory
//! that the component names, results of more than one number go to an address that the guest passes, and what is
//! allocated for the guest comes from its own `realloc`. State is that of preview 1: the same clock, randomness,
//! standard streams and arguments, and the same limits.
//!
//! Functions of the canonical ABI for resources that a component defines itself are here too, since handles of all
//! resources are numbers of one table. (In components inside others as well, where each has its own in other hosts.)
//!
//! There is no directory, so no descriptor: whatever takes one traps, as it does for any handle that was never given.
//! The same holds for sockets, which can't be made.

mod call;
mod handles;

pub(super) use handles::Handles;
pub(in super::super) use handles::Unknown as UnknownHandle;

use super::Wasi;
use call::Call;
use fuzzbox_instrument::ComponentImport;
use std::sync::Arc;
use wasmtime::{Caller, ExternType, FuncType, Linker};

/// Where the canonical options of a lowered function say that strings and lists are.
#[derive(Debug)]
struct Options {
    /// Names of exports.
    memory: Option<String>,
    realloc: Option<String>,
    destructor: Option<String>,
    /// The number of the component's own resource that it is for.
    resource: u32,
}

/// Defines `import` in `linker`, if it is a function of WASI that is provided; tells whether it is. `ty` is what the
/// guest imports it as. `access` and `leaving` are as for [`super::link`].
pub(in super::super) fn define<T: 'static>(
    linker: &mut Linker<T>,
    import: &ComponentImport,
    ty: &ExternType,
    access: fn(&mut T) -> &mut Wasi,
    leaving: impl Fn(&mut Caller<'_, T>) + Copy + Send + Sync + 'static,
) -> wasmtime::Result<bool> {
    let interface = match (&import.resource, interface(&import.interface)) {
        (Some(_), _) => "canon",
        (None, Some(interface)) => interface,
        (None, None) => return Ok(false),
    };
    let options = Arc::new(Options {
        memory: import.memory.clone(),
        realloc: import.realloc.clone(),
        destructor: import.destructor.clone(),
        resource: import.resource.unwrap_or(0),
    });
    let mut definition = Definition { linker, import, options, access, leaving };
    if definition.function(interface)? {
        return Ok(true);
    }
    match ty {
        ExternType::Func(ty) if needs_a_handle(interface, &import.function) => definition.trap(ty).map(|()| true),
        _ => Ok(false),
    }
}

/// The name of an interface of WASI 0.2 without package and version: `io/streams`.
fn interface(name: &str) -> Option<&str> {
    let (name, version) = name.strip_prefix("wasi:")?.split_once('@')?;
    let known = version.strip_prefix("0.2.").is_some_and(|patch| patch.bytes().all(|byte| byte.is_ascii_digit()));
    known.then_some(name)
}

/// Whether a function takes a handle that nobody was given.
fn needs_a_handle(interface: &str, function: &str) -> bool {
    let of_handle = function.starts_with("[method]") || function.starts_with("[resource-drop]");
    match interface {
        "filesystem/types" => of_handle || function == "filesystem-error-code",
        "io/error" => of_handle,
        _ => of_handle && (interface.starts_with("sockets/") || interface.starts_with("cli/terminal-")),
    }
}

/// What is needed to define one function.
struct Definition<'a, T: 'static, L> {
    linker: &'a mut Linker<T>,
    import: &'a ComponentImport,
    options: Arc<Options>,
    access: fn(&mut T) -> &mut Wasi,
    leaving: L,
}

/// Generates the dispatch from names to methods of [`Call`]: `u32` and `u64` stand for i32 and i64.
macro_rules! functions {
    ($($interface:literal $function:literal => $method:ident($($arg:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        /// Defines the function if it is one of those below; tells whether it is.
        fn function(&mut self, interface: &str) -> wasmtime::Result<bool> {
            let (access, leaving, options) = (self.access, self.leaving, self.options.clone());
            let (module, name) = (&*self.import.module, &*self.import.name);
            match (interface, &*self.import.function) {
                $(
                    ($interface, $function) => {
                        self.linker.func_wrap(
                            module,
                            name,
                            move |mut caller: Caller<'_, T>, $($arg: $type),*| -> wasmtime::Result<functions!(@ $($result)?)> {
                                let result = Call::new(&mut caller, &options, access).$method($($arg),*);
                                if result.is_err() {
                                    leaving(&mut caller);
                                }
                                result
                            },
                        )?;
                    }
                )*
                _ => return Ok(false),
            }
            Ok(true)
        }
    };
    (@) => { () };
    (@ $result:ty) => { $result };
}

impl<T: 'static, L: Fn(&mut Caller<'_, T>) + Copy + Send + Sync + 'static> Definition<'_, T, L> {
    functions! {
        "canon" "resource.new" => resource_new(representation: u32) -> u32;
        "canon" "resource.rep" => resource_rep(handle: u32) -> u32;
        "canon" "resource.drop" => resource_drop(handle: u32);
        "cli/environment" "get-environment" => get_environment(result: u32);
        "cli/environment" "get-arguments" => get_arguments(result: u32);
        "cli/environment" "initial-cwd" => none(result: u32);
        "cli/exit" "exit" => exit(status: u32);
        "cli/exit" "exit-with-code" => exit(code: u32);
        "cli/stdin" "get-stdin" => get_stdin() -> u32;
        "cli/stdout" "get-stdout" => get_stdout() -> u32;
        "cli/stderr" "get-stderr" => get_stderr() -> u32;
        "cli/terminal-stdin" "get-terminal-stdin" => none(result: u32);
        "cli/terminal-stdout" "get-terminal-stdout" => none(result: u32);
        "cli/terminal-stderr" "get-terminal-stderr" => none(result: u32);
        "clocks/monotonic-clock" "now" => now() -> u64;
        "clocks/monotonic-clock" "resolution" => resolution() -> u64;
        "clocks/monotonic-clock" "subscribe-instant" => subscribe_instant(when: u64) -> u32;
        "clocks/monotonic-clock" "subscribe-duration" => subscribe_duration(duration: u64) -> u32;
        "clocks/wall-clock" "now" => wall_now(result: u32);
        "clocks/wall-clock" "resolution" => wall_resolution(result: u32);
        "filesystem/preopens" "get-directories" => empty_list(result: u32);
        "io/poll" "[method]pollable.ready" => pollable_ready(pollable: u32) -> u32;
        "io/poll" "[method]pollable.block" => pollable_block(pollable: u32);
        "io/poll" "poll" => poll(list: u32, len: u32, result: u32);
        "io/poll" "[resource-drop]pollable" => drop_pollable(pollable: u32);
        "io/streams" "[method]input-stream.read" => read(stream: u32, len: u64, result: u32);
        "io/streams" "[method]input-stream.blocking-read" => read(stream: u32, len: u64, result: u32);
        "io/streams" "[method]input-stream.skip" => skip(stream: u32, len: u64, result: u32);
        "io/streams" "[method]input-stream.blocking-skip" => skip(stream: u32, len: u64, result: u32);
        "io/streams" "[method]input-stream.subscribe" => subscribe_input(stream: u32) -> u32;
        "io/streams" "[resource-drop]input-stream" => drop_input(stream: u32);
        "io/streams" "[method]output-stream.check-write" => check_write(stream: u32, result: u32);
        "io/streams" "[method]output-stream.write" => write(stream: u32, bytes: u32, len: u32, result: u32);
        "io/streams" "[method]output-stream.blocking-write-and-flush" => write(stream: u32, bytes: u32, len: u32, result: u32);
        "io/streams" "[method]output-stream.flush" => flush(stream: u32, result: u32);
        "io/streams" "[method]output-stream.blocking-flush" => flush(stream: u32, result: u32);
        "io/streams" "[method]output-stream.subscribe" => subscribe_output(stream: u32) -> u32;
        "io/streams" "[method]output-stream.write-zeroes" => write_zeroes(stream: u32, len: u64, result: u32);
        "io/streams" "[method]output-stream.blocking-write-zeroes-and-flush" => write_zeroes(stream: u32, len: u64, result: u32);
        "io/streams" "[resource-drop]output-stream" => drop_output(stream: u32);
        "random/random" "get-random-bytes" => random_bytes(len: u64, result: u32);
        "random/random" "get-random-u64" => random_u64() -> u64;
        "random/insecure" "get-insecure-random-bytes" => random_bytes(len: u64, result: u32);
        "random/insecure" "get-insecure-random-u64" => random_u64() -> u64;
        "random/insecure-seed" "insecure-seed" => insecure_seed(result: u32);
        "sockets/tcp-create-socket" "create-tcp-socket" => no_socket(family: u32, result: u32);
        "sockets/udp-create-socket" "create-udp-socket" => no_socket(family: u32, result: u32);
    }

    /// Defines a function that traps, since its handle can't be one.
    fn trap(&mut self, ty: &FuncType) -> wasmtime::Result<()> {
        let leaving = self.leaving;
        let (module, name) = (&self.import.module, &self.import.name);
        self.linker.func_new(module, name, ty.clone(), move |mut caller, _, _| {
            leaving(&mut caller);
            Err(handles::Unknown.into())
        })?;
        Ok(())
    }
}
