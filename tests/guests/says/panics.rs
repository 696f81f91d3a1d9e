//! Panics of all kinds.

extern crate numbers;

#[inline(never)]
fn check(data: &[u8]) -> u32 {
    match data {
        [b'a', _, ..] => panic!("a literal"),
        [b'b', _, ..] => panic!("{} bytes: {:?}", data.len(), &data[1..]),
        [b'c', _, ..] => data.get(500).copied().unwrap().into(),
        [b'd', _, ..] => data.get(500).copied().expect("five hundred of them").into(),
        [b'e', _, ..] => data[data.len() + 7].into(),
        [b'f', _, ..] => numbers::number(std::str::from_utf8(&data[1..]).unwrap_or("none")),
        [b'g', _, ..] => data.to_vec().remove(99).into(),
        [b'h', _, ..] => {
            assert_eq!(data.len(), 500, "in {}", "words");
            0
        }
        _ => 0,
    }
}

#[no_mangle]
pub extern "C" fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> i32 {
    let data = if size == 0 { &[] } else { unsafe { std::slice::from_raw_parts(data, size) } };
    (check(data) == 77_777) as i32
}
