//! What an assembled function of the protocol becomes in a module: its calls, its memory and its constants are the
//! module's.

use anyhow::{Result, anyhow};
use wasm_encoder::reencode::{Reencode, utils};
use wasm_encoder::{BlockType, Encode, Instruction as I, MemArg};
use wasmparser::Operator;

use super::protocol::ProtocolFunctions;
use crate::module::types::encoded;
use crate::protocol::{Assembled, Assembly, Imports};

/// What an assembled function becomes in a module.
pub(crate) struct Relocation<'a> {
    pub(crate) all: &'static Assembled,
    pub(crate) imports: &'a Imports,
    pub(crate) linked: ProtocolFunctions,
    /// The injected memory.
    pub(crate) memory: u32,
}

impl Reencode for Relocation<'_> {
    type Error = std::convert::Infallible;

    fn function_index(&mut self, function: u32) -> Result<u32, wasm_encoder::reencode::Error> {
        Ok(self.linked.index(self.imports, function))
    }

    fn memory_index(&mut self, _: u32) -> Result<u32, wasm_encoder::reencode::Error> {
        Ok(self.memory)
    }

    fn mem_arg(&mut self, arg: wasmparser::MemArg) -> Result<MemArg, wasm_encoder::reencode::Error> {
        let arg = utils::mem_arg(self, arg)?;
        Ok(MemArg { offset: arg.offset + u64::from(self.linked.start), ..arg })
    }
}

impl Relocation<'_> {
    /// The body of a function.
    pub(crate) fn body(&mut self, function: &Assembly) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let locals: Vec<_> = function.body.get_locals_reader()?.into_iter().collect::<wasmparser::Result<_>>()?;
        locals.len().encode(&mut bytes);
        for (count, ty) in locals {
            count.encode(&mut bytes);
            encoded(ty)?.encode(&mut bytes);
        }
        self.operators(function, &mut bytes, |_, _, _| false)?;
        Ok(bytes)
    }

    /// Writes a short function in the place of a call. Its parameters without the last, which is `site`, lie on the
    /// stack; `locals` are what its locals become.
    ///
    /// Nothing is cleared, so such a function sets each of its locals before it uses it.
    pub(crate) fn inline(mut self, function: &Assembly, locals: &[u32], site: u32, bytes: &mut Vec<u8>) -> Result<()> {
        let own = function.ty.params().len() - 1;
        for &param in locals[..own].iter().rev() {
            I::LocalSet(param).encode(bytes);
        }
        let result = function
            .ty
            .results()
            .first()
            .map_or(Ok(BlockType::Empty), |&ty| anyhow::Ok(BlockType::Result(encoded(ty)?)))?;
        I::Block(result).encode(bytes);
        self.operators(function, bytes, |link, (operator, depth), bytes| {
            match *operator {
                Operator::LocalGet { local_index } if local_index as usize == own => {
                    I::I32Const(site.cast_signed()).encode(bytes);
                }
                Operator::LocalGet { local_index } => I::LocalGet(locals[local_index as usize]).encode(bytes),
                Operator::LocalSet { local_index } => I::LocalSet(locals[local_index as usize]).encode(bytes),
                Operator::LocalTee { local_index } => I::LocalTee(locals[local_index as usize]).encode(bytes),
                Operator::Return => I::Br(depth).encode(bytes),
                Operator::ReturnCall { function_index } => {
                    I::Call(link.linked.index(link.imports, function_index)).encode(bytes);
                    I::Br(depth).encode(bytes);
                }
                _ => return false,
            }
            true
        })
    }

    /// Writes a function's operators, those of its end included. `instead` is asked about each, with the number of
    /// blocks that are open around it, and may write something else.
    fn operators(
        &mut self,
        function: &Assembly,
        bytes: &mut Vec<u8>,
        instead: impl Fn(&Self, (&Operator<'_>, u32), &mut Vec<u8>) -> bool,
    ) -> Result<()> {
        let mut operators = function.body.get_operators_reader()?;
        let mut depth = 0_u32;
        while !operators.eof() {
            let operator = operators.read()?;
            match operator {
                Operator::GlobalGet { global_index } if global_index == self.all.recording => {
                    // What follows is an `if` without `else`, out of which nothing branches.
                    operators.read()?;
                    if self.linked.recording {
                        depth += 1;
                        I::Block(BlockType::Empty).encode(bytes);
                    } else {
                        skip_block(&mut operators)?;
                    }
                    continue;
                }
                Operator::GlobalGet { .. } => {
                    I::I32Const(self.linked.start.cast_signed()).encode(bytes);
                    continue;
                }
                Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => depth += 1,
                Operator::End => depth = depth.saturating_sub(1),
                _ => {}
            }
            if !instead(self, (&operator, depth), bytes) {
                let instruction = self.instruction(operator);
                instruction.map_err(|error| anyhow!("failed to link a body: {error}"))?.encode(bytes);
            }
        }
        Ok(())
    }
}

/// Skips to behind the end of a block that was just opened.
fn skip_block(operators: &mut wasmparser::OperatorsReader<'_>) -> Result<()> {
    let mut open = 1;
    while open > 0 {
        match operators.read()? {
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => open += 1,
            Operator::End => open -= 1,
            _ => {}
        }
    }
    Ok(())
}
