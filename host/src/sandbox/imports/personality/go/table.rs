//! What is there from the start, by its path from what is global.

use super::files::{self, is_of_type};
use super::frame;
use super::frame::Native;
use super::natives;
use crate::sandbox::wasi::js_heap::Value;

/// What a builtin is.
#[derive(Clone, Copy)]
pub(super) enum Builtin {
    /// With properties that have paths of their own.
    Object,
    Function(Native),
    /// A function that is called by `new`, too.
    Class(Native),
    /// A function that tells a callback what it found out.
    Later(frame::Later),
    Number(f64),
    Text(&'static str),
    Null,
    No,
}

use Builtin::{Class, Function, Later, No, Null, Number, Object, Text};

macro_rules! file {
    ($path:literal, $does:path) => {
        (concat!("fs.", $path), Later($does))
    };
}

/// All of it. The first is what is global, the second the instance of `Go`.
pub(super) const TABLE: [(&str, Builtin); 93] = [
    ("", Object),
    ("(go)", Object),
    ("(go)._makeFuncWrapper", Function(natives::make_callback)),
    ("(go)._pendingEvent", Null),
    ("(go).exited", No),
    ("Array", Class(natives::array)),
    ("Array.isArray", Function(natives::is_array)),
    ("Array.prototype.push", Function(natives::push)),
    ("Date", Class(natives::date)),
    ("Date.now", Function(natives::now)),
    ("Date.prototype.getTime", Function(natives::time_of_date)),
    ("Date.prototype.getTimezoneOffset", Function(natives::zero)),
    ("Error", Class(natives::plain_error)),
    ("Math", Object),
    ("Math.random", Function(natives::random)),
    ("Object", Class(natives::object)),
    ("Object.keys", Function(natives::keys)),
    ("Object.prototype.toString", Function(|js, this, _| natives::to_string(js, this, &[]))),
    ("RangeError", Class(natives::range_error)),
    ("Stats.prototype.isDirectory", Function(|js, this, _| is_of_type(js, this, 0o040_000))),
    ("Stats.prototype.isFile", Function(|js, this, _| is_of_type(js, this, 0o100_000))),
    ("Stats.prototype.isSymbolicLink", Function(|js, this, _| is_of_type(js, this, 0o120_000))),
    ("String", Function(natives::to_string)),
    ("TypeError", Class(natives::type_error)),
    ("Uint8Array", Class(natives::bytes)),
    ("Uint8Array.prototype.slice", Function(natives::part)),
    ("Uint8Array.prototype.subarray", Function(natives::part)),
    ("clearTimeout", Function(natives::clear_timeout)),
    ("console", Object),
    ("console.debug", Function(natives::log)),
    ("console.error", Function(natives::log_error)),
    ("console.info", Function(natives::log)),
    ("console.log", Function(natives::log)),
    ("console.warn", Function(natives::log_error)),
    ("crypto", Object),
    ("crypto.getRandomValues", Function(natives::random_bytes)),
    ("fs", Object),
    file!("chmod", files::exists),
    file!("chown", files::exists),
    file!("close", files::close),
    file!("fchmod", files::is_open),
    file!("fchown", files::is_open),
    file!("fstat", files::fstat),
    file!("fsync", files::is_open),
    file!("ftruncate", files::ftruncate),
    file!("lchown", files::exists),
    file!("link", files::link),
    file!("lstat", files::lstat),
    file!("mkdir", files::mkdir),
    file!("open", files::open),
    file!("read", files::read),
    file!("readdir", files::readdir),
    file!("readlink", files::readlink),
    file!("rename", files::rename),
    file!("rmdir", files::rmdir),
    file!("stat", files::stat),
    file!("symlink", files::symlink),
    file!("truncate", files::truncate),
    file!("unlink", files::unlink),
    file!("utimes", files::utimes),
    file!("write", files::write),
    ("fs.writeSync", Function(|js, _, args| files::write_now(js, args))),
    ("fs.constants", Object),
    ("fs.constants.O_APPEND", Number(1024.0)),
    ("fs.constants.O_CREAT", Number(64.0)),
    ("fs.constants.O_DIRECTORY", Number(65536.0)),
    ("fs.constants.O_EXCL", Number(128.0)),
    ("fs.constants.O_RDONLY", Number(0.0)),
    ("fs.constants.O_RDWR", Number(2.0)),
    ("fs.constants.O_SYNC", Number(1_052_672.0)),
    ("fs.constants.O_TRUNC", Number(512.0)),
    ("fs.constants.O_WRONLY", Number(1.0)),
    ("path", Object),
    ("path.resolve", Function(natives::resolve)),
    ("performance", Object),
    ("performance.now", Function(natives::performance_now)),
    ("process", Object),
    ("process.arch", Text("wasm32")),
    ("process.argv0", Text("node")),
    ("process.chdir", Function(|js, _, args| files::chdir(js, args))),
    ("process.cwd", Function(natives::working_directory)),
    ("process.exit", Function(natives::exit)),
    ("process.getegid", Function(natives::zero)),
    ("process.geteuid", Function(natives::zero)),
    ("process.getgid", Function(natives::zero)),
    ("process.getgroups", Function(|js, _, _| natives::array(js, &Value::Undefined, &[]))),
    ("process.getuid", Function(natives::zero)),
    ("process.pid", Number(1.0)),
    ("process.platform", Text("linux")),
    ("process.ppid", Number(0.0)),
    ("process.umask", Function(|_, _, _| Ok(Value::number(f64::from(0o022))))),
    ("queueMicrotask", Function(natives::queue_microtask)),
    ("setTimeout", Function(natives::set_timeout)),
];

/// A builtin by its place.
pub(super) fn builtin(place: u16) -> (&'static str, Builtin) {
    TABLE.get(usize::from(place)).copied().unwrap_or(("", Object))
}

/// Whether a function may find out something about the input, which is standard input, or in files.
pub(super) fn looks_at_input(function: &Value, has_files: bool) -> bool {
    let Value::Builtin(place) = function else { return false };
    match builtin(*place) {
        ("fs.write", _) => false,
        (path, Later(_)) => has_files || path == "fs.read",
        _ => false,
    }
}

/// A property of a builtin.
pub(super) fn property(of: u16, name: &str) -> Option<Value> {
    let (path, _) = builtin(of);
    if of == crate::sandbox::wasi::js_heap::GLOBAL && matches!(name, "globalThis" | "global") {
        return Some(Value::Builtin(of));
    }
    let inner = |other: &str| match path {
        "" => other == name,
        _ => other.strip_prefix(path).and_then(|rest| rest.strip_prefix('.')) == Some(name),
    };
    found(inner).filter(|_| !name.is_empty() && !name.contains('.'))
}

/// A method of an instance of a class.
pub(super) fn method(class: &str, name: &str) -> Option<Value> {
    let of = |class: &str| {
        let rest =
            |path: &str| path.strip_prefix(class).and_then(|rest| rest.strip_prefix(".prototype.")) == Some(name);
        found(rest)
    };
    of(class).or_else(|| of("Object"))
}

fn found(is: impl Fn(&str) -> bool) -> Option<Value> {
    let place = TABLE.iter().position(|(path, _)| is(path))?;
    Some(match TABLE[place].1 {
        Object | Function(_) | Class(_) | Later(_) => Value::Builtin(place as u16),
        Number(number) => Value::number(number),
        Text(text) => Value::Text(text.into()),
        Null => Value::Null,
        No => Value::Bool(false),
    })
}
