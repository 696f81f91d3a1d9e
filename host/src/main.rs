//! fuzzbox.
fn main() {}
