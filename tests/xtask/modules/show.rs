//! A line for each module and variant: for people, or as JSON.

use super::Row;
use super::measure::nanos;
use serde_json::{Value, json};

/// The columns of [`text`].
pub const HEAD: &str = "\
module              variant     MB before  after  functions      edges  wall s   CPU s  peak MiB  check s  run s before  after";

/// The row as a line under [`HEAD`]; what failed is named in lines of its own.
pub fn text(row: &Row) -> String {
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let start = format!("{:<18}  {:<10}  {:>9.2}", row.module.name, row.variant, megabytes(row.bytes));
    let measured = match &row.measured {
        Ok(measured) => measured,
        Err(error) => {
            let run = row.ran.as_ref().and_then(|ran| ran.as_ref().err());
            let run = run.map_or(String::new(), |error| format!("\n  failed to run: {error:#}"));
            return format!("{start}\n  failed to rewrite: {error:#}{run}");
        }
    };
    let line = format!(
        "{start}  {:>5.1}  {:>9}  {:>9}  {:>6.2}  {:>6.2}  {:>8}  {:>7.2}",
        megabytes(measured.bytes),
        measured.functions,
        measured.edges,
        measured.wall.as_secs_f64(),
        measured.cpu.as_secs_f64(),
        measured.peak_bytes >> 20,
        measured.validation.as_secs_f64(),
    );
    match &row.ran {
        None => line,
        Some(Ok([before, after])) => format!("{line}  {:>12.2}  {:>5.2}", before.as_secs_f64(), after.as_secs_f64()),
        Some(Err(error)) => format!("{line}\n  failed to run as before: {error:#}"),
    }
}

/// The row as an object: times in nanoseconds, sizes in bytes; `error` or `run_error` if something failed.
pub fn json(row: &Row) -> Value {
    let mut value = match &row.measured {
        Ok(measured) => measured.write(),
        Err(error) => json!({ "error": format!("{error:#}") }),
    };
    value["module"] = row.module.name.into();
    value["package"] = format!("{} {}", row.package.name, row.package.version).into();
    value["made"] = row.module.made.into();
    value["variant"] = row.variant.into();
    value["original_bytes"] = row.bytes.into();
    match &row.ran {
        None => {}
        Some(Ok([before, after])) => {
            value["run_cpu_ns"] = json!({ "original": nanos(*before), "rewritten": nanos(*after) });
        }
        Some(Err(error)) => value["run_error"] = format!("{error:#}").into(),
    }
    value
}

/// What is to be known of all rows together.
pub fn summary(rows: &[Row]) -> String {
    let good = rows.iter().filter(|row| row.is_good()).count();
    let ran = rows.iter().filter(|row| matches!(row.ran, Some(Ok(_)))).count();
    let failed = rows.len() - good;
    let mut text = format!("{good} rewritten and valid, {ran} of them ran as before, {failed} failed");
    let slowest = rows.iter().filter_map(|row| row.measured.as_ref().ok().map(|m| (m.wall, row.module.name))).max();
    let largest =
        rows.iter().filter_map(|row| row.measured.as_ref().ok().map(|m| (m.peak_bytes, row.module.name))).max();
    if let (Some((wall, slow)), Some((peak, large))) = (slowest, largest) {
        text += &format!("; longest {:.2} s ({slow}), largest peak {} MiB ({large})", wall.as_secs_f64(), peak >> 20);
    }
    text
}
