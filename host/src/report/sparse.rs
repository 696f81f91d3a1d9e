//! Which of many statuses are worth a line in a log.

/// Lets a status through at 1, 2, 4, 8, ... seconds and then every minute: a short run shows that it lives, nobody
/// takes a long one for dead, and a night's log stays readable. The time is the events' own; no clock is read.
#[derive(Debug)]
pub(super) struct Sparse {
    next_ms: u64,
}

const LONGEST_MS: u64 = 60_000;

impl Default for Sparse {
    fn default() -> Self {
        Self { next_ms: 1000 }
    }
}

impl Sparse {
    /// Whether a status after `elapsed_ms` is let through. One that is late takes the place of those before it.
    pub(super) fn is_due(&mut self, elapsed_ms: u64) -> bool {
        if elapsed_ms < self.next_ms {
            return false;
        }
        while self.next_ms <= elapsed_ms && self.next_ms < LONGEST_MS {
            self.next_ms *= 2;
        }
        if self.next_ms <= elapsed_ms {
            self.next_ms = elapsed_ms.saturating_add(LONGEST_MS);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_become_rarer() {
        let mut sparse = Sparse::default();
        let seconds: Vec<u64> = (0..3600).filter(|second| sparse.is_due(second * 1000)).collect();
        assert_eq!(seconds[..10], [1, 2, 4, 8, 16, 32, 64, 124, 184, 244]);
        assert!(seconds[6..].windows(2).all(|pair| pair[1] - pair[0] == 60) && seconds.len() == 65, "{seconds:?}");
        assert!(sparse.is_due(u64::MAX));
        assert!(sparse.is_due(u64::MAX), "nothing overflows at the end of time");
    }
}
