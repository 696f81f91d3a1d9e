//! Makes a new testcase shorter while it shows what it is kept for.
//!
//! Short testcases are executed faster, and a mutation of one is more likely to touch what matters. As AFL's trimming stage
//! (Zalewski, "Technical whitepaper for afl-fuzz", section 5), but what must remain are the new features alone, not the whole path. It is no shrinker:
//! it spends a few dozen executions, on many testcases.

use anyhow::Result;

/// Whether a shorter input still shows what it must.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trimmed {
    /// It does.
    Still,
    /// It does not.
    NoMore,
}

/// Deletes blocks of `input`: halves, then quarters, and so on, the last first, since most programs read from the front.
///
/// Each candidate is given to `show`, at most `execs_max`; where it still shows what it must, the block stays deleted.
pub(super) fn trim(input: &[u8], execs_max: u64, mut show: impl FnMut(&[u8]) -> Result<Trimmed>) -> Result<Vec<u8>> {
    let mut best = input.to_vec();
    let mut candidate = Vec::with_capacity(input.len());
    let mut execs = 0;
    let mut block = best.len().div_ceil(2);
    while block > 0 {
        let mut end = best.len();
        while end > 0 {
            if execs == execs_max {
                return Ok(best);
            }
            execs += 1;
            let start = end.saturating_sub(block);
            candidate.clear();
            candidate.extend_from_slice(&best[..start]);
            candidate.extend_from_slice(&best[end..]);
            if show(&candidate)? == Trimmed::Still {
                std::mem::swap(&mut best, &mut candidate);
            }
            end = start;
        }
        block /= 2;
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keeps(needed: &[u8], input: &[u8], execs_max: u64) -> (Vec<u8>, u64) {
        let mut execs = 0;
        let trimmed = trim(input, execs_max, |candidate| {
            execs += 1;
            let shows = needed.iter().all(|byte| candidate.contains(byte));
            Ok(if shows { Trimmed::Still } else { Trimmed::NoMore })
        });
        (trimmed.unwrap(), execs)
    }

    #[test]
    fn what_is_not_needed_goes_and_the_rest_keeps_its_order() {
        let input: Vec<u8> = (0..200).collect();
        assert_eq!(keeps(&[17, 150, 151], &input, 1_000).0, [17, 150, 151]);
        assert_eq!(keeps(&[], &input, 1_000), (vec![], 2));
        assert_eq!(keeps(&[7], &[], 1_000), (vec![], 0));
    }

    #[test]
    fn executions_are_limited() {
        let input: Vec<u8> = (0..200).collect();
        let (trimmed, execs) = keeps(&[3, 199], &input, 20);
        assert_eq!(execs, 20);
        assert!(trimmed.len() < 40 && trimmed.contains(&3) && trimmed.contains(&199));
    }
}
