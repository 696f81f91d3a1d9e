//! Validates a function, and finds out what its `try`s catch before the first of them is written.

use wasmparser::{FuncValidator, FunctionBody, Operator, OperatorsReader, Result, ValidatorResources};

/// What has to be known about a function.
pub(super) struct Scan {
    /// Its `try`s, in the order of their offsets. If there are none, nothing changes.
    pub(super) tries: Vec<Try>,
    /// Whether something is delegated to the caller.
    pub(super) delegates_to_caller: bool,
    /// How many locals it has, parameters included.
    pub(super) locals: u32,
    /// How many exceptions have to be kept at a time.
    pub(super) kept: u32,
    /// Where the first operator is, an offset in the module.
    pub(super) code_start: u64,
}

/// A `try`, up to its `end` or `delegate`.
#[derive(Default)]
pub(super) struct Try {
    /// What is caught, in order.
    pub(super) clauses: Vec<Clause>,
    /// Where exceptions go instead, if the `try` ends with `delegate`.
    pub(super) delegate: Option<Handler>,
    /// Whether a `try` inside delegates to this one.
    pub(super) is_delegated_to: bool,
}

/// A `catch` or `catch_all`.
pub(super) struct Clause {
    /// The tag that is caught; `None` for all.
    pub(super) tag: Option<u32>,
    /// The place among the kept exceptions of the one caught here; `None` if it is not thrown again.
    pub(super) kept: Option<u32>,
}

/// Where an exception goes.
#[derive(Clone, Copy)]
pub(super) enum Handler {
    /// Out of the function.
    Caller,
    /// To the clauses of the `try` with this number, or where it delegates to.
    Try(usize),
}

/// A block that the operator is in.
#[derive(Clone, Copy)]
struct Frame {
    /// The `try` that opened it, if one did.
    number: Option<usize>,
    /// Where exceptions go that are thrown in here.
    handler: Handler,
    /// How many clauses' bodies this is in.
    clauses: u32,
}

/// Validates a body and looks at its `try`s. `write` can't do without: what a `try` becomes depends on what follows.
pub(super) fn scan(validator: &mut FuncValidator<ValidatorResources>, body: &FunctionBody<'_>) -> Result<Scan> {
    let mut reader = body.get_binary_reader();
    validator.read_locals(&mut reader)?;
    let mut operators = OperatorsReader::new(reader);
    let code_start = operators.original_position();
    let locals = validator.len_locals();
    let mut walk = Walk {
        scan: Scan { tries: Vec::new(), delegates_to_caller: false, locals, kept: 0, code_start },
        frames: vec![Frame { number: None, handler: Handler::Caller, clauses: 0 }],
    };
    while !operators.eof() {
        let at = operators.original_position();
        let operator = operators.read()?;
        validator.op(at, &operator)?;
        walk.operator(&operator);
    }
    operators.finish()?;
    Ok(walk.scan)
}

struct Walk {
    scan: Scan,
    /// Outermost first.
    frames: Vec<Frame>,
}

impl Walk {
    /// Takes note of the current operator, which the validator has accepted.
    fn operator(&mut self, operator: &Operator<'_>) {
        match operator {
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } | Operator::TryTable { .. } => {
                self.frames.push(Frame { number: None, ..self.innermost() });
            }
            Operator::End => drop(self.frames.pop()),
            Operator::Try { .. } => {
                let number = self.scan.tries.len();
                self.scan.tries.push(Try::default());
                let frame = self.innermost();
                self.frames.push(Frame { number: Some(number), handler: Handler::Try(number), ..frame });
            }
            Operator::Catch { tag_index } => self.clause(Some(*tag_index)),
            Operator::CatchAll => self.clause(None),
            Operator::Rethrow { relative_depth } => self.rethrow(*relative_depth),
            Operator::Delegate { relative_depth } => self.delegate(*relative_depth),
            _ => {}
        }
    }

    fn innermost(&self) -> Frame {
        self.at(0)
    }

    /// The frame of a label, by its depth.
    fn at(&self, depth: u32) -> Frame {
        self.frames[self.frames.len() - 1 - depth as usize]
    }

    fn clause(&mut self, tag: Option<u32>) {
        let Some(Frame { number: Some(number), .. }) = self.frames.pop() else { return };
        self.scan.tries[number].clauses.push(Clause { tag, kept: None });
        // What is thrown in a clause, its `try` doesn't catch.
        let outer = self.innermost();
        self.frames.push(Frame { number: Some(number), handler: outer.handler, clauses: outer.clauses + 1 });
    }

    fn rethrow(&mut self, depth: u32) {
        let frame = self.at(depth);
        let Some(number) = frame.number else { return };
        if let Some(clause) = self.scan.tries[number].clauses.last_mut() {
            clause.kept = Some(frame.clauses - 1);
            self.scan.kept = self.scan.kept.max(frame.clauses);
        }
    }

    fn delegate(&mut self, depth: u32) {
        let Some(Frame { number: Some(number), .. }) = self.frames.pop() else { return };
        let handler = self.at(depth).handler;
        self.scan.tries[number].delegate = Some(handler);
        match handler {
            Handler::Caller => self.scan.delegates_to_caller = true,
            Handler::Try(target) => self.scan.tries[target].is_delegated_to = true,
        }
    }
}
