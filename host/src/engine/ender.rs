//! Ends what workers execute when a campaign is to end: nobody knows how long a guest would go on.

use crate::sandbox::Interrupter;
use anyhow::{Context, Result};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How often it is looked whether a campaign is to end, and then interrupted what still runs: what finds no code of the guest is in vain.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Interrupts every execution while a flag is set. What was interrupted by this is no verdict: its round is dropped.
#[derive(Debug)]
pub(super) struct Ender {
    watched: Arc<Mutex<Vec<Interrupter>>>,
    /// Dropped to end the thread.
    _alive: Sender<()>,
}

impl Ender {
    /// Starts the thread. It ends when this is dropped.
    pub(super) fn new(abort: Arc<AtomicBool>) -> Result<Self> {
        let watched = Arc::<Mutex<Vec<Interrupter>>>::default();
        let (alive, ended) = channel();
        let shared = watched.clone();
        let thread = std::thread::Builder::new().name("ender".to_owned());
        thread.spawn(move || end(&shared, &abort, &ended)).context("failed to start a thread")?;
        Ok(Self { watched, _alive: alive })
    }

    /// Watches an executor for as long as it lives.
    pub(super) fn watch(&self, interrupter: Interrupter) {
        let mut watched = self.watched.lock().expect("no panic while held");
        watched.retain(Interrupter::is_of_use);
        watched.push(interrupter);
    }
}

fn end(watched: &Mutex<Vec<Interrupter>>, abort: &AtomicBool, ended: &Receiver<()>) {
    while ended.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        if abort.load(Relaxed) {
            for interrupter in &*watched.lock().expect("no panic while held") {
                // If the machine is out of mappings, so that the guest can't be stopped, it is tried again the next time.
                let _ = interrupter.interrupt();
            }
        }
    }
}
