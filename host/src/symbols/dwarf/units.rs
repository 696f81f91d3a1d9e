//! Units of DWARF, their ranges and their line tables.

use super::super::path::join;
use super::{
    RANGES_MAX, Reader, STRING_BYTES_MAX, STRING_BYTES_PER_STEP, Slice, Spent, TABLE_BYTES_MAX, Unit, UnitRange,
};
use gimli::{Abbreviation, AttributeValue, EntriesRaw, Range, Reader as _, Section as _};

/// The attributes of a function's entry that matter here.
#[derive(Clone, Default)]
pub(super) struct Attributes<'a> {
    pub(super) low_pc: Option<AttributeValue<Slice<'a>>>,
    pub(super) high_pc: Option<AttributeValue<Slice<'a>>>,
    pub(super) ranges: Option<AttributeValue<Slice<'a>>>,
    pub(super) name: Option<AttributeValue<Slice<'a>>>,
    pub(super) linkage_name: Option<AttributeValue<Slice<'a>>>,
    pub(super) origin: Option<AttributeValue<Slice<'a>>>,
    pub(super) decl_file: Option<u64>,
    pub(super) decl_line: Option<u64>,
    pub(super) call_file: Option<u64>,
    pub(super) call_line: Option<u64>,
    pub(super) call_column: Option<u64>,
}

impl<'a> Reader<'a, '_> {
    /// Collects the ranges of all units; of those before the first broken one, or none if that is too much work.
    pub(super) fn index(&mut self) -> Vec<UnitRange> {
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
    pub(super) fn unit(&mut self, header: gimli::UnitHeader<Slice<'a>>) -> Result<Option<Unit<'a>>, Spent> {
        self.budget.pay(1)?;
        if !self.can_pay_for_abbreviations(header.debug_abbrev_offset().0)? {
            return Ok(None);
        }
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
                    Some(bytes) if bytes <= TABLE_BYTES_MAX => self.budget.pay(bytes)?,
                    _ => return Ok(None),
                }
            }
        }
        let unit = gimli::Unit::new_with_abbreviations(self.dwarf, header, abbreviations).ok();
        for string in unit.iter().flat_map(|unit| [unit.name, unit.comp_dir]).flatten() {
            self.budget.pay(string.len() as u64 / STRING_BYTES_PER_STEP)?;
        }
        Ok(unit)
    }

    /// Walks over the table of abbreviations as gimli will, for each unit anew even where units share one. False if it
    /// is too large.
    fn can_pay_for_abbreviations(&mut self, offset: usize) -> Result<bool, Spent> {
        let mut table = *self.dwarf.debug_abbrev.reader();
        if table.skip(offset).is_err() {
            return Ok(false);
        }
        let before = table.len();
        table = Slice::new(&table.slice()[..before.min(TABLE_BYTES_MAX as usize + 1)], gimli::LittleEndian);
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
        let bytes = (before - table.len()) as u64;
        self.budget.pay(bytes)?;
        Ok(bytes <= TABLE_BYTES_MAX)
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
        self.each_range(unit, &attributes, |range| {
            if ranges.len() <= RANGES_MAX {
                ranges.push(range);
            }
            1
        })?;
        if ranges.is_empty() {
            self.each_row(unit, |begin, end, _| {
                if ranges.len() <= RANGES_MAX {
                    ranges.push(Range { begin, end });
                }
                1
            })?;
            merge(&mut ranges);
        }
        Ok(ranges)
    }

    /// Reads an entry's attributes; `None` if they are broken.
    pub(super) fn attributes(
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
                gimli::DW_AT_decl_file => read.decl_file = file_index(value),
                gimli::DW_AT_decl_line => read.decl_line = value.udata_value(),
                gimli::DW_AT_call_file => read.call_file = file_index(value),
                gimli::DW_AT_call_line => read.call_line = value.udata_value(),
                gimli::DW_AT_call_column => read.call_column = value.udata_value(),
                _ => {}
            }
        }
        Ok(Some(read))
    }

    /// Gives each of an entry's ranges to `take`, which says how many steps it took.
    pub(super) fn each_range(
        &mut self,
        unit: &Unit<'a>,
        of: &Attributes<'a>,
        mut take: impl FnMut(Range) -> u64,
    ) -> Result<(), Spent> {
        if let Some(list) = of.ranges {
            let Ok(Some(mut list)) = self.dwarf.attr_ranges(unit, list) else { return Ok(()) };
            while let Ok(Some(entry)) = list.next_raw() {
                self.budget.pay(1)?;
                match list.convert_raw(entry) {
                    Ok(Some(range)) => self.budget.pay(take(range))?,
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
        match end {
            Some(end) if begin < end => self.budget.pay(take(Range { begin, end })),
            _ => Ok(()),
        }
    }

    /// Runs the unit's line program, and gives each row's range of addresses to `take`, which says how many steps it
    /// took.
    pub(super) fn each_row(
        &mut self,
        unit: &Unit<'a>,
        mut take: impl FnMut(u64, u64, &gimli::LineRow) -> u64,
    ) -> Result<(), Spent> {
        let Some(program) = unit.line_program.clone() else { return Ok(()) };
        self.budget.pay(program.header().raw_program_buf().len() as u64)?;
        let mut rows = program.rows();
        let mut before: Option<gimli::LineRow> = None;
        let mut sequence_start = 0;
        while let Ok(Some((_, row))) = rows.next_row() {
            match &before {
                // Rows of removed code begin at 0, see `contains`.
                Some(before) if sequence_start != 0 && before.address() < row.address() => {
                    self.budget.pay(take(before.address(), row.address(), before))?;
                }
                Some(_) => {}
                None => sequence_start = row.address(),
            }
            before = (!row.end_sequence()).then_some(*row);
        }
        Ok(())
    }

    /// A string attribute; what is not UTF-8 in it is replaced.
    pub(super) fn string(
        &mut self,
        unit: &Unit<'a>,
        value: AttributeValue<Slice<'a>>,
    ) -> Result<Option<String>, Spent> {
        self.budget.pay(1)?;
        let Ok(string) = self.dwarf.attr_string(unit, value) else { return Ok(None) };
        self.budget.pay(string.len() as u64 / STRING_BYTES_PER_STEP)?;
        Ok(Some(text(string)))
    }

    /// The path of a file of the unit, relative to the compilation's directory if it lies there.
    pub(super) fn file(&mut self, unit: &Unit<'a>, index: u64) -> Result<Option<String>, Spent> {
        let Some(program) = &unit.line_program else { return Ok(None) };
        let header = program.header();
        let Some(file) = header.file(index) else { return Ok(None) };
        let Some(name) = self.string(unit, file.path_name())? else { return Ok(None) };
        // Directory 0 is the compilation's own.
        let directory = match file.directory(header).filter(|_| file.directory_index() != 0) {
            Some(directory) => self.string(unit, directory)?.unwrap_or_default(),
            None => String::new(),
        };
        let path = join(&unit.comp_dir.map(text).unwrap_or_default(), &directory, &name);
        Ok(Some(path).filter(|path| !path.is_empty()))
    }
}

fn file_index(value: AttributeValue<Slice<'_>>) -> Option<u64> {
    match value {
        AttributeValue::FileIndex(index) => Some(index),
        other => other.udata_value(),
    }
}

fn text(string: Slice<'_>) -> String {
    let bytes = string.slice();
    String::from_utf8_lossy(&bytes[..bytes.len().min(STRING_BYTES_MAX)]).into_owned()
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
