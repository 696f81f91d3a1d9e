//! Our own rows, by the `fuzzbox` binary that was built with this one.

use super::fuzz::Fuzzed;
use super::meter::Meter;
use super::replay::Rate;
use crate::guests::tool;
use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The path of the release binary, which lies beside this one.
pub(crate) fn binary() -> Result<PathBuf> {
    let ours = std::env::current_exe().context("failed to find this program")?;
    let binary = ours.with_file_name(format!("fuzzbox{}", std::env::consts::EXE_SUFFIX));
    ensure!(binary.is_file(), "there is no `{}`: build with `cargo build --release --workspace`", binary.display());
    Ok(binary)
}

/// Executions per second of each variant, restored and judged or not, by `fuzzbox bench exec`.
pub(super) fn fuzzbox_rows(binary: &Path, wasm: &Path, inputs: &Path, time: Duration) -> Result<Vec<Rate>> {
    let mut command = Command::new(binary);
    command.args(["bench", "exec"]).arg(wasm).arg(inputs).args(["--variants", "metered,full,fast", "--json"]);
    // The plain module has a row of its own.
    command.arg("--cpu-time");
    command.arg(format!("{}ms", time.as_millis())).current_dir(super::build::folder("tools")?);
    command.env("XDG_CACHE_HOME", super::build::folder("tools")?.join("cache"));
    let output = tool::try_run(&mut command)?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`fuzzbox bench exec` failed ({}): {complaint}", output.status);
    parse_rows(&String::from_utf8_lossy(&output.stdout))
}

/// Reads `{"rows":[{"variant":"full","restore":true,"judge":true,"execs_per_cpu_second":1.5e5}]}`.
fn parse_rows(stdout: &str) -> Result<Vec<Rate>> {
    let value: Value = serde_json::from_str(stdout).context("`fuzzbox bench exec --json` printed something else")?;
    let rows = value["rows"].as_array().context("no `rows`")?;
    ensure!(!rows.is_empty(), "no rows");
    let rate = |row: &Value| {
        let flag = |name: &str| row[name].as_bool().with_context(|| format!("no `{name}` in `{row}`"));
        let variant = row["variant"].as_str().with_context(|| format!("no `variant` in `{row}`"))?;
        let per_second = row["execs_per_cpu_second"].as_f64().filter(|rate| *rate > 0.0);
        Ok(Rate {
            row: row_id(variant, flag("restore")?, flag("judge")?),
            per_second: per_second.with_context(|| format!("no `execs_per_cpu_second` in `{row}`"))?,
        })
    };
    rows.iter().map(rate).collect()
}

fn row_id(variant: &str, restore: bool, judge: bool) -> String {
    let restored = if restore { "restored" } else { "kept" };
    let judged = if judge { "judged" } else { "unjudged" };
    format!("fuzzbox_{variant}_{restored}_{judged}")
}

/// One campaign from the inputs, which ends when it has used so much CPU time.
pub(super) fn fuzz(binary: &Path, wasm: &Path, inputs: &Path, meter: &Meter, time: Duration) -> Result<Fuzzed> {
    let store = tempfile::tempdir_in(super::build::folder("tools")?).context("failed to create a store")?;
    let run = |ends: &[&str]| {
        let mut command = Command::new(binary);
        command.arg("run").arg(wasm).arg("--corpus").arg(inputs).arg("--store").arg(store.path().join("store"));
        command.args(["-j1", "--reporter", "json"]).args(ends).env("XDG_CACHE_HOME", store.path().join("cache"));
        command
    };
    // Compiled code is cached: as for the others, compiling is not what is measured.
    let warm = tool::try_run(&mut run(&["-n1"]))?;
    succeeded(warm.status.code().unwrap_or(-1), &String::from_utf8_lossy(&warm.stderr))?;
    let wall = format!("{}s", time.as_secs() * 4 + 10);
    let metered = meter.run(&run(&["-t", &wall]), time)?;
    succeeded(metered.status, &metered.stderr)?;
    let Done { executions, input_bytes_mean, .. } = parse_done(&metered.stdout)?;
    Ok(Fuzzed { executions, cpu: metered.cpu, input_bytes_mean, starts: metered.starts })
}

fn succeeded(code: i32, stderr: &str) -> Result<()> {
    // Findings are no failure.
    ensure!(code == 0 || code == 1, "`fuzzbox run` failed ({code})\n{stderr}");
    Ok(())
}

/// What the event that ends a campaign says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Done {
    pub(super) executions: u64,
    /// Wall time, from the first execution until all that was found is stored.
    pub(super) elapsed: Duration,
    /// Of the inputs that were executed, if it is said.
    pub(super) input_bytes_mean: Option<f64>,
}

/// Reads the event that ends a campaign.
pub(super) fn parse_done(stdout: &str) -> Result<Done> {
    let mut events = stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let done = events.rfind(|event| event["event"] == "done").context("the campaign did not end")?;
    Ok(Done {
        executions: done["execs"].as_u64().context("no `execs`")?,
        elapsed: Duration::from_millis(done["elapsed_ms"].as_u64().context("no `elapsed_ms`")?),
        input_bytes_mean: done["input_bytes_mean"].as_f64(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_says_variant_restore_and_judging() {
        let rows = parse_rows(
            r#"{"v":1,"rows":[{"variant":"full","restore":true,"judge":true,"execs_per_cpu_second":150000.5},
                {"variant":"plain","restore":false,"judge":false,"execs_per_cpu_second":2e5,"more":1}]}"#,
        );
        let full = Rate { row: "fuzzbox_full_restored_judged".into(), per_second: 150_000.5 };
        let plain = Rate { row: "fuzzbox_plain_kept_unjudged".into(), per_second: 200_000.0 };
        assert_eq!(rows.unwrap(), [full, plain]);
    }

    #[test]
    fn what_is_missing_in_a_row_is_named() {
        for (text, missing) in [
            (r#"{}"#, "`rows`"),
            (r#"{"rows":[]}"#, "no rows"),
            (r#"{"rows":[{"restore":true,"judge":true,"execs_per_cpu_second":1}]}"#, "`variant`"),
            (r#"{"rows":[{"variant":"full","judge":true,"execs_per_cpu_second":1}]}"#, "`restore`"),
            (r#"{"rows":[{"variant":"full","restore":true,"judge":true}]}"#, "`execs_per_cpu_second`"),
            ("fast", "something else"),
        ] {
            let error = parse_rows(text).unwrap_err();
            assert!(error.to_string().contains(missing), "{text}: {error}");
        }
    }

    #[test]
    fn the_last_event_tells_executions_and_time() {
        let events =
            "{\"event\":\"status\",\"execs\":5}\n{\"event\":\"done\",\"execs\":7,\"elapsed_ms\":9}\nlast words\n";
        let done = Done { executions: 7, elapsed: Duration::from_millis(9), input_bytes_mean: None };
        assert_eq!(parse_done(events).unwrap(), done);
        let events = r#"{"event":"done","execs":7,"elapsed_ms":9,"input_bytes_mean":12.5}"#;
        assert_eq!(parse_done(events).unwrap(), Done { input_bytes_mean: Some(12.5), ..done });
        assert!(parse_done("{\"event\":\"status\",\"execs\":5}\n").is_err());
    }
}
