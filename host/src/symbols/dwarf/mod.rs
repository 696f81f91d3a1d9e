//! Source lines from DWARF that nobody vouches for.
//!
//! This is written on gimli's readers, which are linear in the bytes they read, rather than on a ready-made symboliser,
//! because those trust their input: one range list that every function refers to, one file name that every entry
//! repeats, or inlined calls nested a hundred thousand deep make them take all memory or overflow the stack. Here every
//! entry, attribute, range and row that is looked at is paid for from a [`Budget`]; when that is spent, the module has
//! no lines from then on. Nothing recurses, and only what was asked for is kept.

use super::Place;
use gimli::{DebugInfoOffset, DwarfSections, EndianSlice, LittleEndian, Range};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

mod calls;
mod units;

type Slice<'a> = EndianSlice<'a, LittleEndian>;
type Unit<'a> = gimli::Unit<Slice<'a>>;

/// Custom sections that lookups need.
pub(crate) const SECTIONS: [&str; 9] = [
    ".debug_abbrev",
    ".debug_addr",
    ".debug_info",
    ".debug_line",
    ".debug_line_str",
    ".debug_ranges",
    ".debug_rnglists",
    ".debug_str",
    ".debug_str_offsets",
];

/// The debug sections of one module.
pub(super) struct Dwarf {
    sections: DwarfSections<Vec<u8>>,
    index: OnceLock<Index>,
    /// A lookup ran out of budget: no more lookups.
    spent: AtomicBool,
}

/// Addresses that a unit claims.
struct UnitRange {
    range: Range,
    unit: DebugInfoOffset,
}

/// The ranges of all units, by where they begin.
#[derive(Default)]
struct Index {
    ranges: Vec<UnitRange>,
    /// The highest end of the ranges up to each.
    ends: Vec<u64>,
}

impl Index {
    fn new(mut ranges: Vec<UnitRange>) -> Self {
        ranges.sort_by_key(|entry| (entry.range.begin, entry.unit.0));
        let ends = ranges.iter().scan(0, |end, entry| {
            *end = entry.range.end.max(*end);
            Some(*end)
        });
        Self { ends: ends.collect(), ranges }
    }

    /// The units that claim an address, ascending.
    fn units(&self, address: u64, budget: &mut Budget) -> Result<Vec<usize>, Spent> {
        let mut units = Vec::new();
        let after = self.ranges.partition_point(|entry| entry.range.begin <= address);
        for (entry, end) in self.ranges[..after].iter().zip(&self.ends).rev() {
            budget.pay(1)?;
            if *end <= address || units.len() == UNITS_PER_ADDRESS_MAX {
                break;
            }
            if contains(entry.range, address) {
                units.push(entry.unit.0);
            }
        }
        units.sort_unstable();
        units.dedup();
        Ok(units)
    }
}

/// Steps that remain. A step is about as much work as reading one attribute, some nanoseconds.
struct Budget(u64);

/// What was asked for costs more than it may.
struct Spent;

/// For reading all units' headers and ranges, once per module.
const INDEX_STEPS_MAX: u64 = 1 << 25;
/// For one call of [`Dwarf::find`]. The 64 frames of a trap in expat take 50 thousand.
const FIND_STEPS_MAX: u64 = 1 << 26;
/// Ranges that are kept.
const RANGES_MAX: usize = 1 << 20;
/// Units that are asked for one address: more than one claim it only if the linker merged equal functions.
const UNITS_PER_ADDRESS_MAX: usize = 4;
/// A unit's table of files, and that of abbreviations: gimli takes up to 100 bytes of memory for each byte.
const TABLE_BYTES_MAX: u64 = 1 << 20;
/// Inlined calls at one address; compilers stay far below.
const INLINED_MAX: usize = 32;
/// Hops from an inlined call to the declaration that has its name.
const ORIGINS_MAX: usize = 16;
/// Longer strings are cut.
const STRING_BYTES_MAX: usize = 4096;
/// Bytes of a string that are searched for its end in one step.
const STRING_BYTES_PER_STEP: u64 = 16;

impl Budget {
    fn pay(&mut self, steps: u64) -> Result<(), Spent> {
        self.0 = self.0.checked_sub(steps).ok_or(Spent)?;
        Ok(())
    }
}

impl Dwarf {
    /// Takes the sections that [`Dwarf::reads`].
    pub(super) fn new(sections: &BTreeMap<&str, &[u8]>) -> Self {
        let load = |id: gimli::SectionId| {
            let mut section = sections.get(id.name()).map_or_else(Vec::new, |section| section.to_vec());
            if [".debug_str", ".debug_line_str"].contains(&id.name()) {
                // Each string ends then, and looking for its end costs what the string's length says.
                section.push(0);
            }
            Ok::<_, Infallible>(section)
        };
        let Ok(sections) = DwarfSections::load(load);
        Self { sections, index: OnceLock::new(), spent: AtomicBool::new(false) }
    }

    /// Whether the custom section of this name holds something that lookups need.
    pub(super) fn reads(section: &str) -> bool {
        SECTIONS.contains(&section)
    }

    /// Finds the places of `addresses`, which are sorted and relative to the code section's contents. Each has a list:
    /// the instruction in the innermost inlined function, then the call in each function around it; the last is the
    /// function that exists as code. The list is empty if nothing is known.
    pub(super) fn find(&self, addresses: &[u64]) -> Vec<Vec<Place>> {
        debug_assert!(addresses.is_sorted());
        let mut found = vec![Vec::new(); addresses.len()];
        if !self.spent.load(Ordering::Relaxed) {
            let mut budget = Budget(FIND_STEPS_MAX);
            if self.find_within(addresses, &mut found, &mut budget).is_err() {
                self.spent.store(true, Ordering::Relaxed);
            }
        }
        found
    }

    /// Whether the module turned out to cost too much.
    #[cfg(test)]
    pub(super) fn is_spent(&self) -> bool {
        self.spent.load(Ordering::Relaxed)
    }

    fn find_within(&self, addresses: &[u64], found: &mut [Vec<Place>], budget: &mut Budget) -> Result<(), Spent> {
        let dwarf = self.sections.borrow(|section| EndianSlice::new(section, LittleEndian));
        let index = self
            .index
            .get_or_init(|| Index::new(Reader { dwarf: &dwarf, budget: &mut Budget(INDEX_STEPS_MAX) }.index()));
        let mut reader = Reader { dwarf: &dwarf, budget };
        // Unit by unit, so that each is read once however many frames lie in it.
        let mut by_unit: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (slot, address) in addresses.iter().enumerate() {
            for unit in index.units(*address, reader.budget)? {
                by_unit.entry(unit).or_default().push(slot);
            }
        }
        for (unit, mut slots) in by_unit {
            slots.retain(|slot| found[*slot].is_empty());
            let wanted: Vec<u64> = slots.iter().map(|slot| addresses[*slot]).collect();
            if wanted.is_empty() {
                continue;
            }
            for (slot, places) in slots.into_iter().zip(reader.places(DebugInfoOffset(unit), &wanted)?) {
                found[slot] = places;
            }
        }
        Ok(())
    }
}

fn contains(range: Range, address: u64) -> bool {
    // Linkers leave 0 where the code was removed; no code lies there, as the section begins with the number of
    // functions.
    range.begin != 0 && range.begin <= address && address < range.end
}

/// Reads DWARF within a budget. `Err` is always "spent"; what is broken gives nothing.
struct Reader<'a, 'b> {
    dwarf: &'b gimli::Dwarf<Slice<'a>>,
    budget: &'b mut Budget,
}
