//! Flags: what code tells of an execution, a byte each.
//!
//! ```text
//! 8             9             10           11             12            13               14
//! | out-of-fuel | table-write | table-grow | segment-drop | memory-grow | stack-overflow | null-write |
//! ```
//!
//! This is the one table of them: the rewriter's code sets a byte to 1 when the event happens, the host reads all
//! together as [`Flags`], and clears them. So a check that the rewriter makes is a line here, a probe that ends with
//! it, and the host's word for the failure; who chooses checks is shown those that are here.

/// The first of the flags' bytes.
pub const FLAGS: u32 = 8;

/// Where they end.
pub(super) const END: u32 = FLAGS + Flag::TABLE.len() as u32;

/// What code tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Flag {
    /// The execution ran out of fuel (and trapped with `unreachable`).
    OutOfFuel,
    /// A table's content may have changed: `table.set`, `table.fill`, `table.copy` or `table.init` was reached.
    TableWrite,
    /// A `table.grow` was reached.
    TableGrow,
    /// A segment was dropped: `data.drop` or `elem.drop` was reached.
    SegmentDrop,
    /// A `memory.grow` was reached, whether it succeeded or not.
    MemoryGrow,
    /// More calls were live than [`Options::calls`](crate::Options::calls) allows (and it trapped with `unreachable`).
    StackOverflow,
    /// The guest was about to write below address 1024 (and trapped with `unreachable`), in a module in which nothing
    /// lies there: linkers of C leave these addresses free, so that nothing has the address 0.
    /// [`Instrumented::finds_low_stores`](crate::Instrumented::finds_low_stores) says if the module is one.
    LowStore,
}

/// What it means that a flag is set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// The state changed.
    Change,
    /// A limit was reached, and code trapped.
    Limit,
    /// A check that [`Options::checks`](crate::Options::checks) asked for failed, and code trapped. What it finds, for
    /// who chooses; and whether it is made if nobody does.
    Check { finds: &'static str, usual: bool },
}

impl Flag {
    /// All of them, in the order of their bytes; each with its name, and what it means that it is set.
    const TABLE: [(Flag, &'static str, Meaning); 7] = [
        (Flag::OutOfFuel, "out-of-fuel", Meaning::Limit),
        (Flag::TableWrite, "table-write", Meaning::Change),
        (Flag::TableGrow, "table-grow", Meaning::Change),
        (Flag::SegmentDrop, "segment-drop", Meaning::Change),
        (Flag::MemoryGrow, "memory-grow", Meaning::Change),
        (Flag::StackOverflow, "stack-overflow", Meaning::Limit),
        (
            Flag::LowStore,
            "null-write",
            Meaning::Check { finds: "writes below address 1024, in C programs", usual: true },
        ),
    ];

    /// All of them, in the order of their bytes.
    pub fn all() -> impl Iterator<Item = Flag> {
        Flag::TABLE.into_iter().map(|(flag, ..)| flag)
    }

    /// Those of checks, each with what it finds, in words.
    pub fn checks() -> impl Iterator<Item = (Flag, &'static str)> {
        let finds = |(flag, _, meaning)| match meaning {
            Meaning::Check { finds, .. } => Some((flag, finds)),
            Meaning::Change | Meaning::Limit => None,
        };
        Flag::TABLE.into_iter().filter_map(finds)
    }

    /// Where its byte is.
    pub const fn offset(self) -> u32 {
        FLAGS + self as u32
    }

    /// Its name; of those that are failures, that of the failure.
    pub fn name(self) -> &'static str {
        Flag::TABLE[self as usize].1
    }

    /// Whether it is a failure: code sets it, and traps with `unreachable`.
    pub fn is_failure(self) -> bool {
        Flag::TABLE[self as usize].2 != Meaning::Change
    }
}

/// A set of flags: as they were read, or those of checks that are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags([u8; Flag::TABLE.len()]);

impl Flags {
    /// Those of checks that are made if nobody chooses.
    pub fn usual_checks() -> Flags {
        Flags(Flag::TABLE.map(|(.., meaning)| u8::from(matches!(meaning, Meaning::Check { usual: true, .. }))))
    }

    /// Reads them from the content of the injected memory.
    pub fn read(injected: &[u8]) -> Flags {
        Flags(injected.get(FLAGS as usize..).and_then(|bytes| bytes.first_chunk()).copied().unwrap_or_default())
    }

    /// Whether a flag is set.
    pub fn has(self, flag: Flag) -> bool {
        self.0[flag as usize] != 0
    }

    /// The failure that code found, if it found one: it finds one at most.
    pub fn failure(self) -> Option<Flag> {
        Flag::all().find(|&flag| flag.is_failure() && self.has(flag))
    }
}

impl FromIterator<Flag> for Flags {
    fn from_iter<T: IntoIterator<Item = Flag>>(set: T) -> Flags {
        let mut flags = Flags::default();
        set.into_iter().for_each(|flag| flags.0[flag as usize] = 1);
        flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_where_they_are_set() {
        assert!(
            Flag::all().zip(0..).all(|(flag, place)| flag as u8 == place),
            "the table is in the order of the bytes"
        );
        assert_eq!(Flags::read(&[1; 3]), Flags::default(), "a memory that is too short has none");
        for set in Flag::all() {
            let mut memory = vec![0; 64];
            memory[set.offset() as usize] = 1;
            let flags = Flags::read(&memory);
            assert!(Flag::all().all(|flag| flags.has(flag) == (flag == set)));
            assert!(!Flag::checks().any(|(check, _)| check == set) || set.is_failure());
            assert!(!Flags::usual_checks().has(set) || Flag::checks().any(|(check, _)| check == set));
            assert_eq!(flags, Flags::from_iter([set]));
            assert_eq!(flags.failure(), Some(set).filter(|set| set.is_failure()));
        }
    }
}
