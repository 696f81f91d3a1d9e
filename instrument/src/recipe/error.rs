//! What is wrong with a recipe, and where.

use std::fmt;
use std::ops::Range;

/// What is wrong with a recipe. Shown with the line, and a mark below the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipeError {
    /// What is wrong.
    pub message: String,
    /// Where: bytes of the text.
    pub at: Range<usize>,
    /// A name that nothing has, for whoever knows names like it.
    pub unknown: Option<String>,
    /// The text.
    pub text: String,
}

impl RecipeError {
    /// Line and column, in characters, from 1 on.
    pub fn place(&self) -> (usize, usize) {
        let before = &self.text[..self.at.start];
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}

impl fmt::Display for RecipeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN_MAX: usize = 80;
        const BEFORE: usize = 40;
        let (line, column) = self.place();
        let typed = self.text.lines().nth(line - 1).unwrap_or_default();
        if self.text.contains('\n') {
            write!(f, "line {line}, ")?;
        }
        // Of a long line only what is near.
        let skipped = if typed.chars().count() > SHOWN_MAX { (column - 1).saturating_sub(BEFORE) } else { 0 };
        let shown: String = typed.chars().skip(skipped).take(SHOWN_MAX).collect();
        let shown = shown.replace('\t', " ");
        let marked = self.text[self.at.clone()].lines().next().map_or(0, |text| text.chars().count()).max(1);
        let marked = marked.min(SHOWN_MAX);
        writeln!(f, "column {column}: {}", self.message)?;
        writeln!(f, "  {shown}")?;
        write!(f, "  {:1$}{2}", "", column - 1 - skipped, "^".repeat(marked))
    }
}

impl std::error::Error for RecipeError {}
