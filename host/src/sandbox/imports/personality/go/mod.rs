//! What JavaScript gives programs that Go's own compiler made for it (`GOOS=js GOARCH=wasm`): the functions of
//! `wasm_exec.js`, and what these programs expect of Node. A program runs as a command does: it is started with its
//! arguments, and goes on as long as something is left to happen.
//!
//! ```text
//! frame     what Go's stack holds where it calls; values by references
//! values    what JavaScript does with values         texts    values as texts
//! table     what is there from the start, by name    natives  what of that can be called
//! files     Node's `fs`
//! ```
//!
//! Functions of the program's are called when it waits, in the order in which that was asked for; then timers, in that
//! of their times. Before the first execution the program comes as far as it can without its input. When nothing is
//! left it is told, as by Node, and ends itself: all of it sleeps.

mod files;
mod frame;
mod natives;
mod table;
mod texts;
mod values;

use crate::sandbox::conventions::go::{ARGUMENTS, MODULES, NEXT_EVENT};
use crate::sandbox::imports::personality::guest::{Function, Guest, Reply};
use crate::sandbox::wasi::js_heap::{Body, Due, INSTANCE, Value};
use frame::{Called, Js, Stop};
use values::{PENDING, is_function};
use wasmtime::{FuncType, Val, ValType};

type Result<T> = wasmtime::Result<T>;

/// The function of an import; `Some(None)` if it is JavaScript's, but nobody knows what it does.
pub(super) fn of(module: &str, name: &str, ty: &FuncType) -> Option<Option<Function>> {
    if !MODULES.contains(&module) {
        return None;
    }
    let is_i32 = |ty: ValType| matches!(ty, ValType::I32);
    match (name, ty.params().len(), ty.results().len()) {
        (ARGUMENTS, 0, 2) if ty.results().all(is_i32) => Some(Some(arguments)),
        (NEXT_EVENT, 0, 1) if ty.results().all(is_i32) => Some(Some(next_event)),
        ("debug", 1, 0) if ty.params().all(is_i32) => Some(Some(|_| Ok(Reply::Nothing))),
        // TinyGo's have other parameters.
        (_, 1, 0) if ty.params().all(is_i32) => Some(import(name).map(|_| call as Function)),
        _ => None,
    }
}

type Import = for<'g, 'a, 'c> fn(&mut Js<'g, 'a, 'c>) -> Result<()>;

/// What Go calls, with its parameters and results by where they are above the stack pointer.
const IMPORTS: [(&str, Import); 26] = [
    ("runtime.wasmExit", |js| {
        let code = js.int32(8)?.cast_unsigned();
        Err(js.guest.caller.data_mut().wasi.exit(code).into())
    }),
    ("runtime.wasmWrite", write),
    ("runtime.resetMemoryDataView", |_| Ok(())),
    ("runtime.nanotime1", nanotime),
    ("runtime.nanotime", nanotime),
    ("runtime.walltime", walltime),
    ("runtime.walltime1", walltime),
    ("runtime.scheduleTimeoutEvent", schedule),
    ("runtime.clearTimeoutEvent", |js| {
        let timer = js.int32(8)?.cast_unsigned();
        js.heap().clear(timer);
        Ok(())
    }),
    ("runtime.getRandomData", random),
    ("syscall/js.finalizeRef", |js| {
        let place = js.int32(8)?.cast_unsigned();
        js.heap().let_go(place);
        Ok(())
    }),
    ("syscall/js.stringVal", |js| {
        let text = js.text(8)?;
        let text = js.make_text(&text)?;
        js.set_value(24, &text, false)
    }),
    ("syscall/js.valueGet", |js| {
        let (of, name) = (js.value(8)?, js.text(16)?);
        let value = values::get(js, &of, &name);
        returned(js, value, 32)
    }),
    ("syscall/js.valueSet", |js| {
        let (of, name, value) = (js.value(8)?, js.text(16)?, js.value(32)?);
        js.set_property(&of, &name, value)
    }),
    ("syscall/js.valueDelete", |js| {
        let (of, name) = (js.value(8)?, js.text(16)?);
        let deleted = js.heap().delete(&of, &name);
        js.had(deleted)
    }),
    ("syscall/js.valueIndex", |js| {
        let (of, index) = (js.value(8)?, js.int64(16)?);
        let value = values::index(js, &of, index);
        returned(js, value, 24)
    }),
    ("syscall/js.valueSetIndex", |js| {
        let (of, index, value) = (js.value(8)?, js.int64(16)?, js.value(24)?);
        values::set_index(js, &of, index, value)
    }),
    ("syscall/js.valueCall", |js| {
        let (this, name, args) = (js.value(8)?, js.text(16)?, js.values(32)?);
        let result = values::call(js, &this, &name, &args);
        caught(js, result, 56)
    }),
    ("syscall/js.valueInvoke", |js| {
        let (function, args) = (js.value(8)?, js.values(16)?);
        let result = values::apply(js, &function, &Value::Undefined, &args);
        caught(js, result, 40)
    }),
    ("syscall/js.valueNew", |js| {
        let (class, args) = (js.value(8)?, js.values(16)?);
        let result = values::construct(js, &class, &args);
        caught(js, result, 40)
    }),
    ("syscall/js.valueLength", |js| {
        let value = js.value(8)?;
        let len = values::length(js, &value).or_else(|stop| ended(js, stop))?;
        js.set_int64(16, len)
    }),
    ("syscall/js.valuePrepareString", |js| {
        let value = js.value(8)?;
        let bytes = values::text_bytes(js, &value)?;
        js.set_value(16, &bytes, false)?;
        let len = values::length(js, &bytes).or_else(|stop| ended(js, stop))?;
        js.set_int64(24, len)
    }),
    ("syscall/js.valueLoadString", |js| {
        let value = js.value(8)?;
        copy_to_go(js, &value, 16).map(drop)
    }),
    ("syscall/js.valueInstanceOf", |js| {
        let (value, class) = (js.value(8)?, js.value(16)?);
        let is = values::is_instance(js, &value, &class);
        js.set(24, &[is.into()])
    }),
    ("syscall/js.copyBytesToGo", |js| {
        let from = js.value(32)?;
        let count = copy_to_go(js, &from, 8)?;
        copied(js, count)
    }),
    ("syscall/js.copyBytesToJS", copy_to_js),
];

fn import(name: &str) -> Option<Import> {
    IMPORTS.iter().find(|(other, _)| *other == name).map(|(_, import)| *import)
}

/// Any of them.
fn call(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let name = guest.what.split_once('.').map_or("", |(_, name)| name);
    let import = import(name).ok_or_else(|| guest.thrown("nobody knows what it does here"))?;
    import(&mut Js::new(guest)?)?;
    Ok(Reply::Nothing)
}

/// What was thrown where nobody catches it ends the execution.
fn ended<T>(js: &mut Js<'_, '_, '_>, stop: Stop) -> Result<T> {
    Err(match stop {
        Stop::Thrown(value) => {
            let text = texts::text_of(js, &value)?;
            js.guest.thrown(&text)
        }
        Stop::Ended(error) => error,
    })
}

/// Stores a result, unless something was thrown.
fn returned(js: &mut Js<'_, '_, '_>, value: Called, offset: u32) -> Result<()> {
    let value = value.or_else(|stop| ended(js, stop))?;
    let is_function = is_function(js, &value);
    js.set_value(offset, &value, is_function)
}

/// Stores a result, or what was thrown, and behind it which of these it is.
fn caught(js: &mut Js<'_, '_, '_>, result: Called, offset: u32) -> Result<()> {
    let (value, is_well) = match result {
        Ok(value) => (value, true),
        Err(Stop::Thrown(value)) => (value, false),
        Err(Stop::Ended(error)) => return Err(error),
    };
    let is_function = is_function(js, &value);
    js.set_value(offset, &value, is_function)?;
    js.set(offset + 8, &[is_well.into()])
}

/// Descriptor, address, length.
fn write(js: &mut Js<'_, '_, '_>) -> Result<()> {
    let small = |number: i64| u32::try_from(number).map_err(|_| wasmtime::Trap::MemoryOutOfBounds);
    let (fd, at, len) = (js.int64(8)?, small(js.int64(16)?)?, small(js.int32(24)?.into())?);
    let bytes = js.guest.bytes(at, len)?;
    // That it can't be written, nobody is told.
    _ = js.guest.caller.data_mut().wasi.write(fd as u32, &bytes, None);
    js.guest.caller.data_mut().wasi.charge_files()
}

fn nanotime(js: &mut Js<'_, '_, '_>) -> Result<()> {
    let now = js.guest.caller.data_mut().wasi.nanoseconds();
    js.set_int64(8, now.cast_signed())
}

/// Seconds, and nanoseconds of whole milliseconds.
fn walltime(js: &mut Js<'_, '_, '_>) -> Result<()> {
    let milliseconds = js.guest.caller.data_mut().wasi.nanoseconds() / 1_000_000;
    js.set_int64(8, (milliseconds / 1000).cast_signed())?;
    let nanoseconds = (milliseconds % 1000) as u32 * 1_000_000;
    js.set(16, &nanoseconds.to_le_bytes())
}

/// Milliseconds; the timer's number.
fn schedule(js: &mut Js<'_, '_, '_>) -> Result<()> {
    // What is less than one is one.
    let wait = js.int64(8)?.max(1).cast_unsigned().saturating_mul(1_000_000);
    let time = js.guest.caller.data_mut().wasi.elapsed().saturating_add(wait);
    let timer = js.heap().at(time, None);
    let timer = js.had(timer)?;
    js.set(16, &timer.to_le_bytes())
}

fn random(js: &mut Js<'_, '_, '_>) -> Result<()> {
    let (at, len) = js.slice(8)?;
    // Whether all of it is there comes first.
    let mut bytes = js.guest.bytes(at, len)?;
    js.worked(bytes.len() / 2)?;
    js.guest.caller.data_mut().wasi.random(&mut bytes);
    js.guest.write(at, &bytes)
}

/// Copies what fits of an array to a slice; how much, or `None` if it is no array.
fn copy_to_go(js: &mut Js<'_, '_, '_>, from: &Value, to: u32) -> Result<Option<usize>> {
    let (at, len) = js.slice(to)?;
    let Some(Body::Bytes(bytes)) = js.heap().object(from).map(|object| &object.body) else { return Ok(None) };
    let bytes = bytes[..bytes.len().min(len as usize)].to_vec();
    js.guest.write(at, &bytes)?;
    Ok(Some(bytes.len()))
}

/// Array, slice.
fn copy_to_js(js: &mut Js<'_, '_, '_>) -> Result<()> {
    let (to, bytes) = (js.value(8)?, js.bytes(16)?);
    let count = match js.heap().object_mut(&to).map(|object| &mut object.body) {
        Some(Body::Bytes(to)) => {
            let count = to.len().min(bytes.len());
            to[..count].copy_from_slice(&bytes[..count]);
            Some(count)
        }
        _ => None,
    };
    copied(js, count)
}

fn copied(js: &mut Js<'_, '_, '_>, count: Option<usize>) -> Result<()> {
    if let Some(count) = count {
        js.set_int64(40, count as i64)?;
    }
    js.set(48, &[count.is_some().into()])
}

/// Where arguments are written, and what may not be touched: Go's linker leaves that much.
const ARGUMENTS_START: u32 = 4096;
const ARGUMENTS_END: u32 = ARGUMENTS_START + 8192;

/// Writes the arguments and the environment, each ended by a zero byte, then their addresses.
fn arguments(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let (args, env) = guest.caller.data_mut().wasi.arguments();
    let (count, mut bytes, mut addresses) = (args.len() as i32, Vec::new(), Vec::new());
    for strings in [args, env] {
        for string in strings {
            addresses.push(u64::from(ARGUMENTS_START) + bytes.len() as u64);
            bytes.extend(string);
            bytes.push(0);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
        }
        addresses.push(0);
    }
    let at = ARGUMENTS_START + bytes.len() as u32;
    bytes.extend(addresses.into_iter().flat_map(u64::to_le_bytes));
    if bytes.len() as u32 >= ARGUMENTS_END - ARGUMENTS_START {
        return Err(guest.thrown("total length of command line and environment variables exceeds limit"));
    }
    guest.write(ARGUMENTS_START, &bytes)?;
    Ok(Reply::Values(vec![Val::I32(count), Val::I32(at.cast_signed())]))
}

/// What [`NEXT_EVENT`] returns where executions are to begin: the program is about to look at its input.
const WAITS_FOR_INPUT: i32 = 2;

/// Does what is to happen next, as far as it is not for the program to do.
fn next_event(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let mut js = Js::new(guest)?;
    loop {
        js.worked(128)?;
        let host = js.guest.caller.data_mut();
        let has_files = host.wasi.has_files();
        let next = host.wasi.js_heap().first().filter(|_| !host.has_input);
        if next.is_some_and(|task| table::looks_at_input(&task.function, has_files)) {
            return Ok(Reply::Integer(WAITS_FOR_INPUT));
        }
        let (function, args) = match js.heap().next() {
            Some(Due::Call(task)) => (Some(task.function), task.args),
            Some(Due::Wait(time, function)) => {
                js.guest.caller.data_mut().wasi.wait_until(time);
                (function, Vec::new())
            }
            None if js.heap().is_over => return Ok(Reply::Integer(0)),
            None => {
                js.heap().is_over = true;
                let event = js.make_with("Object", &[("id", Value::number(0.0))])?;
                js.set_property(&Value::Builtin(INSTANCE), PENDING, event)?;
                return Ok(Reply::Integer(1));
            }
        };
        let goes_on = match function {
            Some(function) => values::run(&mut js, &function, &args).or_else(|stop| ended(&mut js, stop))?,
            None => true,
        };
        if goes_on {
            return Ok(Reply::Integer(1));
        }
    }
}
