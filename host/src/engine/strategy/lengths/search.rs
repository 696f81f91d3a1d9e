//! Finds out which candidates are lengths, by executing.

use super::candidates::{BEGINS, Begin, Kind, candidates, larger, step};
use crate::engine::lengths::{Length, grown};
use crate::engine::scheduler::EXECUTION_FUEL;
use crate::engine::strategy::View;
use crate::engine::testcase::Testcase;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use crate::stream::Rule;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Executions to find out whether something is a length, at most.
const CANDIDATE_EXECS: u64 = 40;
/// What is made larger with one, at most.
const OTHERS_MAX: usize = 16;
/// Others of which each is made larger alone, at most.
const SINGLES_MAX: usize = 12;
/// Lengths of a testcase, at most.
const LENGTHS_MAX: usize = 64;
/// Fuel that it takes to see whether an edge was executed.
const EDGE_FUEL: u64 = 8;
/// Of the executions of a task one part in so many is to look for what may be a length.
const LOOK_PART: u64 = 4;

/// Executes inputs, and says which of a testcase's edges they leave out.
pub(super) struct Trying<'a, 'w> {
    view: &'a View<'a>,
    worker: &'w mut Worker,
    report: &'w mut Report,
    /// Ascending.
    edges: Vec<u32>,
    /// By edge: the last execution that executed it, of these.
    executed: Vec<u64>,
    execs: u64,
    spent: u64,
}

/// Fuel of an execution of a testcase that takes so much itself and has so many edges.
pub(super) fn execution_fuel(fuel: u64, edges: usize) -> u64 {
    fuel.saturating_add(EXECUTION_FUEL + EDGE_FUEL * edges as u64)
}

impl<'a, 'w> Trying<'a, 'w> {
    /// Executes on a worker.
    pub(super) fn new(testcase: &Testcase, view: &'a View<'a>, worker: &'w mut Worker, report: &'w mut Report) -> Self {
        let seen = view.corpus.seen();
        let mut edges: Vec<_> = testcase.profile.0.iter().map(|&(edge, _)| edge).collect();
        edges.retain(|&edge| seen.is_edge(edge));
        Self { view, worker, report, edges, executed: vec![0; seen.edges_total()], execs: 0, spent: 0 }
    }

    /// The edges that an input leaves out.
    fn left_out(&mut self, input: Vec<u8>) -> Result<Vec<u32>> {
        self.execs += 1;
        self.worker.input = input;
        self.worker.rule = Rule::default();
        let (_, observation) = self.worker.execute_shown(self.view.variants, self.view.known, self.report)?;
        self.spent += execution_fuel(observation.fuel(), self.edges.len());
        observation.edges(|edge, _| self.executed[edge as usize] = self.execs);
        Ok(self.edges.iter().copied().filter(|&edge| self.executed[edge as usize] != self.execs).collect())
    }
}

/// Candidates have their turns, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// Those that are right alone, or with others that are written alike: all comes back that was left out.
    Sure,
    /// Those that are right with some other.
    Joint,
    /// Those by which not all comes back, but most.
    Partly,
    /// Those of which it is not seen where what they count ends.
    Vague,
}

impl Turn {
    const ALL: [Self; 4] = [Self::Sure, Self::Joint, Self::Partly, Self::Vague];

    /// How many of so many edges that are left out have to be reached again.
    fn least(self, lost: usize) -> usize {
        match self {
            Self::Sure | Self::Joint => lost,
            Self::Partly | Self::Vague => lost / 2 + 1,
        }
    }
}

/// What may be a length.
#[derive(Debug)]
struct Candidate {
    kind: Kind,
    length: Length,
    /// The edges that are left out if it is larger.
    lost: Rc<[u32]>,
}

/// The search for a testcase's lengths.
pub(super) struct Search<'a, 'w> {
    trying: Trying<'a, 'w>,
    input: &'a [u8],
    /// Executions, at most.
    execs_max: u64,
    /// Those that are sure.
    found: Vec<Length>,
    /// How they are written.
    kinds: BTreeSet<Kind>,
    /// What may be some.
    candidates: Vec<Candidate>,
}

impl<'a, 'w> Search<'a, 'w> {
    /// A search that has found nothing that isn't known.
    pub(super) fn new(trying: Trying<'a, 'w>, testcase: &'a Testcase, execs_max: u64) -> Self {
        let (input, found) = (&*testcase.bytes, testcase.lengths.clone());
        Self { trying, input, execs_max, found, kinds: BTreeSet::new(), candidates: Vec::new() }
    }

    /// The testcase's lengths, and fuel that it took to find them.
    pub(super) fn run(mut self) -> Result<(Vec<Length>, u64)> {
        self.look()?;
        self.sort();
        self.find()?;
        Ok((self.found, self.trying.spent))
    }

    /// Finds what leaves edges out if it is larger.
    fn look(&mut self) -> Result<()> {
        for at in 0..self.input.len() {
            // Most that lie there are the same byte.
            let mut left_out: BTreeMap<Vec<u8>, Rc<[u32]>> = BTreeMap::new();
            for (kind, length) in candidates(self.input, at) {
                let Some(larger) = larger(self.input, &length) else { continue };
                if !left_out.contains_key(&larger) {
                    if self.trying.execs >= self.execs_max / LOOK_PART {
                        return Ok(());
                    }
                    let lost = self.trying.left_out(larger.clone())?;
                    left_out.insert(larger.clone(), lost.into());
                }
                let lost = left_out[&larger].clone();
                if !lost.is_empty() {
                    self.candidates.push(Candidate { kind, length, lost });
                }
            }
        }
        Ok(())
    }

    /// Those first that are most likely, each kind in the order of its places.
    fn sort(&mut self) {
        let rank = |begin| BEGINS.iter().position(|known| *known == begin);
        self.candidates.sort_by_key(|Candidate { kind: (_, begin, unit), .. }| (*unit != 1, rank(*begin)));
    }

    /// Finds out which of these are lengths: others may be inside of what is found.
    fn find(&mut self) -> Result<()> {
        for turn in Turn::ALL {
            for number in 0..self.candidates.len() {
                let is_taken = is_taken(&self.found, &self.candidates[number].length);
                if self.trying.execs + CANDIDATE_EXECS > self.execs_max || self.found.len() >= LENGTHS_MAX {
                    return Ok(());
                }
                if !is_taken && let Some(others) = self.is_length(number, turn)? {
                    let Candidate { kind, length, .. } = &self.candidates[number];
                    self.kinds.insert(*kind);
                    self.found.extend(others);
                    self.found.push(length.clone());
                }
            }
        }
        Ok(())
    }

    /// Whether most of what is left out with a larger number is reached with more bytes, too. Returns others that have
    /// to be larger as well; `None` if it is none.
    fn is_length(&mut self, number: usize, turn: Turn) -> Result<Option<Vec<Length>>> {
        for mut others in self.others(number, turn) {
            let Some(grown) = self.grown(number, &others) else { continue };
            let again = self.again(grown.clone(), number)?;
            let least = turn.least(self.candidates[number].lost.len());
            if again < least || self.helps_elsewhere(number, &grown, again, turn)? {
                continue;
            }
            // Only who has to.
            for place in (0..others.len()).rev() {
                let without = [&others[..place], &others[place + 1..]].concat();
                if let Some(grown) = self.grown(number, &without)
                    && self.again(grown, number)? >= again
                {
                    others = without;
                }
            }
            return Ok(Some(others));
        }
        Ok(None)
    }

    /// The input with a larger candidate and others, and with as many bytes more where that ends.
    fn grown(&self, number: usize, others: &[Length]) -> Option<Vec<u8>> {
        let Candidate { length, .. } = &self.candidates[number];
        let all: Vec<_> = self.found.iter().chain(others).chain([length]).cloned().collect();
        grown(self.input, &all, length.body.end, step(length))
    }

    /// Whether the bytes that are put in help as much elsewhere: one further on, unless the turn is for those whose
    /// ends nobody sees, or in front of the number, where nothing else is made larger.
    fn helps_elsewhere(&mut self, number: usize, grown: &[u8], again: usize, turn: Turn) -> Result<bool> {
        let Candidate { length, .. } = &self.candidates[number];
        let (end, by) = (length.body.end, step(length));
        let larger = larger(self.input, length).expect("it was larger before");
        let (before, behind) = larger.split_at(length.field.start);
        let in_front = [before, &self.input[end - by..end], behind].concat();
        if turn != Turn::Vague && end < self.input.len() {
            let mut further = grown.to_vec();
            let start = grown.len() - (self.input.len() - end) - by;
            further[start..=start + by].rotate_right(1);
            if further != grown && self.again(further, number)? >= again {
                return Ok(true);
            }
        }
        Ok(self.again(in_front, number)? >= again)
    }

    /// How many of the edges that are left out with a larger number an input reaches.
    fn again(&mut self, input: Vec<u8>, number: usize) -> Result<usize> {
        let lost = self.candidates[number].lost.clone();
        let left_out = self.trying.left_out(input)?;
        Ok(lost.iter().filter(|edge| left_out.binary_search(edge).is_err()).count())
    }

    /// What may have to be larger with a candidate: nothing; what is around it and written as it is, or as what was
    /// found; whatever ends with it or with the input; and in a later turn each that is around it or the offset of what
    /// lies behind it, and all of these.
    fn others(&self, number: usize, turn: Turn) -> Vec<Vec<Length>> {
        let Candidate { kind, length, .. } = &self.candidates[number];
        let end = length.body.end;
        let alike = |other: &Candidate| other.kind == *kind || self.kinds.contains(&other.kind);
        let fits = |other: &Candidate| [end, self.input.len()].contains(&other.length.body.end);
        let around = |other: &Candidate| other.length.is_around(length);
        let offset = |other: &Candidate| other.kind.1 == Begin::Input && other.length.body.end >= end;
        let mut all = vec![Vec::new()];
        let mut add = |others| {
            if !all.contains(&others) {
                all.push(others);
            }
        };
        add(self.chosen(length, |other| around(other) && alike(other)));
        add(self.chosen(length, |other| around(other) && (alike(other) || fits(other))));
        if turn != Turn::Sure {
            let either = |other: &&Candidate| around(other) || offset(other);
            let singles = self.candidates.iter().filter(either).map(|other| &other.length);
            let singles = singles
                .filter(|single| !is_taken(&self.found, single) && !is_taken(std::slice::from_ref(length), single));
            singles.take(SINGLES_MAX).for_each(|single| add(vec![single.clone()]));
            add(self.chosen(length, around));
            add(self.chosen(length, |other| offset(other) || around(other) && (alike(other) || fits(other))));
        }
        all
    }

    /// One candidate for each place, of those that are asked for.
    fn chosen(&self, beside: &Length, is_asked: impl Fn(&Candidate) -> bool) -> Vec<Length> {
        let mut chosen: Vec<Length> = Vec::new();
        for candidate in self.candidates.iter().filter(|candidate| is_asked(candidate)) {
            let is_taken = [&self.found[..], &chosen, std::slice::from_ref(beside)]
                .iter()
                .any(|all| is_taken(all, &candidate.length));
            if !is_taken && chosen.len() < OTHERS_MAX {
                chosen.push(candidate.length.clone());
            }
        }
        chosen
    }
}

/// Whether a length would be written where one of these is.
fn is_taken(lengths: &[Length], Length { field, .. }: &Length) -> bool {
    lengths.iter().any(|other| other.field.start < field.end && field.start < other.field.end)
}
