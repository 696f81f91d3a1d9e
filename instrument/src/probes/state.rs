//! Flags for changes of state that can't be undone, or that cost something to undo.

use anyhow::Result;
use wasmparser::Operator;

use super::probe::{Probe, Site};
use crate::layout::Flag;

pub(super) struct State;

impl Probe for State {
    fn before(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        use Operator as O;
        let flag = match operator {
            _ if !site.live => return Ok(()),
            O::TableSet { .. } | O::TableFill { .. } | O::TableCopy { .. } | O::TableInit { .. } => Flag::TableWrite,
            O::TableGrow { .. } => Flag::TableGrow,
            O::DataDrop { .. } | O::ElemDrop { .. } => Flag::SegmentDrop,
            O::MemoryGrow { .. } => Flag::MemoryGrow,
            _ => return Ok(()),
        };
        site.code().flag(flag);
        Ok(())
    }
}
