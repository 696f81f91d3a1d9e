//! The added memory and the added exports: what a host has to know of them.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::{Result, ensure};

use crate::added::Additions;
use crate::module::survey::Survey;
use crate::options::{Callable, Options};
use crate::{layout, trace};

/// The added memory: 32-bit, not shared, its size fixed, the last of the memory index space. The module itself has no
/// instruction that addresses it. [`layout`](crate::layout) says what is where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injected {
    /// The name under which it is exported.
    pub memory_export: String,
    /// Its size in pages of 64 KiB, the least and the most.
    pub pages: u64,
    /// The name of the table, if there is one, whose only element is a function without parameters and results that is
    /// called before each `unreachable`. At first it does nothing; a host can put one there that fails at less cost
    /// than the trap.
    pub trap_table_export: Option<String>,
    /// The index of a function without parameters and results that does nothing but fail, by `unreachable`, if
    /// [`Options::interrupts`] asked for it. Nothing calls it. The host can go there, from a signal handler that has
    /// interrupted the module's code. For when it interrupts other code: after every bulk operator, growth and direct
    /// call of an imported function there is a load from the page that starts at [`layout::POLL`](crate::layout::POLL),
    /// which the host can make inaccessible.
    pub stop: Option<u32>,
    /// How to make the annex of a memory, if [`Options::annex`] asked for that.
    pub annex: Option<AnnexPlace>,
    /// Where the trace is, if something is recorded: a range of bytes.
    /// [`Instrumented::trace`](crate::Instrumented::trace) reads it.
    pub trace: Option<Range<u32>>,
    /// Where the area of the choice stream is, if the module speaks the guest protocol and its imports were replaced: a
    /// range of bytes. [`layout::stream`](crate::layout::stream) says what is in it; there are records if it has room
    /// for them.
    pub stream: Option<Range<u32>>,
    /// The functions that [`Options::callable`] means, by what the host calls them: the index of each, and the name
    /// under which it is exported.
    pub callable: BTreeMap<&'static str, (u32, String)>,
    /// The functions of the protocol that the module imports, each with the name under which what replaces it is
    /// exported: for who calls the import otherwise than by a call in the module's code, which is not replaced.
    pub protocol_exports: Vec<(&'static str, String)>,
}

/// What a host has to know to make an [annex](Options::annex), as follows. It chooses where the annex begins, above all
/// that the guest's part will ever grow to and at a page; grows the memory, whose own maximum is gone, up to the end of
/// the annex; makes inaccessible what lies between; puts a function into the table; and writes
/// [`layout::HIDDEN`](crate::layout::HIDDEN), [`layout::ANNEX`](crate::layout::ANNEX),
/// [`layout::GUEST_END`](crate::layout::GUEST_END) and [`layout::ROOM`](crate::layout::ROOM). From then on it is that
/// function which is asked for growth.
///
/// What is inaccessible is so for the host too: `memory.copy` and the like never go there, and its own functions must
/// not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnexPlace {
    /// The memory's index.
    pub memory: u32,
    /// How many pages the module lets it have at most, if it says so.
    pub maximum: Option<u64>,
    /// The name of the table for the function that grows the guest's part: it takes a number of pages, an `i64`, and
    /// gives 1 if the guest has got them, else 0, an `i32`. It need not heed the maximum.
    pub table_export: String,
    /// Every access is compared with [`layout::GUEST_END`](crate::layout::GUEST_END), which the host writes with the
    /// other cells: what lies between the guest's part and the annex can be accessible.
    pub bounds: bool,
}

impl Injected {
    pub(crate) fn new(survey: &Survey<'_>, added: &Additions, options: &Options, counters: u32) -> Result<Injected> {
        let name = |name: &str| format!("{}{name}", survey.export_prefix);
        let trace = added.recorders.map(|_| trace::place(counters, options.trace_bytes)).transpose()?;
        let end = |range: &Range<u32>| u64::from(range.end).div_ceil(layout::PAGE_BYTES);
        let pages = trace.as_ref().map_or(layout::pages(counters), end);
        let stream = added.protocol.map(|protocol| {
            let start = protocol.start;
            ensure!(pages * layout::PAGE_BYTES <= start.into(), "has more counters than were foreseen");
            let bytes = if protocol.recording { layout::stream::BYTES_WITH_RECORDS } else { layout::stream::BYTES };
            anyhow::Ok(start..start + bytes)
        });
        let stream = stream.transpose()?;
        let exports = added.protocol.iter().flat_map(|protocol| protocol.exports(&survey.protocol));
        let index = |callable| match callable {
            Callable::Named(fits) => {
                let fits = |name: &Option<String>| name.as_deref().is_some_and(fits);
                Ok((0..).zip(&survey.names).find(|(_, name)| fits(name)).map(|(index, _)| index))
            }
            Callable::Index(index) => {
                ensure!((index as usize) < survey.names.len(), "has no function {index}, which is to be called");
                Ok(Some(index))
            }
        };
        let mut callable = BTreeMap::new();
        for &(called, function) in &options.callable {
            callable.extend(index(function)?.map(|index| (called, (index, name(&format!("call:{called}"))))));
        }
        Ok(Injected {
            memory_export: name("injected"),
            callable,
            pages: stream.as_ref().map_or(pages, end),
            stream,
            protocol_exports: exports.map(|(import, _)| (import, name(&format!("v1:{import}")))).collect(),
            trap_table_export: added.traps.map(|_| name("traps")),
            stop: added.stop,
            annex: added.annex.map(|annex| AnnexPlace {
                memory: annex.memory,
                maximum: annex.maximum,
                table_export: name("growth"),
                bounds: annex.bounds,
            }),
            trace,
        })
    }
}
