//! What is compared before an access.

/// An access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Check {
    /// Where the operator is, an offset in the module.
    pub(crate) at: u32,
    /// What is compared before it, if anything.
    pub(crate) reach: Option<Reach>,
}

/// Bytes that have to be inside, by their distance from an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    /// Where the first one lies.
    pub(crate) start: i64,
    /// Where the last one ends.
    pub(crate) end: i64,
}
