//! Compiling, with a word on it while it takes its time.

use super::exit::Fault;
use crate::report::{Compiling, Event, Reporter, Terminal, TerminalOptions, is_dumb};
use crate::sandbox::{Candidate, Code, CodeCache, Interrupter, THREAD_STACK_BYTES, Target};
use anyhow::{Context, Result};
use indicatif::ProgressDrawTarget;
use std::io::{IsTerminal, sink, stderr};
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How often it is told. What is compiled sooner is not told at all.
const EVERY: Duration = Duration::from_millis(250);

/// Makes the candidate called `name` ready, and tells `reporter` meanwhile. The error is about the module, not its
/// path. What the module executes before it is given any input is ended after `limit`, which is an error.
pub(super) fn compile(
    name: &str,
    candidate: Candidate,
    (cache, code, limit): (&CodeCache, Code, Option<Duration>),
    reporter: &mut dyn Reporter,
) -> Result<Result<Target>, Fault> {
    let watched = Mutex::<Option<(Interrupter, Instant)>>::default();
    let module_bytes = candidate.bytes().len() as u64;
    let started = Instant::now();
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        // It executes initialisers.
        let thread = std::thread::Builder::new().name("compile".to_owned()).stack_size(THREAD_STACK_BYTES);
        let watch = |interrupter| {
            *watched.lock().expect("no panic while held") = Some((interrupter, Instant::now()));
        };
        let compiling = move || {
            // Who doesn't wait any more has failed.
            let _ = sender.send(Target::compiled_watched(candidate, cache, code, &watch));
        };
        let thread = thread.spawn_scoped(scope, compiling).context("failed to start a thread")?;
        loop {
            match receiver.recv_timeout(EVERY) {
                Ok(target) => return Ok(target),
                Err(RecvTimeoutError::Timeout) => {
                    if let Some((interrupter, since)) = &*watched.lock().expect("no panic while held")
                        && limit.is_some_and(|limit| since.elapsed() >= limit)
                    {
                        // What is not in the module's code at this moment is interrupted the next time.
                        let _ = interrupter.interrupt();
                    }
                    let elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
                    let compiling = Compiling { target: name.to_owned(), module_bytes, elapsed_ms };
                    reporter.report(&Event::Compiling(compiling))?;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let panic = thread.join().expect_err("it ended without a word");
                    std::panic::resume_unwind(panic)
                }
            }
        }
    })
}

/// For verbs whose output is their result: a live line on standard error, if that is a terminal, and nothing else.
pub(super) fn live() -> impl Reporter {
    let is_terminal = stderr().is_terminal() && !is_dumb(|name| std::env::var_os(name));
    let live = if is_terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let columns = terminal_size::terminal_size_of(stderr()).map(|(width, _)| width.0);
    Terminal::new(sink(), live, TerminalOptions { columns, ..TerminalOptions::default() })
}
