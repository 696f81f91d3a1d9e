//! Random programs with legacy exceptions: what they are, and how they are written as text.

use std::fmt::Write;

use crate::execution::Random;

/// Functions of a program. Each takes and gives an `i32`, and calls only those after it.
pub(crate) const FUNCTIONS: usize = 3;

/// Tags of a program: tag n has n parameters, each an `i32`.
pub(crate) const TAGS: u64 = 3;

/// Something that leaves an `i32` on the stack, or doesn't end. All blocks have that as their result.
pub(crate) enum Expr {
    Const(i32),
    /// The function's parameter.
    Param,
    /// Takes the left value times 31 plus the right one; the left one lies on the stack meanwhile.
    Mix(Box<[Expr; 2]>),
    /// Has the value take part in the program's result, whatever becomes of it.
    Log(Box<Expr>),
    Block(Box<Expr>),
    Loop(Box<Expr>),
    /// Draws a bit and does one or the other.
    If(Box<[Expr; 2]>),
    Br(u32, Box<Expr>),
    /// Draws a bit, and branches if it is set.
    BrIf(u32, Box<Expr>),
    /// Draws a bit, and branches by it.
    BrTable([u32; 2], Box<Expr>),
    /// Draws a bit, and goes back to the head of a loop if it is set.
    Again(u32),
    Return(Box<Expr>),
    Throw(Box<[Expr]>),
    Call(usize, Box<Expr>),
    Rethrow(u32),
    Try(Box<Try>),
}

/// A `try`. The value of the first expression lies on the stack when it is entered, and is its parameter: the body's
/// value is mixed with it.
pub(crate) struct Try {
    pub(crate) param: Option<Expr>,
    pub(crate) body: Expr,
    pub(crate) end: End,
}

/// How a `try` goes on.
pub(crate) enum End {
    /// With clauses, each for a tag or for all. A clause's value is mixed with what was thrown.
    Clauses(Vec<(Option<usize>, Expr)>),
    Delegate(u32),
}

/// What a label is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Label {
    Forward,
    Loop,
    Clause,
}

/// Makes a function's body.
pub(crate) fn generate(random: &mut Random, function: usize) -> Expr {
    let mut generator = Generator { random, function, labels: vec![Label::Forward], left: 60 };
    Expr::Mix(Box::new([Expr::Try(Box::new(generator.try_())), generator.expr()]))
}

struct Generator<'r> {
    random: &'r mut Random,
    function: usize,
    /// Outermost first.
    labels: Vec<Label>,
    /// How many more expressions there may be.
    left: u64,
}

impl Generator<'_> {
    fn expr(&mut self) -> Expr {
        if self.left == 0 || self.labels.len() > 12 {
            return Expr::Const(self.random.below(100) as i32);
        }
        self.left -= 1;
        match self.random.below(32) {
            0 => Expr::Const(self.random.below(100) as i32),
            1 => Expr::Param,
            2..=4 => Expr::Mix(Box::new([self.expr(), self.expr()])),
            5..=6 => Expr::Log(self.boxed()),
            7 => Expr::Block(self.inside(Label::Forward)),
            8 => Expr::Loop(self.inside(Label::Loop)),
            9..=10 => Expr::If(Box::new([*self.inside(Label::Forward), *self.inside(Label::Forward)])),
            11 => self.to(Label::is_forward, Generator::br),
            12..=13 => self.to(Label::is_forward, |this, depth| Expr::BrIf(depth, this.boxed())),
            14 => self.to(Label::is_forward, |this, depth| {
                let other = this.some_label(Label::is_forward).unwrap_or(depth);
                Expr::BrTable([depth, other], this.boxed())
            }),
            15 => self.to(|label| label == Label::Loop, |_, depth| Expr::Again(depth)),
            16 => Expr::Return(self.boxed()),
            17..=19 => {
                let tag = self.random.below(TAGS);
                Expr::Throw((0..tag).map(|_| self.expr()).collect())
            }
            20..=21 if self.function + 1 < FUNCTIONS => {
                let others = (FUNCTIONS - self.function - 1) as u64;
                let callee = self.function + 1 + self.random.below(others) as usize;
                Expr::Call(callee, self.boxed())
            }
            22..=23 => self.to(|label| label == Label::Clause, |_, depth| Expr::Rethrow(depth)),
            _ => Expr::Try(Box::new(self.try_())),
        }
    }

    fn boxed(&mut self) -> Box<Expr> {
        Box::new(self.expr())
    }

    fn inside(&mut self, label: Label) -> Box<Expr> {
        self.labels.push(label);
        let expr = self.boxed();
        self.labels.pop();
        expr
    }

    fn br(&mut self, depth: u32) -> Expr {
        Expr::Br(depth, self.boxed())
    }

    /// Something about a label, if there is one.
    fn to(&mut self, fits: impl Fn(Label) -> bool, make: impl FnOnce(&mut Self, u32) -> Expr) -> Expr {
        match self.some_label(fits) {
            Some(depth) => make(self, depth),
            None => Expr::Try(Box::new(self.try_())),
        }
    }

    /// The depth of some label.
    fn some_label(&mut self, fits: impl Fn(Label) -> bool) -> Option<u32> {
        let labels = self.labels.iter().rev();
        let depths: Vec<u32> = (0..).zip(labels).filter(|(_, label)| fits(**label)).map(|(depth, _)| depth).collect();
        if depths.is_empty() { None } else { Some(depths[self.random.below(depths.len() as u64) as usize]) }
    }

    fn try_(&mut self) -> Try {
        let param = (self.random.below(3) == 0).then(|| self.expr());
        let body = *self.inside(Label::Forward);
        let end = if self.random.below(3) == 0 {
            End::Delegate(self.random.below(self.labels.len() as u64) as u32)
        } else {
            let mut clauses = Vec::new();
            for _ in 0..self.random.below(3) {
                clauses.push((Some(self.random.below(TAGS) as usize), *self.inside(Label::Clause)));
            }
            if self.random.below(2) == 0 {
                clauses.push((None, *self.inside(Label::Clause)));
            }
            End::Clauses(clauses)
        };
        Try { param, body, end }
    }
}

impl Label {
    fn is_forward(self) -> bool {
        self != Label::Loop
    }
}

/// Writes a program as a module. `run` takes what is drawn from and the first function's argument.
pub(crate) fn text(functions: &[Expr]) -> String {
    let mut text = String::from(
        r#"(module
  (tag (export "0")) (tag (export "1") (param i32)) (tag (export "2") (param i32 i32))
  (global $bits (mut i64) (i64.const 0))
  (global $log (export "log") (mut i32) (i32.const 0))
  (func $mix (param i32 i32) (result i32)
    (i32.add (i32.mul (local.get 0) (i32.const 31)) (local.get 1)))
  (func $log (param i32) (result i32)
    (global.set $log (call $mix (global.get $log) (local.get 0)))
    (local.get 0))
  (func $draw (result i32)
    (i32.wrap_i64 (i64.and (global.get $bits) (i64.const 1)))
    (global.set $bits (i64.shr_u (global.get $bits) (i64.const 1))))
  (func (export "run") (param i64 i32) (result i32)
    (global.set $bits (local.get 0))
    (call $0 (local.get 1)))
"#,
    );
    for (number, body) in functions.iter().enumerate() {
        writeln!(text, "  (func ${number} (export \"f{number}\") (param i32) (result i32)").unwrap();
        write(body, &mut text);
        text.push_str(")\n");
    }
    text + ")"
}

fn write(expr: &Expr, text: &mut String) {
    let push = |text: &mut String, line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    match expr {
        Expr::Const(value) => push(text, &format!("i32.const {value}")),
        Expr::Param => push(text, "local.get 0"),
        Expr::Mix(both) => {
            both.iter().for_each(|expr| write(expr, text));
            push(text, "call $mix");
        }
        Expr::Log(value) => {
            write(value, text);
            push(text, "call $log");
        }
        Expr::Block(body) | Expr::Loop(body) => {
            push(text, if matches!(expr, Expr::Block(_)) { "block (result i32)" } else { "loop (result i32)" });
            write(body, text);
            push(text, "end");
        }
        Expr::If(both) => {
            push(text, "call $draw if (result i32)");
            write(&both[0], text);
            push(text, "else");
            write(&both[1], text);
            push(text, "end");
        }
        Expr::Br(depth, value) => {
            write(value, text);
            push(text, &format!("br {depth}"));
        }
        Expr::BrIf(depth, value) => {
            write(value, text);
            push(text, &format!("call $draw br_if {depth}"));
        }
        Expr::BrTable([zero, one], value) => {
            write(value, text);
            push(text, &format!("call $draw br_table {zero} {one}"));
        }
        Expr::Again(depth) => push(text, &format!("call $draw br_if {depth} i32.const 7")),
        Expr::Return(value) => {
            write(value, text);
            push(text, "return");
        }
        Expr::Throw(values) => {
            values.iter().for_each(|value| write(value, text));
            push(text, &format!("throw {}", values.len()));
        }
        Expr::Call(function, value) => {
            write(value, text);
            push(text, &format!("call ${function}"));
        }
        Expr::Rethrow(depth) => push(text, &format!("rethrow {depth}")),
        Expr::Try(plan) => write_try(plan, text),
    }
}

fn write_try(plan: &Try, text: &mut String) {
    if let Some(param) = &plan.param {
        write(param, text);
        text.push_str("try (param i32) (result i32)\n");
    } else {
        text.push_str("try (result i32)\n");
    }
    write(&plan.body, text);
    if plan.param.is_some() {
        text.push_str("call $mix\n");
    }
    match &plan.end {
        End::Delegate(depth) => writeln!(text, "delegate {depth}").unwrap(),
        End::Clauses(clauses) => {
            for (tag, body) in clauses {
                match tag {
                    Some(tag) => writeln!(text, "catch {tag}").unwrap(),
                    None => text.push_str("catch_all\n"),
                }
                write(body, text);
                (0..tag.unwrap_or(0)).for_each(|_| text.push_str("call $mix\n"));
            }
            text.push_str("end\n");
        }
    }
}
