//! Fuel: what is executed takes what it costs, and function entries and loop heads see whether there is any left, so
//! that every execution ends. [`charges`] says where how much is taken.
//!
//! To charge an entry or a loop's head for all that may follow would charge an interpreter for all of its operations
//! whenever it executes one: they lie in one loop, around a `br_table`.
//!
//! # Fuel is ours
//!
//! What is executed subtracts about one per instruction from a number in the injected memory, so a hang does not
//! depend on the machine: function entries and loop heads, which also look whether there is any left, arms of an
//! `if`, and what may be skipped in a block, where that is worth it (`probes/fuel/charges`). An entry that paid for
//! the whole body would charge an allocator ten times what it executes. Bulk operators pay for their length, and
//! what takes longer than others more (`cost`): aimed at is that no loop takes ten times as long as a plain
//! one that burns the same fuel. Each function that an exception may leave pays for that at its entry, once for
//! each frame.

mod charges;
mod cost;

use anyhow::Result;
use wasmparser::{FunctionBody, Operator, ValType};

use super::probe::{Probe, Site};
use crate::layout;
use crate::layout::code::Code;
use crate::module::operators::Bulk;
use crate::module::survey::Survey;
use charges::Charges;

/// Takes fuel.
pub(super) struct Fuel {
    /// What an instance starts with.
    start: i64,
    charges: Charges,
    /// Operators so far.
    operators: u32,
}

impl Fuel {
    /// For a function that an exception may leave, or not.
    pub(super) fn new(start: i64, survey: &Survey<'_>, body: &FunctionBody<'_>, unwound: bool) -> Result<Fuel> {
        let charges = Charges::of(body, survey, if unwound { cost::UNWOUND } else { 0 })?;
        Ok(Fuel { start, charges, operators: 0 })
    }

    /// Takes fuel, and ends the execution if there is none left.
    fn spend(&self, units: u32, site: &mut Site<'_, '_>) {
        let mut code = site.code();
        code.load_fuel();
        code.i64_const(units.into());
        code.spend(self.start);
    }

    /// What is charged behind the operator before, if anything is.
    fn units(&self) -> Option<u32> {
        self.charges.behind(self.operators.checked_sub(1)?)
    }

    /// Takes what is charged here. Whether the fuel is used up is seen at the next function entry or loop head.
    fn charge(&self, site: &mut Site<'_, '_>) {
        if let Some(units) = self.units() {
            let mut code = site.code();
            let fuel = code.cell(layout::FUEL.into(), 3);
            code.i32_const(0).i32_const(0).i64_load(fuel).i64_const(units.into()).i64_sub().i64_store(fuel);
        }
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

/// Takes fuel for the length on the stack; leaves the length. Whether the fuel is used up is seen at the next function
/// entry or loop head.
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
        self.spend(self.charges.entry, site);
        Ok(())
    }

    fn before(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        self.operators += 1;
        if site.live { Self::bulk(operator, site) } else { Ok(()) }
    }

    fn after(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        use Operator as O;
        match operator {
            O::Loop { .. } => self.spend(self.units().unwrap_or(1), site),
            O::BrIf { .. }
            | O::BrOnNull { .. }
            | O::BrOnNonNull { .. }
            | O::BrOnCast { .. }
            | O::BrOnCastFail { .. } => {
                self.charge(site);
            }
            _ => {}
        }
        Ok(())
    }

    fn arm(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        self.charge(site);
        Ok(())
    }

    fn joined(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        self.charge(site);
        Ok(())
    }
}
