//! Pieces of WebAssembly's text format, for modules that are linked to others.

use wasmparser::ValType;

/// Types of numbers as the text format has them.
///
/// # Errors
///
/// The first that is of no number.
pub(super) fn words(types: &[ValType]) -> Result<String, ValType> {
    let word = |&ty: &ValType| match ty {
        ValType::I32 => Ok("i32"),
        ValType::I64 => Ok("i64"),
        ValType::F32 => Ok("f32"),
        ValType::F64 => Ok("f64"),
        other => Err(other),
    };
    Ok(types.iter().map(word).collect::<Result<Vec<_>, _>>()?.join(" "))
}

/// Any name, to be written in quotes.
pub(super) fn escaped(name: &str) -> String {
    name.bytes().map(|byte| format!("\\{byte:02x}")).collect()
}
