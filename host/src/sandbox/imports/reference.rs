//! The guest protocol as host functions, for modules that are not rewritten.

use crate::stream::Reference;
use crate::stream::reference::{Drawn, Ended};
use fuzzbox_instrument::protocol::MODULE;
use wasmtime::{Caller, Extern, FrameInfo, Linker, WasmBacktrace};

/// Where the data of a store has its side of the protocol.
type Of<T> = fn(&mut T) -> &mut Reference;

/// Defines the imports of the guest protocol as functions over a [`Reference`]. They give what the functions of a
/// rewritten module give, at the cost of a call of the host for each. Pointers mean the memory that the guest exports
/// as `memory`.
///
/// Which call it is, as [`Reference::at`] wants to know, is taken from a backtrace, so the engine must make them.
///
/// What ends an execution is the error [`Ended`], except for pointers out of bounds, which are wasmtime's trap.
///
/// # Errors
///
/// If the linker has one of them already.
pub fn link_reference<T: 'static>(linker: &mut Linker<T>, of: Of<T>) -> wasmtime::Result<()> {
    let m = MODULE;
    linker.func_wrap(m, "draw_int", move |mut c: Caller<'_, T>, lo: i64, hi: i64, towards: i64| {
        done(called(&mut c, of).draw_int(lo, hi, towards))
    })?;
    linker.func_wrap(m, "draw_uint", move |mut c: Caller<'_, T>, lo: u64, hi: u64, towards: u64| {
        done(called(&mut c, of).draw_uint(lo, hi, towards))
    })?;
    linker.func_wrap(m, "draw_bool", move |mut c: Caller<'_, T>, p: u32| {
        done(called(&mut c, of).draw_bool(p).map(i32::from))
    })?;
    linker.func_wrap(m, "draw_f64", move |mut c: Caller<'_, T>, lo: f64, hi: f64, flags: u32| {
        done(of(c.data_mut()).draw_f64(lo, hi, flags))
    })?;
    linker.func_wrap(m, "draw_more", move |mut c: Caller<'_, T>, min: i32, most: i32, average: i32| {
        done(called(&mut c, of).draw_more(min, most, average).map(i32::from))
    })?;
    linker.func_wrap(m, "draw_payload", move |mut c: Caller<'_, T>, bits: i32| {
        done(of(c.data_mut()).draw_payload(bits))
    })?;
    linker.func_wrap(m, "draw_choice", move |mut c: Caller<'_, T>, n: i32, weights: u32| {
        called(&mut c, of);
        with_memory(&mut c, of, |draws, memory| draws.draw_choice(memory, n, weights))
    })?;
    linker.func_wrap(m, "draw_bytes", move |mut c: Caller<'_, T>, to: u32, min: i32, most: i32| {
        with_memory(&mut c, of, |draws, memory| draws.draw_bytes(memory, to, min, most))
    })?;
    let draw_str = move |mut c: Caller<'_, T>, to: u32, room: i32, min: i32, most: i32, alphabet: u32, ranges: i32| {
        with_memory(&mut c, of, |draws, memory| draws.draw_str(memory, to, room, min, most, alphabet, ranges))
    };
    linker.func_wrap(m, "draw_str", draw_str)?;
    linker
        .func_wrap(m, "span_begin", move |mut c: Caller<'_, T>, label: u32| done(of(c.data_mut()).span_begin(label)))?;
    linker.func_wrap(m, "span_end", move |mut c: Caller<'_, T>, flags: u32| of(c.data_mut()).span_end(flags))?;
    linker.func_wrap(m, "remaining", move |mut c: Caller<'_, T>| of(c.data_mut()).remaining())?;
    link_told(linker, of)
}

/// Those by which the guest tells something.
fn link_told<T: 'static>(linker: &mut Linker<T>, of: Of<T>) -> wasmtime::Result<()> {
    let m = MODULE;
    linker
        .func_wrap(m, "assume", move |mut c: Caller<'_, T>, condition: i32| done(of(c.data_mut()).assume(condition)))?;
    linker.func_wrap(m, "reject", move |mut c: Caller<'_, T>, text: u32, len: u32| {
        with_memory::<T, ()>(&mut c, of, |draws, memory| Err(draws.reject(memory, text, len)))
    })?;
    linker.func_wrap(m, "fail", move |mut c: Caller<'_, T>, text: u32, len: u32| {
        with_memory::<T, ()>(&mut c, of, |draws, memory| Err(draws.fail(memory, text, len)))
    })?;
    linker.func_wrap(m, "target", move |mut c: Caller<'_, T>, text: u32, len: u32, score: f64| {
        with_memory(&mut c, of, |draws, memory| draws.target(memory, text, len, score))
    })?;
    linker.func_wrap(m, "event", move |mut c: Caller<'_, T>, text: u32, len: u32, value: i64| {
        with_memory(&mut c, of, |draws, memory| draws.event(memory, text, len, value))
    })?;
    linker.func_wrap(m, "keyframe", move |mut c: Caller<'_, T>, id: u32, argument: i64| {
        of(c.data_mut()).keyframe(id, argument);
    })?;
    linker.func_wrap(m, "name", move |mut c: Caller<'_, T>, kind: u32, id: u32, text: u32, len: u32| {
        with_memory(&mut c, of, |draws, memory| draws.name(memory, kind, id, text, len))
    })?;
    linker.func_wrap(m, "note", move |mut c: Caller<'_, T>, text: u32, len: u32| {
        with_memory(&mut c, of, |draws, memory| draws.note(memory, text, len))
    })?;
    linker.func_wrap(m, "value", move |mut c: Caller<'_, T>, ty: i64, encoding: u32, bytes: u32, len: u32| {
        with_memory(&mut c, of, |draws, memory| draws.value(memory, ty, encoding, bytes, len))
    })?;
    linker.func_wrap(m, "feature", move |mut c: Caller<'_, T>, text: u32, len: u32| {
        with_memory(&mut c, of, |draws, memory| draws.feature(memory, text, len).map(i32::from))
    })?;
    Ok(())
}

/// The protocol's side of a call, which knows where the call is if it has to.
fn called<'a, T: 'static>(caller: &'a mut Caller<'_, T>, of: Of<T>) -> &'a mut Reference {
    if of(caller.data_mut()).has_closing() {
        let offset = WasmBacktrace::capture(&*caller).frames().first().and_then(FrameInfo::module_offset);
        of(caller.data_mut()).at(offset);
    }
    of(caller.data_mut())
}

fn with_memory<T: 'static, R>(
    caller: &mut Caller<'_, T>,
    of: Of<T>,
    job: impl FnOnce(&mut Reference, &mut [u8]) -> Drawn<R>,
) -> wasmtime::Result<R> {
    match caller.get_export("memory").and_then(Extern::into_memory) {
        Some(memory) => {
            let (bytes, data) = memory.data_and_store_mut(caller);
            done(job(of(data), bytes))
        }
        None => done(job(of(caller.data_mut()), &mut [])),
    }
}

fn done<R>(drawn: Drawn<R>) -> wasmtime::Result<R> {
    drawn.map_err(|ended| match ended {
        Ended::OutOfBounds => wasmtime::Trap::MemoryOutOfBounds.into(),
        _ => ended.into(),
    })
}
