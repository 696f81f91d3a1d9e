//! pulldown-cmark 0.0.8 panics on an item whose number has more digits than a word can hold, `99999999999999999999.`.

/// Parses the input as Markdown with all extensions, and writes HTML.
///
/// # Safety
///
/// `data` has `size` bytes.
#[cfg_attr(target_family = "wasm", export_name = "LLVMFuzzerTestOneInput")]
#[cfg_attr(not(target_family = "wasm"), export_name = "harness_one_input")]
pub unsafe extern "C" fn one_input(data: *const u8, size: usize) -> i32 {
    let data = if size == 0 { &[] } else { std::slice::from_raw_parts(data, size) };
    if let Ok(text) = std::str::from_utf8(data) {
        let parser = pulldown_cmark::Parser::new_ext(text, pulldown_cmark::Options::all());
        pulldown_cmark::html::push_html(&mut String::new(), parser);
    }
    0
}
