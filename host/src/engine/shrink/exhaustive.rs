//! The finish: executes every simpler stream there is, if they are few enough.
//!
//! Streams are the paths of a tree: a node is what was drawn so far, and what is drawn next depends on nothing else.
//! One execution with a tail of zeros shows all nodes on its way. A subtree whose streams would all be longer than
//! the current one, or as long and not simpler, is left out. Draws with many values make the tree too wide, so it is
//! searched with the first 1, 3, 7, ... of them until nothing is left out or the limit is reached: what is wrong with
//! a small result is most often a small change away.
//!
//! Before that, short streams are executed however long the current one is, those first of which there are few: with a
//! choices of b bits there are 2^(a b). What is simple may be far away from where the passes ended.

use super::report::Certificate;
use super::shrinker::{Shrinker, Step, Stop};
use super::subject::{Attempt, Verdict};
use crate::stream::{Choice, Trace};
use std::cmp::Ordering;
use std::sync::Arc;

/// Streams with more choices are not finished so.
const CHOICES_MAX: usize = 16;
/// Blobs with more bytes are not finished.
const BYTES_MAX: usize = 10;
/// Bits of a short stream, at most.
const SHORT_BITS_MAX: usize = 24;
/// Nodes that are visited with one number of values.
const VISITS_MAX: u64 = 200_000;

/// Searches, and says what is proven; `None` if something simpler was found.
pub(super) fn finish(s: &mut Shrinker<'_>) -> Step<Option<Certificate>> {
    let base = s.current();
    let limit = s.limits().exhaustive_max;
    if let ([Choice::Blob(blob)], true) = (&*base.trace.choices, limit > 0) {
        return finish_blob(s, blob);
    }
    if limit == 0 {
        return Ok(Some(Certificate::None));
    }
    if has_short(s, &base.trace, limit / 2)? {
        return Ok(None);
    }
    if base.trace.choices.len() > CHOICES_MAX {
        return Ok(Some(Certificate::None));
    }
    let mut proven = Certificate::None;
    let limit = s.report.exhaustive.saturating_add(limit);
    let mut values: u64 = 1;
    loop {
        let mut search = Search::new(&base.trace, values, limit);
        match search.visit(s, &mut Vec::new(), true) {
            Ok(true) => return Ok(None),
            Ok(false) if search.all => return Ok(Some(Certificate::Minimal)),
            Ok(false) if search.shape => proven = Certificate::MinimalInShape,
            Ok(false) => {}
            Err(Stop::Spent) => return Ok(Some(proven)),
            Err(host) => return Err(host),
        }
        if values == u64::MAX {
            return Ok(Some(proven));
        }
        values = values.saturating_mul(2).saturating_add(1);
    }
}

/// As [`finish`], for a stream of one blob of a few bytes: all that is left when some are deleted, any byte in the
/// place of two neighbours, and all lower values of each byte.
fn finish_blob(s: &mut Shrinker<'_>, blob: &[u8]) -> Step<Option<Certificate>> {
    let len = blob.len();
    let with = |blob: Vec<u8>| Some(vec![Choice::Blob(blob)]);
    if len <= BYTES_MAX {
        let mut kept: Vec<usize> = (0..(1 << len) - 1).collect();
        kept.sort_by_key(|kept| kept.count_ones());
        let rest = |kept: usize| (0..len).filter(|at| kept >> at & 1 == 1).map(|at| blob[at]).collect();
        if s.first(0, kept.len(), |_, at| with(rest(kept[at])))?.is_some() {
            return Ok(None);
        }
        let merged = |at: usize, byte: u8| [&blob[..at], &[byte], &blob[at + 2..]].concat();
        let pairs = len.saturating_sub(1) * 256;
        if s.first(0, pairs, |_, way| with(merged(way / 256, (way % 256) as u8)))?.is_some() {
            return Ok(None);
        }
        let lower: Vec<_> = (0..len).flat_map(|at| (0..blob[at]).map(move |rank| (at, rank))).collect();
        let lowered = |(at, rank): (usize, u8)| {
            let mut blob = blob.to_vec();
            blob[at] = rank;
            blob
        };
        if s.first(0, lower.len(), |_, at| with(lowered(lower[at])))?.is_some() {
            return Ok(None);
        }
    }
    Ok(Some(if len < 2 { Certificate::Minimal } else { Certificate::None }))
}

/// Whether there is a short stream that fails, among the first of so many executions; that is the current one then.
fn has_short(s: &mut Shrinker<'_>, current: &Trace, execs: u64) -> Step<bool> {
    let limit = s.report.exhaustive.saturating_add(execs);
    for total_bits in 1..=SHORT_BITS_MAX {
        for len in 1..current.choices.len().min(total_bits + 1) {
            if !total_bits.is_multiple_of(len) {
                continue;
            }
            let values = (1 << (total_bits / len)) - 1;
            let mut search = Search { len_max: len, ..Search::new(current, values, limit) };
            match search.visit(s, &mut Vec::new(), true) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(Stop::Spent) => return Ok(false),
                Err(host) => return Err(host),
            }
        }
    }
    Ok(false)
}

struct Search<'a> {
    current: &'a Trace,
    /// Choices of what is visited, at most.
    len_max: usize,
    /// Values of a draw that are tried, beside 0.
    values: u64,
    /// Executions at which to stop.
    limit: u64,
    /// Nodes that may still be visited; most are known.
    visits: u64,
    /// Nothing was left out.
    all: bool,
    /// Nothing was left out of those that draw what the current stream does.
    shape: bool,
}

impl<'a> Search<'a> {
    fn new(current: &'a Trace, values: u64, limit: u64) -> Self {
        Self { current, len_max: usize::MAX, values, limit, visits: VISITS_MAX, all: true, shape: true }
    }

    /// Executes what begins so, with a choice more if that tells more and there is room; `None` if it is simpler.
    fn look(&mut self, s: &mut Shrinker<'_>, begin: &[Choice], room: usize) -> Step<Option<Arc<Attempt>>> {
        let looked = s.look(begin.to_vec(), super::subject::Tail::Zero)?;
        if looked.improved || looked.attempt.trace.entropy.is_none() {
            return Ok((!looked.improved).then_some(looked.attempt));
        }
        // What the guest does depends on how long the stream is: nothing is proven.
        (self.all, self.shape) = (false, false);
        if begin.len() >= room {
            return Ok(Some(looked.attempt));
        }
        let longer = s.look([begin, &[Choice::ZERO]].concat(), super::subject::Tail::Zero)?;
        Ok((!longer.improved).then_some(longer.attempt))
    }

    /// Visits all that begins with `begin`, whose draws are the current one's if `in_shape`. True if something
    /// simpler was found.
    fn visit(&mut self, s: &mut Shrinker<'_>, begin: &mut Vec<Choice>, in_shape: bool) -> Step<bool> {
        let len = self.current.choices.len();
        let order = begin.as_slice().cmp(&self.current.choices[..begin.len().min(len)]);
        // Behind the current one only shorter streams are simpler.
        let room = if order == Ordering::Greater { len - 1 } else { len }.min(self.len_max);
        if begin.len() > room {
            return Ok(false);
        }
        if s.report.exhaustive >= self.limit || self.visits == 0 {
            return Err(Stop::Spent);
        }
        self.visits -= 1;
        let Some(attempt) = self.look(s, begin, room)? else { return Ok(true) };
        let at = begin.len();
        let trace = &attempt.trace;
        if trace.choices.len() <= at {
            // An overrun may have gone on.
            self.all &= attempt.verdict != Verdict::Overrun;
            return Ok(false);
        }
        if at + 1 > room {
            return Ok(false);
        }
        let draw = trace.draws[at];
        if draw.kind.is_blob() {
            self.all = false;
            self.shape &= !in_shape;
            begin.push(trace.choices[at].clone());
            let found = self.visit(s, begin, false)?;
            begin.pop();
            return Ok(found);
        }
        let in_shape = in_shape
            && self.current.draws.get(at).is_some_and(|other| (other.kind, other.max) == (draw.kind, draw.max));
        // Of those that are as long, none is simpler that has a larger index here. Is there room for shorter ones?
        let tight = self.current.choices.get(at).and_then(Choice::index).unwrap_or(u64::MAX).min(draw.max);
        let (needed, needed_in_shape) = match order {
            Ordering::Equal if at + 2 > len => (tight, tight),
            Ordering::Equal => (draw.max, tight),
            _ => (draw.max, draw.max),
        };
        let values = self.values.min(needed);
        self.all &= values == needed;
        self.shape &= !in_shape || values >= needed_in_shape;
        for index in 0..=values {
            begin.push(Choice::Index(index));
            let found = self.visit(s, begin, in_shape && order != Ordering::Greater)?;
            begin.pop();
            if found {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
