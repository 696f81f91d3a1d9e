//! mailparse 0.4.0 takes a place in bytes for one in characters where it looks at what is beside an encoded word.

/// Parses the input as a message, and decodes all headers.
///
/// # Safety
///
/// `data` has `size` bytes.
#[cfg_attr(target_family = "wasm", export_name = "LLVMFuzzerTestOneInput")]
#[cfg_attr(not(target_family = "wasm"), export_name = "harness_one_input")]
pub unsafe extern "C" fn one_input(data: *const u8, size: usize) -> i32 {
    let data = if size == 0 { &[] } else { std::slice::from_raw_parts(data, size) };
    if let Ok((headers, _)) = mailparse::parse_headers(data) {
        for header in headers {
            let _ = header.get_value();
        }
    }
    0
}
