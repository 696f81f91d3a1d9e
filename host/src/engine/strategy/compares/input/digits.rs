//! Numbers in text.

use std::ops::Range;

/// The digits around a place; `None` if there is none at it.
pub(in crate::engine::strategy::compares) fn around(input: &[u8], at: usize, radix: u32) -> Option<Range<usize>> {
    let is_digit = |byte: &&u8| char::from(**byte).is_digit(radix);
    let before = input[..at].iter().rev().take_while(is_digit).count();
    let behind = input[at..].iter().take_while(is_digit).count();
    (behind > 0).then_some(at - before..at + behind)
}

/// The number that digits stand for.
pub(in crate::engine::strategy::compares) fn value(digits: &[u8], radix: u32) -> i128 {
    let digit = |byte: u8| char::from(byte).to_digit(radix).map_or(0, i128::from);
    digits.iter().fold(0, |number, &byte| number * i128::from(radix) + digit(byte))
}

/// A number in so many digits, or in more if it needs them: octal, decimal or hexadecimal ones.
pub(in crate::engine::strategy::compares) fn written(number: u64, radix: u32, width: usize) -> String {
    match radix {
        8 => format!("{number:0width$o}"),
        16 => format!("{number:0width$x}"),
        _ => format!("{number:0width$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_found_around_a_place_that_has_one() {
        assert_eq!(around(b"x09fy", 2, 10), Some(1..3));
        assert_eq!(around(b"x09fy", 2, 16), Some(1..4));
        assert_eq!(around(b"x09fy", 2, 8), None);
        assert_eq!(around(b"7", 0, 8), Some(0..1));
    }

    #[test]
    fn numbers_are_written_as_they_were_read() {
        for (digits, radix, number) in [("0644", 8, 0o644), ("007", 10, 7), ("00ff", 16, 0xff)] {
            assert_eq!(value(digits.as_bytes(), radix), number.into());
            assert_eq!(written(number, radix, digits.len()), digits);
        }
        assert_eq!(written(1234, 10, 2), "1234");
    }
}
