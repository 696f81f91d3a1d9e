//! What a recipe says.

use crate::recipe::builtin::Builtin;
use std::ops::Range;
use wasmparser::ValType;

/// As what the input is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// `input`: as it is.
    Bytes,
    /// `string`: as UTF-8.
    Utf8,
    /// `utf16`: as UTF-16, little-endian. Lengths are in bytes.
    Utf16,
}

impl Encoding {
    /// What is written for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Bytes => "input",
            Self::Utf8 => "string",
            Self::Utf16 => "utf16",
        }
    }

    pub(super) const ALL: [Self; 3] = [Self::Bytes, Self::Utf8, Self::Utf16];
}

/// A number that is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Draw {
    pub(super) ty: ValType,
    /// The least, and how many there are, if not all of the type.
    pub(super) range: Option<(i64, u64)>,
}

/// A recipe as it was parsed.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) text: String,
    pub(super) statements: Vec<Statement>,
    /// In the order of the text.
    pub(super) draws: Vec<Draw>,
    pub(super) takes: Option<Encoding>,
    /// What is in the place of imports.
    pub(super) given: Vec<Given>,
}

/// A function in the place of an import: `on NAME(a, b) { ... }`.
#[derive(Debug)]
pub(super) struct Given {
    /// The import, as `name` or `module.name`.
    pub(super) name: String,
    pub(super) at: Range<usize>,
    pub(super) params: Names,
    pub(super) body: Vec<Statement>,
}

/// Names that are given values, each with its place.
pub(super) type Names = Vec<(String, Range<usize>)>;

#[derive(Debug)]
pub(super) enum Statement {
    Assign(Names, Expression),
    Do(Expression),
    If(Expression, Box<Statement>, Option<Box<Statement>>),
    While(Expression, Box<Statement>),
    Block(Vec<Statement>),
    Reject,
    Fail,
    /// With the place, and what is returned, if something is.
    Return(Range<usize>, Option<Expression>),
}

#[derive(Debug)]
pub(super) struct Expression {
    pub(super) kind: Kind,
    pub(super) at: Range<usize>,
    /// Of how many levels it is.
    pub(super) depth: u32,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// A literal, whose type is that of its place.
    Integer(i128),
    Float(f64),
    Text(Vec<u8>),
    Variable(String),
    /// The input's address.
    Input,
    /// The input's length in bytes.
    Len,
    /// The number of a draw.
    Draw(usize),
    Call {
        name: String,
        at: Range<usize>,
        quoted: bool,
        arguments: Vec<Expression>,
    },
    Unary(Unary, Box<Expression>),
    Binary(Binary, Box<Expression>, Box<Expression>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Negate,
    /// 1 for 0, and 0 for all else.
    Not,
    Complement,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Multiply,
    Divide,
    Remainder,
    Add,
    Subtract,
    ShiftLeft,
    ShiftRight,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    And,
    Xor,
    Or,
}

impl Binary {
    pub(super) fn compares(self) -> bool {
        matches!(
            self,
            Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual | Self::Equal | Self::NotEqual
        )
    }
}

impl Expression {
    /// Itself and all in it, from the outside inwards.
    fn visit<'e>(&'e self, job: &mut dyn FnMut(&'e Expression)) {
        job(self);
        match &self.kind {
            Kind::Call { arguments, .. } => arguments.iter().for_each(|argument| argument.visit(job)),
            Kind::Unary(_, of) => of.visit(job),
            Kind::Binary(_, left, right) => {
                left.visit(job);
                right.visit(job);
            }
            _ => {}
        }
    }
}

impl Statement {
    fn visit<'s>(&'s self, job: &mut dyn FnMut(&'s Statement)) {
        job(self);
        match self {
            Self::Block(statements) => statements.iter().for_each(|statement| statement.visit(job)),
            Self::While(_, body) => body.visit(job),
            Self::If(_, then, otherwise) => {
                then.visit(job);
                if let Some(otherwise) = otherwise {
                    otherwise.visit(job);
                }
            }
            _ => {}
        }
    }

    fn expression(&self) -> Option<&Expression> {
        match self {
            Self::Assign(_, expression)
            | Self::Do(expression)
            | Self::If(expression, ..)
            | Self::While(expression, _)
            | Self::Return(_, Some(expression)) => Some(expression),
            _ => None,
        }
    }
}

impl Parsed {
    /// The export that is fuzzed: the first call that has the input's address or a variable that it was written to, or
    /// that was made of such a call; else the last call.
    pub(super) fn subject(&self) -> Option<String> {
        let mut tainted: Vec<&str> = Vec::new();
        let mut written = false;
        let (mut found, mut after, mut last) = (None, None, None);
        let mut one = |statement| {
            let Some(expression) = Statement::expression(statement) else { return };
            let mut calls = Vec::new();
            expression.visit(&mut |inner| {
                let Kind::Call { name, quoted, arguments, .. } = &inner.kind else { return };
                let has_input = arguments.iter().any(|argument| {
                    let mut has = false;
                    argument.visit(&mut |inner| match &inner.kind {
                        Kind::Input => has = true,
                        Kind::Variable(name) => has |= tainted.contains(&&**name),
                        _ => {}
                    });
                    has
                });
                let stores = !quoted && matches!(Builtin::of(name), Some(Builtin::Write | Builtin::Store(_)));
                if stores && has_input {
                    written = true;
                    arguments[0].visit(&mut |inner| {
                        if let Kind::Variable(name) = &inner.kind {
                            tainted.push(name);
                        }
                    });
                } else if *quoted || Builtin::of(name).is_none() {
                    calls.push((name, has_input));
                }
            });
            // A value of the host's, made by an import.
            if let (Statement::Assign(names, _), [(name, true)]) = (statement, &calls[..])
                && name.contains('.')
            {
                tainted.extend(names.iter().map(|(name, _)| &**name));
                return;
            }
            for (name, has_input) in calls {
                last = Some(name);
                // Blocks are for something.
                if written && after.is_none() && !name.to_lowercase().contains("alloc") {
                    after = Some(name);
                }
                if has_input && found.is_none() {
                    found = Some(name);
                }
            }
        };
        if self.given.is_empty() {
            self.statements.iter().for_each(|statement| statement.visit(&mut one));
        } else {
            // What is asked for is asked for by what everything is done for; it is looked at behind conditions.
            self.statements.iter().for_each(&mut one);
        }
        found.or(after).or(last).cloned()
    }
}
