//! Follows what arithmetic gives through the stack and the locals of a function.
//!
//! One pass over the operators, beside the planning: it makes a graph of *values*, which are what arithmetic gives, and
//! what is one of several other values: where branches meet, in a local at the start of a block, by a `select`. And it
//! notes which values are *taken* by operators that show bits. [`places`](super::places) does the rest when the
//! function has ended.

mod blocks;
mod frames;

use std::collections::BTreeMap;

use anyhow::Result;
use wasmparser::{FunctionBody, Operator, ValType};

use super::class::{Class, class};
use super::shape::Shape;
use super::values::{EXACT, NUMBER, Origin, Slot, Taken, Value};
use crate::module::survey::Survey;
use frames::{Frame, Kind};

const EXACT_SLOT: Slot = Slot { value: EXACT, place: None };

/// What is noted of a function may be this much for each byte of its body, and some more; else each operator that does
/// arithmetic gets a test. Compilers' output takes a tenth.
const NOTES_PER_BYTE: usize = 4;

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
    /// Starts a function whose first locals are parameters. `None` if it does no arithmetic. With `compares` the bits
    /// of what is compared are seen.
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

    /// Takes an operator that the validator has accepted, with how many operands it takes and gives. `local` is the
    /// type of the local that it is about. A test may be put at `here`, behind the operator.
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
}
