//! Time: a function of what the guest did, never of the machine.

/// Virtual time in nanoseconds.
///
/// Time passes only when it is looked at or waited for. A look costs a microsecond, or a 1024th of the time that has
/// passed if that is more: short measurements look like those of a fast machine, and a loop that waits for a deadline
/// by looking again and again ends after some thousand looks (8,000 for a second, 16,000 for an hour).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    /// Since the start of the execution.
    elapsed: u64,
}

impl Clock {
    /// What `clock_res_get` answers.
    pub(super) const RESOLUTION: u64 = 1_000;
    /// Real time at the start of every execution: 2020-01-01T00:00:00Z.
    pub(super) const REALTIME_START: u64 = 1_577_836_800 * 1_000_000_000;
    /// Time stops here, so that real time can be stored in 64 bits.
    const ELAPSED_MAX: u64 = u64::MAX - Self::REALTIME_START;

    pub(super) fn new() -> Self {
        Self { elapsed: 0 }
    }

    /// Time since the start of the execution, after the look's own cost.
    pub(super) fn look(&mut self) -> u64 {
        let step = Self::RESOLUTION.max(self.elapsed / 1024);
        self.wait_until(self.elapsed.saturating_add(step));
        self.elapsed
    }

    /// Time since the start of the execution. Nothing passes.
    pub(super) fn elapsed(&self) -> u64 {
        self.elapsed
    }

    /// Real time, for the file system's time stamps. Nothing passes.
    pub(super) fn realtime(&self) -> u64 {
        Self::REALTIME_START + self.elapsed
    }

    /// The time at which a wait that was asked to last until `deadline` (since the start of the execution) ends.
    pub(super) fn reachable(deadline: u64) -> u64 {
        deadline.min(Self::ELAPSED_MAX)
    }

    /// Lets time pass, if the deadline isn't over.
    pub(super) fn wait_until(&mut self, deadline: u64) {
        self.elapsed = self.elapsed.max(Self::reachable(deadline));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_by_looking_ends_soon() {
        for (seconds, looks_max) in [(1, 10_000), (3600, 20_000), (u32::MAX as u64, 40_000)] {
            let mut clock = Clock::new();
            let looks =
                std::iter::from_fn(|| Some(clock.look())).take_while(|now| *now < seconds * 1_000_000_000).count();
            assert!(looks < looks_max, "{seconds} s took {looks} looks");
        }
    }

    #[test]
    fn time_never_overflows() {
        let mut clock = Clock::new();
        clock.wait_until(u64::MAX);
        assert_eq!(clock.realtime(), u64::MAX);
        assert_eq!(clock.look(), clock.elapsed());
    }
}
