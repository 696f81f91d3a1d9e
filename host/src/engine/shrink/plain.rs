//! Plain inputs: bytes of which nothing is known.

use super::limits::Limits;
use super::report::ShrinkReport;
use super::subject::{Attempt, Order, Subject, Verdict};
use super::{run, shrinker::Shrinker};
use crate::stream::Taste;
use crate::stream::{Choice, Draw, DrawKind, Trace};
use anyhow::Result;
use std::collections::BTreeMap;

/// Executes plain inputs. Deterministic: the same input gives the same verdict.
pub trait PlainSubject {
    /// Executes each of `inputs`, and gives the verdicts in the same order. There are no overruns among them. Fewer
    /// verdicts than inputs end the shrink, as a limit does.
    ///
    /// # Errors
    ///
    /// If the host fails, never for what the guest does.
    fn attempt_all(&self, inputs: &[Vec<u8>]) -> Result<Vec<Verdict>>;

    /// How many inputs are executed at once. With 1, nothing is executed on speculation.
    fn jobs(&self) -> usize {
        1
    }
}

/// The simplest failing input that was found.
#[derive(Clone, Debug)]
pub struct ShrunkInput {
    /// The input.
    pub input: Vec<u8>,
    /// What was done.
    pub report: ShrinkReport,
    /// Other failures that were seen on the way: of each signature the simplest input.
    pub slips: BTreeMap<String, Vec<u8>>,
}

/// Makes `input` as simple as it can be while it fails in the same way; `None` if it does not fail so.
///
/// Shorter is simpler, and of equally long inputs the one that is less by [`Taste::Readable`]. The input is a stream
/// of one blob to the shrinker, whose bytes are their ranks.
///
/// # Errors
///
/// If the host fails.
pub fn shrink_input(subject: &dyn PlainSubject, input: &[u8], limits: Limits) -> Result<Option<ShrunkInput>> {
    let adapter = Adapter(subject);
    let Some(s) = Shrinker::new(&adapter, &[ranks(input)], limits, Taste::Readable)? else { return Ok(None) };
    let shrunk = run(s)?;
    let slips = shrunk.slips.into_iter().map(|(signature, choices)| (signature, bytes(&choices))).collect();
    Ok(Some(ShrunkInput { input: bytes(&shrunk.trace.choices), report: shrunk.report, slips }))
}

struct Adapter<'a>(&'a dyn PlainSubject);

impl Subject for Adapter<'_> {
    fn attempt_all(&self, orders: &[Order]) -> Result<Vec<Attempt>> {
        let inputs: Vec<_> = orders.iter().map(|order| bytes(&order.choices)).collect();
        let verdicts = self.0.attempt_all(&inputs)?;
        Ok(inputs.iter().zip(verdicts).map(|(input, verdict)| Attempt { verdict, trace: trace(input) }).collect())
    }

    fn jobs(&self) -> usize {
        self.0.jobs()
    }
}

fn ranks(input: &[u8]) -> Choice {
    Choice::Blob(input.iter().map(|byte| Taste::Readable.rank(*byte)).collect())
}

fn bytes(choices: &[Choice]) -> Vec<u8> {
    let ranks = choices.first().and_then(Choice::blob).unwrap_or(&[]);
    ranks.iter().map(|rank| Taste::Readable.byte(*rank)).collect()
}

/// One blob, of any length.
fn trace(input: &[u8]) -> Trace {
    let max = u64::MAX;
    let draw =
        Draw { kind: DrawKind::Bytes, site: 0, max, forced: false, payload: false, lo: 0, hi: i64::MAX, towards: 0 };
    Trace { choices: vec![ranks(input)], draws: vec![draw], given: 1, ..Trace::default() }
}
