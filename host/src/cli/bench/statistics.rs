//! Medians of what was measured a few times, and whether one is smaller than another.

use crate::engine::Rng;

/// Samples that an interval is made of.
const RESAMPLES: usize = 2000;
/// The part of them that lies outside of it, on each side.
const OUTSIDE: f64 = 0.025;
/// Up to so many pairs without ties a p-value is exact.
const PAIRS_EXACT: usize = 400;

/// A median, and the interval in which it lies with a probability of 95 %.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub(super) struct Median {
    /// Of an even number of values the mean of the two in the middle.
    pub(super) median: f64,
    /// By the bootstrap (Efron): the percentiles 2.5 and 97.5 of the medians of random samples of the values.
    pub(super) interval: [f64; 2],
}

impl Median {
    /// That of some values, at least one; the same values have the same interval.
    pub(super) fn of(values: &[f64]) -> Self {
        let mut rng = Rng::of_task(0, 0, 0);
        let resample = |_| median(&(0..values.len()).map(|_| *rng.pick(values)).collect::<Vec<_>>());
        let mut medians: Vec<_> = (0..RESAMPLES).map(resample).collect();
        medians.sort_by(f64::total_cmp);
        let at = |part: f64| medians[(part * (RESAMPLES - 1) as f64).round() as usize];
        Self { median: median(values), interval: [at(OUTSIDE), at(1.0 - OUTSIDE)] }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) }
}

/// The probability that a value of `a` is larger than one of `b`, ties counted by half: Â12 (Vargha and Delaney, "A
/// critique and improvement of the CL common language effect size statistics", 2000). 0.5 is no difference.
pub(super) fn a12(a: &[f64], b: &[f64]) -> f64 {
    u(a, b) / (a.len() * b.len()) as f64
}

/// Mann and Whitney's U of `a`: the pairs in which its value is larger, ties counted by half.
fn u(a: &[f64], b: &[f64]) -> f64 {
    let wins = |x: &f64| {
        b.iter()
            .map(|y| {
                if x > y {
                    1.0
                } else if x == y {
                    0.5
                } else {
                    0.0
                }
            })
            .sum::<f64>()
    };
    a.iter().map(wins).sum()
}

/// How likely it is that both differ at least so much if they are of one distribution: two-sided, by Mann and Whitney's
/// U ("On a test of whether one of two random variables is stochastically larger than the other", 1947). Exact for few
/// values without ties, else by the normal distribution, corrected for ties and continuity.
pub(super) fn p_value(a: &[f64], b: &[f64]) -> f64 {
    let (n, m, u) = (a.len(), b.len(), u(a, b));
    let groups = ties(a, b);
    if n * m <= PAIRS_EXACT && groups.iter().all(|&size| size == 1) {
        return exact(n, m, u.max((n * m) as f64 - u) as usize);
    }
    let (n, m) = (n as f64, m as f64);
    let all = n + m;
    let tied: f64 = groups.iter().map(|&size| (size * size * size - size) as f64).sum();
    let variance = n * m / 12.0 * (all + 1.0 - tied / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let z = ((u - n * m / 2.0).abs() - 0.5).max(0.0) / variance.sqrt();
    erfc(z / std::f64::consts::SQRT_2)
}

/// How many values of both are equal, for each value.
fn ties(a: &[f64], b: &[f64]) -> Vec<usize> {
    let mut all = [a, b].concat();
    all.sort_by(f64::total_cmp);
    all.chunk_by(|x, y| x == y).map(<[f64]>::len).collect()
}

/// The part of all orders of n and m values in which U is at least `u`, or as far from the middle on the other side.
fn exact(n: usize, m: usize, u: usize) -> f64 {
    // By the last value: it is one of the n, and larger than all m, or one of the m.
    let pairs = n * m;
    let mut counts = vec![vec![0.0; pairs + 1]; m + 1];
    counts.iter_mut().for_each(|counts| counts[0] = 1.0);
    for _ in 0..n {
        let mut next = vec![vec![0.0; pairs + 1]; m + 1];
        next[0][0] = 1.0;
        for others in 1..=m {
            let fewer = next[others - 1].clone();
            for ((value, cell), fewer) in next[others].iter_mut().enumerate().zip(fewer) {
                *cell = fewer + value.checked_sub(others).map_or(0.0, |rest| counts[others][rest]);
            }
        }
        counts = next;
    }
    let (all, far): (f64, f64) = (counts[m].iter().sum(), counts[m][u..].iter().sum());
    (2.0 * far / all).min(1.0)
}

/// The complementary error function of a number that is not negative, to 1.2e-7 of it (Press and others, "Numerical
/// recipes", by Chebyshev's polynomials).
fn erfc(x: f64) -> f64 {
    const TERMS: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let t = 1.0 / (1.0 + 0.5 * x);
    let polynomial = TERMS.iter().rev().fold(0.0, |sum, term| sum * t + term);
    t * (polynomial - x * x).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_is(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-4, "{value} is not {expected}");
    }

    #[test]
    fn values_that_do_not_overlap_are_as_different_as_can_be() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0]);
        assert_is(a12(&a, &b), 0.0);
        assert_is(a12(&b, &a), 1.0);
        // 2 of the 252 orders of five and five.
        assert_is(p_value(&a, &b), 2.0 / 252.0);
        assert_is(p_value(&a, &a), 1.0);
    }

    #[test]
    fn p_values_are_those_of_tables() {
        // U = 9 of 25: of 252 orders of five and five 138 are at least as far from 12.5.
        let (a, b) = ([1.0, 4.0, 5.0, 8.0, 6.5], [2.0, 3.0, 7.0, 9.0, 10.0]);
        assert_is(a12(&a, &b), 9.0 / 25.0);
        assert_is(p_value(&a, &b), 138.0 / 252.0);
        // With ties by the normal distribution: U = 3.5, variance 21.944, z = 1.8145.
        let (a, b) = ([1.0, 1.0, 2.0, 3.0, 3.0], [2.0, 3.0, 4.0, 4.0, 5.0]);
        assert_is(a12(&a, &b), 3.5 / 25.0);
        assert_is(p_value(&a, &b), 0.069_601);
        assert_is(erfc(0.0), 1.0);
        assert_is(erfc(1.0), 0.157_299_2);
        assert_is(erfc(1.959_964 / std::f64::consts::SQRT_2), 0.05);
    }

    #[test]
    fn a_median_lies_in_its_interval() {
        let values: Vec<_> = (0..21).map(f64::from).collect();
        let Median { median, interval: [low, high] } = Median::of(&values);
        assert_is(median, 10.0);
        assert!(low < 10.0 && high > 10.0 && low >= 4.0 && high <= 16.0, "{low} {high}");
        assert_eq!(Median::of(&[7.0]), Median { median: 7.0, interval: [7.0, 7.0] });
        assert_is(Median::of(&[1.0, 2.0]).median, 1.5);
    }
}
