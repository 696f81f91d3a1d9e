//! File and line of instructions: all of those that are asked for in one walk over the debug information.

use super::debug_info::Lines;
use super::dwarf::Dwarf;
use super::source_map::SourceMap;
use super::{Place, Places, Symbols};
use crate::outcome::Frame;
use std::ops::Range;
use std::sync::MutexGuard;

/// More resolved offsets than this are not remembered.
const PLACES_MAX: usize = 1 << 16;

impl Symbols {
    /// Looks up the places of all frames that are not known yet, in one walk over the debug information.
    pub(super) fn find_places(&self, frames: &[Frame]) -> MutexGuard<'_, Places> {
        let mut places = self.places.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let Some(code_start) = self.code.start else { return places };
        let wanted = frames.iter().map(|frame| frame.offset).filter(|offset| *offset >= code_start);
        if places.len().saturating_add(frames.len()) > PLACES_MAX {
            places.clear();
        }
        let mut offsets: Vec<u32> = wanted.filter(|offset| !places.contains_key(offset)).collect();
        offsets.sort_unstable();
        offsets.dedup();
        if offsets.is_empty() {
            return places;
        }
        let mut found = match &self.lines {
            Lines::Dwarf(dwarf) => self.find_in_dwarf(dwarf, code_start, &offsets),
            // A source map is of one module, and speaks of offsets in its file.
            Lines::Map(_) if self.linked.is_some() && self.origin.is_none() => vec![Vec::new(); offsets.len()],
            Lines::Map(map) => self.find_in_map(map, &offsets),
        };
        if let Lines::Dwarf(dwarf) = &self.lines {
            self.begin(dwarf, code_start, &offsets, &mut found);
        }
        places.extend(offsets.into_iter().zip(found));
        places
    }

    /// What DWARF says about sorted offsets.
    fn find_in_dwarf(&self, dwarf: &Dwarf, code_start: u32, offsets: &[u32]) -> Vec<Vec<Place>> {
        let Some(linked) = &self.linked else {
            return dwarf.find(&offsets.iter().map(|offset| u64::from(offset - code_start)).collect::<Vec<_>>());
        };
        let mut last = 0;
        let mut original = |offset: &u32| {
            // They ascend, unless the table is damaged.
            last = linked.original(offset - code_start).map(u64::from)?.max(last);
            Some(last)
        };
        let addresses: Vec<_> = offsets.iter().map(&mut original).collect();
        let mut found = dwarf.find(&addresses.iter().copied().flatten().collect::<Vec<_>>()).into_iter();
        addresses.iter().map(|address| address.and_then(|_| found.next()).unwrap_or_default()).collect()
    }

    /// Where there are but line tables, most functions have no entry that says where they begin: then the line of their
    /// first instruction is taken for it.
    fn begin(&self, dwarf: &Dwarf, code_start: u32, offsets: &[u32], found: &mut [Vec<Place>]) {
        let has_no_begin =
            |places: &Vec<Place>| places.last().is_some_and(|place| place.exact && place.below.is_none());
        let starts = offsets.iter().zip(&*found).map(|(offset, places)| {
            let function = self.code.function_at(*offset).filter(|_| has_no_begin(places))?;
            self.code.body_until(function.end).filter(|start| *start >= code_start)
        });
        let starts: Vec<Option<u32>> = starts.collect();
        let mut wanted: Vec<u32> = starts.iter().copied().flatten().collect();
        wanted.dedup();
        if wanted.is_empty() {
            return;
        }
        let begins = self.find_in_dwarf(dwarf, code_start, &wanted);
        for (start, places) in starts.iter().zip(found) {
            let begin = start.and_then(|start| wanted.binary_search(&start).ok()).and_then(|at| begins[at].last());
            if let (Some(begin), Some(place)) = (begin, places.last_mut()) {
                *place = std::mem::take(place).begun_at(begin.line, begin.file.as_deref());
            }
        }
    }

    /// What a source map says about offsets, unless it says it about the function before. Code that a compiler made up
    /// has the function's first line, as with DWARF.
    fn find_in_map(&self, map: &SourceMap, offsets: &[u32]) -> Vec<Vec<Place>> {
        let moved_by = self.origin.map_or(0, |origin| origin.moved_by);
        let before = |offset: u32| offset.wrapping_sub(moved_by);
        let function = |offset: &u32| self.code.function_at(*offset).map(|at| before(at.start)..before(at.end));
        let functions: Vec<_> = offsets.iter().map(function).collect();
        let offsets: Vec<u32> = offsets.iter().map(|&offset| before(offset)).collect();
        let found = map.find(&offsets).into_iter().zip(&functions);
        let exact: Vec<_> = found
            .map(|(found, function)| {
                let (from, place) = found?;
                function.as_ref()?.contains(&from).then_some(place)
            })
            .collect();
        let mut all: Vec<_> = functions.iter().flatten().cloned().collect();
        all.dedup();
        let firsts = if all.is_empty() { Vec::new() } else { map.find_first(&all) };
        let first = |function: &Option<Range<u32>>| {
            let slot = all.binary_search_by_key(&function.as_ref()?.start, |function| function.start).ok()?;
            firsts[slot].clone()
        };
        let place = |place: Option<Place>, function| match (place, first(function)) {
            (Some(place), Some(first)) => Some(place.begun_at(first.line, first.file.as_deref())),
            (None, Some(first)) => Some(Place { column: None, exact: false, ..first }),
            (place, None) => place,
        };
        exact.into_iter().zip(&functions).map(|(found, at)| place(found, at).into_iter().collect()).collect()
    }
}
