//! The variants of a target: the same behaviour, with other things put into its code.

use super::past::Past;
use super::target::INIT_FUEL_MAX;
use super::words;
use crate::outcome::Trap;
use fuzzbox_instrument::{EdgeSet, Options};
use std::num::NonZeroUsize;

/// What is put into a target's code. The same input does the same in all variants, and edges have the same numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Variant {
    /// Each edge has a counter, fuel ends what takes too long, and more than 65,536 live calls that can be part of a recursion are a stack
    /// overflow: the only variant in which nothing is endless, and in which it depends on no machine how deep recursion may go. Writes to
    /// addresses below 1024 are found, in modules as C compilers make them.
    #[default]
    Metered,
    /// Enough counters for the counts of all edges. Ends what is endless only if somebody
    /// [interrupts](super::Interrupter) it.
    Full,
    /// Counters for these edges only; the others' counts are unknown and stay 0. Interrupted as `Full` is.
    Fast(EdgeSet),
    /// As `Metered`, in all that it decides; it also records what is compared and which functions are called, for
    /// [`Observation::trace`](super::Observation::trace).
    Traced,
}

/// Native stack that the guest may use in variants that decide nothing, in bytes; deeper recursion is a crash of kind
/// `stack-overflow`.
const STACK_BYTES: usize = 1 << 20;

/// The smallest native frame, in bytes: return address and frame pointer.
const FRAME_BYTES_MIN: usize = 16;

/// How many calls of the guest may be live that can be part of a recursion. Each has a frame, even where functions are put in the
/// place of calls. So what has more of them overflows any variant's native stack, and everything that could be a stack overflow
/// is seen to be one.
pub(super) const CALLS_MAX: usize = STACK_BYTES / FRAME_BYTES_MIN;

/// Native stack that the guest may use where calls are counted, in bytes: there may be 1 KiB for each. What still overflows it
/// is a stack overflow as well.
pub(super) const METERED_STACK_BYTES: usize = CALLS_MAX << 10;

impl Variant {
    /// How modules are rewritten, after executions of the past.
    pub(super) fn options(&self, past: &Past) -> Options {
        let mut options = match self {
            Self::Metered | Self::Traced => {
                let mut options = if *self == Self::Traced { Options::traced() } else { Options::metered() };
                options.fuel = Some(INIT_FUEL_MAX.cast_signed());
                options.calls = Some(CALLS_MAX as u32);
                options.arguments = Some(words::takes_message);
                options.callable = Some(words::formats);
                options
            }
            Self::Full => Options::full(),
            Self::Fast(interesting) => Options::fast(interesting.clone()),
        };
        options.bounds = !self.has_fuel() && past.compares();
        options.profile = past.profile(self);
        options.lines = true;
        options.hide_lengths = true;
        options
    }

    /// Whether code takes fuel.
    pub(super) fn has_fuel(&self) -> bool {
        matches!(self, Self::Metered | Self::Traced)
    }

    /// Whether what an execution does is recorded.
    pub(super) fn has_trace(&self) -> bool {
        *self == Self::Traced
    }

    /// Native stack that the guest may use, in bytes.
    pub(super) fn stack_bytes(&self) -> usize {
        match self {
            Self::Metered | Self::Traced => METERED_STACK_BYTES,
            Self::Full | Self::Fast(_) => STACK_BYTES,
        }
    }

    /// How many frames of a failed execution are looked at; `None` if traps don't tell any, because that takes longer than
    /// what they end.
    pub(super) fn frames_max(&self) -> Option<NonZeroUsize> {
        match self {
            Self::Metered | Self::Traced => NonZeroUsize::new(Trap::FRAMES_MAX),
            Self::Full | Self::Fast(_) => None,
        }
    }
}
