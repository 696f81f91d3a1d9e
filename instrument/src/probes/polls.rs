//! Polls: loads that a watchdog can make trap, by taking their page away.
//!
//! A signal interrupts the module's own code. What else the code may spend its time in has a poll behind it, so that a
//! loop of such operators ends as well: operators that do as much as an operand says, growth, allocation, and direct
//! calls of imported functions. (What is called by reference may be an imported function too; there the host has to see
//! to it that it ends.)

use anyhow::Result;
use wasmparser::Operator;

use super::probe::{Probe, Site};
use crate::module::operators::Bulk;

pub(super) struct Polls;

impl Probe for Polls {
    fn after(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        use Operator as O;
        let leaves = match operator {
            // The functions of the guest protocol are put in the place of their calls.
            O::Call { function_index } => {
                *function_index < site.survey.imported && site.survey.protocol.body(*function_index).is_none()
            }
            O::MemoryGrow { .. }
            | O::TableGrow { .. }
            | O::StructNew { .. }
            | O::StructNewDefault { .. }
            | O::ArrayNewFixed { .. } => true,
            _ => Bulk::of(operator).is_some(),
        };
        if leaves && site.live {
            site.code().poll();
        }
        Ok(())
    }
}
