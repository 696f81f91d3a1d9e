//! Fuel: each function entry and loop head takes what the code there costs, so that every execution ends.
//!
//! That alone would charge an interpreter for all of its operations whenever it executes one: they lie in one loop, around a `br_table`. So
//! the end of each block that a `br_table` may go to takes what follows it in the block around it, up to the next such end. Nothing
//! follows there that was not reached by way of this end.

use anyhow::Result;
use wasmparser::{Operator, ValType};

use super::{Bulk, Probe, Site, cost};
use crate::code::{Code, patch};
use crate::layout;

/// Counts operators and charges them.
pub(super) struct Fuel {
    /// What an instance starts with.
    start: i64,
    costs: Vec<Cost>,
    /// What an entry takes beside its operators.
    entry: u32,
    /// The blocks that are open.
    blocks: Vec<Block>,
    /// A block ends to which a `br_table` may have gone.
    arrives: bool,
}

/// An open block.
struct Block {
    /// Which cost counts what lies directly in it, from here on.
    cost: usize,
    /// Which did at its beginning.
    first: usize,
    is_loop: bool,
    /// A `br_table` may go to its label.
    is_target: bool,
}

impl Block {
    fn new(cost: usize, is_loop: bool) -> Block {
        Block { cost, first: cost, is_loop, is_target: false }
    }
}

/// A place that spends fuel.
struct Cost {
    /// Where the constant is in what was written.
    constant: usize,
    /// How many operators it is for: those of the body or loop, outside of loops in it, or those behind a block; some count for several.
    operators: u32,
}

impl Fuel {
    /// For a function that an exception may leave, or not.
    pub(super) fn new(start: i64, unwound: bool) -> Fuel {
        let entry = if unwound { cost::UNWOUND } else { 0 };
        Fuel { start, costs: Vec::new(), entry, blocks: Vec::new(), arrives: false }
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
        let length = match Bulk::of(operator) {
            Some(Bulk::Bytes) => Length::Divided(layout::FUEL_BYTES_LOG2),
            Some(Bulk::Elements) => {
                cost::of_references_log2(operator, site.survey).map_or(Length::Divided(0), Length::Times)
            }
            None if is_feature(operator, site) => Length::UpTo(layout::stream::LABEL_MAX, cost::NAME_LOG2),
            None => return Ok(()),
        };
        if let Some(ty @ (ValType::I32 | ValType::I64)) = site.operands[0] {
            let local = site.scratch(ty, 0)?;
            let wide = ty == ValType::I64;
            spend_length(&mut site.code(), local, wide, length);
        }
        Ok(())
    }
}

/// How much fuel is taken for a length.
#[derive(Clone, Copy)]
enum Length {
    /// A unit for so many, as a power of two.
    Divided(u32),
    /// So many units for each, as a power of two.
    Times(u32),
    /// As before, but of a length of 32 bits no more than this counts.
    UpTo(u32, u32),
}

/// Takes fuel for the length on the stack; leaves the length. Whether the fuel is used up is seen at the next function entry or loop head.
fn spend_length(code: &mut Code<'_>, local: u32, wide: bool, length: Length) {
    let fuel = code.cell(layout::FUEL.into(), 3);
    code.local_set(local).i32_const(0).i32_const(0).i64_load(fuel).local_get(local);
    if let Length::UpTo(most, _) = length {
        let most = most.cast_signed();
        code.i32_const(most).local_get(local).i32_const(most).i32_lt_u().select();
    }
    if !wide {
        code.i64_extend_i32_u();
    }
    match length {
        Length::Divided(log2) => code.i64_const(log2.into()).i64_shr_u(),
        Length::Times(log2) | Length::UpTo(_, log2) => code.i64_const(log2.into()).i64_shl(),
    };
    code.i64_sub().i64_store(fuel).local_get(local);
}

/// Whether it asks for a feature, by a name whose length is the last operand.
fn is_feature(operator: &Operator<'_>, site: &Site<'_, '_>) -> bool {
    matches!(*operator, Operator::Call { function_index } | Operator::ReturnCall { function_index }
        if site.survey.protocol.name(function_index) == Some("feature"))
}

impl Probe for Fuel {
    fn enter(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        self.spend(site);
        self.blocks.push(Block::new(0, false));
        Ok(())
    }

    fn before(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        use Operator as O;
        let innermost = self.blocks.last().map_or(0, |block| block.cost);
        let operators = &mut self.costs[innermost].operators;
        *operators = operators.saturating_add(cost::of(operator, site.survey));
        match operator {
            // A loop that can be reached gets its own when its head was written.
            O::Loop { .. } if site.live => self.blocks.push(Block::new(self.costs.len(), true)),
            O::Loop { .. } => self.blocks.push(Block::new(innermost, true)),
            O::Block { .. } | O::If { .. } | O::TryTable { .. } => self.blocks.push(Block::new(innermost, false)),
            // What the other arm ends with does not come before this one.
            O::Else => {
                if let Some(block) = self.blocks.last_mut() {
                    block.cost = block.first;
                }
            }
            O::BrTable { targets } if site.live => {
                for depth in targets.targets().chain([Ok(targets.default())]) {
                    let target = self.blocks.len().checked_sub(depth? as usize + 1);
                    if let Some(block) = target.and_then(|index| self.blocks.get_mut(index)) {
                        block.is_target = !block.is_loop;
                    }
                }
            }
            O::End => self.arrives = self.blocks.pop().is_some_and(|block| block.is_target),
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

    fn joined(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        if let (true, Some(block)) = (self.arrives, self.blocks.last_mut()) {
            block.cost = self.costs.len();
            self.spend(site);
        }
        Ok(())
    }

    fn finish(&mut self, inserted: &mut [u8]) {
        if let Some(entry) = self.costs.first_mut() {
            entry.operators = entry.operators.saturating_add(self.entry);
        }
        for cost in &self.costs {
            patch(inserted, cost.constant, cost.operators.max(1));
        }
    }
}
