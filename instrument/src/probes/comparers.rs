//! Comparers: records what functions like `memcmp` and `strcmp` are given, where they are entered.
//!
//! They are known by their names, if their types fit, or by their shape. That is a heuristic: the type is (pointer, pointer)
//! or (pointer, pointer, length) to a number, and in a loop, a byte that was loaded through the first pointer is
//! compared with one that was loaded through the second, or subtracted, or combined by `xor`. And it does nothing else:
//! a function that stores, calls, or uses floats, globals or another memory is none, nor is a large one.
//!
//! Which pointer a value comes from is followed through locals and the stack, from the body's start to its end once: good
//! enough for what compilers make of such loops.

use anyhow::Result;
use wasmparser::{FunctionBody, MemArgTarget, Operator, ValType};

use super::{Function, Probe, Site};
use crate::survey::Survey;
use crate::trace::{Comparer as Kind, Recorder, Recorders, tag};
use crate::types::Values;

/// The largest body that is looked at, in bytes: real ones have up to a few hundred.
const BODY_BYTES_MAX: u64 = 4096;

pub(super) struct Comparer {
    recorder: u32,
    kind: Kind,
    /// The type of pointers and lengths.
    address: ValType,
    /// The parameter that says how many bytes are compared.
    length: Option<u32>,
}

impl Comparer {
    /// `None` if the function isn't one.
    pub(super) fn new(survey: &Survey<'_>, function: &Function<'_, '_>, recorders: Recorders) -> Option<Comparer> {
        let memory = survey.memory_types.first()?;
        let address = if memory.memory64 { ValType::I64 } else { ValType::I32 };
        let Values::Results(ty) = function.results else { return None };
        let ty = survey.types.get(ty as usize)?.as_ref()?;
        if !ty.params().iter().all(|&param| param == address) || !matches!(ty.results(), [ValType::I32 | ValType::I64])
        {
            return None;
        }
        let params = ty.params().len() as u32;
        let name = survey.names.get(function.index as usize)?.as_deref();
        let (kind, length) = match name.and_then(|name| named(name, params)) {
            Some(known) => known,
            None if params == 3 && compares_bytes(function.body, params) => (Kind::SomeBytes, Some(2)),
            None if params == 2 && compares_bytes(function.body, params) => (Kind::SomeStrings, None),
            None => return None,
        };
        Some(Comparer { recorder: recorders.index(Recorder::Bytes), kind, address, length })
    }
}

/// The function with a name and so many parameters, and which of them is the length.
fn named(name: &str, params: u32) -> Option<(Kind, Option<u32>)> {
    Some(match (name, params) {
        ("memcmp", 3) => (Kind::Memcmp, Some(2)),
        ("bcmp", 3) => (Kind::Bcmp, Some(2)),
        ("memmem", 4) => (Kind::Memmem, Some(3)),
        ("strcmp", 2) => (Kind::Strcmp, None),
        ("strncmp", 3) => (Kind::Strncmp, Some(2)),
        ("strcasecmp", 2) => (Kind::Strcasecmp, None),
        ("strncasecmp", 3) => (Kind::Strncasecmp, Some(2)),
        ("strstr", 2) => (Kind::Strstr, None),
        _ => return None,
    })
}

impl Probe for Comparer {
    fn enter(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        let tag = tag(site.at, self.kind as u8);
        // memmem has its second pointer behind the first one's length.
        let second = if self.kind == Kind::Memmem { 2 } else { 1 };
        let wide = self.address == ValType::I64;
        let mut code = site.code();
        for param in [Some(0), Some(second), self.length] {
            match param {
                Some(param) if wide => code.local_get(param),
                Some(param) => code.local_get(param).i64_extend_i32_u(),
                None => code.i64_const(-1),
            };
        }
        code.i32_const(tag).call(self.recorder);
        Ok(())
    }
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

/// Whether a body has the shape of a comparer's.
fn compares_bytes(body: &FunctionBody<'_>, params: u32) -> bool {
    let range = body.range();
    range.end - range.start <= BODY_BYTES_MAX && Shape::default().read(body, params).unwrap_or(false)
}

/// A body as far as it was looked at.
#[derive(Default)]
struct Shape {
    locals: Vec<Origin>,
    stack: Vec<Origin>,
    /// Per open block: whether it is a loop, and how high the stack was.
    blocks: Vec<(bool, usize)>,
    found: bool,
}

impl Shape {
    /// `None` if there is an operator that such a function doesn't have.
    fn read(mut self, body: &FunctionBody<'_>, params: u32) -> Option<bool> {
        let mut locals = u64::from(params);
        for group in body.get_locals_reader().ok()? {
            locals += u64::from(group.ok()?.0);
        }
        if locals > BODY_BYTES_MAX {
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
            O::Block { .. } | O::Loop { .. } | O::If { .. } => {
                if let O::If { .. } = operator {
                    self.pop();
                }
                self.blocks.push((matches!(operator, O::Loop { .. }), self.stack.len()));
            }
            O::Else => self.stack.truncate(self.blocks.last()?.1),
            O::End => {
                if let Some((_, height)) = self.blocks.pop() {
                    // One value at most; below it, the stack is as it was.
                    let result = self.stack.get(height).copied();
                    self.stack.truncate(height);
                    self.stack.extend(result);
                }
            }
            O::Nop | O::Br { .. } | O::Return | O::Unreachable => {}
            O::BrIf { .. } | O::BrTable { .. } | O::Drop => _ = self.pop(),
            O::LocalGet { local_index } => self.stack.push(*self.locals.get(local_index as usize)?),
            O::LocalSet { local_index } => *self.locals.get_mut(local_index as usize)? = self.pop(),
            O::LocalTee { local_index } => {
                *self.locals.get_mut(local_index as usize)? = self.stack.last().copied().unwrap_or_default();
            }
            O::I32Const { .. } | O::I64Const { .. } => self.stack.push(Origin::default()),
            O::I32Load8U { memarg }
            | O::I32Load8S { memarg }
            | O::I64Load8U { memarg }
            | O::I64Load8S { memarg }
            | O::I32Load16U { memarg }
            | O::I32Load { memarg }
            | O::I64Load { memarg } => {
                if memarg.target != MemArgTarget::Memory(0) {
                    return None;
                }
                let address = self.pop();
                let bytes = !matches!(operator, O::I32Load16U { .. } | O::I32Load { .. } | O::I64Load { .. });
                let byte = if bytes && address.pointer != FIRST | SECOND { address.pointer } else { 0 };
                self.stack.push(Origin { pointer: 0, byte });
            }
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
            O::Select => {
                self.pop();
                let (right, left) = (self.pop(), self.pop());
                self.stack.push(left.and(right));
            }
            _ if two_operands(operator) => {
                let (right, left) = (self.pop(), self.pop());
                let in_loop = self.blocks.iter().any(|&(is_loop, _)| is_loop);
                if compares(operator) && left.meets(right) && in_loop {
                    self.found = true;
                }
                self.stack.push(left.and(right));
            }
            _ => return None,
        }
        Some(())
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
