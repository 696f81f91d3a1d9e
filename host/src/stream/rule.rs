//! What a stream leaves open: how its choices are taken where they don't fit, and what follows it.

use rand_core::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// How an execution reads its stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// What follows the last choice.
    pub tail: Tail,
    /// An index beyond the largest that is possible counts round (modulo the number of values). Otherwise it is 0. For
    /// mutants: what they change shall change something.
    pub wrap: bool,
    /// Where the simplest choice follows, a call site has that of a [`Closing`](super::Closing) instead of index 0. For
    /// mutants: what is made up shall end.
    pub close: bool,
}

/// What follows the last choice of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tail {
    /// The simplest choice for each draw.
    #[default]
    Zero,
    /// Random choices, up to so many choices of the execution in all; then the simplest.
    Random {
        /// Of the random numbers.
        seed: u64,
        /// A number of choices, those of the stream included.
        choices: u32,
    },
    /// The execution stops, with [`Outcome::Overrun`](crate::outcome::Outcome::Overrun).
    Stop,
}

impl Tail {
    /// The state of xoshiro256++ that the random choices begin with.
    pub fn random_state(seed: u64) -> [u64; 4] {
        // The generator's own way from a seed to a state is SplitMix64.
        let mut seeder = rand_xoshiro::SplitMix64::seed_from_u64(seed);
        std::array::from_fn(|_| rand_core::Rng::next_u64(&mut seeder))
    }

    /// The random numbers themselves.
    pub fn random(seed: u64) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::Rng as _;

    #[test]
    fn the_state_is_that_of_the_generator() {
        let [s0, s1, s2, s3] = Tail::random_state(7);
        let first = s0.wrapping_add(s3).rotate_left(23).wrapping_add(s0);
        assert_eq!(Tail::random(7).next_u64(), first);
        let mut seed = [0; 32];
        for (place, state) in seed.chunks_mut(8).zip([s0, s1, s2, s3]) {
            place.copy_from_slice(&state.to_le_bytes());
        }
        assert_eq!(Xoshiro256PlusPlus::from_seed(seed), Tail::random(7));
    }
}
