//! Which operators compare although they are none that do: `xor`, if what it gives is combined with others by `or` and
//! held against zero. So compilers compare what is wider than a number, and what `memcmp` is asked for at a length that
//! they know.

use std::collections::{BTreeMap, BTreeSet};

use wasmparser::{FunctionBody, Operator};

/// Operators that a value is made of at most; others are forgotten.
const PARTS_MAX: usize = 32;

/// The offsets of such operators in the module.
///
/// Values are followed on the stack and through locals, in code without branches: that is how they are made.
pub(super) fn differences(body: &FunctionBody<'_>) -> BTreeSet<u32> {
    let mut values = Values::default();
    let Ok(operators) = body.get_operators_reader() else { return BTreeSet::new() };
    for (operator, at) in operators.into_iter_with_offsets().map_while(Result::ok) {
        values.operator(&operator, at as u32);
    }
    values.compared
}

/// The offsets of the `xor`s that a value is made of.
type Parts = Vec<u32>;

#[derive(Default)]
struct Values {
    stack: Vec<Parts>,
    locals: BTreeMap<u32, Parts>,
    compared: BTreeSet<u32>,
}

impl Values {
    fn pop(&mut self) -> Parts {
        self.stack.pop().unwrap_or_default()
    }

    fn operator(&mut self, operator: &Operator<'_>, at: u32) {
        use Operator as O;
        match *operator {
            O::LocalGet { local_index } => self.stack.push(self.locals.get(&local_index).cloned().unwrap_or_default()),
            O::LocalSet { local_index } => {
                let value = self.pop();
                self.locals.insert(local_index, value);
            }
            O::LocalTee { local_index } => {
                self.locals.insert(local_index, self.stack.last().cloned().unwrap_or_default());
            }
            O::I32Const { .. } | O::I64Const { .. } | O::GlobalGet { .. } => self.stack.push(Parts::new()),
            O::I32Load { .. }
            | O::I64Load { .. }
            | O::I32Load8U { .. }
            | O::I32Load8S { .. }
            | O::I32Load16U { .. }
            | O::I32Load16S { .. }
            | O::I64Load8U { .. }
            | O::I64Load8S { .. }
            | O::I64Load16U { .. }
            | O::I64Load16S { .. }
            | O::I64Load32U { .. }
            | O::I64Load32S { .. } => {
                self.pop();
                self.stack.push(Parts::new());
            }
            O::I32Xor | O::I64Xor => {
                self.pop();
                self.pop();
                self.stack.push(vec![at]);
            }
            O::I32Or | O::I64Or => {
                let (mut right, mut left) = (self.pop(), self.pop());
                left.append(&mut right);
                left.truncate(PARTS_MAX);
                self.stack.push(left);
            }
            O::I32WrapI64
            | O::I64ExtendI32U
            | O::I64ExtendI32S
            | O::I32Extend8S
            | O::I32Extend16S
            | O::I64Extend8S
            | O::I64Extend16S
            | O::I64Extend32S => {}
            // Some of the bits are held against zero: of halves that were combined as wholes.
            O::I32And | O::I64And => {
                let (right, left) = (self.pop(), self.pop());
                self.stack.push(if left.is_empty() { right } else { left });
            }
            O::I32Shl | O::I64Shl | O::I32ShrU | O::I64ShrU | O::I32ShrS | O::I64ShrS => {
                self.pop();
                let value = self.pop();
                self.stack.push(value);
            }
            O::I32Eqz | O::I64Eqz => {
                let value = self.pop();
                self.compare(value);
                self.stack.push(Parts::new());
            }
            O::I32Eq | O::I32Ne | O::I64Eq | O::I64Ne => {
                let (right, left) = (self.pop(), self.pop());
                self.compare(left);
                self.compare(right);
                self.stack.push(Parts::new());
            }
            O::BrIf { .. } | O::If { .. } => {
                let value = self.pop();
                self.compare(value);
                self.forget();
            }
            O::Select | O::TypedSelect { .. } => {
                let value = self.pop();
                self.compare(value);
                self.pop();
                self.pop();
                self.stack.push(Parts::new());
            }
            O::I32Add | O::I64Add | O::I32Sub | O::I64Sub => {
                self.pop();
                self.pop();
                self.stack.push(Parts::new());
            }
            _ => self.forget(),
        }
    }

    /// A value is held against zero. What is no more than one difference is what a comparison is, and compilers write
    /// that as one.
    fn compare(&mut self, value: Parts) {
        if value.len() > 1 {
            self.compared.extend(value);
        }
    }

    fn forget(&mut self) {
        self.stack.clear();
        self.locals.clear();
    }
}
