//! What is put between operators besides counters: one file per instrumentation.
//!
//! A probe sees each operator of a function, before it and after it, and writes what it wants there. What it writes
//! leaves the operands on the stack as they are, so probes don't know of each other. Adding an instrumentation is adding
//! a file here, a line in [`Probes::new`] and a switch in [`Options`].

mod annex;
mod arguments;
mod calls;
mod comparers;
mod compares;
mod copies;
mod cost;
mod draw_spans;
mod fuel;
mod low_stores;
mod polls;
mod spans;
mod state;
mod traps;
mod waits;

use anyhow::Result;
use wasm_encoder::BlockType;
use wasmparser::{FunctionBody, Operator, ValType};

use crate::added::Added;
use crate::code::Code;
use crate::instrument::Options;
use crate::plan::Draft;
use crate::protocol::Drawing;
use crate::recursion::Recursion;
use crate::survey::Survey;
use crate::types::{Signature, Values, encoded};

/// One kind of code that is put between operators, for one function.
///
/// Hooks are called for dead code too, so that a probe can follow the nesting of blocks; [`Site::live`] tells, and where
/// code is dead nothing is to be written that takes operands.
pub(crate) trait Probe: Send {
    /// The start of the body.
    fn enter(&mut self, _site: &mut Site<'_, '_>) -> Result<()> {
        Ok(())
    }

    /// Before an operator, whose operands lie on the stack.
    fn before(&mut self, _operator: &Operator<'_>, _site: &mut Site<'_, '_>) -> Result<()> {
        Ok(())
    }

    /// In the place of an operator that can be reached: what is written takes it, if anything is. One probe at most has
    /// something to write.
    fn instead(&mut self, _operator: &Operator<'_>, _site: &mut Site<'_, '_>) -> Result<()> {
        Ok(())
    }

    /// After an operator that could be reached; what is written is reached if the operator goes on to the next.
    fn after(&mut self, _operator: &Operator<'_>, _site: &mut Site<'_, '_>) -> Result<()> {
        Ok(())
    }

    /// At the beginning of an arm of an `if`, if it can be reached.
    fn arm(&mut self, _site: &mut Site<'_, '_>) -> Result<()> {
        Ok(())
    }

    /// After the end of a block, if what follows can be reached in whatever way; not after that of the function.
    fn joined(&mut self, _site: &mut Site<'_, '_>) -> Result<()> {
        Ok(())
    }

    /// Where a `try_table` of this function has caught an exception.
    fn caught(&mut self, _site: &mut Site<'_, '_>) -> Result<()> {
        Ok(())
    }

    /// Before the function's end, behind what is counted there. What is written is reached by what goes on to the end, or
    /// branches to the function's label if a block was opened around the body, which is closed here.
    fn leave(&mut self, _site: &mut Site<'_, '_>) -> Result<()> {
        Ok(())
    }
}

/// A function, for probes that look at it as a whole.
pub(crate) struct Function<'a, 's> {
    pub(crate) index: u32,
    /// What it gives.
    pub(crate) results: Values,
    pub(crate) body: &'a FunctionBody<'s>,
    /// Exceptions may leave it.
    pub(crate) unwound: bool,
}

/// The probes of a function.
pub(crate) struct Probes {
    probes: Vec<Box<dyn Probe>>,
}

impl Probes {
    /// Those which the options ask for, in the order in which they write.
    pub(crate) fn new(
        survey: &Survey<'_>,
        options: &Options,
        (drawing, recursion): (Option<&Drawing>, Option<&Recursion>),
        function: &Function<'_, '_>,
    ) -> Result<Probes> {
        let added = Added::new(survey, options);
        let mut probes: Vec<Box<dyn Probe>> = vec![Box::new(waits::Waits), Box::new(state::State)];
        if options.hide_lengths {
            probes.push(Box::new(copies::Copies));
        }
        // A function whose entry takes the last fuel was entered.
        if let (Some(recorders), true) = (added.recorders, options.spans) {
            probes.push(Box::new(spans::Spans::new(recorders)));
        }
        if let (Some(linked), Some(drawing)) = (added.protocol, drawing) {
            let spans = draw_spans::DrawSpans::new(survey, linked, drawing, function);
            probes.extend(spans.map(|spans| Box::new(spans) as Box<dyn Probe>));
        }
        if let (Some(limit), Some(recursion)) = (options.calls, recursion) {
            probes.push(Box::new(calls::Calls::new(limit, recursion, function.body)));
        }
        if options.interrupts {
            probes.push(Box::new(polls::Polls));
        }
        let arguments = options.arguments.and_then(|wanted| arguments::Arguments::new(survey, function, wanted));
        probes.extend(arguments.map(|arguments| Box::new(arguments) as Box<dyn Probe>));
        if let Some(start) = options.fuel {
            probes.push(Box::new(fuel::Fuel::new(start, survey, function.body, function.unwound)?));
        }
        if let (Some(recorders), true) = (added.recorders, options.compares) {
            probes.push(Box::new(compares::Compares::new(recorders, function.body)));
            let comparer = comparers::Comparer::new(survey, function, recorders);
            probes.extend(comparer.map(|comparer| Box::new(comparer) as Box<dyn Probe>));
            let quads = comparers::Quads::new(survey, function, recorders);
            probes.extend(quads.map(|quads| Box::new(quads) as Box<dyn Probe>));
        }
        // What is recorded of a write that is stopped here was recorded.
        if options.low_stores && survey.low_is_free {
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

/// What an operator handles of which its last operand says how many: it may take long.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bulk {
    Bytes,
    Elements,
}

impl Bulk {
    /// `None` for all other operators.
    pub(crate) fn of(operator: &Operator<'_>) -> Option<Bulk> {
        use Operator as O;
        match operator {
            O::MemoryFill { .. } | O::MemoryCopy { .. } | O::MemoryInit { .. } => Some(Bulk::Bytes),
            O::TableFill { .. }
            | O::TableCopy { .. }
            | O::TableInit { .. }
            | O::ArrayNew { .. }
            | O::ArrayNewDefault { .. }
            | O::ArrayNewData { .. }
            | O::ArrayNewElem { .. }
            | O::ArrayFill { .. }
            | O::ArrayCopy { .. }
            | O::ArrayInitData { .. }
            | O::ArrayInitElem { .. } => Some(Bulk::Elements),
            _ => None,
        }
    }
}

/// Whether code goes before an operator, in its place, or after it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Before,
    Instead,
    After,
}

/// Where a probe may write, and what it can know there.
pub(crate) struct Site<'a, 's> {
    /// The module.
    pub(crate) survey: &'a Survey<'s>,
    draft: &'a mut Draft,
    /// What the function gives.
    results: Values,
    /// Where the operator is, an offset in the module.
    pub(crate) at: u32,
    /// Whether the operator can be reached.
    pub(crate) live: bool,
    /// The types of the last operand and the one before it, before the operator, where they are known.
    pub(crate) operands: [Option<ValType>; 2],
}

impl<'a, 's> Site<'a, 's> {
    pub(crate) fn new(survey: &'a Survey<'s>, draft: &'a mut Draft, results: Values, at: u32) -> Site<'a, 's> {
        Site { survey, draft, results, at, live: true, operands: [None; 2] }
    }

    /// To write code.
    pub(crate) fn code(&mut self) -> Code<'_> {
        Code::new(&mut self.draft.out.inserted, self.survey.memories)
    }

    /// How many bytes have been written in this function.
    pub(crate) fn position(&self) -> usize {
        self.draft.out.inserted.len()
    }

    /// The function's index.
    pub(crate) fn function(&self) -> u32 {
        self.draft.out.index
    }

    /// A local that takes an operand of this type for a moment. Those with different numbers are different.
    pub(crate) fn scratch(&mut self, ty: ValType, number: u32) -> Result<u32> {
        self.draft.scratch(ty, number)
    }

    /// A new local, which nothing else uses.
    pub(crate) fn local(&mut self, ty: ValType) -> Result<u32> {
        self.draft.local(ty)
    }

    /// An `if` without operands and results whose condition rarely holds: the code behind it is laid out apart.
    pub(crate) fn unlikely_if(&mut self) {
        let position = self.position() as u32;
        self.draft.out.unlikely.push(position);
        self.code().if_(BlockType::Empty);
    }

    /// Opens a block that gives what the function gives, and takes nothing.
    pub(crate) fn block_with_results(&mut self) -> Result<()> {
        match self.survey.values(self.results)?[..] {
            [] => self.code().block(BlockType::Empty),
            [ty] => self.code().block(BlockType::Result(encoded(ty)?)),
            _ => {
                let signature = self.draft.signature(Signature { params: Values::Empty, results: self.results });
                let position = self.position() as u32 + 1;
                self.draft.out.typed_blocks.push((position, signature));
                self.code().block_to_be_filled_in();
                return Ok(());
            }
        };
        Ok(())
    }
}
