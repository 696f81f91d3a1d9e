//! Source lines from a source map (ECMA-426) that nobody vouches for.
//!
//! In a map of a wasm module the generated "text" is one line, and a column is an offset in the module's file:
//!
//! ```text
//! {"version":3,"sources":["fuzz.ts"],"names":[],"mappings":"iDAUE,GAAO,E,..."}
//!                 from byte 49: source 0, line 11, column 3 --^    ^    ^-- 2 bytes on: not from any source
//!                        3 bytes on: the same line, 7 columns on --+
//! ```
//!
//! Ready-made readers make a table of all mappings, and take a table of dependencies with them. Here the mappings stay
//! the text they are, and one walk over it answers all that is asked at a time: what is kept is never more than a small
//! multiple of the file. What is broken ends the walk; what stood before it counts.

use super::Place;
use super::path::join;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, SeqAccess, Visitor};
use std::fmt;
use std::ops::Range;

/// Maps that are put together to one; each takes some memory besides its text.
const SECTIONS_MAX: usize = 1 << 16;
/// Mappings in all sections, in bytes of text: a lookup walks over all of them.
const MAPPINGS_BYTES_MAX: usize = 128 << 20;
/// Longer paths and names are cut.
const STRING_BYTES_MAX: usize = 4096;

/// A source map of a wasm module.
#[derive(Debug)]
pub(super) struct SourceMap {
    sections: Vec<Section>,
}

/// A map whose columns begin at `column`.
#[derive(Debug)]
struct Section {
    column: i64,
    root: String,
    sources: Strings,
    names: Strings,
    mappings: Box<str>,
}

/// A mapping: what the code from a column up to the next one was made from.
#[derive(Clone, Copy, Debug)]
struct Mapping {
    column: u32,
    section: usize,
    /// Index of the source, line and column there, from 0; and index of the name.
    source: Option<(i64, i64, i64, Option<i64>)>,
}

impl SourceMap {
    /// Parses a map, or a map of maps ("sections").
    ///
    /// # Errors
    ///
    /// It is no source map of version 3.
    pub(super) fn parse(json: &[u8]) -> Result<Self> {
        let map: MapJson<PartsJson> = serde_json::from_slice(json).context("it is no source map")?;
        ensure!(map.version == Some(3), "it is not a source map of version 3");
        let sections: Vec<Section> = match map.sections {
            // On other lines than the first there is no code.
            Some(PartsJson(parts)) => {
                let parts = parts.into_iter().filter(|part| part.offset.line == 0);
                parts.map(|part| Section::new(part.map, part.offset.column)).collect()
            }
            None => {
                ensure!(map.mappings.is_some(), "it has no `mappings`");
                vec![Section::new(map, 0)]
            }
        };
        ensure!(
            sections.iter().map(|section| section.mappings.len()).sum::<usize>() <= MAPPINGS_BYTES_MAX,
            "its mappings are longer than {} MiB",
            MAPPINGS_BYTES_MAX >> 20
        );
        Ok(Self { sections })
    }

    /// Whether the map can be of a module of this length: all of it is about one line, and none of it about what is
    /// behind the module's end.
    pub(super) fn fits(&self, module_bytes: usize) -> bool {
        let mut fits = true;
        for section in 0..self.sections.len() {
            let rest = self.walk(section, |mapping| fits &= (mapping.column as usize) < module_bytes);
            fits &= rest.bytes().all(|byte| byte == b';');
        }
        fits
    }

    /// Finds for each of the sorted `offsets` in the module's file what was made from what, and from which offset on.
    pub(super) fn find(&self, offsets: &[u32]) -> Vec<Option<(u32, Place)>> {
        debug_assert!(offsets.is_sorted());
        // For each offset the last mapping since the offset before; mappings need not be in order.
        let mut last: Vec<Option<Mapping>> = vec![None; offsets.len()];
        for section in 0..self.sections.len() {
            let mut slot = 0;
            self.walk(section, |mapping| {
                let before = |slot: usize| slot == 0 || offsets[slot - 1] < mapping.column;
                if !(before(slot) && offsets.get(slot).is_none_or(|offset| mapping.column <= *offset)) {
                    slot = offsets.partition_point(|offset| *offset < mapping.column);
                }
                if let Some(last) = last.get_mut(slot)
                    && last.is_none_or(|last| last.column <= mapping.column)
                {
                    *last = Some(mapping);
                }
            });
        }
        let mut current = None;
        last.into_iter()
            .map(|mapping| {
                current = mapping.or(current);
                current.and_then(|mapping| Some((mapping.column, self.place(mapping)?)))
            })
            .collect()
    }

    /// Finds for each of the `ranges`, which are sorted and apart, the place of the first offset there that has one.
    pub(super) fn find_first(&self, ranges: &[Range<u32>]) -> Vec<Option<Place>> {
        let mut first: Vec<Option<Mapping>> = vec![None; ranges.len()];
        for section in 0..self.sections.len() {
            self.walk(section, |mapping| {
                let slot = ranges.partition_point(|range| range.end <= mapping.column);
                if ranges.get(slot).is_some_and(|range| range.contains(&mapping.column))
                    && mapping.source.is_some()
                    && first[slot].is_none_or(|first| mapping.column < first.column)
                {
                    first[slot] = Some(mapping);
                }
            });
        }
        first.into_iter().map(|mapping| self.place(mapping?)).collect()
    }

    fn place(&self, mapping: Mapping) -> Option<Place> {
        let (source, line, column, name) = mapping.source?;
        let section = &self.sections[mapping.section];
        let file = join("", &section.root, section.sources.get(source)?);
        let number = |zero_based: i64| u32::try_from(zero_based).ok()?.checked_add(1);
        let line = number(line);
        Some(Place {
            function: name.and_then(|name| section.names.get(name)).map(ToOwned::to_owned),
            file: Some(file).filter(|file| !file.is_empty()),
            line,
            column: line.and(number(column)),
            exact: line.is_some(),
            ..Place::default()
        })
    }

    /// Gives all mappings of the first line of a section to `take`; returns the text behind it.
    fn walk(&self, section: usize, mut take: impl FnMut(Mapping)) -> &str {
        let Section { column, mappings, .. } = &self.sections[section];
        let mut at = *column;
        let (line, rest) = mappings.split_once(';').unwrap_or((mappings, ""));
        // Every field but the column goes on from segment to segment, whether it was there or not.
        let (mut source, mut original_line, mut original_column, mut name) = (0, 0, 0, 0);
        for segment in line.split(',').filter(|segment| !segment.is_empty()) {
            let Some((fields, count)) = fields(segment) else { break };
            let add = |sum: &mut i64, field: usize| {
                *sum = sum.checked_add(fields[field]).filter(|sum| *sum >= 0)?;
                Some(())
            };
            let mut step = || {
                add(&mut at, 0)?;
                if count > 1 {
                    add(&mut source, 1)?;
                    add(&mut original_line, 2)?;
                    add(&mut original_column, 3)?;
                }
                if count > 4 {
                    add(&mut name, 4)?;
                }
                u32::try_from(at).ok()
            };
            let Some(column) = step() else { break };
            let from = (count > 1).then_some((source, original_line, original_column, (count > 4).then_some(name)));
            take(Mapping { column, section, source: from });
        }
        rest
    }
}

impl Section {
    fn new<S>(map: MapJson<S>, column: u32) -> Self {
        Self {
            column: column.into(),
            root: cut(&map.source_root.unwrap_or_default()).to_owned(),
            sources: map.sources.unwrap_or_default(),
            names: map.names.unwrap_or_default(),
            mappings: map.mappings.unwrap_or_default().into(),
        }
    }
}

/// The numbers of a segment: 1, 4 or 5; `None` if it is broken.
fn fields(segment: &str) -> Option<([i64; 5], usize)> {
    let mut bytes = segment.bytes();
    let (mut fields, mut count) = ([0; 5], 0);
    while bytes.len() > 0 {
        *fields.get_mut(count)? = vlq::decode(&mut bytes).ok()?;
        count += 1;
    }
    matches!(count, 1 | 4 | 5).then_some((fields, count))
}

/// The beginning of a string that is no longer than strings may be.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(STRING_BYTES_MAX)]
}

/// A list of strings in one: a million empty ones take no more memory than they take in the file.
#[derive(Debug, Default)]
struct Strings {
    text: String,
    /// Where each string ends.
    ends: Vec<u32>,
}

impl Strings {
    fn get(&self, index: i64) -> Option<&str> {
        let index = usize::try_from(index).ok()?;
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.text[start as usize..end as usize])
    }
}

impl<'de> Deserialize<'de> for Strings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Strings;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of strings")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Strings, A::Error> {
                let mut strings = Strings::default();
                while let Some(string) = list.next_element::<Option<String>>()? {
                    strings.text.push_str(cut(&string.unwrap_or_default()));
                    let end = u32::try_from(strings.text.len()).map_err(|_| A::Error::custom("too many strings"))?;
                    strings.ends.push(end);
                }
                Ok(strings)
            }
        }
        deserializer.deserialize_seq(Collect)
    }
}

/// A map, as far as it matters; `S` is what it may have as `sections`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "S: Deserialize<'de>"))]
struct MapJson<S> {
    version: Option<u32>,
    source_root: Option<String>,
    sources: Option<Strings>,
    names: Option<Strings>,
    mappings: Option<String>,
    sections: Option<S>,
}

/// A map in a map; it can't have others in turn.
#[derive(Deserialize)]
struct PartJson {
    offset: OffsetJson,
    map: MapJson<IgnoredAny>,
}

#[derive(Deserialize)]
struct OffsetJson {
    line: u32,
    column: u32,
}

/// A list of at most [`SECTIONS_MAX`].
struct PartsJson(Vec<PartJson>);

impl<'de> Deserialize<'de> for PartsJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = PartsJson;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of maps")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<PartsJson, A::Error> {
                let mut parts = Vec::new();
                while let Some(part) = list.next_element()? {
                    if parts.len() == SECTIONS_MAX {
                        return Err(A::Error::custom(format_args!("more than {SECTIONS_MAX} sections")));
                    }
                    parts.push(part);
                }
                Ok(PartsJson(parts))
            }
        }
        deserializer.deserialize_seq(Collect)
    }
}

#[cfg(test)]
mod tests;
