//! The shape of functions that compare bytes. A heuristic: in a loop, a byte that was loaded through the first
//! parameter is compared with one that was loaded through the second, or subtracted, or combined by `xor`. And nothing
//! else is done: a function that stores, calls, or uses floats, globals or another memory is none, nor is a large one.
//!
//! Which parameter a value comes from is followed through locals and the stack, and through tables that ignore case,
//! from the body's start to its end once. Where branches meet, a local has all origins it can have. What a loop carries
//! back to its head is left out, which is good enough for what compilers make of such loops: a pointer that moves on is
//! still one into the same bytes.

use wasmparser::{FunctionBody, MemArg, MemArgTarget, Operator};

/// The largest body that is looked at, in bytes, and the most locals: real ones have up to a few hundred, and ten.
const BODY_BYTES_MAX: u64 = 4096;
const LOCALS_MAX: u64 = 64;

/// Whether a body has the shape. The function has `params` parameters, two or more.
pub(super) fn compares_bytes(body: &FunctionBody<'_>, params: u32) -> bool {
    let range = body.range();
    range.end - range.start <= BODY_BYTES_MAX && Shape::default().read(body, params).unwrap_or(false)
}

/// What is known of a value: which parameters it is a pointer from, and through which it was loaded.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Origin {
    pointer: u8,
    byte: u8,
}

/// The two pointers.
const FIRST: u8 = 1;
const SECOND: u8 = 2;

impl Origin {
    fn and(self, other: Origin) -> Origin {
        Origin { pointer: self.pointer | other.pointer, byte: self.byte | other.byte }
    }

    /// Whether one is a byte of the first, and the other of the second.
    fn meets(self, other: Origin) -> bool {
        (self.byte, other.byte) == (FIRST, SECOND) || (self.byte, other.byte) == (SECOND, FIRST)
    }
}

/// A block of the body.
struct Block {
    is_loop: bool,
    /// How high the stack is around it.
    height: usize,
    /// The locals where branches have left it.
    left: Option<Vec<Origin>>,
    /// The locals at the start of an `if`, until its `else`.
    other: Option<Vec<Origin>>,
}

/// A body as far as it was looked at.
#[derive(Default)]
struct Shape {
    locals: Vec<Origin>,
    stack: Vec<Origin>,
    blocks: Vec<Block>,
    /// Whether the code that comes can't be reached.
    dead: bool,
    found: bool,
}

impl Shape {
    /// `None` if there is an operator that such a function doesn't have.
    fn read(mut self, body: &FunctionBody<'_>, params: u32) -> Option<bool> {
        let mut locals = u64::from(params);
        for group in body.get_locals_reader().ok()? {
            locals += u64::from(group.ok()?.0);
        }
        if locals > LOCALS_MAX {
            return None;
        }
        self.locals = vec![Origin::default(); locals as usize];
        self.locals[0].pointer = FIRST;
        self.locals[1].pointer = SECOND;
        for operator in body.get_operators_reader().ok()? {
            self.operator(&operator.ok()?)?;
        }
        Some(self.found)
    }

    fn pop(&mut self) -> Origin {
        self.stack.pop().unwrap_or_default()
    }

    fn operator(&mut self, operator: &Operator<'_>) -> Option<()> {
        use Operator as O;
        match *operator {
            O::Block { .. } => self.open(false, false),
            O::Loop { .. } => self.open(true, false),
            O::If { .. } => {
                self.pop();
                self.open(false, true);
            }
            O::Else => self.switch()?,
            O::End => self.close(),
            O::Nop => {}
            O::Br { relative_depth } => {
                self.branch(relative_depth);
                self.dead = true;
            }
            O::BrIf { relative_depth } => {
                self.pop();
                self.branch(relative_depth);
            }
            O::BrTable { ref targets } => {
                self.pop();
                for depth in targets.targets().chain([Ok(targets.default())]) {
                    self.branch(depth.ok()?);
                }
                self.dead = true;
            }
            O::Return | O::Unreachable => self.dead = true,
            O::Drop => _ = self.pop(),
            O::LocalGet { local_index } => self.stack.push(*self.locals.get(local_index as usize)?),
            O::LocalSet { local_index } => *self.locals.get_mut(local_index as usize)? = self.pop(),
            O::LocalTee { local_index } => {
                *self.locals.get_mut(local_index as usize)? = self.stack.last().copied().unwrap_or_default();
            }
            O::I32Const { .. } | O::I64Const { .. } => self.stack.push(Origin::default()),
            O::I32Load8U { memarg } | O::I32Load8S { memarg } | O::I64Load8U { memarg } | O::I64Load8S { memarg } => {
                self.load(memarg, true)?
            }
            O::I32Load16U { memarg } | O::I32Load { memarg } | O::I64Load { memarg } => self.load(memarg, false)?,
            // A byte as it is, or as another number.
            O::I32Eqz
            | O::I64Eqz
            | O::I32WrapI64
            | O::I64ExtendI32U
            | O::I64ExtendI32S
            | O::I32Extend8S
            | O::I32Extend16S
            | O::I64Extend8S
            | O::I32Clz
            | O::I32Ctz
            | O::I32Popcnt => {}
            O::Select | O::TypedSelect { .. } => {
                self.pop();
                let (right, left) = (self.pop(), self.pop());
                self.stack.push(left.and(right));
            }
            _ if two_operands(operator) => {
                let (right, left) = (self.pop(), self.pop());
                self.found |= compares(operator)
                    && left.meets(right)
                    && !self.dead
                    && self.blocks.iter().any(|block| block.is_loop);
                self.stack.push(left.and(right));
            }
            _ => return None,
        }
        Some(())
    }

    fn load(&mut self, memarg: MemArg, one_byte: bool) -> Option<()> {
        if memarg.target != MemArgTarget::Memory(0) {
            return None;
        }
        let address = self.pop();
        let byte = match address.pointer {
            // An entry of a table, by which case is ignored.
            0 => address.byte,
            pointer if one_byte && pointer != FIRST | SECOND => pointer,
            _ => 0,
        };
        self.stack.push(Origin { pointer: 0, byte });
        Some(())
    }

    fn open(&mut self, is_loop: bool, is_if: bool) {
        let other = is_if.then(|| self.locals.clone());
        self.blocks.push(Block { is_loop, height: self.stack.len(), left: None, other });
    }

    /// Goes to the other part of an `if`.
    fn switch(&mut self) -> Option<()> {
        self.branch(0);
        let block = self.blocks.last_mut()?;
        self.locals = block.other.take()?;
        self.stack.truncate(block.height);
        self.dead = false;
        Some(())
    }

    /// Closes a block, or the function.
    fn close(&mut self) {
        let Some(mut block) = self.blocks.pop() else { return };
        // One value at most; below it, the stack is as it was.
        let result = self.stack.get(block.height).copied();
        self.stack.truncate(block.height);
        self.stack.extend(result);
        for before in [block.left.take(), block.other.take()].into_iter().flatten() {
            if self.dead {
                self.locals = before;
            } else {
                meet(&mut self.locals, &before);
            }
            self.dead = false;
        }
    }

    /// Remembers the locals for the end of the block that is branched to. Branches to loops are not followed.
    fn branch(&mut self, depth: u32) {
        let target = self.blocks.iter_mut().rev().nth(depth as usize);
        if let (Some(Block { is_loop: false, left, .. }), false) = (target, self.dead) {
            match left {
                Some(left) => meet(left, &self.locals),
                None => *left = Some(self.locals.clone()),
            }
        }
    }
}

/// Adds the origins that locals have elsewhere.
fn meet(locals: &mut [Origin], others: &[Origin]) {
    for (local, &other) in locals.iter_mut().zip(others) {
        *local = local.and(other);
    }
}

/// Whether it tells if two bytes are equal, or which is greater.
fn compares(operator: &Operator<'_>) -> bool {
    use Operator as O;
    crate::trace::compares(operator).is_some() || matches!(operator, O::I32Sub | O::I64Sub | O::I32Xor | O::I64Xor)
}

/// Whether it makes one integer of two.
fn two_operands(operator: &Operator<'_>) -> bool {
    use Operator as O;
    compares(operator)
        || matches!(
            operator,
            O::I32Add
                | O::I64Add
                | O::I32Mul
                | O::I64Mul
                | O::I32And
                | O::I64And
                | O::I32Or
                | O::I64Or
                | O::I32Shl
                | O::I64Shl
                | O::I32ShrS
                | O::I64ShrS
                | O::I32ShrU
                | O::I64ShrU
                | O::I32Rotl
                | O::I64Rotl
        )
}
