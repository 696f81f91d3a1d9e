//! Compiling beside what else is done.

use crate::sandbox::limits::THREAD_STACK_BYTES;
use anyhow::{Context, Result, anyhow};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How often who waits for code looks whether that is over.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Runs `job`, which compiles and executes initialisers, on a thread of its own; what it gives is to be [`received`].
///
/// # Errors
///
/// If the thread can't be started.
pub(crate) fn compiling<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> Result<Receiver<T>> {
    let (sender, receiver) = channel();
    let thread = std::thread::Builder::new().name("compile".to_owned()).stack_size(THREAD_STACK_BYTES);
    // Nobody may want it any more.
    let work = move || _ = sender.send(job());
    thread.spawn(work).context("failed to start a thread")?;
    Ok(receiver)
}

/// Waits for what is [`compiling`]; `None` if it `is_over` before.
pub(crate) fn received<T>(made: &Receiver<Result<T>>, is_over: impl Fn() -> bool) -> Option<Result<T>> {
    loop {
        match made.recv_timeout(LOOK_EVERY) {
            Err(RecvTimeoutError::Timeout) if is_over() => return None,
            Err(RecvTimeoutError::Timeout) => {}
            Ok(made) => return Some(made),
            Err(RecvTimeoutError::Disconnected) => return Some(Err(anyhow!("the thread that compiles ended early"))),
        }
    }
}
