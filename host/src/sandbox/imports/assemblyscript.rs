//! What AssemblyScript's modules import: `env.abort`, which all of them have, `env.trace` and `env.seed`.

use crate::sandbox::imports::host::Host;
use crate::sandbox::messages::ImportCall;
use crate::sandbox::messages::memory::{TEXT_BYTES_MAX, from_utf16};
use std::fmt;
use wasmtime::{Caller, Linker};

/// What its random numbers begin with in every execution.
const SEED: f64 = 0.5;

/// Ends an execution because the guest called `env.abort`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aborted;

impl fmt::Display for Aborted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the guest called env.abort")
    }
}

impl std::error::Error for Aborted {}

/// Defines the three functions; `leaving` notes what is live when one of them ends an execution. A module that imports
/// other types under these names means something else.
pub(crate) fn define(
    linker: &mut Linker<Host>,
    leaving: impl Fn(&mut Caller<'_, Host>) + Send + Sync + 'static,
) -> wasmtime::Result<()> {
    let abort = move |mut caller: Caller<'_, Host>, message: u32, file: u32, line: u32, column: u32| {
        leaving(&mut caller);
        let params = [message, file, line, column].into_iter().map(|param| Some(u64::from(param)));
        caller.data_mut().given = ImportCall::to_import("env", "abort", params);
        Err::<(), _>(wasmtime::Error::from(Aborted))
    };
    linker.func_wrap("env", "abort", abort)?;
    let trace = |mut caller: Caller<'_, Host>, message: u32, count: u32, a: f64, b: f64, c: f64, d: f64, e: f64| {
        let numbers = [a, b, c, d, e].into_iter().take(count as usize);
        let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
        let text = format!("trace: {} {}", string(&mut caller, message), numbers.join(", "));
        caller.data_mut().wasi.say(&format!("{}\n", text.trim_end()))
    };
    linker.func_wrap("env", "trace", trace)?;
    linker.func_wrap("env", "seed", || SEED)?;
    Ok(())
}

/// A string of the guest's, while that runs; the beginning of one that is too long.
fn string(caller: &mut Caller<'_, Host>, at: u32) -> String {
    let Some(memory) = caller.data().memory else { return String::new() };
    let is_there = |at: &u32, len| !caller.data().wasi.touches_gap(*at, len);
    let bytes = memory.data(&*caller);
    let header = at
        .checked_sub(4)
        .filter(|header| is_there(header, 4))
        .and_then(|header| bytes.get(header as usize..)?.first_chunk());
    let len = header.map_or(0, |len| u32::from_le_bytes(*len)).min(TEXT_BYTES_MAX) as usize;
    let bytes = bytes.get(at as usize..at as usize + len).filter(|_| is_there(&at, len as u32));
    from_utf16(bytes.unwrap_or_default())
}
