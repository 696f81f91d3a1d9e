//! What JavaScript gives modules that Emscripten made: the heap's growth, clocks, errors of system calls, calls through
//! `invoke_*`.
//!
//! Files are WASI's: in memory, and back as they were after every execution.

use crate::sandbox::imports::assemblyscript::Aborted;
use crate::sandbox::imports::personality::guest::{Function, Guest, Reply};
use crate::sandbox::imports::personality::system_calls;
use crate::sandbox::wasi::{Exit, MODULE};
use fuzzbox_instrument::recipe::GROWTH;
use wasmtime::{Extern, FuncType, Ref, Val};

type Result<T> = wasmtime::Result<T>;

/// Numbers of errors, negative as system calls return them.
const NO_ENTRY: i32 = -44;
const NO_CALL: i32 = -52;
const NO_TERMINAL: i32 = -59;

const PAGE_BYTES: u64 = 1 << 16;

/// The function of an import; `Some(None)` if it is JavaScript's, but nobody knows what it does.
pub(super) fn of(module: &str, name: &str, ty: &FuncType) -> Option<Option<Function>> {
    // What is 64 bits wide in WASI is two numbers for JavaScript.
    if module == MODULE || module == "wasi_unstable" {
        return match (name, ty.params().len()) {
            ("fd_seek", 5) => Some(Some(system_calls::seek)),
            ("fd_pread" | "fd_pwrite", 6) => Some(Some(|_| Ok(Reply::Integer(NO_SEEK)))),
            _ => None,
        };
    }
    if module != "env" {
        return None;
    }
    let exact = FUNCTIONS
        .iter()
        .chain(&system_calls::FUNCTIONS)
        .find(|(other, _)| *other == name)
        .map(|&(_, function)| function);
    let is_plain_abort = name == "abort" && ty.params().len() == 0;
    let prefixes: [(&str, Function); 6] = [
        ("invoke_", invoke),
        ("__syscall_", no_call),
        ("_embind_", nothing),
        ("_emval_", nothing),
        ("emscripten_console_", nothing),
        ("emscripten_asm_const", never),
    ];
    let prefixed = || prefixes.into_iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, function)| function);
    let known = if is_plain_abort { Some(abort as Function) } else { exact.or_else(prefixed) };
    let is_own = ["emscripten_", "_emscripten_", "__cxa_"].iter().any(|prefix| name.starts_with(prefix));
    match known {
        Some(_) if name == "abort" && !is_plain_abort => None,
        Some(function) => Some(Some(function)),
        None => is_own.then_some(None),
    }
}

/// `ESPIPE`.
const NO_SEEK: i32 = 70;

const FUNCTIONS: [(&str, Function); 45] = [
    ("_abort_js", abort),
    ("__abort_js", abort),
    ("__assert_fail", assert_fail),
    ("exit", exit),
    ("_exit", exit),
    ("emscripten_resize_heap", resize_heap),
    ("emscripten_get_heap_max", |_| Ok(Reply::Integer(i32::MAX))),
    ("emscripten_memcpy_big", copy),
    ("emscripten_memcpy_js", copy),
    ("_emscripten_memcpy_js", copy),
    ("__memcpy_js", copy),
    ("emscripten_get_now", |guest| Ok(Reply::Float(guest.caller.data_mut().wasi.milliseconds(false)))),
    ("emscripten_date_now", |guest| Ok(Reply::Float(guest.caller.data_mut().wasi.milliseconds(true)))),
    ("emscripten_get_now_res", |_| Ok(Reply::Float(1e3))),
    ("_emscripten_get_now_is_monotonic", |_| Ok(Reply::Integer(1))),
    ("emscripten_notify_memory_growth", nothing),
    ("_emscripten_runtime_keepalive_clear", nothing),
    ("setTempRet0", nothing),
    ("getTempRet0", nothing),
    ("_emscripten_throw_longjmp", unwind),
    ("emscripten_longjmp", unwind),
    ("__syscall_readlinkat", no_entry),
    ("__syscall_readlink", no_entry),
    ("__syscall_faccessat", no_entry),
    ("__syscall_access", no_entry),
    ("__syscall_fcntl64", nothing),
    ("__syscall_ioctl", |_| Ok(Reply::Integer(NO_TERMINAL))),
    ("__syscall_getcwd", current_directory),
    ("_mmap_js", no_call),
    ("_munmap_js", nothing),
    ("_setitimer_js", nothing),
    ("_tzset_js", nothing),
    ("__tzset_js", nothing),
    ("_localtime_js", nothing),
    ("_gmtime_js", nothing),
    ("_mktime_js", nothing),
    ("_timegm_js", nothing),
    ("tzset", nothing),
    ("strftime", nothing),
    ("strftime_l", nothing),
    ("strptime", nothing),
    ("__call_sighandler", nothing),
    ("__cxa_throw", throw),
    ("emscripten_throw_number", throw),
    ("emscripten_throw_string", throw),
];

fn nothing(_: &mut Guest<'_, '_>) -> Result<Reply> {
    Ok(Reply::Nothing)
}

fn no_entry(_: &mut Guest<'_, '_>) -> Result<Reply> {
    Ok(Reply::Integer(NO_ENTRY))
}

fn no_call(_: &mut Guest<'_, '_>) -> Result<Reply> {
    Ok(Reply::Integer(NO_CALL))
}

fn never(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    Err(guest.thrown("it runs JavaScript, and there is none"))
}

fn abort(_: &mut Guest<'_, '_>) -> Result<Reply> {
    Err(Aborted.into())
}

/// What is wrong, file, line, function.
fn assert_fail(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let text = guest.text_to_zero(guest.number(0))?;
    let file = guest.text_to_zero(guest.number(1))?;
    let line = guest.number(2);
    guest.say(&format!("Assertion failed: {text} ({file}: {line})\n"))?;
    Err(Aborted.into())
}

fn exit(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    Err(Exit(guest.number(0)).into())
}

/// Grows the memory to so many bytes: 1 if it did.
fn resize_heap(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let Some(grow) = guest.export(GROWTH) else { return Ok(Reply::Integer(0)) };
    let wanted = u64::from(guest.number(0)).div_ceil(PAGE_BYTES);
    let pages = u64::from(guest.call(grow, &[Val::I32(0)])?);
    let more = u32::try_from(wanted.saturating_sub(pages)).unwrap_or(u32::MAX);
    let before = guest.call(grow, &[Val::I32(more.cast_signed())])?;
    Ok(Reply::Integer((before != u32::MAX).into()))
}

fn copy(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let (to, from, len) = (guest.number(0), guest.number(1), guest.number(2));
    let bytes = guest.bytes(from, len)?;
    guest.write(to, &bytes)?;
    Ok(Reply::Integer(to.cast_signed()))
}

/// `/`, and its length with its end.
fn current_directory(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    guest.write(guest.number(0), b"/\0")?;
    Ok(Reply::Integer(2))
}

/// The frames between would be left without a word to the code that counts in them.
fn unwind(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    Err(guest.thrown("longjmp by JavaScript: build with wasm's own, -sSUPPORT_LONGJMP=wasm"))
}

/// What the caller in JavaScript is told, as by an error that is returned, such as a C++ exception in a program that
/// catches none.
fn throw(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    Err(guest.told("an exception"))
}

/// Calls an element of the table. What the guest throws in there is not caught.
fn invoke(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let table = guest.caller.get_export("__indirect_function_table").and_then(Extern::into_table);
    let table = table.ok_or_else(|| guest.thrown("the module exports no __indirect_function_table"))?;
    let index = guest.bits(0);
    let function = match table.get(&mut *guest.caller, index) {
        Some(Ref::Func(Some(function))) => function,
        _ => return Err(wasmtime::Trap::IndirectCallToNull.into()),
    };
    let types: Vec<_> = function.ty(&*guest.caller).params().collect();
    let params = guest.fitted(guest.params.get(1..).unwrap_or_default(), types)?;
    guest.call_any(function, &params).map(Reply::Values)
}
