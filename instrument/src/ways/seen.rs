//! Calls by reference that were seen: of a function that somebody saw called, who called it is known.
//!
//! That is enough to find ways by: whoever looks for a way to the function, or through it, has seen one already, and of
//! the others, which its type allows, most are none.

use std::collections::{BTreeMap, BTreeSet};

use super::Program;
use super::program::Callee;

/// Who was seen to call whom by reference. Empty, all are taken to be called by whoever calls their type.
#[derive(Clone, Debug, Default)]
pub struct SeenCalls(BTreeMap<u32, BTreeSet<u32>>);

impl SeenCalls {
    /// Notes that a function calls another by reference, by their indices.
    pub fn insert(&mut self, caller: u32, callee: u32) {
        self.0.entry(callee).or_default().insert(caller);
    }

    /// Who was seen to call a function; `None` if nobody was.
    pub(super) fn callers(&self, callee: u32) -> Option<&BTreeSet<u32>> {
        self.0.get(&callee)
    }

    /// All calls: caller and callee.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.iter().flat_map(|(&callee, callers)| callers.iter().map(move |&caller| (caller, callee)))
    }
}

impl Program {
    /// Whether one function has a call by reference of the other's type, and somebody refers to that.
    pub fn can_call_by_reference(&self, caller: u32, callee: u32) -> bool {
        let kind = self.kinds.get(callee as usize).copied().flatten().map(Callee::Kind);
        let calls = |kind| self.function(caller).is_some_and(|caller| caller.calls.iter().any(|(_, of)| *of == kind));
        kind.is_some_and(calls)
    }
}
