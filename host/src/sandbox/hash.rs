//! A fast hash over numbers, the same on all machines.

/// Odd, with as many ones as zeros, without pattern: the fraction of the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// A hash of `numbers` in their order, different for each `start`. Numbers that differ give equal hashes about once in
/// 2^64 times; it does not resist who looks for such numbers.
///
/// Each number is mixed in by a product of 128 bits whose halves are folded (as in wyhash; Wang Yi et al., "Modern
/// non-cryptographic hash function and pseudorandom number generator").
pub(super) fn of(start: u64, numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(fold(start ^ FACTOR), |hash, number| fold(hash ^ number).wrapping_add(FACTOR))
}

/// A hash of 16 numbers, different for each `start`, faster than [`of`]: few of its products wait for another. Sums of
/// such hashes are as good.
pub(super) fn of_line(start: u64, line: &[u32; 16]) -> u64 {
    const MASKS: [u64; 8] = [
        0x2d35_8dcc_aa6c_78a5,
        0x8bb8_4b93_962e_acc9,
        0x4b33_a62e_d433_d4a3,
        0x4d5a_2da5_1de1_aa47,
        0xa076_1d64_78bd_642f,
        0xe703_7ed1_a0b4_28db,
        0x90ed_1765_281c_388c,
        0xaaaa_aa5a_3c96_6969,
    ];
    let (words, _) = line.as_chunks::<2>();
    let word = |index: usize| u64::from(words[index][0]) | u64::from(words[index][1]) << 32;
    let pair = |index: usize| product(word(index) ^ MASKS[index], word(index + 1) ^ MASKS[index + 1]);
    let (low, high) =
        (pair(0).wrapping_add(pair(2).rotate_left(17)), pair(4).rotate_left(31).wrapping_add(pair(6).rotate_left(47)));
    fold((low ^ high).wrapping_add(start.wrapping_mul(FACTOR)))
}

fn fold(number: u64) -> u64 {
    product(number ^ 0xe703_7ed1_a0b4_28db, FACTOR)
}

/// The product's halves, folded.
fn product(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn small_numbers_have_different_hashes() {
        let mut seen = BTreeSet::new();
        for a in 0..100 {
            for b in 0..100 {
                for c in [0, 1, 1 << 32, 77] {
                    for start in 0..3 {
                        assert!(seen.insert(of(start, [a, b, c].into_iter())), "{start} {a} {b} {c}");
                        assert!(seen.insert(of(start, [a, b << 32 | 5, c, 9].into_iter())), "{start} {a} {b} {c}");
                    }
                }
            }
        }
        assert!(seen.insert(of(0, [].into_iter())));
    }

    #[test]
    fn lines_with_small_numbers_have_different_hashes() {
        let mut seen = BTreeSet::new();
        for place in 0..16 {
            for other in 0..place {
                for (a, b) in (0..40).flat_map(|a| (1..40).map(move |b| (a, b))) {
                    let mut line = [0; 16];
                    (line[place], line[other]) = (b, a);
                    // Where one number is 0 it is the same line for each place of that number.
                    assert!(seen.insert(of_line(3, &line)) || a == 0 && other > 0, "{line:?}");
                }
            }
        }
    }

    #[test]
    fn half_of_the_bits_change_with_each_bit() {
        let bits: u32 =
            (0..64).map(|bit| (of(1, [5].into_iter()) ^ of(1, [5 ^ 1 << bit].into_iter())).count_ones()).sum();
        assert!((64 * 28..64 * 36).contains(&bits), "{bits}");
    }
}
