//! Reads lines that draw shapes (`circle 5`, `box 2 3`, `name = shape`, `sum`), and answers each with a line.

#![no_std]

extern crate alloc;

mod heap;
mod parse;
mod scene;
mod shape;

use alloc::string::String;
use core::fmt::Write as _;

use scene::Scene;

#[global_allocator]
static HEAP: heap::Heap = heap::Heap::new();

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

/// Runs all lines; returns the length of the answer.
#[no_mangle]
pub extern "C" fn run(data: *const u8, size: usize) -> usize {
    let data = unsafe { core::slice::from_raw_parts(data, size) };
    let mut scene = Scene::default();
    let mut answer = String::new();
    for (number, line) in data.split(|&byte| byte == b'\n').enumerate() {
        let Ok(line) = core::str::from_utf8(line) else {
            let _ = writeln!(answer, "line {number} is not text");
            continue;
        };
        match scene.line(line) {
            Ok(said) => answer.push_str(&said),
            Err(error) => {
                let _ = writeln!(answer, "line {number}: {error}");
            }
        }
    }
    scene.finish(&mut answer);
    answer.len()
}

#[no_mangle]
pub extern "C" fn allocate(size: usize) -> *mut u8 {
    alloc::vec![0u8; size].leak().as_mut_ptr()
}
