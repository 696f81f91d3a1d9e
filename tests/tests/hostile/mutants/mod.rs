//! Mutated modules, components and stores, through the command: no panic, one error at most, an exit code from 0 to 4, less than a
//! GiB of memory, and an end.
//!
//! ```text
//! FUZZBOX_MUTANTS=20000 cargo test --workspace --test hostile mutants -- --nocapture
//! ```
//!
//! `FUZZBOX_MUTANTS` are of each kind. A mutant is a function of its number, so `FUZZBOX_MUTANTS_FIRST=4711 FUZZBOX_MUTANTS=1` makes number 4711 again.

#[allow(dead_code, reason = "not all of it is of use here")]
#[path = "../../../../instrument/tests/garbage/bytes.rs"]
mod bytes;
mod components;
mod modules;
#[path = "../../../../instrument/tests/garbage/neutral.rs"]
mod neutral;
#[allow(dead_code, reason = "not all of it is of use here")]
#[path = "../../../../instrument/tests/garbage/random.rs"]
mod random;
#[path = "../../../../instrument/tests/garbage/shape.rs"]
mod shape;
mod stores;
#[path = "../../../../instrument/tests/garbage/structure.rs"]
mod structure;

use fuzzbox_tests::command::Ran;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What a command may take, in KiB of memory.
const RESIDENT_MAX: u64 = 1 << 20;
/// No command takes as long, on however slow a machine.
const WATCHDOG: Duration = Duration::from_secs(200);
/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(3);

/// What commands did, in all.
#[derive(Debug, Default)]
struct Tally {
    mutants: u64,
    commands: u64,
    /// How many ended with which exit code.
    codes: [u64; 5],
    slowest: (Duration, String),
    largest: (u64, String),
}

impl Tally {
    /// Runs a command, and checks what must hold for any.
    fn check(&mut self, mut command: Command, what: &str) -> Ran {
        let begun = Instant::now();
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be started");
        let (stdout, stderr) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
        let readers = (std::thread::spawn(move || text(stdout)), std::thread::spawn(move || text(stderr)));
        let (code, resident) = ended(&mut child, what);
        let (stdout, stderr) = (readers.0.join().expect("it reads"), readers.1.join().expect("it reads"));
        let ran = Ran { code, stdout, stderr };
        assert!((0..=4).contains(&code), "{what}: {ran:?}");
        assert!(!ran.stderr.contains("panicked"), "{what}: {ran:?}");
        let errors = ran.stderr.lines().filter(|line| line.starts_with("error:")).count();
        assert_eq!(errors, usize::from(matches!(code, 2 | 3)), "{what}: one error: {ran:?}");
        let raw = |c: char| c.is_control() && c != '\n';
        assert!(!ran.stdout.contains(raw) && !ran.stderr.contains(raw), "{what}: raw text: {ran:?}");
        assert!(resident < RESIDENT_MAX, "{what}: {resident} KiB: {ran:?}");
        self.commands += 1;
        self.codes[code as usize] += 1;
        self.slowest = std::mem::take(&mut self.slowest).max((begun.elapsed(), what.to_owned()));
        self.largest = std::mem::take(&mut self.largest).max((resident, what.to_owned()));
        ran
    }

    /// What both have seen.
    fn and(self, other: Self) -> Self {
        Self {
            mutants: self.mutants + other.mutants,
            commands: self.commands + other.commands,
            codes: std::array::from_fn(|code| self.codes[code] + other.codes[code]),
            slowest: self.slowest.max(other.slowest),
            largest: self.largest.max(other.largest),
        }
    }
}

/// How a command ends, and how much memory it had at most, in KiB, as far as that was seen.
fn ended(child: &mut Child, what: &str) -> (i32, u64) {
    let (begun, mut resident) = (Instant::now(), 0);
    let path = format!("/proc/{}/status", child.id());
    loop {
        let status = std::fs::read_to_string(&path).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        resident = resident.max(line.and_then(|line| line.parse().ok()).unwrap_or(0));
        if let Some(status) = child.try_wait().expect("it is ours") {
            return (status.code().unwrap_or(-1), resident);
        }
        if begun.elapsed() > WATCHDOG {
            child.kill().expect("it is ours");
            panic!("{what}: it hangs");
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn text(mut from: impl Read) -> String {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).expect("a pipe can be read");
    String::from_utf8(bytes).expect("what is printed is text")
}

/// Tries mutants out, on some threads; `mutant` is given a number, and what is counted. A larger run tells how far it is.
fn try_out(usual: u64, mutant: impl Fn(u64, &mut Tally) + Sync) -> Tally {
    const TOLD_EVERY: u64 = 1000;
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let first: u64 = number("FUZZBOX_MUTANTS_FIRST").unwrap_or(0);
    let count = number("FUZZBOX_MUTANTS").unwrap_or(usual);
    let threads = number("FUZZBOX_MUTANTS_THREADS").unwrap_or(2).max(1);
    let work = &|part: u64| {
        let mut tally = Tally::default();
        for number in (first..first + count).filter(|number| number % threads == part) {
            mutant(number, &mut tally);
            tally.mutants += 1;
            if tally.mutants.is_multiple_of(TOLD_EVERY) {
                println!("thread {part}: {tally:?}");
            }
        }
        tally
    };
    let tallies: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|part| scope.spawn(move || work(part))).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    let tallies = tallies.into_iter().map(|tally| tally.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    let tally = tallies.reduce(Tally::and).expect("there is a thread");
    println!("{tally:?}");
    tally
}
