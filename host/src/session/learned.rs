//! What campaigns learned of a target beside its corpus: read from the store, carried over to another build, kept.
//!
//! A place in code is stored as the number of its operator among all of the module, which is the same whatever custom
//! sections there are and however wide a linker writes numbers. On another build it is the operator of the same number
//! in the function that this one is now.

use super::builds::Builds;
use super::setup::Session;
use crate::engine::{Campaign, Learned, Moved};
use crate::sandbox::Candidate;
use fuzzbox_instrument::identity::{FunctionIdentity, Pair};
use std::collections::{BTreeMap, BTreeSet};
use wasmparser::{Parser, Payload};

/// What is kept of a target, for this build: all of it if it was learned here, else what belongs to functions that are
/// as they were. `builds` are this one and the one before.
pub(super) fn load(session: &Session<'_>, builds: Option<&Builds>) -> Learned {
    let stored = match session.store.learned(&session.name) {
        Ok(Some(stored)) => stored,
        Ok(None) => return Learned::default(),
        Err(error) => {
            (session.warn)(&format!("what was learned of `{}` is left out: {error:#}", session.name));
            return Learned::default();
        }
    };
    let (module, bytes) = stored;
    let Some(learned) = Learned::of_bytes(&bytes) else {
        (session.warn)(&format!("what was learned of `{}` is left out: it is no list of that", session.name));
        return Learned::default();
    };
    let candidate = &session.target.candidate;
    if module == candidate.id {
        return here(candidate, &learned);
    }
    if let Some(builds) = builds.filter(|builds| builds.older == module) {
        return builds.carried(&learned);
    }
    let entries = session.store.modules(&session.name).unwrap_or_default();
    let older = entries.into_iter().rfind(|entry| entry.module == module);
    let builds = older.and_then(|older| Builds::of(session.store, older, candidate));
    builds.map_or_else(Learned::default, |builds| builds.carried(&learned))
}

/// Keeps what a campaign learned, or says why not: nothing else is lost by that.
pub(super) fn keep(session: &Session<'_>, campaign: &Campaign) {
    let learned = campaign.learned();
    let candidate = &session.target.candidate;
    let operators = Operators::of(candidate.bytes());
    let stored = learned.moved(&Moved { edge: &Some, site: &|site| operators.number(site), changed: BTreeSet::new() });
    if let Err(error) = session.store.set_learned(&session.name, candidate.id, &stored.to_bytes()) {
        (session.warn)(&format!("what was learned of `{}` is not kept: {error:#}", session.name));
    }
}

/// What was learned of this very module, as it is stored.
fn here(candidate: &Candidate, learned: &Learned) -> Learned {
    let operators = Operators::of(candidate.bytes());
    learned.moved(&Moved { edge: &Some, site: &|number| operators.offset(number), changed: BTreeSet::new() })
}

impl Builds {
    /// What was learned on the older build, as it is stored, on the new one.
    fn carried(&self, learned: &Learned) -> Learned {
        let (old, new) = (Operators::of(&self.wasm), Operators::of(&self.new_wasm));
        let (functions, imported) = (self.new.functions(), imported(self.old.functions()));
        let into: BTreeMap<u32, u32> = self.diff.same.iter().map(|&Pair { old, new }| (old, new)).collect();
        let site = |number: u32| {
            let (function, ordinal) = old.place(number)?;
            let function = into.get(&(function + imported))?.checked_sub(self::imported(functions))?;
            new.offset(new.number_of(function, ordinal)?)
        };
        let edges: BTreeMap<u32, u32> = self.edges_of_same().collect();
        let same: BTreeSet<u32> = edges.values().copied().collect();
        let all = functions.iter().map(|function| function.edges.end).max().unwrap_or(0);
        let changed = (0..all).filter(|edge| !same.contains(edge)).collect();
        learned.moved(&Moved { edge: &|edge| edges.get(&edge).copied(), site: &site, changed })
    }

    /// Edges of functions that are as they were: in the older build, and in the new one.
    fn edges_of_same(&self) -> impl Iterator<Item = (u32, u32)> {
        let (old, new) = (self.old.functions(), self.new.functions());
        let edges = |functions: &[FunctionIdentity], index: u32| functions[index as usize].edges.clone();
        let pairs = self.diff.same.iter().map(move |pair| (edges(old, pair.old), edges(new, pair.new)));
        pairs.filter(|(from, to)| from.len() == to.len()).flat_map(|(from, to)| from.zip(to))
    }
}

/// How many functions are imported: their indices come first.
fn imported(functions: &[FunctionIdentity]) -> u32 {
    functions.iter().filter(|function| function.imported).count() as u32
}

/// The operators of a module, numbered in the order of its code.
#[derive(Default)]
struct Operators {
    /// Where they are in the file, ascending.
    offsets: Vec<u32>,
    /// By function, without imported ones: the number of its first operator.
    starts: Vec<u32>,
}

impl Operators {
    /// As far as the module can be read.
    fn of(wasm: &[u8]) -> Self {
        let mut operators = Self::default();
        for payload in Parser::new(0).parse_all(wasm).map_while(Result::ok) {
            let Payload::CodeSectionEntry(body) = payload else { continue };
            operators.starts.push(operators.offsets.len() as u32);
            let reader = body.get_operators_reader().into_iter().flat_map(|reader| reader.into_iter_with_offsets());
            operators.offsets.extend(reader.map_while(Result::ok).map(|(_, offset)| offset as u32));
        }
        operators
    }

    /// The number of the operator at an offset.
    fn number(&self, offset: u32) -> Option<u32> {
        self.offsets.binary_search(&offset).ok().map(|number| number as u32)
    }

    /// Where an operator is.
    fn offset(&self, number: u32) -> Option<u32> {
        self.offsets.get(number as usize).copied()
    }

    /// The function of an operator, without imported ones, and its number in there.
    fn place(&self, number: u32) -> Option<(u32, u32)> {
        self.offset(number)?;
        let function = self.starts.partition_point(|&start| start <= number).checked_sub(1)?;
        Some((function as u32, number - self.starts[function]))
    }

    /// The number of the operator that is so many behind the first one of a function.
    fn number_of(&self, function: u32, ordinal: u32) -> Option<u32> {
        let number = self.starts.get(function as usize)?.checked_add(ordinal)?;
        (self.place(number)?.0 == function).then_some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_have_numbers_that_no_section_before_the_code_changes() {
        let functions = "(func (drop (i32.const 7))) (func) (func (param i32) (drop (i32.eqz (local.get 0))))";
        let read = |more: &str| Operators::of(&wat::parse_str(format!("(module {more} {functions})")).unwrap());
        let (plain, other) = (read(""), read(r#"(@custom "x" (before first) "a longer section") (memory 1)"#));
        // Each function has an `end`.
        assert_eq!(plain.starts, [0, 3, 4]);
        assert_eq!((plain.starts.clone(), plain.offsets.len()), (other.starts.clone(), other.offsets.len()));
        for number in 0..8 {
            let offset = plain.offset(number).unwrap();
            assert_ne!(other.offset(number), Some(offset));
            assert_eq!(plain.number(offset), Some(number));
            let (function, ordinal) = plain.place(number).unwrap();
            assert_eq!(plain.number_of(function, ordinal), Some(number));
        }
        assert_eq!((plain.place(5), plain.place(8), plain.number(0)), (Some((2, 1)), None, None));
        assert_eq!((plain.number_of(0, 3), plain.number_of(3, 0), plain.number_of(2, u32::MAX)), (None, None, None));
    }
}
