//! The frames of a trap with names and lines.

use super::{is_library, simplify};
use crate::outcome::Frame;
use serde::{Deserialize, Serialize};

/// One frame of a finding, resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedFrame {
    /// Demangled function name, or `func[12]`.
    pub function: String,
    /// Function index.
    pub index: u32,
    /// Byte offset in the original module.
    pub offset: u32,
    /// Source file, if there is debug information.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file: Option<String>,
    /// Source line, 1-based.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<u32>,
    /// Source column, 1-based.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub column: Option<u32>,
}

impl ResolvedFrame {
    /// The frame in words: `parse_value at src/json.c:57:9`, as far as it is known; the function's name is
    /// [`simplify`]ed.
    pub fn place(&self) -> String {
        let mut place = simplify(&self.function);
        if let Some(source) = self.source() {
            place.push_str(" at ");
            place.push_str(&source);
        }
        place
    }

    /// `src/json.c:57:9`, if there is debug information.
    pub fn source(&self) -> Option<String> {
        let mut source = self.file.clone()?;
        for number in [self.line, self.line.and(self.column)].into_iter().flatten() {
            source.push_str(&format!(":{number}"));
        }
        Some(source)
    }

    /// Whether the function is a library's, not the user's.
    pub fn is_library(&self) -> bool {
        is_library(&self.function, self.file.as_deref())
    }
}

/// The frames that [`Symbols::resolve`](crate::symbols::Symbols::resolve) was given: one for the inlined calls and the
/// function around them.
///
/// A recursive call has the same offset as the one before, and so have inlined calls. The last of such frames is a
/// function around inlined ones, so those of its name are calls of their own.
pub fn unresolved(frames: &[ResolvedFrame]) -> Vec<Frame> {
    let groups = frames.chunk_by(|a, b| (a.index, a.offset) == (b.index, b.offset));
    groups
        .flat_map(|group| {
            let calls = group.iter().filter(|frame| Some(&frame.function) == group.last().map(|last| &last.function));
            calls.map(|frame| Frame { function: frame.index, offset: frame.offset })
        })
        .collect()
}
