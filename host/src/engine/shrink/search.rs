//! Searches that suppose that what holds for a number holds for those between; where that is wrong they end all the
//! same, at a number that holds.

use super::shrinker::{Shrinker, Step};

/// Finds a large `n` for which `probe` holds, given that it holds for 0: one by one up to 4, then doubling, then by
/// bisection.
///
/// Costs `2 log n` (MacIver and Donaldson, "Test-case reduction via test-case generation", ECOOP 2020, find it
/// worth that most are small).
pub(super) fn longest(
    s: &mut Shrinker<'_>,
    mut probe: impl FnMut(&mut Shrinker<'_>, usize) -> Step<bool>,
) -> Step<usize> {
    for n in 1..5 {
        if !probe(s, n)? {
            return Ok(n - 1);
        }
    }
    let (mut good, mut bad) = (4, 8);
    while probe(s, bad)? {
        good = bad;
        bad = bad.saturating_mul(2);
    }
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        *(if probe(s, middle)? { &mut good } else { &mut bad }) = middle;
    }
    Ok(good)
}

/// Finds a small number for which `probe` holds, given that it holds for `high`: tries 0 and 1, then by bisection how
/// many bits are needed, then by bisection which number of that many bits; the last only if it holds for the next
/// lower number, or for the next lower one of the same parity.
pub(super) fn lowest(
    s: &mut Shrinker<'_>,
    high: u64,
    mut probe: impl FnMut(&mut Shrinker<'_>, u64) -> Step<bool>,
) -> Step<u64> {
    for n in 0..high.min(2) {
        if probe(s, n)? {
            return Ok(n);
        }
    }
    if high < 2 {
        return Ok(high);
    }
    let bits = u64::BITS - high.leading_zeros();
    let (mut bad_bits, mut good_bits) = (1, bits);
    while good_bits - bad_bits > 1 {
        let middle = (bad_bits + good_bits) / 2;
        *(if probe(s, high >> (bits - middle))? { &mut good_bits } else { &mut bad_bits }) = middle;
    }
    let (mut good, bad) = (high >> (bits - good_bits), high >> (bits - bad_bits));
    for step in [1, 2] {
        if good - bad <= step || !probe(s, good - step)? {
            continue;
        }
        // In steps down from `good`: `few` are known to hold, `many` are too many.
        let (mut few, mut many) = (1, (good - bad).div_ceil(step));
        while many - few > 1 {
            let middle = few + (many - few) / 2;
            *(if probe(s, good - middle * step)? { &mut few } else { &mut many }) = middle;
        }
        good -= few * step;
    }
    Ok(good)
}
