//! Ids and signatures outlive rebuilds: of generated guests with many planted failures, whatever was found reproduces as the same failure, in a copy of
//! the store, without the cache, and in a build with a function added in front; and no failure is taken for another.
//!
//! `FUZZBOX_NAMES_CAMPAIGNS=200` runs as many campaigns in each of four languages and forms.

mod c;
mod plants;
mod wat;

use anyhow::Result;
use fuzzbox::outcome::{FailureKind, TrapKind};
use fuzzbox::sandbox::{Executor, Target};
use fuzzbox::settings::Settings;
use fuzzbox_tests::command::Fuzzbox;
use fuzzbox_tests::disk;
use fuzzbox_tests::random::Random;
use plants::{Form, Guest};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;

/// Campaigns of each form.
fn campaigns(form: Form) -> impl Iterator<Item = u64> {
    let all = std::env::var("FUZZBOX_NAMES_CAMPAIGNS").ok().and_then(|count| count.parse().ok()).unwrap_or(2);
    let first = std::env::var("FUZZBOX_NAMES_FIRST").ok().and_then(|first| first.parse().ok()).unwrap_or(0);
    (first..first + all).map(move |number| number * 8 + form as u64 + 1)
}

#[test]
fn in_c_with_debug_information() -> Result<()> {
    // A function whose first instruction has no line; its places had lines that were counted from the file's beginning.
    let once_wrong = 73;
    campaigns(Form::Debug).chain([once_wrong]).try_for_each(|seed| try_out(Form::Debug, seed))
}

#[test]
fn in_c_with_names_alone() -> Result<()> {
    campaigns(Form::Names).try_for_each(|seed| try_out(Form::Names, seed))
}

#[test]
fn in_c_without_names() -> Result<()> {
    campaigns(Form::Nameless).try_for_each(|seed| try_out(Form::Nameless, seed))
}

#[test]
fn in_wasm_text_without_names() -> Result<()> {
    campaigns(Form::Text).try_for_each(|seed| try_out(Form::Text, seed))
}

/// Whether an input and the one that fails at its function's other place do so at the same instruction: compilers make one of two.
fn is_one_instruction(fuzzbox: &Fuzzbox, input: &[u8]) -> Result<bool> {
    let mut other = input.to_vec();
    other[1] = if input[1] == b'a' { b'b' } else { b'a' };
    let module = fs::read(fuzzbox.dir().join("guest.wasm"))?;
    let target = Target::load(&module, Settings { fuel_max: 400_000, ..Settings::default() })?;
    let mut executor = Executor::new(&Arc::new(target))?;
    let mut frames = |input: &[u8]| anyhow::Ok(executor.run(input)?.trap().map(|trap| trap.frames.clone()));
    Ok(frames(input)? == frames(&other)?)
}

/// A campaign, and what became of what it told.
struct Trial {
    about: String,
    fuzzbox: Fuzzbox,
    guest: Guest,
    /// Ids of findings and of their inputs.
    told: BTreeSet<String>,
}

fn try_out(form: Form, seed: u64) -> Result<()> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    (0..4).for_each(|_| _ = random.below(2));
    let guest = Guest::new(form, &mut random);
    let fuzzbox = Fuzzbox::new();
    guest.build(&fuzzbox)?;
    let mut trial = Trial { about: format!("{form:?}, seed {seed}"), fuzzbox, guest, told: BTreeSet::new() };
    trial.run(&["--no-shrink", "-s", "1"]);
    trial.run(&["-s", "2"]);
    let some = trial.told.iter().next().expect("something is found").clone();
    trial.shrink(&some);
    trial.check_store()?;
    trial.check_ids()
}

impl Trial {
    fn run(&mut self, flags: &[&str]) {
        let common = ["--corpus", "corpus", "-n", "300", "-j", "1", "--reporter", "json", "--fuel-max", "400000"];
        let ran = self.fuzzbox.run("run", &["guest.wasm"], &[&common[..], flags].concat());
        assert_eq!(ran.code, 1, "{}: {ran:?}", self.about);
        for line in ran.json_lines() {
            let findings = line["findings"].as_array().cloned().unwrap_or_default();
            for finding in findings.iter().chain([&line]).filter(|finding| finding["signature"].is_string()) {
                self.told.extend(["id", "input"].map(|key| finding[key].as_str().expect("an id").to_owned()));
            }
        }
    }

    fn shrink(&mut self, id: &str) {
        let ran = self.fuzzbox.run("shrink", &[id], &["--json", "-j", "1", "-n", "2000"]);
        assert_eq!(ran.code, 0, "{}: {ran:?}", self.about);
        let line = &ran.json_lines()[0];
        self.told.extend(["finding", "input"].map(|key| line[key].as_str().expect("an id").to_owned()));
    }

    /// One finding for each failure, and one failure for each finding.
    fn check_store(&self) -> Result<()> {
        let ran = self.fuzzbox.run("ls", &[], &["--json"]);
        let findings = ran.json_lines()[0]["findings"].as_array().cloned().unwrap_or_default();
        let mut by_plant: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for finding in &findings {
            // Behind the two letters there may be any bytes.
            let raw = self.fuzzbox.command(&["show", finding["id"].as_str().expect("an id"), "--raw"]).output()?.stdout;
            let plant = raw.iter().take(2).copied().map(char::from).collect();
            by_plant.entry(plant).or_default().insert(finding["signature"].to_string());
        }
        assert!(by_plant.values().all(|signatures| signatures.len() == 1), "{}: {by_plant:?}", self.about);
        let signatures: BTreeSet<_> = findings.iter().map(|finding| finding["signature"].to_string()).collect();
        assert_eq!(signatures.len(), findings.len(), "{}: {findings:?}", self.about);
        // Each planted failure is of a finding of its own, or of that of the same instruction.
        let replay = self.fuzzbox.run("replay", &["guest.wasm", "corpus"], &["--json", "--fuel-max", "400000"]);
        let module = fs::read(self.fuzzbox.dir().join("guest.wasm"))?;
        let target = Target::load(&module, Settings { fuel_max: 400_000, ..Settings::default() })?;
        let mut executor = Executor::new(&Arc::new(target))?;
        let mut places = BTreeMap::new();
        // Some don't fail: what one place writes may end a recursion in another.
        for line in replay.json_lines().into_iter().filter(|line| line["signature"].is_string()) {
            let (signature, path) = (line["signature"].to_string(), line["name"].as_str().unwrap_or_default());
            assert!(signatures.contains(&signature), "{}: {signature} is not among {signatures:?}", self.about);
            let outcome = executor.run(&fs::read(self.fuzzbox.dir().join(path))?)?;
            let trap = outcome.trap().expect("all of them fail").clone();
            if matches!(outcome.failure(), Some((FailureKind::Crash, _))) && trap.kind != TrapKind::StackOverflow {
                let place = (trap.kind, trap.frames);
                let other = places.entry(signature.clone()).or_insert((path.to_owned(), place.clone())).clone();
                assert_eq!(other.1, place, "{}: {signature} is of {path} and of {}", self.about, other.0);
            }
        }
        Ok(())
    }

    /// All ids that were told are good, wherever the store is.
    fn check_ids(self) -> Result<()> {
        let Self { about, fuzzbox, guest, told } = self;
        let copy = fuzzbox.dir().join("copy");
        fs::create_dir(&copy)?;
        disk::copy(&fuzzbox.store(), &copy)?;
        fs::remove_dir_all(fuzzbox.store())?;
        fs::remove_dir_all(fuzzbox.user_cache())?;
        let repro = |id: &str, flags: &[&str]| {
            let ran = fuzzbox.run("repro", &[&id[..8]], &[&["--json", "--store", "copy"], flags].concat());
            assert!(ran.code == 1 || flags.contains(&"swapped.wasm"), "{about}: {id} {flags:?}: {ran:?}");
            ran.json_lines().remove(0)
        };
        let mut findings = BTreeMap::new();
        for id in &told {
            let line = repro(id, &[]);
            assert_eq!(line["same"], true, "{about}: {id}: {line}");
            assert_eq!(line["signature"], line["expected"], "{about}: {id}: {line}");
            assert_eq!(fuzzbox.run("show", &[&id[..8]], &["--store", "copy"]).code, 0, "{about}: {id}");
            findings.insert(line["id"].as_str().unwrap_or_default().to_owned(), line);
        }
        for (id, line) in &findings {
            for module in guest.rebuilt() {
                let there = repro(id, &["--on", module]);
                assert_eq!(there["same"], true, "{about}: in {module}: {there}, of {line}");
            }
            // There another of the planted failures is met by the same input.
            let other = repro(id, &["--on", "swapped.wasm"]);
            let input = fuzzbox.command(&["show", &id[..8], "--raw", "--store", "copy"]).output()?.stdout;
            let is_exchanged = matches!(input.get(1), Some(b'a' | b'b'));
            if guest.is_swapped(line) && is_exchanged && !is_one_instruction(&fuzzbox, &input)? {
                assert_eq!(other["same"], false, "{about}: swapped: {other}, of {line}");
            }
        }
        Ok(())
    }
}
