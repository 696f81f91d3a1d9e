//! Plans one function: walks its operators once, with the validator, the frames, the graph and the probes.

use anyhow::{Result, bail};
use wasmparser::{BinaryReader, BrTable, FuncValidator, FunctionBody, Operator, TryTable, ValType, ValidatorResources};

use super::frames::{Frames, Kind};
use crate::cfg::{Builder, Calls};
use crate::floats::{Flow, Shape, Taken, places};
use crate::grow::grow_slowly;
use crate::layout::code::Code;
use crate::module::operators::{UsesLegacy, changes_objects};
use crate::module::survey::Survey;
use crate::module::types::{Signature, Values};
use crate::options::{Counters, Options};
use crate::plan::{
    ArmsWay, Change, Draft, Edit, FunctionPlan, Handler, ModuleContext, TablePlan, Test, TryPlan, label, with_label,
};
use crate::probes::Probes;
use crate::probes::probe::{Function, Site};

/// A `br_table` with more arms than these counts them by address.
const ARM_BLOCKS_MAX: usize = 128;

/// Validates a body and plans what is done to it.
pub(super) fn walk<'p>(
    context: &ModuleContext<'p, '_>,
    validator: &mut FuncValidator<ValidatorResources>,
    body: &FunctionBody<'_>,
) -> Result<FunctionPlan> {
    let &ModuleContext { survey, options, calls, .. } = context;
    let mut reader: BinaryReader<'_> = body.get_binary_reader();
    let params = validator.len_locals();
    validator.read_locals(&mut reader)?;
    let results = validator.get_control_frame(0).map_or(Values::Empty, |frame| Values::results(frame.block_type));
    let mut operators = wasmparser::OperatorsReader::new(reader);
    let code_start = offset(operators.original_position());
    let range = body.range();
    let (start, end) = (offset(range.start), offset(range.end));
    let out = FunctionPlan {
        index: validator.index(),
        start,
        end,
        locals: validator.len_locals(),
        code_start,
        ..FunctionPlan::default()
    };
    let floats = match options.canonical_nans {
        true => Flow::new(body, params, survey.values(results)?.len(), options.compares),
        false => None,
    };
    let unwound = calls.throwing.as_ref().is_some_and(|throwing| throwing.may_throw(Some(out.index)));
    let thrown = calls.throwing.as_ref().map_or(Calls::Caught, Calls::Throwing);
    let function = Function { index: out.index, results, body, unwound };
    let mut walk = Walk {
        survey,
        options,
        floats,
        frames: Frames::new(results),
        graph: Builder::new(code_start, end, thrown),
        probes: Probes::new(context, &function)?,
        draft: Draft::new(out),
        results,
        at: code_start,
        end: code_start,
    };
    walk.enter()?;
    while !operators.eof() {
        walk.at = offset(operators.original_position());
        let operator = operators.read()?;
        walk.end = offset(operators.original_position());
        // The validator knows the operands' types only before it has seen the operator.
        let operands = [0, 1].map(|depth| validator.get_operand_type(depth).flatten());
        let arity = walk.floats.as_ref().and_then(|_| operator.operator_arity(validator));
        validator.op(u64::from(walk.at), &operator)?;
        walk.operator(&operator, operands)?;
        walk.follow(&operator, arity, validator)?;
    }
    operators.finish()?;
    walk.finish()
}

fn offset(position: u64) -> u32 {
    u32::try_from(position).expect("the survey limits the module's size")
}

/// Whether code goes before an operator, in its place, or after it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Before,
    Instead,
    After,
}

struct Walk<'p, 's> {
    survey: &'p Survey<'s>,
    options: &'p Options,
    /// Where floats go, if NaNs are made canonical and there is arithmetic.
    floats: Option<Flow>,
    frames: Frames,
    graph: Builder<'p>,
    probes: Probes<'p>,
    draft: Draft,
    results: Values,
    /// Where the current operator is.
    at: u32,
    /// Where the next one is.
    end: u32,
}

impl Walk<'_, '_> {
    fn enter(&mut self) -> Result<()> {
        self.edit(Change::CountBefore { flow: 0 });
        self.probe(Place::Before, |probes, site| probes.enter(site))
    }

    /// Plans the current operator, which the validator has accepted.
    fn operator(&mut self, operator: &Operator<'_>, operands: [Option<ValType>; 2]) -> Result<()> {
        let live = self.graph.live();
        self.probe_at(Place::Before, live, operands, |probes, site| probes.before(operator, site))?;
        let flow = self.graph.flows();
        let block = self.graph.block_now();
        self.graph.operator(operator, self.at, self.end)?;
        if live {
            self.probe(Place::Instead, |probes, site| probes.instead(operator, site))?;
        }
        self.count(operator, flow, live, operands[0])?;
        if self.frames.len() == 0 {
            self.probe(Place::Before, |probes, site| probes.leave(site))?;
        }
        if let (Operator::Loop { .. } | Operator::End, Some(new)) = (operator, self.graph.block_now())
            && block != Some(new)
        {
            self.edit(Change::CountBlock { block: new });
        }
        self.draft.out.changes_objects |= live && changes_objects(operator);
        if live && self.frames.len() > 0 {
            self.probe_at(Place::After, live, [None; 2], |probes, site| probes.after(operator, site))?;
        }
        if matches!(operator, Operator::If { .. } | Operator::Else) && self.graph.live() {
            self.probe(Place::After, |probes, site| probes.arm(site))?;
        }
        if matches!(operator, Operator::End) && self.frames.len() > 0 && self.graph.live() {
            self.probe(Place::After, |probes, site| probes.joined(site))?;
        }
        Ok(())
    }

    /// Follows what the current operator, which takes and gives so many operands, does with floats.
    fn follow(
        &mut self,
        operator: &Operator<'_>,
        arity: Option<(u32, u32)>,
        validator: &FuncValidator<ValidatorResources>,
    ) -> Result<()> {
        let Some(floats) = &mut self.floats else { return Ok(()) };
        let local = match *operator {
            Operator::LocalGet { local_index }
            | Operator::LocalSet { local_index }
            | Operator::LocalTee { local_index } => validator.get_local_type(local_index),
            _ => None,
        };
        let here = Taken { edits: self.draft.out.edits.len() as u32, at: self.at, end: self.end };
        floats.operator(operator, arity, local, self.survey, here)
    }

    /// Makes NaNs canonical where their bits are seen.
    fn canonical_nans(&mut self) -> Result<()> {
        let places = self.floats.take().map(places).unwrap_or_default();
        if places.is_empty() {
            return Ok(());
        }
        // The same code in all places.
        let mut codes = [None; Shape::ALL.len()];
        let mut planned = std::mem::take(&mut self.draft.out.edits).into_iter();
        let all = planned.len();
        let mut edits = Vec::with_capacity(all + places.len());
        for (Taken { edits: before, at, end }, shape) in places {
            let passed = all - planned.len();
            edits.extend(planned.by_ref().take(before as usize - passed));
            let (start, stop) = match codes[shape as usize] {
                Some(code) => code,
                None => {
                    let local = self.draft.scratch(shape.ty(), 0)?;
                    let inserted = &mut self.draft.out.inserted;
                    let start = inserted.len() as u32;
                    shape.canonical(&mut Code::new(inserted, self.survey.memories), local);
                    *codes[shape as usize].insert((start, inserted.len() as u32))
                }
            };
            edits.push(Edit { at, end, change: Change::InsertAfter { start, end: stop } });
        }
        edits.extend(planned);
        self.draft.out.edits = edits;
        Ok(())
    }

    /// Plans how the current operator's flows are counted; the first of them is `flow`.
    fn count(&mut self, operator: &Operator<'_>, flow: u32, live: bool, operand: Option<ValType>) -> Result<()> {
        use Operator as O;
        let made = self.graph.flows() > flow;
        match operator {
            O::Block { blockty } => {
                self.frames.push(Kind::Block, Values::params(*blockty), Values::results(*blockty), 0);
            }
            O::Loop { blockty } => {
                if made {
                    self.edit(Change::CountBefore { flow });
                }
                self.frames.push(Kind::Loop, Values::params(*blockty), Values::results(*blockty), 0);
            }
            O::If { blockty } => {
                if live {
                    self.edit(Change::CountAfter { flow });
                }
                let other = live.then_some(flow + 1);
                self.frames.push(Kind::If(other), Values::params(*blockty), Values::results(*blockty), 0);
            }
            O::Else => {
                if made {
                    self.edit(Change::CountBefore { flow });
                }
                if let Some(flow) = self.frames.switch() {
                    self.edit(Change::CountAfter { flow });
                }
            }
            O::End => self.end(made.then_some(flow)),
            O::TryTable { try_table } => self.begin_try(try_table, flow, live)?,
            O::Br { relative_depth } => {
                if live {
                    self.edit(Change::CountBefore { flow });
                }
                let moved = self.frames.moved(*relative_depth);
                if moved != *relative_depth {
                    self.edit(Change::Br { depth: moved });
                }
            }
            O::BrIf { relative_depth } => self.br_if(*relative_depth, flow, live),
            O::BrTable { targets } => self.br_table(targets, flow, live)?,
            O::BrOnNull { .. } | O::BrOnNonNull { .. } | O::BrOnCast { .. } | O::BrOnCastFail { .. } => {
                self.br_on(operator, operand, flow, live)?;
            }
            O::Select | O::TypedSelect { .. } | O::TypedSelectMulti { .. } if live && self.options.selects => {
                let local = self.draft.scratch(ValType::I32, 0)?;
                self.edit(Change::CountSelect { flow, local });
            }
            O::Return if live => self.edit(Change::CountBefore { flow }),
            O::Call { .. } | O::CallIndirect { .. } | O::CallRef { .. } if made => {
                self.edit(Change::CountAfter { flow })
            }
            O::Try { .. } | O::Catch { .. } | O::CatchAll | O::Rethrow { .. } | O::Delegate { .. } => bail!(UsesLegacy),
            _ => {}
        }
        Ok(())
    }

    /// The end of a block; `flow` is how it goes on from there, if code before it can be reached and something else
    /// leads there, or out of the function.
    fn end(&mut self, flow: Option<u32>) {
        if let Some(flow) = flow {
            self.edit(Change::CountBefore { flow });
        }
        match self.frames.pop().map(|frame| frame.kind) {
            Some(Kind::If(Some(flow))) => self.edit(Change::AddElse { flow }),
            Some(Kind::Try(Some(number))) => self.edit(Change::Handlers { number }),
            _ => {}
        }
    }

    fn begin_try(&mut self, try_table: &TryTable, flow: u32, live: bool) -> Result<()> {
        let TryTable { ty, catches } = try_table;
        let (params, results) = (Values::params(*ty), Values::results(*ty));
        if !live || catches.is_empty() {
            let moved: Vec<_> =
                catches.iter().map(|&catch| with_label(catch, self.frames.moved(label(catch)))).collect();
            if moved != *catches {
                let number = self.draft.out.dead_tries.len() as u32;
                self.draft.out.dead_tries.push((*ty, moved.into()));
                self.edit(Change::TryTable { number });
            }
            self.frames.push(Kind::Try(None), params, results, 0);
            return Ok(());
        }
        let mut handlers = Vec::with_capacity(catches.len());
        for (clause, &catch) in (0..).zip(catches) {
            let label = label(catch);
            let signature = self.draft.signature(Signature { params, results: self.frames.label(label) });
            // Behind the handler's block there are still those of the clauses after it, and the outermost.
            let around = catches.len() as u32 - clause;
            let depth = self.frames.moved(label) + around;
            let before = self.draft.out.inserted.len() as u32;
            let mut site = Site::new(self.survey, &mut self.draft, self.results, self.at);
            self.probes.caught(&mut site)?;
            let inserted = (before, self.draft.out.inserted.len() as u32);
            handlers.push(Handler { catch, signature, flow: flow + clause, inserted, depth });
        }
        let number = self.draft.out.tries.len() as u32;
        let wrappers = handlers.len() as u32 + 1;
        self.draft.out.tries.push(TryPlan { at: self.at, block_type: *ty, handlers });
        self.edit(Change::TryWrapped { number });
        self.frames.push(Kind::Try(Some(number)), params, results, wrappers);
        Ok(())
    }

    fn br_if(&mut self, depth: u32, flow: u32, live: bool) {
        let moved = self.frames.moved(depth);
        if live {
            let values = self.frames.label(depth);
            let signature = self.draft.signature(Signature { params: values, results: values });
            self.edit(Change::BrIf { depth: moved, signature, flow });
        } else if moved != depth {
            self.edit(Change::BrIfDead { depth: moved });
        }
    }

    fn br_table(&mut self, table: &BrTable<'_>, flow: u32, live: bool) -> Result<()> {
        let mut depths = Vec::with_capacity(table.len() as usize + 1);
        let (mut changed, mut plain) = (false, true);
        for depth in table.targets().chain([Ok(table.default())]) {
            let depth = depth?;
            let moved = self.frames.moved(depth);
            changed |= moved != depth;
            plain &= self.survey.is_empty(self.frames.label(depth));
            depths.push(moved);
        }
        let number = self.draft.out.tables.len() as u32;
        if live {
            let way = match depths.len() {
                1 => ArmsWay::Single,
                2..=ARM_BLOCKS_MAX if plain && !matches!(self.options.counters, Counters::Every) => ArmsWay::Blocks,
                _ => ArmsWay::Address(self.draft.scratch(ValType::I32, 1)?),
            };
            let index = if way == ArmsWay::Single { 0 } else { self.draft.scratch(ValType::I32, 0)? };
            self.draft.out.tables.push(TablePlan { depths: depths.into(), flow, index, way });
            self.edit(Change::BrTable { number });
        } else if changed {
            self.draft.out.tables.push(TablePlan { depths: depths.into(), flow: 0, index: 0, way: ArmsWay::Dead });
            self.edit(Change::BrTableDead { number });
        }
        Ok(())
    }

    fn br_on(&mut self, operator: &Operator<'_>, operand: Option<ValType>, flow: u32, live: bool) -> Result<()> {
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
        if let (true, Some(ty)) = (live, ty) {
            let local = self.draft.scratch(ValType::Ref(self.survey.written(ty)?), 0)?;
            self.edit(Change::CountIf { flow, local, test });
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
        if live {
            self.edit(Change::CountAfter { flow: flow + 1 });
        }
        Ok(())
    }

    fn probe(
        &mut self,
        place: Place,
        probe: impl FnOnce(&mut Probes<'_>, &mut Site<'_, '_>) -> Result<()>,
    ) -> Result<()> {
        self.probe_at(place, true, [None; 2], probe)
    }

    /// Lets the probes insert code at the current operator.
    fn probe_at(
        &mut self,
        place: Place,
        live: bool,
        operands: [Option<ValType>; 2],
        probe: impl FnOnce(&mut Probes<'_>, &mut Site<'_, '_>) -> Result<()>,
    ) -> Result<()> {
        let start = self.draft.out.inserted.len() as u32;
        let mut site = Site::new(self.survey, &mut self.draft, self.results, self.at);
        (site.live, site.operands) = (live, operands);
        probe(&mut self.probes, &mut site)?;
        let end = self.draft.out.inserted.len() as u32;
        if start < end {
            self.edit(match place {
                Place::Before => Change::InsertBefore { start, end },
                Place::Instead => Change::InsertInstead { start, end },
                Place::After => Change::InsertAfter { start, end },
            });
        }
        Ok(())
    }

    fn edit(&mut self, change: Change) {
        grow_slowly(&mut self.draft.out.edits);
        self.draft.out.edits.push(Edit { at: self.at, end: self.end, change });
    }

    fn finish(mut self) -> Result<FunctionPlan> {
        self.canonical_nans()?;
        let mut out = self.draft.out;
        out.graph = self.graph.finish();
        out.edges = out.graph.flows.iter().filter(|flow| flow.counted().is_some()).count() as u32;
        out.edits.shrink_to_fit();
        out.inserted.shrink_to_fit();
        out.graph.blocks.shrink_to_fit();
        out.graph.flows.shrink_to_fit();
        Ok(out)
    }
}
