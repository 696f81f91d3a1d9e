//! Rewrites function bodies: copies them, with the planned edits.

use anyhow::{Context, Result, ensure};
use wasm_encoder::{Encode, HeapType, InstructionSink};
use wasmparser::{BinaryReader, Catch, RefType};

use super::BODY_BYTES_MAX;
use super::code::Code;
use crate::offsets::OffsetMap;
use crate::plan::{Change, Edit, FunctionPlan, Test, TryPlan, with_label};
use crate::types::{encoded, encoded_block, encoded_ref};

/// Appends a function's rewritten body, with its size before it.
pub(super) fn body(
    wasm: &[u8],
    plan: &FunctionPlan,
    memory: u32,
    code: &mut Vec<u8>,
    offsets: &mut OffsetMap,
) -> Result<()> {
    let mut body = Body { wasm, plan, memory, bytes: Vec::new(), offsets: OffsetMap::default() };
    body.locals()?;
    body.code()?;
    let Body { bytes, offsets: runs, .. } = body;
    ensure!(
        bytes.len() <= BODY_BYTES_MAX,
        "has {} bytes when it is rewritten, more than the {BODY_BYTES_MAX} that engines accept",
        bytes.len()
    );
    bytes.len().encode(code);
    let start = u32::try_from(code.len()).context("makes the module too large when it is rewritten")?;
    code.extend_from_slice(&bytes);
    offsets.append(runs, start);
    offsets.outside(u32::try_from(code.len()).context("makes the module too large when it is rewritten")?);
    Ok(())
}

struct Body<'p> {
    wasm: &'p [u8],
    plan: &'p FunctionPlan,
    memory: u32,
    bytes: Vec<u8>,
    offsets: OffsetMap,
}

impl Body<'_> {
    /// Writes the declarations of locals: those that were, then the scratch locals.
    fn locals(&mut self) -> Result<()> {
        let declarations = &self.wasm[self.plan.start as usize..self.plan.code_start as usize];
        let mut reader = BinaryReader::new(declarations, self.plan.start.into());
        let groups = reader.read_var_u32()?;
        let kept = &declarations[reader.current_position()..];
        (groups + self.plan.scratch.len() as u32).encode(&mut self.bytes);
        self.bytes.extend_from_slice(kept);
        for &ty in &self.plan.scratch {
            1u32.encode(&mut self.bytes);
            encoded(ty)?.encode(&mut self.bytes);
        }
        Ok(())
    }

    /// Writes the operators, and what is inserted.
    fn code(&mut self) -> Result<()> {
        let plan = self.plan;
        let mut at = plan.code_start;
        for edit in &plan.edits {
            let copy_to = match edit.change.place() {
                Place::Before | Place::Instead => edit.at,
                Place::After => edit.end,
            };
            self.copy(at, copy_to);
            at = at.max(copy_to);
            self.offsets.inserted(self.bytes.len() as u32, self.owner(edit));
            self.change(edit)?;
            if let Place::Instead = edit.change.place() {
                at = edit.end;
            }
        }
        self.copy(at, plan.end);
        Ok(())
    }

    /// Copies operators as they are.
    fn copy(&mut self, from: u32, to: u32) {
        if from < to {
            self.offsets.copied(self.bytes.len() as u32, from);
            self.bytes.extend_from_slice(&self.wasm[from as usize..to as usize]);
        }
    }

    /// The operator that inserted code belongs to.
    fn owner(&self, edit: &Edit) -> u32 {
        match edit.change {
            Change::Handlers { number } => self.plan.tries[number].at,
            _ => edit.at,
        }
    }

    fn change(&mut self, edit: &Edit) -> Result<()> {
        let mut code = Code::new(&mut self.bytes, self.memory);
        match &edit.change {
            &Change::Enter { edge, cost } => {
                code.count(edge);
                code.spend(cost);
            }
            &Change::CountBefore { edge } | &Change::CountAfter { edge } => code.count(edge),
            &Change::AddElse { edge } => {
                code.else_();
                code.count(edge);
            }
            &Change::CountArm { edge, arms, index, address } => code.count_arm(edge, arms, index, address),
            &Change::CountIf { edge, local, test } => {
                let test = test_code(test)?;
                code.count_if(edge, local, test);
            }
            &Change::Flag { flag } => code.flag(flag),
            &Change::SpendLength { local, wide, shift } => code.spend_length(local, wide, shift),
            Change::WaitNoTime => {
                code.drop().i64_const(0);
            }
            &Change::BrIf { depth, block_type, edge } => {
                code.if_(block_type);
                code.count(edge);
                code.br(depth + 1).end();
                code.count(edge + 1);
            }
            &Change::SpendAfter { cost } => code.spend(cost),
            Change::TryWrapped { number } => wrapped(&mut code, &self.plan.tries[*number])?,
            Change::Handlers { number } => handlers(&mut code, &self.plan.tries[*number]),
            branch => moved(&mut code, branch)?,
        }
        Ok(())
    }
}

/// Where an edit's code goes with respect to its operator.
enum Place {
    Before,
    Instead,
    After,
}

impl Change {
    fn place(&self) -> Place {
        match self {
            Change::Enter { .. }
            | Change::CountBefore { .. }
            | Change::AddElse { .. }
            | Change::CountArm { .. }
            | Change::CountIf { .. }
            | Change::Flag { .. }
            | Change::SpendLength { .. }
            | Change::WaitNoTime => Place::Before,
            Change::BrIf { .. }
            | Change::Br { .. }
            | Change::BrIfUncounted { .. }
            | Change::BrTable { .. }
            | Change::BrOnNull { .. }
            | Change::BrOnNonNull { .. }
            | Change::BrOnCast { .. }
            | Change::TryTable { .. }
            | Change::TryWrapped { .. } => Place::Instead,
            Change::SpendAfter { .. } | Change::CountAfter { .. } | Change::Handlers { .. } => Place::After,
        }
    }
}

/// A branch that only goes to a new depth.
fn moved(code: &mut InstructionSink<'_>, change: &Change) -> Result<()> {
    match change {
        Change::Br { depth } => code.br(*depth),
        Change::BrIfUncounted { depth } => code.br_if(*depth),
        Change::BrTable { depths } => {
            let (default, arms) = depths.split_last().context("has a branch table without a default")?;
            code.br_table(arms.iter().copied(), *default)
        }
        Change::BrOnNull { depth } => code.br_on_null(*depth),
        Change::BrOnNonNull { depth } => code.br_on_non_null(*depth),
        &Change::BrOnCast { depth, from, to, fail } => match fail {
            false => code.br_on_cast(depth, encoded_ref(from)?, encoded_ref(to)?),
            true => code.br_on_cast_fail(depth, encoded_ref(from)?, encoded_ref(to)?),
        },
        Change::TryTable { block_type, catches } => {
            code.try_table(encoded_block(*block_type)?, catches.iter().map(|&catch| encoded_catch(catch)))
        }
        _ => unreachable!("is no branch"),
    };
    Ok(())
}

/// Writes the test that leaves 1 for a reference with which the operator branches.
fn test_code(test: Test) -> Result<impl FnOnce(&mut InstructionSink<'_>)> {
    let is = |ty: RefType| Ok::<_, anyhow::Error>((encoded_ref(ty)?.heap_type, ty.is_nullable()));
    let (of, negate) = match test {
        Test::Null => (None, false),
        Test::NonNull => (None, true),
        Test::Is(ty) => (Some(is(ty)?), false),
        Test::IsNot(ty) => (Some(is(ty)?), true),
    };
    Ok(move |code: &mut InstructionSink<'_>| {
        match of {
            None => code.ref_is_null(),
            Some((heap_type, nullable)) => ref_test(code, heap_type, nullable),
        };
        if negate {
            code.i32_eqz();
        }
    })
}

fn ref_test<'c, 'b>(code: &'c mut InstructionSink<'b>, ty: HeapType, nullable: bool) -> &'c mut InstructionSink<'b> {
    if nullable { code.ref_test_nullable(ty) } else { code.ref_test_non_null(ty) }
}

/// Opens the blocks around a `try_table`, the first clause's innermost, and the `try_table` itself:
///
/// ```wat
/// block $out (type of the try_table)
///   block $b (result values of clause b)
///     block $a (result values of clause a)
///       try_table (type of the try_table) (clause a $a) (clause b $b)
/// ```
fn wrapped(code: &mut InstructionSink<'_>, plan: &TryPlan) -> Result<()> {
    let block_type = encoded_block(plan.block_type)?;
    code.block(block_type);
    for handler in plan.handlers.iter().rev() {
        code.block(handler.block_type);
    }
    let catches: Vec<_> = (0..).zip(&plan.handlers).map(|(depth, handler)| (depth, handler.catch)).collect();
    code.try_table(block_type, catches.into_iter().map(|(depth, catch)| encoded_catch(with_label(catch, depth))));
    Ok(())
}

/// Closes these blocks after the `try_table`'s end, which leaves by the outermost:
///
/// ```wat
///       br $out
///     end $a, count clause a, br to where it went
///   end $b, count clause b, br to where it went
/// end $out
/// ```
fn handlers(code: &mut Code<'_>, plan: &TryPlan) {
    code.br(plan.handlers.len() as u32);
    for handler in &plan.handlers {
        code.end();
        code.count(handler.edge);
        code.br(handler.depth);
    }
    code.end();
}

fn encoded_catch(catch: Catch) -> wasm_encoder::Catch {
    match catch {
        Catch::One { tag, label } => wasm_encoder::Catch::One { tag, label },
        Catch::OneRef { tag, label } => wasm_encoder::Catch::OneRef { tag, label },
        Catch::All { label } => wasm_encoder::Catch::All { label },
        Catch::AllRef { label } => wasm_encoder::Catch::AllRef { label },
    }
}
