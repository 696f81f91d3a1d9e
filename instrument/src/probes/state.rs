//! Flags for changes of state that can't be undone, or that cost something to undo.

use anyhow::Result;
use wasmparser::Operator;

use super::probe::{Probe, Site};
use crate::layout;

pub(super) struct State;

impl Probe for State {
    fn before(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        use Operator as O;
        let flag = match operator {
            _ if !site.live => return Ok(()),
            O::TableSet { .. } | O::TableFill { .. } | O::TableCopy { .. } | O::TableInit { .. } => {
                layout::FLAG_TABLE_WRITE
            }
            O::TableGrow { .. } => layout::FLAG_TABLE_GROW,
            O::DataDrop { .. } | O::ElemDrop { .. } => layout::FLAG_SEGMENT_DROP,
            O::MemoryGrow { .. } => layout::FLAG_MEMORY_GROW,
            _ => return Ok(()),
        };
        site.code().flag(flag);
        Ok(())
    }
}
