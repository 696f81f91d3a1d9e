//! Throws as modules made by wasm-bindgen do.

#[link(wasm_import_module = "__wbindgen_placeholder__")]
extern "C" {
    fn __wbindgen_throw(text: *const u8, len: usize) -> !;
}

#[inline(never)]
fn parse(data: &[u8]) -> i32 {
    if data.len() > 2 && data[0] == b'a' {
        let text = format!("Error: no {:?}", data[0]);
        unsafe { __wbindgen_throw(text.as_ptr(), text.len()) }
    }
    0
}

#[no_mangle]
pub extern "C" fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> i32 {
    parse(if size == 0 { &[] } else { unsafe { std::slice::from_raw_parts(data, size) } })
}
