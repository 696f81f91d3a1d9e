//! What changed between two builds, function by function.

use super::body::Slot;
use super::functions::{FunctionIdentity, Identity};
use super::moved::Moved;
use super::pairs::{Build, Pairs};

/// How often guesses are checked against each other before those that fail are all given up.
const ROUNDS_MAX: usize = 16;

/// Says which functions of two builds are the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// Functions with the same code, in the order of the old build. A new name is no change.
    pub same: Vec<Pair>,
    /// Functions with other code, in the order of the old build.
    pub changed: Vec<Pair>,
    /// Functions that the old build doesn't have: indices in the new build.
    pub added: Vec<u32>,
    /// Functions that the new build doesn't have: indices in the old build.
    pub removed: Vec<u32>,
}

/// One function in two builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// Its index in the old build.
    pub old: u32,
    /// Its index in the new build.
    pub new: u32,
}

/// Compares two builds of a program. Imported functions are left out.
///
/// A function is the same if it does the same by the same code: equal operators, types and numbers, calls of the same
/// functions (whether these changed or not), addresses of the same things. What the linker decides doesn't count. So a
/// change of one function names that function, and those it was inlined into; a change of a constant object, say a
/// string, names the functions that use it. A function that got another name and nothing else is the same, and so are
/// its callers. Line numbers that the program knows (assertions, Rust's panics) don't count either.
///
/// What is certain and what is inferred: indices of functions, globals, types and segments are written as such in the
/// code. Numbers that may be addresses, or places of functions in the table, are judged by what is at these places in
/// both builds, and by the rest of the module. So two builds are compared more exactly than two fingerprints.
pub fn diff(old: &Identity, new: &Identity) -> Diff {
    let mut pairs = Pairs::new(build(old), build(new));
    let mut moved = Moved::new(&old.module, &new.module, &pairs);
    for round in 0.. {
        let failed: Vec<_> = pairs
            .iter()
            .filter(|&(a, b)| pairs.is_renamed(a, b) && (round > ROUNDS_MAX || !same(old, new, &pairs, &moved, a, b)))
            .collect();
        if failed.is_empty() {
            break;
        }
        failed.into_iter().for_each(|(a, b)| pairs.part(a, b));
        moved = Moved::new(&old.module, &new.module, &pairs);
    }
    let mut diff = Diff::default();
    for (a, b) in pairs.iter().filter(|&(a, _)| !old.module.functions[a as usize].imported) {
        let list = if same(old, new, &pairs, &moved, a, b) { &mut diff.same } else { &mut diff.changed };
        list.push(Pair { old: a, new: b });
    }
    diff.removed = unpaired(old, |index| pairs.new_of(index));
    diff.added = unpaired(new, |index| pairs.old_of(index));
    diff
}

fn build(identity: &Identity) -> Build<'_> {
    Build { module: &identity.module, fingerprints: &identity.bare }
}

fn unpaired(identity: &Identity, other: impl Fn(u32) -> Option<u32>) -> Vec<u32> {
    let functions = (0..).zip(&identity.module.functions);
    functions
        .filter(|&(index, function)| !function.imported && other(index).is_none())
        .map(|(index, _)| index)
        .collect()
}

fn same(old: &Identity, new: &Identity, pairs: &Pairs<'_>, moved: &Moved<'_>, a: u32, b: u32) -> bool {
    let (old, new) = (&old.module, &new.module);
    let (a, b) = (&old.functions[a as usize].body, &new.functions[b as usize].body);
    let same = |(index, (&a_slot, &b_slot)): (usize, (&Slot, &Slot))| {
        moved.same(pairs, a_slot, b_slot) || old.is_line(&a.slots, index) && new.is_line(&b.slots, index)
    };
    a.shape == b.shape && a.slots.iter().zip(&b.slots).enumerate().all(same)
}

impl Diff {
    /// Carries edges over: per edge of the old build, its number in the new build if its function is the same.
    pub fn edges(&self, old: &Identity, new: &Identity) -> Vec<Option<u32>> {
        let mut edges = vec![None; old.edge_functions.len()];
        for pair in &self.same {
            let range = |identity: &Identity, index: u32| {
                identity
                    .functions()
                    .get(index as usize)
                    .map_or(0..0, |function: &FunctionIdentity| function.edges.clone())
            };
            for (edge, new_edge) in range(old, pair.old).zip(range(new, pair.new)) {
                if let Some(edge) = edges.get_mut(edge as usize) {
                    *edge = Some(new_edge);
                }
            }
        }
        edges
    }
}
