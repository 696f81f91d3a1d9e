//! Units of length.

#![no_std]

static UNITS: [(&str, i64); 4] = [("mm", 1), ("cm", 10), ("m", 1_000), ("km", 1_000_000)];

/// How many millimetres a unit has.
#[inline(never)]
pub fn factor(word: &str) -> i64 {
    let mut place = 0;
    while place < UNITS.len() {
        if UNITS[place].0 == word {
            return UNITS[place].1;
        }
        place += 1;
    }
    1
}

/// The greatest unit that a length is a multiple of, and how often.
#[inline(never)]
pub fn best(length: i64) -> (&'static str, i64) {
    let mut best = UNITS[0];
    for unit in UNITS {
        if length % unit.1 == 0 {
            best = unit;
        }
    }
    (best.0, length / best.1)
}
