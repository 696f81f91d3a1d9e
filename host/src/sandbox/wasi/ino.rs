//! The number of an inode.

/// Index of an inode. The guest sees it increased by 1, because 0 looks like "no inode" to C programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ino(pub(super) u32);
