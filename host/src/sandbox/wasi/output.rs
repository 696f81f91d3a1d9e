//! The end of what a program writes to a standard stream, however much that is.

/// Bytes of the end of a stream that are kept in any case.
pub const TAIL_BYTES: usize = 4096;

/// What was written beyond the limit on output: its last [`TAIL_BYTES`], or more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tail {
    bytes: Vec<u8>,
    /// Something that came before these was dropped.
    cut: bool,
}

impl Tail {
    /// Appends bytes; what lies too far back goes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.cut |= bytes.len() > TAIL_BYTES;
        self.bytes.extend_from_slice(&bytes[bytes.len().saturating_sub(TAIL_BYTES)..]);
        // Seldom, so that many small pieces cost no more than one large.
        if self.bytes.len() > 4 * TAIL_BYTES {
            self.bytes.drain(..self.bytes.len() - TAIL_BYTES);
            self.cut = true;
        }
    }

    /// Becomes `other`, in the same buffer.
    pub(super) fn restore(&mut self, other: &Self) {
        self.bytes.clear();
        self.bytes.extend_from_slice(&other.bytes);
        self.cut = other.cut;
    }

    /// The last [`TAIL_BYTES`] of `head` and what follows it here, and whether there was more.
    pub(super) fn after(&self, head: &[u8]) -> (Vec<u8>, bool) {
        let from_head = TAIL_BYTES.saturating_sub(self.bytes.len()).min(head.len());
        let here = &self.bytes[self.bytes.len().saturating_sub(TAIL_BYTES)..];
        let whole = !self.cut && head.len() + self.bytes.len() <= TAIL_BYTES;
        ([&head[head.len() - from_head..], here].concat(), !whole)
    }
}
