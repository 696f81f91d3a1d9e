//! Follows what arithmetic gives through the stack and the locals of a function.
//!
//! One pass over the operators, beside the planning: it makes a graph of *values*, which are what arithmetic gives, and what is one of
//! several other values: where branches meet, in a local at the start of a block, by a `select`. And it notes which values are *taken* by
//! operators that show bits. [`places`](super::places) does the rest when the function has ended.

use std::collections::BTreeMap;

use anyhow::Result;
use wasmparser::{BinaryReaderError, BlockType, Catch, FunctionBody, Operator, TryTable, ValType};

use super::class::{Class, class};
use super::{Shape, places};
use crate::survey::Survey;
use crate::types::Values;

/// A value's number.
pub(super) type Value = u32;

/// The value that has its exact bits.
pub(super) const EXACT: Value = 0;

/// The value that is no NaN, or a canonical one.
pub(super) const NUMBER: Value = 1;

/// What a value is.
#[derive(Clone, Copy)]
pub(super) enum Origin {
    /// [`EXACT`] or [`NUMBER`].
    Known,
    /// Arithmetic gives it at a place.
    Made { shape: Shape, place: u32 },
    /// It is one of others: [`Flow::joins`] has them.
    Joined,
    /// Its bits are those of an operand, but for the sign.
    Signed(Slot),
}

/// A place on the stack.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    pub(super) value: Value,
    /// Behind the operator that pushed it, if the test can be put there: a number in [`Flow::places`].
    pub(super) place: Option<u32>,
}

const EXACT_SLOT: Slot = Slot { value: EXACT, place: None };

/// Where a test can be put: how many edits are planned before it, and the operator that it follows, by its offset and that of the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) edits: u32,
    pub(crate) at: u32,
    pub(crate) end: u32,
}

/// What is noted of a function may be this much for each byte of its body, and some more; else each operator that does arithmetic gets
/// a test. Compilers' output takes a tenth.
const NOTES_PER_BYTE: usize = 4;

/// A control frame of code that can be reached.
struct Frame {
    kind: Kind,
    /// How high the stack is below its parameters.
    height: usize,
    /// What a branch to it carries: values that are joined, or [`EXACT`] for what is no float.
    label: Vec<Value>,
    /// Blocks from which its label is reached.
    from: Vec<u32>,
}

enum Kind {
    Function,
    Block,
    /// The label is this block.
    Loop(u32),
    /// Up to `else`: the block before it, and the parameters.
    If(u32, Vec<Slot>),
}

/// The graph of a function's values, as far as it has been read.
pub(crate) struct Flow {
    pub(super) origins: Vec<Origin>,
    /// What is one of which, in any order.
    pub(super) joins: Vec<(Value, Value)>,
    /// What is taken by operators which show bits, unless it is made of this shape.
    pub(super) shown: Vec<(Slot, Option<Shape>)>,
    pub(super) places: Vec<Taken>,
    /// Per block, those before it.
    pub(super) before: Vec<Vec<u32>>,
    /// What a local is at the end of a block, if the block sets it.
    pub(super) set: BTreeMap<(u32, u32), Value>,
    /// What a local is at the start of a block, if the block asks.
    pub(super) asked: BTreeMap<(u32, u32), Value>,
    /// What each local is ever set to, if it may be any of these at the start of a block: where exceptions are caught.
    pub(super) ever: Option<BTreeMap<u32, Value>>,
    /// Parameters are the first locals.
    pub(super) params: u32,
    notes_max: usize,
    /// What labels and parameters there were.
    carried: usize,
    /// There was too much of it, and only arithmetic is still noted.
    overrun: bool,
    compares: bool,
    frames: Vec<Frame>,
    /// How many frames are open in code that can't be reached.
    dead_frames: u32,
    dead: bool,
    block: u32,
    stack: Vec<Slot>,
    here: Taken,
}

impl Flow {
    /// Starts a function whose first locals are parameters. `None` if it does no arithmetic. With `compares` the bits of what is
    /// compared are seen.
    pub(crate) fn new(body: &FunctionBody<'_>, params: u32, results: usize, compares: bool) -> Option<Flow> {
        let (mut arithmetic, mut catches) = (false, false);
        // What can't be read is told by the validator, which has not seen the body.
        for operator in body.get_operators_reader().into_iter().flatten().map_while(std::result::Result::ok) {
            arithmetic |= matches!(class(&operator), Class::Arithmetic { .. });
            catches |= matches!(&operator, Operator::TryTable { try_table } if !try_table.catches.is_empty());
        }
        let range = body.range();
        arithmetic.then(|| Flow {
            origins: vec![Origin::Known; 2],
            joins: Vec::new(),
            shown: Vec::new(),
            places: Vec::new(),
            before: vec![Vec::new()],
            set: BTreeMap::new(),
            asked: BTreeMap::new(),
            ever: catches.then(BTreeMap::new),
            params,
            notes_max: (range.end - range.start) as usize * NOTES_PER_BYTE + 1000,
            carried: 0,
            overrun: false,
            compares,
            frames: vec![Frame { kind: Kind::Function, height: 0, label: vec![EXACT; results], from: Vec::new() }],
            dead_frames: 0,
            dead: false,
            block: 0,
            stack: Vec::new(),
            here: Taken { edits: 0, at: 0, end: 0 },
        })
    }

    /// Whether there is so much that it isn't looked at closely.
    pub(super) fn is_too_much(&self) -> bool {
        let notes = self.origins.len() + self.joins.len() + self.shown.len() + self.before.len() + self.carried;
        self.overrun || notes > self.notes_max
    }

    /// Where tests are put, and what shape is tested there, in the order of the function.
    pub(crate) fn finish(self) -> Vec<(Taken, Shape)> {
        places::find(self)
    }

    /// Takes an operator that the validator has accepted, with how many operands it takes and gives. `local` is the type of the local
    /// that it is about. A test may be put at `here`, behind the operator.
    pub(crate) fn operator(
        &mut self,
        operator: &Operator<'_>,
        arity: Option<(u32, u32)>,
        local: Option<ValType>,
        survey: &Survey<'_>,
        here: Taken,
    ) -> Result<()> {
        self.here = here;
        if self.is_too_much() {
            self.arithmetic_alone(operator);
            return Ok(());
        }
        if self.dead {
            self.dead(operator);
            return Ok(());
        }
        let float = matches!(local, Some(ValType::F32 | ValType::F64 | ValType::V128));
        match *operator {
            Operator::LocalGet { local_index } => {
                let value = if float { self.local(local_index) } else { EXACT };
                self.push(value);
            }
            Operator::LocalSet { local_index } => {
                let slot = self.pop();
                self.set_local(float, local_index, slot.value);
            }
            Operator::LocalTee { local_index } => {
                let slot = self.pop();
                self.set_local(float, local_index, slot.value);
                // Tested behind this, the local is not.
                self.push(slot.value);
            }
            Operator::Drop => _ = self.pop(),
            Operator::Select | Operator::TypedSelect { .. } => {
                self.pop();
                let (second, first) = (self.pop(), self.pop());
                let value = self.either(first.value, second.value);
                self.push(value);
            }
            _ if self.control(operator, survey)? => {}
            _ => self.plain(operator, arity),
        }
        Ok(())
    }

    /// Notes arithmetic, and where it is reached from no more. A test does no harm in code that can't be reached.
    fn arithmetic_alone(&mut self, operator: &Operator<'_>) {
        if !self.overrun {
            self.overrun = true;
            self.origins.retain(|origin| matches!(origin, Origin::Made { .. }));
            (self.joins, self.shown, self.before, self.frames) = Default::default();
            (self.set, self.asked, self.stack) = Default::default();
        }
        if let Class::Arithmetic { gives, .. } = class(operator) {
            let place = self.place();
            self.value(Origin::Made { shape: gives, place });
        }
    }

    /// In code that can't be reached, only blocks matter.
    fn dead(&mut self, operator: &Operator<'_>) {
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
    fn control(&mut self, operator: &Operator<'_>, survey: &Survey<'_>) -> Result<bool> {
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

    /// An operator that goes on to the next, or fails, or leaves the function with what it takes.
    fn plain(&mut self, operator: &Operator<'_>, arity: Option<(u32, u32)>) {
        let (takes, gives) = arity.unwrap_or_default();
        let first = self.stack.len().saturating_sub(takes as usize);
        let operands = self.stack.split_off(first);
        let unless = |shape: Shape| Some(shape).filter(|shape| shape.ty() == ValType::V128);
        match class(operator) {
            Class::Arithmetic { takes, gives } => {
                if let Some(shape) = unless(takes) {
                    operands.into_iter().for_each(|slot| self.show(slot, Some(shape)));
                }
                let place = self.place();
                let value = self.value(Origin::Made { shape: gives, place });
                self.stack.push(Slot { value, place: Some(place) });
                return;
            }
            Class::Reads(shape) => {
                let vector = unless(shape);
                let recorded = self.compares && crate::trace::compares(operator).is_some();
                if vector.is_some() || recorded {
                    operands.into_iter().for_each(|slot| self.show(slot, vector));
                }
            }
            Class::Abs => {
                let operand = operands.first().map_or(EXACT, |slot| slot.value);
                self.push(operand);
                return;
            }
            Class::Neg => {
                let value = self.signed(operands.first().copied());
                self.push(value);
                return;
            }
            Class::CopySign => {
                operands.iter().skip(1).for_each(|&sign| self.show(sign, None));
                let value = self.signed(operands.first().copied());
                self.push(value);
                return;
            }
            Class::Number => {
                self.push(NUMBER);
                return;
            }
            Class::Other => operands.into_iter().for_each(|slot| self.show(slot, None)),
        }
        self.stack.resize(first + gives as usize, EXACT_SLOT);
        self.dead = matches!(
            operator,
            Operator::Unreachable
                | Operator::Throw { .. }
                | Operator::ThrowRef
                | Operator::ReturnCall { .. }
                | Operator::ReturnCallIndirect { .. }
                | Operator::ReturnCallRef { .. }
        );
    }

    fn show(&mut self, slot: Slot, unless: Option<Shape>) {
        if slot.value != EXACT && slot.value != NUMBER {
            self.shown.push((slot, unless));
        }
    }

    fn value(&mut self, origin: Origin) -> Value {
        self.origins.push(origin);
        self.origins.len() as Value - 1
    }

    /// The value that is one of two.
    fn either(&mut self, first: Value, second: Value) -> Value {
        if first == second {
            return first;
        }
        let value = self.value(Origin::Joined);
        self.joins.extend([(value, first), (value, second)]);
        value
    }

    fn signed(&mut self, operand: Option<Slot>) -> Value {
        match operand {
            Some(Slot { value: EXACT, .. }) | None => EXACT,
            // A canonical NaN becomes one with a sign.
            Some(Slot { value: NUMBER, .. }) => EXACT,
            Some(operand) => self.value(Origin::Signed(operand)),
        }
    }

    /// A test can be put behind the operator.
    fn place(&mut self) -> u32 {
        self.places.push(self.here);
        self.places.len() as u32 - 1
    }

    /// Pushes what the operator gives.
    fn push(&mut self, value: Value) {
        let place = (value != EXACT && value != NUMBER).then(|| self.place());
        self.stack.push(Slot { value, place });
    }

    fn pop(&mut self) -> Slot {
        self.stack.pop().unwrap_or(EXACT_SLOT)
    }

    /// What a local is here.
    fn local(&mut self, local: u32) -> Value {
        let key = (self.block, local);
        if let Some(&value) = self.set.get(&key).or_else(|| self.asked.get(&key)) {
            return value;
        }
        let value = self.value(Origin::Joined);
        self.asked.insert(key, value);
        value
    }

    fn set_local(&mut self, float: bool, local: u32, value: Value) {
        if !float {
            return;
        }
        self.set.insert((self.block, local), value);
        if let Some(ever) = &mut self.ever {
            let all = *ever.entry(local).or_insert_with(|| {
                self.origins.push(Origin::Joined);
                self.origins.len() as Value - 1
            });
            self.joins.push((all, value));
        }
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
