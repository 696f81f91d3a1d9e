//! How hard a comparison is tried, and after how much of it in vain it is left alone.

/// How hard something is tried: what is certain or cheap first, what enumerates bytes when that has failed, and at
/// last what enumerates them place by place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine::strategy::compares) enum Effort {
    Little,
    Some,
    Much,
}

impl Effort {
    pub(super) const COUNT: usize = 3;

    /// What comes when this has failed.
    pub(in crate::engine::strategy::compares) fn next(self) -> Option<Self> {
        match self {
            Self::Little => Some(Self::Some),
            Self::Some => Some(Self::Much),
            Self::Much => None,
        }
    }
}

/// How often a comparison with the same operand is tried in vain, by effort.
pub(super) const TRIES_MAX: [u32; Effort::COUNT] = [3, 2, 2];
/// How often a site is tried in vain, by effort; and how many times more for each success there.
pub(super) const FAILED_MAX: [u32; Effort::COUNT] = [48, 24, 12];
