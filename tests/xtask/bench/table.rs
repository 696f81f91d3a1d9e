//! Prints what was measured, for people: guests side by side.

use super::report::{Guest, Report, SUBJECTS, geometric_mean, label, row_ids};
use super::tools::install_line;
use std::fmt::Write as _;

/// Columns: one for each guest, and some more.
struct Grid {
    text: String,
}

impl Grid {
    fn head(title: &str, columns: impl Iterator<Item = String>) -> Self {
        let mut grid = Self { text: String::new() };
        grid.row(title, columns);
        grid
    }

    fn row(&mut self, name: &str, cells: impl Iterator<Item = String>) {
        let cells: String = cells.map(|cell| format!(" {cell:>9}")).collect();
        writeln!(self.text, "{name:<50}{}", cells.trim_end()).expect("writing to a string");
    }
}

/// The whole report as text.
pub fn table(report: &Report) -> String {
    let mut parts = vec![report.versions.join("\n") + "\n"];
    let (rounds, milliseconds) = report.rounds;
    let title = format!("thousand executions per CPU second ({rounds} x {milliseconds} ms)");
    parts.extend(replayed(&title, &report.guests));
    if let Some(empty) = &report.empty {
        parts.extend(replayed("the same", std::slice::from_ref(empty)));
    }
    parts.extend(fuzzed(report));
    parts.extend(left_out(report));
    parts.join("\n")
}

/// How fast everybody was, and ours divided by theirs.
fn replayed(title: &str, guests: &[Guest]) -> Vec<String> {
    let ids = row_ids(guests);
    if ids.is_empty() {
        return Vec::new();
    }
    let mut rates = Grid::head(title, names(guests));
    for id in &ids {
        rates.row(&label(id), guests.iter().map(|guest| thousands(guest.row(id).map(super::report::Row::median))));
    }
    let mut parts = vec![rates.text];
    for subject in SUBJECTS.iter().filter(|subject| ids.iter().any(|id| id == *subject)) {
        let rows = ids.iter().filter(|id| id != subject);
        parts.push(ratios(
            &label(subject),
            guests,
            rows.map(|id| (label(id), |guest: &Guest| guest.ratio(subject, id))),
        ));
    }
    parts
}

/// Ours divided by that of each row.
fn ratios<F: Fn(&Guest) -> Option<f64>>(
    subject: &str,
    guests: &[Guest],
    rows: impl Iterator<Item = (String, F)>,
) -> String {
    let ends = ["geo.mean", "lowest"].map(str::to_owned);
    let mut grid = Grid::head(&format!("{subject}, divided by"), names(guests).chain(ends));
    for (name, ratio) in rows {
        let ratios: Vec<Option<f64>> = guests.iter().map(ratio).collect();
        let known: Vec<f64> = ratios.iter().copied().flatten().collect();
        let lowest = known.iter().copied().reduce(f64::min);
        grid.row(&name, ratios.into_iter().chain([geometric_mean(&known), lowest]).map(times));
    }
    grid.text
}

fn fuzzed(report: &Report) -> Vec<String> {
    const FUZZERS: [&str; 3] = ["fuzzbox", "libfuzzer", "afl"];
    let guests = &report.guests;
    let has = |fuzzer: &&str| guests.iter().any(|guest| guest.campaigns(fuzzer).is_some());
    let fuzzers: Vec<_> = FUZZERS.into_iter().filter(has).collect();
    if fuzzers.is_empty() {
        return Vec::new();
    }
    let title = format!("fuzzing for {} CPU seconds, thousand executions", report.fuzz_seconds);
    let mut grid = Grid::head(&title, names(guests));
    for fuzzer in &fuzzers {
        grid.row(&label(fuzzer), guests.iter().map(|guest| thousands(guest.fuzzing_rate(fuzzer))));
        let bytes = |guest: &Guest| guest.fuzzing_bytes(fuzzer).map_or("-".into(), |bytes| format!("{bytes:.0}"));
        grid.row("  mean bytes of an input", guests.iter().map(bytes));
        let starts = |guest: &Guest| guest.campaigns(fuzzer).and_then(|all| all.iter().map(|one| one.starts).max());
        if guests.iter().filter_map(starts).any(|starts| starts > 1) {
            let starts = |guest| starts(guest).map_or("-".into(), |starts| starts.to_string());
            grid.row("  starts, as it stops at crashes", guests.iter().map(starts));
        }
    }
    let mut parts = vec![grid.text];
    if fuzzers[0] == "fuzzbox" && fuzzers.len() > 1 {
        let ratio = |other| move |guest: &Guest| Some(guest.fuzzing_rate("fuzzbox")? / guest.fuzzing_rate(other)?);
        parts.push(ratios("fuzzbox", guests, fuzzers[1..].iter().map(|other| (label(other), ratio(*other)))));
    }
    parts
}

/// What is not in the tables, and why.
fn left_out(report: &Report) -> Option<String> {
    let mut text = String::new();
    for missing in &report.missing {
        writeln!(text, "left out: {} is not installed", missing.tool).expect("writing to a string");
    }
    if let Some(line) = install_line(&report.missing) {
        writeln!(text, "help: {line}").expect("writing to a string");
    }
    for out in &report.left_out {
        writeln!(text, "left out: {} of {}: {}", label(&out.what), out.guest, out.why).expect("writing to a string");
    }
    (!text.is_empty()).then_some(text)
}

fn names(guests: &[Guest]) -> impl Iterator<Item = String> {
    guests.iter().map(|guest| guest.name.clone())
}

fn thousands(per_second: Option<f64>) -> String {
    per_second.map_or("-".into(), |rate| match rate / 1e3 {
        rate if rate < 10.0 => format!("{rate:.2}"),
        rate if rate < 1000.0 => format!("{rate:.1}"),
        rate => format!("{rate:.0}"),
    })
}

fn times(ratio: Option<f64>) -> String {
    ratio.map_or("-".into(), |ratio| if ratio < 10.0 { format!("{ratio:.2}") } else { format!("{ratio:.1}") })
}

#[cfg(test)]
mod tests {
    use super::super::fuzz::Fuzzed;
    use super::super::report::{LeftOut, Row};
    use super::super::tools::Missing;
    use super::*;
    use std::time::Duration;

    fn guest(name: &str, rows: &[(&str, f64)]) -> Guest {
        let rows = rows.iter().map(|&(id, rate)| Row { id: id.to_owned(), rates: vec![rate] }).collect();
        Guest::new(name, &[Vec::new()], rows)
    }

    fn line<'a>(table: &'a str, start: &str) -> Vec<&'a str> {
        let line =
            table.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("`{start}` in\n{table}"));
        line[50..].split_whitespace().collect()
    }

    #[test]
    fn rates_and_ratios_stand_under_their_guests() {
        let fast = SUBJECTS[0];
        let guests = vec![
            guest("a", &[("native", 123_456.0), (fast, 61_728.0)]),
            guest("b", &[("native", 5_000.0), (fast, 10_000.0), ("wasm2c", 1e6)]),
        ];
        let table = table(&Report { guests, rounds: (5, 300), ..Report::default() });
        assert_eq!(line(&table, "thousand executions per CPU second (5 x 300 ms)"), ["a", "b"]);
        assert_eq!(line(&table, "native"), ["123.5", "5.00"]);
        assert_eq!(line(&table, "wasm2c"), ["-", "1000"]);
        let ratios = &table[table.find("fuzzbox fast, restored, judged, divided by").unwrap()..];
        assert_eq!(line(ratios, "fuzzbox fast"), ["a", "b", "geo.mean", "lowest"]);
        assert_eq!(line(ratios, "native"), ["0.50", "2.00", "1.00", "0.50"]);
        assert!(!table.contains("fuzzbox full"), "{table}");
    }

    #[test]
    fn fuzzers_are_compared_with_ours() {
        let second = Duration::from_secs(1);
        let campaign =
            |executions, starts| vec![Fuzzed { executions, cpu: second, input_bytes_mean: Some(40.4), starts }];
        let mut guest = guest("a", &[]);
        guest.fuzzed = vec![("libfuzzer", campaign(20_000, 3)), ("fuzzbox", campaign(50_000, 1))];
        let table = table(&Report { guests: vec![guest], fuzz_seconds: 1, ..Report::default() });
        assert_eq!(line(&table, "libFuzzer"), ["20.0"]);
        assert_eq!(line(&table, "  mean bytes"), ["40"]);
        assert_eq!(line(&table, "  starts"), ["3"]);
        let ratios = &table[table.find("fuzzbox, divided by").unwrap()..];
        assert_eq!(line(ratios, "libFuzzer"), ["2.50", "2.50", "2.50"]);
    }

    #[test]
    fn what_is_left_out_is_named_with_what_to_type() {
        let missing = vec![Missing { tool: "AFL++".into(), packages: vec!["afl++".into()] }];
        let out = LeftOut { guest: "a".into(), what: "native".into(), why: "it crashed".into() };
        let table = table(&Report { missing, left_out: vec![out], ..Report::default() });
        assert!(table.contains("left out: AFL++ is not installed\nhelp: apt-get install"), "{table}");
        assert!(table.contains("left out: native -O2, nothing counted of a: it crashed\n"), "{table}");
    }
}
