//! What is put between operators besides counters: one file per instrumentation.
//!
//! A probe sees each operator of a function, before it and after it, and writes what it wants there. What it writes
//! leaves the operands on the stack as they are, so probes don't know of each other. Adding an instrumentation is
//! adding a file here, a line in [`Probes::new`] and a switch in [`Options`](crate::Options); a check, which stops an
//! execution, has a [`Flag`] in the place of the switch.

mod annex;
mod arguments;
mod calls;
mod comparers;
mod compares;
mod copies;
mod draw_spans;
mod draws;
mod fuel;
mod low_stores;
mod polls;
pub(crate) mod probe;
mod spans;
mod state;
mod traps;
mod waits;

use anyhow::Result;
use wasmparser::Operator;

use crate::layout::Flag;
use crate::plan::ModuleContext;
use crate::probes::probe::{Function, Probe, Site};

/// The probes of a function.
pub(crate) struct Probes<'p> {
    probes: Vec<Box<dyn Probe + 'p>>,
}

impl<'p> Probes<'p> {
    /// Those which the options ask for, in the order in which they write.
    pub(crate) fn new(context: &ModuleContext<'p, '_>, function: &Function<'_, '_>) -> Result<Probes<'p>> {
        let &ModuleContext { survey, options, added, calls } = context;
        let mut probes: Vec<Box<dyn Probe + 'p>> = vec![Box::new(waits::Waits), Box::new(state::State)];
        if options.hide_lengths {
            probes.push(Box::new(copies::Copies));
        }
        // A function whose entry takes the last fuel was entered.
        if let (Some(recorders), true) = (added.recorders, options.spans) {
            probes.push(Box::new(spans::Spans::new(recorders)));
        }
        if let (Some(linked), Some(drawing)) = (added.protocol, &calls.drawing) {
            probes.push(Box::new(draws::Draws { linked, drawing }));
            let spans = draw_spans::DrawSpans::new(survey, linked, drawing, function);
            probes.extend(spans.map(|spans| Box::new(spans) as Box<dyn Probe + 'p>));
        }
        if let (Some(limit), Some(recursion)) = (options.calls, &calls.recursion) {
            probes.push(Box::new(calls::Calls::new(limit, recursion, function.index)));
        }
        if options.interrupts {
            probes.push(Box::new(polls::Polls));
        }
        let arguments = options.arguments.and_then(|wanted| arguments::Arguments::new(survey, function, wanted));
        probes.extend(arguments.map(|arguments| Box::new(arguments) as Box<dyn Probe + 'p>));
        if let Some(start) = options.fuel {
            probes.push(Box::new(fuel::Fuel::new(start, survey, function.body, function.unwound)?));
        }
        if let (Some(recorders), true) = (added.recorders, options.compares) {
            probes.push(Box::new(compares::Compares::new(recorders, function.body)));
            let comparer = comparers::Comparer::new(survey, function, recorders);
            probes.extend(comparer.map(|comparer| Box::new(comparer) as Box<dyn Probe + 'p>));
            let quads = comparers::Quads::new(survey, function, recorders);
            probes.extend(quads.map(|quads| Box::new(quads) as Box<dyn Probe + 'p>));
        }
        // What is recorded of a write that is stopped here was recorded.
        if options.checks.has(Flag::LowStore) && survey.low_is_free {
            probes.push(Box::new(low_stores::LowStores));
        }
        // Wherever an operator stops, it has been charged and recorded.
        if let Some(added) = added.annex {
            probes.push(Box::new(annex::Annex::new(survey, added, function.body)));
        }
        if let Some(traps) = added.traps {
            probes.push(Box::new(traps::Traps { table: traps.table, ty: added.plain_type }));
        }
        Ok(Probes { probes })
    }

    pub(crate) fn enter(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        self.probes.iter_mut().try_for_each(|probe| probe.enter(site))
    }

    pub(crate) fn before(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        self.probes.iter_mut().try_for_each(|probe| probe.before(operator, site))
    }

    pub(crate) fn instead(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        self.probes.iter_mut().try_for_each(|probe| probe.instead(operator, site))
    }

    pub(crate) fn after(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        self.probes.iter_mut().try_for_each(|probe| probe.after(operator, site))
    }

    pub(crate) fn arm(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        self.probes.iter_mut().try_for_each(|probe| probe.arm(site))
    }

    pub(crate) fn joined(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        self.probes.iter_mut().try_for_each(|probe| probe.joined(site))
    }

    pub(crate) fn caught(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        self.probes.iter_mut().try_for_each(|probe| probe.caught(site))
    }

    pub(crate) fn leave(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        self.probes.iter_mut().try_for_each(|probe| probe.leave(site))
    }
}
