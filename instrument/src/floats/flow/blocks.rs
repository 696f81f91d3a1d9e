//! Blocks and branches: where values and locals come together.

use anyhow::Result;
use wasmparser::{BinaryReaderError, BlockType, Catch, Operator, TryTable, ValType};

use super::Flow;
use super::frames::{Frame, Kind};
use crate::floats::values::{EXACT, Origin, Slot, Value};
use crate::module::survey::Survey;
use crate::module::types::Values;

impl Flow {
    /// In code that can't be reached, only blocks matter.
    pub(super) fn dead(&mut self, operator: &Operator<'_>) {
        match operator {
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } | Operator::TryTable { .. } => {
                self.dead_frames += 1;
            }
            Operator::End if self.dead_frames > 0 => self.dead_frames -= 1,
            Operator::Else if self.dead_frames > 0 => {}
            Operator::Else => self.begin_else(),
            Operator::End => self.end(),
            _ => {}
        }
    }

    /// An operator that leads somewhere else than to the next; gives whether it is one.
    pub(super) fn control(&mut self, operator: &Operator<'_>, survey: &Survey<'_>) -> Result<bool> {
        match *operator {
            Operator::Block { blockty } => self.open(blockty, survey, |_, _| Kind::Block)?,
            Operator::TryTable { ref try_table } => self.begin_try(try_table, survey)?,
            Operator::Loop { blockty } => self.begin_loop(blockty, survey)?,
            Operator::If { blockty } => {
                self.pop();
                self.open(blockty, survey, |block, params| Kind::If(block, params.to_vec()))?;
                self.block = self.new_block(vec![self.block]);
            }
            Operator::Else => {
                self.leave(0, 0);
                self.begin_else();
            }
            Operator::End => {
                if let Some(Frame { kind: Kind::Function | Kind::If(..), .. }) = self.frames.last() {
                    self.leave(0, 0);
                    self.end();
                } else {
                    self.end_going_on();
                }
            }
            Operator::Br { relative_depth } => {
                self.leave(relative_depth, 0);
                self.dead = true;
            }
            Operator::BrIf { relative_depth } => {
                self.pop();
                self.leave_or_not(relative_depth, 0);
            }
            Operator::BrTable { ref targets } => {
                self.pop();
                let mut depths: Vec<u32> = targets.targets().collect::<Result<_, BinaryReaderError>>()?;
                depths.push(targets.default());
                depths.sort_unstable();
                depths.dedup();
                depths.into_iter().for_each(|depth| self.leave(depth, 0));
                self.dead = true;
            }
            Operator::BrOnNull { relative_depth } => self.leave_or_not(relative_depth, 1),
            Operator::BrOnNonNull { relative_depth } => {
                self.leave_or_not(relative_depth, 0);
                self.pop();
            }
            Operator::BrOnCast { relative_depth, .. } | Operator::BrOnCastFail { relative_depth, .. } => {
                self.leave_or_not(relative_depth, 0);
            }
            Operator::Return => {
                self.leave(self.frames.len().saturating_sub(1) as u32, 0);
                self.dead = true;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn new_block(&mut self, before: Vec<u32>) -> u32 {
        self.before.push(before);
        self.before.len() as u32 - 1
    }

    /// Values that are joined where floats are expected.
    fn joined(&mut self, values: Values, survey: &Survey<'_>) -> Result<Vec<Value>> {
        let types = survey.values(values)?;
        self.carried += types.len();
        let float = |ty: &ValType| matches!(ty, ValType::F32 | ValType::F64 | ValType::V128);
        Ok(types.iter().map(|ty| if float(ty) { self.value(Origin::Joined) } else { EXACT }).collect())
    }

    /// Opens a block; `kind` is told in which block it is, and its parameters.
    fn open(&mut self, ty: BlockType, survey: &Survey<'_>, kind: impl FnOnce(u32, &[Slot]) -> Kind) -> Result<()> {
        let height = self.stack.len().saturating_sub(survey.values(Values::params(ty))?.len());
        let label = self.joined(Values::results(ty), survey)?;
        let kind = kind(self.block, &self.stack[height..]);
        self.carried += self.stack.len() - height;
        self.frames.push(Frame { kind, height, label, from: Vec::new() });
        Ok(())
    }

    fn begin_loop(&mut self, ty: BlockType, survey: &Survey<'_>) -> Result<()> {
        let label = self.joined(Values::params(ty), survey)?;
        let height = self.stack.len().saturating_sub(label.len());
        let head = self.new_block(vec![self.block]);
        for (slot, &value) in self.stack[height..].iter_mut().zip(&label) {
            self.joins.push((value, slot.value));
            *slot = Slot { value, place: None };
        }
        self.frames.push(Frame { kind: Kind::Loop(head), height, label, from: Vec::new() });
        self.block = head;
        Ok(())
    }

    /// What clauses carry comes with an exception, and is exact.
    fn begin_try(&mut self, try_table: &TryTable, survey: &Survey<'_>) -> Result<()> {
        for catch in &try_table.catches {
            let (Catch::One { label, .. }
            | Catch::OneRef { label, .. }
            | Catch::All { label }
            | Catch::AllRef { label }) = catch;
            let Some(index) = self.frames.len().checked_sub(1 + *label as usize) else { continue };
            let values = self.frames[index].label.iter();
            self.joins.extend(values.filter(|&&value| value != EXACT).map(|&value| (value, EXACT)));
            self.reach(index);
        }
        self.open(try_table.ty, survey, |_, _| Kind::Block)
    }

    /// Notes that a frame's label is reached from here.
    fn reach(&mut self, index: usize) {
        match self.frames[index].kind {
            Kind::Loop(head) => self.before[head as usize].push(self.block),
            _ => self.frames[index].from.push(self.block),
        }
    }

    /// A branch, with what lies below the `above` last values.
    fn leave(&mut self, depth: u32, above: usize) {
        let Some(index) = self.frames.len().checked_sub(1 + depth as usize) else { return };
        let arity = self.frames[index].label.len();
        let end = self.stack.len().saturating_sub(above);
        let carried = self.stack[end.saturating_sub(arity)..end].to_vec();
        if matches!(self.frames[index].kind, Kind::Function) {
            carried.into_iter().for_each(|slot| self.show(slot, None));
            return;
        }
        if self.is_too_much() {
            return;
        }
        let label = &self.frames[index].label;
        let carried = label.iter().zip(carried).filter(|(value, _)| **value != EXACT);
        self.joins.extend(carried.map(|(&value, slot)| (value, slot.value)));
        self.reach(index);
    }

    /// A branch that may not be taken.
    fn leave_or_not(&mut self, depth: u32, above: usize) {
        self.leave(depth, above);
        self.block = self.new_block(vec![self.block]);
    }

    /// The second part of an `if`; the first has ended.
    fn begin_else(&mut self) {
        let Some(frame) = self.frames.last_mut() else { return };
        if let Kind::If(before, params) = std::mem::replace(&mut frame.kind, Kind::Block) {
            self.stack.truncate(frame.height);
            self.stack.extend(params);
            self.block = self.new_block(vec![before]);
            self.dead = false;
        }
    }

    /// The end of a block that may go on from its last operator.
    fn end_going_on(&mut self) {
        // Nothing else leads to what follows.
        if self.frames.last().is_some_and(|frame| matches!(frame.kind, Kind::Loop(_)) || frame.from.is_empty()) {
            self.frames.pop();
            return;
        }
        self.leave(0, 0);
        self.end();
    }

    /// The end of a block, which goes on from branches only.
    fn end(&mut self) {
        // An `if` without `else` gives what it takes.
        if let Some(Frame { kind: Kind::If(..), .. }) = self.frames.last() {
            self.begin_else();
            self.leave(0, 0);
        }
        let Some(frame) = self.frames.pop() else { return };
        self.stack.truncate(frame.height);
        self.dead = frame.from.is_empty();
        if self.dead {
            return;
        }
        self.block = self.new_block(frame.from);
        if let Some((&last, others)) = frame.label.split_last() {
            self.stack.extend(others.iter().map(|&value| Slot { value, place: None }));
            self.push(last);
        }
    }
}
