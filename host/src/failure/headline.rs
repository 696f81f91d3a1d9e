//! The call that a failure is told by.

use super::{Said, is_failure_machinery};
use crate::symbols::{ResolvedFrame, is_library, simplify};

/// The call to name first, of a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headline {
    /// The function's simplified name.
    pub function: String,
    /// `src/json.c:57:9`, if it is known.
    pub source: Option<String>,
    /// How many calls inside it are the libraries' own, and those by which programs fail.
    pub folded: usize,
}

impl Headline {
    /// The innermost call of the user's own, or if there is none the innermost that says why rather than how. Where no
    /// debug information says the line, the message may.
    pub fn new(frames: &[ResolvedFrame], said: Option<&Said>) -> Option<Self> {
        let fails = |frame: &ResolvedFrame| is_failure_machinery(&simplify(&frame.function));
        let own = frames.iter().position(|frame| !fails(frame) && !frame.is_library());
        let at = own.or_else(|| frames.iter().position(|frame| !fails(frame))).unwrap_or(0);
        let frame = frames.get(at)?;
        let told = said
            .filter(|_| own.is_some())
            .filter(|said| said.file.as_deref().is_some_and(|file| !is_library("", Some(file))));
        let function = simplify(&frame.function);
        let source = frame.source().or_else(|| told.and_then(Said::place));
        let source = source.or_else(|| said.and_then(|said| said.place_in_trace(&frame.function)));
        Some(Self { function, source, folded: own.unwrap_or(0) })
    }

    /// In words: `parse_value at src/json.c:57:9`.
    pub fn place(&self) -> String {
        let at = self.source.as_ref().map_or_else(String::new, |source| format!(" at {source}"));
        format!("{}{at}", self.function)
    }

    /// `... 13 library calls inside`, if some are folded.
    pub fn inside(&self) -> Option<String> {
        let calls = if self.folded == 1 { "call" } else { "calls" };
        (self.folded > 0).then(|| format!("... {} library {calls} inside", self.folded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, file: Option<&str>) -> ResolvedFrame {
        ResolvedFrame {
            function: function.into(),
            index: 0,
            offset: 0,
            file: file.map(str::to_owned),
            line: file.map(|_| 3),
            column: None,
        }
    }

    #[test]
    fn the_headline_is_the_innermost_call_of_the_users() {
        let frames = [
            frame("abort", None),
            frame("core::option::expect_failed", None),
            frame("core::option::Option<T>::expect", None),
            frame("parse", None),
            frame("main", None),
        ];
        let said = Said { file: Some("src/a.rs".into()), line: Some(7), column: Some(5), ..Said::default() };
        let headline = Headline::new(&frames, Some(&said)).unwrap();
        assert_eq!(
            (headline.place(), headline.inside()),
            ("parse at src/a.rs:7:5".into(), Some("... 3 library calls inside".into()))
        );
        let in_library = Said { file: Some("/rustc/x/library/core/src/a.rs".into()), ..said };
        assert_eq!(Headline::new(&frames, Some(&in_library)).unwrap().place(), "parse");
        let headline = Headline::new(&frames[..3], None).unwrap();
        assert_eq!(
            (headline.place(), headline.inside()),
            ("core::option::Option::expect".into(), None),
            "there is nothing else"
        );
        let with_lines = [frame("abort", Some("a.c")), frame("core::f", Some("src/mine.rs")), frame("main", None)];
        assert_eq!(
            Headline::new(&with_lines, None).unwrap().place(),
            "core::f at src/mine.rs:3",
            "files say more than names"
        );
        assert_eq!(Headline::new(&[], None), None);
    }
}
