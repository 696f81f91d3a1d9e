//! Types and names of a module in words.

use std::fmt;
use wasmparser::FuncType;

/// Types with more members are shown shortened.
const SHOWN_MAX: usize = 16;

/// A function type as a person writes it: `(i32, i32) -> i32`.
pub(crate) fn signature(ty: &FuncType) -> String {
    let results = match ty.results() {
        [] => String::new(),
        [result] => format!(" -> {result}"),
        results => format!(" -> ({})", list(results)),
    };
    format!("({}){results}", list(ty.params()))
}

/// Names or types with commas between them, shortened.
pub(crate) fn list<T: fmt::Display>(items: &[T]) -> String {
    let shown: Vec<_> = items.iter().take(SHOWN_MAX).map(ToString::to_string).collect();
    let more = items.len().saturating_sub(SHOWN_MAX);
    if more > 0 { format!("{}, and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

/// A name out of a module, in one line and not too long; one that is empty can be seen.
pub(crate) struct Shortened<'a>(pub(crate) &'a str);

impl fmt::Display for Shortened<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const CHARS_MAX: usize = 100;
        if self.0.is_empty() {
            return f.write_str("\"\"");
        }
        match self.0.char_indices().nth(CHARS_MAX) {
            Some((end, _)) => write!(f, "{}...", self.0[..end].escape_debug()),
            None => write!(f, "{}", self.0.escape_debug()),
        }
    }
}
