//! What is recorded.

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Byte offset of the operator in the original module; of the first one of the body for what is recorded at a
    /// function's entry.
    pub site: u32,
    /// What happened.
    pub event: Event,
}

/// What happened at an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Two numbers are compared; or one with 0 by `eqz`, which is [`Comparison::Eq`].
    Compare {
        /// How.
        comparison: Comparison,
        /// Whether they are floats.
        float: bool,
        /// Size of each in bytes: 4 or 8.
        width: u8,
        /// The first operand's bits.
        left: u64,
        /// The second operand's bits.
        right: u64,
    },
    /// Two integers are compared for equality, as a part of what is wider: whether all parts are equal is compared with
    /// 0 next.
    Part {
        /// Size of each in bytes: 4 or 8.
        width: u8,
        /// The first operand's bits.
        left: u64,
        /// The second operand's bits.
        right: u64,
    },
    /// A condition that was not just compared: it decides by whether it is 0.
    Condition {
        /// What decides.
        operator: Conditional,
        /// The condition.
        value: u32,
    },
    /// A `br_table` goes to one of its targets.
    Choose {
        /// Which one; the default, if there are not so many.
        index: u32,
        /// How many there are besides the default.
        targets: u32,
    },
    /// Memory is about to be changed: `memory.copy`, `memory.fill` or `memory.init`.
    Memory {
        /// Where from.
        source: Source,
        /// The index of the memory that changes.
        memory: u8,
        /// Where it changes.
        address: u64,
        /// How many bytes.
        length: u64,
    },
    /// A function that compares what lies in memory 0 is entered.
    Bytes(Box<CompareBytes>),
    /// A function that compares two floats of 128 bits (IEEE 754's binary128) is entered: with these bits.
    CompareQuads(Box<[u128; 2]>),
    /// A function is entered.
    Enter {
        /// Its index.
        function: u32,
        /// How many functions are being called, this one included.
        depth: u32,
    },
    /// A function is left.
    Leave {
        /// The depth with which it was entered.
        depth: u32,
        /// How.
        way: Way,
    },
    /// A function has caught an exception. All deeper ones have been left by it.
    Caught {
        /// The depth with which it was entered.
        depth: u32,
    },
}

/// What a function that compares what lies in memory 0 was given. Beside the event, which is rare: all records are as
/// large as the largest one, and there are many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompareBytes {
    /// Which function.
    pub comparer: Comparer,
    /// Its two pointers.
    pub pointers: [u64; 2],
    /// How many bytes it compares at most, if it is told.
    pub length: Option<u64>,
    /// What lies there: up to 32 bytes, the length, the end of the memory, and for strings the zero at their end.
    pub content: [Vec<u8>; 2],
}

/// How numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Comparison {
    /// `eq` and `eqz`.
    Eq,
    /// `ne`.
    Ne,
    /// `lt_s`, and `lt` of floats.
    LtS,
    /// `lt_u`.
    LtU,
    /// `gt_s`, and `gt` of floats.
    GtS,
    /// `gt_u`.
    GtU,
    /// `le_s`, and `le` of floats.
    LeS,
    /// `le_u`.
    LeU,
    /// `ge_s`, and `ge` of floats.
    GeS,
    /// `ge_u`.
    GeU,
}

/// An operator that decides by a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conditional {
    /// `if`.
    If,
    /// `br_if`.
    BrIf,
    /// `select`.
    Select,
}

/// What memory gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// What is in a memory, this one or another.
    Copy {
        /// The index of that memory.
        memory: u8,
        /// Where it is.
        address: u64,
    },
    /// The lowest byte of a number.
    Fill {
        /// That number.
        value: u32,
    },
    /// What is in a data segment.
    Init {
        /// Where it is in the segment.
        offset: u32,
    },
}

/// A function that compares bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Comparer {
    /// One that looks like `memcmp`: with a length.
    SomeBytes,
    /// One that looks like `strcmp`: without a length.
    SomeStrings,
    /// `memcmp`.
    Memcmp,
    /// `bcmp`.
    Bcmp,
    /// `memmem`; the length is that of what is searched for.
    Memmem,
    /// `strcmp`.
    Strcmp,
    /// `strncmp`.
    Strncmp,
    /// `strcasecmp`.
    Strcasecmp,
    /// `strncasecmp`.
    Strncasecmp,
    /// `strstr`.
    Strstr,
}

/// How a function was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// By its end, or by a branch to it.
    End,
    /// By `return`.
    Return,
    /// By a tail call: the next function entered takes its place.
    TailCall,
}

impl Comparer {
    /// Whether a zero byte ends what is compared.
    pub fn is_of_strings(self) -> bool {
        !matches!(self, Comparer::SomeBytes | Comparer::Memcmp | Comparer::Bcmp | Comparer::Memmem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_small() {
        assert!(size_of::<Record>() <= 48, "{}", size_of::<Record>());
    }
}
