//! What a program does, straight from what the proposal says: no code is moved, and nothing is known about `try_table`.

use std::collections::BTreeMap;

use crate::legacy::program::{End, Expr, Try};

/// An exception: its tag is how many values it has.
pub(crate) type Exception = Vec<i32>;

/// Why an expression did not leave a value.
enum Exit {
    Branch(u32, i32),
    Return(i32),
    Throw(Exception),
    /// Thrown by a `delegate` to the label of this depth.
    Delegate(u32, Exception),
}

/// How a program runs.
pub(crate) struct Meaning<'p> {
    functions: &'p [Expr],
    bits: u64,
    pub(crate) log: i32,
    /// How often each clause of each `try` caught something, by the `try`'s address.
    pub(crate) caught: BTreeMap<(*const Try, u32), u32>,
}

impl<'p> Meaning<'p> {
    pub(crate) fn new(functions: &'p [Expr]) -> Meaning<'p> {
        Meaning { functions, bits: 0, log: 0, caught: BTreeMap::new() }
    }

    pub(crate) fn run(&mut self, bits: u64, argument: i32) -> Result<i32, Exception> {
        self.bits = bits;
        self.call(0, argument)
    }

    fn call(&mut self, function: usize, argument: i32) -> Result<i32, Exception> {
        let mut frame = Frame { param: argument, exceptions: Vec::new() };
        match self.labelled(&self.functions[function], &mut frame, None) {
            Ok(value) | Err(Exit::Return(value)) => Ok(value),
            Err(Exit::Throw(exception)) => Err(exception),
            Err(Exit::Branch(..) | Exit::Delegate(..)) => unreachable!("the function is the outermost label"),
        }
    }

    fn draw(&mut self) -> bool {
        let bit = self.bits & 1;
        self.bits >>= 1;
        bit == 1
    }

    /// Carries out what is in a block; for a clause, with the exception it caught.
    fn labelled(&mut self, expr: &Expr, frame: &mut Frame, caught: Option<Exception>) -> Result<i32, Exit> {
        frame.exceptions.push(caught);
        let exit = self.expr(expr, frame);
        frame.exceptions.pop();
        exit.or_else(outside)
    }

    fn expr(&mut self, expr: &Expr, frame: &mut Frame) -> Result<i32, Exit> {
        Ok(match expr {
            Expr::Const(value) => *value,
            Expr::Param => frame.param,
            Expr::Mix(both) => {
                let left = self.expr(&both[0], frame)?;
                mix(left, self.expr(&both[1], frame)?)
            }
            Expr::Log(value) => {
                let value = self.expr(value, frame)?;
                self.log = mix(self.log, value);
                value
            }
            Expr::Block(body) => self.labelled(body, frame, None)?,
            Expr::Loop(body) => loop {
                frame.exceptions.push(None);
                let exit = self.expr(body, frame);
                frame.exceptions.pop();
                match exit {
                    Err(Exit::Branch(0, _)) => continue,
                    exit => break exit.or_else(outside)?,
                }
            },
            Expr::If(both) => {
                let taken = if self.draw() { &both[0] } else { &both[1] };
                self.labelled(taken, frame, None)?
            }
            Expr::Br(depth, value) => return Err(Exit::Branch(*depth, self.expr(value, frame)?)),
            Expr::BrIf(depth, value) => {
                let value = self.expr(value, frame)?;
                if self.draw() {
                    return Err(Exit::Branch(*depth, value));
                }
                value
            }
            Expr::BrTable(depths, value) => {
                let value = self.expr(value, frame)?;
                return Err(Exit::Branch(depths[usize::from(self.draw())], value));
            }
            Expr::Again(depth) => {
                if self.draw() {
                    return Err(Exit::Branch(*depth, 0));
                }
                7
            }
            Expr::Return(value) => return Err(Exit::Return(self.expr(value, frame)?)),
            Expr::Throw(values) => {
                let values: Result<Vec<_>, _> = values.iter().map(|value| self.expr(value, frame)).collect();
                return Err(Exit::Throw(values?));
            }
            Expr::Call(function, argument) => {
                let argument = self.expr(argument, frame)?;
                self.call(*function, argument).map_err(Exit::Throw)?
            }
            Expr::Rethrow(depth) => {
                let exceptions = &frame.exceptions;
                let exception = exceptions[exceptions.len() - 1 - *depth as usize].clone();
                return Err(Exit::Throw(exception.expect("the label is of a clause")));
            }
            Expr::Try(plan) => self.try_(plan, frame)?,
        })
    }

    fn try_(&mut self, plan: &Try, frame: &mut Frame) -> Result<i32, Exit> {
        let param = plan.param.as_ref().map(|param| self.expr(param, frame)).transpose()?;
        // A branch to the label leaves with its value; only the value at the end is mixed.
        frame.exceptions.push(None);
        let exit = self.expr(&plan.body, frame).map(|value| param.map_or(value, |param| mix(param, value)));
        frame.exceptions.pop();
        let exception = match exit {
            // Delegated to this `try`, from inside: as if thrown in its body.
            Err(Exit::Throw(exception) | Exit::Delegate(0, exception)) => exception,
            exit => return exit.or_else(outside),
        };
        let clauses = match &plan.end {
            End::Delegate(depth) => {
                *self.caught.entry((plan, 0)).or_default() += 1;
                return Err(Exit::Delegate(*depth, exception));
            }
            End::Clauses(clauses) => clauses,
        };
        let fits = |tag: Option<usize>| tag.is_none_or(|tag| tag == exception.len());
        let Some(clause) = clauses.iter().position(|(tag, _)| fits(*tag)) else { return Err(Exit::Throw(exception)) };
        *self.caught.entry((plan, clause as u32)).or_default() += 1;
        let (tag, body) = &clauses[clause];
        let values = if tag.is_some() { exception.clone() } else { vec![] };
        self.clause(body, frame, exception, &values)
    }

    /// Carries out a clause's body, whose value is mixed with the exception's `values`.
    fn clause(&mut self, body: &Expr, frame: &mut Frame, caught: Exception, values: &[i32]) -> Result<i32, Exit> {
        frame.exceptions.push(Some(caught));
        let exit = self.expr(body, frame);
        frame.exceptions.pop();
        let value = exit.map(|value| values.iter().rev().fold(value, |mixed, &value| mix(value, mixed)));
        value.or_else(outside)
    }
}

/// What becomes of an exit when it leaves a label: a branch to it gives its value.
fn outside(exit: Exit) -> Result<i32, Exit> {
    match exit {
        Exit::Branch(0, value) => Ok(value),
        Exit::Branch(depth, value) => Err(Exit::Branch(depth - 1, value)),
        Exit::Delegate(0, exception) => Err(Exit::Throw(exception)),
        Exit::Delegate(depth, exception) => Err(Exit::Delegate(depth - 1, exception)),
        other => Err(other),
    }
}

/// An activation of a function.
struct Frame {
    param: i32,
    /// Per label, outermost first: what was caught, in a clause.
    exceptions: Vec<Option<Exception>>,
}

fn mix(left: i32, right: i32) -> i32 {
    left.wrapping_mul(31).wrapping_add(right)
}
