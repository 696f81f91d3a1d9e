//! Source lines from DWARF that nobody vouches for.
//!
//! This is written on gimli's readers, which are linear in the bytes they read, rather than on a ready-made symboliser,
//! because those trust their input: one range list that every function refers to, one file name that every entry repeats,
//! or inlined calls nested a hundred thousand deep make them take all memory or overflow the stack. Here every
//! entry, attribute, range and row that is looked at is paid for from a [`Budget`]; when that is spent, the module has
//! no lines from then on. Nothing recurses, and only what was asked for is kept.

use gimli::{
    Abbreviation, AttributeValue, DebugInfoOffset, DwarfSections, EndianSlice, EntriesRaw, LittleEndian, Range,
    Reader as _, Section as _, UnitOffset, UnitSectionOffset,
};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

type Slice<'a> = EndianSlice<'a, LittleEndian>;
type Unit<'a> = gimli::Unit<Slice<'a>>;

/// Where an instruction, or a call of an inlined function, stands in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Mangled name of the (inlined) function.
    pub(super) function: Option<String>,
    pub(super) file: Option<String>,
    pub(super) line: Option<u32>,
    pub(super) column: Option<u32>,
}

/// The debug sections of one module.
pub(super) struct Dwarf {
    sections: DwarfSections<Vec<u8>>,
    index: OnceLock<Vec<UnitRange>>,
    /// A lookup ran out of budget: no more lookups.
    spent: AtomicBool,
}

/// Addresses that a unit claims.
struct UnitRange {
    range: Range,
    unit: DebugInfoOffset,
}

/// Steps that remain. A step is about as much work as reading one attribute, some nanoseconds.
struct Budget(u64);

/// What was asked for costs more than it may.
struct Spent;

/// For reading all units' headers and ranges, once per module.
const INDEX_STEPS_MAX: u64 = 1 << 26;
/// For one call of [`Dwarf::find`].
const FIND_STEPS_MAX: u64 = 1 << 28;
/// Ranges that are kept.
const RANGES_MAX: usize = 1 << 20;
/// Units that are asked for one address: more than one claim it only if the linker merged equal functions.
const UNITS_PER_ADDRESS_MAX: usize = 4;
/// A unit's table of files: gimli reserves some 100 bytes for each byte of it.
const LINE_HEADER_BYTES_MAX: u64 = 1 << 20;
/// Inlined calls at one address; compilers stay far below.
const INLINED_MAX: usize = 32;
/// Hops from an inlined call to the declaration that has its name.
const ORIGINS_MAX: usize = 16;
/// Longer strings are cut.
const STRING_BYTES_MAX: usize = 4096;

impl Budget {
    fn pay(&mut self, steps: u64) -> Result<(), Spent> {
        self.0 = self.0.checked_sub(steps).ok_or(Spent)?;
        Ok(())
    }
}

impl Dwarf {
    /// Takes the sections that [`Dwarf::reads`].
    pub(super) fn new(mut sections: BTreeMap<String, Vec<u8>>) -> Self {
        let load =
            |id: gimli::SectionId| Ok::<_, std::convert::Infallible>(sections.remove(id.name()).unwrap_or_default());
        let Ok(sections) = DwarfSections::load(load);
        Self { sections, index: OnceLock::new(), spent: AtomicBool::new(false) }
    }

    /// Whether the custom section of this name holds something that lookups need.
    pub(super) fn reads(section: &str) -> bool {
        const SECTIONS: [&str; 9] = [
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
        SECTIONS.contains(&section)
    }

    /// Finds the places of `addresses` (sorted, relative to the code section's contents). Each has a list: the instruction in the innermost
    /// inlined function, then the call in each function around it; the last is the function that exists as code. Empty if
    /// nothing is known.
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

    fn find_within(&self, addresses: &[u64], found: &mut [Vec<Place>], budget: &mut Budget) -> Result<(), Spent> {
        let dwarf = self.sections.borrow(|section| EndianSlice::new(section, LittleEndian));
        let index = self.index.get_or_init(|| Reader { dwarf: &dwarf, budget: &mut Budget(INDEX_STEPS_MAX) }.index());
        let mut reader = Reader { dwarf: &dwarf, budget };
        // Unit by unit, so that each is read once however many frames lie in it.
        let mut by_unit: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (slot, address) in addresses.iter().enumerate() {
            reader.budget.pay(index.len() as u64 / 8)?;
            let claims = index.iter().filter(|entry| contains(entry.range, *address));
            let mut units: Vec<usize> = claims.map(|entry| entry.unit.0).take(UNITS_PER_ADDRESS_MAX).collect();
            units.dedup();
            for unit in units {
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
    // Linkers leave 0 where the code was removed; no code lies there, as the section begins with the number of functions.
    range.begin != 0 && range.begin <= address && address < range.end
}

/// Reads DWARF within a budget. `Err` is always "spent"; what is broken gives nothing.
struct Reader<'a, 'b> {
    dwarf: &'b gimli::Dwarf<Slice<'a>>,
    budget: &'b mut Budget,
}

/// An inlined call, or the function around all of them.
#[derive(Clone)]
struct Call<'a> {
    entry: UnitOffset,
    depth: isize,
    attributes: Attributes<'a>,
}

/// The attributes of a function's entry that matter here.
#[derive(Clone, Default)]
struct Attributes<'a> {
    low_pc: Option<AttributeValue<Slice<'a>>>,
    high_pc: Option<AttributeValue<Slice<'a>>>,
    ranges: Option<AttributeValue<Slice<'a>>>,
    name: Option<AttributeValue<Slice<'a>>>,
    linkage_name: Option<AttributeValue<Slice<'a>>>,
    origin: Option<AttributeValue<Slice<'a>>>,
    call_file: Option<u64>,
    call_line: Option<u64>,
    call_column: Option<u64>,
}

impl<'a> Reader<'a, '_> {
    /// Collects the ranges of all units; of those before the first broken one, or none if that is too much work.
    fn index(&mut self) -> Vec<UnitRange> {
        let mut index = Vec::new();
        let mut headers = self.dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            let Some(offset) = header.debug_info_offset() else { continue };
            let Ok(unit) = self.unit(header) else { return Vec::new() };
            let Some(unit) = unit else { continue };
            let Ok(ranges) = self.unit_ranges(&unit) else { return Vec::new() };
            if index.len() + ranges.len() > RANGES_MAX {
                return Vec::new();
            }
            index.extend(ranges.into_iter().map(|range| UnitRange { range, unit: offset }));
        }
        index
    }

    /// Opens a unit, after checking that its tables can be read at a fair price.
    fn unit(&mut self, header: gimli::UnitHeader<Slice<'a>>) -> Result<Option<Unit<'a>>, Spent> {
        self.budget.pay(1)?;
        self.pay_for_abbreviations(header.debug_abbrev_offset().0)?;
        let Ok(abbreviations) = self.dwarf.abbreviations(&header) else { return Ok(None) };
        let Ok(mut entries) = header.entries_raw(&abbreviations, None) else { return Ok(None) };
        let Ok(Some(root)) = entries.read_abbreviation() else { return Ok(None) };
        self.budget.pay(root.attributes().len() as u64)?;
        for specification in root.attributes() {
            let Ok(attribute) = entries.read_attribute(*specification) else { return Ok(None) };
            if let (gimli::DW_AT_stmt_list, AttributeValue::DebugLineRef(offset)) =
                (attribute.name(), attribute.value())
            {
                match self.line_header_bytes(offset.0) {
                    Some(bytes) if bytes <= LINE_HEADER_BYTES_MAX => self.budget.pay(bytes)?,
                    _ => return Ok(None),
                }
            }
        }
        Ok(gimli::Unit::new_with_abbreviations(self.dwarf, header, abbreviations).ok())
    }

    /// Walks over the table of abbreviations as gimli will, for each unit anew even where units share one.
    fn pay_for_abbreviations(&mut self, offset: usize) -> Result<(), Spent> {
        let mut table = *self.dwarf.debug_abbrev.reader();
        if table.skip(offset).is_err() {
            return Ok(());
        }
        let before = table.len();
        let mut walk = || -> gimli::Result<()> {
            while table.read_uleb128()? != 0 {
                table.read_uleb128()?;
                table.read_u8()?;
                loop {
                    let (name, form) = (table.read_uleb128()?, table.read_uleb128()?);
                    if form == u64::from(gimli::DW_FORM_implicit_const.0) {
                        table.read_sleb128()?;
                    }
                    if (name, form) == (0, 0) {
                        break;
                    }
                }
            }
            Ok(())
        };
        let _ = walk();
        self.budget.pay((before - table.len()) as u64)
    }

    fn line_header_bytes(&self, offset: usize) -> Option<u64> {
        let mut input = *self.dwarf.debug_line.reader();
        input.skip(offset).ok()?;
        let (_, format) = input.read_initial_length().ok()?;
        let version = input.read_u16().ok()?;
        if version >= 5 {
            input.skip(2).ok()?;
        }
        input.read_length(format).ok().map(|length| length as u64)
    }

    fn unit_ranges(&mut self, unit: &Unit<'a>) -> Result<Vec<Range>, Spent> {
        let Ok(mut entries) = unit.entries_raw(None) else { return Ok(Vec::new()) };
        let Ok(Some(root)) = entries.read_abbreviation() else { return Ok(Vec::new()) };
        let Some(attributes) = self.attributes(&mut entries, root)? else { return Ok(Vec::new()) };
        let mut ranges = Vec::new();
        self.each_range(unit, &attributes, |range| ranges.push(range))?;
        if ranges.is_empty() {
            self.each_row(unit, |begin, end, _| ranges.push(Range { begin, end }))?;
            merge(&mut ranges);
        }
        Ok(ranges)
    }

    /// Reads an entry's attributes; `None` if they are broken.
    fn attributes(
        &mut self,
        entries: &mut EntriesRaw<'_, Slice<'a>>,
        abbreviation: &Abbreviation,
    ) -> Result<Option<Attributes<'a>>, Spent> {
        self.budget.pay(1 + abbreviation.attributes().len() as u64)?;
        let mut read = Attributes::default();
        for specification in abbreviation.attributes() {
            let Ok(attribute) = entries.read_attribute(*specification) else { return Ok(None) };
            let value = attribute.value();
            match attribute.name() {
                gimli::DW_AT_low_pc => read.low_pc = Some(value),
                gimli::DW_AT_high_pc => read.high_pc = Some(value),
                gimli::DW_AT_ranges => read.ranges = Some(value),
                gimli::DW_AT_name => read.name = Some(value),
                gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name => read.linkage_name = Some(value),
                gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => read.origin = Some(value),
                gimli::DW_AT_call_file => {
                    read.call_file = match value {
                        AttributeValue::FileIndex(index) => Some(index),
                        other => other.udata_value(),
                    }
                }
                gimli::DW_AT_call_line => read.call_line = value.udata_value(),
                gimli::DW_AT_call_column => read.call_column = value.udata_value(),
                _ => {}
            }
        }
        Ok(Some(read))
    }

    fn each_range(&mut self, unit: &Unit<'a>, of: &Attributes<'a>, mut take: impl FnMut(Range)) -> Result<(), Spent> {
        if let Some(list) = of.ranges {
            let Ok(Some(mut list)) = self.dwarf.attr_ranges(unit, list) else { return Ok(()) };
            while let Ok(Some(entry)) = list.next_raw() {
                self.budget.pay(1)?;
                match list.convert_raw(entry) {
                    Ok(Some(range)) => take(range),
                    Ok(None) => {}
                    Err(_) => break,
                }
            }
            return Ok(());
        }
        let address = |value| self.dwarf.attr_address(unit, value).ok().flatten();
        let Some(begin) = of.low_pc.and_then(address) else { return Ok(()) };
        let end = match of.high_pc {
            Some(AttributeValue::Udata(size)) => begin.checked_add(size),
            Some(value) => address(value),
            None => None,
        };
        if let Some(end) = end.filter(|end| begin < *end) {
            take(Range { begin, end });
        }
        Ok(())
    }

    /// Runs the unit's line program; `take` gets each row's addresses.
    fn each_row(&mut self, unit: &Unit<'a>, mut take: impl FnMut(u64, u64, &gimli::LineRow)) -> Result<(), Spent> {
        let Some(program) = unit.line_program.clone() else { return Ok(()) };
        self.budget.pay(program.header().raw_program_buf().len() as u64)?;
        let mut rows = program.rows();
        let mut before: Option<gimli::LineRow> = None;
        let mut sequence_start = 0;
        while let Ok(Some((_, row))) = rows.next_row() {
            match &before {
                // Rows of removed code begin at 0, see `contains`.
                Some(before) if sequence_start != 0 && before.address() < row.address() => {
                    take(before.address(), row.address(), before);
                }
                Some(_) => {}
                None => sequence_start = row.address(),
            }
            before = (!row.end_sequence()).then_some(*row);
        }
        Ok(())
    }

    /// The places of sorted addresses that lie in one unit.
    fn places(&mut self, unit: DebugInfoOffset, addresses: &[u64]) -> Result<Vec<Vec<Place>>, Spent> {
        let mut places = vec![Vec::new(); addresses.len()];
        let Ok(header) = self.dwarf.unit_header(unit) else { return Ok(places) };
        let Some(unit) = self.unit(header)? else { return Ok(places) };
        let mut lines: Vec<Option<gimli::LineRow>> = vec![None; addresses.len()];
        self.each_row(&unit, |begin, end, row| {
            for slot in within(addresses, Range { begin, end }) {
                lines[slot].get_or_insert(*row);
            }
        })?;
        let calls = self.calls(&unit, addresses)?;
        for (slot, calls) in calls.into_iter().enumerate() {
            let mut innermost = Place::default();
            if let Some(row) = lines[slot] {
                innermost.line = row.line().and_then(|line| u32::try_from(line.get()).ok());
                innermost.column = match row.column() {
                    gimli::ColumnType::Column(column) if innermost.line.is_some() => u32::try_from(column.get()).ok(),
                    _ => None,
                };
                innermost.file = innermost.line.and_then(|_| self.file(&unit, row.file_index()));
            } else if calls.is_empty() {
                continue;
            }
            places[slot] = self.expand(&unit, innermost, &calls)?;
        }
        Ok(places)
    }

    /// Turns the calls at an address, outermost first, into places, innermost first.
    fn expand(&mut self, unit: &Unit<'a>, innermost: Place, calls: &[Call<'a>]) -> Result<Vec<Place>, Spent> {
        let mut places = Vec::with_capacity(calls.len().max(1));
        let mut at = innermost;
        for call in calls.iter().rev() {
            at.function = self.name_of(unit, call)?;
            places.push(std::mem::take(&mut at));
            let number =
                |value: Option<u64>| value.and_then(|value| u32::try_from(value).ok()).filter(|value| *value != 0);
            at.line = number(call.attributes.call_line);
            at.column = at.line.and(number(call.attributes.call_column));
            at.file = at.line.and(call.attributes.call_file).and_then(|index| self.file(unit, index));
        }
        if places.is_empty() {
            places.push(at);
        }
        Ok(places)
    }

    /// For each of the sorted addresses the function that holds it and the calls inlined there, outermost first.
    fn calls(&mut self, unit: &Unit<'a>, addresses: &[u64]) -> Result<Vec<Vec<Call<'a>>>, Spent> {
        let mut calls: Vec<Vec<Call<'a>>> = vec![Vec::new(); addresses.len()];
        let Ok(mut entries) = unit.entries_raw(None) else { return Ok(calls) };
        let mut left = addresses.len();
        // Depth of the function that we are in, and which addresses it holds.
        let mut function: Option<(isize, Vec<usize>)> = None;
        while !entries.is_empty() {
            let (entry, depth) = (entries.next_offset(), entries.next_depth());
            self.budget.pay(1)?;
            let Ok(abbreviation) = entries.read_abbreviation() else { break };
            let Some(abbreviation) = abbreviation else { continue };
            if function.as_ref().is_some_and(|(outer, _)| depth <= *outer) {
                let (_, held) = function.take().unwrap_or_default();
                left -= held.len();
                if left == 0 {
                    break;
                }
            }
            let is_function = abbreviation.tag() == gimli::DW_TAG_subprogram;
            let is_inlined = abbreviation.tag() == gimli::DW_TAG_inlined_subroutine && function.is_some();
            if !is_function && !is_inlined {
                self.budget.pay(abbreviation.attributes().len() as u64)?;
                if entries.skip_attributes(abbreviation.attributes()).is_err() {
                    break;
                }
                continue;
            }
            let Some(attributes) = self.attributes(&mut entries, abbreviation)? else { break };
            let mut held = Vec::new();
            self.each_range(unit, &attributes, |range| {
                if range.begin != 0 {
                    held.extend(within(addresses, range));
                }
            })?;
            held.sort_unstable();
            held.dedup();
            match &function {
                None => held.retain(|slot| calls[*slot].is_empty()),
                Some((_, outer)) => held.retain(|slot| {
                    outer.contains(slot)
                        && calls[*slot].len() <= INLINED_MAX
                        && calls[*slot].last().is_some_and(|last| last.depth < depth)
                }),
            }
            if held.is_empty() || (is_function && function.is_some()) {
                continue;
            }
            self.budget.pay(held.len() as u64)?;
            for slot in &held {
                calls[*slot].push(Call { entry, depth, attributes: attributes.clone() });
            }
            if is_function {
                function = Some((depth, held));
            }
        }
        Ok(calls)
    }

    /// The mangled name of a function: its own, or that of the declaration it points to, perhaps in another unit.
    fn name_of(&mut self, unit: &Unit<'a>, call: &Call<'a>) -> Result<Option<String>, Spent> {
        if let Some(name) = self.own_name(unit, &call.attributes) {
            return Ok(Some(name));
        }
        let mut attributes = call.attributes.clone();
        let mut other: Option<Unit<'a>> = None;
        let mut at = call.entry;
        for _ in 0..ORIGINS_MAX {
            let here = other.as_ref().unwrap_or(unit);
            let next = match attributes.origin {
                Some(AttributeValue::UnitRef(offset)) if offset != at => offset,
                Some(AttributeValue::DebugInfoRef(offset)) => {
                    let Some(found) = self.unit_around(here, offset)? else { return Ok(None) };
                    let Some(inside) = UnitSectionOffset(offset.0).to_unit_offset(&found) else { return Ok(None) };
                    other = Some(found);
                    inside
                }
                _ => return Ok(None),
            };
            let here = other.as_ref().unwrap_or(unit);
            let Ok(mut entries) = here.entries_raw(Some(next)) else { return Ok(None) };
            let Ok(Some(abbreviation)) = entries.read_abbreviation() else { return Ok(None) };
            let Some(found) = self.attributes(&mut entries, abbreviation)? else { return Ok(None) };
            attributes = found;
            at = next;
            if let Some(name) = self.own_name(here, &attributes) {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// The unit that holds the entry at `offset` of `.debug_info`.
    fn unit_around(&mut self, _from: &Unit<'a>, offset: DebugInfoOffset) -> Result<Option<Unit<'a>>, Spent> {
        let mut headers = self.dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            self.budget.pay(1)?;
            if offset.to_unit_offset(&header).is_some() {
                return self.unit(header);
            }
        }
        Ok(None)
    }

    fn own_name(&self, unit: &Unit<'a>, of: &Attributes<'a>) -> Option<String> {
        let name = of.linkage_name.or(of.name)?;
        self.string(unit, name).filter(|name| !name.is_empty())
    }

    fn string(&self, unit: &Unit<'a>, value: AttributeValue<Slice<'a>>) -> Option<String> {
        let bytes = self.dwarf.attr_string(unit, value).ok()?.slice();
        let bytes = &bytes[..bytes.len().min(STRING_BYTES_MAX)];
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    /// The path of a file of the unit, relative to the compilation's directory if it lies there.
    fn file(&self, unit: &Unit<'a>, index: u64) -> Option<String> {
        let header = unit.line_program.as_ref()?.header();
        let file = header.file(index)?;
        let name = self.string(unit, file.path_name())?;
        let base = unit.comp_dir.map(|dir| String::from_utf8_lossy(dir.slice()).into_owned()).unwrap_or_default();
        // Directory 0 is the compilation's own.
        let directory = match file.directory_index() {
            0 => String::new(),
            _ => file.directory(header).and_then(|dir| self.string(unit, dir)).unwrap_or_default(),
        };
        Some(join(&base, &directory, &name)).filter(|path| !path.is_empty())
    }
}

/// Joins a file's name to its directory, and leaves out the directory `base` of the compilation: where somebody built the program
/// says nothing, where the file lies in the project does.
fn join(base: &str, directory: &str, name: &str) -> String {
    let is_absolute =
        |path: &str| path.starts_with(['/', '\\']) || path.get(1..3).is_some_and(|s| s == ":\\" || s == ":/");
    let mut path = if is_absolute(name) || directory.is_empty() {
        name.to_owned()
    } else {
        format!("{}/{name}", directory.trim_end_matches('/'))
    };
    let base = base.trim_end_matches('/');
    if !base.is_empty()
        && let Some(inside) = path.strip_prefix(base).and_then(|rest| rest.strip_prefix('/'))
    {
        path = inside.to_owned();
    }
    while let Some(rest) = path.strip_prefix("./") {
        path = rest.to_owned();
    }
    path
}

/// Indices of the sorted `addresses` that lie in `range`.
fn within(addresses: &[u64], range: Range) -> std::ops::Range<usize> {
    let begin = addresses.partition_point(|address| *address < range.begin);
    let end = addresses.partition_point(|address| *address < range.end);
    begin..end.max(begin)
}

/// Sorts ranges and joins those that touch.
fn merge(ranges: &mut Vec<Range>) {
    ranges.sort_unstable_by_key(|range| (range.begin, range.end));
    ranges.dedup_by(|next, before| {
        let touches = next.begin <= before.end;
        if touches {
            before.end = before.end.max(next.end);
        }
        touches
    });
}
