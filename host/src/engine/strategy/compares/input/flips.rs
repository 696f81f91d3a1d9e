//! Bits to flip together, where each changes an operand by `xor` whatever the others are, as in all that is linear over
//! GF(2): found by elimination.

/// Which of `changes`, 128 at most, give `wanted` together, as bits; `None` if none do.
pub(in crate::engine::strategy::compares) fn together(changes: &[u64], mut wanted: u64) -> Option<u128> {
    // By its highest bit: a sum of changes, and which they are.
    let mut basis = [(0_u64, 0_u128); 64];
    for (index, &change) in changes.iter().enumerate().take(128) {
        let (mut change, mut which) = (change, 1_u128 << index);
        while change != 0 {
            let slot = &mut basis[change.ilog2() as usize];
            if slot.0 == 0 {
                *slot = (change, which);
                break;
            }
            change ^= slot.0;
            which ^= slot.1;
        }
    }
    let mut which = 0;
    while wanted != 0 {
        let (change, of) = basis[wanted.ilog2() as usize];
        if change == 0 {
            return None;
        }
        wanted ^= change;
        which ^= of;
    }
    Some(which)
}

/// The bits that are set in what [`together`] returns: each with the place that it is in, and where in that.
pub(in crate::engine::strategy::compares) fn bits(flips: u128) -> impl Iterator<Item = (usize, u8)> {
    (0..128).filter(move |bit| flips >> bit & 1 == 1).map(|bit| (bit / 8, 1 << (bit % 8)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Rng;

    #[test]
    fn elimination_finds_a_sum_where_there_is_one() {
        let mut rng = Rng::of_task(1, 0, 0);
        let changes: Vec<u64> = (0..40).map(|_| rng.word()).collect();
        let chosen = rng.word() & ((1 << 40) - 1);
        let sum = |which: u128| (0..40).filter(|bit| which >> bit & 1 == 1).fold(0, |sum, bit| sum ^ changes[bit]);
        let found = together(&changes, sum(chosen.into())).unwrap();
        assert_eq!(sum(found), sum(chosen.into()));
        assert_eq!(together(&[1, 2, 3], 4), None);
        assert_eq!(together(&[0, 6, 3], 5), Some(0b110));
    }
}
