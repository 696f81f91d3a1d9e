//! Functions of JavaScript's and Node's that are not about files.

use super::files::{path, resolved};
use super::frame::{Called, Js, arg};
use super::texts::text_of;
use crate::sandbox::wasi::js_heap::{Body, Value};
use std::sync::Arc;

/// More elements than this are not made by a number.
const LENGTH_MAX: f64 = 67_108_864.0;
/// More elements of a list.
const LIST_MAX: f64 = 1_048_576.0;

type Args<'s> = &'s [Value];

/// `new Object()`.
pub(super) fn object(js: &mut Js<'_, '_, '_>, _: &Value, args: Args<'_>) -> Called {
    match arg(args, 0) {
        object @ (Value::Object(_) | Value::Builtin(_)) => Ok(object.clone()),
        _ => Ok(js.make("Object", Body::Plain)?),
    }
}

/// A length that is given, if it can be one.
fn length(js: &mut Js<'_, '_, '_>, number: f64, max: f64) -> Result<usize, super::frame::Stop> {
    if number < 0.0 || number > max || number.fract() != 0.0 {
        return Err(js.throws("RangeError", "invalid array length"));
    }
    Ok(number as usize)
}

/// `new Array(length)`, or with elements.
pub(super) fn array(js: &mut Js<'_, '_, '_>, _: &Value, args: Args<'_>) -> Called {
    let list = match args {
        [Value::Number(bits)] => vec![Value::Undefined; length(js, f64::from_bits(*bits), LIST_MAX)?],
        _ => args.to_vec(),
    };
    Ok(js.make("Array", Body::List(list))?)
}

pub(super) fn is_array(js: &mut Js<'_, '_, '_>, _: &Value, args: Args<'_>) -> Called {
    let body = js.heap().object(arg(args, 0)).map(|object| &object.body);
    Ok(Value::Bool(matches!(body, Some(Body::List(_)))))
}

/// `list.push(...)`: the new length.
pub(super) fn push(js: &mut Js<'_, '_, '_>, this: &Value, args: Args<'_>) -> Called {
    let taken = js.heap().take(size_of_val(args));
    js.had(taken)?;
    let len = match js.heap().object_mut(this).map(|object| &mut object.body) {
        Some(Body::List(list)) => {
            list.extend_from_slice(args);
            list.len()
        }
        _ => 0,
    };
    Ok(Value::number(len as f64))
}

/// `Object.keys(...)`: those that were set, in the order of their names.
pub(super) fn keys(js: &mut Js<'_, '_, '_>, _: &Value, args: Args<'_>) -> Called {
    let object = js.heap().object(arg(args, 0));
    let names: Vec<Arc<str>> = object.map(|object| object.properties.keys().cloned().collect()).unwrap_or_default();
    Ok(js.make("Array", Body::List(names.into_iter().map(Value::Text).collect()))?)
}

/// `new Uint8Array(...)`: of a length, or a copy.
pub(super) fn bytes(js: &mut Js<'_, '_, '_>, _: &Value, args: Args<'_>) -> Called {
    let bytes = match arg(args, 0) {
        Value::Number(bits) => {
            let len = length(js, f64::from_bits(*bits), LENGTH_MAX)?;
            vec![0; len]
        }
        given => match js.heap().object(given).map(|object| &object.body) {
            Some(Body::Bytes(bytes)) => bytes.clone(),
            Some(Body::List(list)) => list.iter().map(|value| value.as_number() as i64 as u8).collect(),
            _ => Vec::new(),
        },
    };
    Ok(js.make("Uint8Array", Body::Bytes(bytes))?)
}

/// `bytes.subarray(from, to)` and `slice`: a copy, which is the same as long as neither is changed.
pub(super) fn part(js: &mut Js<'_, '_, '_>, this: &Value, args: Args<'_>) -> Called {
    let Some(Body::Bytes(all)) = js.heap().object(this).map(|object| &object.body) else {
        return Err(js.throws("TypeError", "this is not a typed array"));
    };
    let end = |value: &Value, missing: usize| match value {
        Value::Number(bits) if f64::from_bits(*bits) < 0.0 => all.len().saturating_sub(-f64::from_bits(*bits) as usize),
        Value::Number(bits) => (f64::from_bits(*bits) as usize).min(all.len()),
        _ => missing,
    };
    let (from, to) = (end(arg(args, 0), 0), end(arg(args, 1), all.len()));
    let part = all[from..to.max(from)].to_vec();
    Ok(js.make("Uint8Array", Body::Bytes(part))?)
}

fn error(js: &mut Js<'_, '_, '_>, class: &'static str, args: Args<'_>) -> Called {
    let message = match arg(args, 0) {
        Value::Undefined => String::new(),
        value => text_of(js, value)?,
    };
    Ok(js.error(class, &message)?)
}

pub(super) fn plain_error(js: &mut Js<'_, '_, '_>, _: &Value, args: Args<'_>) -> Called {
    error(js, "Error", args)
}

pub(super) fn type_error(js: &mut Js<'_, '_, '_>, _: &Value, args: Args<'_>) -> Called {
    error(js, "TypeError", args)
}

pub(super) fn range_error(js: &mut Js<'_, '_, '_>, _: &Value, args: Args<'_>) -> Called {
    error(js, "RangeError", args)
}

/// `toString()` of anything, and `String(...)`.
pub(super) fn to_string(js: &mut Js<'_, '_, '_>, this: &Value, args: Args<'_>) -> Called {
    let text = text_of(js, args.first().unwrap_or(this))?;
    Ok(js.make_text(&text)?)
}

/// `new Date()`, of now.
pub(super) fn date(js: &mut Js<'_, '_, '_>, _: &Value, args: Args<'_>) -> Called {
    let time = match arg(args, 0) {
        Value::Number(bits) => f64::from_bits(*bits),
        _ => milliseconds(js, true),
    };
    Ok(js.make_with("Date", &[("(time)", Value::number(time))])?)
}

pub(super) fn time_of_date(js: &mut Js<'_, '_, '_>, this: &Value, _: Args<'_>) -> Called {
    let time = js.heap().object(this).and_then(|date| date.properties.get("(time)").cloned());
    Ok(time.unwrap_or(Value::number(f64::NAN)))
}

/// Milliseconds of a clock, whole ones since 1970.
fn milliseconds(js: &mut Js<'_, '_, '_>, since_1970: bool) -> f64 {
    let now = js.guest.caller.data_mut().wasi.milliseconds(since_1970);
    if since_1970 { now.floor() } else { now }
}

pub(super) fn now(js: &mut Js<'_, '_, '_>, _: &Value, _: Args<'_>) -> Called {
    Ok(Value::number(milliseconds(js, true)))
}

pub(super) fn performance_now(js: &mut Js<'_, '_, '_>, _: &Value, _: Args<'_>) -> Called {
    Ok(Value::number(milliseconds(js, false)))
}

pub(super) fn random(js: &mut Js<'_, '_, '_>, _: &Value, _: Args<'_>) -> Called {
    let mut bytes = [0; 8];
    js.guest.caller.data_mut().wasi.random(&mut bytes);
    Ok(Value::number((u64::from_le_bytes(bytes) >> 11) as f64 / (1_u64 << 53) as f64))
}

/// `crypto.getRandomValues(bytes)`.
pub(super) fn random_bytes(js: &mut Js<'_, '_, '_>, _: &Value, args: Args<'_>) -> Called {
    let len = match js.heap().object(arg(args, 0)).map(|object| &object.body) {
        Some(Body::Bytes(bytes)) => bytes.len(),
        _ => return Err(js.throws("TypeError", "the \"array\" argument must be an instance of Uint8Array")),
    };
    js.worked(len)?;
    let mut bytes = vec![0; len];
    js.guest.caller.data_mut().wasi.random(&mut bytes);
    if let Some(object) = js.heap().object_mut(arg(args, 0)) {
        object.body = Body::Bytes(bytes);
    }
    Ok(arg(args, 0).clone())
}

fn console(js: &mut Js<'_, '_, '_>, args: Args<'_>, fd: u32) -> Called {
    let mut line = String::new();
    for (index, value) in args.iter().enumerate() {
        line.push_str(if index > 0 { " " } else { "" });
        line.push_str(&text_of(js, value)?);
    }
    line.push('\n');
    js.worked(line.len())?;
    // Where nobody listens, nothing is said.
    _ = js.guest.caller.data_mut().wasi.write(fd, line.as_bytes(), None);
    Ok(Value::Undefined)
}

pub(super) fn log(js: &mut Js<'_, '_, '_>, _: &Value, args: Args<'_>) -> Called {
    console(js, args, 1)
}

pub(super) fn log_error(js: &mut Js<'_, '_, '_>, _: &Value, args: Args<'_>) -> Called {
    console(js, args, 2)
}

pub(super) fn working_directory(js: &mut Js<'_, '_, '_>, _: &Value, _: Args<'_>) -> Called {
    let directory = js.heap().directory.clone();
    Ok(Value::Text(directory.unwrap_or_else(|| "/".into())))
}

/// `path.resolve(...)`: the last one that begins at the root, and what follows it.
pub(super) fn resolve(js: &mut Js<'_, '_, '_>, _: &Value, args: Args<'_>) -> Called {
    let mut whole = js.heap().directory.clone().map_or_else(|| "/".to_owned(), |directory| directory.to_string());
    for value in args {
        let path = match value {
            Value::Text(path) => path,
            other => {
                path(js, other)?;
                continue;
            }
        };
        js.worked(path.len())?;
        whole = if path.starts_with('/') { path.to_string() } else { format!("{whole}/{path}") };
    }
    let whole = resolved(&whole);
    Ok(js.make_text(&whole)?)
}

/// `process.exit(code)`.
pub(super) fn exit(js: &mut Js<'_, '_, '_>, _: &Value, args: Args<'_>) -> Called {
    let code = arg(args, 0).as_number() as i64 as u32;
    Err(wasmtime::Error::from(js.guest.caller.data_mut().wasi.exit(code)).into())
}

/// `setTimeout(callback, milliseconds, ...)`, without what it would be given.
pub(super) fn set_timeout(js: &mut Js<'_, '_, '_>, _: &Value, args: Args<'_>) -> Called {
    let callback @ Value::Object(_) = arg(args, 0) else {
        return Err(js.throws("TypeError", "the \"callback\" argument must be of type function"));
    };
    let wait = arg(args, 1).as_number().max(1.0) * 1e6;
    let time = js.guest.caller.data_mut().wasi.elapsed().saturating_add(wait as u64);
    let timer = js.heap().at(time, Some(callback.clone()));
    Ok(Value::number(f64::from(js.had(timer)?)))
}

pub(super) fn clear_timeout(js: &mut Js<'_, '_, '_>, _: &Value, args: Args<'_>) -> Called {
    let timer = arg(args, 0).as_number() as i64 as u32;
    js.heap().clear(timer);
    Ok(Value::Undefined)
}

pub(super) fn queue_microtask(js: &mut Js<'_, '_, '_>, _: &Value, args: Args<'_>) -> Called {
    js.later(arg(args, 0).clone(), Vec::new())?;
    Ok(Value::Undefined)
}

/// A function by which the program's own is called.
pub(super) fn make_callback(js: &mut Js<'_, '_, '_>, _: &Value, args: Args<'_>) -> Called {
    let number = arg(args, 0).as_number() as u32;
    Ok(js.make("Function", Body::Callback(number))?)
}

pub(super) fn zero(_: &mut Js<'_, '_, '_>, _: &Value, _: Args<'_>) -> Called {
    Ok(Value::number(0.0))
}
