//! What was reached, and how it compares.

use serde_json::{Value, json};
use std::fmt::Write as _;

/// Everything that one run of `xtask tmin` found out.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The machine and the tools, each with its version.
    pub versions: Vec<String>,
    /// The crashes.
    pub rows: Vec<Row>,
}

/// A crash, shrunk by each.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub crash: String,
    /// Where it crashes natively.
    pub place: String,
    /// The length of the input that was shrunk.
    pub input_bytes: usize,
    /// By us.
    pub fuzzbox: Shrunk,
    /// By afl-tmin.
    pub afl: Shrunk,
    /// By libFuzzer.
    pub libfuzzer: Shrunk,
}

/// What one tool made of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shrunk {
    /// What is left.
    pub input: Vec<u8>,
    /// How often the parser ran.
    pub executions: u64,
    /// It crashes at the place at which the whole input did.
    pub is_same: bool,
}

impl Row {
    fn peers(&self) -> [&Shrunk; 2] {
        [&self.afl, &self.libfuzzer]
    }

    /// No peer has a smaller input that crashes at the same place.
    pub fn is_smallest(&self) -> bool {
        let same = self.peers().into_iter().filter(|shrunk| shrunk.is_same);
        same.map(|shrunk| shrunk.input.len()).all(|bytes| self.fuzzbox.input.len() <= bytes)
    }

    /// The peers' executions: the median of two is their mean.
    pub fn peers_executions(&self) -> u64 {
        self.peers().map(|shrunk| shrunk.executions).iter().sum::<u64>() / 2
    }

    /// It took us no more executions than that.
    pub fn is_quick(&self) -> bool {
        self.fuzzbox.executions <= self.peers_executions()
    }
}

/// A table for people.
pub fn table(report: &Report) -> String {
    let mut text = report.versions.iter().map(|version| format!("{version}\n")).collect::<String>();
    let heads = ["", "input", "fuzzbox", "", "afl-tmin", "", "libFuzzer", "", "their mean"];
    let line = |cells: [&str; 9]| {
        let [name, cells @ ..] = cells;
        format!("{name:20}{}\n", cells.iter().map(|cell| format!("{cell:>11}")).collect::<String>())
    };
    text.push('\n');
    text.push_str(&line(heads));
    text.push_str(&line([
        "",
        "bytes",
        "bytes",
        "executions",
        "bytes",
        "executions",
        "bytes",
        "executions",
        "executions",
    ]));
    for row in &report.rows {
        let all = [&row.fuzzbox, &row.afl, &row.libfuzzer];
        let bytes = all.map(|shrunk| format!("{}{}", shrunk.input.len(), if shrunk.is_same { "" } else { "*" }));
        let executions = all.map(|shrunk| shrunk.executions.to_string());
        let (input, mean) = (row.input_bytes.to_string(), row.peers_executions().to_string());
        let [a, b, c] = &bytes;
        let [d, e, f] = &executions;
        text.push_str(&line([&row.crash, &input, a, d, b, e, c, f, &mean]));
    }
    if report.rows.iter().any(|row| row.peers().iter().any(|shrunk| !shrunk.is_same)) {
        text.push_str("* crashes at another place than the input did\n");
    }
    for (claim, holds) in CLAIMS {
        let others: Vec<_> = report.rows.iter().filter(|row| !holds(row)).map(|row| row.crash.as_str()).collect();
        let count = report.rows.len() - others.len();
        let others = if others.is_empty() { String::new() } else { format!(", not {}", others.join(", ")) };
        writeln!(text, "{claim}: {count} of {}{others}", report.rows.len()).expect("a string takes everything");
    }
    text
}

/// What is asked of each row, in words.
type Claim = (&'static str, fn(&Row) -> bool);

const CLAIMS: [Claim; 2] = [
    ("no larger than what either of the others reaches", Row::is_smallest),
    ("no more executions than the mean of the others", Row::is_quick),
];

/// All that is known as one JSON object; inputs as text, escaped where they are none.
pub fn json(report: &Report) -> Value {
    let shrunk = |shrunk: &Shrunk| {
        json!({
            "input": shrunk.input.escape_ascii().to_string(),
            "bytes": shrunk.input.len(),
            "executions": shrunk.executions,
            "same_place": shrunk.is_same,
        })
    };
    let row = |row: &Row| {
        json!({
            "crash": row.crash,
            "place": row.place,
            "input_bytes": row.input_bytes,
            "fuzzbox": shrunk(&row.fuzzbox),
            "afl": shrunk(&row.afl),
            "libfuzzer": shrunk(&row.libfuzzer),
            "peers_executions": row.peers_executions(),
            "smallest": row.is_smallest(),
            "quick": row.is_quick(),
        })
    };
    json!({ "versions": report.versions, "rows": report.rows.iter().map(row).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(afl_is_same: bool) -> Row {
        let shrunk = |bytes, executions| Shrunk { input: vec![b'x'; bytes], executions, is_same: true };
        let afl = Shrunk { is_same: afl_is_same, ..shrunk(3, 100) };
        let crash = "some".to_owned();
        Row { crash, place: "0x1".into(), input_bytes: 9, fuzzbox: shrunk(4, 301), afl, libfuzzer: shrunk(4, 500) }
    }

    #[test]
    fn a_smaller_input_counts_if_it_is_the_same_crash() {
        assert!(!row(true).is_smallest() && row(false).is_smallest());
        assert!(!row(true).is_quick());
        let report = Report { versions: vec!["a machine".into()], rows: vec![row(false)] };
        let table = table(&report);
        assert!(table.contains(" 3*") && table.contains("reaches: 1 of 1\n"), "{table}");
        assert!(table.contains("of the others: 0 of 1, not some"), "{table}");
    }
}
