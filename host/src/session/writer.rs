//! Writes the testcases that a campaign finds, while it goes on.

use super::queue::End;
use super::setup::Session;
use anyhow::Result;
use std::time::{Duration, Instant};

/// New testcases are written no more often: each time costs a look at the whole corpus.
const WRITE_EVERY: Duration = Duration::from_millis(200);
/// Writing takes one part in so many of the time, as long as that makes nobody wait for more than [`WRITE_EVERY_MAX`].
const WRITE_PART: u32 = 16;
/// A kill loses no more than what was found in this time.
const WRITE_EVERY_MAX: Duration = Duration::from_secs(2);

/// Writes testcases while the campaign goes on: a file that is safe on disk takes milliseconds.
pub(super) fn write_testcases(session: &Session<'_>, queue: End<'_>) -> Result<()> {
    let mut gather = WRITE_EVERY;
    while let Some(batch) = queue.take(gather) {
        let began = Instant::now();
        let inputs: Vec<_> = batch.iter().map(|(id, bytes)| (*id, &**bytes)).collect();
        session.store.add_to_corpus(&session.name, session.target.candidate.id, &inputs)?;
        gather = (began.elapsed() * WRITE_PART).clamp(WRITE_EVERY, WRITE_EVERY_MAX);
    }
    Ok(())
}
