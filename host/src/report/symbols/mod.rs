//! Names and source lines for what a trap tells: function indices and byte offsets.
//!
//! A [`Frame`] says `function 12 at byte 1043`. [`Symbols`] turns that into `parse_value at json.c:57:9`:
//!
//! ```text
//! function index --names-> mangled name --names::demangle-> json::parse(char const*)
//! byte offset - start of the code section's contents = DWARF address --dwarf-> file, line, column, inlined calls
//! ```
//!
//! Everything here is read from a file that somebody else wrote, and none of it decides how an execution ended:
//! whatever is broken, endless or absurd gives no name and no line, and nothing else.

mod dwarf;
mod names;

pub use names::{demangle, simplify};

use crate::report::ResolvedFrame;
use crate::sandbox::Frame;
use dwarf::{Dwarf, Place};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};
use wasmparser::{Parser, Payload, TypeRef};

/// Looks up names and source lines of one module. Cheap to make: DWARF is read when the first line is asked for.
pub struct Symbols {
    functions: Vec<FunctionName>,
    /// Number of imported functions: the first body belongs to the function with this index.
    imported: u32,
    /// File offset of each defined function's body (its locals), in the order of the code section.
    bodies: Vec<u32>,
    /// File offset of the code section's contents, the origin of DWARF addresses.
    code_start: Option<u32>,
    dwarf: Dwarf,
    places: Mutex<BTreeMap<u32, Vec<Place>>>,
}

#[derive(Default)]
struct FunctionName {
    raw: Option<Box<str>>,
    demangled: OnceLock<Box<str>>,
    simple: OnceLock<Box<str>>,
}

/// More resolved offsets than this are not remembered.
const PLACES_MAX: usize = 1 << 16;

impl Symbols {
    /// Reads what is needed from `original_module_bytes`; `names` gives a function's (mangled) name by its index,
    /// imports included. A damaged module gives fewer names and lines, never an error: what runs was validated
    /// elsewhere.
    pub fn new(original_module_bytes: &[u8], names: impl Fn(u32) -> Option<String>) -> Self {
        let layout = Layout::read(original_module_bytes);
        let count = layout.imported.saturating_add(layout.bodies.len() as u32);
        let functions = (0..count)
            .map(|index| FunctionName { raw: names(index).map(String::into_boxed_str), ..FunctionName::default() })
            .collect();
        Self {
            functions,
            imported: layout.imported,
            bodies: layout.bodies,
            code_start: layout.code_start,
            dwarf: Dwarf::new(layout.debug_sections),
            places: Mutex::new(BTreeMap::new()),
        }
    }

    /// The function's demangled name, without hashes: `json::parse(char const*)`, `core::fmt::write`; `func[12]`
    /// without a name.
    pub fn name(&self, function: u32) -> Cow<'_, str> {
        match self.named(function) {
            Some((entry, raw)) => Cow::Borrowed(entry.demangled.get_or_init(|| demangle(raw).into_boxed_str())),
            None => Cow::Owned(format!("func[{function}]")),
        }
    }

    /// The function's name as signatures have it: [`simplify`]ed.
    pub fn simple_name(&self, function: u32) -> Cow<'_, str> {
        match self.named(function) {
            Some((entry, _)) => {
                Cow::Borrowed(entry.simple.get_or_init(|| simplify(&self.name(function)).into_boxed_str()))
            }
            None => self.name(function),
        }
    }

    fn named(&self, function: u32) -> Option<(&FunctionName, &str)> {
        let entry = self.functions.get(function as usize)?;
        entry.raw.as_deref().filter(|raw| !raw.is_empty()).map(|raw| (entry, raw))
    }

    /// Bytes from the start of the function's body to the frame's instruction; `None` if the offset is not in a body.
    pub fn offset_in_function(&self, frame: Frame) -> Option<u32> {
        let body = frame.function.checked_sub(self.imported)?;
        frame.offset.checked_sub(*self.bodies.get(body as usize)?)
    }

    /// Names every frame and finds its source line. A call that was inlined gives a frame of its own, innermost first,
    /// with the index and offset of the function it was inlined into; so the result can be longer than `frames`.
    pub fn resolve(&self, frames: &[Frame]) -> Vec<ResolvedFrame> {
        self.find_places(frames);
        let places = self.places.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        frames.iter().flat_map(|frame| self.resolve_one(*frame, places.get(&frame.offset))).collect()
    }

    fn resolve_one(&self, frame: Frame, places: Option<&Vec<Place>>) -> Vec<ResolvedFrame> {
        let plain = |place: &Place, function: String| ResolvedFrame {
            function,
            index: frame.function,
            offset: frame.offset,
            file: place.file.clone(),
            line: place.line,
            column: place.column,
        };
        let places = places.map_or(&[][..], Vec::as_slice);
        let Some((outermost, inlined)) = places.split_last() else {
            return vec![plain(&Place::default(), self.name(frame.function).into_owned())];
        };
        let mut resolved = Vec::with_capacity(places.len());
        for place in inlined {
            let name = place.function.as_deref().map_or_else(|| "(inlined)".to_owned(), demangle);
            resolved.push(plain(place, name));
        }
        // The module's own name wins over DWARF's: it is there when DWARF is not, and a function has one name
        // everywhere.
        let name = match (self.named(frame.function), &outermost.function) {
            (None, Some(name)) => demangle(name),
            _ => self.name(frame.function).into_owned(),
        };
        resolved.push(plain(outermost, name));
        resolved
    }

    /// Looks up the places of all frames that are not known yet, in one walk over DWARF.
    fn find_places(&self, frames: &[Frame]) {
        let Some(code_start) = self.code_start else { return };
        let mut places = self.places.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut offsets: Vec<u32> = frames
            .iter()
            .map(|frame| frame.offset)
            .filter(|offset| *offset >= code_start && !places.contains_key(offset))
            .collect();
        offsets.sort_unstable();
        offsets.dedup();
        if offsets.is_empty() {
            return;
        }
        if places.len().saturating_add(offsets.len()) > PLACES_MAX {
            places.clear();
        }
        let addresses: Vec<u64> = offsets.iter().map(|offset| u64::from(offset - code_start)).collect();
        for (offset, found) in offsets.into_iter().zip(self.dwarf.find(&addresses)) {
            places.insert(offset, found);
        }
    }
}

impl std::fmt::Debug for Symbols {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Symbols").field("functions", &self.functions.len()).finish_non_exhaustive()
    }
}

/// Where things lie in the original module.
#[derive(Default)]
struct Layout {
    imported: u32,
    bodies: Vec<u32>,
    code_start: Option<u32>,
    debug_sections: BTreeMap<String, Vec<u8>>,
}

impl Layout {
    /// Reads as far as the module can be read.
    fn read(bytes: &[u8]) -> Self {
        let mut layout = Self::default();
        for payload in Parser::new(0).parse_all(bytes) {
            let Ok(payload) = payload else { break };
            match payload {
                Payload::Version { encoding: wasmparser::Encoding::Component, .. } => break,
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports() {
                        let Ok(import) = import else { break };
                        if matches!(import.ty, TypeRef::Func(_) | TypeRef::FuncExact(_)) {
                            layout.imported = layout.imported.saturating_add(1);
                        }
                    }
                }
                Payload::CodeSectionStart { unchecked_range, .. } => {
                    layout.code_start = u32::try_from(unchecked_range.start).ok();
                }
                Payload::CodeSectionEntry(body) => match u32::try_from(body.range().start) {
                    Ok(start) => layout.bodies.push(start),
                    Err(_) => break,
                },
                Payload::CustomSection(section) if Dwarf::reads(section.name()) => {
                    layout.debug_sections.entry(section.name().to_owned()).or_insert_with(|| section.data().to_vec());
                }
                _ => {}
            }
        }
        layout
    }
}

#[cfg(test)]
mod tests;
