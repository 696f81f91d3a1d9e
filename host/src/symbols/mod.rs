//! Names and source lines for what a trap tells: function indices and byte offsets.
//!
//! A [`Frame`] says `function 12 at byte 1043`. [`Symbols`] turns that into `parse_value at json.c:57:9`:
//!
//! ```text
//! function index --names-> mangled name --names::demangle-> json::parse(char const*)
//! byte offset - start of the code section's contents = DWARF address --dwarf-> file, line, column, inlined calls
//! byte offset --source_map-> file, line, column
//! ```
//!
//! In the module that a component is linked to, DWARF speaks of the module that it was made for, so addresses go back
//! there first.
//!
//! DWARF is in the module, or in a companion that was split off; a source map is a file beside it. [`pointers`] says
//! where a module has them, and [`DebugInfo`] is what was found there; nothing here opens a file.
//!
//! Everything here is read from a file that somebody else wrote, and none of it decides how an execution ended:
//! whatever is broken, endless or absurd gives no name and no line, and nothing else.
//!
//! # Files
//!
//! Names; file and line from DWARF, in the module or split off, or from a source map; `frame` (of a trap, with
//! both), `lines` (where instructions stand, all of them at once), `stable` (names that the next build has too),
//! `library` (which functions are a library's).

mod allocator;
mod debug_info;
pub(crate) mod dwarf;
mod frame;
mod layout;
mod library;
mod lines;
mod names;
mod path;
mod source_map;
mod stable;

pub use allocator::is_allocator;
pub use debug_info::{DebugInfo, Fit, Pointer, pointers};
pub use frame::{ResolvedFrame, unresolved};
pub use library::is_library;
pub use names::{demangle, simplify};
pub(crate) use stable::StableCall;

use crate::outcome::Frame;
use debug_info::Lines;
use dwarf::Dwarf;
use fuzzbox_instrument::Addresses;
use fuzzbox_instrument::identity::Identity;
use fuzzbox_instrument::recipe::Origin;
use layout::{Code, Layout};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

/// Looks up names and source lines of one module. Cheap to make: DWARF is read when the first line is asked for.
pub struct Symbols {
    module: Arc<[u8]>,
    functions: Vec<FunctionName>,
    /// Who the functions are, made when one without a name is asked for; `None` if that can't be told.
    identity: OnceLock<Option<Identity>>,
    code: Code,
    lines: Lines,
    /// Where the code of a linked component is from.
    linked: Option<Addresses>,
    /// By how much code was moved when something was put into its module.
    origin: Option<Origin>,
    places: Mutex<Places>,
}

/// By file offset of an instruction: where it stands, innermost inlined call first. Empty if that is not known.
type Places = BTreeMap<u32, Vec<Place>>;

/// Where an instruction, or a call of an inlined function, stands in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Place {
    /// Mangled name of the (inlined) function.
    function: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
    /// The line is the instruction's own, and not made up from its function's.
    exact: bool,
    /// In how many lines below the function's first one it is, if it is in the same file.
    below: Option<i64>,
    /// It is in another file than its function begins in.
    is_elsewhere: bool,
}

impl Place {
    /// The place, now that it is known where its function begins.
    fn begun_at(self, line: Option<u32>, file: Option<&str>) -> Self {
        let is_near = self.exact && self.file.as_deref() == file;
        let is_elsewhere = line.is_some() && file.is_some() && self.file.as_deref() != file;
        let below = self.line.zip(line).filter(|_| is_near).map(|(line, first)| i64::from(line) - i64::from(first));
        Self { below, is_elsewhere, ..self }
    }
}

/// A place in the source code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// Path of the file, as the debug information has it.
    pub file: String,
    /// Line, 1-based.
    pub line: Option<u32>,
    /// Column, 1-based.
    pub column: Option<u32>,
}

#[derive(Default)]
struct FunctionName {
    raw: Option<Box<str>>,
    demangled: OnceLock<Box<str>>,
    simple: OnceLock<Box<str>>,
}

/// Offsets that are looked up at a time, so that a budget is for so many.
const SOURCES_AT_ONCE: usize = 4096;

impl Symbols {
    /// Reads what is needed from the original module; `names` gives a function's (mangled) name by its index,
    /// imports included. A damaged module gives fewer names and lines, never an error: what runs was validated
    /// elsewhere.
    pub fn new(original_module: impl Into<Arc<[u8]>>, names: impl Fn(u32) -> Option<String>) -> Self {
        let module = original_module.into();
        let Layout { code, debug_sections, .. } = Layout::read(&module);
        let count = code.imported.saturating_add(code.bodies.len() as u32);
        let functions = (0..count)
            .map(|index| FunctionName { raw: names(index).map(String::into_boxed_str), ..FunctionName::default() })
            .collect();
        let lines = Lines::Dwarf(Box::new(Dwarf::new(&debug_sections)));
        let linked = Addresses::of(&module);
        let origin = Origin::of(&module);
        Self { module, functions, identity: OnceLock::new(), code, lines, linked, origin, places: Mutex::default() }
    }

    /// The module that they are of.
    pub fn module(&self) -> &[u8] {
        &self.module
    }

    /// Takes lines from `debug_info` instead of the module itself.
    #[must_use]
    pub fn with_debug_info(self, debug_info: DebugInfo) -> Self {
        Self { lines: debug_info.lines, places: Mutex::default(), ..self }
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

    /// Where an edge's operator, or any other instruction, stands in the source; where that was inlined, in the inlined
    /// function. `None` if it is not known, or the function has no such offset.
    pub fn source(&self, edge: Frame) -> Option<Source> {
        self.sources(&[edge]).pop().flatten()
    }

    /// [`Symbols::source`] of many, in about the time of one if they are in order.
    pub fn sources(&self, edges: &[Frame]) -> Vec<Option<Source>> {
        let mut sources = Vec::with_capacity(edges.len());
        for edges in edges.chunks(SOURCES_AT_ONCE) {
            let places = self.find_places(edges);
            sources.extend(edges.iter().map(|edge| {
                let place = places.get(&edge.offset)?.first()?;
                let file = place.file.clone()?;
                self.code.body(edge.function).filter(|body| body.contains(&edge.offset)).map(|_| Source {
                    file,
                    line: place.line,
                    column: place.column,
                })
            }));
        }
        sources
    }

    /// Names every frame and finds its source line. A call that was inlined gives a frame of its own, innermost first,
    /// with the index and offset of the function it was inlined into; so the result can be longer than `frames`.
    pub fn resolve(&self, frames: &[Frame]) -> Vec<ResolvedFrame> {
        let places = self.find_places(frames);
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
}

impl std::fmt::Debug for Symbols {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Symbols").field("functions", &self.functions.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
