//! What `fuzzbox ci` tells at its end: what became of all targets, in one table.

use super::retraced::Retraced;
use crate::text::{columns, count, cut, grouped, printable};
use serde::Serialize;

/// How a check of several targets ended.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Checked {
    /// Each target, as they were given; without those that were not begun.
    pub targets: Vec<CheckedTarget>,
}

/// How the check of one target ended.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CheckedTarget {
    /// The target's name.
    pub target: String,
    /// What became of what was known of an older build; `None` if there is none, or this one was fuzzed last.
    pub retraced: Option<Retraced>,
    /// Inputs that it began with.
    pub inputs: u64,
    /// Findings that are open.
    pub open: u64,
    /// Findings that are fixed in this build.
    pub fixed: u64,
    /// Findings that were not open before.
    pub new: u64,
    /// Edges that none of the first inputs reaches.
    pub new_edges: u64,
    /// Executions, and results that were known and count as such.
    pub execs: u64,
}

/// A target's name has so many columns at least, and where nothing else limits it so many at most.
const TARGET_COLUMNS: std::ops::RangeInclusive<usize> = 12..=32;

impl Checked {
    /// The table: a line with headings, and one for each target, whose names give way where there is no room.
    pub(crate) fn lines(&self, columns_max: usize) -> Vec<String> {
        const HEADINGS: [&str; 8] =
            ["target", "unchanged", "re-traced", "open", "fixed", "new", "new edges", "executions"];
        let rows: Vec<[String; 8]> = self.targets.iter().map(CheckedTarget::figures).collect();
        let all = || std::iter::once(HEADINGS.map(str::to_owned)).chain(rows.iter().cloned());
        let mut widths = [0; 8];
        all().for_each(|row| widths.iter_mut().zip(&row).for_each(|(width, text)| *width = columns(text).max(*width)));
        let taken: usize = widths[1..].iter().map(|width| width + 2).sum();
        let room = columns_max.saturating_sub(taken).clamp(*TARGET_COLUMNS.start(), *TARGET_COLUMNS.end());
        let line = |row: [String; 8]| {
            let [target, figures @ ..] = row;
            let target = cut(&target, room);
            let mut line = format!("{target}{:1$}", "", widths[0].min(room) - columns(&target));
            figures.iter().zip(&widths[1..]).for_each(|(figure, width)| line.push_str(&format!("  {figure:>width$}")));
            line
        };
        all().map(line).collect()
    }
}

impl CheckedTarget {
    fn figures(&self) -> [String; 8] {
        let compared = self.retraced.as_ref().and_then(|retraced| Some((retraced.unchanged?, retraced.functions?)));
        [
            printable(&self.target),
            compared.map_or("-".to_owned(), |(same, all)| format!("{} of {}", grouped(same), grouped(all))),
            grouped(self.inputs),
            grouped(self.open),
            grouped(self.fixed),
            grouped(self.new),
            grouped(self.new_edges),
            count(self.execs),
        ]
    }
}

/// What became of three targets: a later build, the same one, and one with a hostile name.
#[cfg(test)]
pub(super) fn example() -> Checked {
    use crate::id::ModuleId;

    let retraced = Retraced {
        target: "json".to_owned(),
        older: ModuleId::of(b"older"),
        functions: Some(430),
        unchanged: Some(412),
        inputs: 3_120,
        executed: 180,
        elapsed_ms: 230,
        findings: Vec::new(),
    };
    let json = CheckedTarget {
        target: "json".to_owned(),
        retraced: Some(retraced),
        inputs: 3_120,
        open: 2,
        fixed: 1,
        new: 1,
        new_edges: 12,
        execs: 1_204_224,
    };
    let xml = CheckedTarget {
        target: "xml".to_owned(),
        retraced: None,
        inputs: 9,
        open: 0,
        fixed: 0,
        new: 0,
        ..json.clone()
    };
    let evil =
        CheckedTarget { target: format!("\u{1b}[2J{}", "evil".repeat(20)), new_edges: 0, execs: 50, ..xml.clone() };
    Checked { targets: vec![json, xml, evil] }
}
