//! What was measured, and how it compares.

use super::fuzz::Fuzzed;
use super::tools::{Missing, install_line};
use crate::cost::measure::quantile;
use serde_json::{Value, json};

/// Everything that one run of `xtask bench` found out.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The machine and the tools, each with its version.
    pub versions: Vec<String>,
    /// Tools that are not here.
    pub missing: Vec<Missing>,
    /// What was to be measured and could not be.
    pub left_out: Vec<LeftOut>,
    /// The guests, replayed.
    pub guests: Vec<Guest>,
    /// The guest that does nothing, replayed.
    pub empty: Option<Guest>,
    /// Rounds, and the CPU time of each row in each, in milliseconds.
    pub rounds: (usize, u64),
    /// CPU time of each campaign, in seconds; 0 if nobody fuzzed.
    pub fuzz_seconds: u64,
}

/// A row that is not there, for one guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The guest.
    pub guest: String,
    /// The row's id.
    pub what: String,
    /// The error, in a line.
    pub why: String,
}

/// One guest and how fast everybody was.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Its name.
    pub name: String,
    /// How many inputs were replayed.
    pub inputs: usize,
    /// Their mean length.
    pub input_bytes_mean: f64,
    /// Who replayed them.
    pub rows: Vec<Row>,
    /// Who fuzzed, by name, each campaign.
    pub fuzzed: Vec<(&'static str, Vec<Fuzzed>)>,
}

/// Who replayed, and how fast.
#[derive(Clone, Debug)]
pub struct Row {
    /// Says who it is to programs; `label` says it to people.
    pub id: String,
    /// Executions per second of CPU time, in each round.
    pub rates: Vec<f64>,
}

/// Ours that are compared with everybody's.
pub(super) const SUBJECTS: [&str; 2] = ["fuzzbox_fast_restored_judged", "fuzzbox_full_restored_judged"];

const LABELS: &[(&str, &str)] = &[
    ("native", "native -O2, nothing counted"),
    ("libfuzzer_code", "libFuzzer's code, bare loop"),
    ("libfuzzer_engine", "libFuzzer's engine"),
    ("libfuzzer_edges", "libFuzzer's edges only, bare loop"),
    ("wasm2c", "wasm2c + clang -O2, nothing counted"),
    ("wasm2c_edges", "wasm2c + clang -O2, edges only"),
    ("plain_kept", "plain module, kept instance"),
    ("plain_fresh", "plain module, fresh instance from a pool"),
    ("plain_fresh_resident", "the same, memory kept resident"),
    ("libfuzzer", "libFuzzer"),
    ("afl", "AFL++, persistent, shared memory"),
];

/// A row's id in words.
pub(super) fn label(id: &str) -> String {
    let known = LABELS.iter().find(|(known, _)| *known == id).map(|(_, label)| (*label).to_owned());
    known.unwrap_or_else(|| match id.split('_').collect::<Vec<_>>()[..] {
        ["fuzzbox", variant, restored, judged] => format!("fuzzbox {variant}, {restored}, {judged}"),
        _ => id.replace('_', " "),
    })
}

impl Guest {
    pub(super) fn new(name: &str, inputs: &[Vec<u8>], rows: Vec<Row>) -> Self {
        let bytes: usize = inputs.iter().map(Vec::len).sum();
        let input_bytes_mean = bytes as f64 / inputs.len().max(1) as f64;
        Self { name: name.to_owned(), inputs: inputs.len(), input_bytes_mean, rows, fuzzed: Vec::new() }
    }

    pub(super) fn row(&self, id: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.id == id)
    }

    /// How many times as fast `subject` is as `other`: the median over the rounds.
    pub(super) fn ratio(&self, subject: &str, other: &str) -> Option<f64> {
        let (subject, other) = (self.row(subject)?, self.row(other)?);
        Some(median(subject.rates.iter().zip(&other.rates).map(|(subject, other)| subject / other)))
    }

    pub(super) fn campaigns(&self, fuzzer: &str) -> Option<&[Fuzzed]> {
        let found = self.fuzzed.iter().find(|(name, campaigns)| *name == fuzzer && !campaigns.is_empty());
        found.map(|(_, campaigns)| campaigns.as_slice())
    }

    /// Executions per second of CPU time, the median of the campaigns.
    pub(super) fn fuzzing_rate(&self, fuzzer: &str) -> Option<f64> {
        Some(median(self.campaigns(fuzzer)?.iter().map(Fuzzed::per_second)))
    }

    /// Mean length of inputs, the median of the campaigns.
    pub(super) fn fuzzing_bytes(&self, fuzzer: &str) -> Option<f64> {
        let lengths: Option<Vec<_>> = self.campaigns(fuzzer)?.iter().map(|fuzzed| fuzzed.input_bytes_mean).collect();
        Some(median(lengths?.into_iter()))
    }
}

impl Row {
    /// Executions per second of CPU time, the median of the rounds.
    pub fn median(&self) -> f64 {
        median(self.rates.iter().copied())
    }
}

/// The value in the middle; there is at least one.
pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    quantile(&mut values.collect::<Vec<_>>(), 2)
}

/// `None` if there are no values.
pub(super) fn geometric_mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (sum / values.len() as f64).exp())
}

/// All that is known as one JSON object.
pub fn json(report: &Report) -> Value {
    let missing = |missing: &Missing| json!({ "tool": missing.tool, "packages": missing.packages });
    let left_out = |out: &LeftOut| json!({ "guest": out.guest, "row": out.what, "why": out.why });
    json!({
        "versions": report.versions,
        "missing": report.missing.iter().map(missing).collect::<Vec<_>>(),
        "install": install_line(&report.missing),
        "left_out": report.left_out.iter().map(left_out).collect::<Vec<_>>(),
        "rounds": report.rounds.0,
        "round_ms": report.rounds.1,
        "fuzz_seconds": report.fuzz_seconds,
        "guests": report.guests.iter().map(guest_json).collect::<Vec<_>>(),
        "empty": report.empty.as_ref().map(guest_json),
        "ratios": ratios_json(&report.guests),
    })
}

fn guest_json(guest: &Guest) -> Value {
    let row = |row: &Row| {
        let ratios =
            SUBJECTS.iter().filter_map(|subject| Some(((*subject).to_owned(), guest.ratio(subject, &row.id)?.into())));
        let ratios: serde_json::Map<String, Value> = ratios.collect();
        json!({ "row": row.id, "execs_per_cpu_second": row.median(), "rounds": row.rates, "times_as_fast": ratios })
    };
    let campaign = |fuzzed: &Fuzzed| {
        json!({
            "execs": fuzzed.executions,
            "cpu_seconds": fuzzed.cpu.as_secs_f64(),
            "execs_per_cpu_second": fuzzed.per_second(),
            "input_bytes_mean": fuzzed.input_bytes_mean,
            "starts": fuzzed.starts,
        })
    };
    let fuzzer = |(name, campaigns): &(&str, Vec<Fuzzed>)| json!({ "fuzzer": name, "campaigns": campaigns.iter().map(campaign).collect::<Vec<_>>() });
    json!({
        "guest": guest.name,
        "inputs": guest.inputs,
        "input_bytes_mean": guest.input_bytes_mean,
        "rows": guest.rows.iter().map(row).collect::<Vec<_>>(),
        "fuzzed": guest.fuzzed.iter().map(fuzzer).collect::<Vec<_>>(),
    })
}

/// Geometric means and lowest of the ratios over all guests that have them.
fn ratios_json(guests: &[Guest]) -> Value {
    let mut all = Vec::new();
    for subject in SUBJECTS {
        for id in row_ids(guests) {
            let ratios: Vec<f64> = guests.iter().filter_map(|guest| guest.ratio(subject, &id)).collect();
            let Some(mean) = geometric_mean(&ratios).filter(|_| id != subject) else { continue };
            let lowest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
            let guests = ratios.len();
            all.push(
                json!({ "subject": subject, "row": id, "geometric_mean": mean, "lowest": lowest, "guests": guests }),
            );
        }
    }
    all.into()
}

/// The rows of all guests, each once, in the order of their first appearance.
pub(super) fn row_ids(guests: &[Guest]) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for row in guests.iter().flat_map(|guest| &guest.rows) {
        if !ids.contains(&row.id) {
            ids.push(row.id.clone());
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guest(name: &str, rows: &[(&str, [f64; 3])]) -> Guest {
        let rows = rows.iter().map(|(id, rates)| Row { id: (*id).to_owned(), rates: rates.to_vec() }).collect();
        Guest::new(name, &[b"four".to_vec(), Vec::new()], rows)
    }

    #[test]
    fn ratios_are_medians_of_the_rounds_not_ratios_of_medians() {
        let fast = SUBJECTS[0];
        let guest = guest("g", &[(fast, [2.0, 8.0, 30.0]), ("native", [1.0, 2.0, 100.0])]);
        assert_eq!(guest.ratio(fast, "native"), Some(2.0));
        assert_eq!(guest.ratio(fast, "none"), None);
        assert_eq!(guest.input_bytes_mean, 2.0);
    }

    #[test]
    fn json_has_geometric_means_over_the_guests_that_have_the_row() {
        let fast = SUBJECTS[0];
        let rates = |rate| [rate; 3];
        let guests = vec![
            guest("a", &[(fast, rates(4.0)), ("native", rates(4.0)), ("wasm2c", rates(2.0))]),
            guest("b", &[(fast, rates(8.0)), ("native", rates(2.0))]),
        ];
        let json = json(&Report { guests, ..Report::default() });
        let ratios = json["ratios"].as_array().unwrap();
        let of = |row: &str| ratios.iter().find(|ratio| ratio["row"] == row).unwrap();
        assert!((of("native")["geometric_mean"].as_f64().unwrap() - 2.0).abs() < 1e-9);
        assert_eq!((&of("native")["lowest"], &of("wasm2c")["guests"]), (&json!(1.0), &json!(1)));
        assert_eq!(json["guests"][1]["rows"][1]["times_as_fast"][fast], 4.0);
        assert_eq!(json["install"], Value::Null);
    }

    #[test]
    fn every_row_has_words() {
        assert_eq!(label("native"), "native -O2, nothing counted");
        assert_eq!(label("fuzzbox_fast_restored_judged"), "fuzzbox fast, restored, judged");
        assert_eq!(label("something_new"), "something new");
    }
}
