//! The variants of a target: the same behaviour, with other things put into its code.

use crate::outcome::Trap;
use crate::sandbox::code::history::History;
use crate::sandbox::limits::{INIT_FUEL_MAX, METERED_STACK_BYTES, STACK_BYTES};
use crate::sandbox::messages;
use crate::settings::{Allocator, Settings};
use fuzzbox_instrument::{Callable, EdgeSet, Options};
use std::num::NonZeroUsize;

/// What functions of the guest's allocator are called where they can be called, though they are not exported.
pub(crate) const ALLOCATE: &str = "allocate";
pub(crate) const FREE: &str = "free";

/// What is put into a target's code. The same input does the same in all variants, and edges have the same numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Variant {
    /// Each edge has a counter, fuel ends what takes too long, and more than 65,536 live calls that can be part of a
    /// recursion are a stack overflow: the only variant in which nothing is endless, and in which it depends on no
    /// machine how deep recursion may go. What [`Settings::checks`](crate::settings::Settings::checks) name is found.
    #[default]
    Metered,
    /// Enough counters for the counts of all edges. Ends what is endless only if somebody
    /// [interrupts](crate::sandbox::Interrupter) it.
    Full,
    /// Counters for these edges only; the others' counts are unknown and stay 0. Interrupted as `Full` is.
    Fast(EdgeSet),
    /// As `Metered`, but for what fails, if its code compares addresses; it also records what is compared and which
    /// functions are called, for [`Observation::trace`](crate::sandbox::Observation::trace).
    Traced,
}

impl Variant {
    /// How modules are rewritten under these settings, after executions of the past.
    pub(crate) fn options(&self, past: &History, settings: &Settings) -> Options {
        let mut options = match self {
            Self::Metered | Self::Traced => {
                let mut options = if *self == Self::Traced { Options::traced() } else { Options::metered() };
                options.checks = settings.checks.0;
                options.fuel = Some(INIT_FUEL_MAX.cast_signed());
                options.arguments = Some(messages::takes_message);
                options.callable.push((messages::FORMATS, Callable::Named(messages::formats)));
                options
            }
            Self::Full => Options::full(),
            Self::Fast(interesting) => Options::fast(interesting.clone()),
        };
        if let Allocator::Functions { allocate, free, .. } = settings.allocator {
            let functions = [(ALLOCATE, allocate), (FREE, free)];
            options.callable.extend(functions.map(|(called, index)| (called, Callable::Index(index))));
        }
        options.bounds = past.compares();
        options.profile = past.profile(self.interesting());
        options.lines = true;
        options.hide_lengths = true;
        options
    }

    /// The edges that are counted, if only some are.
    fn interesting(&self) -> Option<&EdgeSet> {
        match self {
            Self::Fast(interesting) => Some(interesting),
            Self::Metered | Self::Full | Self::Traced => None,
        }
    }

    /// Whether code takes fuel.
    pub(crate) fn has_fuel(&self) -> bool {
        matches!(self, Self::Metered | Self::Traced)
    }

    /// Whether what an execution does is recorded.
    pub(crate) fn has_trace(&self) -> bool {
        *self == Self::Traced
    }

    /// Native stack that the guest may use, in bytes.
    pub(crate) fn stack_bytes(&self) -> usize {
        match self {
            Self::Metered | Self::Traced => METERED_STACK_BYTES,
            Self::Full | Self::Fast(_) => STACK_BYTES,
        }
    }

    /// How many frames of a failed execution are looked at; `None` if traps don't tell any, because that takes longer
    /// than what they end.
    pub(crate) fn frames_max(&self) -> Option<NonZeroUsize> {
        match self {
            Self::Metered | Self::Traced => NonZeroUsize::new(Trap::FRAMES_MAX),
            Self::Full | Self::Fast(_) => None,
        }
    }
}
