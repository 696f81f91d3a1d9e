//! The guest protocol as host functions, for modules that are not rewritten.

use fuzzbox::stream::Reference;
use fuzzbox::stream::reference::{Drawn, Ended};
use fuzzbox_instrument::protocol::MODULE;
use wasmtime::{Caller, Extern, FrameInfo, Linker, WasmBacktrace};

/// Who calls: a guest, with its side of the protocol.
type Guest<'a> = Caller<'a, Reference>;

/// Defines the imports of the guest protocol as functions over a [`Reference`]. They give what the functions of a
/// rewritten module give, at the cost of a call of the host for each. Pointers mean the memory that the guest exports
/// as `memory`.
///
/// Which call it is, as [`Reference::at`] wants to know, is taken from a backtrace, so the engine must make them.
///
/// What ends an execution is the error [`Ended`], except for pointers out of bounds, which are wasmtime's trap.
pub(super) fn link(linker: &mut Linker<Reference>) -> wasmtime::Result<()> {
    let m = MODULE;
    linker.func_wrap(m, "draw_int", |mut c: Guest<'_>, lo: i64, hi: i64, towards: i64| {
        done(called(&mut c).draw_int(lo, hi, towards))
    })?;
    linker.func_wrap(m, "draw_uint", |mut c: Guest<'_>, lo: u64, hi: u64, towards: u64| {
        done(called(&mut c).draw_uint(lo, hi, towards))
    })?;
    linker.func_wrap(m, "draw_bool", |mut c: Guest<'_>, p: u32| done(called(&mut c).draw_bool(p).map(i32::from)))?;
    linker.func_wrap(m, "draw_f64", |mut c: Guest<'_>, lo: f64, hi: f64, flags: u32| {
        done(c.data_mut().draw_f64(lo, hi, flags))
    })?;
    linker.func_wrap(m, "draw_more", |mut c: Guest<'_>, min: i32, most: i32, average: i32| {
        done(called(&mut c).draw_more(min, most, average).map(i32::from))
    })?;
    linker.func_wrap(m, "draw_payload", |mut c: Guest<'_>, bits: i32| done(c.data_mut().draw_payload(bits)))?;
    linker.func_wrap(m, "draw_choice", |mut c: Guest<'_>, n: i32, weights: u32| {
        called(&mut c);
        with_memory(&mut c, |draws, memory| draws.draw_choice(memory, n, weights))
    })?;
    linker.func_wrap(m, "draw_bytes", |mut c: Guest<'_>, to: u32, min: i32, most: i32| {
        with_memory(&mut c, |draws, memory| draws.draw_bytes(memory, to, min, most))
    })?;
    let draw_str = |mut c: Guest<'_>, to: u32, room: i32, min: i32, most: i32, alphabet: u32, ranges: i32| {
        with_memory(&mut c, |draws, memory| draws.draw_str(memory, to, room, min, most, alphabet, ranges))
    };
    linker.func_wrap(m, "draw_str", draw_str)?;
    linker.func_wrap(m, "span_begin", |mut c: Guest<'_>, label: u32| done(c.data_mut().span_begin(label)))?;
    linker.func_wrap(m, "span_end", |mut c: Guest<'_>, flags: u32| c.data_mut().span_end(flags))?;
    linker.func_wrap(m, "remaining", |mut c: Guest<'_>| c.data_mut().remaining())?;
    link_told(linker)
}

/// Those by which the guest tells something.
fn link_told(linker: &mut Linker<Reference>) -> wasmtime::Result<()> {
    let m = MODULE;
    linker.func_wrap(m, "assume", |mut c: Guest<'_>, condition: i32| done(c.data_mut().assume(condition)))?;
    linker.func_wrap(m, "reject", |mut c: Guest<'_>, text: u32, len: u32| {
        with_memory::<()>(&mut c, |draws, memory| Err(draws.reject(memory, text, len)))
    })?;
    linker.func_wrap(m, "fail", |mut c: Guest<'_>, text: u32, len: u32| {
        with_memory::<()>(&mut c, |draws, memory| Err(draws.fail(memory, text, len)))
    })?;
    linker.func_wrap(m, "target", |mut c: Guest<'_>, text: u32, len: u32, score: f64| {
        with_memory(&mut c, |draws, memory| draws.target(memory, text, len, score))
    })?;
    linker.func_wrap(m, "event", |mut c: Guest<'_>, text: u32, len: u32, value: i64| {
        with_memory(&mut c, |draws, memory| draws.event(memory, text, len, value))
    })?;
    linker.func_wrap(m, "keyframe", |mut c: Guest<'_>, id: u32, argument: i64| {
        c.data_mut().keyframe(id, argument);
    })?;
    linker.func_wrap(m, "name", |mut c: Guest<'_>, kind: u32, id: u32, text: u32, len: u32| {
        with_memory(&mut c, |draws, memory| draws.name(memory, kind, id, text, len))
    })?;
    linker.func_wrap(m, "note", |mut c: Guest<'_>, text: u32, len: u32| {
        with_memory(&mut c, |draws, memory| draws.note(memory, text, len))
    })?;
    linker.func_wrap(m, "value", |mut c: Guest<'_>, ty: i64, encoding: u32, bytes: u32, len: u32| {
        with_memory(&mut c, |draws, memory| draws.value(memory, ty, encoding, bytes, len))
    })?;
    linker.func_wrap(m, "feature", |mut c: Guest<'_>, text: u32, len: u32| {
        with_memory(&mut c, |draws, memory| draws.feature(memory, text, len).map(i32::from))
    })?;
    Ok(())
}

/// The protocol's side of a call, which knows where the call is if it has to.
fn called<'a>(caller: &'a mut Guest<'_>) -> &'a mut Reference {
    if caller.data_mut().has_closing() {
        let offset = WasmBacktrace::capture(&*caller).frames().first().and_then(FrameInfo::module_offset);
        caller.data_mut().at(offset);
    }
    caller.data_mut()
}

fn with_memory<R>(
    caller: &mut Guest<'_>,
    job: impl FnOnce(&mut Reference, &mut [u8]) -> Drawn<R>,
) -> wasmtime::Result<R> {
    match caller.get_export("memory").and_then(Extern::into_memory) {
        Some(memory) => {
            let (bytes, data) = memory.data_and_store_mut(caller);
            done(job(data, bytes))
        }
        None => done(job(caller.data_mut(), &mut [])),
    }
}

fn done<R>(drawn: Drawn<R>) -> wasmtime::Result<R> {
    drawn.map_err(|ended| match ended {
        Ended::OutOfBounds => wasmtime::Trap::MemoryOutOfBounds.into(),
        _ => ended.into(),
    })
}
