//! Lengths that compilers can't foretell: those of `memory.copy`.
//!
//! Short copies of a known length become loads and stores, of which engines know that they are inside the memory. A
//! host that makes pages of it inaccessible could tell them neither from the guest's own, which are to trap, nor make
//! them trap.

use anyhow::Result;
use wasmparser::{Operator, ValType};

use super::probe::{Probe, Site};

pub(super) struct Copies;

impl Probe for Copies {
    fn before(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        if let (Operator::MemoryCopy { .. }, true) = (operator, site.live)
            && let Some(ty @ (ValType::I32 | ValType::I64)) = site.operands[0]
        {
            site.code().hide(ty == ValType::I64);
        }
        Ok(())
    }
}
