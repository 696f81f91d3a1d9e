//! Several targets, in turns.

use super::running::Running;
use super::setup::Session;
use crate::report::{Done, Event, NotStarted, Reporter};
use std::time::Duration;

/// A turn where no time is given, and at most.
const TURN_MAX: Duration = Duration::from_secs(30);
/// A turn of a short time: other targets have other code to warm up.
const TURN_MIN: Duration = Duration::from_secs(1);
/// Turns that a target has of its time, so that it was begun early if that is cut short.
const TURNS_MIN: u32 = 4;

/// Reads what a target begins with.
pub(crate) type FirstInputs<'a, E> = dyn Fn(&Session<'_>) -> Result<Vec<Vec<u8>>, E> + 'a;

/// Fuzzes each target for a `turn`, again and again, until all have ended or `aborted` says so. Each goes on where it
/// was. `first_inputs` reads what a target begins with, when its first turn comes; its error is what is returned. Who
/// was never begun is told at the end.
pub(crate) fn take_turns<'a, E: From<anyhow::Error>>(
    sessions: &'a [Session<'a>],
    first_inputs: &FirstInputs<'_, E>,
    turn: &dyn Fn(&Session<'_>) -> Duration,
    aborted: &dyn Fn() -> bool,
    reporter: &mut dyn Reporter,
) -> Result<Vec<Done>, E> {
    let mut campaigns: Vec<State<'a>> = sessions.iter().map(|_| State::Waiting).collect();
    let mut done = Vec::new();
    let mut open = sessions.len();
    while open > 0 && !aborted() {
        for (session, state) in sessions.iter().zip(&mut campaigns) {
            let mut running = match std::mem::replace(state, State::Ended) {
                State::Ended => continue,
                waiting if aborted() => {
                    *state = waiting;
                    continue;
                }
                State::Waiting => Running::begin(session, first_inputs(session)?)?,
                State::Running(running) => *running,
            };
            // Who is alone has nobody to wait for.
            let time = (open > 1).then(|| turn(session));
            running.turn(time, reporter)?;
            if running.has_ended() {
                open -= 1;
                done.push(running.end(reporter)?);
            } else {
                *state = State::Running(Box::new(running));
            }
        }
    }
    let mut not_started = Vec::new();
    for (session, state) in sessions.iter().zip(campaigns) {
        match state {
            State::Running(running) => done.push(running.end(reporter)?),
            State::Waiting => not_started.push(Event::NotStarted(NotStarted { target: session.name.clone() })),
            State::Ended => {}
        }
    }
    reporter.report_all(&not_started).map_err(anyhow::Error::from)?;
    Ok(done)
}

/// Where a target is.
enum State<'a> {
    Waiting,
    Running(Box<Running<'a>>),
    Ended,
}

/// How long a turn is of a target that has `time` for itself.
pub(crate) fn turn(time: Option<Duration>) -> Duration {
    time.map_or(TURN_MAX, |time| (time / TURNS_MIN).clamp(TURN_MIN, TURN_MAX))
}

#[cfg(test)]
mod tests {
    use super::super::ending::Ending;
    use super::super::setup::Limits;
    use super::*;
    use crate::engine::{Dictionary, Search, Workers};
    use crate::report::Flags;
    use crate::sandbox::Target;
    use crate::settings::Settings;
    use crate::store::Store;
    use crate::symbols::Symbols;
    use std::sync::Arc;

    #[test]
    fn a_target_has_several_turns_of_its_time() {
        let turns = [None, Some(2), Some(20), Some(60), Some(3600)].map(|time| turn(time.map(Duration::from_secs)));
        assert_eq!(turns.map(|turn| turn.as_secs()), [30, 1, 5, 15, 30]);
    }

    /// Keeps whose turn it was, and who was never begun.
    #[derive(Default)]
    struct Log {
        turns: Vec<String>,
        not_started: Vec<String>,
    }

    impl Reporter for Log {
        fn report(&mut self, event: &Event) -> std::io::Result<()> {
            match event {
                Event::Status(status) if self.turns.last() != Some(&status.target) => {
                    self.turns.push(status.target.clone());
                }
                Event::NotStarted(not_started) => self.not_started.push(not_started.target.clone()),
                _ => {}
            }
            Ok(())
        }
    }

    /// Fuzzes targets that want to be given `words`, with turns of a round each.
    fn fuzz(words: &[&str], turns_max: usize) -> (Vec<Done>, Log) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&dir.path().join("s")).unwrap();
        let ending = Ending::by_signals().unwrap();
        let workers = Workers::new(1, ending.abort()).unwrap();
        let session = |word: &&str| {
            let branches: String = (0..).zip(word.bytes()).map(|(at, byte)| {
                format!("(if (i32.ne (i32.load8_u offset={at} (local.get 0)) (i32.const {byte})) (then (return (i32.const 0))))")
            }).collect();
            let text = format!(
                r#"(module (memory (export "memory") 1) (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
                (if (i32.lt_u (local.get 1) (i32.const {})) (then (return (i32.const 0)))) {branches} (i32.const 0)))"#,
                word.len()
            );
            let target = Target::load(text.as_bytes(), Settings::default()).unwrap();
            Session {
                name: (*word).to_owned(),
                symbols: Symbols::new(target.candidate.bytes().clone(), |_| None),
                target: Arc::new(target),
                store: &store,
                workers: &workers,
                ending: &ending,
                jobs: 1,
                seed: 1,
                dictionary: Dictionary::default(),
                limits: Limits { execs: Some(20_000), ..Limits::default() },
                given: Flags::default(),
                search: Search::default(),
                aim: None,
                mutator: None,
                compares: false,
                warms: false,
                shrink: true,
                warn: &|text| panic!("{text}"),
            }
        };
        let sessions: Vec<_> = words.iter().map(session).collect();
        let mut log = Log::default();
        let turns = std::cell::Cell::new(0);
        let turn = |_: &Session<'_>| {
            turns.set(turns.get() + 1);
            Duration::ZERO
        };
        let aborted = || turns.get() >= turns_max;
        let done: anyhow::Result<_> = take_turns(&sessions, &|_| Ok(vec![b"x".to_vec()]), &turn, &aborted, &mut log);
        (done.unwrap(), log)
    }

    #[test]
    fn turns_change_nothing_of_what_is_found() {
        let (together, log) = fuzz(&["abc", "wxyz"], usize::MAX);
        assert!(log.turns.len() > 10 && log.not_started.is_empty(), "they take turns: {:?}", log.turns);
        for done in &together {
            let (alone, _) = fuzz(&[&done.target], usize::MAX);
            let facts = |done: &Done| (done.execs, done.rounds, done.edges, done.corpus_hash.clone());
            assert_eq!(facts(done), facts(&alone[0]), "{}", done.target);
            assert!(done.edges > 4 && done.execs == 20_000);
        }
        assert_eq!(together.len(), 2);
    }

    #[test]
    fn who_was_begun_is_told_how_it_ended_and_who_was_not_is_named() {
        let (done, log) = fuzz(&["a", "b", "c", "d"], 2);
        let targets: Vec<_> = done.iter().map(|done| (&*done.target, &*done.stopped)).collect();
        assert_eq!(targets, [("a", "interrupted"), ("b", "interrupted")]);
        assert_eq!(log.not_started, ["c", "d"]);
    }
}
