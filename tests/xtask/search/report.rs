//! What was reached, and how it compares.

use super::{Goal, Settings, Start};
use crate::bench::shown;
use crate::cost::measure::quantile;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Duration;

/// Everything that one run of `xtask search` found out.
#[derive(Clone, Debug)]
pub struct Report {
    machine: String,
    goal: Goal,
    /// Who fuzzed; the first is compared with the others.
    rows: Vec<String>,
    /// What was measured, by program, start, time and row.
    pub(super) cells: Vec<Cell>,
    /// Program and row that are not there, and why.
    left_out: Vec<(String, String, String)>,
}

/// The campaigns of one fuzzer on one program.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) program: String,
    pub(super) start: Start,
    pub(super) time: Duration,
    pub(super) row: String,
    pub(super) values: Vec<Measured>,
}

/// What came of a campaign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Measured {
    Edges(u64),
    /// CPU time until then, if something crashed.
    Crash(Option<Duration>),
}

impl Measured {
    /// A number to compare: who found no crash is counted as if it came at the end.
    fn number(self, time: Duration) -> f64 {
        match self {
            Self::Edges(edges) => edges as f64,
            Self::Crash(found) => found.unwrap_or(time).as_secs_f64(),
        }
    }

    fn is_reached(self) -> bool {
        self != Self::Crash(None)
    }
}

impl Cell {
    fn median(&self) -> Option<f64> {
        let mut numbers: Vec<_> = self.values.iter().map(|value| value.number(self.time)).collect();
        (!numbers.is_empty()).then(|| quantile(&mut numbers, 2))
    }

    fn reached(&self) -> usize {
        self.values.iter().filter(|value| value.is_reached()).count()
    }

    /// The median, with how many of all found something where that is not all.
    fn text(&self) -> String {
        let Some(median) = self.median() else { return "-".into() };
        match self.values[0] {
            Measured::Edges(_) => format!("{median:.0}"),
            Measured::Crash(_) if self.reached() == self.values.len() => format!("{median:.2}"),
            Measured::Crash(_) if self.reached() == 0 => "-".into(),
            Measured::Crash(_) => format!("{median:.2} ({}/{})", self.reached(), self.values.len()),
        }
    }
}

impl Report {
    pub(super) fn new(settings: &Settings, machine: String) -> Self {
        let (goal, rows) = (settings.goal, settings.rows.clone());
        Self { machine, goal, rows, cells: Vec::new(), left_out: Vec::new() }
    }

    /// Says why something is not there.
    pub(super) fn leave_out(&mut self, program: &str, row: &str, error: &anyhow::Error) {
        self.left_out.push((program.to_owned(), row.to_owned(), shown(error)));
    }

    /// The campaigns that are compared with each other: of one start and one time, each program's by row.
    fn tables(&self) -> Vec<(Start, Duration, Vec<Line<'_>>)> {
        let mut tables: Vec<(Start, Duration, Vec<Line<'_>>)> = Vec::new();
        for cell in &self.cells {
            let at = tables.iter().position(|(start, time, _)| (*start, *time) == (cell.start, cell.time));
            let at = at.unwrap_or_else(|| {
                tables.push((cell.start, cell.time, Vec::new()));
                tables.len() - 1
            });
            let lines = &mut tables[at].2;
            match lines.iter_mut().find(|line| line.program == cell.program) {
                Some(line) => line.cells.push(cell),
                None => lines.push(Line { program: &cell.program, cells: vec![cell] }),
            }
        }
        tables
    }
}

/// A program, by all who fuzzed it.
struct Line<'a> {
    program: &'a str,
    cells: Vec<&'a Cell>,
}

impl Line<'_> {
    fn cell(&self, row: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.row == row).copied()
    }

    /// The first row's figure by the best of the others'.
    fn ratio(&self, report: &Report) -> Option<f64> {
        let (first, others) = report.rows.split_first()?;
        let own = self.cell(first)?.median()?;
        let others = others.iter().filter_map(|row| self.cell(row)?.median());
        let best = match report.goal {
            Goal::Edges => others.reduce(f64::max),
            Goal::Crash => others.reduce(f64::min),
        };
        Some(own / best?)
    }

    /// Somebody else found a crash, and the first one didn't.
    fn is_missed(&self, report: &Report) -> bool {
        let found = |row: &String| self.cell(row).is_some_and(|cell| cell.reached() > 0);
        report.rows.split_first().is_some_and(|(first, others)| !found(first) && others.iter().any(found))
    }
}

/// Tables for people, one for each start and time.
pub fn table(report: &Report) -> String {
    let mut text = format!("{}\n", report.machine);
    for (start, time, lines) in report.tables() {
        let (seconds, rounds) = (time.as_secs_f64(), lines[0].cells.iter().map(|cell| cell.values.len()).max());
        let what = match report.goal {
            Goal::Edges => format!("edges in {seconds} s of CPU time"),
            Goal::Crash => format!("seconds of CPU time until something crashes, of {seconds}"),
        };
        let start = match start {
            Start::Seeds => "seeds",
            Start::Nothing => "one newline",
        };
        writeln!(text, "\n{what}, from {start}, medians of {}", rounds.unwrap_or(0))
            .expect("a string takes everything");
        let width = report.rows.iter().map(String::len).max().unwrap_or(0).max(12) + 2;
        let row = |name: &str, cells: &[String], ratio: &str| {
            let cells: String = cells.iter().map(|cell| format!("{cell:>width$}")).collect();
            format!("{name:20}{cells}{ratio:>14}\n")
        };
        text.push_str(&row("", &report.rows, "by the best"));
        for line in &lines {
            let cells: Vec<_> =
                report.rows.iter().map(|row| line.cell(row).map_or_else(|| "-".into(), Cell::text)).collect();
            let ratio = line.ratio(report).map_or_else(String::new, |ratio| format!("{ratio:.3}"));
            text.push_str(&row(line.program, &cells, &ratio));
        }
        text.push_str(&summary(report, &lines));
    }
    for (program, row, why) in &report.left_out {
        let of = if program.is_empty() { String::new() } else { format!(" of {program}") };
        writeln!(text, "left out: {row}{of}: {why}").expect("a string takes everything");
    }
    text
}

/// The geometric mean, the worst, and what was missed.
fn summary(report: &Report, lines: &[Line<'_>]) -> String {
    let mut ratios: Vec<_> = lines.iter().filter_map(|line| Some((line.ratio(report)?, line.program))).collect();
    if ratios.is_empty() {
        return String::new();
    }
    let mean = (ratios.iter().map(|(ratio, _)| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (worst, program) = match report.goal {
        Goal::Edges => ratios[0],
        Goal::Crash => ratios[ratios.len() - 1],
    };
    let mut text = format!("geometric mean {mean:.3}, worst {worst:.3} ({program})\n");
    let missed: Vec<_> = lines.iter().filter(|line| line.is_missed(report)).map(|line| line.program).collect();
    if !missed.is_empty() {
        writeln!(text, "missed: {}", missed.join(", ")).expect("a string takes everything");
    }
    text
}

/// The same as a JSON object: every campaign's figure, CPU time in seconds, `null` where nothing crashed.
pub fn json(report: &Report) -> Value {
    let value = |value: &Measured| match value {
        Measured::Edges(edges) => json!(edges),
        Measured::Crash(found) => json!(found.map(|time| time.as_secs_f64())),
    };
    let cells = report.cells.iter().map(|cell| {
        json!({
            "program": cell.program,
            "start": match cell.start { Start::Seeds => "seeds", Start::Nothing => "nothing" },
            "cpu_seconds": cell.time.as_secs_f64(),
            "fuzzer": cell.row,
            "values": cell.values.iter().map(value).collect::<Vec<_>>(),
        })
    });
    let left_out = report.left_out.iter();
    let left_out = left_out.map(|(program, row, why)| json!({ "program": program, "fuzzer": row, "why": why }));
    json!({
        "machine": report.machine,
        "goal": match report.goal { Goal::Edges => "edges", Goal::Crash => "crash" },
        "campaigns": cells.collect::<Vec<_>>(),
        "left_out": left_out.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(goal: Goal, cells: &[(&str, &str, &[Measured])]) -> Report {
        let cell = |&(program, row, values): &(&str, &str, &[Measured])| Cell {
            program: program.into(),
            start: Start::Seeds,
            time: Duration::from_secs(60),
            row: row.into(),
            values: values.to_vec(),
        };
        let rows = ["fuzzbox", "afl", "libafl"].map(str::to_owned).to_vec();
        let cells = cells.iter().map(cell).collect();
        Report { machine: "a machine".into(), goal, rows, cells, left_out: Vec::new() }
    }

    #[test]
    fn edges_are_compared_with_the_best_of_the_others() {
        let edges = Measured::Edges;
        let report = report(
            Goal::Edges,
            &[
                ("a", "fuzzbox", &[edges(90), edges(120), edges(110)]),
                ("a", "afl", &[edges(100)]),
                ("a", "libafl", &[edges(80)]),
                ("b", "fuzzbox", &[edges(80), edges(120)]),
                ("b", "afl", &[edges(50)]),
            ],
        );
        let text = table(&report);
        assert!(text.contains("geometric mean 1.483, worst 1.100 (a)"), "{text}");
        let line = text.lines().find(|line| line.starts_with('b')).unwrap();
        assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["b", "100", "50", "-", "2.000"]);
        assert_eq!(json(&report)["campaigns"][3]["values"], json!([80, 120]));
    }

    #[test]
    fn who_finds_no_crash_is_counted_with_all_the_time() {
        let found = |seconds| Measured::Crash(Some(Duration::from_secs(seconds)));
        let never = Measured::Crash(None);
        let report = report(
            Goal::Crash,
            &[
                ("a", "fuzzbox", &[found(3), found(6), never]),
                ("a", "afl", &[found(12)]),
                ("a", "libafl", &[never]),
                ("b", "fuzzbox", &[never]),
                ("b", "afl", &[found(30)]),
            ],
        );
        let text = table(&report);
        assert!(text.contains("6.00 (2/3)") && text.contains("worst 2.000 (b)\nmissed: b\n"), "{text}");
        assert!(text.contains("geometric mean 1.000"), "{text}");
        assert_eq!(json(&report)["campaigns"][0]["values"], json!([3.0, 6.0, null]));
    }
}
