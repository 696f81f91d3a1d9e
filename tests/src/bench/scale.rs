//! What a second worker brings: campaigns with one worker, with two, and two campaigns with one worker each side by side.
//!
//! The last is what the machine gives two programs that have nothing to do with each other: cores share caches, memory and heat, so
//! two workers can't do better than that by more than noise.

use super::{copied, fuzzbox};
use crate::cost;
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
    /// Which guests; of [`cost::GUESTS`].
    pub guests: Vec<String>,
    /// Turns, of which the median counts.
    pub rounds: usize,
    /// Wall time of each campaign.
    pub time: Duration,
}

/// Executions of one guest in the time that was given, a figure per round.
#[derive(Clone, Debug, Default)]
pub struct Scaled {
    guest: String,
    /// By one worker.
    one: Vec<u64>,
    /// By two campaigns with one worker each, at once, together.
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
    let runner = Runner {
        binary: fuzzbox::binary()?,
        wasm: crate::guest(guest)?,
        inputs: copied(&cost::seeds(guest)?, guest)?,
        stores: tempfile::tempdir().context("failed to create a folder for stores")?,
        time: settings.time,
    };
    // Compiling is not what is measured.
    let warm = runner.start("warm", 1)?.join()?;
    ensure!(warm > 0, "`{guest}` was not executed");
    let mut scaled = Scaled { guest: guest.into(), ..Scaled::default() };
    for round in 1..=settings.rounds {
        eprintln!("fuzzing {guest}: round {round} of {}", settings.rounds);
        scaled.one.push(runner.start(&format!("one-{round}"), 1)?.join()?);
        let (a, b) = (runner.start(&format!("a-{round}"), 1)?, runner.start(&format!("b-{round}"), 1)?);
        scaled.apart.push(a.join()? + b.join()?);
        scaled.two.push(runner.start(&format!("two-{round}"), 2)?.join()?);
    }
    Ok(scaled)
}

struct Runner {
    binary: PathBuf,
    wasm: PathBuf,
    inputs: PathBuf,
    stores: tempfile::TempDir,
    time: Duration,
}

/// A campaign under way.
struct Campaign(std::process::Child);

impl Runner {
    /// Starts a campaign in a store of its own, whose compiled code is that of the first.
    fn start(&self, store: &str, jobs: u32) -> Result<Campaign> {
        let (warm, store) = (self.stores.path().join("warm"), self.stores.path().join(store));
        if store != warm {
            std::fs::create_dir(&store).context("failed to create a store")?;
            let parts = ["format", "cache"].map(|part| warm.join(part));
            tool::run(Command::new("cp").arg("-r").args(parts).arg(&store))?;
        }
        let mut command = Command::new(&self.binary);
        command.arg("run").arg(&self.wasm).arg("--corpus").arg(&self.inputs).arg("--store").arg(store);
        command.args(["-s1", "--no-shrink", "--reporter", "json", "-t", &format!("{}ms", self.time.as_millis())]);
        command.arg(format!("-j{jobs}")).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
        Ok(Campaign(command.spawn().with_context(|| format!("failed to run `{}`", self.binary.display()))?))
    }
}

impl Campaign {
    /// Waits for its end, and says how many executions there were.
    fn join(self) -> Result<u64> {
        let output = self.0.wait_with_output().context("failed to wait for a campaign")?;
        Ok(fuzzbox::parse_done(&String::from_utf8_lossy(&output.stdout))?.0)
    }
}

impl Scaled {
    /// Medians over the rounds: executions by one worker, and how many times as many two campaigns and two workers made.
    fn medians(&self) -> (u64, f64, f64) {
        let ratio = |many: &[u64]| {
            let ratios = many.iter().zip(&self.one).map(|(&many, &one)| many as f64 / one.max(1) as f64);
            median(ratios.collect(), f64::total_cmp)
        };
        (median(self.one.clone(), u64::cmp), ratio(&self.apart), ratio(&self.two))
    }
}

fn median<T: Copy>(mut values: Vec<T>, order: impl FnMut(&T, &T) -> std::cmp::Ordering) -> T {
    values.sort_unstable_by(order);
    values[values.len() / 2]
}

/// A line for each guest.
pub fn table(all: &[Scaled]) -> String {
    let mut text = String::from("times the executions of one worker      two campaigns   two workers\n");
    for scaled in all {
        let (one, apart, two) = scaled.medians();
        let name = format!("{} ({one})", scaled.guest);
        _ = writeln!(text, "{name:36} {apart:>16.2} {two:>13.2}");
    }
    text
}

/// The same, with each round's figures.
pub fn json(all: &[Scaled]) -> Value {
    let each = all.iter().map(|scaled| {
        let (one, apart, two) = scaled.medians();
        let rounds = json!({ "one": scaled.one, "apart": scaled.apart, "two": scaled.two });
        json!({ "guest": scaled.guest, "one": one, "two_campaigns": apart, "two_workers": two, "rounds": rounds })
    });
    json!({ "v": 1, "guests": each.collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_medians_of_those_within_a_round() {
        let scaled =
            Scaled { guest: "a".into(), one: vec![100, 50, 200], apart: vec![190, 100, 300], two: vec![180, 95, 380] };
        assert_eq!(scaled.medians(), (100, 1.9, 1.9));
        assert!(table(&[scaled]).contains("1.90"), "shown");
    }
}
