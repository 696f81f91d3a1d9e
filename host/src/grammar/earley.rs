//! From a text to the choices of a derivation (Earley, "An efficient context-free parsing algorithm", 1970; what can be
//! empty is taken care of when it is predicted, as by Aycock and Horspool, "Practical Earley parsing", 2002).
//!
//! Any grammar will do, left-recursive and ambiguous ones too; of several derivations one is found, always the same.
//! Repetitions are parsed as if they were left-recursive, which takes time by the length where the other way takes its
//! square. Whatever takes too long is given up.

use super::{Grammar, Rule, Symbol, place, size};
use crate::stream::{Choice, Draw, DrawKind, Node, Span, Trace};
use std::collections::{BTreeMap, BTreeSet};

/// Longer texts are not parsed, in bytes.
pub const PARSE_BYTES_MAX: usize = 1 << 16;
/// Items of a text, and attempts to add one, at most.
const STEPS_MAX: usize = 1 << 20;
/// Choices of a derivation, at most.
const CHOICES_MAX: usize = 1 << 16;

/// An alternative of a rule, of which some symbols were found.
#[derive(Clone, Copy, Debug)]
struct Item {
    rule: u32,
    alternative: u32,
    /// Symbols that were found.
    dot: u32,
    /// Where the first of them begins.
    origin: u32,
    /// The item before the last of them was found, and what that is.
    before: Place,
    found: Found,
}

/// Where an item is: at which place of the text, and which of those that are there.
type Place = (u32, u32);

/// What a symbol turned out to be.
#[derive(Clone, Copy, Debug)]
enum Found {
    /// A text.
    Nothing,
    Character(char),
    /// A rule, by its item.
    Rule(Place),
    /// A rule that stands for nothing here.
    Empty,
}

/// A symbol, as repetitions are parsed.
enum Next<'a> {
    Symbol(&'a Symbol),
    Again(usize),
}

/// Items by where they end.
struct Chart<'a> {
    rules: &'a [Rule],
    sets: Vec<Vec<Item>>,
    steps: usize,
}

impl Grammar {
    /// The derivation of a text, as what a guest that draws would have drawn; `None` if there is none, or it takes too
    /// long to find.
    pub fn derivation(&self, text: &[u8]) -> Option<Node> {
        if text.len() > PARSE_BYTES_MAX {
            return None;
        }
        let empty = empty(&self.rules);
        let chart = Chart { rules: &self.rules, sets: vec![Vec::new(); text.len() + 1], steps: 0 };
        let chart = chart.filled(text, &empty)?;
        let last = chart.sets.last()?;
        let is_all = |item: &Item| item.rule == 0 && item.origin == 0 && chart.next(item).is_none();
        let root = match last.iter().position(is_all) {
            Some(item) => Found::Rule((text.len() as u32, item as u32)),
            None if text.is_empty() && empty[0].is_some() => Found::Empty,
            None => return None,
        };
        Some(Node::of(&chart.trace(root, &empty)?))
    }
}

/// By rule: which alternative is the first that can stand for nothing.
fn empty(rules: &[Rule]) -> Vec<Option<usize>> {
    let mut empty: Vec<Option<usize>> = vec![None; rules.len()];
    loop {
        let mut is_same = true;
        for (index, rule) in rules.iter().enumerate().filter(|(index, _)| empty[*index].is_none()).collect::<Vec<_>>() {
            let is_empty = |symbol: &Symbol| matches!(symbol, Symbol::Rule(rule) if empty[*rule].is_some());
            let found = rule.alternatives.iter().position(|alternative| alternative.iter().all(is_empty));
            is_same &= found.is_none();
            empty[index] = found;
        }
        if is_same {
            return empty;
        }
    }
}

impl<'a> Chart<'a> {
    /// The symbol that an item waits for.
    fn next(&self, item: &Item) -> Option<Next<'a>> {
        let rule = &self.rules[item.rule as usize];
        let alternative = &rule.alternatives[item.alternative as usize];
        match (item.dot as usize, rule.repeats && item.alternative == 1) {
            (0, true) => Some(Next::Again(item.rule as usize)),
            (dot, true) => alternative[..alternative.len() - 1].get(dot - 1).map(Next::Symbol),
            (dot, false) => alternative.get(dot).map(Next::Symbol),
        }
    }

    /// All items of a text; `None` if they are too many.
    fn filled(mut self, text: &[u8], empty: &[Option<usize>]) -> Option<Self> {
        // By place: who waits for a rule there.
        let mut waiting: Vec<BTreeMap<usize, Vec<u32>>> = vec![BTreeMap::new(); text.len() + 1];
        self.predict(0, 0, &mut BTreeSet::new())?;
        for at in 0..=text.len() {
            let key = |item: &Item| (item.rule, item.alternative, item.dot, item.origin);
            let mut known: BTreeSet<_> = self.sets[at].iter().map(key).collect();
            let mut index = 0;
            while let Some(&item) = self.sets[at].get(index) {
                let here = (at as u32, index as u32);
                let moved = |found| Item { dot: item.dot + 1, before: here, found, ..item };
                index += 1;
                let rule = match self.next(&item) {
                    None => {
                        let origin = item.origin as usize;
                        for place in waiting[origin].get(&(item.rule as usize)).cloned().unwrap_or_default() {
                            let waits = self.sets[origin][place as usize];
                            let before = (origin as u32, place);
                            let moved = Item { dot: waits.dot + 1, before, found: Found::Rule(here), ..waits };
                            self.add(at, moved, &mut known)?;
                        }
                        continue;
                    }
                    Some(Next::Symbol(Symbol::Text(bytes))) => {
                        if text[at..].starts_with(bytes) {
                            self.sets[at + bytes.len()].push(moved(Found::Nothing));
                        }
                        continue;
                    }
                    Some(Next::Symbol(&Symbol::Range(first, last))) => {
                        let found = character_at(&text[at..]).filter(|found| (first..=last).contains(found));
                        if let Some(found) = found {
                            self.sets[at + found.len_utf8()].push(moved(Found::Character(found)));
                        }
                        continue;
                    }
                    Some(Next::Symbol(Symbol::Rule(rule))) => *rule,
                    Some(Next::Again(rule)) => rule,
                };
                let waiters = waiting[at].entry(rule).or_default();
                waiters.push(here.1);
                if waiters.len() == 1 {
                    self.predict(rule, at, &mut known)?;
                }
                if empty[rule].is_some() {
                    self.add(at, moved(Found::Empty), &mut known)?;
                }
            }
        }
        Some(self)
    }

    fn predict(&mut self, rule: usize, at: usize, known: &mut BTreeSet<(u32, u32, u32, u32)>) -> Option<()> {
        for alternative in 0..self.rules[rule].alternatives.len() {
            let (rule, alternative, origin) = (rule as u32, alternative as u32, at as u32);
            let item = Item { rule, alternative, dot: 0, origin, before: (0, 0), found: Found::Nothing };
            self.add(at, item, known)?;
        }
        Some(())
    }

    fn add(&mut self, at: usize, item: Item, known: &mut BTreeSet<(u32, u32, u32, u32)>) -> Option<()> {
        self.steps += 1;
        if known.insert((item.rule, item.alternative, item.dot, item.origin)) {
            self.sets[at].push(item);
        }
        (self.steps <= STEPS_MAX).then_some(())
    }

    /// What was found of an item's symbols, in their order.
    fn found(&self, place: Place) -> (Item, Vec<Found>) {
        let item = self.sets[place.0 as usize][place.1 as usize];
        let (mut found, mut before) = (Vec::with_capacity(item.dot as usize), item);
        while before.dot > 0 {
            found.push(before.found);
            before = self.sets[before.before.0 as usize][before.before.1 as usize];
        }
        found.reverse();
        (item, found)
    }

    /// The derivation below a rule; `None` if it is too large.
    fn trace(&self, root: Found, empty: &[Option<usize>]) -> Option<Trace> {
        let (mut trace, mut open, mut depth) = (Trace::default(), vec![Todo::Rule(0, root)], 0_u16);
        while let Some(todo) = open.pop() {
            if trace.choices.len() > CHOICES_MAX || open.len() > STEPS_MAX {
                return None;
            }
            match todo {
                Todo::End(span) => {
                    depth = depth.saturating_sub(1);
                    trace.spans[span].end = trace.draws.len() as u32;
                }
                Todo::Draw { site, index, count } => {
                    let (max, site) = (count - 1, site as u32);
                    trace.choices.push(Choice::Index(index));
                    let (kind, hi) = (DrawKind::Choice, max.cast_signed());
                    let (forced, payload, lo, towards) = (max == 0, false, 0, 0);
                    trace.draws.push(Draw { kind, site, max, forced, payload, lo, hi, towards });
                }
                Todo::Rule(rule, found) => {
                    let (start, label) = (trace.draws.len() as u32, rule as u64 + 1);
                    open.push(Todo::End(trace.spans.len()));
                    let (parent, discarded, automatic) = (None, false, false);
                    trace.spans.push(Span { label, parent, start, end: start, depth, discarded, automatic });
                    depth = depth.saturating_add(1);
                    let begin = open.len();
                    self.expand(rule, found, empty, &mut open);
                    open[begin..].reverse();
                }
            }
        }
        Some(trace)
    }

    /// Adds what a rule's derivation begins with, and what is in it.
    fn expand(&self, rule: usize, found: Found, empty: &[Option<usize>], open: &mut Vec<Todo>) {
        let its = &self.rules[rule];
        let choice =
            |alternative| Todo::Draw { site: rule, index: alternative as u64, count: its.alternatives.len() as u64 };
        let Found::Rule(place) = found else {
            let alternative = empty[rule].expect("it can be empty");
            open.push(choice(alternative));
            let all = vec![Found::Empty; its.alternatives[alternative].len()];
            return self.children(&its.alternatives[alternative], &all, open);
        };
        let (mut item, mut found) = self.found(place);
        if !its.repeats {
            open.push(choice(item.alternative as usize));
            return self.children(&its.alternatives[item.alternative as usize], &found, open);
        }
        // The last one is outermost.
        let mut bodies = Vec::new();
        while item.alternative == 1 {
            let again = found.remove(0);
            bodies.push(found);
            let Found::Rule(place) = again else { break };
            (item, found) = self.found(place);
        }
        let (_, body) = its.alternatives[1].split_last().expect("the rule itself is the last symbol");
        for found in bodies.into_iter().rev() {
            open.push(choice(1));
            self.children(body, &found, open);
        }
        open.push(choice(0));
    }

    /// Adds what symbols turned out to be.
    fn children(&self, symbols: &[Symbol], found: &[Found], open: &mut Vec<Todo>) {
        for (symbol, &found) in symbols.iter().zip(found) {
            match (symbol, found) {
                (Symbol::Rule(rule), found) => open.push(Todo::Rule(*rule, found)),
                (&Symbol::Range(first, last), Found::Character(found)) => {
                    let (index, count) = (u64::from(place(found) - place(first)), size(first, last));
                    open.push(Todo::Draw { site: self.rules.len(), index, count });
                }
                _ => {}
            }
        }
    }
}

/// What is left to be written of a derivation.
enum Todo {
    Rule(usize, Found),
    Draw { site: usize, index: u64, count: u64 },
    End(usize),
}

/// The character that a text begins with.
fn character_at(text: &[u8]) -> Option<char> {
    let len = text.len().min(4);
    match std::str::from_utf8(&text[..len]) {
        Ok(text) => text.chars().next(),
        Err(error) => std::str::from_utf8(&text[..error.valid_up_to()]).ok()?.chars().next(),
    }
}
