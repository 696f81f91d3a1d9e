//! How far crashes are shrunk, beside afl-tmin and libFuzzer: the same parsers from the same sources, the same inputs.
//!
//! ```text
//! parser with a bug --- for wasm ------> fuzzbox shrink                   size, executions
//!        |         \--- AFL++ ---------> afl-tmin                         size, executions
//!        |          \-- libFuzzer -----> -minimize_crash=1                size, executions
//!        |                    \--------> each result once more: does it crash at the same place?
//!    an input that crashes it
//! ```
//!
//! The parsers are [`CRASHES`](crate::guests::CRASHES). Natively too, inputs end at an inaccessible page. Peers are told nothing else than
//! they are by default, except for how long libFuzzer tries in vain ([`Settings::libfuzzer_runs`]). They follow any crash,
//! we only the one with the same signature; what crashes elsewhere is no result, and marked.
//!
//! Ours are executions of the passes and of the exhaustive finish. Explaining which bytes matter comes after that and is
//! makes no input smaller, so it does not count.

mod build;
mod peers;
mod place;
mod report;

pub use report::{Report, Row, Shrunk, json, table};

use crate::bench::tools::{self, Tools};
use crate::bench::{fuzzbox, install_line};
use crate::guests;
use anyhow::{Context as _, Result, bail, ensure};
use peers::Work;
use place::Place;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which crashes; of [`CRASHES`](crate::guests::CRASHES).
    pub crashes: Vec<String>,
    /// Executions without a smaller crash after which libFuzzer gives up.
    pub libfuzzer_runs: u64,
    /// The native compiler.
    pub clang: String,
}

/// Builds what has to be built, and shrinks each crash by each tool.
///
/// # Errors
///
/// If a tool is missing, something can't be built, or a result does not crash where the input did.
pub fn run(settings: &Settings) -> Result<Report> {
    for crash in &settings.crashes {
        let known = guests::CRASHES.contains(&crash.as_str());
        ensure!(known, "no crash is called `{crash}`; there are {}", guests::CRASHES.join(", "));
    }
    let tools = Tools::find(&settings.clang)?;
    if !tools.afl || !tools.libfuzzer {
        bail!("libFuzzer and AFL++ are needed\nhelp: {}", install_line(&tools.missing).unwrap_or_default());
    }
    let mut report = Report { versions: vec![tools::machine()], rows: Vec::new() };
    report.versions.extend(tools.versions.iter().filter(|version| !version.starts_with("wasm2c")).cloned());
    for crash in &settings.crashes {
        let row = measure(crash, settings).with_context(|| format!("failed to shrink `{crash}`"))?;
        report.rows.push(row);
    }
    Ok(report)
}

fn measure(crash: &str, settings: &Settings) -> Result<Row> {
    let wasm = crate::guest(crash)?;
    let programs = build::programs(crash, &settings.clang)?;
    let input = guests::crashing_input(crash)?;
    let work = Work::new(&input)?;
    eprintln!("shrinking {crash}");
    let place = Place::of(&programs.libfuzzer, &work)?;
    let shrunk = |tool: &str, (input, executions): (Vec<u8>, u64)| -> Result<Shrunk> {
        let other = Place::of(&programs.libfuzzer, &Work::new(&input)?);
        let is_same = other.with_context(|| format!("what {tool} made does not crash"))? == place;
        Ok(Shrunk { input, executions, is_same })
    };
    let row = Row {
        crash: crash.to_owned(),
        place: place.to_string(),
        input_bytes: input.len(),
        fuzzbox: shrunk("fuzzbox", peers::fuzzbox(&fuzzbox::binary()?, &wasm, &work)?)?,
        afl: shrunk("afl-tmin", peers::afl(&programs.afl, &work)?)?,
        libfuzzer: shrunk("libFuzzer", peers::libfuzzer(&programs.libfuzzer, settings.libfuzzer_runs, &work)?)?,
    };
    ensure!(row.fuzzbox.is_same, "what fuzzbox made crashes natively at another place than {place}");
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_crash_is_refused_with_the_list() {
        let settings = Settings { crashes: vec!["nothing".into()], libfuzzer_runs: 1, clang: "clang".into() };
        let error = run(&settings).unwrap_err().to_string();
        assert!(error.contains("`nothing`") && error.contains("cjson-depth"), "{error}");
    }
}
