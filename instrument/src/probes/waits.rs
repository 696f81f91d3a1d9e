//! Waiting: nobody is there to notify, so `memory.atomic.wait` times out at once.

use anyhow::Result;
use wasmparser::Operator;

use super::probe::{Probe, Site};

pub(super) struct Waits;

impl Probe for Waits {
    fn before(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        if let (Operator::MemoryAtomicWait32 { .. } | Operator::MemoryAtomicWait64 { .. }, true) = (operator, site.live)
        {
            site.code().drop().i64_const(0);
        }
        Ok(())
    }
}
