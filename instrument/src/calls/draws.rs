//! Call sites of the guest protocol, and which functions reach a draw.

use super::bodies::BodyCalls;
use super::callers::Callers;
use crate::module::survey::Survey;
use crate::protocol::{Assembled, Site};

/// What is to be known of a module that draws, before its functions are planned.
pub(crate) struct Drawing {
    /// The call sites, in order.
    pub(crate) sites: Vec<Site>,
    /// How many functions are imported.
    imported: u32,
    /// Per function: whether calling it may draw.
    functions: Vec<bool>,
    /// Whether calling something by reference may.
    by_reference: bool,
}

impl Drawing {
    /// For a module that speaks the protocol.
    pub(super) fn new(survey: &Survey<'_>, calls: &[BodyCalls]) -> Drawing {
        let imported = survey.imported;
        let mut functions = vec![false; survey.names.len()];
        for &(function, body) in survey.protocol.all() {
            functions[function as usize] = Assembled::get().draws(body);
        }
        let mut referenced = vec![false; survey.names.len()];
        let all = calls.iter().flat_map(|calls| &calls.referenced).chain(&survey.referenced);
        all.for_each(|&function| _ = referenced.get_mut(function as usize).map(|referenced| *referenced = true));
        let callers = Callers::new(survey, calls);
        let mut todo: Vec<u32> = (0..).zip(&functions).filter(|(_, draws)| **draws).map(|(index, _)| index).collect();
        let mut by_reference = false;
        while let Some(callee) = todo.pop() {
            let mut all: Vec<u32> = callers.of(callee).collect();
            if referenced[callee as usize] && !std::mem::replace(&mut by_reference, true) {
                all.extend((imported..).zip(calls).filter(|(_, calls)| calls.by_reference).map(|(index, _)| index));
            }
            todo.extend(all.into_iter().filter(|&caller| !std::mem::replace(&mut functions[caller as usize], true)));
        }
        let sites = (imported..).zip(calls).flat_map(|(function, calls)| {
            calls.sites.iter().map(move |&(offset, callee)| Site { function, offset, callee })
        });
        Drawing { sites: sites.collect(), imported, functions, by_reference }
    }

    /// The number of the call site at an offset.
    pub(crate) fn site(&self, offset: u32) -> u32 {
        self.sites.binary_search_by_key(&offset, |site| site.offset).map_or(0, |place| place as u32 + 1)
    }

    /// Whether a call may draw; there is no callee if it is by reference.
    pub(crate) fn draws(&self, callee: Option<u32>) -> bool {
        callee.map_or(self.by_reference, |callee| self.functions.get(callee as usize).is_some_and(|&draws| draws))
    }

    /// Whether a defined function reaches a draw.
    pub(crate) fn reaches(&self, function: u32) -> bool {
        function >= self.imported && self.draws(Some(function))
    }
}
