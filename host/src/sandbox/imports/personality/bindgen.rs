//! What JavaScript gives modules that wasm-bindgen made: strings, numbers and objects by their numbers.

use crate::sandbox::imports::personality::guest::{Function, Guest, Reply};
use crate::sandbox::wasi::objects::Value;
use wasmtime::{Func, Val, ValType};

/// The function of an import; `Some(None)` if it is JavaScript's, but nobody knows what it does.
pub(super) fn of(module: &str, name: &str) -> Option<Option<Function>> {
    let is_own = module == "wbg"
        || module == "__wbindgen_placeholder__"
        || module == "__wbindgen_externref_xform__"
        || name.starts_with("__wbg_")
        || name.starts_with("__wbindgen_");
    if !is_own {
        return None;
    }
    let name = plain(name);
    let exact = FUNCTIONS.iter().find(|(other, _)| *other == name).map(|&(_, function)| function);
    let prefixed = || {
        let prefixes: [(&str, Function); 3] =
            [("instanceof_", is_instance), ("static_accessor_", an_object), ("__wbindgen_closure_wrapper", an_object)];
        prefixes.into_iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, function)| function)
    };
    Some(exact.or_else(prefixed))
}

/// The name in JavaScript: `length` of `__wbg_length_c20a40f15020d68a`.
fn plain(name: &str) -> &str {
    let name = name.strip_prefix("__wbg_").unwrap_or(name);
    match name.rsplit_once('_') {
        Some((plain, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => plain,
        _ => name,
    }
}

type Result<T> = wasmtime::Result<T>;

const FUNCTIONS: [(&str, Function); 75] = [
    ("__wbindgen_throw", throw),
    ("__wbindgen_rethrow", rethrow),
    ("__wbindgen_string_new", string_new),
    ("__wbindgen_cast", string_new),
    ("__wbindgen_error_new", error_new),
    ("__wbindgen_number_new", number_new),
    ("__wbindgen_bigint_from_i64", an_object),
    ("__wbindgen_bigint_from_u64", an_object),
    ("__wbindgen_memory", memory),
    ("__wbindgen_object_drop_ref", drop_ref),
    ("__wbindgen_object_clone_ref", same),
    ("__wbindgen_cb_drop", yes),
    ("__wbindgen_is_undefined", is_undefined),
    ("__wbindgen_is_null", |guest| is(guest, |value| *value == Value::Null)),
    ("__wbindgen_is_object", |guest| is(guest, is_object)),
    ("__wbindgen_is_string", |guest| is(guest, |value| matches!(value, Value::Text(_)))),
    ("__wbindgen_is_function", no),
    ("__wbindgen_is_symbol", no),
    ("__wbindgen_is_bigint", no),
    ("__wbindgen_is_falsy", |guest| is(guest, is_falsy)),
    ("__wbindgen_is_array", |guest| is(guest, |value| matches!(value, Value::List(_)))),
    ("__wbindgen_in", no),
    ("__wbindgen_jsval_eq", equal),
    ("__wbindgen_jsval_loose_eq", equal),
    ("__wbindgen_boolean_get", boolean_get),
    ("__wbindgen_number_get", number_get),
    ("__wbindgen_string_get", string_get),
    ("__wbindgen_debug_string", debug_string),
    ("__wbindgen_json_parse", an_object),
    ("__wbindgen_json_serialize", json),
    ("__wbindgen_init_externref_table", nothing),
    ("__wbindgen_copy_to_typed_array", nothing),
    ("String", debug_string),
    ("new", new),
    ("new_0", an_object),
    ("Error", error_new),
    ("stack", stack),
    ("error", error),
    ("warn", nothing),
    ("log", nothing),
    ("info", nothing),
    ("debug", nothing),
    ("buffer", memory),
    ("newwithbyteoffsetandlength", part),
    ("newwithlength", of_length),
    ("subarray", same),
    ("length", length),
    ("byteLength", length),
    ("set", set),
    ("push", push),
    ("get", get),
    ("values", an_object),
    ("entries", an_object),
    ("iterator", an_object),
    ("next", an_object),
    ("done", yes),
    ("value", undefined),
    ("isArray", |guest| is(guest, |value| matches!(value, Value::List(_)))),
    ("isSafeInteger", |guest| is(guest, |value| matches!(value, Value::Number(_)))),
    ("now", now),
    ("random", random),
    ("getTime", now),
    ("getTimezoneOffset", no),
    ("getRandomValues", nothing),
    ("randomFillSync", nothing),
    ("crypto", an_object),
    ("msCrypto", an_object),
    ("process", undefined),
    ("self", an_object),
    ("window", an_object),
    ("global", an_object),
    ("globalThis", an_object),
    ("parse", an_object),
    ("stringify", |_| Ok(Reply::Object(Value::Text("{}".into())))),
    ("toString", |_| Ok(Reply::Object(Value::Text("[object Object]".into())))),
];

fn throw(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let text = guest.text(guest.number(0), guest.number(1))?;
    guest.say(&format!("throw: {text}\n"))?;
    Err(guest.told(&text))
}

fn rethrow(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    Err(guest.told("an error is passed on"))
}

fn string_new(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    match guest.params {
        [Val::I32(_), Val::I32(_)] => Ok(Reply::Object(Value::Text(guest.text(guest.number(0), guest.number(1))?))),
        [Val::F64(bits)] => Ok(Reply::Object(Value::Number(*bits))),
        _ => an_object(guest),
    }
}

fn error_new(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    Ok(Reply::Object(Value::Error(guest.text(guest.number(0), guest.number(1))?)))
}

fn number_new(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    Ok(Reply::Object(Value::Number(guest.float(0).to_bits())))
}

fn nothing(_: &mut Guest<'_, '_>) -> Result<Reply> {
    Ok(Reply::Nothing)
}

fn yes(_: &mut Guest<'_, '_>) -> Result<Reply> {
    Ok(Reply::Integer(1))
}

fn no(_: &mut Guest<'_, '_>) -> Result<Reply> {
    Ok(Reply::Integer(0))
}

fn an_object(_: &mut Guest<'_, '_>) -> Result<Reply> {
    Ok(Reply::Object(Value::Object))
}

fn undefined(_: &mut Guest<'_, '_>) -> Result<Reply> {
    Ok(Reply::Object(Value::Undefined))
}

fn memory(_: &mut Guest<'_, '_>) -> Result<Reply> {
    Ok(Reply::Object(Value::Memory))
}

fn drop_ref(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let number = guest.number(0);
    guest.caller.data_mut().wasi.objects().drop(number);
    Ok(Reply::Nothing)
}

fn same(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    Ok(Reply::Object(guest.value(0)))
}

fn is(guest: &mut Guest<'_, '_>, test: fn(&Value) -> bool) -> Result<Reply> {
    Ok(Reply::Integer(test(&guest.value(0)).into()))
}

fn is_undefined(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    is(guest, |value| *value == Value::Undefined)
}

fn is_object(value: &Value) -> bool {
    matches!(value, Value::Object | Value::List(_) | Value::Bytes(_) | Value::Memory | Value::Error(_))
}

fn is_falsy(value: &Value) -> bool {
    match value {
        Value::Undefined | Value::Null | Value::Bool(false) => true,
        Value::Number(bits) => matches!(f64::from_bits(*bits), number if number == 0.0 || number.is_nan()),
        Value::Text(text) => text.is_empty(),
        _ => false,
    }
}

fn equal(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let (left, right) = (guest.value(0), guest.value(1));
    guest.looked_at(&left)?;
    let equal = left == right && !is_object(&left);
    Ok(Reply::Integer((equal || guest.number(0) == guest.number(1)).into()))
}

fn is_instance(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let value = guest.value(0);
    let name = guest.what;
    Ok(Reply::Integer(i32::from(match value {
        Value::Bytes(_) | Value::Memory => name.contains("Uint8Array"),
        Value::List(_) => name.contains("_Array_"),
        Value::Error(_) => name.contains("_Error_"),
        _ => false,
    })))
}

/// 2 for what is no boolean.
fn boolean_get(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    Ok(Reply::Integer(match guest.value(0) {
        Value::Bool(value) => value.into(),
        _ => 2,
    }))
}

/// Whether it is one, then the number.
fn number_get(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let (at, value) = (guest.number(0), guest.value(1));
    let bits = if let Value::Number(bits) = value { Some(bits) } else { None };
    guest.write(at.wrapping_add(8), &bits.unwrap_or(0).to_le_bytes())?;
    guest.write_u32(at, bits.is_some().into())?;
    Ok(Reply::Nothing)
}

fn string_get(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    match guest.value(1) {
        Value::Text(text) => text_to(guest, &text),
        _ => {
            let at = guest.number(0);
            guest.write(at, &[0; 8])?;
            Ok(Reply::Nothing)
        }
    }
}

fn debug_string(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let text = match guest.value(1) {
        Value::Undefined => "undefined".into(),
        Value::Null => "null".into(),
        Value::Bool(value) => value.to_string().into(),
        Value::Number(bits) => f64::from_bits(bits).to_string().into(),
        Value::Text(text) => text,
        Value::Error(text) => format!("Error: {text}").into(),
        Value::Bytes(_) | Value::Memory | Value::List(_) | Value::Object => "[object Object]".into(),
    };
    text_to(guest, &text)
}

fn json(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let text = match guest.value(1) {
        Value::Undefined | Value::Null => "null",
        Value::List(_) => "[]",
        _ => "{}",
    };
    text_to(guest, text)
}

fn stack(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    text_to(guest, "Error")
}

/// Gives the guest a text: a block of its own, whose address and length go to where the first parameter says.
fn text_to(guest: &mut Guest<'_, '_>, text: &str) -> Result<Reply> {
    let malloc = malloc(guest).ok_or_else(|| guest.thrown("the module exports no __wbindgen_malloc"))?;
    let (len, to) = (text.len() as u32, guest.number(0));
    let params = [Val::I32(len.cast_signed()), Val::I32(1)];
    let count = malloc.ty(&*guest.caller).params().len();
    let params = &params[..count.min(2)];
    let at = guest.call(malloc, params)?;
    guest.write(at, text.as_bytes())?;
    guest.write_u32(to, at)?;
    guest.write_u32(to.wrapping_add(4), len)?;
    Ok(Reply::Nothing)
}

/// The guest's allocator: `__wbindgen_malloc`, or what was made of its name and has the type.
fn malloc(guest: &mut Guest<'_, '_>) -> Option<Func> {
    let is_malloc = |guest: &Guest<'_, '_>, function: &Func, params: &[usize]| {
        let ty = function.ty(&*guest.caller);
        let is_i32 = |ty: ValType| matches!(ty, ValType::I32);
        params.contains(&ty.params().len()) && ty.results().len() == 1 && ty.params().chain(ty.results()).all(is_i32)
    };
    if let Some(function) = guest.export("__wbindgen_malloc") {
        return Some(function).filter(|function| is_malloc(guest, function, &[1, 2]));
    }
    let names = std::iter::once("__wbindgen_export".to_owned())
        .chain((0..10).flat_map(|n| [format!("__wbindgen_export_{n}"), format!("__wbindgen_export{n}")]));
    names.into_iter().find_map(|name| guest.export(&name).filter(|function| is_malloc(guest, function, &[2])))
}

/// `new X(...)`: an array or object, a copy, or an error with a text.
fn new(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    match guest.params {
        [] => Ok(Reply::Object(Value::List(std::sync::Arc::default()))),
        [Val::I32(_), Val::I32(_)] => error_new(guest),
        _ => same(guest),
    }
}

/// `console.error` of a text, which the guest gives away; or of a value.
fn error(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    if let [Val::I32(_), Val::I32(_)] = guest.params {
        let text = guest.text(guest.number(0), guest.number(1))?;
        guest.say(&format!("{text}\n"))?;
    }
    Ok(Reply::Nothing)
}

/// `new Uint8Array(buffer, offset, length)`.
fn part(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let (at, len) = (guest.number(1), guest.number(2));
    Ok(Reply::Object(match guest.value(0) {
        Value::Memory => Value::Bytes(guest.bytes(at, len)?.into()),
        Value::Bytes(bytes) => {
            let range = at as usize..(at as usize).saturating_add(len as usize);
            let part = bytes.get(range).ok_or_else(|| guest.thrown("RangeError"))?;
            Value::Bytes(part.into())
        }
        _ => Value::Object,
    }))
}

fn of_length(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    const LEN_MAX: u32 = 1 << 24;
    let len = guest.number(0);
    if len > LEN_MAX {
        return Err(guest.thrown("RangeError"));
    }
    Ok(Reply::Object(Value::Bytes(vec![0; len as usize].into())))
}

fn length(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let value = guest.value(0);
    guest.looked_at(&value)?;
    let len = match value {
        Value::Bytes(bytes) => bytes.len(),
        Value::List(list) => list.len(),
        Value::Text(text) => text.encode_utf16().count(),
        _ => 0,
    };
    Ok(Reply::Float(len as f64))
}

/// `array.set(bytes, offset)` into the guest's memory; elements of lists.
fn set(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let to = guest.value(0);
    match (to, guest.value(1)) {
        (Value::Memory, Value::Bytes(bytes)) => guest.write(guest.number(2), &bytes)?,
        (Value::List(_), _) => {
            let (number, index, value) = (guest.number(0), guest.number(1) as usize, guest.number(2));
            match guest.caller.data_mut().wasi.objects().list(number) {
                Some(list) if index < list.len() => list[index] = value,
                Some(list) if index == list.len() => list.push(value),
                _ => {}
            }
        }
        _ => {}
    }
    Ok(Reply::Nothing)
}

fn push(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let (number, value) = (guest.number(0), guest.number(1));
    let kept = guest.value(1);
    let value = if kept == Value::Undefined { value } else { guest.objects_give(kept)? };
    let len = guest.caller.data_mut().wasi.objects().list(number).map_or(0, |list| {
        list.push(value);
        list.len()
    });
    Ok(Reply::Float(len as f64))
}

fn get(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let index = guest.number(1) as usize;
    let Value::List(list) = guest.value(0) else { return undefined(guest) };
    let number = list.get(index).copied().unwrap_or(0);
    Ok(Reply::Object(guest.caller.data_mut().wasi.objects().get(number)))
}

fn now(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    Ok(Reply::Float(guest.caller.data_mut().wasi.milliseconds(true)))
}

/// `Math.random()`.
fn random(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let mut bytes = [0; 8];
    guest.caller.data_mut().wasi.random(&mut bytes);
    Ok(Reply::Float((u64::from_le_bytes(bytes) >> 11) as f64 / (1_u64 << 53) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_wasm_bindgen_adds() {
        assert_eq!(plain("__wbg_length_c20a40f15020d68a"), "length");
        assert_eq!(plain("__wbg___wbindgen_throw_b855445ff6a94295"), "__wbindgen_throw");
        assert_eq!(plain("__wbindgen_object_drop_ref"), "__wbindgen_object_drop_ref");
        assert!(of("wbg", "__wbg_push_a5b05aedc7234f9f").unwrap().is_some());
        assert!(of("./x_bg.js", "__wbg_instanceof_Uint8Array_2b3bbecd033d19f6").unwrap().is_some());
        assert!(of("wbg", "__wbg_fetch_0123456789abcdef").unwrap().is_none());
        assert!(of("env", "abort").is_none());
    }

    #[test]
    fn no_name_is_there_twice() {
        let names: std::collections::BTreeSet<_> = FUNCTIONS.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), FUNCTIONS.len());
    }
}
