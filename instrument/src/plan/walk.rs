//! Plans one function: walks its operators once, with the validator and the frames.

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};
use wasmparser::{
    BinaryReader, BlockType, BrTable, FuncValidator, FunctionBody, Operator, TryTable, ValType, ValidatorResources,
};

use super::frames::{Frames, Kind};
use super::{Change, Edit, FunctionPlan, Handler, Plan, Test, TryPlan, label, with_label};
use crate::edges::EdgeKind;
use crate::layout;
use crate::legacy::UsesLegacy;
use crate::survey::{LOCALS_MAX, Survey};
use crate::types::{Signature, Values};

/// Validates a body and plans what is done to it.
pub(super) fn walk(
    survey: &Survey<'_>,
    plan: &mut Plan,
    validator: &mut FuncValidator<ValidatorResources>,
    body: &FunctionBody<'_>,
) -> Result<FunctionPlan> {
    let mut reader: BinaryReader<'_> = body.get_binary_reader();
    validator.read_locals(&mut reader)?;
    let results = validator.get_control_frame(0).map_or(Values::Empty, |frame| Values::results(frame.block_type));
    let mut operators = wasmparser::OperatorsReader::new(reader);
    let code_start = offset(operators.original_position());
    let range = body.range();
    let out = FunctionPlan {
        index: validator.index(),
        start: offset(range.start),
        end: offset(range.end),
        locals: validator.len_locals(),
        code_start,
        ..FunctionPlan::default()
    };
    let mut walk = Walk {
        survey,
        plan,
        out,
        frames: Frames::new(results),
        costs: Vec::new(),
        scratch: BTreeMap::new(),
        address: None,
        at: code_start,
        end: code_start,
    };
    walk.enter()?;
    while !operators.eof() {
        walk.at = offset(operators.original_position());
        let operator = operators.read()?;
        walk.end = offset(operators.original_position());
        // The validator knows the operand's type only before it has seen the operator.
        let operand = validator.get_operand_type(0).flatten();
        validator.op(u64::from(walk.at), &operator)?;
        walk.operator(&operator, operand)?;
    }
    operators.finish()?;
    walk.finish()
}

fn offset(position: u64) -> u32 {
    u32::try_from(position).expect("the survey limits the module's size")
}

/// A site that spends fuel.
struct Cost {
    /// Its edit.
    edit: usize,
    /// How many operators lie directly in the body or loop.
    operators: u32,
}

struct Walk<'p, 's> {
    survey: &'p Survey<'s>,
    plan: &'p mut Plan,
    out: FunctionPlan,
    frames: Frames,
    costs: Vec<Cost>,
    /// The scratch locals that take an operand, by type.
    scratch: BTreeMap<ValType, u32>,
    /// The scratch local for the address of a `br_table`'s counter.
    address: Option<u32>,
    /// Where the current operator is.
    at: u32,
    /// Where the next one is.
    end: u32,
}

impl Walk<'_, '_> {
    fn enter(&mut self) -> Result<()> {
        let edge = self.edge(EdgeKind::Entry, false)?;
        self.costs.push(Cost { edit: 0, operators: 0 });
        self.edit(Change::Enter { edge, cost: 0 });
        Ok(())
    }

    /// Plans the current operator, which the validator has accepted.
    fn operator(&mut self, operator: &Operator<'_>, operand: Option<ValType>) -> Result<()> {
        use Operator as O;
        let site = self.frames.site();
        self.costs[site].operators += 1;
        match operator {
            O::Block { blockty } => {
                self.frames.push(Kind::Block, Values::params(*blockty), Values::results(*blockty), None, 0)
            }
            O::Loop { blockty } => self.begin_loop(*blockty),
            O::If { blockty } => self.begin_if(*blockty)?,
            O::Else => self.begin_else(),
            O::End => self.end(),
            O::TryTable { try_table } => self.begin_try(try_table)?,
            O::Br { relative_depth } => self.br(*relative_depth)?,
            O::BrIf { relative_depth } => self.br_if(*relative_depth)?,
            O::BrTable { targets } => self.br_table(targets)?,
            O::BrOnNull { .. } | O::BrOnNonNull { .. } | O::BrOnCast { .. } | O::BrOnCastFail { .. } => {
                self.br_on(operator, operand)?;
            }
            O::Return
            | O::Unreachable
            | O::Throw { .. }
            | O::ThrowRef
            | O::ReturnCall { .. }
            | O::ReturnCallIndirect { .. }
            | O::ReturnCallRef { .. } => self.frames.stop(),
            O::Try { .. } | O::Catch { .. } | O::CatchAll | O::Rethrow { .. } | O::Delegate { .. } => bail!(UsesLegacy),
            _ if self.frames.live() => {
                self.state_change(operator);
                self.bulk(operator, operand)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Plans what the host has to know about how an operator changes state.
    fn state_change(&mut self, operator: &Operator<'_>) {
        use Operator as O;
        let flag = match operator {
            O::TableSet { .. } | O::TableFill { .. } | O::TableCopy { .. } | O::TableInit { .. } => {
                layout::FLAG_TABLE_WRITE
            }
            O::TableGrow { .. } => layout::FLAG_TABLE_GROW,
            O::DataDrop { .. } | O::ElemDrop { .. } => layout::FLAG_SEGMENT_DROP,
            O::MemoryGrow { .. } => layout::FLAG_MEMORY_GROW,
            O::MemoryAtomicWait32 { .. } | O::MemoryAtomicWait64 { .. } => return self.edit(Change::WaitNoTime),
            O::StructNew { .. }
            | O::StructNewDefault { .. }
            | O::StructSet { .. }
            | O::ArrayNew { .. }
            | O::ArrayNewDefault { .. }
            | O::ArrayNewFixed { .. }
            | O::ArrayNewData { .. }
            | O::ArrayNewElem { .. }
            | O::ArraySet { .. }
            | O::ArrayFill { .. }
            | O::ArrayCopy { .. }
            | O::ArrayInitData { .. }
            | O::ArrayInitElem { .. } => {
                self.plan.changes_objects = true;
                return;
            }
            _ => return,
        };
        self.edit(Change::Flag { flag });
    }

    /// Plans what an operator costs that does as much as its last operand says: without that, a loop of such operators
    /// could be bounded by fuel and still take for ever.
    fn bulk(&mut self, operator: &Operator<'_>, operand: Option<ValType>) -> Result<()> {
        use Operator as O;
        let shift = match operator {
            O::MemoryFill { .. } | O::MemoryCopy { .. } | O::MemoryInit { .. } => layout::FUEL_BYTES_LOG2,
            O::TableFill { .. }
            | O::TableCopy { .. }
            | O::TableInit { .. }
            | O::ArrayNew { .. }
            | O::ArrayNewDefault { .. }
            | O::ArrayNewData { .. }
            | O::ArrayNewElem { .. }
            | O::ArrayFill { .. }
            | O::ArrayCopy { .. }
            | O::ArrayInitData { .. }
            | O::ArrayInitElem { .. } => 0,
            _ => return Ok(()),
        };
        if let Some(ty @ (ValType::I32 | ValType::I64)) = operand {
            let local = self.scratch(ty)?;
            self.edit(Change::SpendLength { local, wide: ty == ValType::I64, shift });
        }
        Ok(())
    }

    fn begin_loop(&mut self, ty: BlockType) {
        let site = self.frames.live().then(|| {
            self.costs.push(Cost { edit: self.out.edits.len(), operators: 0 });
            self.edit(Change::SpendAfter { cost: 0 });
            self.costs.len() - 1
        });
        self.frames.push(Kind::Loop, Values::params(ty), Values::results(ty), site, 0);
    }

    fn begin_if(&mut self, ty: BlockType) -> Result<()> {
        let mut other = None;
        if self.frames.live() {
            let edge = self.edge(EdgeKind::IfTaken, false)?;
            other = Some(self.edge(EdgeKind::IfNotTaken, false)?);
            self.edit(Change::CountAfter { edge });
        }
        self.frames.push(Kind::If(other), Values::params(ty), Values::results(ty), None, 0);
        Ok(())
    }

    fn begin_else(&mut self) {
        if let Some(edge) = self.frames.switch() {
            self.edit(Change::CountAfter { edge });
        }
    }

    fn end(&mut self) {
        match self.frames.pop().map(|frame| frame.kind) {
            Some(Kind::If(Some(edge))) => self.edit(Change::AddElse { edge }),
            Some(Kind::Try(Some(number))) => self.edit(Change::Handlers { number }),
            _ => {}
        }
    }

    fn begin_try(&mut self, try_table: &TryTable) -> Result<()> {
        let TryTable { ty, catches } = try_table;
        if !self.frames.live() || catches.is_empty() {
            let moved: Vec<_> =
                catches.iter().map(|&catch| with_label(catch, self.frames.moved(label(catch)))).collect();
            if moved != *catches {
                self.edit(Change::TryTable { block_type: *ty, catches: moved.into() });
            }
            self.frames.push(Kind::Try(None), Values::params(*ty), Values::results(*ty), None, 0);
            return Ok(());
        }
        let mut handlers = Vec::with_capacity(catches.len());
        for (clause, &catch) in (0..).zip(catches) {
            let label = label(catch);
            let edge = self.edge(EdgeKind::Catch { clause }, self.frames.is_back(label))?;
            let signature = Signature { params: Values::params(*ty), results: self.frames.label(label) };
            let block_type = self.plan.types.block_type(self.survey, signature)?;
            // Behind the handler's block there are still those of the clauses after it, and the outermost.
            let around = catches.len() as u32 - clause;
            handlers.push(Handler { catch, block_type, edge, depth: self.frames.moved(label) + around });
            self.frames.join(label);
        }
        let number = self.out.tries.len();
        let wrappers = handlers.len() as u32 + 1;
        self.out.tries.push(TryPlan { at: self.at, block_type: *ty, handlers });
        self.edit(Change::TryWrapped { number });
        self.frames.push(Kind::Try(Some(number)), Values::params(*ty), Values::results(*ty), None, wrappers);
        Ok(())
    }

    fn br(&mut self, depth: u32) -> Result<()> {
        if self.frames.live() {
            if self.frames.is_back(depth) {
                let edge = self.edge(EdgeKind::BackEdge, true)?;
                self.edit(Change::CountBefore { edge });
            }
            self.frames.join(depth);
        }
        let moved = self.frames.moved(depth);
        if moved != depth {
            self.edit(Change::Br { depth: moved });
        }
        self.frames.stop();
        Ok(())
    }

    fn br_if(&mut self, depth: u32) -> Result<()> {
        let moved = self.frames.moved(depth);
        if self.frames.live() {
            let values = self.frames.label(depth);
            let signature = Signature { params: values, results: values };
            let block_type = self.plan.types.block_type(self.survey, signature)?;
            let edge = self.edge(EdgeKind::BrIfTaken, self.frames.is_back(depth))?;
            self.edge(EdgeKind::BrIfNotTaken, false)?;
            self.edit(Change::BrIf { depth: moved, block_type, edge });
            self.frames.join(depth);
        } else if moved != depth {
            self.edit(Change::BrIfUncounted { depth: moved });
        }
        Ok(())
    }

    fn br_table(&mut self, table: &BrTable<'_>) -> Result<()> {
        let live = self.frames.live();
        let first = self.plan.edges.len() as u32;
        let mut depths = Vec::with_capacity(table.len() as usize + 1);
        let mut changed = false;
        for (arm, depth) in (0..).zip(table.targets().chain([Ok(table.default())])) {
            let depth = depth?;
            let moved = self.frames.moved(depth);
            changed |= moved != depth;
            depths.push(moved);
            if live {
                self.edge(EdgeKind::BrTable { arm }, self.frames.is_back(depth))?;
                self.frames.join(depth);
            }
        }
        if live {
            self.count_arm(first, depths.len() as u32)?;
        }
        if changed {
            self.edit(Change::BrTable { depths: depths.into() });
        }
        self.frames.stop();
        Ok(())
    }

    fn count_arm(&mut self, edge: u32, arms: u32) -> Result<()> {
        if arms == 1 {
            self.edit(Change::CountBefore { edge });
            return Ok(());
        }
        let index = self.scratch(ValType::I32)?;
        let address = match self.address {
            Some(known) => known,
            None => self.local(ValType::I32)?,
        };
        self.address = Some(address);
        self.edit(Change::CountArm { edge, arms, index, address });
        Ok(())
    }

    fn br_on(&mut self, operator: &Operator<'_>, operand: Option<ValType>) -> Result<()> {
        // The scratch local's type is that of the operand as the operator takes it: so it fits before and after.
        let (depth, ty, test) = match (operator, operand) {
            (&Operator::BrOnNull { relative_depth }, Some(ValType::Ref(ty))) => (relative_depth, Some(ty), Test::Null),
            (&Operator::BrOnNonNull { relative_depth }, Some(ValType::Ref(ty))) => {
                (relative_depth, Some(ty), Test::NonNull)
            }
            (&Operator::BrOnNull { relative_depth }, _) => (relative_depth, None, Test::Null),
            (&Operator::BrOnNonNull { relative_depth }, _) => (relative_depth, None, Test::NonNull),
            (&Operator::BrOnCast { relative_depth, from_ref_type, to_ref_type }, _) => {
                (relative_depth, Some(from_ref_type), Test::Is(to_ref_type))
            }
            (&Operator::BrOnCastFail { relative_depth, from_ref_type, to_ref_type }, _) => {
                (relative_depth, Some(from_ref_type), Test::IsNot(to_ref_type))
            }
            _ => return Ok(()),
        };
        let mut not_taken = None;
        if let (true, Some(ty)) = (self.frames.live(), ty) {
            let local = self.scratch(ValType::Ref(self.survey.written(ty)?))?;
            let edge = self.edge(EdgeKind::BrOnTaken, self.frames.is_back(depth))?;
            not_taken = Some(self.edge(EdgeKind::BrOnNotTaken, false)?);
            self.edit(Change::CountIf { edge, local, test });
            self.frames.join(depth);
        }
        let moved = self.frames.moved(depth);
        if moved != depth {
            self.edit(match (test, ty) {
                (Test::Null, _) => Change::BrOnNull { depth: moved },
                (Test::NonNull, _) => Change::BrOnNonNull { depth: moved },
                (Test::Is(to), from) => Change::BrOnCast { depth: moved, from: from.unwrap_or(to), to, fail: false },
                (Test::IsNot(to), from) => Change::BrOnCast { depth: moved, from: from.unwrap_or(to), to, fail: true },
            });
        }
        if let Some(edge) = not_taken {
            self.edit(Change::CountAfter { edge });
        }
        Ok(())
    }

    /// A local that takes an operand of this type for a moment.
    fn scratch(&mut self, ty: ValType) -> Result<u32> {
        if let Some(&known) = self.scratch.get(&ty) {
            return Ok(known);
        }
        let local = self.local(ty)?;
        self.scratch.insert(ty, local);
        Ok(local)
    }

    fn local(&mut self, ty: ValType) -> Result<u32> {
        let local = self.out.locals + self.out.scratch.len() as u32;
        ensure!(local < LOCALS_MAX, "needs more than {LOCALS_MAX} locals to be counted");
        self.out.scratch.push(ty);
        Ok(local)
    }

    fn edge(&mut self, kind: EdgeKind, back: bool) -> Result<u32> {
        self.plan.edge(self.out.index, self.at, kind, back)
    }

    fn edit(&mut self, change: Change) {
        self.out.edits.push(Edit { at: self.at, end: self.end, change });
    }

    /// Fills in what is known only at the end: what each site costs.
    fn finish(mut self) -> Result<FunctionPlan> {
        for &Cost { edit, operators } in &self.costs {
            match &mut self.out.edits[edit].change {
                Change::Enter { cost, .. } | Change::SpendAfter { cost } => *cost = operators.max(1),
                _ => unreachable!("only these spend fuel"),
            }
        }
        Ok(self.out)
    }
}
