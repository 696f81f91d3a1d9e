//! Pipelines of itk-wasm: `main` with `--memory-io`, whose inputs are blocks that the module gives, each with a text in
//! JSON that says where it is. Numbers of inputs and outputs are arguments of their own.
//!
//! ```text
//! p = itk_wasm_input_array_alloc(0, 0, 0, len); write(p, input)
//! j = itk_wasm_input_json_alloc(0, 0, 75); write(j, "{"data":"data:application/vnd.itk.address,0:0000001024",...")
//! main(4, ["main", "0", "0", "--memory-io"])
//! ```

use crate::sandbox::conventions::library::Library;
use crate::sandbox::conventions::program::main_with;
use crate::sandbox::conventions::{Proposal, allocates};

pub(super) const NAME: &str = "itk-wasm";

const ARRAY: &str = "itk_wasm_input_array_alloc";
const JSON: &str = "itk_wasm_input_json_alloc";

/// What describes a block of bytes, or of text. Digits are written over the zeros, the last first, spaces stay.
const DESCRIPTION: &str = r#"{"data":"data:application/vnd.itk.address,0:0000000000","size":         0}"#;

/// Arguments by how many outputs there are behind the first input.
const ARGUMENTS: [&[&str]; 3] = [&["0", "0", "--memory-io"], &["0", "--memory-io"], &["0", "0", "1", "--memory-io"]];

pub(super) fn proposals(library: &Library<'_>) -> Vec<Proposal> {
    let has = |name: &str, params| library.function(name).is_some_and(|ty| allocates(ty, params));
    if !has(ARRAY, 4) || !has(JSON, 3) {
        return Vec::new();
    }
    let ways = ARGUMENTS.iter().zip(0..).filter_map(|(arguments, number)| {
        let (export, main) = main_with(library, arguments)?;
        Some(Proposal {
            export: export.to_owned(),
            call: format!(
                "p = {ARRAY}(0, 0, 0, len); write(p, input); j = {JSON}(0, 0, {}); write(j, \"{}\\0\"); {}; {}; {main}",
                DESCRIPTION.len() + 1,
                DESCRIPTION.replace('"', "\\\""),
                digits("p", "0\","),
                digits("len", "0}"),
            ),
            convention: NAME,
            guessed: number > 0,
            tried: None,
            score: 90 - number,
        })
    });
    ways.collect()
}

/// Statements that write a number in the description, whose last digit begins `end`.
fn digits(number: &str, end: &str) -> String {
    let last = DESCRIPTION.find(end).unwrap_or_default();
    format!("n = {number}; q = j + {last}; while n != 0 {{ write8(q, 48 + n % 10); n = n / 10; q = q - 1 }}")
}
