//! When a campaign has to end: by its time, by Ctrl-C, or because its terminal or the machine goes.
//!
//! # A campaign ends when told to
//!
//! A campaign ends when told to. What has fuel is interrupted by taking away the page that its fuel is on, initialisers
//! as well. Then the whole round is dropped, so nothing depends on when that was; until a second later it may end by
//! itself, and it is no larger than what takes a few seconds. Seeds are executed in parts, each as large as the fuel of
//! those before it says.

use crate::sandbox::is_ignored;
use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What a round may still take when the campaign's time is over, before it is dropped.
const GRACE_OF_TIME: Duration = Duration::from_secs(1);
/// What a round may still take after a signal.
const GRACE_OF_SIGNAL: Duration = Duration::from_millis(500);
/// How often somebody looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Sets a flag when work has to end. Rounds are let finish for a moment, since what they found is lost otherwise.
#[derive(Debug)]
pub(crate) struct Ending {
    shared: Arc<Shared>,
    /// Dropped to end the thread.
    _alive: Sender<()>,
}

#[derive(Debug, Default)]
struct Shared {
    abort: Arc<AtomicBool>,
    signalled: Arc<AtomicBool>,
    limit: Mutex<Option<Instant>>,
}

impl Ending {
    /// From now on the first SIGINT (Ctrl-C), SIGTERM or SIGHUP ends the work, and the second the process with 130. A
    /// hangup that was ignored (`nohup`) still is.
    ///
    /// # Errors
    ///
    /// If the system refuses a handler or a thread.
    pub(crate) fn by_signals() -> Result<Self> {
        let shared = Arc::<Shared>::default();
        let signals = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| signal != SIGHUP || !is_ignored(signal));
        for signal in signals {
            // The order matters: the second looks at what an earlier signal set.
            signal_hook::flag::register_conditional_shutdown(signal, 130, shared.signalled.clone())?;
            signal_hook::flag::register(signal, shared.signalled.clone())?;
        }
        let (alive, ended) = channel();
        let theirs = shared.clone();
        let thread = std::thread::Builder::new().name("ending".to_owned());
        thread.spawn(move || theirs.look(&ended)).context("failed to start a thread")?;
        Ok(Self { shared, _alive: alive })
    }

    /// Set when what runs has to end at once.
    pub(crate) fn abort(&self) -> Arc<AtomicBool> {
        self.shared.abort.clone()
    }

    /// From now on the work ends at `limit`, if there is one, or a moment later.
    pub(crate) fn limit(&self, limit: Option<Instant>) {
        let mut present = self.shared.limit.lock().expect("no panic while held");
        *present = limit;
        if !self.is_signalled() {
            self.shared.abort.store(false, Relaxed);
        }
    }

    /// Whether a signal asked for the end.
    pub(crate) fn is_signalled(&self) -> bool {
        self.shared.signalled.load(Relaxed)
    }
}

impl Shared {
    fn look(&self, ended: &Receiver<()>) {
        let mut signalled = None;
        while ended.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
            let now = Instant::now();
            if self.signalled.load(Relaxed) {
                signalled.get_or_insert(now);
            }
            let is_over = |since: Option<Instant>, grace| since.is_some_and(|since| now >= since + grace);
            let limit = self.limit.lock().expect("no panic while held");
            if is_over(*limit, GRACE_OF_TIME) || is_over(signalled, GRACE_OF_SIGNAL) {
                self.abort.store(true, Relaxed);
            }
        }
    }
}
