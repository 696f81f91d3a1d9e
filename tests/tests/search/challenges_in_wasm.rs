//! The shrinking challenge as guests: what `fuzzbox shrink` makes of first failures that are found at random.
//!
//! The properties are those of `engine/shrink/challenge.md`, compiled to WebAssembly, three of them also by hand. `FUZZBOX_CHALLENGE_SEEDS` is how many
//! first failures of each are shrunk; with 100, and `BLESS=1`, their table is written.

use challenges::OPTIMA;
use fuzzbox::engine::Workers;
use fuzzbox::engine::shrink::{Failing, Limits, ShrunkInput};
use fuzzbox::failure::signature;
use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::{CodeCache, Executor, THREAD_STACK_BYTES, Target};
use fuzzbox::settings::Settings;
use fuzzbox::stream::{Choice, Rule, Tail, decode, encode};
use fuzzbox::symbols::Symbols;
use fuzzbox_tests::{guest, workspace};
use rand_core::Rng as _;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, atomic::AtomicBool};

/// First failures of each property.
const SEEDS: u64 = 1;
/// First failures of each for the table.
const TABLE_SEEDS: u64 = 100;
/// Executions in which a failure is found, at most.
const EXECS_MAX: u64 = 3_000_000;
/// Choices of a random execution at most.
const CHOICES_MAX: u32 = 8192;

/// As for the table of the same properties in process.
const LIMITS: fn() -> Limits = || Limits { exhaustive_max: 2000, explain_max: 0, ..Limits::default() };

/// A property of a guest, and who executes it.
struct Subject {
    target: Arc<Target>,
    symbols: Symbols,
    one: Workers,
    two: Workers,
}

/// What a row of the table says.
#[derive(Default)]
struct Row {
    draws: u64,
    fewest: u64,
    sum: u64,
    most: u64,
}

impl Subject {
    fn new(module: &[u8], entry: &str, code: &CodeCache) -> Self {
        let settings = Settings { entry: Some(entry.to_owned()), ..Settings::default() };
        let target = Arc::new(Target::load_cached(module, settings, code).unwrap());
        let symbols = Symbols::new(target.candidate.bytes().clone(), |index| {
            target.edges.function_name(index).map(ToOwned::to_owned)
        });
        let workers = |jobs| Workers::new(jobs, Arc::new(AtomicBool::new(false))).unwrap();
        Self { symbols, target, one: workers(1), two: workers(2) }
    }

    fn signature(&self, outcome: &Outcome) -> String {
        outcome.failure().map_or_else(String::new, |(kind, trap)| signature(kind, trap, &self.symbols).name)
    }

    /// The first failing stream among random ones, and how it fails.
    fn first_failure(&self, seed: u64) -> (Vec<u8>, String) {
        let mut executor = Executor::new(&self.target).unwrap();
        let mut seeds = Tail::random(seed);
        for _ in 0..EXECS_MAX {
            let tail = Tail::Random { seed: seeds.next_u64(), choices: CHOICES_MAX };
            let outcome = executor.run_stream(&[], &Rule { tail, ..Rule::default() }).unwrap();
            if outcome.trap().is_some() {
                return (encode(&executor.observation().draws().choices), self.signature(&outcome));
            }
        }
        panic!("{} does not fail with seed {seed}", self.target.candidate.entry);
    }

    fn shrink(&self, workers: &Workers, input: &[u8], signature: &str) -> ShrunkInput {
        let signature_of = |outcome: &Outcome| self.signature(outcome);
        let failing =
            Failing { target: &self.target, workers, signature, fuel_max: u64::MAX, signature_of: &signature_of };
        failing.shrink(input, LIMITS()).unwrap().expect("it fails so")
    }

    /// Shrinks one first failure, and asserts that it becomes `optimum`.
    fn check(&self, seed: u64, optimum: &[Choice], row: &mut Row) {
        let (first, signature) = self.first_failure(seed);
        let shrunk = self.shrink(&self.one, &first, &signature);
        let entry = self.target.candidate.entry.export();
        assert_eq!(decode(&shrunk.input), optimum, "{entry}, seed {seed}, {signature}");
        let with_two = self.shrink(&self.two, &first, &signature);
        assert_eq!((&with_two.input, &with_two.report), (&shrunk.input, &shrunk.report), "{entry}, seed {seed}");
        assert_eq!(with_two.slips, shrunk.slips, "{entry}, seed {seed}");
        assert_eq!(self.shrink(&self.two, &shrunk.input, &signature).input, shrunk.input, "{entry}, seed {seed}");
        let evaluations = shrunk.report.evaluations;
        row.draws += decode(&first).len() as u64;
        row.fewest = if row.fewest == 0 { evaluations } else { row.fewest.min(evaluations) };
        row.sum += evaluations;
        row.most = row.most.max(evaluations);
    }
}

/// All guests: the name in the table, the module, the name of the property.
fn guests() -> Vec<(String, PathBuf, &'static str)> {
    let rust = guest("challenges").unwrap_or_else(|error| panic!("{error:#}"));
    let mut guests: Vec<_> = OPTIMA.iter().map(|row| (row.name.replace('_', " "), rust.clone(), row.name)).collect();
    for name in ["reverse", "length_list", "difference_one"] {
        let path = workspace().join(format!("tests/guests/challenges/wat/{name}.wat"));
        guests.push((format!("{}, by hand", name.replace('_', " ")), path, name));
    }
    guests
}

#[test]
fn every_challenge_is_shrunk_to_its_optimum_with_any_number_of_threads() {
    // On a thread with less stack, each execution would be given a thread of its own.
    let thread = std::thread::Builder::new().stack_size(THREAD_STACK_BYTES);
    thread.spawn(check_all).unwrap().join().unwrap();
}

fn check_all() {
    let seeds = std::env::var("FUZZBOX_CHALLENGE_SEEDS").map_or(SEEDS, |seeds| seeds.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let code = CodeCache::in_dir(folder.path());
    let mut table = String::from(HEADER);
    for (title, module, name) in guests() {
        let challenge = OPTIMA.iter().find(|challenge| challenge.name == name).unwrap();
        let optimum: Vec<_> = challenge.choices.iter().copied().map(Choice::Index).collect();
        let subject = Subject::new(&std::fs::read(module).unwrap(), &format!("fbx_{name}"), &code);
        let mut row = Row::default();
        (0..seeds).for_each(|seed| subject.check(seed, &optimum, &mut row));
        let Row { draws, fewest, sum, most } = row;
        let (mean, [in_process, hypothesis]) = (sum / seeds, others(&title));
        let cells = format!("{seeds} | {} | {fewest} | {mean} | {most} | {in_process} | {hypothesis}", draws / seeds);
        let line = format!("| {title} | {cells} |");
        println!("{line}");
        if let (TABLE_SEEDS, Ok(hypothesis)) = (seeds, hypothesis.parse::<u64>()) {
            assert!(2 * mean <= 3 * hypothesis, "{title}: {mean} evaluations, Hypothesis needs {hypothesis}");
        }
        writeln!(table, "{line}").unwrap();
    }
    if seeds == TABLE_SEEDS {
        let path = workspace().join("tests/guests/challenges/challenge.md");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &table).unwrap();
        }
        assert!(table == std::fs::read_to_string(path).unwrap(), "BLESS=1 writes `challenge.md` anew");
    }
}

/// The means of the same property in process and of Hypothesis, from their table.
fn others(title: &str) -> [String; 2] {
    let path = workspace().join("host/src/engine/shrink/challenge.md");
    let table = std::fs::read_to_string(path).unwrap();
    let title = title.trim_end_matches(", by hand");
    let row =
        table.lines().find(|line| line.starts_with(&format!("| {title} |"))).expect("the tables have the same rows");
    let cells: Vec<_> = row.split(" | ").collect();
    [cells[5], cells[7].trim_end_matches(" |")].map(str::to_owned)
}

const HEADER: &str = "\
# The shrinking challenge in WebAssembly

The properties of this package as guests, each shrunk from 100 first failures that were found by random streams. `challenges_in_wasm` writes this table
(`FUZZBOX_CHALLENGE_SEEDS=100 BLESS=1`) and holds it: each result is the simplest failure there is, the same with one thread and with two, and
shrinking it again changes nothing. Evaluations are counted as in `host/src/engine/shrink/challenge.md`, from where the means of the same properties
in process and of Hypothesis are; what is drawn at random there is not the same, so neither are the first failures.

| challenge | reached | choices before | fewest | mean | most | in process | Hypothesis |
| --- | --- | --- | --- | --- | --- | --- | --- |
";
