//! Changes of single bytes and numbers. None changes the input's length, except for [`change_decimal`].

use super::Context;
use super::blocks::replace;
use super::scan::find;

/// Values at which programs' conditions tend to flip, as AFL has them, in the widths 8, 16 and 32 bits.
const INTERESTING: [i32; 27] = [
    -128,
    -1,
    0,
    1,
    16,
    32,
    64,
    100,
    127,
    -32768,
    -129,
    128,
    255,
    256,
    512,
    1000,
    1024,
    4096,
    32767,
    i32::MIN,
    -100_663_046,
    -32769,
    32768,
    65535,
    65536,
    100_663_045,
    i32::MAX,
];

pub(super) fn flip_bit(context: &mut Context<'_>) -> bool {
    let Some(at) = position(context, 1) else { return false };
    context.input[at] ^= 1 << context.rng.below(8);
    true
}

pub(super) fn set_random(context: &mut Context<'_>) -> bool {
    let Some(at) = position(context, 1) else { return false };
    // Never the old value.
    context.input[at] ^= u8::try_from(1 + context.rng.below(255)).expect("at most 255");
    true
}

/// Adds or subtracts up to 35 (AFL's bound) from a number of 1, 2, 4 or 8 bytes in either byte order.
pub(super) fn add_small(context: &mut Context<'_>) -> bool {
    let delta = 1 + context.rng.below(35) as u64;
    let delta = if context.rng.one_in(2) { delta } else { delta.wrapping_neg() };
    change_number(context, |_, number| number.wrapping_add(delta))
}

pub(super) fn set_interesting(context: &mut Context<'_>) -> bool {
    change_number(context, |context, _| i64::from(*context.rng.pick(&INTERESTING)).cast_unsigned())
}

fn change_number(context: &mut Context<'_>, change: impl FnOnce(&mut Context<'_>, u64) -> u64) -> bool {
    let width = *context.rng.pick(&[1, 1, 2, 4, 4, 8]);
    let Some(at) = position(context, width) else { return false };
    let big_endian = context.rng.one_in(2);
    let mut bytes = [0; 8];
    bytes[..width].copy_from_slice(&context.input[at..at + width]);
    if big_endian {
        bytes[..width].reverse();
    }
    let mut bytes = change(context, u64::from_le_bytes(bytes)).to_le_bytes();
    if big_endian {
        bytes[..width].reverse();
    }
    context.input[at..at + width].copy_from_slice(&bytes[..width]);
    true
}

/// Copies a byte over another one of the input: texts use few different bytes.
pub(super) fn copy_neighbour(context: &mut Context<'_>) -> bool {
    let (Some(from), Some(to)) = (position(context, 1), position(context, 1)) else { return false };
    context.input[to] = context.input[from];
    true
}

/// Replaces a run of decimal digits by another number.
pub(super) fn change_decimal(context: &mut Context<'_>) -> bool {
    let Some(at) = position(context, 1) else { return false };
    let Some(start) = find(&context.input[at..], |byte| byte.is_ascii_digit()) else { return false };
    let start = at + start;
    let len = context.input[start..].iter().take_while(|byte| byte.is_ascii_digit()).count().min(19);
    let digits = std::str::from_utf8(&context.input[start..start + len]).expect("digits are text");
    let number: u64 = digits.parse().expect("19 digits fit");
    let number = match context.rng.below(5) {
        0 => number.wrapping_add(1),
        1 => number.wrapping_sub(1),
        2 => number.wrapping_mul(2),
        3 => i64::from(*context.rng.pick(&INTERESTING)).cast_unsigned(),
        _ => context.rng.word() >> context.rng.below(64),
    };
    let mut buffer = [0; DECIMAL_DIGITS];
    let digits = decimal(number, &mut buffer);
    replace(context, start..start + len, digits)
}

/// Digits of the largest number.
const DECIMAL_DIGITS: usize = 20;

/// A number's digits.
fn decimal(mut number: u64, buffer: &mut [u8; DECIMAL_DIGITS]) -> &[u8] {
    let mut start = DECIMAL_DIGITS;
    loop {
        start -= 1;
        buffer[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &buffer[start..];
        }
    }
}

/// A random offset at which `width` bytes are left.
fn position(context: &mut Context<'_>, width: usize) -> Option<usize> {
    let positions = (context.input.len() + 1).checked_sub(width).filter(|&positions| positions > 0)?;
    (context.input.len() >= width).then(|| context.rng.below(positions))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_number() {
        for number in [0, 9, 10, 1234, u64::MAX].into_iter().chain((0..64).map(|bit| 1 << bit)) {
            assert_eq!(decimal(number, &mut [0; DECIMAL_DIGITS]), number.to_string().as_bytes());
        }
    }
}
