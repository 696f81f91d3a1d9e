//! Choices found again in a generator that has changed.
//!
//! A stream that is read by a new generator as it is goes wrong from the first draw that is new, or gone: everything
//! behind it gets what was meant for something else. The spans of the execution in which the stream was drawn say what
//! was meant for what:
//!
//! ```text
//! stored         actions( action(more 2 8) action(more 1 3) action(end) )
//! generator   5? actions( action(more 2 8 extra?) action(more 1 3 extra?) action(end) )
//! ```
//!
//! The new generator is executed, and what it does is laid beside what is stored, span by span: a span takes its
//! choices from the next stored one with the same label inside the stored span that the span around it takes its
//! choices from. What the generator draws and the store doesn't have is the simplest; what is stored and the generator
//! doesn't draw is left out. (guided-tree-search does so by the depth of its scopes alone, and loses what follows a
//! draw that is new before a scope.)
//!
//! What a generator draws depends on what it drew, so choices are settled from the left: each one that is not the
//! simplest costs an execution, which shows what the generator draws then.

use super::choice::Choice;
use super::sample::Node;
use super::trace::{Draw, Span, Trace};
use anyhow::Result;

/// Executions at most. What is left of the stream then is the simplest.
const EXECS_MAX: usize = 20_000;
/// Children of a span, on each side, that are compared with each other.
const WINDOW: usize = 128;

/// What two children that belong together count: labels say more than kinds.
const SAME_SPAN: i32 = 64;
const SAME_DRAW: i32 = 4;
/// Draws of the same kind with other bounds.
const SAME_KIND: i32 = 2;
/// What leaving out a stored child costs if one behind it is taken.
const LOST_SPAN: i32 = 6;
const LOST_DRAW: i32 = 3;

/// The stream with which a changed generator draws what `stored` drew, as far as it still draws that.
///
/// `execute` executes the new generator with a stream and the simplest choices behind it. `stored_label` and `label`
/// give the spans of the stored execution, and those of the new generator, names in common; spans without one count as
/// part of the span around them.
///
/// # Errors
///
/// Those of `execute`.
pub fn resync(
    stored: &Trace,
    stored_label: impl Fn(&Span) -> Option<u64>,
    label: impl Fn(&Span) -> Option<u64>,
    mut execute: impl FnMut(&[Choice]) -> Result<Trace>,
) -> Result<Vec<Choice>> {
    let mut levels = vec![Level { entered: 0, stored: Some(outline(stored, stored_label)), next: 0 }];
    let mut settled: Vec<Choice> = Vec::new();
    for _ in 0..EXECS_MAX {
        let trace = execute(&settled)?;
        let tree = outline(&trace, &label);
        let mut changed = false;
        while settled.len() < trace.choices.len() && !changed {
            let choice = settle(&mut levels, &tree, settled.len());
            changed = choice != trace.choices[settled.len()];
            settled.push(choice);
        }
        if !changed {
            break;
        }
    }
    Ok(settled)
}

/// The tree of an execution's named spans. What was thrown away is part of it: whether a span will be is not known when
/// it begins.
fn outline(trace: &Trace, label: impl Fn(&Span) -> Option<u64>) -> Node {
    let named = |span: &Span| Some(Span { label: label(span)?, discarded: false, ..*span });
    let spans = trace.spans.iter().filter_map(named).collect();
    Node::of(&Trace { choices: trace.choices.clone(), draws: trace.draws.clone(), spans, ..Trace::default() })
}

/// A span that the new generator is in.
struct Level {
    /// Which child of the span around it.
    entered: usize,
    /// The stored span that it takes its choices from.
    stored: Option<Node>,
    /// The first of that one's children that is not used up.
    next: usize,
}

impl Level {
    /// Takes what is stored for the first of `children`; those that follow it say what must be left for them.
    fn take(&mut self, children: &[Node]) -> Option<Node> {
        let left = &self.stored.as_ref()?.children()[self.next..];
        let at = partner(&children[..children.len().min(WINDOW)], &left[..left.len().min(WINDOW)])?;
        let taken = left[at].clone();
        self.next += at + 1;
        Some(taken)
    }
}

/// The choice for a draw, those before it being settled.
fn settle(levels: &mut Vec<Level>, tree: &Node, draw: usize) -> Choice {
    let path = tree.path_to_draw(draw);
    let still_in = 1 + levels[1..].iter().zip(&path).take_while(|(level, step)| level.entered == **step).count();
    levels.truncate(still_in.min(path.len()));
    for depth in levels.len()..path.len() {
        let entered = path[depth - 1];
        let stored = levels[depth - 1].take(&tree.at(&path[..depth - 1]).children()[entered..]);
        levels.push(Level { entered, stored, next: 0 });
    }
    let (step, around) = path.split_last().expect("a draw is in a span");
    let children = &tree.at(around).children()[*step..];
    let (new, simplest) = children[0].as_draw().expect("the path leads to a draw");
    let taken = levels.last_mut().expect("the root stays").take(children);
    taken
        .as_ref()
        .and_then(Node::as_draw)
        .map_or_else(|| simplest.clone(), |(old, choice)| adapted(old, choice, new, simplest))
}

/// What a draw takes of the choice that another of its kind took: the same number, else the same index, where its
/// bounds allow.
fn adapted(old: &Draw, choice: &Choice, new: &Draw, simplest: &Choice) -> Choice {
    let Choice::Index(index) = choice else { return choice.clone() };
    let same_index = || (*index <= new.max).then_some(Choice::Index(*index));
    new.reencode(old, choice).or_else(same_index).unwrap_or_else(|| simplest.clone())
}

/// Which of `stored` belongs to the first of `new`, if the most of both are brought together in their order; the first
/// one of several.
fn partner(new: &[Node], stored: &[Node]) -> Option<usize> {
    let (rows, columns) = (new.len() + 1, stored.len() + 1);
    // best[i][j]: what is gained from new[i..] and stored[j..].
    let mut best = vec![0; rows * columns];
    for i in (0..new.len()).rev() {
        for j in (0..stored.len()).rev() {
            let similar = similarity(&new[i], &stored[j]);
            let together = if similar > 0 { similar + best[(i + 1) * columns + j + 1] } else { 0 };
            let without_stored = best[i * columns + j + 1] - cost(&stored[j]);
            best[i * columns + j] = together.max(best[(i + 1) * columns + j]).max(without_stored);
        }
    }
    for j in 0..stored.len() {
        let similar = similarity(&new[0], &stored[j]);
        if similar > 0 && similar + best[columns + j + 1] == best[j] {
            return Some(j);
        }
        if best[columns + j] == best[j] {
            return None;
        }
    }
    None
}

fn similarity(new: &Node, stored: &Node) -> i32 {
    match (new.as_draw(), stored.as_draw()) {
        (Some((new, _)), Some((stored, _))) if new.kind == stored.kind => {
            let bounds = |draw: &Draw| (draw.lo, draw.hi, draw.max, draw.towards);
            if bounds(new) == bounds(stored) { SAME_DRAW } else { SAME_KIND }
        }
        (None, None) if new.label() == stored.label() => SAME_SPAN,
        _ => 0,
    }
}

fn cost(stored: &Node) -> i32 {
    if stored.label().is_some() { LOST_SPAN } else { LOST_DRAW }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::DrawKind;

    /// A generator that draws from a stream, the simplest where that has ended.
    struct Source {
        given: Vec<Choice>,
        trace: Trace,
        open: u16,
    }

    impl Source {
        fn draw(&mut self, kind: DrawKind, max: u64) -> u64 {
            let at = self.trace.choices.len();
            let index = self.given.get(at).and_then(Choice::index).filter(|index| *index <= max).unwrap_or(0);
            let hi = max.cast_signed();
            let draw = Draw { kind, site: 0, max, forced: max == 0, payload: false, lo: 0, hi, towards: 0 };
            self.trace.draws.push(draw);
            self.trace.choices.push(Choice::Index(index));
            index
        }

        fn span<T>(&mut self, label: u64, make: impl FnOnce(&mut Self) -> T) -> T {
            let number = self.trace.spans.len();
            let (start, depth) = (self.trace.choices.len() as u32, self.open);
            let span = Span::told(label, start, start, depth);
            self.trace.spans.push(span);
            self.open += 1;
            let made = make(self);
            self.open -= 1;
            self.trace.spans[number].end = self.trace.choices.len() as u32;
            made
        }

        /// Lists of `element`s; each is in a span if the list is.
        fn list(&mut self, label: Option<u64>, mut element: impl FnMut(&mut Self) -> u64) -> Vec<u64> {
            let mut next = |source: &mut Self| {
                if source.draw(DrawKind::More, 1) == 1 { Some(element(source)) } else { None }
            };
            match label {
                Some(label) => {
                    self.span(label, |source| std::iter::from_fn(|| source.span(label + 1, &mut next)).collect())
                }
                None => std::iter::from_fn(|| next(self)).collect(),
            }
        }
    }

    fn run<T>(given: &[Choice], generator: impl FnOnce(&mut Source) -> T) -> (Trace, T) {
        let mut source = Source { given: given.to_vec(), trace: Trace::default(), open: 0 };
        let made = generator(&mut source);
        (source.trace, made)
    }

    /// What `new` makes of what `old` drew from `choices`.
    fn resynced<A, B>(
        choices: &[u64],
        old: impl FnOnce(&mut Source) -> A,
        new: impl Fn(&mut Source) -> B,
    ) -> (Vec<u64>, B) {
        let choices: Vec<_> = choices.iter().copied().map(Choice::Index).collect();
        let (stored, _) = run(&choices, old);
        assert_eq!(stored.choices, choices);
        let label = |span: &Span| Some(span.label);
        let found = resync(&stored, label, label, |given| Ok(run(given, &new).0)).unwrap();
        let (trace, made) = run(&found, &new);
        assert_eq!(trace.choices, found, "what is found is what is drawn");
        (found.iter().filter_map(Choice::index).collect(), made)
    }

    fn number(source: &mut Source) -> u64 {
        source.draw(DrawKind::Int, 100)
    }

    /// Three, eight and five.
    const LIST: [u64; 7] = [1, 3, 1, 8, 1, 5, 0];

    #[test]
    fn a_generator_that_has_not_changed_draws_the_same() {
        for label in [None, Some(7)] {
            let list = |source: &mut Source| source.list(label, number);
            assert_eq!(resynced(&LIST, list, list), (LIST.to_vec(), vec![3, 8, 5]));
        }
    }

    #[test]
    fn a_draw_in_front_is_the_simplest_and_the_rest_what_it_was() {
        for label in [None, Some(7)] {
            for kind in [DrawKind::Choice, DrawKind::Int] {
                let new = |source: &mut Source| (source.draw(kind, 1000), source.list(label, number));
                let (_, (first, list)) = resynced(&LIST, |source| source.list(label, number), new);
                assert_eq!((first, list), (0, vec![3, 8, 5]), "{label:?} {kind:?}");
            }
        }
    }

    #[test]
    fn what_is_no_longer_drawn_is_left_out() {
        let old = |source: &mut Source| {
            source.draw(DrawKind::Choice, 9);
            source.span(20, |source| source.list(Some(30), number));
            source.list(Some(7), |source| number(source) + number(source))
        };
        let choices = [4, 1, 9, 0, 1, 3, 30, 1, 8, 80, 0];
        let (found, list) = resynced(&choices, old, |source| source.list(Some(7), number));
        assert_eq!((found, list), (vec![1, 3, 1, 8, 0], vec![3, 8]));
    }

    #[test]
    fn draws_that_are_new_in_each_element_are_the_simplest() {
        let new = |source: &mut Source| {
            source.list(Some(7), |source| {
                let tag = source.draw(DrawKind::Bool, 1);
                source.span(9, |source| source.draw(DrawKind::Choice, 4)) + tag + number(source)
            })
        };
        let (found, list) = resynced(&LIST, |source| source.list(Some(7), number), new);
        assert_eq!((found.len(), list), (13, vec![3, 8, 5]));
    }

    #[test]
    fn numbers_stay_what_they_are_where_bounds_allow() {
        let int = |lo: i64, hi: i64| Draw {
            kind: DrawKind::Int,
            site: 0,
            max: hi.abs_diff(lo),
            forced: false,
            payload: false,
            lo,
            hi,
            towards: 0,
        };
        let (old, new) = (int(0, 100), int(-9, 20));
        let to = |choice: u64| adapted(&old, &Choice::Index(choice), &new, &Choice::ZERO);
        assert_eq!((to(5), to(20), to(25)), (Choice::Index(9), Choice::Index(29), Choice::Index(25)));
        assert_eq!(to(30), Choice::ZERO, "neither the number nor the index is left");
    }

    #[test]
    fn only_choices_that_are_not_the_simplest_cost_an_execution() {
        let list = |source: &mut Source| source.list(Some(7), |source| number(source) + number(source));
        let (stored, _) = run(&[1, 0, 9, 1, 0, 0, 0].map(Choice::Index), list);
        let (label, mut executions) = (|span: &Span| Some(span.label), 0);
        let execute = |given: &[Choice]| {
            executions += 1;
            Ok(run(given, list).0)
        };
        assert_eq!(resync(&stored, label, label, execute).unwrap(), stored.choices);
        assert_eq!(executions, 1 + 3);
    }
}
