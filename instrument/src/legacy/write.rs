//! Writes a function whose `try`s are known without them.

use anyhow::{Context, Result, bail, ensure};
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{BlockType, Catch, Encode, Instruction, InstructionSink, RefType};
use wasmparser::{BinaryReader, FunctionBody, Operator, ValType};

use super::scan::{Handler, Scan, Try};
use crate::added::types::AddedTypes;
use crate::module::limits::LOCALS_MAX;
use crate::module::survey::Survey;
use crate::module::types::{Signature, Values, encoded_block};
use crate::offsets::OffsetMap;

/// Gives a body, and its offsets from its start.
pub(super) fn write(
    survey: &Survey<'_>,
    types: &mut AddedTypes,
    scan: &Scan,
    body: &FunctionBody<'_>,
) -> Result<(Vec<u8>, OffsetMap)> {
    if scan.tries.is_empty() {
        return Ok(copied(scan, body));
    }
    let mut bytes = Vec::with_capacity(body.as_bytes().len());
    locals(scan, body, &mut bytes)?;
    let frame = Frame { label: 1, part: Part::Plain };
    let writer = Writer {
        survey,
        types,
        scan,
        bytes,
        offsets: OffsetMap::default(),
        frames: vec![frame],
        height: 1,
        again: Vec::with_capacity(scan.tries.len()),
        to_caller: None,
        at: u32::try_from(scan.code_start)?,
        copying: false,
    };
    writer.body(body)
}

/// The body as it is.
fn copied(scan: &Scan, body: &FunctionBody<'_>) -> (Vec<u8>, OffsetMap) {
    let mut offsets = OffsetMap::default();
    // The survey limits the module's size to less than this.
    offsets.copied((scan.code_start - body.range().start) as u32, scan.code_start as u32);
    (body.as_bytes().to_vec(), offsets)
}

/// Writes the declarations of locals: those that were, then those for exceptions that are kept.
fn locals(scan: &Scan, body: &FunctionBody<'_>, bytes: &mut Vec<u8>) -> Result<()> {
    let length = (scan.code_start - body.range().start) as usize;
    let mut reader = BinaryReader::new(&body.as_bytes()[..length], body.range().start);
    let groups = reader.read_var_u32()?;
    let kept = &body.as_bytes()[reader.current_position()..length];
    (groups + u32::from(scan.kept > 0)).encode(bytes);
    bytes.extend_from_slice(kept);
    if scan.kept > 0 {
        let locals = scan.locals + scan.kept;
        ensure!(locals <= LOCALS_MAX, "would need {locals} locals, more than the {LOCALS_MAX} that engines accept");
        scan.kept.encode(bytes);
        wasm_encoder::ValType::Ref(RefType::EXNREF).encode(bytes);
    }
    Ok(())
}

/// A block of the original. Labels have numbers: how many were open when they were, themselves included.
struct Frame {
    /// Where a branch to this block goes.
    label: u32,
    part: Part,
}

/// Which part of which block the operator is in.
#[derive(Clone, Copy)]
enum Part {
    /// A block which stays what it is.
    Plain,
    /// The first part of a `try`.
    Try { number: usize },
    /// A clause's body.
    Clause { number: usize, clause: usize },
}

struct Writer<'w, 's> {
    survey: &'w Survey<'s>,
    types: &'w mut AddedTypes,
    scan: &'w Scan,
    bytes: Vec<u8>,
    offsets: OffsetMap,
    /// Outermost first.
    frames: Vec<Frame>,
    /// How many labels are open in the new body.
    height: u32,
    /// Per `try` that has been opened, the label of the block that ends with throwing again what was delegated to it.
    again: Vec<Option<u32>>,
    /// Label of the block that ends with throwing again what was delegated to the caller.
    to_caller: Option<u32>,
    /// Where the current operator is in the original module.
    at: u32,
    /// Whether the last operator was copied.
    copying: bool,
}

impl Writer<'_, '_> {
    fn body(mut self, body: &FunctionBody<'_>) -> Result<(Vec<u8>, OffsetMap)> {
        let start = body.range().start;
        let mut operators = body.get_operators_reader()?;
        if self.scan.delegates_to_caller {
            self.insert().block(BlockType::Result(RefType::EXNREF.into()));
            self.to_caller = Some(self.open());
        }
        while !operators.eof() {
            let at = operators.original_position();
            let operator = operators.read()?;
            let end = operators.original_position();
            self.at = u32::try_from(at)?;
            self.operator(&operator, &body.as_bytes()[(at - start) as usize..(end - start) as usize])?;
        }
        Ok((self.bytes, self.offsets))
    }

    /// Writes what becomes of the current operator, whose bytes are given.
    fn operator(&mut self, operator: &Operator<'_>, bytes: &[u8]) -> Result<()> {
        use Operator as O;
        match operator {
            O::Block { .. } | O::Loop { .. } | O::If { .. } => {
                self.copy(bytes);
                self.begin(Part::Plain);
            }
            O::TryTable { .. } => {
                self.branch(operator, bytes)?;
                self.begin(Part::Plain);
            }
            O::Try { blockty } => self.begin_try(*blockty)?,
            O::Catch { .. } | O::CatchAll => self.next_clause()?,
            O::Rethrow { relative_depth } => self.rethrow(*relative_depth)?,
            O::Delegate { .. } => {
                let frame = self.frames.pop().context(UNBALANCED)?;
                self.end_of_try(&frame);
                self.close();
            }
            O::End => self.end(bytes)?,
            O::Br { .. }
            | O::BrIf { .. }
            | O::BrTable { .. }
            | O::BrOnNull { .. }
            | O::BrOnNonNull { .. }
            | O::BrOnCast { .. }
            | O::BrOnCastFail { .. } => self.branch(operator, bytes)?,
            _ => self.copy(bytes),
        }
        Ok(())
    }

    fn begin_try(&mut self, block_type: wasmparser::BlockType) -> Result<()> {
        let scan = self.scan;
        let number = self.again.len();
        let plan = scan.tries.get(number).context(UNBALANCED)?;
        let encoded = encoded_block(block_type)?;
        let params = Values::params(block_type);
        let mut label = None;
        if !plan.clauses.is_empty() {
            self.insert().block(encoded);
            label = Some(self.open());
            for clause in plan.clauses.iter().rev() {
                let results = self.caught(clause.tag, clause.kept.is_some())?;
                let block_type = self.types.block_type(self.survey, Signature { params, results })?;
                self.insert().block(block_type);
                self.open();
            }
        }
        match self.catches(plan)? {
            catches if catches.is_empty() => self.insert().block(encoded),
            catches => self.insert().try_table(encoded, catches),
        };
        let body = self.open();
        let again = if plan.is_delegated_to {
            let signature = Signature { params, results: Values::One(ValType::EXNREF) };
            let block_type = self.types.block_type(self.survey, signature)?;
            self.insert().block(block_type);
            Some(self.open())
        } else {
            None
        };
        self.again.push(again);
        self.frames.push(Frame { label: label.unwrap_or(body), part: Part::Try { number } });
        Ok(())
    }

    /// What a clause's block leaves on the stack.
    fn caught(&self, tag: Option<u32>, keep: bool) -> Result<Values> {
        let ty = |tag: u32| self.survey.tags.get(tag as usize).copied().context("catches a tag that it doesn't define");
        Ok(match (tag, keep) {
            (None, false) => Values::Empty,
            (None, true) => Values::One(ValType::EXNREF),
            (Some(tag), false) => Values::Params(ty(tag)?),
            (Some(tag), true) => Values::ParamsAndExn(ty(tag)?),
        })
    }

    /// The clauses of the `try_table` that is about to be written.
    fn catches(&self, plan: &Try) -> Result<Vec<Catch>> {
        if let Some(handler) = plan.delegate {
            let again = match handler {
                Handler::Caller => self.to_caller,
                Handler::Try(target) => self.again.get(target).copied().flatten(),
            };
            return Ok(vec![Catch::AllRef { label: self.height - again.context(UNBALANCED)? }]);
        }
        let catch = |(label, clause): (u32, &super::scan::Clause)| match (clause.tag, clause.kept) {
            (None, None) => Catch::All { label },
            (None, Some(_)) => Catch::AllRef { label },
            (Some(tag), None) => Catch::One { tag, label },
            (Some(tag), Some(_)) => Catch::OneRef { tag, label },
        };
        Ok((0..).zip(&plan.clauses).map(catch).collect())
    }

    /// Leaves the body of a `try`, up to its `try_table`'s end.
    fn end_of_try(&mut self, frame: &Frame) {
        if let Part::Try { number } = frame.part
            && self.again[number].is_some()
        {
            let out = self.height - frame.label;
            self.insert().br(out).end().throw_ref();
            self.height -= 1;
        }
    }

    fn next_clause(&mut self) -> Result<()> {
        let scan = self.scan;
        let mut frame = self.frames.pop().context(UNBALANCED)?;
        let (number, clause) = match frame.part {
            Part::Plain => bail!(UNBALANCED),
            Part::Try { number } => {
                self.end_of_try(&frame);
                self.close();
                (number, 0)
            }
            Part::Clause { number, clause } => (number, clause + 1),
        };
        let out = self.height - frame.label;
        self.insert().br(out);
        self.close();
        let kept = scan.tries.get(number).and_then(|plan| plan.clauses.get(clause)).context(UNBALANCED)?.kept;
        if let Some(kept) = kept {
            self.insert().local_set(scan.locals + kept);
        }
        frame.part = Part::Clause { number, clause };
        self.frames.push(frame);
        Ok(())
    }

    fn rethrow(&mut self, depth: u32) -> Result<()> {
        let scan = self.scan;
        let Part::Clause { number, clause } = self.frame(depth)?.part else { bail!(UNBALANCED) };
        let kept = scan.tries.get(number).and_then(|plan| plan.clauses.get(clause)?.kept).context(UNBALANCED)?;
        self.insert().local_get(scan.locals + kept).throw_ref();
        Ok(())
    }

    fn end(&mut self, bytes: &[u8]) -> Result<()> {
        let frame = self.frames.pop().context(UNBALANCED)?;
        self.end_of_try(&frame);
        if self.frames.is_empty() && self.to_caller.is_some() {
            self.insert().return_().end().throw_ref();
            self.height -= 1;
        }
        self.copy(bytes);
        self.height -= 1;
        Ok(())
    }

    /// Writes an operator that branches, with its depths in the new body.
    fn branch(&mut self, operator: &Operator<'_>, bytes: &[u8]) -> Result<()> {
        use Instruction as I;
        let mut instruction = RoundtripReencoder.instruction(operator.clone())?;
        let mut changed = false;
        let mut depths: Vec<&mut u32> = match &mut instruction {
            I::Br(depth) | I::BrIf(depth) | I::BrOnNull(depth) | I::BrOnNonNull(depth) => vec![depth],
            I::BrOnCast { relative_depth, .. } | I::BrOnCastFail { relative_depth, .. } => vec![relative_depth],
            I::BrTable(arms, default) => arms.to_mut().iter_mut().chain([default]).collect(),
            I::TryTable(_, catches) => catches.to_mut().iter_mut().map(label).collect(),
            _ => vec![],
        };
        for depth in &mut depths {
            let new = self.height - self.frame(**depth)?.label;
            changed |= new != **depth;
            **depth = new;
        }
        if changed {
            self.insert();
            instruction.encode(&mut self.bytes);
        } else {
            self.copy(bytes);
        }
        Ok(())
    }

    /// The block which a branch of this depth goes to in the original.
    fn frame(&self, depth: u32) -> Result<&Frame> {
        let index = self.frames.len().checked_sub(1 + depth as usize);
        index.and_then(|index| self.frames.get(index)).context(UNBALANCED)
    }

    fn begin(&mut self, part: Part) {
        let label = self.open();
        self.frames.push(Frame { label, part });
    }

    /// Counts a label that was just opened; gives its number.
    fn open(&mut self) -> u32 {
        self.height += 1;
        self.height
    }

    /// Writes the end of the innermost block.
    fn close(&mut self) {
        self.insert().end();
        self.height -= 1;
    }

    /// Writes the current operator as it is.
    fn copy(&mut self, bytes: &[u8]) {
        if !self.copying {
            self.offsets.copied(self.bytes.len() as u32, self.at);
        }
        self.copying = true;
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes something for the current operator.
    fn insert(&mut self) -> InstructionSink<'_> {
        self.offsets.inserted(self.bytes.len() as u32, self.at);
        self.copying = false;
        InstructionSink::new(&mut self.bytes)
    }
}

/// What can't be, because the validator has seen the body.
const UNBALANCED: &str = "has unbalanced blocks";

fn label(catch: &mut Catch) -> &mut u32 {
    match catch {
        Catch::One { label, .. } | Catch::OneRef { label, .. } | Catch::All { label } | Catch::AllRef { label } => {
            label
        }
    }
}
