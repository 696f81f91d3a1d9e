//! A message formatted by the guest's own code: `core::fmt::write` is given the arguments of a panic and a writer that
//! is ours.
//!
//! That writes into the guest's memory and tables, so the instance is good for nothing afterwards. And it is a call of
//! a guest that has just failed, with pointers that may mean nothing: it has little fuel, and whatever comes of it is a
//! text or none.

use crate::sandbox::imports::host::Host;
use crate::sandbox::memory::Region;
use crate::sandbox::messages::memory::TEXT_BYTES_MAX;
use std::sync::{Arc, Mutex};
use wasmtime::{Caller, Extern, Func, Instance, Ref, Store, Table, Val, ValType};

/// Where the table of the writer's functions is written. Below the data of C and Zig, and at the far end of Rust's
/// stack, nothing is.
const TABLE_AT: u32 = 64;

/// What formatting may take.
pub(crate) const FUEL: u64 = 10_000_000;

/// Calls the function that is exported as `export`, which is `core::fmt::write`, with `arguments`. The text may be cut.
pub(crate) fn format(
    store: &mut Store<Host>,
    instance: &Instance,
    (export, table): (&str, &str),
    region: &Region,
    arguments: &[u32],
) -> Option<String> {
    let write = instance.get_func(&mut *store, export)?;
    let ty = write.ty(&*store);
    let is_number = |ty: ValType| matches!(ty, ValType::I32);
    let fits = ty.params().len() == 2 + arguments.len() && ty.results().len() == 1;
    if !fits || !ty.params().chain(ty.results()).all(is_number) {
        return None;
    }
    let table = instance.get_table(&mut *store, table)?;
    let text = Arc::<Mutex<Vec<u8>>>::default();
    let writers = Writers::put(store, table, &text)?;
    // drop, size, alignment; write_str, write_char, write_fmt.
    let functions = [0, 1, 1, writers.write_str, writers.write_char, writers.write_str];
    let functions: Vec<u8> = functions.iter().flat_map(|number: &u32| number.to_le_bytes()).collect();
    if region.size() < TABLE_AT as usize + functions.len() {
        return None;
    }
    // SAFETY: no guest runs, and nothing else writes.
    unsafe { region.write(TABLE_AT as usize, &functions) };
    let params = [TABLE_AT, TABLE_AT].iter().chain(arguments);
    let params: Vec<Val> = params.map(|param| Val::I32(param.cast_signed())).collect();
    // What it has written until it fails is a message, too.
    drop(write.call(&mut *store, &params, &mut [Val::I32(0)]));
    let bytes = std::mem::take(&mut *text.lock().ok()?);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (!text.is_empty()).then_some(text)
}

/// Functions of the host in a guest's table, by their numbers there.
struct Writers {
    write_str: u32,
    write_char: u32,
}

impl Writers {
    /// They take the place of nothing (linkers leave number 0 free), and of something that formatting does not call by
    /// reference: a function with one parameter, as those are that drop a value.
    fn put(store: &mut Store<Host>, table: Table, text: &Arc<Mutex<Vec<u8>>>) -> Option<Self> {
        const LOOKED_AT_MAX: u64 = 4096;
        if !matches!(table.get(&mut *store, 0), Some(Ref::Func(None))) {
            return None;
        }
        let size = table.size(&*store);
        let is_free = |store: &mut Store<Host>, number: u64| match table.get(&mut *store, number) {
            Some(Ref::Func(Some(function))) => function.ty(&*store).params().len() == 1,
            Some(Ref::Func(None)) => true,
            _ => false,
        };
        let place = (1..size.min(LOOKED_AT_MAX)).find(|&number| is_free(store, number));
        let appended = text.clone();
        let write_str = move |mut caller: Caller<'_, Host>, _: u32, at: u32, len: u32| -> u32 {
            let memory = caller.get_export("memory").and_then(Extern::into_memory).or(caller.data().memory);
            let memory = memory.filter(|_| !caller.data().wasi.touches_gap(at, len));
            let bytes = memory.and_then(|memory| memory.data(&caller).get(at as usize..)?.get(..len as usize));
            bytes.map_or(1, |bytes| append(&appended, bytes))
        };
        let appended = text.clone();
        let write_char = move |_: u32, char: u32| -> u32 {
            let char = char::from_u32(char).unwrap_or(char::REPLACEMENT_CHARACTER);
            append(&appended, char.encode_utf8(&mut [0; 4]).as_bytes())
        };
        let write_str = Func::wrap(&mut *store, write_str);
        table.set(&mut *store, 0, Ref::Func(Some(write_str))).ok()?;
        if let Some(place) = place {
            let write_char = Func::wrap(&mut *store, write_char);
            table.set(&mut *store, place, Ref::Func(Some(write_char))).ok()?;
        }
        Some(Self { write_str: 0, write_char: place.and_then(|place| u32::try_from(place).ok()).unwrap_or(0) })
    }
}

/// What `fmt::Result` is: 1 for an error, which ends formatting.
fn append(text: &Mutex<Vec<u8>>, bytes: &[u8]) -> u32 {
    let Ok(mut text) = text.lock() else { return 1 };
    let room = (TEXT_BYTES_MAX as usize).saturating_sub(text.len());
    text.extend_from_slice(&bytes[..bytes.len().min(room)]);
    u32::from(bytes.len() > room)
}
