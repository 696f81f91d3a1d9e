//! What a libFuzzer harness with a mutator of its own imports: `LLVMFuzzerMutate`, which changes bytes as the fuzzer
//! does.

use crate::sandbox::imports::host::{Host, Inner};
use wasmtime::{Caller, Linker, Memory, Trap};

/// What a change costs, in units of fuel, beside the bytes that it copies.
const CHANGE_WORK: u64 = 1 << 10;

/// Defines the function. Where nothing is to be mutated it changes nothing.
pub(crate) fn define(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    linker.func_wrap("env", "LLVMFuzzerMutate", mutate).map(drop)
}

/// `(data, size, max_size) -> size`.
fn mutate(mut caller: Caller<'_, Host>, at: u32, len: u32, len_max: u32) -> wasmtime::Result<u32> {
    let host = caller.data_mut();
    host.wasi.passed_on(CHANGE_WORK + u64::from(len_max))?;
    let (Some(memory), Some(mutate)) = (host.memory, host.mutate.clone()) else { return Ok(len) };
    host.mutations += 1;
    let seed = host.mutations;
    let mut bytes = part(&mut caller, memory, at, len)?.to_vec();
    match &mut caller.data_mut().inner {
        Inner::Mutated => mutate.change(&mut bytes, len_max as usize, seed),
        Inner::Noted(noted) => {
            noted.get_or_insert(bytes);
            return Ok(len);
        }
        Inner::Replaced(replacement) => match replacement.take() {
            Some(replacement) => bytes = replacement,
            None => return Ok(len),
        },
    }
    bytes.truncate(len_max as usize);
    let made = u32::try_from(bytes.len())?;
    part(&mut caller, memory, at, made)?.copy_from_slice(&bytes);
    Ok(made)
}

/// Bytes of the guest's.
fn part<'a>(caller: &'a mut Caller<'_, Host>, memory: Memory, at: u32, len: u32) -> wasmtime::Result<&'a mut [u8]> {
    let is_there = !caller.data().wasi.touches_gap(at, len);
    let bytes = memory.data_mut(caller).get_mut(at as usize..at as usize + len as usize);
    Ok(bytes.filter(|_| is_there).ok_or(Trap::MemoryOutOfBounds)?)
}
