//! What branches decide by: values on the stack are followed within a block, back to the comparisons that made them.

use std::collections::BTreeMap;

use wasmparser::{FuncValidator, Operator, ValidatorResources};

use crate::trace::compares;

/// Conditions of so many parts are followed; those of more are taken as they are.
const PARTS_MAX: u32 = 32;
/// So many of them are kept of a function; what comes later is taken as it is.
const TESTS_MAX: usize = 1 << 20;

/// A condition, by what is [recorded](crate::trace) of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// What is recorded at this offset in the original module: a comparison, or a value that is held against 0.
    Recorded(u32),
    /// It is 0.
    Not(Box<Test>),
    /// Both are not 0.
    All(Box<Test>, Box<Test>),
    /// One of them is not 0.
    Any(Box<Test>, Box<Test>),
}

/// What a block decides by where it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// A condition: of a branch, an `if` or a `select`.
    Test(Test),
    /// The index of a `br_table` at this offset.
    Choose(u32),
}

impl Test {
    /// The offset of what is recorded last of it.
    pub fn last(&self) -> u32 {
        match self {
            Test::Recorded(site) => *site,
            Test::Not(test) => test.last(),
            Test::All(left, right) | Test::Any(left, right) => left.last().max(right.last()),
        }
    }
}

impl Decision {
    /// The offset of what is recorded last of it.
    pub fn last(&self) -> u32 {
        match self {
            Decision::Test(test) => test.last(),
            Decision::Choose(site) => *site,
        }
    }
}

/// A value, as far as it is a condition: with how many parts that has.
#[derive(Clone, Debug, Default)]
enum Value {
    #[default]
    Other,
    Constant(i32),
    Condition(Test, u32),
}

/// Follows values through a body.
#[derive(Default)]
pub(super) struct Decisions {
    stack: Vec<Value>,
    locals: BTreeMap<u32, Value>,
    block: Option<u32>,
    made: usize,
    pub(super) found: BTreeMap<u32, Decision>,
}

impl Decisions {
    /// Takes the next operator, at an offset and of a block, before it is validated.
    pub(super) fn operator(
        &mut self,
        operator: &Operator<'_>,
        at: u32,
        block: Option<u32>,
        validator: &FuncValidator<ValidatorResources>,
    ) {
        if block != self.block {
            self.block = block;
            self.stack.clear();
            self.locals.clear();
        }
        let Some(block) = block else { return };
        match *operator {
            Operator::BrIf { .. } | Operator::If { .. } => self.decide(block, at),
            Operator::Select | Operator::TypedSelect { .. } => self.decide(block, at),
            Operator::BrTable { .. } => _ = self.found.insert(block, Decision::Choose(at)),
            _ => self.value(operator, at, validator),
        }
    }

    fn decide(&mut self, block: u32, at: u32) {
        let test = match self.pop() {
            Value::Condition(test, _) => test,
            _ => Test::Recorded(at),
        };
        self.found.insert(block, Decision::Test(test));
    }

    /// Follows what an operator makes of values.
    fn value(&mut self, operator: &Operator<'_>, at: u32, validator: &FuncValidator<ValidatorResources>) {
        let value = match *operator {
            Operator::LocalGet { local_index } => self.locals.get(&local_index).cloned().unwrap_or_default(),
            Operator::LocalSet { local_index } => {
                let value = self.pop();
                self.locals.insert(local_index, value);
                return;
            }
            Operator::LocalTee { local_index } => {
                let value = self.pop();
                self.locals.insert(local_index, value.clone());
                value
            }
            Operator::I32Const { value } => Value::Constant(value),
            Operator::I32Eqz => {
                let value = self.pop();
                self.not(value).unwrap_or(Value::Condition(Test::Recorded(at), 1))
            }
            Operator::I64Eqz => {
                self.pop();
                Value::Condition(Test::Recorded(at), 1)
            }
            Operator::I32And | Operator::I32Or | Operator::I32Xor => {
                let (right, left) = (self.pop(), self.pop());
                self.combined(operator, left, right)
            }
            _ if compares(operator).is_some() => {
                self.pop();
                self.pop();
                Value::Condition(Test::Recorded(at), 1)
            }
            _ => {
                let Some((takes, gives)) = operator.operator_arity(validator) else { return self.stack.clear() };
                self.stack.truncate(self.stack.len().saturating_sub(takes as usize));
                // What is below is not known any more where there would be that many.
                for _ in 0..gives.min(PARTS_MAX) {
                    self.stack.push(Value::Other);
                }
                return;
            }
        };
        self.stack.push(value);
    }

    fn combined(&mut self, operator: &Operator<'_>, left: Value, right: Value) -> Value {
        use Value::{Condition, Constant, Other};
        match (operator, left, right) {
            // What was negated by all bits is 0 or 1 again.
            (Operator::I32And, Condition(test, parts), Constant(mask))
            | (Operator::I32And, Constant(mask), Condition(test, parts))
                if mask & 1 == 1 =>
            {
                Condition(test, parts)
            }
            (Operator::I32Xor, condition @ Condition(..), Constant(mask))
            | (Operator::I32Xor, Constant(mask), condition @ Condition(..))
                if mask & 1 == 1 =>
            {
                self.not(condition).unwrap_or(Other)
            }
            (Operator::I32And, Condition(left, a), Condition(right, b)) => self.both(Test::All, (left, a), (right, b)),
            (Operator::I32Or, Condition(left, a), Condition(right, b)) => self.both(Test::Any, (left, a), (right, b)),
            _ => Other,
        }
    }

    fn both(
        &mut self,
        make: fn(Box<Test>, Box<Test>) -> Test,
        (left, a): (Test, u32),
        (right, b): (Test, u32),
    ) -> Value {
        self.made += 1;
        if a + b > PARTS_MAX || self.made > TESTS_MAX {
            return Value::Other;
        }
        Value::Condition(make(Box::new(left), Box::new(right)), a + b)
    }

    fn not(&mut self, value: Value) -> Option<Value> {
        match value {
            Value::Condition(Test::Not(test), parts) => Some(Value::Condition(*test, parts)),
            Value::Condition(test, parts) => Some(Value::Condition(Test::Not(Box::new(test)), parts)),
            _ => None,
        }
    }

    fn pop(&mut self) -> Value {
        self.stack.pop().unwrap_or_default()
    }
}
