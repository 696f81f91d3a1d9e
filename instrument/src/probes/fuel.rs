//! Fuel: each function entry and loop head takes what the code there costs, so that every execution ends.

use anyhow::Result;
use wasmparser::{Operator, ValType};

use super::{Bulk, Probe, Site};
use crate::code::patch;
use crate::layout;

/// What growing a memory or a table takes, in operators: it is the host's work, whether it is refused or not. (A refused growth takes
/// 300 ns, so a loop of them would be fifty times as slow as its fuel says.)
const GROWTH: u32 = 256;

/// Counts operators and charges them.
pub(super) struct Fuel {
    /// What an instance starts with.
    start: i64,
    costs: Vec<Cost>,
    /// Per open block: which cost counts what lies directly in it.
    blocks: Vec<usize>,
}

/// A place that spends fuel.
struct Cost {
    /// Where the constant is in what was written.
    constant: usize,
    /// How many operators lie in the body or loop, outside of loops in it; some count for several.
    operators: u32,
}

impl Fuel {
    pub(super) fn new(start: i64) -> Fuel {
        Fuel { start, costs: Vec::new(), blocks: Vec::new() }
    }

    fn spend(&mut self, site: &mut Site<'_, '_>) {
        site.code().load_fuel();
        self.costs.push(Cost { constant: site.position() + 1, operators: 0 });
        let mut code = site.code();
        code.i64_const_to_be_filled_in();
        code.spend(self.start);
    }

    /// Charges an operator that does as much as its last operand says: without that, a loop of such operators could be
    /// bounded by fuel and still take for ever.
    fn bulk(operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        let shift = match Bulk::of(operator) {
            Some(Bulk::Bytes) => layout::FUEL_BYTES_LOG2,
            Some(Bulk::Elements) => 0,
            None => return Ok(()),
        };
        if let Some(ty @ (ValType::I32 | ValType::I64)) = site.operands[0] {
            let local = site.scratch(ty, 0)?;
            site.code().spend_length(local, ty == ValType::I64, shift);
        }
        Ok(())
    }
}

impl Probe for Fuel {
    fn enter(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        self.spend(site);
        self.blocks.push(0);
        Ok(())
    }

    fn before(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        use Operator as O;
        let innermost = self.blocks.last().copied().unwrap_or_default();
        let operators = &mut self.costs[innermost].operators;
        let grows = matches!(operator, O::MemoryGrow { .. } | O::TableGrow { .. });
        *operators = operators.saturating_add(if grows { GROWTH } else { 1 });
        match operator {
            // A loop that can be reached gets its own when its head was written.
            O::Loop { .. } if site.live => self.blocks.push(self.costs.len()),
            O::Block { .. } | O::Loop { .. } | O::If { .. } | O::TryTable { .. } => self.blocks.push(innermost),
            O::End => {
                self.blocks.pop();
            }
            _ if site.live => Self::bulk(operator, site)?,
            _ => {}
        }
        Ok(())
    }

    fn after(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        if let Operator::Loop { .. } = operator {
            self.spend(site);
        }
        Ok(())
    }

    fn finish(&mut self, inserted: &mut [u8]) {
        for cost in &self.costs {
            patch(inserted, cost.constant, cost.operators.max(1));
        }
    }
}
