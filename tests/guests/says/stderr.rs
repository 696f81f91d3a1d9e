//! A program whose library writes its panics to standard error.

use std::io::Read;

#[inline(never)]
fn parse(data: &[u8]) -> u32 {
    eprintln!("parsing {} bytes", data.len());
    if data.first() == Some(&b'a') { data[data.len() + 7].into() } else { 0 }
}

fn main() {
    let mut data = Vec::new();
    std::io::stdin().read_to_end(&mut data).unwrap();
    std::process::exit((parse(&data) == 77_777) as i32)
}
