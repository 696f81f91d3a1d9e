//! mailparse 0.6.5 subtracts a boundary's length from that of the message, which is less if decoding made the boundary longer.

/// Parses the input as a message with all its parts.
///
/// # Safety
///
/// `data` has `size` bytes.
#[cfg_attr(target_family = "wasm", export_name = "LLVMFuzzerTestOneInput")]
#[cfg_attr(not(target_family = "wasm"), export_name = "harness_one_input")]
pub unsafe extern "C" fn one_input(data: *const u8, size: usize) -> i32 {
    let data = if size == 0 { &[] } else { std::slice::from_raw_parts(data, size) };
    let _ = mailparse::parse_mail(data);
    0
}
