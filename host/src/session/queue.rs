//! New testcases on their way to the store.
//!
//! A channel would wake up its receiver for each round, hundreds of times per second, and whoever is woken up takes a
//! core from a worker.

use crate::id::InputId;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// An input and its name.
pub(crate) type Named = (InputId, Arc<[u8]>);

/// Holds what was sent and not taken. One thread sends, another takes.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    testcases: Vec<Named>,
    /// Nothing more is sent, or nothing more is taken.
    ended: bool,
}

/// One end of a queue; dropping it tells the other.
#[derive(Debug)]
pub(crate) struct End<'a>(&'a Queue);

impl Queue {
    /// An end for each of the two threads.
    pub(crate) fn ends(&self) -> (End<'_>, End<'_>) {
        (End(self), End(self))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics while it is locked")
    }
}

impl End<'_> {
    /// Sends testcases; false if nobody takes them any more.
    pub(crate) fn send(&self, testcases: impl IntoIterator<Item = Named>) -> bool {
        let mut state = self.0.state();
        let was_empty = state.testcases.is_empty();
        state.testcases.extend(testcases);
        if was_empty && !state.testcases.is_empty() {
            self.0.changed.notify_one();
        }
        !state.ended
    }

    /// Waits for testcases, and then until `gather` has passed or nothing more is sent: takes all that there are, or
    /// `None` at the end.
    pub(crate) fn take(&self, gather: Duration) -> Option<Vec<Named>> {
        let changed = &self.0.changed;
        let idle = |state: &mut State| state.testcases.is_empty() && !state.ended;
        let state = changed.wait_while(self.0.state(), idle).expect("nobody panics while it is locked");
        let waited = changed.wait_timeout_while(state, gather, |state| !state.ended);
        let (mut state, _) = waited.expect("nobody panics while it is locked");
        let testcases = std::mem::take(&mut state.testcases);
        (!testcases.is_empty()).then_some(testcases)
    }
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.state().ended = true;
        self.0.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(byte: u8) -> Named {
        (InputId::of(&[byte]), [byte].into())
    }

    #[test]
    fn all_that_is_sent_is_taken_in_order_and_an_end_is_seen_on_the_other_side() {
        let queue = Queue::default();
        let (sender, receiver) = queue.ends();
        let taken = std::thread::scope(|scope| {
            let taker = scope.spawn(move || {
                let mut taken = Vec::new();
                while let Some(batch) = receiver.take(Duration::from_micros(50)) {
                    taken.extend(batch);
                }
                taken
            });
            assert!((0..100).all(|byte| sender.send([named(byte)])));
            drop(sender);
            taker.join().unwrap()
        });
        assert_eq!(taken, (0..100).map(named).collect::<Vec<_>>());

        let queue = Queue::default();
        let (sender, receiver) = queue.ends();
        assert!(sender.send([named(0)]));
        drop(receiver);
        assert!(!sender.send([named(1)]), "nobody takes it");
    }
}
