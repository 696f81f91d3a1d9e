//! Makes a score larger by changing numbers that were drawn.
//!
//! The alternating variable method (Korel, "Automated software test data generation", IEEE TSE 1990), as Hypothesis has
//! it for targets: every number, from the last to the first, is moved up and down in steps that double as long as the
//! score does not fall, then in steps that halve. So a score that rises towards one side is followed in logarithmic
//! time. Two additions:
//!
//! - Where a number says how much else is drawn, a move changes what follows; then the span that became longer or
//!   shorter is taken as it was drawn now, and what is behind it as it was before.
//! - Two numbers are moved against each other as well, their sum the same: along a bound like `x + y <= 1000` neither
//!   can be moved alone.

use crate::stream::{Choice, Draw, DrawKind, Trace};
use anyhow::Result;

/// Steps that may leave the score as it is before one has to improve it.
const PLATEAU_STEPS: u32 = 8;
/// A number is moved against so many of those behind it.
const PARTNERS: usize = 2;

/// What may be spent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) execs: u64,
    pub(super) improvements: u32,
}

/// An execution that ended well.
#[derive(Clone, Debug)]
pub(super) struct Evaluation {
    pub(super) trace: Trace,
    /// Its score, if it told one.
    pub(super) score: Option<f64>,
}

/// Executes a stream; `None` if it did not end well. What the stream lacks is random.
pub(super) type Run<'a> = dyn FnMut(&[Choice]) -> Result<Option<Evaluation>> + 'a;

/// Climbs from a stream. Returns whether that was cut off by a limit; what is best has gone through `run`.
pub(super) fn ascend(start: &[Choice], limits: Limits, run: &mut Run<'_>) -> Result<bool> {
    let Some(current) = run(start)? else { return Ok(false) };
    let mut climber = Climber { run, current, limits, execs: 1, improvements: 0 };
    loop {
        let before = climber.improvements;
        climber.round()?;
        if climber.is_over() {
            return Ok(true);
        }
        if climber.improvements == before {
            return Ok(false);
        }
    }
}

struct Climber<'r, 'a> {
    run: &'r mut Run<'a>,
    current: Evaluation,
    limits: Limits,
    execs: u64,
    improvements: u32,
}

/// Which draws are moved: the first in one direction, the second, if there is one, in the other.
type Movers = (usize, Option<usize>);

impl Climber<'_, '_> {
    fn is_over(&self) -> bool {
        self.execs >= self.limits.execs || self.improvements >= self.limits.improvements
    }

    /// Moves every number once.
    fn round(&mut self) -> Result<()> {
        let mut at = self.current.trace.draws.len();
        while at > 0 {
            // A move may have made what follows shorter.
            at = (at - 1).min(self.current.trace.draws.len().saturating_sub(1));
            let draws = &self.current.trace.draws;
            let Some(draw) = draws.get(at) else { return Ok(()) };
            if draw.forced || draw.kind.is_blob() {
                continue;
            }
            let later = (at + 1..draws.len()).filter(|&other| is_number(draw) && is_number(&draws[other]));
            let partners: Vec<usize> = later.take(PARTNERS).collect();
            for other in std::iter::once(None).chain(partners.into_iter().map(Some)) {
                self.follow((at, other), 1)?;
                self.follow((at, other), -1)?;
            }
        }
        Ok(())
    }

    /// Moves in one direction as far as that helps.
    fn follow(&mut self, movers: Movers, direction: i128) -> Result<()> {
        let (before, improvements) = (self.current.clone(), self.improvements);
        let (mut step, mut steps) = (1, 0);
        while !self.is_over() && self.step(movers, direction * step)? {
            step *= 2;
            steps += 1;
            if self.improvements == improvements && steps == PLATEAU_STEPS {
                break;
            }
        }
        if self.improvements == improvements {
            // What leads nowhere is not worth having other values.
            self.current = before;
            return Ok(());
        }
        while step > 1 && !self.is_over() {
            step /= 2;
            self.step(movers, direction * step)?;
        }
        Ok(())
    }

    /// Moves by so much, if that is possible and no worse.
    fn step(&mut self, (at, other): Movers, by: i128) -> Result<bool> {
        let Trace { draws, choices, .. } = &self.current.trace;
        let mut moved = choices.clone();
        for (at, by) in [(Some(at), by), (other, -by)] {
            let Some(at) = at else { continue };
            let index =
                draws.get(at).zip(choices.get(at)).and_then(|(draw, choice)| shifted(draw, choice.index()?, by));
            let Some(index) = index else { return Ok(false) };
            moved[at] = Choice::Index(index);
        }
        let Some(shown) = self.execute(&moved)? else { return Ok(false) };
        if shown.trace.draws.len() == self.current.trace.draws.len() {
            return Ok(self.accept(shown));
        }
        let repairs = self.repairs(at, &moved, &shown.trace);
        if self.accept(shown) {
            return Ok(true);
        }
        for repaired in repairs {
            if let Some(shown) = self.execute(&repaired)?
                && self.accept(shown)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Where a move at `at` changed the length of a span around it: what the span has now, and behind it what was
    /// there.
    fn repairs(&self, at: usize, moved: &[Choice], now: &Trace) -> Vec<Vec<Choice>> {
        let before = &self.current.trace;
        let pairs = before.spans.iter().zip(&now.spans);
        let around = pairs.filter(|(span, new)| span.range().contains(&at) && span.label == new.label);
        let changed = around.filter(|(span, new)| span.start == new.start && span.end != new.end);
        let repaired = |span: &crate::stream::Span, new: &crate::stream::Span| {
            [&moved[..span.start as usize], &now.choices[new.range()], &before.choices[span.end as usize..]].concat()
        };
        changed.map(|(span, new)| repaired(span, new)).collect()
    }

    fn execute(&mut self, choices: &[Choice]) -> Result<Option<Evaluation>> {
        if self.execs >= self.limits.execs {
            return Ok(None);
        }
        self.execs += 1;
        (self.run)(choices)
    }

    /// Goes on from what was shown if its score is better, or the same for no more draws.
    fn accept(&mut self, shown: Evaluation) -> bool {
        let (Some(new), old) = (shown.score, self.current.score) else { return false };
        let better = old.is_none_or(|old| new > old);
        if !better && (Some(new) != old || shown.trace.draws.len() > self.current.trace.draws.len()) {
            return false;
        }
        self.improvements += u32::from(better);
        self.current = shown;
        true
    }
}

fn is_number(draw: &Draw) -> bool {
    matches!(draw.kind, DrawKind::Int | DrawKind::Uint | DrawKind::F64) && !draw.forced
}

/// The index of what a draw took plus `by`: of numbers the value is moved, else the index.
fn shifted(draw: &Draw, index: u64, by: i128) -> Option<u64> {
    match draw.kind {
        DrawKind::Int | DrawKind::Uint => draw.index_of(draw.number(index).checked_add(by)?),
        DrawKind::F64 => {
            let floats = draw.floats()?;
            floats.index(floats.value(index)? + by as f64)
        }
        DrawKind::Bytes | DrawKind::Str => None,
        _ => u64::try_from(i128::from(index).checked_add(by)?).ok().filter(|&index| index <= draw.max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Span;

    fn draw(lo: i64, hi: i64) -> Draw {
        let max = hi.wrapping_sub(lo).cast_unsigned();
        Draw { kind: DrawKind::Int, site: 1, max, forced: false, payload: false, lo, hi, towards: lo }
    }

    /// Climbs with a program that draws numbers from 0 to 1000, as many as `count` says of the first; returns the best
    /// score and the executions.
    fn best(
        start: &[u64],
        limits: Limits,
        count: impl Fn(i128) -> usize,
        score: impl Fn(&[i128]) -> Option<f64>,
    ) -> (f64, u64, bool) {
        let (mut best, mut execs) = (f64::NEG_INFINITY, 0);
        let start: Vec<_> = start.iter().map(|&index| Choice::Index(index)).collect();
        let cut = ascend(&start, limits, &mut |choices| {
            execs += 1;
            let draw = draw(0, 1000);
            let index = |at: usize| choices.get(at).and_then(Choice::index).unwrap_or(7).min(1000);
            let len = 1 + count(draw.number(index(0)));
            let indices: Vec<u64> = (0..len).map(index).collect();
            let numbers: Vec<i128> = indices.iter().map(|&index| draw.number(index)).collect();
            let Some(score) = score(&numbers) else { return Ok(None) };
            best = best.max(score);
            let span = Span { automatic: true, ..Span::told(3, 0, len as u32, 0) };
            let trace = Trace {
                choices: indices.into_iter().map(Choice::Index).collect(),
                draws: vec![draw; len],
                spans: vec![span],
                ..Trace::default()
            };
            Ok(Some(Evaluation { trace, score: Some(score) }))
        });
        (best, execs, cut.unwrap())
    }

    const ENOUGH: Limits = Limits { execs: 10_000, improvements: 10_000 };

    #[test]
    fn a_ridge_that_no_single_number_can_follow_is_climbed() {
        let product = |n: &[i128]| (n[0] + n[1] <= 1000).then(|| (n[0] * n[1]) as f64);
        for start in [[3, 5], [990, 10], [1, 900]] {
            let (best, execs, cut) = best(&start, ENOUGH, |_| 1, product);
            assert_eq!((best, cut), (250_000.0, false));
            assert!(execs < 300, "{execs}");
        }
    }

    #[test]
    fn steps_that_change_nothing_are_crossed_if_something_is_behind_them() {
        let (best, _, _) = best(&[0, 0], ENOUGH, |_| 1, |n| Some((n[0] / 10 + n[1] / 10) as f64));
        assert_eq!(best, 200.0);
    }

    #[test]
    fn what_a_number_lets_follow_is_drawn_and_kept() {
        let sum = |n: &[i128]| Some(n[1..].iter().sum::<i128>() as f64);
        let (best, _, _) = best(&[1, 1000], Limits { execs: 3000, ..ENOUGH }, |first| first.min(20) as usize, sum);
        assert_eq!(best, 20_000.0);
    }

    #[test]
    fn limits_cut_it_off() {
        let (_, execs, cut) = best(&[3, 5], Limits { execs: 9, improvements: 99 }, |_| 1, |n| Some(n[0] as f64));
        assert_eq!((execs, cut), (9, true));
        let (best, _, cut) = best(&[3, 5], Limits { execs: 99, improvements: 2 }, |_| 1, |n| Some(n[1] as f64));
        assert_eq!((best, cut), (8.0, true));
    }
}
