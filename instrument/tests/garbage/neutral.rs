//! Code that can stand anywhere in a body: it takes nothing from the stack and leaves nothing there.

use std::borrow::Cow;

use wasm_encoder::{BlockType, Catch, Encode, HeapType, Instruction, RefType, ValType};

use super::random::Random;
use super::shape::{Body, Op, Shape, Signature};

/// The types that a branch to each label takes along, the outermost first.
pub(crate) fn label_types(shape: &Shape<'_>, function: &Signature, before: &[Op<'_>]) -> Vec<Vec<ValType>> {
    let mut labels = vec![function.results.clone()];
    for op in before {
        if let Some(ty) = op.block_type() {
            let Signature { params, results } = shape.block(ty);
            labels.push(if matches!(op, Op::Control(Instruction::Loop(_))) { params } else { results });
        }
        if op.closes() {
            labels.pop();
        }
    }
    labels
}

/// Writes such code.
pub(crate) struct Neutral<'s, 'm, 'r> {
    shape: &'s mut Shape<'m>,
    random: &'r mut Random,
    function: Signature,
    /// By local index, as far as it is known.
    locals: Vec<ValType>,
    labels: Vec<Vec<ValType>>,
    out: Vec<Op<'m>>,
}

impl<'s, 'm, 'r> Neutral<'s, 'm, 'r> {
    pub(crate) fn new(
        shape: &'s mut Shape<'m>,
        random: &'r mut Random,
        function: Signature,
        body: &Body<'_>,
        labels: Vec<Vec<ValType>>,
    ) -> Neutral<'s, 'm, 'r> {
        let declared = body.locals.iter().flat_map(|&(count, ty)| std::iter::repeat_n(ty, count as usize));
        let locals = function.params.iter().copied().chain(declared).take(100).collect();
        Neutral { shape, random, function, locals, labels, out: Vec::new() }
    }

    pub(crate) fn finish(self) -> Vec<Op<'m>> {
        self.out
    }

    fn op(&mut self, instruction: Instruction<'m>) {
        self.out.push(match instruction {
            Instruction::Block(_)
            | Instruction::Loop(_)
            | Instruction::If(_)
            | Instruction::Else
            | Instruction::End
            | Instruction::Try(_)
            | Instruction::CatchAll
            | Instruction::Delegate(_)
            | Instruction::Rethrow(_)
            | Instruction::TryTable(..)
            | Instruction::Br(_)
            | Instruction::BrIf(_)
            | Instruction::BrTable(..)
            | Instruction::BrOnNull(_)
            | Instruction::BrOnNonNull(_)
            | Instruction::BrOnCast { .. }
            | Instruction::BrOnCastFail { .. } => Op::Control(instruction),
            _ => {
                let mut bytes = Vec::new();
                instruction.encode(&mut bytes);
                Op::Plain(Cow::Owned(bytes))
            }
        });
    }

    fn ops(&mut self, instructions: impl IntoIterator<Item = Instruction<'m>>) {
        instructions.into_iter().for_each(|instruction| self.op(instruction));
    }

    /// Opens a block with these types on its label.
    fn open(&mut self, instruction: Instruction<'m>, label: Vec<ValType>) {
        self.op(instruction);
        self.labels.push(label);
    }

    fn close(&mut self) {
        self.op(Instruction::End);
        self.labels.pop();
    }

    fn condition(&mut self) {
        let value = self.random.below(3) as i32;
        match self.locals.iter().position(|&ty| ty == ValType::I32) {
            Some(local) if value == 0 => self.op(Instruction::LocalGet(local as u32)),
            _ => self.op(Instruction::I32Const(value)),
        }
    }

    /// Writes a constant of each type; `None`, with nothing written, if there is one without constants.
    fn constants(&mut self, types: &[ValType]) -> Option<()> {
        let constants: Option<Vec<_>> = types.iter().map(|&ty| constant(ty)).collect();
        self.ops(constants?);
        Some(())
    }

    fn drops(&mut self, count: usize) {
        self.ops(std::iter::repeat_n(Instruction::Drop, count));
    }

    /// Some label's depth, and its types.
    fn label(&mut self) -> (u32, Vec<ValType>) {
        let depth = self.random.below(self.labels.len());
        (depth as u32, self.labels[self.labels.len() - 1 - depth].clone())
    }

    /// Writes some code, with at most that many levels of blocks.
    pub(crate) fn code(&mut self, levels: usize) {
        match self.random.below(if levels == 0 { 9 } else { 18 }) {
            0 => self.op(Instruction::Nop),
            1 => self.branch_if().unwrap_or_default(),
            2 => self.branch_table().unwrap_or_default(),
            3 => self.call().unwrap_or_default(),
            4 => self.local(),
            5 => self.select(),
            6 => self.state(),
            7 => self.dead(),
            8 => self.tail_call().unwrap_or_default(),
            9 => self.blocks(),
            10 => self.choice(levels, false),
            11 => self.choice(levels, true),
            12 => self.exceptions(levels),
            13 => self.caught_reference(levels),
            14 => self.null_checks(),
            15 => self.casts(),
            16 => self.typed_block(levels).unwrap_or_default(),
            _ => self.legacy(levels),
        }
    }

    fn branch_if(&mut self) -> Option<()> {
        let (depth, types) = self.label();
        self.constants(&types)?;
        for _ in 0..self.random.size(4) {
            self.condition();
            self.op(Instruction::BrIf(depth));
        }
        self.drops(types.len());
        Some(())
    }

    fn branch_table(&mut self) -> Option<()> {
        let (default, types) = self.label();
        let fits: Vec<u32> =
            (0..).zip(self.labels.iter().rev()).filter(|(_, label)| **label == types).map(|(depth, _)| depth).collect();
        let arms = self.random.size_or(8, 2_000);
        let depths: Vec<_> = (0..arms).map(|_| fits[self.random.below(fits.len())]).collect();
        // In an arm of its own, so that what follows can be reached.
        self.condition();
        self.open(Instruction::If(BlockType::Empty), Vec::new());
        let written = self.constants(&types);
        if written.is_some() {
            self.condition();
            let depths = depths.into_iter().map(|depth| depth + 1).collect();
            self.op(Instruction::BrTable(Cow::Owned(depths), default + 1));
        }
        self.close();
        written
    }

    fn call(&mut self) -> Option<()> {
        let (function, signature) = self.function()?;
        self.constants(&signature.params)?;
        self.op(Instruction::Call(function));
        self.drops(signature.results.len());
        Some(())
    }

    fn tail_call(&mut self) -> Option<()> {
        let (function, signature) = self.function()?;
        if signature.results == self.function.results {
            self.condition();
            self.op(Instruction::If(BlockType::Empty));
            let written = self.constants(&signature.params);
            self.ops(written.map(|()| Instruction::ReturnCall(function)));
            self.op(Instruction::End);
        }
        Some(())
    }

    fn function(&mut self) -> Option<(u32, Signature)> {
        let imported = self.shape.imported.iter().copied();
        let all: Vec<_> = imported.chain(self.shape.functions.iter().map(|(ty, _)| *ty)).collect();
        let function = self.random.below(all.len());
        Some((function as u32, self.shape.signature(*all.get(function)?)?.clone()))
    }

    fn local(&mut self) {
        let local = self.random.below(self.locals.len()) as u32;
        if let Some(&ty) = self.locals.get(local as usize) {
            // Reading one that is not nullable can be wrong: it may not be set.
            match constant(ty) {
                Some(constant) => self.ops([constant, Instruction::LocalTee(local), Instruction::Drop]),
                None => self.ops([Instruction::LocalGet(local), Instruction::Drop]),
            }
        }
    }

    fn select(&mut self) {
        self.ops([Instruction::I64Const(1), Instruction::I64Const(2)]);
        self.condition();
        self.ops([Instruction::Select, Instruction::Drop]);
    }

    fn state(&mut self) {
        if self.shape.has_memory {
            // Wrong for a 64-bit memory.
            let zero = Instruction::I32Const(0);
            match self.random.below(3) {
                0 => self.ops([zero, Instruction::MemoryGrow(0), Instruction::Drop]),
                1 => self.ops([zero.clone(), zero.clone(), zero, Instruction::MemoryFill(0)]),
                _ => self.ops([zero.clone(), zero, Instruction::MemoryAtomicNotify(cell()), Instruction::Drop]),
            }
        }
    }

    /// Code behind which nothing is reached.
    fn dead(&mut self) {
        let (depth, _) = self.label();
        if self.random.once_in(2) {
            self.op(Instruction::Unreachable);
        } else {
            self.ops([Instruction::I32Const(1), Instruction::If(BlockType::Empty), Instruction::Unreachable]);
            self.ops([Instruction::Br(depth + 1), Instruction::End]);
        }
    }

    /// Blocks and loops in each other.
    fn blocks(&mut self) {
        let depth = self.random.size_or(8, 500);
        for _ in 0..depth {
            let block = if self.random.once_in(2) { Instruction::Block } else { Instruction::Loop };
            self.open(block(BlockType::Empty), Vec::new());
        }
        self.branch_if();
        for _ in 0..depth {
            self.close();
        }
    }

    fn choice(&mut self, levels: usize, other: bool) {
        self.condition();
        self.open(Instruction::If(BlockType::Empty), Vec::new());
        self.code(levels - 1);
        if other {
            self.op(Instruction::Else);
            self.code(levels - 1);
        }
        self.close();
    }

    /// A `try_table` whose clauses go to labels that take what they give.
    fn exceptions(&mut self, levels: usize) {
        let mut fits = Vec::new();
        for (label, types) in (0..).zip(self.labels.iter().rev()) {
            match &types[..] {
                [] => fits.push(Catch::All { label }),
                [ValType::Ref(RefType::EXNREF)] => fits.push(Catch::AllRef { label }),
                _ => {}
            }
            for (tag, &ty) in (0..).zip(&self.shape.tags) {
                if self.shape.signature(ty).is_some_and(|tag| tag.params == *types) {
                    fits.push(Catch::One { tag, label });
                }
            }
        }
        let clauses = self.random.size_or(6, 300);
        let catches: Vec<_> = (0..clauses).filter_map(|_| self.random.choose(&fits).cloned()).collect();
        self.open(Instruction::TryTable(BlockType::Empty, Cow::Owned(catches)), Vec::new());
        self.code(levels - 1);
        self.close();
    }

    fn caught_reference(&mut self, levels: usize) {
        let reference = ValType::Ref(RefType::EXNREF);
        self.open(Instruction::Block(BlockType::Result(reference)), vec![reference]);
        let catches = vec![Catch::AllRef { label: 0 }; self.random.size(4)];
        self.open(Instruction::TryTable(BlockType::Empty, Cow::Owned(catches)), Vec::new());
        self.code(levels - 1);
        self.close();
        self.op(Instruction::Unreachable);
        self.close();
        self.op(Instruction::Drop);
    }

    fn null_checks(&mut self) {
        let heap_type = [HeapType::FUNC, HeapType::EXTERN, HeapType::ANY, HeapType::I31][self.random.below(4)];
        self.open(Instruction::Block(BlockType::Empty), Vec::new());
        self.op(Instruction::RefNull(heap_type));
        for _ in 0..self.random.size(8) {
            self.op(Instruction::BrOnNull(0));
        }
        self.op(Instruction::Drop);
        self.close();
        let non_null = ValType::Ref(RefType { nullable: false, heap_type });
        self.open(Instruction::Block(BlockType::Result(non_null)), vec![non_null]);
        self.ops([Instruction::RefNull(heap_type), Instruction::BrOnNonNull(0), Instruction::Unreachable]);
        self.close();
        self.op(Instruction::Drop);
    }

    fn casts(&mut self) {
        let from = RefType::ANYREF;
        let to = [RefType::I31REF, RefType::EQREF, RefType::ANYREF][self.random.below(3)];
        self.open(Instruction::Block(BlockType::Result(ValType::Ref(from))), vec![ValType::Ref(from)]);
        self.op(Instruction::RefNull(HeapType::ANY));
        for _ in 0..self.random.size(4) {
            let relative_depth = 0;
            // What is left is of a narrower type, and fits again.
            let branch = if self.random.once_in(2) {
                Instruction::BrOnCast { relative_depth, from_ref_type: from, to_ref_type: to }
            } else {
                Instruction::BrOnCastFail { relative_depth, from_ref_type: from, to_ref_type: to }
            };
            self.op(branch);
        }
        self.close();
        self.op(Instruction::Drop);
    }

    /// A block with parameters and results, at times very many.
    fn typed_block(&mut self, levels: usize) -> Option<()> {
        let all = [ValType::I32, ValType::I64, ValType::F32, ValType::F64, ValType::V128, ValType::FUNCREF];
        let count = self.random.size_or(5, 1_000);
        let types: Vec<_> = (0..count).map(|_| all[self.random.below(all.len())]).collect();
        let ty = self.shape.add_type(Signature { params: types.clone(), results: types.clone() });
        self.constants(&types)?;
        let block = if self.random.once_in(2) { Instruction::Block } else { Instruction::Loop };
        self.open(block(BlockType::FunctionType(ty)), types);
        self.code(levels - 1);
        for _ in 0..self.random.size(4) {
            self.condition();
            self.op(Instruction::BrIf(0));
        }
        self.close();
        self.drops(count);
        Some(())
    }

    fn legacy(&mut self, levels: usize) {
        self.open(Instruction::Try(BlockType::Empty), Vec::new());
        self.code(levels - 1);
        if self.random.once_in(3) {
            self.labels.pop();
            let depth = self.random.below(self.labels.len()) as u32;
            return self.op(Instruction::Delegate(depth));
        }
        self.op(Instruction::CatchAll);
        self.code(levels - 1);
        if self.random.once_in(2) {
            self.op(Instruction::Rethrow(0));
        }
        self.close();
    }
}

/// The zero or null of a type.
fn constant(ty: ValType) -> Option<Instruction<'static>> {
    Some(match ty {
        ValType::I32 => Instruction::I32Const(0),
        ValType::I64 => Instruction::I64Const(0),
        ValType::F32 => Instruction::F32Const(0.0.into()),
        ValType::F64 => Instruction::F64Const(0.0.into()),
        ValType::V128 => Instruction::V128Const(0),
        ValType::Ref(RefType { nullable: true, heap_type }) => Instruction::RefNull(heap_type),
        ValType::Ref(_) => return None,
    })
}

fn cell() -> wasm_encoder::MemArg {
    wasm_encoder::MemArg { offset: 0, align: 2, target: wasm_encoder::MemArgTarget::Memory(0), ordering: None }
}
