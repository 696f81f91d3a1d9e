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
    Ok(compiling_both(job, || ())?.0)
}

/// As [`compiling`], with another job on the same thread when the first is done.
///
/// # Errors
///
/// As [`compiling`].
pub(crate) fn compiling_both<T: Send + 'static, U: Send + 'static>(
    first: impl FnOnce() -> T + Send + 'static,
    then: impl FnOnce() -> U + Send + 'static,
) -> Result<(Receiver<T>, Receiver<U>)> {
    let (first_sender, first_receiver) = channel();
    let (then_sender, then_receiver) = channel();
    let thread = std::thread::Builder::new().name("compile".to_owned()).stack_size(THREAD_STACK_BYTES);
    let work = move || {
        // Nobody may want it any more.
        let _ = first_sender.send(first());
        let _ = then_sender.send(then());
    };
    thread.spawn(work).context("failed to start a thread")?;
    Ok((first_receiver, then_receiver))
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
