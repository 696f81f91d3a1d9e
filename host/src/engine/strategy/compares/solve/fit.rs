//! Lets a text become as long as the one that it is compared with, where nobody knows how its bytes are told: what is
//! at its end is repeated, or left out, until that brings the bytes that lack. What it says then is for the others:
//! they write bytes, but make no place for them.

use super::super::input::places::Dependence;
use super::super::probing::dependence::{self, dependence};
use super::super::probing::probe::{Probe, Problem, Solution, Step};
use super::super::seen::effort::Effort;
use super::super::seen::observed::{CONTENT_BYTES, Matching, Observed, Operands};
use super::search::SWEEP_EXECS;
use std::collections::BTreeSet;

/// Bytes of the input that tell one of the text, or a few: at most one for each bit.
const UNIT_MAX: usize = 8;
/// How far behind the last place that changes the text such a unit may end: behind it comes what ends a number.
const BEHIND_MAX: usize = 2;
/// Executions in which a text becomes longer.
const TRIES_MAX: usize = 96;
/// Executions in which one becomes shorter: two for each end.
const SHORTER_MAX: usize = 4 * (BEHIND_MAX + 1);

/// What came of another length.
#[derive(Debug)]
pub(in crate::engine::strategy::compares) enum Fit {
    /// The text is what the other one is.
    Solved(Solution),
    /// It is as long as the other one.
    Fitted(Fitted),
}

/// A text that is as long as the other one.
#[derive(Debug)]
pub(in crate::engine::strategy::compares) struct Fitted {
    pub(in crate::engine::strategy::compares) input: Vec<u8>,
    pub(in crate::engine::strategy::compares) goal: Observed,
    pub(in crate::engine::strategy::compares) dependence: Dependence,
}

/// Executions that [`fit`] may make, and what enumerates after it, where inputs are executed as they are.
pub(in crate::engine::strategy::compares) fn execs(problem: Problem<'_>, effort: Effort) -> u64 {
    let of_side = |side| {
        let lacks = lacks(problem, effort, side)?;
        let (tries, longer) = if lacks > 0 { (TRIES_MAX, UNIT_MAX * CONTENT_BYTES) } else { (SHORTER_MAX, 0) };
        Some(tries as u64 + dependence::execs(problem.input.len() + longer) + 2 * SWEEP_EXECS)
    };
    (0..2).filter_map(of_side).sum()
}

/// Finds an input for which a side that comes from the input is as long as the other one.
pub(in crate::engine::strategy::compares) fn fit(
    probe: &mut Probe<'_, '_>,
    problem: Problem<'_>,
    effort: Effort,
) -> Step<Option<Fit>> {
    if !probe.form.is_plain() {
        return Ok(None);
    }
    for side in 0..2 {
        let Some(lacks) = lacks(problem, effort, side) else { continue };
        let fit = if lacks > 0 { longer(probe, problem, (side, lacks)) } else { shorter(probe, problem, side) };
        if let Some(fit) = fit? {
            return Ok(Some(fit));
        }
    }
    Ok(None)
}

/// By how many bytes a side that comes from the input has to become longer, if its length is wrong. What is empty comes
/// from nowhere, and waits for much effort.
fn lacks(Problem { goal, dependence, .. }: Problem<'_>, effort: Effort, side: usize) -> Option<isize> {
    let comes_from_input = match effort {
        Effort::Little => false,
        Effort::Some => !dependence.sides[side].is_empty(),
        Effort::Much => dependence.is_none() && text(goal, side).is_some_and(<[u8]>::is_empty),
    };
    missing(goal, side).filter(|&lacks| comes_from_input && lacks != 0)
}

/// A side as a text, which ends with a zero: where a compiler knows one of two texts, it compares so many bytes.
fn text(goal: &Observed, side: usize) -> Option<&[u8]> {
    let Operands::Bytes { sides, matching } = &goal.operands else { return None };
    let text = sides[side].split(|&byte| byte == 0).next().unwrap_or_default();
    // There may be more of it than is known.
    (*matching != Matching::Within && text.len() < CONTENT_BYTES).then_some(text)
}

/// How many bytes a text lacks.
fn missing(goal: &Observed, side: usize) -> Option<isize> {
    let [own, wanted] = [text(goal, side)?, text(goal, 1 - side)?].map(|text| text.len().cast_signed());
    Some(wanted - own)
}

/// Executes a candidate; what came of it if it is as long as it must be, or else how many bytes a side lacks, where
/// that is known.
fn attempt(
    probe: &mut Probe<'_, '_>,
    goal: &Observed,
    side: usize,
    candidate: &[u8],
) -> Step<Result<Fit, Option<isize>>> {
    let goal = match probe.attempt(candidate, goal)? {
        Ok(solution) => return Ok(Ok(Fit::Solved(solution))),
        Err(None) => return Ok(Err(None)),
        Err(Some(observed)) => observed,
    };
    let lacks = missing(&goal, side);
    if lacks != Some(0) {
        return Ok(Err(lacks));
    }
    let dependence = dependence(probe, candidate, std::slice::from_ref(&goal))?.remove(0);
    Ok(Ok(Fit::Fitted(Fitted { input: candidate.to_vec(), goal, dependence })))
}

/// Leaves out what is behind the bytes that a text may have. How much longer it is isn't known where so many bytes are
/// compared as the other one has.
fn shorter(probe: &mut Probe<'_, '_>, problem: Problem<'_>, side: usize) -> Step<Option<Fit>> {
    let Problem { input, goal, dependence } = problem;
    let wanted = text(goal, 1 - side).map_or(0, <[u8]>::len);
    for end in ends(problem, side, wanted) {
        let behind = dependence.sides[side].last().map_or(input.len(), |&last| last + 1).max(end);
        for from in [input.len(), behind] {
            let candidate = [&input[..end], &input[from..]].concat();
            if let Ok(fit) = attempt(probe, goal, side, &candidate)? {
                return Ok(Some(fit));
            }
        }
    }
    Ok(None)
}

/// Has more of what is at the end of a text that lacks bytes.
fn longer(probe: &mut Probe<'_, '_>, problem: Problem<'_>, (side, lacks): (usize, isize)) -> Step<Option<Fit>> {
    let Problem { input, goal, dependence } = problem;
    let mut left = TRIES_MAX;
    let own = text(goal, side).map_or(0, <[u8]>::len);
    for end in ends(problem, side, own) {
        for bytes in 1..=UNIT_MAX.min(end) {
            // What is empty can't be like what is before it.
            let unit = if dependence.is_none() { &input[..bytes] } else { &input[end - bytes..end] };
            if let Some(fit) = repeated(probe, problem, (side, lacks), (end, unit), &mut left)? {
                return Ok(Some(fit));
            }
        }
    }
    Ok(None)
}

/// Where what tells the first bytes of a side may end in the input.
fn ends(Problem { input, dependence, .. }: Problem<'_>, side: usize, bytes: usize) -> BTreeSet<usize> {
    let content = dependence.content[side].iter().take(bytes).filter_map(|places| places.last()).max();
    let last = [content, dependence.sides[side].last()].into_iter().flatten().map(|last| last + 1);
    let last = last.chain(dependence.is_none().then_some(input.len()));
    last.flat_map(|end| end..=end + BEHIND_MAX).filter(|&end| end <= input.len()).collect()
}

/// Has a unit once more at an end for as long as fewer bytes are missing.
fn repeated(
    probe: &mut Probe<'_, '_>,
    Problem { input, goal, .. }: Problem<'_>,
    (side, mut lacks): (usize, isize),
    (end, unit): (usize, &[u8]),
    left: &mut usize,
) -> Step<Option<Fit>> {
    let mut longer = input.to_vec();
    while let Some(less) = left.checked_sub(1) {
        *left = less;
        longer.splice(end..end, unit.iter().copied());
        match attempt(probe, goal, side, &longer)? {
            Ok(fit) => return Ok(Some(fit)),
            Err(Some(now)) if (1..lacks).contains(&now) => lacks = now,
            Err(_) => break,
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::super::super::input::form::Form;
    use super::super::super::probing::probe::TracedExecution;
    use super::super::super::seen::observed::tests::compare;
    use super::*;
    use fuzzbox_instrument::trace::{CompareBytes, Comparer, Event, Record, Trace};
    use std::sync::Arc;

    fn goal(own: &[u8], wanted: &[u8]) -> Observed {
        let operands = Operands::Bytes { matching: Matching::Equal, sides: [own.to_vec(), wanted.to_vec()] };
        Observed { operands, ..compare(1, 0, 0) }
    }

    /// Shows how what is told by eight binary digits for each byte, up to a `;`, is compared with a name.
    fn shown(input: &[u8]) -> TracedExecution {
        let byte = |digits: &[u8; 8]| digits.iter().fold(0, |byte, digit| byte << 1 | (digit & 1));
        let bytes = input.as_chunks().0.iter().map(byte);
        let text = bytes.take_while(|&byte| byte != b';').collect();
        let content = [text, b"query".to_vec()];
        let compared = CompareBytes { comparer: Comparer::Strcmp, pointers: [0; 2], length: None, content };
        let record = Record { site: 1, event: Event::Bytes(Box::new(compared)) };
        let trace = Trace { records: vec![record], lost: 0 };
        TracedExecution { trace, drawn: None, ended_well: true, is_news: false, fuel: 1, fuel_left: u64::MAX }
    }

    /// What is found from an input for the text and the name.
    fn fit_of(input: &[u8], effort: Effort) -> Option<Fit> {
        let mut run = |input: &[u8]| Ok(Some(shown(input)));
        let mut probe = Probe {
            run: &mut run,
            form: Arc::new(Form::plain(input)),
            len_max: 1024,
            guards: Vec::new(),
            constants: Vec::new(),
            lost: Vec::new(),
            fuel_left: u64::MAX,
            is_spent: false,
            boundaries: false,
        };
        let goal = probe.observe(&shown(input).trace, |_| true).remove(0);
        let found = dependence(&mut probe, input, std::slice::from_ref(&goal)).unwrap().remove(0);
        fit(&mut probe, Problem { input, goal: &goal, dependence: &found }, effort).unwrap()
    }

    fn fitted_from(input: &[u8], effort: Effort) -> Option<Fitted> {
        match fit_of(input, effort)? {
            Fit::Fitted(fitted) => Some(fitted),
            Fit::Solved(solution) => panic!("{solution:?}"),
        }
    }

    #[test]
    fn a_text_gets_bytes_that_it_lacks_and_loses_others_however_they_are_told() {
        let (letter, end) = ("01100001", "00111011");
        let inputs = [letter.to_owned(), letter.repeat(3), letter.repeat(7), format!("{letter}{end}{letter}")];
        for input in inputs {
            let fitted = fitted_from(input.as_bytes(), Effort::Some).unwrap_or_else(|| panic!("{input}"));
            assert_eq!((missing(&fitted.goal, 0), fitted.dependence.content[0].len()), (Some(0), 5), "{input}");
        }
        assert!(fitted_from(letter.repeat(5).as_bytes(), Effort::Some).is_none(), "it is long enough");
        assert!(fitted_from(letter.as_bytes(), Effort::Little).is_none());
    }

    #[test]
    fn what_is_right_by_its_length_alone_is_a_solution() {
        let name: String = b"query".iter().map(|byte| format!("{byte:08b}")).collect();
        let input = format!("{name}{name}");
        let Some(Fit::Solved(solution)) = fit_of(input.as_bytes(), Effort::Some) else {
            panic!("it is the name twice")
        };
        assert_eq!(solution.executed, name.as_bytes());
    }

    #[test]
    fn a_text_ends_with_a_zero_and_may_be_longer_than_is_known() {
        assert_eq!(missing(&goal(b"ab\0\0\0", b"query"), 0), Some(3));
        assert_eq!(missing(&goal(b"abcdef", b"query\0"), 0), Some(-1));
        assert_eq!(missing(&goal(&[b'a'; CONTENT_BYTES], b"query"), 0), None);
    }

    #[test]
    fn what_tells_a_text_ends_behind_its_last_byte_or_behind_what_ends_it() {
        // `%61%62;` with each letter by two digits, and the separator.
        let content = vec![vec![1, 2], vec![4, 5], vec![6]];
        let dependence = Dependence {
            sides: [vec![1, 2, 4, 5, 6], Vec::new()],
            content: [content, Vec::new()],
            ..Dependence::default()
        };
        let goal = goal(b"ab\0", b"query");
        let problem = Problem { input: b"%61%62;", goal: &goal, dependence: &dependence };
        assert_eq!(ends(problem, 0, 1), BTreeSet::from([3, 4, 5, 7]));
        assert_eq!(ends(problem, 0, 2), BTreeSet::from([6, 7]));
        let nothing = Dependence::default();
        assert_eq!(ends(Problem { dependence: &nothing, ..problem }, 0, 0), BTreeSet::from([7]));
    }
}
