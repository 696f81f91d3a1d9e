//! What a probe is, and what it sees.

use anyhow::Result;
use wasm_encoder::BlockType;
use wasmparser::{FunctionBody, Operator, ValType};

use crate::layout::code::Code;
use crate::module::survey::Survey;
use crate::module::types::{Signature, Values, encoded};
use crate::plan::Draft;

/// One kind of code that is put between operators, for one function.
///
/// Hooks are called for dead code too, so that a probe can follow the nesting of blocks; [`Site::live`] tells, and
/// where code is dead nothing is to be written that takes operands.
pub(crate) trait Probe: Send {
    /// The start of the body.
    fn enter(&mut self, _site: &mut Site<'_, '_>) -> Result<()> {
        Ok(())
    }

    /// Before an operator, whose operands lie on the stack.
    fn before(&mut self, _operator: &Operator<'_>, _site: &mut Site<'_, '_>) -> Result<()> {
        Ok(())
    }

    /// In the place of an operator that can be reached: what is written takes it, if anything is. One probe at most has
    /// something to write.
    fn instead(&mut self, _operator: &Operator<'_>, _site: &mut Site<'_, '_>) -> Result<()> {
        Ok(())
    }

    /// After an operator that could be reached; what is written is reached if the operator goes on to the next.
    fn after(&mut self, _operator: &Operator<'_>, _site: &mut Site<'_, '_>) -> Result<()> {
        Ok(())
    }

    /// At the beginning of an arm of an `if`, if it can be reached.
    fn arm(&mut self, _site: &mut Site<'_, '_>) -> Result<()> {
        Ok(())
    }

    /// After the end of a block, if what follows can be reached in whatever way; not after that of the function.
    fn joined(&mut self, _site: &mut Site<'_, '_>) -> Result<()> {
        Ok(())
    }

    /// Where a `try_table` of this function has caught an exception.
    fn caught(&mut self, _site: &mut Site<'_, '_>) -> Result<()> {
        Ok(())
    }

    /// Before the function's end, behind what is counted there. What is written is reached by what goes on to the end,
    /// or branches to the function's label if a block was opened around the body, which is closed here.
    fn leave(&mut self, _site: &mut Site<'_, '_>) -> Result<()> {
        Ok(())
    }
}

/// A function, for probes that look at it as a whole.
pub(crate) struct Function<'a, 's> {
    pub(crate) index: u32,
    /// What it gives.
    pub(crate) results: Values,
    pub(crate) body: &'a FunctionBody<'s>,
    /// Exceptions may leave it.
    pub(crate) unwound: bool,
}

/// Where a probe may write, and what it can know there.
pub(crate) struct Site<'a, 's> {
    /// The module.
    pub(crate) survey: &'a Survey<'s>,
    draft: &'a mut Draft,
    /// What the function gives.
    results: Values,
    /// Where the operator is, an offset in the module.
    pub(crate) at: u32,
    /// Whether the operator can be reached.
    pub(crate) live: bool,
    /// The types of the last operand and the one before it, before the operator, where they are known.
    pub(crate) operands: [Option<ValType>; 2],
}

impl<'a, 's> Site<'a, 's> {
    pub(crate) fn new(survey: &'a Survey<'s>, draft: &'a mut Draft, results: Values, at: u32) -> Site<'a, 's> {
        Site { survey, draft, results, at, live: true, operands: [None; 2] }
    }

    /// To write code.
    pub(crate) fn code(&mut self) -> Code<'_> {
        Code::new(&mut self.draft.out.inserted, self.survey.memories)
    }

    /// To write code that is there already.
    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.draft.out.inserted
    }

    /// How many bytes have been written in this function.
    pub(crate) fn position(&self) -> usize {
        self.draft.out.inserted.len()
    }

    /// The function's index.
    pub(crate) fn function(&self) -> u32 {
        self.draft.out.index
    }

    /// A local that takes an operand of this type for a moment. Those with different numbers are different.
    pub(crate) fn scratch(&mut self, ty: ValType, number: u32) -> Result<u32> {
        self.draft.scratch(ty, number)
    }

    /// A new local, which nothing else uses.
    pub(crate) fn local(&mut self, ty: ValType) -> Result<u32> {
        self.draft.local(ty)
    }

    /// An `if` without operands and results whose condition rarely holds: the code behind it is laid out apart.
    pub(crate) fn unlikely_if(&mut self) {
        let position = self.position() as u32;
        self.draft.out.unlikely.push(position);
        self.code().if_(BlockType::Empty);
    }

    /// Opens a block that gives what the function gives, and takes nothing.
    pub(crate) fn block_with_results(&mut self) -> Result<()> {
        match self.survey.values(self.results)?[..] {
            [] => self.code().block(BlockType::Empty),
            [ty] => self.code().block(BlockType::Result(encoded(ty)?)),
            _ => {
                let signature = self.draft.signature(Signature { params: Values::Empty, results: self.results });
                let position = self.position() as u32 + 1;
                self.draft.out.typed_blocks.push((position, signature));
                self.code().block_to_be_filled_in();
                return Ok(());
            }
        };
        Ok(())
    }
}
