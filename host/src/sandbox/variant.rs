//! The variants of a target: the same behaviour, with other things put into its code.

use super::outcome::Trap;
use super::target::INIT_FUEL_MAX;
use fuzzbox_instrument::{EdgeSet, Options};
use std::num::NonZeroUsize;

/// What is put into a target's code. The same input does the same in all variants, and edges have the same numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Variant {
    /// Each edge has a counter, and fuel ends what takes too long: the only variant in which nothing is endless.
    #[default]
    Metered,
    /// Enough counters for the counts of all edges. Ends what is endless only if somebody
    /// [interrupts](super::Interrupter) it.
    Full,
    /// Counters for these edges only; the others' counts are unknown and stay 0. Interrupted as `Full` is.
    Fast(EdgeSet),
}

impl Variant {
    /// How modules are rewritten.
    pub(super) fn options(&self) -> Options {
        let mut options = match self {
            Self::Metered => {
                let mut options = Options::default();
                options.fuel = Some(INIT_FUEL_MAX.cast_signed());
                options
            }
            Self::Full => Options::full(),
            Self::Fast(interesting) => Options::fast(interesting.clone()),
        };
        options.lines = true;
        options
    }

    /// Whether code takes fuel.
    pub(super) fn has_fuel(&self) -> bool {
        matches!(self, Self::Metered)
    }

    /// How many frames of a failed execution are looked at; `None` if traps don't tell any, because that takes longer than
    /// what they end.
    pub(super) fn frames_max(&self) -> Option<NonZeroUsize> {
        match self {
            Self::Metered => NonZeroUsize::new(Trap::FRAMES_MAX),
            Self::Full | Self::Fast(_) => None,
        }
    }
}
