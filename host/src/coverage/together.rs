//! Large functions whose counters are to be solved for several executions at once, which takes little more than for
//! one.

use crate::sandbox::Executed;
use fuzzbox_instrument::LANES;

/// Of fewer executions each is looked at by itself.
pub(super) const LATER_MIN: usize = 3;

/// What functions did in executions.
#[derive(Debug, Default)]
pub(super) struct Together {
    /// By function: its place among `all` and 1, or 0.
    places: Vec<u32>,
    /// The first `used` are in use; the others' room is used again.
    all: Vec<Entry>,
    used: usize,
}

/// What one function did.
#[derive(Debug, Default)]
struct Entry {
    function: usize,
    /// Numbers of executions, with the hash of what it did.
    executions: Vec<(usize, u64)>,
    /// Its counters, execution after execution.
    counters: Vec<u32>,
}

impl Together {
    /// Adds what a function did, which has this hash, in the execution with this number.
    pub(super) fn add(&mut self, function: Executed<'_>, number: usize, hash: u64) {
        let place = function.place();
        if self.places.len() <= place {
            self.places.resize(place + 1, 0);
        }
        if self.places[place] == 0 {
            if self.used == self.all.len() {
                self.all.push(Entry::default());
            }
            self.all[self.used].function = place;
            self.used += 1;
            self.places[place] = u32::try_from(self.used).expect("functions have 32-bit indices");
        }
        let entry = &mut self.all[self.places[place] as usize - 1];
        entry.executions.push((number, hash));
        function.copy_counters(&mut entry.counters);
    }

    /// Calls `look` with each function, up to [`LANES`] executions and its counters in these, and forgets all of it.
    pub(super) fn take(&mut self, mut look: impl FnMut(usize, &[(usize, u64)], &[u32])) {
        for Entry { function, executions, counters } in &mut self.all[..self.used] {
            let len = counters.len() / executions.len();
            for (executions, counters) in executions.chunks(LANES).zip(counters.chunks(LANES * len)) {
                look(*function, executions, counters);
            }
            executions.clear();
            counters.clear();
            self.places[*function] = 0;
        }
        self.used = 0;
    }
}
