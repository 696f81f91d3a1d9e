//! Node's `fs`, on WASI's files in memory: what is done is done later, and then the callback is called.

use super::frame::Answer;
use super::frame::{Called, Js, Later, Stop, arg};
use crate::sandbox::wasi::Wasi;
use crate::sandbox::wasi::js_heap::{Body, Value};
use crate::sandbox::wasi::node::error_name;
use crate::sandbox::wasi::posix::FileStatus;

/// The directory that paths are relative to.
const CURRENT: i32 = -100;

/// Notes what is to be done, if the last parameter is a callback.
pub(super) fn ask(js: &mut Js<'_, '_, '_>, function: &Value, args: &[Value]) -> Called {
    if !matches!(args.last(), Some(Value::Object(_))) {
        return Err(js.throws("TypeError", "the \"cb\" argument must be of type function"));
    }
    js.later(function.clone(), args.to_vec())?;
    Ok(Value::Undefined)
}

/// Does what was noted: the callback, and what it is told.
pub(super) fn answer(
    js: &mut Js<'_, '_, '_>,
    name: &str,
    does: Later,
    args: &[Value],
) -> wasmtime::Result<(Value, Vec<Value>)> {
    let (callback, args) = args.split_last().map_or((Value::Undefined, args), |(last, args)| (last.clone(), args));
    let answer = does(js, args);
    js.guest.caller.data_mut().wasi.charge_files()?;
    let told = match answer {
        Ok(Ok(value)) => vec![Value::Null, value],
        Ok(Err(number)) => vec![coded(js, number, name)?],
        Err(Stop::Thrown(error)) => vec![error],
        Err(Stop::Ended(error)) => return Err(error),
    };
    Ok((callback, told))
}

/// The error of this number.
fn coded(js: &mut Js<'_, '_, '_>, number: i32, name: &str) -> wasmtime::Result<Value> {
    let code = error_name(number);
    let error = js.error("Error", &format!("{code}, {name}"))?;
    let code = js.make_text(code)?;
    js.set_property(&error, "code", code)?;
    Ok(error)
}

fn wasi<'j>(js: &'j mut Js<'_, '_, '_>) -> &'j mut Wasi {
    &mut js.guest.caller.data_mut().wasi
}

/// A path that begins at the root.
pub(super) fn path(js: &mut Js<'_, '_, '_>, value: &Value) -> Result<Vec<u8>, Stop> {
    let Value::Text(path) = value else {
        return Err(js.throws("TypeError", "the \"path\" argument must be of type string"));
    };
    js.worked(path.len())?;
    Ok(match js.heap().directory.clone() {
        Some(directory) if !path.starts_with('/') => format!("{directory}/{path}").into_bytes(),
        _ => path.as_bytes().to_vec(),
    })
}

/// A descriptor; one that is none is none that is open.
fn descriptor(args: &[Value]) -> u32 {
    arg(args, 0).as_number() as i64 as u32
}

fn done(result: Result<(), i32>) -> Answer {
    Ok(result.map(|()| Value::Undefined))
}

/// Path, flags, permissions.
pub(super) fn open(js: &mut Js<'_, '_, '_>, args: &[Value]) -> Answer {
    let path = path(js, arg(args, 0))?;
    let flags = arg(args, 1).as_number() as u32;
    Ok(wasi(js).open(CURRENT, &path, flags).map(|fd| Value::number(f64::from(fd))))
}

pub(super) fn close(js: &mut Js<'_, '_, '_>, args: &[Value]) -> Answer {
    done(wasi(js).close(descriptor(args)))
}

/// The part of an array that `read` and `write` are given: descriptor, array, start, length, position.
fn part(js: &mut Js<'_, '_, '_>, args: &[Value]) -> Result<(usize, usize, Option<u64>), Stop> {
    let len = match js.heap().object(arg(args, 1)).map(|object| &object.body) {
        Some(Body::Bytes(bytes)) => bytes.len(),
        _ => return Err(js.throws("TypeError", "the \"buffer\" argument must be an instance of Uint8Array")),
    };
    let start = arg(args, 2).as_number() as usize;
    let count = match arg(args, 3) {
        Value::Number(bits) => f64::from_bits(*bits) as usize,
        _ => len.saturating_sub(start),
    };
    if start.checked_add(count).is_none_or(|end| end > len) {
        return Err(js.throws("RangeError", "the value of \"length\" is out of range"));
    }
    let position = arg(args, 4).as_number();
    js.worked(count / 8)?;
    Ok((start, count, (position >= 0.0).then_some(position as u64)))
}

pub(super) fn read(js: &mut Js<'_, '_, '_>, args: &[Value]) -> Answer {
    let (start, count, position) = part(js, args)?;
    let bytes = match wasi(js).read(descriptor(args), count, position) {
        Ok(bytes) => bytes,
        Err(error) => return Ok(Err(error)),
    };
    if let Some(Body::Bytes(to)) = js.heap().object_mut(arg(args, 1)).map(|object| &mut object.body) {
        to[start..start + bytes.len()].copy_from_slice(&bytes);
    }
    Ok(Ok(Value::number(bytes.len() as f64)))
}

pub(super) fn write(js: &mut Js<'_, '_, '_>, args: &[Value]) -> Answer {
    let (start, count, position) = part(js, args)?;
    let bytes = match js.heap().object(arg(args, 1)).map(|object| &object.body) {
        Some(Body::Bytes(bytes)) => bytes[start..start + count].to_vec(),
        _ => Vec::new(),
    };
    Ok(wasi(js).write(descriptor(args), &bytes, position).map(|count| Value::number(count as f64)))
}

/// `writeSync`, which returns what the others tell a callback.
pub(super) fn write_now(js: &mut Js<'_, '_, '_>, args: &[Value]) -> Called {
    let written = write(js, args)?;
    js.guest.caller.data_mut().wasi.charge_files()?;
    written.map_err(|number| js.throws("Error", error_name(number)))
}

/// A status as `fs.Stats` has it.
fn status(js: &mut Js<'_, '_, '_>, status: Result<FileStatus, i32>) -> Answer {
    const BLOCK: u64 = 512;
    let status = match status {
        Ok(status) => status,
        Err(error) => return Ok(Err(error)),
    };
    let [read, written, changed] = status.times.map(|time| (time / 1_000_000) as f64);
    let numbers = [
        ("dev", 1.0),
        ("ino", status.inode as f64),
        ("mode", f64::from(status.mode)),
        ("nlink", f64::from(status.links)),
        ("uid", 0.0),
        ("gid", 0.0),
        ("rdev", 0.0),
        ("size", status.size as f64),
        ("blksize", 4096.0),
        ("blocks", status.size.div_ceil(BLOCK) as f64),
        ("atimeMs", read),
        ("mtimeMs", written),
        ("ctimeMs", changed),
    ];
    let properties = numbers.map(|(name, number)| (name, Value::number(number)));
    Ok(Ok(js.make_with("Stats", &properties)?))
}

pub(super) fn stat(js: &mut Js<'_, '_, '_>, args: &[Value]) -> Answer {
    let path = path(js, arg(args, 0))?;
    let found = wasi(js).status(CURRENT, &path, true);
    status(js, found)
}

pub(super) fn lstat(js: &mut Js<'_, '_, '_>, args: &[Value]) -> Answer {
    let path = path(js, arg(args, 0))?;
    let found = wasi(js).status(CURRENT, &path, false);
    status(js, found)
}

pub(super) fn fstat(js: &mut Js<'_, '_, '_>, args: &[Value]) -> Answer {
    let found = wasi(js).descriptor_status(descriptor(args));
    status(js, found)
}

/// Permissions and owners are the same for all, so that there is a file is all that matters.
pub(super) fn exists(js: &mut Js<'_, '_, '_>, args: &[Value]) -> Answer {
    let path = path(js, arg(args, 0))?;
    done(wasi(js).status(CURRENT, &path, true).map(drop))
}

/// As [`exists`], of what is open.
pub(super) fn is_open(js: &mut Js<'_, '_, '_>, args: &[Value]) -> Answer {
    done(wasi(js).descriptor_status(descriptor(args)).map(drop))
}

pub(super) fn readdir(js: &mut Js<'_, '_, '_>, args: &[Value]) -> Answer {
    let path = path(js, arg(args, 0))?;
    let names = match wasi(js).names(&path) {
        Ok(names) => names,
        Err(error) => return Ok(Err(error)),
    };
    let mut list = Vec::new();
    for name in names {
        list.push(js.make_text(&String::from_utf8_lossy(&name))?);
    }
    Ok(Ok(js.make("Array", Body::List(list))?))
}

pub(super) fn mkdir(js: &mut Js<'_, '_, '_>, args: &[Value]) -> Answer {
    let path = path(js, arg(args, 0))?;
    done(wasi(js).make_dir(CURRENT, &path))
}

pub(super) fn rmdir(js: &mut Js<'_, '_, '_>, args: &[Value]) -> Answer {
    let path = path(js, arg(args, 0))?;
    done(wasi(js).remove(CURRENT, &path, true))
}

pub(super) fn unlink(js: &mut Js<'_, '_, '_>, args: &[Value]) -> Answer {
    let path = path(js, arg(args, 0))?;
    done(wasi(js).remove(CURRENT, &path, false))
}

pub(super) fn rename(js: &mut Js<'_, '_, '_>, args: &[Value]) -> Answer {
    let (from, to) = (path(js, arg(args, 0))?, path(js, arg(args, 1))?);
    done(wasi(js).rename(&from, &to))
}

pub(super) fn link(js: &mut Js<'_, '_, '_>, args: &[Value]) -> Answer {
    let (from, to) = (path(js, arg(args, 0))?, path(js, arg(args, 1))?);
    done(wasi(js).link(&from, &to))
}

/// Target, path.
pub(super) fn symlink(js: &mut Js<'_, '_, '_>, args: &[Value]) -> Answer {
    let to = path(js, arg(args, 1))?;
    let Value::Text(target) = arg(args, 0) else {
        return Err(js.throws("TypeError", "the \"target\" argument must be of type string"));
    };
    done(wasi(js).make_link(target.as_bytes(), &to))
}

pub(super) fn readlink(js: &mut Js<'_, '_, '_>, args: &[Value]) -> Answer {
    let path = path(js, arg(args, 0))?;
    match wasi(js).read_link(&path) {
        Ok(target) => Ok(Ok(js.make_text(&String::from_utf8_lossy(&target))?)),
        Err(error) => Ok(Err(error)),
    }
}

/// Path, length.
pub(super) fn truncate(js: &mut Js<'_, '_, '_>, args: &[Value]) -> Answer {
    let path = path(js, arg(args, 0))?;
    done(wasi(js).cut(&path, arg(args, 1).as_number() as u64))
}

/// Descriptor, length.
pub(super) fn ftruncate(js: &mut Js<'_, '_, '_>, args: &[Value]) -> Answer {
    done(wasi(js).cut_open(descriptor(args), arg(args, 1).as_number() as u64))
}

/// Path, and two times in seconds.
pub(super) fn utimes(js: &mut Js<'_, '_, '_>, args: &[Value]) -> Answer {
    let path = path(js, arg(args, 0))?;
    let nanoseconds = |index| (arg(args, index).as_number() * 1e9) as u64;
    done(wasi(js).set_times(&path, [nanoseconds(1), nanoseconds(2)]))
}

/// Whether the type of a file, in its mode, is this one.
pub(super) fn is_of_type(js: &mut Js<'_, '_, '_>, this: &Value, ty: u32) -> Called {
    let mode =
        js.heap().object(this).and_then(|object| object.properties.get("mode")).map_or(f64::NAN, Value::as_number);
    Ok(Value::Bool(mode as u32 & 0o170_000 == ty))
}

/// Goes to another directory.
pub(super) fn chdir(js: &mut Js<'_, '_, '_>, args: &[Value]) -> Called {
    const NO_DIR: i32 = 54;
    let path = path(js, arg(args, 0))?;
    let found = wasi(js).status(CURRENT, &path, true);
    wasi(js).charge_files()?;
    let is_dir = found.and_then(|status| if status.mode & 0o040_000 != 0 { Ok(()) } else { Err(NO_DIR) });
    if let Err(number) = is_dir {
        return Err(Stop::Thrown(coded(js, number, "chdir")?));
    }
    let absolute = resolved(&String::from_utf8_lossy(&path));
    js.worked(absolute.len())?;
    js.heap().directory = (absolute != "/").then(|| absolute.into());
    Ok(Value::Undefined)
}

/// A path without `.`, `..` and what is too many of `/`.
pub(super) fn resolved(path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}
