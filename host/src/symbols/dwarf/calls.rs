//! From addresses to places: the row of the line table, and the calls that were inlined there.

use super::units::Attributes;
use super::{INLINED_MAX, ORIGINS_MAX, Place, Reader, Spent, Unit};
use gimli::{AttributeValue, DebugInfoOffset, LineRow, Range, UnitSectionOffset};

/// A place in a function of which no entry says where it begins: the slot and the number of the place, the function's
/// code, and the file.
type Undeclared = (usize, usize, Range, u64);

/// An inlined call, or the function around all of them.
#[derive(Clone)]
struct Call<'a> {
    depth: isize,
    /// Where its code begins and ends.
    begin: u64,
    end: u64,
    attributes: Attributes<'a>,
}

impl<'a> Reader<'a, '_> {
    /// The places of sorted addresses that lie in one unit.
    pub(super) fn places(&mut self, unit: DebugInfoOffset, addresses: &[u64]) -> Result<Vec<Vec<Place>>, Spent> {
        let mut places = vec![Vec::new(); addresses.len()];
        let Ok(header) = self.dwarf.unit_header(unit) else { return Ok(places) };
        let Some(unit) = self.unit(header)? else { return Ok(places) };
        let lines = self.rows(&unit, addresses)?;
        let calls = self.calls(&unit, addresses)?;
        // See `expand`: functions whose first line may be needed.
        let has_line = |row: &Option<LineRow>| row.is_some_and(|row| row.line().is_some());
        let mut begins: Vec<u64> = calls
            .iter()
            .zip(&lines)
            .filter_map(|(calls, row)| calls.last().filter(|_| calls.len() == 1 && !has_line(row)))
            .map(|call| call.begin)
            .collect();
        begins.sort_unstable();
        let mut undeclared = Vec::new();
        let first_lines = if begins.is_empty() { Vec::new() } else { self.rows(&unit, &begins)? };
        for (slot, calls) in calls.into_iter().enumerate() {
            if lines[slot].is_none() && calls.is_empty() {
                continue;
            }
            let innermost = self.place_of(&unit, lines[slot])?;
            let file = lines[slot].map(|row| row.file_index());
            let mut expanded =
                self.expand(&unit, (innermost, file), &calls, |at| undeclared.push((slot, at.0, at.1, at.2)))?;
            if let (Some(place), [call]) = (expanded.first_mut().filter(|place| place.line.is_none()), &calls[..]) {
                let first = begins.binary_search(&call.begin).ok().and_then(|at| first_lines[at]);
                let function = place.function.take();
                *place = Place { function, column: None, exact: false, ..self.place_of(&unit, first.or(lines[slot]))? };
            }
            places[slot] = expanded;
        }
        self.begin(&unit, &undeclared, &mut places)?;
        Ok(places)
    }

    /// Where there are but line tables, a function begins with the first line of its file that its code is made from.
    fn begin(&mut self, unit: &Unit<'a>, undeclared: &[Undeclared], places: &mut [Vec<Place>]) -> Result<(), Spent> {
        if undeclared.is_empty() {
            return Ok(());
        }
        let mut firsts: Vec<Option<u64>> = vec![None; undeclared.len()];
        self.each_row(unit, |begin, _, row| {
            for (first, (_, _, range, file)) in firsts.iter_mut().zip(undeclared) {
                if *file == row.file_index() && range.begin <= begin && begin < range.end {
                    *first = (*first).into_iter().chain(row.line().map(|line| line.get())).min();
                }
            }
            undeclared.len() as u64
        })?;
        for (first, (slot, at, ..)) in firsts.into_iter().zip(undeclared) {
            let Some(place) = places.get_mut(*slot).and_then(|places| places.get_mut(*at)) else { continue };
            let first = first.and_then(|first| i64::try_from(first).ok());
            place.below = place.line.zip(first).map(|(line, first)| i64::from(line) - first);
        }
        Ok(())
    }

    /// The rows of the line table that hold the sorted addresses.
    fn rows(&mut self, unit: &Unit<'a>, addresses: &[u64]) -> Result<Vec<Option<LineRow>>, Spent> {
        let mut rows = vec![None; addresses.len()];
        self.each_row(unit, |begin, end, row| {
            let slots = within(addresses, Range { begin, end });
            let steps = slots.len() as u64;
            slots.for_each(|slot| {
                rows[slot].get_or_insert(*row);
            });
            steps
        })?;
        Ok(rows)
    }

    fn place_of(&mut self, unit: &Unit<'a>, row: Option<LineRow>) -> Result<Place, Spent> {
        let Some(row) = row else { return Ok(Place::default()) };
        let line = row.line().and_then(|line| u32::try_from(line.get()).ok());
        let column = match row.column() {
            gimli::ColumnType::Column(column) if line.is_some() => u32::try_from(column.get()).ok(),
            _ => None,
        };
        let file = self.file(unit, row.file_index())?;
        Ok(Place { file, line, column, exact: line.is_some(), ..Place::default() })
    }

    /// Turns the calls at an address, outermost first, into places, innermost first. Those of functions that are not
    /// declared are told to `undeclared`: the number of the place, the function's code, and the file.
    fn expand(
        &mut self,
        unit: &Unit<'a>,
        (innermost, mut file): (Place, Option<u64>),
        calls: &[Call<'a>],
        mut undeclared: impl FnMut((usize, Range, u64)),
    ) -> Result<Vec<Place>, Spent> {
        let mut places = Vec::with_capacity(calls.len().max(1));
        let mut at = innermost;
        for call in calls.iter().rev() {
            // Code that a compiler merged or made up has no line. The function's first line is near and, unlike a
            // neighbour's, not wrong: from its declaration, or where there are but line tables, from its first row.
            let is_declared = self.declare(unit, call, &mut at)?;
            if let Some(file) = file.filter(|_| !is_declared && at.exact) {
                undeclared((places.len(), Range { begin: call.begin, end: call.end }, file));
            }
            file = call.attributes.call_file;
            places.push(std::mem::take(&mut at));
            at.line = line_number(call.attributes.call_line);
            at.exact = at.line.is_some();
            at.column = at.line.and(line_number(call.attributes.call_column));
            if let Some(index) = call.attributes.call_file {
                at.file = self.file(unit, index)?;
            }
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
            let depth = entries.next_depth();
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
            let (mut held, Range { begin, end }) = self.held(unit, &attributes, addresses)?;
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
                calls[*slot].push(Call { depth, begin, end, attributes: attributes.clone() });
            }
            if is_function {
                function = Some((depth, held));
            }
        }
        Ok(calls)
    }

    /// Which of the sorted addresses the code of an entry holds, and where that begins and ends.
    fn held(
        &mut self,
        unit: &Unit<'a>,
        attributes: &Attributes<'a>,
        addresses: &[u64],
    ) -> Result<(Vec<usize>, Range), Spent> {
        let (mut held, mut all) = (Vec::new(), Range { begin: u64::MAX, end: 0 });
        self.each_range(unit, attributes, |range| {
            if range.begin == 0 {
                return 0;
            }
            all = Range { begin: all.begin.min(range.begin), end: all.end.max(range.end) };
            let slots = within(addresses, range);
            if slots.is_empty() {
                return 0;
            }
            held.extend(slots);
            let steps = held.len() as u64;
            held.sort_unstable();
            held.dedup();
            steps
        })?;
        Ok((held, all))
    }

    /// Gives `place` the function's mangled name, and how far it is below the function's own first line, or that line
    /// if nothing closer is known. They stand at the function's entry or at the declaration that it points to, perhaps
    /// in another unit.
    ///
    /// Returns whether they say where the function begins.
    fn declare(&mut self, unit: &Unit<'a>, call: &Call<'a>, place: &mut Place) -> Result<bool, Spent> {
        let mut attributes = call.attributes.clone();
        let mut other: Option<Unit<'a>> = None;
        let mut first: Option<(u32, Option<String>)> = None;
        for _ in 0..=ORIGINS_MAX {
            let here = other.as_ref().unwrap_or(unit);
            if place.function.is_none() {
                place.function = self.own_name(here, &attributes)?;
            }
            if let (None, Some(line)) = (&first, line_number(attributes.decl_line)) {
                let file = attributes.decl_file.map(|index| self.file(here, index)).transpose()?;
                first = Some((line, file.flatten()));
            }
            if place.function.is_some() && first.is_some() {
                break;
            }
            let origin = match attributes.origin {
                Some(AttributeValue::UnitRef(offset)) => offset,
                Some(AttributeValue::DebugInfoRef(offset)) => {
                    let Some(found) = self.unit_around(offset)? else { break };
                    let Some(inside) = UnitSectionOffset(offset.0).to_unit_offset(&found) else { break };
                    other = Some(found);
                    inside
                }
                _ => break,
            };
            let here = other.as_ref().unwrap_or(unit);
            let Ok(mut entries) = here.entries_raw(Some(origin)) else { break };
            let Ok(Some(abbreviation)) = entries.read_abbreviation() else { break };
            let Some(found) = self.attributes(&mut entries, abbreviation)? else { break };
            attributes = found;
        }
        let Some((line, file)) = first else { return Ok(false) };
        if place.line.is_some() {
            *place = std::mem::take(place).begun_at(Some(line), file.as_deref());
        } else {
            place.line = Some(line);
            place.file = file.or(place.file.take());
        }
        Ok(true)
    }

    /// The unit that holds the entry at `offset` of `.debug_info`.
    fn unit_around(&mut self, offset: DebugInfoOffset) -> Result<Option<Unit<'a>>, Spent> {
        let mut headers = self.dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            self.budget.pay(1)?;
            if offset.to_unit_offset(&header).is_some() {
                return self.unit(header);
            }
        }
        Ok(None)
    }

    fn own_name(&mut self, unit: &Unit<'a>, of: &Attributes<'a>) -> Result<Option<String>, Spent> {
        let Some(name) = of.linkage_name.or(of.name) else { return Ok(None) };
        Ok(self.string(unit, name)?.filter(|name| !name.is_empty()))
    }
}

/// DWARF writes 0 where it has no line or column.
fn line_number(value: Option<u64>) -> Option<u32> {
    value.and_then(|value| u32::try_from(value).ok()).filter(|value| *value != 0)
}

/// Indices of the sorted `addresses` that lie in `range`.
fn within(addresses: &[u64], range: Range) -> std::ops::Range<usize> {
    let begin = addresses.partition_point(|address| *address < range.begin);
    let end = addresses.partition_point(|address| *address < range.end);
    begin..end.max(begin)
}
