//! Rewrites function bodies: copies them, with the planned edits.

use anyhow::{Context, Result, ensure};
use wasm_encoder::{BlockType, Encode, HeapType, InstructionSink};
use wasmparser::{BinaryReader, Catch, RefType};

use crate::counters::{CounterNumbers, Placement};
use crate::layout::code::{Code, patch};
use crate::module::limits::BODY_BYTES_MAX;
use crate::module::types::{encoded, encoded_block, encoded_ref};
use crate::offsets::OffsetMap;
use crate::plan::{ArmsWay, Change, Edit, FunctionPlan, TablePlan, Test, TryPlan, with_label};

/// What a body was made to.
pub(super) struct Written {
    pub(super) bytes: Vec<u8>,
    /// The runs of offsets start with it.
    pub(super) offsets: OffsetMap,
    /// Where in it there is an `if` or a `br_if` that mostly goes the same way, in order, and whether it is that of a
    /// condition that holds.
    pub(super) hints: Vec<(u32, bool)>,
}

/// A branch mostly goes one way if it goes so many times as often as the other.
const MOSTLY: u64 = 1024;

/// Writes a function's body. `numbers` are those of its counters; `profile` has the counts of its edges in executions
/// of the past, if these are known.
pub(super) fn body(
    wasm: &[u8],
    plan: &FunctionPlan,
    placement: &Placement,
    (numbers, profile): (CounterNumbers, Option<&[u64]>),
    memory: u32,
) -> Result<Written> {
    let (offsets, hints) = (OffsetMap::default(), Vec::new());
    let counts = profile.map(|profile| by_flow(plan, profile)).unwrap_or_default();
    let mut body = Body { wasm, plan, placement, numbers, memory, counts, bytes: Vec::new(), offsets, hints };
    body.locals()?;
    body.code()?;
    let Body { bytes, offsets, hints, .. } = body;
    ensure!(
        bytes.len() <= BODY_BYTES_MAX,
        "has {} bytes when it is rewritten, more than the {BODY_BYTES_MAX} that engines accept",
        bytes.len()
    );
    Ok(Written { bytes, offsets, hints })
}

/// How often each flow was taken, of those that have edges.
fn by_flow(plan: &FunctionPlan, profile: &[u64]) -> Vec<Option<u64>> {
    let mut edges = profile.iter();
    plan.graph.flows.iter().map(|flow| flow.counted().and_then(|_| edges.next().copied())).collect()
}

/// The operator's byte.
const IF: u8 = 0x04;

struct Body<'p> {
    wasm: &'p [u8],
    plan: &'p FunctionPlan,
    placement: &'p Placement,
    numbers: CounterNumbers,
    memory: u32,
    /// By flow, how often it was taken in the past, as far as that is known.
    counts: Vec<Option<u64>>,
    bytes: Vec<u8>,
    offsets: OffsetMap,
    hints: Vec<(u32, bool)>,
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
            let place = edit.change.place();
            if let Change::CountAfter { flow } = edit.change
                && self.wasm[edit.at as usize] == IF
                && edit.at >= at
            {
                self.hint(self.bytes.len() as u32 + edit.at - at, flow);
            }
            if self.is_nothing(&edit.change) {
                continue;
            }
            let copy_to = if place == Place::After { edit.end } else { edit.at };
            self.copy(at, copy_to);
            at = at.max(copy_to);
            self.offsets.inserted(self.bytes.len() as u32, self.owner(edit));
            self.change(edit)?;
            if place == Place::Instead {
                at = edit.end;
            }
        }
        self.copy(at, plan.end);
        Ok(())
    }

    /// Says of a branch here, which takes this flow or else the next, where it mostly goes.
    fn hint(&mut self, position: u32, flow: u32) {
        let count = |flow: u32| self.counts.get(flow as usize).copied().flatten();
        let (Some(taken), Some(not)) = (count(flow), count(flow + 1)) else { return };
        if taken.saturating_mul(MOSTLY) < not {
            self.hints.push((position, false));
        } else if not.saturating_mul(MOSTLY) < taken {
            self.hints.push((position, true));
        }
    }

    /// The counter of a flow.
    fn counter(&self, flow: u32) -> Option<u32> {
        self.placement.counter(flow).map(|counter| self.numbers.get(counter))
    }

    /// Whether a change changes nothing here, because what it would count has no counter.
    fn is_nothing(&self, change: &Change) -> bool {
        match *change {
            Change::CountBefore { flow }
            | Change::CountAfter { flow }
            | Change::AddElse { flow }
            | Change::CountIf { flow, .. } => self.counter(flow).is_none(),
            Change::CountBlock { block } => self.placement.block_counter(block).is_none(),
            Change::CountSelect { flow, .. } => self.counter(flow).or(self.counter(flow + 1)).is_none(),
            _ => false,
        }
    }

    /// Copies operators as they are.
    fn copy(&mut self, from: u32, to: u32) {
        if from < to {
            self.offsets.copied(self.bytes.len() as u32, from);
            self.bytes.extend_from_slice(&self.wasm[from as usize..to as usize]);
        }
    }

    /// The operator that inserted code belongs to. What a probe does after an operator belongs to the next: it may
    /// fail, and then the block has been left that the operator ends.
    fn owner(&self, edit: &Edit) -> u32 {
        match edit.change {
            Change::Handlers { number } => self.plan.tries[number as usize].at,
            Change::InsertAfter { .. } => edit.end,
            _ => edit.at,
        }
    }

    fn change(&mut self, edit: &Edit) -> Result<()> {
        let plan = self.plan;
        match &edit.change {
            &Change::InsertBefore { start, end }
            | &Change::InsertInstead { start, end }
            | &Change::InsertAfter { start, end } => self.insert(start, end),
            &Change::CountBefore { flow } | &Change::CountAfter { flow } => self.count(flow),
            &Change::CountBlock { block } => {
                if let Some(counter) = self.placement.block_counter(block) {
                    let counter = self.numbers.get(counter);
                    self.sink().count(counter);
                }
            }
            &Change::AddElse { flow } => {
                self.sink().else_();
                self.count(flow);
            }
            &Change::CountIf { flow, local, test } => {
                let test = test_code(test)?;
                if let Some(counter) = self.counter(flow) {
                    self.sink().count_if(counter, local, test);
                }
            }
            &Change::CountSelect { flow, local } => {
                let (first, second) = (self.counter(flow), self.counter(flow + 1));
                self.sink().count_select(first, second, local);
            }
            &Change::BrIf { depth, signature, flow } => self.br_if(depth, signature, flow),
            Change::BrTable { number } => self.br_table(&plan.tables[*number as usize])?,
            Change::TryWrapped { number } => self.wrapped(&plan.tries[*number as usize])?,
            Change::Handlers { number } => self.handlers(&plan.tries[*number as usize]),
            Change::BrTableDead { number } => br_table(&mut self.sink(), &plan.tables[*number as usize].depths)?,
            Change::TryTable { number } => {
                let (block_type, catches) = &plan.dead_tries[*number as usize];
                let catches = catches.iter().map(|&catch| encoded_catch(catch));
                self.sink().try_table(encoded_block(*block_type)?, catches);
            }
            branch => moved(&mut self.sink(), branch)?,
        }
        Ok(())
    }

    fn sink(&mut self) -> Code<'_> {
        Code::new(&mut self.bytes, self.memory)
    }

    /// Counts a flow, if it has a counter.
    fn count(&mut self, flow: u32) {
        if let Some(counter) = self.counter(flow) {
            self.sink().count(counter);
        }
    }

    /// Writes what probes have written, with the types of blocks filled in.
    fn insert(&mut self, start: u32, end: u32) {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&self.plan.inserted[start as usize..end as usize]);
        let unlikely = &self.plan.unlikely;
        let unlikely = &unlikely[unlikely.partition_point(|&position| position < start)..];
        let inside = unlikely.iter().take_while(|&&position| position < end);
        self.hints.extend(inside.map(|position| (at as u32 + position - start, false)));
        let first = self.plan.typed_blocks.partition_point(|&(position, _)| position < start);
        for &(position, signature) in
            self.plan.typed_blocks[first..].iter().take_while(|&&(position, _)| position < end)
        {
            if let BlockType::FunctionType(index) = self.plan.block_types[signature as usize] {
                patch(&mut self.bytes, at + (position - start) as usize, index);
            }
        }
    }

    fn br_if(&mut self, depth: u32, signature: u32, flow: u32) {
        self.hint(self.bytes.len() as u32, flow);
        if let Some(counter) = self.counter(flow) {
            let block_type = self.plan.block_types[signature as usize];
            let mut code = self.sink();
            code.if_(block_type);
            code.count(counter);
            code.br(depth + 1).end();
        } else {
            self.sink().br_if(depth);
        }
        self.count(flow + 1);
    }

    fn br_table(&mut self, table: &TablePlan) -> Result<()> {
        let arms = table.depths.len() as u32;
        let counted: Vec<u32> = (0..arms).filter(|arm| self.counter(table.flow + arm).is_some()).collect();
        match (table.way, self.counter(table.flow)) {
            (ArmsWay::Single, _) => self.count(table.flow),
            (ArmsWay::Address(address), Some(first)) => self.sink().count_arm(first, arms, table.index, address),
            (ArmsWay::Blocks, _) if !counted.is_empty() => return self.arm_blocks(table, &counted),
            _ => {}
        }
        br_table(&mut self.sink(), &table.depths)
    }

    /// Writes a `br_table` with a block for each arm that is counted:
    ///
    /// ```wat
    /// local.set $index
    /// block $b
    ///   block $a
    ///     local.get $index
    ///     br_table $a $b ...
    ///   end $a, count arm a, br to where it went
    /// end $b, count arm b, br to where it went
    /// ```
    fn arm_blocks(&mut self, table: &TablePlan, counted: &[u32]) -> Result<()> {
        let blocks = counted.len() as u32;
        let mut depths: Vec<u32> = table.depths.iter().map(|depth| depth + blocks).collect();
        for (block, &arm) in (0..).zip(counted) {
            depths[arm as usize] = block;
        }
        let mut code = self.sink();
        code.local_set(table.index);
        for _ in counted {
            code.block(BlockType::Empty);
        }
        code.local_get(table.index);
        br_table(&mut code, &depths)?;
        for (block, &arm) in (0..).zip(counted) {
            self.sink().end();
            self.count(table.flow + arm);
            self.sink().br(table.depths[arm as usize] + blocks - 1 - block);
        }
        Ok(())
    }

    /// Opens the blocks around a `try_table`, the first clause's innermost, and the `try_table` itself:
    ///
    /// ```wat
    /// block $out (type of the try_table)
    ///   block $b (result values of clause b)
    ///     block $a (result values of clause a)
    ///       try_table (type of the try_table) (clause a $a) (clause b $b)
    /// ```
    fn wrapped(&mut self, plan: &TryPlan) -> Result<()> {
        let block_type = encoded_block(plan.block_type)?;
        let types = &self.plan.block_types;
        let mut code = Code::new(&mut self.bytes, self.memory);
        code.block(block_type);
        for handler in plan.handlers.iter().rev() {
            code.block(types[handler.signature as usize]);
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
    fn handlers(&mut self, plan: &TryPlan) {
        self.sink().br(plan.handlers.len() as u32);
        for handler in &plan.handlers {
            self.sink().end();
            self.count(handler.flow);
            self.insert(handler.inserted.0, handler.inserted.1);
            self.sink().br(handler.depth);
        }
        self.sink().end();
    }
}

/// Where an edit's code goes with respect to its operator.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Before,
    Instead,
    After,
}

impl Change {
    fn place(&self) -> Place {
        match self {
            Change::InsertBefore { .. }
            | Change::CountBefore { .. }
            | Change::AddElse { .. }
            | Change::CountIf { .. }
            | Change::CountSelect { .. } => Place::Before,
            Change::BrIf { .. }
            | Change::Br { .. }
            | Change::BrIfDead { .. }
            | Change::BrTable { .. }
            | Change::BrTableDead { .. }
            | Change::BrOnNull { .. }
            | Change::BrOnNonNull { .. }
            | Change::BrOnCast { .. }
            | Change::TryTable { .. }
            | Change::TryWrapped { .. }
            | Change::InsertInstead { .. } => Place::Instead,
            Change::InsertAfter { .. }
            | Change::CountAfter { .. }
            | Change::CountBlock { .. }
            | Change::Handlers { .. } => Place::After,
        }
    }
}

fn br_table(code: &mut InstructionSink<'_>, depths: &[u32]) -> Result<()> {
    let (default, arms) = depths.split_last().context("has a branch table without a default")?;
    code.br_table(arms.iter().copied(), *default);
    Ok(())
}

/// A branch that only goes to a new depth.
fn moved(code: &mut InstructionSink<'_>, change: &Change) -> Result<()> {
    match change {
        Change::Br { depth } => code.br(*depth),
        Change::BrIfDead { depth } => code.br_if(*depth),
        Change::BrOnNull { depth } => code.br_on_null(*depth),
        Change::BrOnNonNull { depth } => code.br_on_non_null(*depth),
        &Change::BrOnCast { depth, from, to, fail } => match fail {
            false => code.br_on_cast(depth, encoded_ref(from)?, encoded_ref(to)?),
            true => code.br_on_cast_fail(depth, encoded_ref(from)?, encoded_ref(to)?),
        },
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

fn encoded_catch(catch: Catch) -> wasm_encoder::Catch {
    match catch {
        Catch::One { tag, label } => wasm_encoder::Catch::One { tag, label },
        Catch::OneRef { tag, label } => wasm_encoder::Catch::OneRef { tag, label },
        Catch::All { label } => wasm_encoder::Catch::All { label },
        Catch::AllRef { label } => wasm_encoder::Catch::AllRef { label },
    }
}
