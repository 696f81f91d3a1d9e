//! How long a round is, and its inputs.

use super::{Campaign, ROUND_FUEL};

/// Executions of the first round; doubles every round while the corpus is young and stale quickly.
const ROUND_EXECS_MIN: u64 = 128;
/// How far: at its end a round waits for its slowest execution.
const ROUND_EXECS: u64 = 8192;
/// The same while a goal is to be reached: each round goes on from what the one before found.
const ROUND_EXECS_UNDER_WAY: u64 = 1024;
/// And while a trace is; doubles while nothing is found.
const ROUND_EXECS_ON_TRACE: u64 = 256;
/// How often a round doubles while none finds anything: nothing is new to the next one.
const ROUND_DOUBLINGS_MAX: u32 = 3;
/// A round has one part in so many of all executions before it at least, so that what is done between rounds, by one
/// thread, takes ever less beside them, however many workers there are.
const ROUND_PART: u64 = 64;
/// The same of the fuel that a round may take, up to so many times [`ROUND_FUEL`]: half a minute on one worker, after
/// half an hour. With 64 workers slow targets' rounds would otherwise be over in the time of their slowest executions.
const ROUND_FUEL_GROWTH: u64 = 8;
/// Executions without a new edge after which mutants may be twice as long. Short inputs are executed faster, and what
/// they can reach should be reached by them.
const LEN_PATIENCE: u64 = 20_000;
/// Mutants become no longer than this by that, in bytes, unless a seed is (libFuzzer's `-max_len` by default): a
/// campaign that finds nothing new would spend its time on ever longer ones.
const LEN_MAX_GROWN: usize = 4096;

impl Campaign {
    pub(super) fn len_limit(&self) -> usize {
        self.target().candidate.settings.input_bytes_max as usize
    }

    /// Lets mutants become longer when nothing new was found for a while.
    pub(super) fn grow_inputs(&mut self) {
        let since = self.totals.execs_at_new_edge.max(self.execs_at_len_max);
        let limit = LEN_MAX_GROWN.min(self.len_limit());
        if self.len_max < limit && self.totals.execs - since >= LEN_PATIENCE {
            self.len_max = self.len_max.saturating_mul(2).min(limit);
            self.execs_at_len_max = self.totals.execs;
        }
    }

    /// Executions of the next round: few while the corpus is young, many when nothing new was found for some rounds or
    /// the campaign is old, and few if an execution is slow or many hang.
    pub(super) fn round_execs(&self) -> u64 {
        let young = ROUND_EXECS_MIN << self.totals.rounds.min(16);
        let old = ROUND_EXECS << self.rounds_without_news.min(ROUND_DOUBLINGS_MAX);
        let old = if self.is_under_way() { ROUND_EXECS_UNDER_WAY } else { old };
        // The search for a trace's next frame begins with the round after that of the last.
        let on_trace = ROUND_EXECS_ON_TRACE << self.rounds_without_news.min(8);
        let old = if self.has_reached_traces() { old } else { old.min(on_trace) };
        let old = old.max(self.totals.execs / ROUND_PART);
        let fuel = self.totals.execs.saturating_mul(self.fuel_mean()) / ROUND_PART;
        let fuel = fuel.clamp(ROUND_FUEL, ROUND_FUEL_GROWTH * ROUND_FUEL);
        young.min(old).min(fuel / self.fuel_mean()).max(1)
    }
}
