//! What is appended to the module's index spaces besides types and exports: functions, a table, globals.
//!
//! ```text
//! function F      does nothing: what the trap table holds until the host puts its own function there
//! function F + 1  fails: where the host goes to end an execution
//! function F + 2  saves the mutable globals
//! function F + 3  restores them
//! function F + 4  the recorders, which write the trace
//! ...
//! function ...    those that know where the annex of a memory is
//! function ...    the guest protocol, if the module speaks it
//! table T         the trap table, with one element
//! table T + 1     that of the function which grows a memory that has an annex
//! global G, ...   what was saved, one for each mutable global
//! ```

pub(crate) mod annex;
pub(crate) mod protocol;
pub(crate) mod relocation;
pub(crate) mod types;

use crate::added::annex::Annex;
use crate::added::protocol::ProtocolFunctions;
use crate::layout;
use crate::module::survey::Survey;
use crate::module::types::Types;
use crate::options::{Draws, Options};
use crate::trace::{self, Recorders};

/// The indices of what is added.
pub(crate) struct Additions {
    /// The function type without parameters and results: the first type that is added, if there are functions. Those of
    /// the recorders follow.
    pub(crate) plain_type: u32,
    /// The function that does nothing, and the table that it is in.
    pub(crate) traps: Option<Traps>,
    /// The function that fails.
    pub(crate) stop: Option<u32>,
    /// The functions that save and restore the mutable globals, if there are some.
    pub(crate) globals: Option<Globals>,
    /// The functions that record, if something is recorded.
    pub(crate) recorders: Option<Recorders>,
    /// What knows where the annex of a memory is, if one may have it.
    pub(crate) annex: Option<Annex>,
    /// The functions that take the place of imports.
    pub(crate) protocol: Option<ProtocolFunctions>,
    /// How many functions there are.
    pub(crate) functions: u32,
}

/// Where a host puts a function that is called before `unreachable`.
#[derive(Clone, Copy)]
pub(crate) struct Traps {
    pub(crate) table: u32,
    pub(crate) nothing: u32,
}

/// Where the mutable globals are saved, and who does it.
#[derive(Clone, Copy)]
pub(crate) struct Globals {
    pub(crate) save: u32,
    pub(crate) restore: u32,
    /// The first of those that hold what was saved.
    pub(crate) saved: u32,
}

impl Additions {
    /// What the options ask for, made once for a module.
    pub(crate) fn new(survey: &Survey<'_>, options: &Options) -> Additions {
        let mut functions = survey.names.len() as u32..;
        let mut function = || functions.next().unwrap_or(u32::MAX);
        let mut added = Additions {
            plain_type: survey.types.len() as u32,
            traps: options.traps.then(|| Traps { table: survey.tables, nothing: function() }),
            stop: options.interrupts.then(&mut function),
            globals: (!survey.mutable_globals.is_empty()).then(|| Globals {
                save: function(),
                restore: function(),
                saved: survey.globals,
            }),
            recorders: (options.compares || options.spans).then(|| Recorders::new(function())),
            annex: None,
            protocol: None,
            functions: 0,
        };
        added.functions = added.plain_functions() + added.recorders.map_or(0, |_| Recorders::COUNT);
        let first = survey.names.len() as u32;
        let table = survey.tables + u32::from(added.traps.is_some());
        added.annex = Annex::new(survey, options, table, first + added.functions);
        added.functions += added.annex.map_or(0, |annex| annex.functions(survey));
        if !survey.protocol.is_empty() && options.draws != Draws::Imported {
            let start = stream_start(survey, options, added.recorders.is_some());
            let linked = ProtocolFunctions::new(first + added.functions, options.draws == Draws::Recorded, start);
            added.functions += linked.count(&survey.protocol);
            added.protocol = Some(linked);
        }
        added
    }

    /// How many of them have no parameters and results: the first.
    pub(crate) fn plain_functions(&self) -> u32 {
        u32::from(self.traps.is_some()) + u32::from(self.stop.is_some()) + 2 * u32::from(self.globals.is_some())
    }

    /// The types that the functions have, no two alike: the first types to add to the module's.
    pub(crate) fn types(&self, survey: &Survey<'_>) -> Vec<Types> {
        let mut types: Vec<Types> = Vec::new();
        if self.functions > 0 {
            types.push((&[], &[]));
        }
        let host = self.annex.map(|_| Annex::host_type());
        for ty in self.other_types(survey).into_iter().chain(host) {
            if !types.contains(&ty) {
                types.push(ty);
            }
        }
        types
    }

    /// The index of one of these types.
    pub(crate) fn type_index(&self, types: &[Types], ty: Types) -> u32 {
        let number = types.iter().position(|&other| other == ty).expect("these are the types of all");
        self.plain_type + number as u32
    }

    /// The types of the functions that are not plain, in order.
    pub(crate) fn other_types(&self, survey: &Survey<'_>) -> Vec<Types> {
        let recorders = self.recorders.iter().flat_map(|_| Recorders::types());
        let annex = self.annex.iter().flat_map(|annex| annex.types(survey));
        let protocol = self.protocol.iter().flat_map(|protocol| protocol.types(&survey.protocol));
        recorders.chain(annex).chain(protocol).collect()
    }
}

/// Where the area of the choice stream begins in the injected memory: behind as many counters as the module can have,
/// because it is to be known before they are. Nothing touches what lies between.
fn stream_start(survey: &Survey<'_>, options: &Options, traced: bool) -> u32 {
    // No byte of code has more than two flows (`select`), and no function leaves more than two lines of counters empty.
    let flows = survey.wasm.len().saturating_mul(2).saturating_add(options.reserved() as usize);
    let counters = flows.saturating_add(survey.names.len().saturating_mul(2 * layout::LINE_COUNTERS as usize));
    let counters = u32::try_from(counters).map_or(layout::EDGES_MAX, |counters| counters.min(layout::EDGES_MAX));
    // A trace that is too long is refused elsewhere.
    let trace = traced.then(|| trace::place(counters, options.trace_bytes).ok()).flatten();
    let end = trace.map_or(layout::counter(counters), |trace| trace.end.into());
    u32::try_from(end.next_multiple_of(layout::PAGE_BYTES)).expect("counters and a trace take less than 2 GiB")
}
