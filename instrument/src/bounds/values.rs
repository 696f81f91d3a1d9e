//! Values of a function, told apart by where they come from.

use wasmparser::{ContType, FrameKind, FuncType, ModuleArity, Operator, RefType, SubType};

/// What is added to a value at most, so that it is still that value and a distance.
const DELTA_MAX: u32 = 1 << 15;

/// A value on the stack or in a local.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    /// Values with the same number are the same, less `delta`.
    pub(super) id: u32,
    /// What was added, modulo 2^32.
    pub(super) delta: u32,
    /// It is no larger, as a number of 32 bits without a sign.
    pub(super) max: u32,
    /// It is just `max`.
    constant: bool,
    /// It was a global, more or less.
    pub(super) global: bool,
}

/// Gives numbers to values.
#[derive(Debug)]
pub(super) struct Values {
    next: u32,
    /// Whether there is a page at least at the start of the memory. Else what is added to a value may be beyond the end
    /// where the value is not.
    deltas: bool,
}

impl Values {
    pub(super) fn new(deltas: bool) -> Self {
        Self { next: 0, deltas }
    }

    /// One of which nothing is known.
    pub(super) fn unknown(&mut self) -> Value {
        self.at_most(u32::MAX)
    }

    fn at_most(&mut self, max: u32) -> Value {
        self.next += 1;
        Value { id: self.next, delta: 0, max, constant: false, global: false }
    }

    /// What an operator gives that takes `first` and `second`, of which those that it doesn't take are anything.
    pub(super) fn result(&mut self, operator: &Operator<'_>, first: Value, second: Value) -> Value {
        use Operator as O;
        let max = match *operator {
            O::I32Const { value } => {
                return Value { constant: true, ..self.at_most(value.cast_unsigned()) };
            }
            O::GlobalGet { .. } => return Value { global: true, ..self.unknown() },
            O::I32Add => return self.sum(first, second),
            O::I32Sub => return Value { global: first.global && second.constant, ..self.unknown() },
            O::I32And => {
                let global = (first.global && second.constant) || (first.constant && second.global);
                return Value { global, ..self.at_most(first.max.min(second.max)) };
            }
            O::I32Or | O::I32Xor => {
                let bits = u32::BITS - (first.max | second.max).leading_zeros();
                1_u32.checked_shl(bits).map_or(u32::MAX, |power| power - 1)
            }
            O::I32Mul => first.max.saturating_mul(second.max),
            O::I32Shl if second.constant => {
                let max = u64::from(first.max) << (second.max % u32::BITS);
                u32::try_from(max).unwrap_or(u32::MAX)
            }
            O::I32ShrU if second.constant => first.max >> (second.max % u32::BITS),
            O::I32RemU => first.max.min(second.max.saturating_sub(1)),
            O::I32DivU => first.max,
            O::I32Load8U { .. } | O::I32AtomicLoad8U { .. } => u8::MAX.into(),
            O::I32Load16U { .. } | O::I32AtomicLoad16U { .. } => u16::MAX.into(),
            O::I32Eqz | O::I32Eq | O::I32Ne | O::I64Eqz | O::I64Eq | O::I64Ne => 1,
            O::I32LtS | O::I32LtU | O::I32GtS | O::I32GtU | O::I32LeS | O::I32LeU | O::I32GeS | O::I32GeU => 1,
            O::I64LtS | O::I64LtU | O::I64GtS | O::I64GtU | O::I64LeS | O::I64LeU | O::I64GeS | O::I64GeU => 1,
            O::I32Clz | O::I32Ctz | O::I32Popcnt => u32::BITS,
            _ => u32::MAX,
        };
        self.at_most(max)
    }

    /// One of two values.
    pub(super) fn either(&mut self, first: Value, second: Value) -> Value {
        self.at_most(first.max.max(second.max))
    }

    fn sum(&mut self, first: Value, second: Value) -> Value {
        let (value, constant) = if first.constant { (second, first) } else { (first, second) };
        let max = value.max.saturating_add(constant.max);
        if !constant.constant {
            return self.at_most(max);
        }
        let delta = value.delta.checked_add(constant.max).filter(|&delta| delta <= DELTA_MAX && self.deltas);
        match delta {
            Some(delta) => Value { delta, max, constant: false, ..value },
            None => Value { global: value.global, ..self.at_most(max) },
        }
    }
}

/// How many operands operators take and give that need nothing of the module to say so.
pub(super) struct NoModule;

impl ModuleArity for NoModule {
    fn sub_type_at(&self, _: u32) -> Option<&SubType> {
        None
    }

    fn tag_type_arity(&self, _: u32) -> Option<(u32, u32)> {
        None
    }

    fn type_index_of_function(&self, _: u32) -> Option<u32> {
        None
    }

    fn func_type_of_cont_type(&self, _: &ContType) -> Option<&FuncType> {
        None
    }

    fn sub_type_of_ref_type(&self, _: &RefType) -> Option<&SubType> {
        None
    }

    fn control_stack_height(&self) -> u32 {
        0
    }

    fn label_block(&self, _: u32) -> Option<(wasmparser::BlockType, FrameKind)> {
        None
    }
}
