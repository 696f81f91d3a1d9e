//! regex-syntax 0.5.6 panics on a group of flags alone, `((?i))`: there is no expression to take out of it.

/// Parses the input as a regular expression.
///
/// # Safety
///
/// `data` has `size` bytes.
#[cfg_attr(target_family = "wasm", export_name = "LLVMFuzzerTestOneInput")]
#[cfg_attr(not(target_family = "wasm"), export_name = "harness_one_input")]
pub unsafe extern "C" fn one_input(data: *const u8, size: usize) -> i32 {
    let data = if size == 0 { &[] } else { std::slice::from_raw_parts(data, size) };
    if let Ok(pattern) = std::str::from_utf8(data) {
        let _ = regex_syntax::Parser::new().parse(pattern);
    }
    0
}
