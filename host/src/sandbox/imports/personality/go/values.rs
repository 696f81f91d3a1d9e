//! What JavaScript does with values: properties, calls, `new`, `instanceof`.

use super::files;
use super::frame::{Called, Js, Stop};
use super::table::{Builtin, builtin, method, property};
use super::texts::text_of;
use crate::sandbox::wasi::js_heap::{Body, INSTANCE, Value};
use std::sync::Arc;

/// More elements of a list are not filled in between.
const LIST_MAX: usize = 1 << 20;

/// What the program looks at when it goes on.
pub(super) const PENDING: &str = "_pendingEvent";

pub(super) fn is_function(js: &mut Js<'_, '_, '_>, value: &Value) -> bool {
    match value {
        Value::Builtin(place) => {
            matches!(builtin(*place).1, Builtin::Function(_) | Builtin::Class(_) | Builtin::Later(_))
        }
        _ => matches!(js.heap().object(value).map(|object| &object.body), Some(Body::Callback(_))),
    }
}

/// A property.
pub(super) fn get(js: &mut Js<'_, '_, '_>, of: &Value, name: &Arc<str>) -> Called {
    js.worked(16 + name.len())?;
    match of {
        Value::Builtin(place) => {
            let changed = js.heap().changed_builtins.get(&(*place, Arc::clone(name))).cloned();
            Ok(changed.or_else(|| property(*place, name)).unwrap_or(Value::Undefined))
        }
        Value::Object(_) => {
            let Some(object) = js.heap().object(of) else { return Ok(Value::Undefined) };
            if let Some(value) = object.properties.get(name) {
                return Ok(value.clone());
            }
            let len = match &object.body {
                Body::List(list) => Some(list.len()),
                Body::Bytes(bytes) => Some(bytes.len()),
                Body::Plain | Body::Callback(_) => None,
            };
            let class = object.class;
            match (&**name, len) {
                ("length" | "byteLength", Some(len)) => Ok(Value::number(len as f64)),
                (_, Some(_)) if name.parse::<u32>().is_ok() => index(js, of, name.parse().unwrap_or_default()),
                _ => Ok(method(class, name).unwrap_or(Value::Undefined)),
            }
        }
        _ => Err(js.throws("TypeError", "Reflect.get called on non-object")),
    }
}

/// A property by a number.
pub(super) fn index(js: &mut Js<'_, '_, '_>, of: &Value, index: i64) -> Called {
    let place = usize::try_from(index).unwrap_or(usize::MAX);
    let found = match js.heap().object(of).map(|object| &object.body) {
        Some(Body::List(list)) => list.get(place).cloned(),
        Some(Body::Bytes(bytes)) => bytes.get(place).map(|byte| Value::number(f64::from(*byte))),
        _ => {
            let name: Arc<str> = index.to_string().into();
            return get(js, of, &name);
        }
    };
    Ok(found.unwrap_or(Value::Undefined))
}

/// Sets a property by a number.
pub(super) fn set_index(js: &mut Js<'_, '_, '_>, of: &Value, index: i64, value: Value) -> wasmtime::Result<()> {
    let place = usize::try_from(index).unwrap_or(usize::MAX);
    let number = value.as_number();
    let more = match js.heap().object(of).map(|object| &object.body) {
        Some(Body::List(list)) if place < LIST_MAX => (place + 1).saturating_sub(list.len()),
        Some(Body::Bytes(_)) => 0,
        _ => return js.set_property(of, &index.to_string(), value),
    };
    js.worked(more)?;
    let taken = js.heap().take(more * size_of::<Value>());
    js.had(taken)?;
    match js.heap().object_mut(of).map(|object| &mut object.body) {
        Some(Body::List(list)) => {
            list.resize(list.len() + more, Value::Undefined);
            list[place] = value;
        }
        Some(Body::Bytes(bytes)) if place < bytes.len() => bytes[place] = number as i64 as u8,
        _ => {}
    }
    Ok(())
}

/// Calls a function. The program's own are called at once, inside of this call of its.
pub(super) fn apply(js: &mut Js<'_, '_, '_>, function: &Value, this: &Value, args: &[Value]) -> Called {
    if let Value::Builtin(place) = function {
        match builtin(*place).1 {
            Builtin::Function(native) | Builtin::Class(native) => return native(js, this, args),
            Builtin::Later(_) => return files::ask(js, function, args),
            _ => {}
        }
    }
    let Some(&Body::Callback(number)) = js.heap().object(function).map(|object| &object.body) else {
        return Err(js.throws("TypeError", "it is not a function"));
    };
    let event = announce(js, number, this, args)?;
    let Some(resume) = js.guest.export("resume") else { return Ok(Value::Undefined) };
    js.guest.call(resume, &[])?;
    js.moved()?;
    get(js, &event, &"result".into())
}

/// Makes the call of a function of the program's what it finds when it goes on.
pub(super) fn announce(js: &mut Js<'_, '_, '_>, number: u32, this: &Value, args: &[Value]) -> wasmtime::Result<Value> {
    let args = js.make("Array", Body::List(args.to_vec()))?;
    let id = Value::number(f64::from(number));
    let event = js.make_with("Object", &[("id", id), ("this", this.clone()), ("args", args)])?;
    js.set_property(&Value::Builtin(INSTANCE), PENDING, event.clone())?;
    Ok(event)
}

/// `new`.
pub(super) fn construct(js: &mut Js<'_, '_, '_>, class: &Value, args: &[Value]) -> Called {
    match class {
        Value::Builtin(place) if matches!(builtin(*place).1, Builtin::Class(_)) => apply(js, class, class, args),
        _ => Err(js.throws("TypeError", "it is not a constructor")),
    }
}

pub(super) fn is_instance(js: &mut Js<'_, '_, '_>, value: &Value, class: &Value) -> bool {
    let Value::Builtin(place) = class else { return false };
    let class = builtin(*place).0;
    match value {
        Value::Object(_) => js.heap().object(value).is_some_and(|object| {
            class == object.class || class == "Object" || class == "Error" && object.class.ends_with("Error")
        }),
        Value::Builtin(_) => class == "Object",
        _ => false,
    }
}

/// How long something is, as its property `length` says.
pub(super) fn length(js: &mut Js<'_, '_, '_>, value: &Value) -> Result<i64, Stop> {
    match value {
        Value::Text(text) => {
            js.worked(text.len())?;
            Ok(text.encode_utf16().count() as i64)
        }
        _ => Ok(get(js, value, &"length".into())?.as_number() as i64),
    }
}

/// A value's text as bytes.
pub(super) fn text_bytes(js: &mut Js<'_, '_, '_>, value: &Value) -> wasmtime::Result<Value> {
    let text = text_of(js, value)?;
    js.make("Uint8Array", Body::Bytes(text.into_bytes()))
}

/// The method of a value by its name, called.
pub(super) fn call(js: &mut Js<'_, '_, '_>, this: &Value, name: &Arc<str>, args: &[Value]) -> Called {
    let function = get(js, this, name)?;
    if !is_function(js, &function) {
        return Err(js.throws("TypeError", &format!("{name} is not a function")));
    }
    apply(js, &function, this, args)
}

/// What is done when nothing else is to be done: files are looked at and builtins called here, functions of the
/// program's when that goes on. Whether it is to go on.
pub(super) fn run(js: &mut Js<'_, '_, '_>, function: &Value, args: &[Value]) -> Result<bool, Stop> {
    if let Value::Builtin(place) = function
        && let (path, Builtin::Later(does)) = builtin(*place)
    {
        let name = path.strip_prefix("fs.").unwrap_or(path);
        let (callback, told) = files::answer(js, name, does, args)?;
        return run_callback(js, &callback, &told);
    }
    run_callback(js, function, args)
}

fn run_callback(js: &mut Js<'_, '_, '_>, function: &Value, args: &[Value]) -> Result<bool, Stop> {
    if let Some(&Body::Callback(number)) = js.heap().object(function).map(|object| &object.body) {
        announce(js, number, &Value::Undefined, args)?;
        return Ok(true);
    }
    apply(js, function, &Value::Undefined, args)?;
    Ok(false)
}
