//! Spans of draws: records where functions that reach a draw begin and end, and the iterations of loops with a draw in
//! them.
//!
//! ```wat
//! (func (result i32)                      (func (result i32) (local $span i32) (local $iteration i32)
//!                                           i64.const FUNCTION << 32
//!                                           call $enter
//!                                           local.set $span
//!                                           block (result i32)
//!   block $done                               block $done
//!     loop $again                               loop $again
//!                                                 local.get $iteration               ;; the one before
//!                                                 call $leave
//!                                                 i64.const FUNCTION << 32 | LOOP
//!                                                 call $enter
//!                                                 local.set $iteration
//!       call $draws                               call $draws
//!       br_if $done                               br_if $done
//!       br $again                                 br $again
//!     end                                       end
//!   end                                       end $done
//!                                             local.get $iteration
//!                                             call $leave
//!                                             i32.const 0
//!                                             local.set $iteration
//!   i32.const 7)                              i32.const 7
//!                                           end
//!                                           local.get $span
//!                                           call $leave)
//! ```
//!
//! A loop can be left by a branch to the end of any block around it. So the last iteration is ended behind each block
//! with such a loop in it. To end what has ended changes nothing; neither does 0, which is no span.

use std::collections::BTreeSet;

use anyhow::Result;
use wasmparser::{Operator, ValType};

use super::probe::{Function, Probe, Site};
use crate::added::protocol::ProtocolFunctions;
use crate::calls::Drawing;
use crate::module::survey::Survey;

pub(super) struct DrawSpans {
    enter: u32,
    leave: u32,
    caught: u32,
    /// The local with the function's span, if there was room for one.
    span: Option<u32>,
    /// The loops with a draw in them, by their place among the function's loops.
    drawing: BTreeSet<u32>,
    /// Loops so far.
    loops: u32,
    /// The blocks that are open.
    open: Vec<Open>,
    /// Locals with the span of an iteration, by how many loops that draw are around the loop; `None` where there was no
    /// room.
    iterations: Vec<Option<u32>>,
    /// How many loops that draw are open.
    depth: usize,
    /// What the block was that has just ended.
    ended: Open,
}

/// A block.
#[derive(Clone, Copy, Default)]
struct Open {
    /// It is a loop that draws.
    draws: bool,
    /// There is one inside.
    contains: bool,
}

impl DrawSpans {
    /// For a function that reaches a draw, where draws are recorded.
    pub(super) fn new(
        survey: &Survey<'_>,
        linked: ProtocolFunctions,
        drawing: &Drawing,
        function: &Function<'_, '_>,
    ) -> Option<DrawSpans> {
        if !linked.recording || !survey.protocol.draw || !drawing.reaches(function.index) {
            return None;
        }
        let own = |name| linked.own(&survey.protocol, name);
        Some(DrawSpans {
            enter: own("enter"),
            leave: own("leave"),
            caught: own("caught"),
            span: None,
            drawing: loops(function, drawing).unwrap_or_default(),
            loops: 0,
            open: Vec::new(),
            iterations: Vec::new(),
            depth: 0,
            ended: Open::default(),
        })
    }

    fn end(&self, span: Option<u32>, site: &mut Site<'_, '_>) {
        if let Some(span) = span {
            site.code().local_get(span).call(self.leave);
        }
    }

    /// Starts the next iteration of the loop that was just opened.
    fn iterate(&mut self, site: &mut Site<'_, '_>) {
        let depth = self.depth - 1;
        if depth == self.iterations.len() {
            self.iterations.push(site.local(ValType::I32).ok());
        }
        if let Some(local) = self.iterations[depth] {
            self.end(Some(local), site);
            let label = label(site.function(), self.loops);
            site.code().i64_const(label).call(self.enter).local_set(local);
        }
    }
}

/// The label of a function's span, or of its loop with a number from 1 on.
fn label(function: u32, number: u32) -> i64 {
    (u64::from(function) << 32 | u64::from(number)).cast_signed()
}

impl Probe for DrawSpans {
    fn enter(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        let Ok(span) = site.local(ValType::I32) else { return Ok(()) };
        self.span = Some(span);
        let label = label(site.function(), 0);
        site.code().i64_const(label).call(self.enter).local_set(span);
        site.block_with_results()
    }

    fn before(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        use Operator as O;
        match operator {
            O::Block { .. } | O::If { .. } | O::TryTable { .. } => self.open.push(Open::default()),
            O::Loop { .. } => {
                self.loops += 1;
                let draws = site.live && self.drawing.contains(&self.loops);
                self.open.push(Open { draws, contains: false });
                self.depth += usize::from(draws);
            }
            O::End => {
                self.ended = self.open.pop().unwrap_or_default();
                self.depth -= usize::from(self.ended.draws);
                if let Some(around) = self.open.last_mut() {
                    around.contains |= self.ended.contains || self.ended.draws;
                }
            }
            O::Return | O::ReturnCall { .. } | O::ReturnCallIndirect { .. } | O::ReturnCallRef { .. } if site.live => {
                self.end(self.span, site);
            }
            _ => {}
        }
        Ok(())
    }

    fn after(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        if let (Operator::Loop { .. }, Some(Open { draws: true, .. })) = (operator, self.open.last()) {
            self.iterate(site);
        }
        Ok(())
    }

    fn joined(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        if let (true, Some(&Some(local))) = (self.ended.draws || self.ended.contains, self.iterations.get(self.depth)) {
            self.end(Some(local), site);
            site.code().i32_const(0).local_set(local);
        }
        Ok(())
    }

    fn caught(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        if let Some(span) = self.span {
            site.code().local_get(span).call(self.caught);
        }
        Ok(())
    }

    fn leave(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        if self.span.is_some() {
            site.code().end();
        }
        self.end(self.span, site);
        Ok(())
    }
}

/// The loops of a function that have a draw in them, by their place from 1 on.
fn loops(function: &Function<'_, '_>, drawing: &Drawing) -> wasmparser::Result<BTreeSet<u32>> {
    use Operator as O;
    let mut found = BTreeSet::new();
    let (mut count, mut open) = (0, Vec::new());
    for operator in function.body.get_operators_reader()? {
        let draws = match operator? {
            O::Block { .. } | O::If { .. } | O::TryTable { .. } => {
                open.push(None);
                continue;
            }
            O::Loop { .. } => {
                count += 1;
                open.push(Some(count));
                continue;
            }
            O::End => {
                open.pop();
                continue;
            }
            O::Call { function_index } | O::ReturnCall { function_index } => drawing.draws(Some(function_index)),
            O::CallIndirect { .. } | O::CallRef { .. } | O::ReturnCallIndirect { .. } | O::ReturnCallRef { .. } => {
                drawing.draws(None)
            }
            _ => false,
        };
        if draws {
            // Those around a loop that is known are known.
            for number in open.iter().rev().copied().flatten() {
                if !found.insert(number) {
                    break;
                }
            }
        }
    }
    Ok(found)
}
