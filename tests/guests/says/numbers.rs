//! A library that panics for its caller.

pub fn number(text: &str) -> u32 {
    text.parse().unwrap()
}
