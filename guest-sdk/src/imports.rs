//! The imports of `fuzzbox_v1`, and nothing that could be done elsewhere: what a [`crate::Source`] is made of in wasm.
#![allow(unsafe_code)]

use alloc::string::String;
use alloc::vec::Vec;

#[link(wasm_import_module = "fuzzbox_v1")]
unsafe extern "C" {
    fn draw_int(lo: i64, hi: i64, towards: i64) -> i64;
    fn draw_uint(lo: i64, hi: i64, towards: i64) -> i64;
    fn draw_bool(p_true: u32) -> u32;
    fn draw_choice(n: u32, weights: *const u32) -> u32;
    fn draw_f64(lo: f64, hi: f64, flags: u32) -> f64;
    fn draw_bytes(ptr: *mut u8, min: u32, max: u32) -> u32;
    fn draw_str(ptr: *mut u8, cap: u32, min: u32, max: u32, alphabet: *const u32, alphabet_len: u32) -> u32;
    fn draw_more(min: u32, max: u32, average_q8: u32) -> u32;
    fn draw_payload(bits: u32) -> i64;
    fn span_begin(label: u32);
    fn span_end(flags: u32);
    fn assume(condition: u32);
    fn reject(why: *const u8, len: u32) -> !;
    fn fail(class: *const u8, len: u32) -> !;
    fn target(label: *const u8, len: u32, score: f64);
    fn event(label: *const u8, len: u32, value: i64);
    fn keyframe(id: u32, arg: i64);
    fn name(kind: u32, id: u32, ptr: *const u8, len: u32);
    fn note(ptr: *const u8, len: u32);
    fn value(type_id: i64, encoding: u32, ptr: *const u8, len: u32);
    fn remaining() -> u32;
    fn feature(ptr: *const u8, len: u32) -> u32;
}

/// The host's side of a source. It has no state here: all of it is where the guest can't reach it.
#[derive(Debug, Default)]
pub(crate) struct Backend(());

impl Backend {
    pub(crate) fn int(&mut self, lo: i64, hi: i64, towards: i64) -> i64 {
        // SAFETY: takes and returns numbers.
        unsafe { draw_int(lo, hi, towards) }
    }

    pub(crate) fn uint(&mut self, lo: u64, hi: u64, towards: u64) -> u64 {
        // SAFETY: takes and returns numbers.
        unsafe { draw_uint(lo as i64, hi as i64, towards as i64) as u64 }
    }

    pub(crate) fn bool(&mut self, p_true: u32) -> bool {
        // SAFETY: takes and returns numbers.
        unsafe { draw_bool(p_true) != 0 }
    }

    pub(crate) fn choice(&mut self, n: u32, weights: Option<&[u32]>) -> u32 {
        debug_assert!(weights.is_none_or(|weights| weights.len() == n as usize));
        let weights = weights.map_or(core::ptr::null(), <[u32]>::as_ptr);
        // SAFETY: reads `n` numbers, or none where the pointer is null.
        unsafe { draw_choice(n, weights) }
    }

    pub(crate) fn f64(&mut self, lo: f64, hi: f64, flags: u32) -> f64 {
        // SAFETY: takes and returns numbers.
        unsafe { draw_f64(lo, hi, flags) }
    }

    pub(crate) fn bytes(&mut self, min: u32, max: u32) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(max as usize);
        // SAFETY: writes as many bytes as it returns, at most `max`.
        unsafe {
            let len = draw_bytes(bytes.as_mut_ptr(), min, max);
            bytes.set_len((len as usize).min(bytes.capacity()));
        }
        bytes
    }

    /// All the entropy there is, as far as one blob can hold it.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        self.bytes(0, crate::source::REST_LEN_MAX)
    }

    pub(crate) fn text(&mut self, min: u32, max: u32, alphabet: &[u32]) -> String {
        let mut bytes = Vec::with_capacity(max as usize * 4);
        let capacity = bytes.capacity() as u32;
        // SAFETY: writes as many bytes as it returns, at most `capacity`, and reads the ranges of the alphabet.
        unsafe {
            let ranges = alphabet.len() as u32 / 2;
            let len = draw_str(bytes.as_mut_ptr(), capacity, min, max, alphabet.as_ptr(), ranges);
            bytes.set_len((len as usize).min(bytes.capacity()));
        }
        match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }
    }

    pub(crate) fn more(&mut self, min: u32, max: u32, average_q8: u32) -> bool {
        // SAFETY: takes and returns numbers.
        unsafe { draw_more(min, max, average_q8) != 0 }
    }

    pub(crate) fn payload(&mut self, bits: u32) -> u64 {
        // SAFETY: takes and returns numbers.
        unsafe { draw_payload(bits) as u64 }
    }

    pub(crate) fn span_begin(&mut self, label: u32) {
        // SAFETY: takes a number.
        unsafe { span_begin(label) }
    }

    pub(crate) fn span_end(&mut self, flags: u32) {
        // SAFETY: takes a number.
        unsafe { span_end(flags) }
    }

    pub(crate) fn assume(&mut self, condition: bool) {
        // SAFETY: takes a number.
        unsafe { assume(u32::from(condition)) }
    }

    pub(crate) fn reject(&mut self, why: &str) -> ! {
        // SAFETY: reads the text.
        unsafe { reject(why.as_ptr(), why.len() as u32) }
    }

    pub(crate) fn fail(&mut self, class: &str) -> ! {
        // SAFETY: reads the text.
        unsafe { fail(class.as_ptr(), class.len() as u32) }
    }

    pub(crate) fn target(&mut self, label: &str, score: f64) {
        // SAFETY: reads the text.
        unsafe { target(label.as_ptr(), label.len() as u32, score) }
    }

    pub(crate) fn event(&mut self, label: &str, value: i64) {
        // SAFETY: reads the text.
        unsafe { event(label.as_ptr(), label.len() as u32, value) }
    }

    pub(crate) fn keyframe(&mut self, id: u32, arg: i64) {
        // SAFETY: takes numbers.
        unsafe { keyframe(id, arg) }
    }

    pub(crate) fn name(&mut self, kind: u32, id: u32, text: &str) {
        // SAFETY: reads the text.
        unsafe { name(kind, id, text.as_ptr(), text.len() as u32) }
    }

    pub(crate) fn note(&mut self, text: &str) {
        note_text(text);
    }

    pub(crate) fn value(&mut self, type_id: u64, encoding: u32, bytes: &[u8]) {
        // SAFETY: reads the bytes.
        unsafe { value(type_id as i64, encoding, bytes.as_ptr(), bytes.len() as u32) }
    }

    pub(crate) fn remaining(&mut self) -> u32 {
        // SAFETY: returns a number.
        unsafe { remaining() }
    }

    pub(crate) fn feature(&mut self, name: &str) -> bool {
        // SAFETY: reads the text.
        unsafe { feature(name.as_ptr(), name.len() as u32) != 0 }
    }
}

/// A note without a source at hand.
pub(crate) fn note_text(text: &str) {
    // SAFETY: reads the text.
    unsafe { note(text.as_ptr(), text.len() as u32) }
}

/// Gives the host room for bytes that it passes to `fbx_check_...`.
#[unsafe(no_mangle)]
extern "C" fn fbx_alloc(len: u32) -> *mut u8 {
    let bytes = Vec::<u8>::with_capacity(len.max(1) as usize);
    core::mem::ManuallyDrop::new(bytes).as_mut_ptr()
}

/// Takes back what [`fbx_alloc`] gave away, with what the host has written there.
pub(crate) fn taken(at: usize, len: usize) -> Vec<u8> {
    // SAFETY: only exports call this, with what the host passes: a place it got for just as many bytes, and has filled.
    unsafe { Vec::from_raw_parts(at as *mut u8, len, len.max(1)) }
}

/// Ends the execution where it is.
#[cfg(all(feature = "panic-handler", not(feature = "std")))]
pub(crate) fn trap() -> ! {
    core::arch::wasm32::unreachable()
}
