//! Values as texts, as JavaScript's `String` makes them.

use super::frame::Js;
use crate::sandbox::wasi::js_heap::{Body, Value};

/// More bytes are not made of one value.
const TEXT_BYTES_MAX: usize = 16 << 20;

/// A value as a text.
pub(super) fn text_of(js: &mut Js<'_, '_, '_>, value: &Value) -> wasmtime::Result<String> {
    if let (Value::Object(_), Some(Body::List(list))) = (value, js.heap().object(value).map(|object| &object.body)) {
        let list = list.clone();
        let mut text = String::new();
        for (index, value) in list.iter().enumerate() {
            js.worked(16)?;
            text.push_str(if index > 0 { "," } else { "" });
            // Of what is inside of what is inside, no more is told.
            text.push_str(&if is_nothing(value) { String::new() } else { flat(js, value) });
            if text.len() > TEXT_BYTES_MAX {
                return Err(js.guest.thrown("RangeError: invalid string length"));
            }
        }
        return Ok(text);
    }
    let text = flat(js, value);
    js.worked(text.len())?;
    Ok(text)
}

fn is_nothing(value: &Value) -> bool {
    matches!(value, Value::Undefined | Value::Null)
}

fn flat(js: &mut Js<'_, '_, '_>, value: &Value) -> String {
    match value {
        Value::Undefined => "undefined".to_owned(),
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(bits) => number(f64::from_bits(*bits)),
        Value::Text(text) => text.to_string(),
        Value::Builtin(_) => "[object Object]".to_owned(),
        Value::Object(_) => match js.heap().object(value) {
            Some(object) => match &object.body {
                Body::Bytes(bytes) => {
                    let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
                    numbers.join(",")
                }
                Body::Callback(_) => "function () { [native code] }".to_owned(),
                _ if object.class.ends_with("Error") => match object.properties.get("message") {
                    Some(Value::Text(message)) => format!("{}: {message}", object.class),
                    _ => object.class.to_owned(),
                },
                _ => "[object Object]".to_owned(),
            },
            None => String::new(),
        },
    }
}

/// A number as JavaScript writes it.
fn number(value: f64) -> String {
    let size = value.abs();
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else if value == 0.0 {
        "0".to_owned()
    } else if (1e-6..1e21).contains(&size) {
        value.to_string()
    } else {
        let text = format!("{value:e}");
        if size > 1.0 { text.replace('e', "e+") } else { text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_javascript_does() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (-1.5, "-1.5"),
            (1e20, "100000000000000000000"),
            (1.5e21, "1.5e+21"),
            (1e-6, "0.000001"),
            (2.5e-7, "2.5e-7"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
