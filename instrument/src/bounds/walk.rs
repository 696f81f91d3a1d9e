//! Goes through a function's operators, and decides before which there is a comparison.

use std::collections::BTreeMap;

use wasmparser::{Catch, FunctionBody, Operator};

use super::check::{Check, Reach};
use super::facts::{Fact, Facts};
use super::values::{NoModule, Value, Values};
use crate::module::access::Access;

/// What is compared before accesses to memories that are `ours`, in the order of the function, as far as they can be
/// reached. There are `bytes` of memory at least.
///
/// What can't be read, or is not valid, is told by the validator: it doesn't matter what is said of it here.
pub(crate) fn checks(body: &FunctionBody<'_>, bytes: u64, ours: &dyn Fn(u32) -> bool) -> Vec<Check> {
    let mut walk = Walk {
        bytes,
        ours,
        changes: Changes::of(body),
        values: Values::new(bytes >= 1 << 16),
        facts: Facts::default(),
        checks: Vec::new(),
        stack: Vec::new(),
        locals: BTreeMap::new(),
        closed: vec![false],
        loops: Vec::new(),
        frames: vec![Frame::new(Kind::Block, 0, 0)],
        dead: None,
        stretch: 0,
        at: 0,
    };
    let Ok(mut operators) = body.get_operators_reader() else { return Vec::new() };
    while !operators.eof() && !walk.frames.is_empty() {
        walk.at = operators.original_position() as u32;
        let Ok(operator) = operators.read() else { break };
        walk.operator(&operator);
    }
    walk.checks
}

/// Where each local is set, and where each loop ends, by offset.
struct Changes {
    sets: BTreeMap<u32, Vec<u32>>,
    ends: BTreeMap<u32, u32>,
}

impl Changes {
    fn of(body: &FunctionBody<'_>) -> Changes {
        let mut changes = Changes { sets: BTreeMap::new(), ends: BTreeMap::new() };
        let mut open = Vec::new();
        let operators = body.get_operators_reader().map(|operators| operators.into_iter_with_offsets());
        for (operator, at) in operators.into_iter().flatten().map_while(Result::ok) {
            let at = at as u32;
            match operator {
                Operator::LocalSet { local_index } | Operator::LocalTee { local_index } => {
                    changes.sets.entry(local_index).or_default().push(at);
                }
                Operator::Loop { .. } => open.push(Some(at)),
                Operator::Block { .. } | Operator::If { .. } | Operator::TryTable { .. } => open.push(None),
                Operator::End => {
                    if let Some(Some(start)) = open.pop() {
                        changes.ends.insert(start, at);
                    }
                }
                _ => {}
            }
        }
        changes
    }

    /// Whether a local is set in the loop that starts here.
    fn in_loop(&self, local: u32, start: u32) -> bool {
        let end = self.ends.get(&start).copied().unwrap_or(u32::MAX);
        let sets = self.sets.get(&local).map_or(&[][..], Vec::as_slice);
        sets.get(sets.partition_point(|&set| set < start)).is_some_and(|&set| set < end)
    }
}

/// What a local was set to last.
struct Set {
    value: Value,
    /// In which part: when that has ended, the local may be something else.
    part: u32,
    at: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Block,
    Loop,
    If,
}

/// A block that is open, and can be reached.
struct Frame {
    kind: Kind,
    /// The part of the function in which locals are set that may be others behind it; that of the block around for
    /// loops, which are left at their end alone.
    part: u32,
    /// How many facts there were at its start.
    start: usize,
    /// How many of the facts at its end every branch to there has.
    branched: Option<usize>,
    /// To how many facts were cut since it was opened, and since the first of these branches: what there was beyond
    /// them is forgotten.
    low: usize,
    low_since: usize,
}

impl Frame {
    fn new(kind: Kind, part: u32, start: usize) -> Frame {
        Frame { kind, part, start, branched: None, low: usize::MAX, low_since: usize::MAX }
    }

    /// Facts were cut to so many.
    fn cut(&mut self, len: usize) {
        self.low = self.low.min(len);
        self.low_since = self.low_since.min(len);
    }
}

struct Walk<'w> {
    bytes: u64,
    ours: &'w dyn Fn(u32) -> bool,
    changes: Changes,
    values: Values,
    facts: Facts,
    checks: Vec<Check>,
    /// The last that were pushed; there may be others below.
    stack: Vec<Value>,
    locals: BTreeMap<u32, Set>,
    /// By part: whether it has ended.
    closed: Vec<bool>,
    /// Where the open loops start.
    loops: Vec<u32>,
    frames: Vec<Frame>,
    /// In code that can't be reached, how many blocks were opened there.
    dead: Option<u32>,
    stretch: u32,
    at: u32,
}

impl Walk<'_> {
    fn operator(&mut self, operator: &Operator<'_>) {
        use Operator as O;
        if let Some(depth) = self.dead {
            match operator {
                O::Block { .. } | O::Loop { .. } | O::If { .. } | O::TryTable { .. } => self.dead = Some(depth + 1),
                O::End if depth > 0 => self.dead = Some(depth - 1),
                O::End => self.end(),
                O::Else if depth == 0 => self.begin_else(),
                _ => {}
            }
            return;
        }
        match *operator {
            O::LocalGet { local_index } => {
                let value = self.local(local_index);
                self.stack.push(value);
            }
            O::LocalSet { local_index } => {
                let value = self.pop();
                self.set(local_index, value);
            }
            O::LocalTee { local_index } => {
                let value = self.pop();
                self.set(local_index, value);
                self.stack.push(value);
            }
            O::Select | O::TypedSelect { .. } => {
                self.pop();
                let (second, first) = (self.pop(), self.pop());
                let value = self.values.either(first, second);
                self.stack.push(value);
            }
            _ if self.control(operator) => {}
            _ => self.plain(operator),
        }
    }

    fn pop(&mut self) -> Value {
        self.stack.pop().unwrap_or_else(|| self.values.unknown())
    }

    /// An operator that goes on to the next, or fails, or calls.
    fn plain(&mut self, operator: &Operator<'_>) {
        if let Some(access) = Access::of(operator)
            && access.memory().is_some_and(self.ours)
        {
            self.access(&access);
        }
        let Some((takes, gives)) = operator.operator_arity(&NoModule) else {
            // A call may grow the memory.
            self.stretch += 1;
            self.stack.clear();
            return;
        };
        if let Operator::MemoryGrow { .. } = operator {
            self.stretch += 1;
        }
        let mut operands = [self.values.unknown(); 2];
        for place in (0..takes as usize).rev() {
            let operand = self.pop();
            if let Some(slot) = operands.get_mut(place) {
                *slot = operand;
            }
        }
        for _ in 0..gives {
            let value = self.values.result(operator, operands[0], operands[1]);
            self.stack.push(value);
        }
    }

    /// Compares before an access, if nothing makes it sure.
    fn access(&mut self, access: &Access) {
        let address = self.stack.len().checked_sub(1 + access.above.len()).and_then(|place| self.stack.get(place));
        let address = match address {
            Some(&address) => address,
            None => self.values.unknown(),
        };
        let offset = access.memarg.offset;
        self.checks.push(Check { at: self.at, reach: None });
        // Addresses have 32 bits, and so have offsets in what is valid.
        let offset = offset.min(u32::MAX.into()).cast_signed();
        let width = access.width().cast_signed();
        if i64::from(address.max) + offset + width <= self.bytes.cast_signed() {
            return;
        }
        let delta = i64::from(address.delta);
        let (start, end) = (offset + delta, offset + delta + width);
        let fact = self.facts.of(address.id);
        if fact.is_some_and(|fact| fact.start <= start && end <= fact.end) {
            return;
        }
        let (start, end) = fact.map_or((start, end), |fact| (start.min(fact.start), end.max(fact.end)));
        // The comparison before goes further, or there is another.
        let earlier = fact.filter(|fact| fact.stretch == self.stretch || address.global);
        let (check, delta) = earlier.map_or((self.checks.len() - 1, delta), |fact| (fact.check, fact.delta));
        let reach = &mut self.checks[check].reach;
        let before = reach.unwrap_or(Reach { start: i64::MAX, end: i64::MIN });
        *reach = Some(Reach { start: before.start.min(start - delta), end: before.end.max(end - delta) });
        self.facts.learn(address.id, Fact { start, end, check, delta, stretch: self.stretch });
    }

    /// What a local is.
    fn local(&mut self, local: u32) -> Value {
        let known = self.locals.get(&local);
        let (set_at, value) = known.map_or((0, None), |set| (set.at, Some(set.value)));
        let ended = known.is_some_and(|set| self.closed[set.part as usize]);
        // The outermost of the loops that were begun since.
        let begun = self.loops.get(self.loops.partition_point(|&start| start <= set_at)).copied();
        let changed = begun.is_some_and(|start| self.changes.in_loop(local, start));
        if let (Some(value), false, false) = (value, ended, changed) {
            return value;
        }
        let value = self.values.unknown();
        // What nobody has set is the same in all of the function.
        let (part, at) = if known.is_none() && !changed { (0, 0) } else { (self.part(), self.at) };
        self.locals.insert(local, Set { value, part, at });
        value
    }

    fn set(&mut self, local: u32, value: Value) {
        let set = Set { value, part: self.part(), at: self.at };
        self.locals.insert(local, set);
    }

    fn part(&self) -> u32 {
        self.frames.last().map_or(0, |frame| frame.part)
    }

    fn new_part(&mut self) -> u32 {
        self.closed.push(false);
        self.closed.len() as u32 - 1
    }

    /// An operator that leads somewhere else than to the next; gives whether it is one.
    fn control(&mut self, operator: &Operator<'_>) -> bool {
        use Operator as O;
        match operator {
            O::Block { .. } => self.open(Kind::Block),
            O::Loop { .. } => {
                self.loops.push(self.at);
                self.stretch += 1;
                self.open(Kind::Loop);
            }
            O::If { .. } => {
                self.stretch += 1;
                self.open(Kind::If);
            }
            O::TryTable { try_table } => {
                for catch in &try_table.catches {
                    let (Catch::One { label, .. }
                    | Catch::OneRef { label, .. }
                    | Catch::All { label }
                    | Catch::AllRef { label }) = *catch;
                    self.branch(label);
                }
                self.open(Kind::Block);
            }
            O::Else => {
                self.branch(0);
                self.begin_else();
            }
            O::End => self.end(),
            O::Br { relative_depth } => {
                self.branch(*relative_depth);
                self.dead = Some(0);
            }
            O::BrIf { relative_depth }
            | O::BrOnNull { relative_depth }
            | O::BrOnNonNull { relative_depth }
            | O::BrOnCast { relative_depth, .. }
            | O::BrOnCastFail { relative_depth, .. } => {
                self.branch(*relative_depth);
                self.stretch += 1;
            }
            O::BrTable { targets } => {
                for target in targets.targets().map_while(Result::ok).chain([targets.default()]) {
                    self.branch(target);
                }
                self.dead = Some(0);
            }
            O::Return
            | O::Unreachable
            | O::Throw { .. }
            | O::ThrowRef
            | O::ReturnCall { .. }
            | O::ReturnCallIndirect { .. }
            | O::ReturnCallRef { .. } => self.dead = Some(0),
            _ => return false,
        }
        self.stack.clear();
        true
    }

    fn open(&mut self, kind: Kind) {
        let part = if kind == Kind::Loop { self.part() } else { self.new_part() };
        self.frames.push(Frame::new(kind, part, self.facts.len()));
    }

    /// Here is a branch to the end of a block, or to the start of a loop, where nothing is asked for.
    fn branch(&mut self, depth: u32) {
        let facts = self.facts.len();
        let Some(place) = self.frames.len().checked_sub(1 + depth as usize) else { return };
        let frame = &mut self.frames[place];
        if frame.kind == Kind::Loop {
            return;
        }
        if frame.branched.is_none() {
            frame.low_since = usize::MAX;
        }
        frame.branched = Some(frame.branched.unwrap_or(usize::MAX).min(facts));
    }

    fn begin_else(&mut self) {
        self.dead = None;
        self.stretch += 1;
        self.stack.clear();
        let part = self.new_part();
        let Some(frame) = self.frames.last_mut() else { return };
        self.closed[frame.part as usize] = true;
        (frame.kind, frame.part) = (Kind::Block, part);
        frame.cut(frame.start);
        self.facts.truncate(frame.start);
    }

    fn end(&mut self) {
        let live = self.dead.take().is_none();
        self.stack.clear();
        let Some(mut frame) = self.frames.pop() else { return };
        if frame.kind == Kind::Loop {
            self.loops.pop();
        }
        if frame.kind == Kind::If {
            // The way on which nothing was done.
            frame.branched = Some(frame.branched.unwrap_or(usize::MAX).min(frame.start));
        }
        let len = self.facts.len();
        if let Some(branched) = frame.branched {
            let kept = branched.min(frame.low_since).min(len);
            if kept < len {
                frame.cut(kept);
                self.facts.truncate(kept);
            }
            self.closed[frame.part as usize] = true;
            self.stretch += 1;
        } else if !live {
            self.dead = Some(0);
        }
        if let Some(around) = self.frames.last_mut() {
            around.cut(frame.low);
        }
    }
}
