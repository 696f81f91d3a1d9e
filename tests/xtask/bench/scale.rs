//! What a second worker brings: a campaign by one worker, the same by two, and two campaigns with one worker each side by side.
//!
//! A seed makes the same campaign however many workers there are, so the same number of executions is the same work, and what counts is the wall time
//! until all is stored. (In a fixed time two workers would come further into it, where inputs are longer.)
//!
//! Two campaigns side by side are what the machine gives two programs that have nothing to do with each other: cores share caches, memory and heat, so
//! two workers can't do better than that by more than noise.

use super::copied;
use super::fuzzbox::{self, Done};
use crate::cost::Program;
use crate::guests::tool;
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// What to measure and for how long.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which guests; of [`cost::GUESTS`](crate::cost::GUESTS), or `MODULE=FOLDER`, with its inputs.
    pub guests: Vec<String>,
    /// Turns, of which the median counts.
    pub rounds: usize,
    /// About the wall time of a campaign with one worker.
    pub time: Duration,
}

/// Wall times of campaigns with one guest, in milliseconds, a figure per round.
#[derive(Clone, Debug, Default)]
pub struct Scaled {
    guest: String,
    /// Executions of each campaign.
    execs: u64,
    /// By one worker.
    one: Vec<u64>,
    /// Two campaigns with one worker each, at once: that of the slower one.
    apart: Vec<u64>,
    /// By two workers of one campaign.
    two: Vec<u64>,
}

/// Measures the guests, one after the other.
///
/// # Errors
///
/// If a guest can't be built, or a campaign fails.
pub fn run(settings: &Settings) -> Result<Vec<Scaled>> {
    settings.guests.iter().map(|guest| scaled(guest, settings)).collect()
}

fn scaled(guest: &str, settings: &Settings) -> Result<Scaled> {
    let Program { name: guest, wasm, seeds } = Program::find(guest)?;
    let runner = Runner {
        binary: fuzzbox::binary()?,
        wasm,
        inputs: copied(&seeds, &guest)?,
        stores: tempfile::tempdir().context("failed to create a folder for stores")?,
    };
    // Compiling is not what is measured. It takes time from this campaign, which is why others may be shorter.
    let execs = runner.start("warm", 1, Limit::Time(settings.time))?.join()?.executions;
    ensure!(execs > 0, "`{guest}` was not executed");
    let start = |store: String, jobs| runner.start(&store, jobs, Limit::Execs(execs));
    let end = |campaign: Campaign| -> Result<u64> {
        let done = campaign.join()?;
        ensure!(done.executions == execs, "a campaign ended after {} of {execs} executions", done.executions);
        Ok(u64::try_from(done.elapsed.as_millis())?.max(1))
    };
    let mut scaled = Scaled { guest: guest.clone(), execs, ..Scaled::default() };
    for round in 1..=settings.rounds {
        eprintln!("fuzzing {guest}: round {round} of {}", settings.rounds);
        scaled.one.push(end(start(format!("one-{round}"), 1)?)?);
        let (a, b) = (start(format!("a-{round}"), 1)?, start(format!("b-{round}"), 1)?);
        scaled.apart.push(end(a)?.max(end(b)?));
        scaled.two.push(end(start(format!("two-{round}"), 2)?)?);
    }
    Ok(scaled)
}

/// When a campaign ends.
enum Limit {
    Time(Duration),
    Execs(u64),
}

struct Runner {
    binary: PathBuf,
    wasm: PathBuf,
    inputs: PathBuf,
    stores: tempfile::TempDir,
}

/// A campaign under way.
struct Campaign {
    process: std::process::Child,
    /// Where its events go: a pipe would be full while another campaign is waited for.
    events: PathBuf,
}

impl Runner {
    /// Starts a campaign in a store of its own, with a cache of its own: a copy of the first one's.
    fn start(&self, store: &str, jobs: u32, limit: Limit) -> Result<Campaign> {
        let (warm, store) = (self.stores.path().join("warm"), self.stores.path().join(store));
        let cache = |store: &std::path::Path| store.with_extension("cache");
        if store != warm {
            tool::run(Command::new("cp").arg("-r").args([cache(&warm), cache(&store)]))?;
        }
        let events = store.with_extension("jsonl");
        let file =
            std::fs::File::create(&events).with_context(|| format!("failed to create `{}`", events.display()))?;
        let mut command = Command::new(&self.binary);
        command.arg("run").arg(&self.wasm).arg("--corpus").arg(&self.inputs).arg("--store").arg(&store);
        command.args(["-s1", "--no-shrink", "--reporter", "json"]).env("XDG_CACHE_HOME", cache(&store));
        command.arg(match limit {
            Limit::Time(time) => format!("-t{}ms", time.as_millis()),
            Limit::Execs(execs) => format!("-n{execs}"),
        });
        command.arg(format!("-j{jobs}")).stdout(file).stderr(std::process::Stdio::null());
        let process = command.spawn().with_context(|| format!("failed to run `{}`", self.binary.display()))?;
        Ok(Campaign { process, events })
    }
}

impl Campaign {
    /// Waits for its end.
    fn join(mut self) -> Result<Done> {
        self.process.wait().context("failed to wait for a campaign")?;
        let events =
            std::fs::read(&self.events).with_context(|| format!("failed to read `{}`", self.events.display()))?;
        fuzzbox::parse_done(&String::from_utf8_lossy(&events))
    }
}

impl Scaled {
    /// Medians over the rounds: the time of one worker, and how many times as much two campaigns and two workers did in such a time.
    fn medians(&self) -> (u64, f64, f64) {
        let ratio = |work: f64, times: &[u64]| {
            let ratios = times.iter().zip(&self.one).map(|(&time, &one)| work * one as f64 / time as f64);
            median(ratios.collect(), f64::total_cmp)
        };
        (median(self.one.clone(), u64::cmp), ratio(2.0, &self.apart), ratio(1.0, &self.two))
    }
}

fn median<T: Copy>(mut values: Vec<T>, order: impl FnMut(&T, &T) -> std::cmp::Ordering) -> T {
    values.sort_unstable_by(order);
    values[values.len() / 2]
}

/// A line for each guest.
pub fn table(all: &[Scaled]) -> String {
    let mut text = String::from("times the executions per second of one worker   two campaigns   two workers\n");
    for scaled in all {
        let (one, apart, two) = scaled.medians();
        let name = format!("{} ({} in {:.1} s)", scaled.guest, scaled.execs, one as f64 / 1000.0);
        _ = writeln!(text, "{name:45} {apart:>15.2} {two:>13.2}");
    }
    text
}

/// The same, with each round's times in milliseconds.
pub fn json(all: &[Scaled]) -> Value {
    let each = all.iter().map(|scaled| {
        let (one, apart, two) = scaled.medians();
        let rounds = json!({ "one": scaled.one, "apart": scaled.apart, "two": scaled.two });
        json!({
            "guest": scaled.guest,
            "execs": scaled.execs,
            "one_ms": one,
            "two_campaigns": apart,
            "two_workers": two,
            "rounds_ms": rounds,
        })
    });
    json!({ "v": 2, "guests": each.collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_medians_of_those_within_a_round() {
        let (one, apart, two) = (vec![190, 100, 300], vec![200, 100, 200], vec![100, 50, 200]);
        let scaled = Scaled { guest: "a".into(), execs: 7, one, apart, two };
        assert_eq!(scaled.medians(), (190, 2.0, 1.9));
        assert!(table(&[scaled]).contains("a (7 in 0.2 s)"), "shown");
    }
}
