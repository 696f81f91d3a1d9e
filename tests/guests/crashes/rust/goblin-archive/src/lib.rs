//! goblin 0.0.11 takes two away from the size of an archive's table of names plus one, which may be none, and compares
//! three bytes of names that may be the middle of a character.

/// Parses the input as a Unix archive.
///
/// # Safety
///
/// `data` has `size` bytes.
#[cfg_attr(target_family = "wasm", export_name = "LLVMFuzzerTestOneInput")]
#[cfg_attr(not(target_family = "wasm"), export_name = "harness_one_input")]
pub unsafe extern "C" fn one_input(data: *const u8, size: usize) -> i32 {
    let data = if size == 0 { &[] } else { std::slice::from_raw_parts(data, size) };
    // Such sizes overflow where words have 32 bits, which would be another bug, and none of the native programs'.
    let too_large = data.windows(10).any(|digits| digits.iter().all(u8::is_ascii_digit));
    if !too_large {
        let _ = goblin::archive::Archive::parse(data);
    }
    0
}
