//! From tokens to what a recipe says.

use crate::recipe::builtin::Builtin;
use crate::recipe::error::RecipeError;
use crate::recipe::lex::{Token, lex, wrong};
use crate::recipe::syntax::{Binary, Draw, Encoding, Expression, Given, Kind, Names, Parsed, Statement, Unary};
use std::ops::Range;
use wasmparser::ValType;

/// The longest recipe, in bytes.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// Expressions and blocks that are nested deeper are refused.
const DEPTH_MAX: u32 = 100;

/// More draws than this are refused.
const DRAWS_MAX: usize = 200;

/// Binary operators by how much they bind, the weakest first.
const BINARY: [&[(&str, Binary)]; 6] = [
    &[("|", Binary::Or)],
    &[("^", Binary::Xor)],
    &[("&", Binary::And)],
    &[
        ("==", Binary::Equal),
        ("!=", Binary::NotEqual),
        ("<", Binary::Less),
        ("<=", Binary::LessOrEqual),
        (">", Binary::Greater),
        (">=", Binary::GreaterOrEqual),
    ],
    &[("<<", Binary::ShiftLeft), (">>", Binary::ShiftRight), ("+", Binary::Add), ("-", Binary::Subtract)],
    &[("*", Binary::Multiply), ("/", Binary::Divide), ("%", Binary::Remainder)],
];

/// Words that are no variables.
const WORDS: [&str; 11] =
    ["while", "if", "else", "reject", "fail", "return", "input", "string", "utf16", "len", "draw"];

/// Whether a name means something in recipes, so that an export of this name has to be quoted.
pub fn is_word(name: &str) -> bool {
    WORDS.contains(&name) || Builtin::of(name).is_some()
}

pub(super) fn parse(text: &str) -> Result<Parsed, RecipeError> {
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("the recipe has {} bytes, at most {TEXT_BYTES_MAX} are read", text.len());
        return Err(wrong("", message, 0..0));
    }
    let tokens = lex(text)?;
    let mut parser =
        Parser { text, tokens, next: 0, depth: 0, uses_len: false, is_given: false, parsed: Parsed::default() };
    parser.parsed.text = text.to_owned();
    parser.parsed.statements = parser.statements()?;
    if let Some((_, at)) = parser.tokens.get(parser.next) {
        return Err(wrong(text, "a `}` too many", at.clone()));
    }
    if parser.parsed.statements.is_empty() {
        return Err(wrong(text, "it says nothing: what is called is said as `p = malloc(len); ...`", 0..0));
    }
    if parser.uses_len && parser.parsed.takes.is_none() {
        parser.parsed.takes = Some(Encoding::Bytes);
    }
    Ok(parser.parsed)
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<(Token, Range<usize>)>,
    next: usize,
    depth: u32,
    uses_len: bool,
    /// In the body of what is in the place of an import.
    is_given: bool,
    parsed: Parsed,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(token, _)| token)
    }

    /// The place of the next token, or where the text ends.
    fn here(&self) -> Range<usize> {
        self.tokens.get(self.next).map_or(self.text.len()..self.text.len(), |(_, at)| at.clone())
    }

    fn take(&mut self, mark: &'static str) -> bool {
        let is_next = self.peek() == Some(&Token::Mark(mark));
        self.next += usize::from(is_next);
        is_next
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Token::Name(name)) if name == word);
        self.next += usize::from(is_next);
        is_next
    }

    fn wrong(&self, message: impl Into<String>) -> RecipeError {
        wrong(self.text, message, self.here())
    }

    fn expect(&mut self, mark: &'static str) -> Result<(), RecipeError> {
        if self.take(mark) { Ok(()) } else { Err(self.wrong(format!("expected `{mark}`"))) }
    }

    fn deeper<T>(&mut self, job: impl FnOnce(&mut Self) -> Result<T, RecipeError>) -> Result<T, RecipeError> {
        if self.depth == DEPTH_MAX {
            return Err(self.wrong("nested too deep"));
        }
        self.depth += 1;
        let result = job(self);
        self.depth -= 1;
        result
    }

    /// Statements up to a `}` or the end.
    fn statements(&mut self) -> Result<Vec<Statement>, RecipeError> {
        let mut statements = Vec::new();
        loop {
            while self.peek() == Some(&Token::End) {
                self.next += 1;
            }
            if matches!(self.peek(), None | Some(Token::Mark("}"))) {
                return Ok(statements);
            }
            if self.begins_given() {
                let given = self.given()?;
                self.parsed.given.push(given);
                continue;
            }
            statements.push(self.statement()?);
            let ends = matches!(self.peek(), None | Some(Token::End | Token::Mark("}")))
                || self.next > 0 && self.tokens[self.next - 1].0 == Token::Mark("}");
            if !ends {
                return Err(self.wrong("expected `;`"));
            }
        }
    }

    /// Whether what follows is `on NAME`: nothing else begins with two names.
    fn begins_given(&self) -> bool {
        let is_name = |token: &Token| matches!(token, Token::Name(_) | Token::Quoted(_));
        let second = self.tokens.get(self.next + 1);
        matches!(self.peek(), Some(Token::Name(name)) if name == "on")
            && second.is_some_and(|(token, _)| is_name(token))
    }

    /// `on NAME(a, b) { ... }`, which stands outside of all else.
    fn given(&mut self) -> Result<Given, RecipeError> {
        if self.depth > 0 || self.is_given {
            return Err(self.wrong("what is in the place of an import stands outside of all else"));
        }
        self.next += 1;
        let at = self.here();
        let name = match self.peek() {
            Some(Token::Name(name) | Token::Quoted(name)) => name.clone(),
            _ => return Err(self.wrong("expected the name of an import")),
        };
        self.next += 1;
        self.expect("(")?;
        let params = self.names()?;
        self.expect("{")?;
        self.is_given = true;
        let body = self.deeper(Self::statements)?;
        self.is_given = false;
        self.expect("}")?;
        Ok(Given { name, at, params, body })
    }

    /// Names of parameters, and the parenthesis behind them.
    fn names(&mut self) -> Result<Names, RecipeError> {
        let mut names = Names::new();
        if self.take(")") {
            return Ok(names);
        }
        loop {
            let at = self.here();
            let Some(Token::Name(name)) = self.peek().cloned() else {
                return Err(self.wrong("expected the name of a parameter"));
            };
            if WORDS.contains(&&*name) || names.iter().any(|(other, _)| *other == name) {
                return Err(self.wrong(format!("`{name}` has a meaning already")));
            }
            self.next += 1;
            names.push((name, at));
            if self.take(")") {
                return Ok(names);
            }
            if !self.take(",") {
                return Err(self.wrong("expected `,` or `)`"));
            }
        }
    }

    /// What follows `return`, if something does.
    fn returned(&mut self) -> Result<Option<Expression>, RecipeError> {
        let ends = match self.peek() {
            None | Some(Token::End | Token::Mark("}")) => true,
            Some(Token::Name(name)) => name == "else",
            _ => false,
        };
        if ends { Ok(None) } else { self.expression().map(Some) }
    }

    fn statement(&mut self) -> Result<Statement, RecipeError> {
        self.deeper(|parser| {
            if parser.take("{") {
                let statements = parser.statements()?;
                parser.expect("}")?;
                return Ok(Statement::Block(statements));
            }
            let at = parser.here();
            if parser.take_word("reject") {
                let message = "what is in the place of an import rejects nothing: it returns, or fails";
                return if parser.is_given { Err(wrong(parser.text, message, at)) } else { Ok(Statement::Reject) };
            }
            if parser.take_word("fail") {
                return Ok(Statement::Fail);
            }
            if parser.take_word("return") {
                return Ok(Statement::Return(at, parser.returned()?));
            }
            if parser.take_word("if") {
                let condition = parser.expression()?;
                let then = Box::new(parser.statement()?);
                let otherwise = if parser.take_word("else") { Some(Box::new(parser.statement()?)) } else { None };
                return Ok(Statement::If(condition, then, otherwise));
            }
            if parser.take_word("while") {
                let condition = parser.expression()?;
                return Ok(Statement::While(condition, Box::new(parser.statement()?)));
            }
            match parser.assigned()? {
                Some(names) => Ok(Statement::Assign(names, parser.expression()?)),
                None => Ok(Statement::Do(parser.expression()?)),
            }
        })
    }

    /// The names before a `=`, if what follows is an assignment.
    fn assigned(&mut self) -> Result<Option<Names>, RecipeError> {
        let start = self.next;
        let mut names = Vec::new();
        while let Some((Token::Name(name), at)) = self.tokens.get(self.next).cloned() {
            self.next += 1;
            names.push((name, at));
            if self.take(",") {
                continue;
            }
            if self.take("=") {
                if let Some((name, at)) = names.iter().find(|(name, _)| WORDS.contains(&&**name)) {
                    let message = format!("`{name}` is a word of the language, not a variable");
                    return Err(wrong(self.text, message, at.clone()));
                }
                return Ok(Some(names));
            }
            break;
        }
        self.next = start;
        Ok(None)
    }

    fn expression(&mut self) -> Result<Expression, RecipeError> {
        self.deeper(|parser| parser.binary(0))
    }

    fn binary(&mut self, level: usize) -> Result<Expression, RecipeError> {
        let Some(operators) = BINARY.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(Token::Mark(mark)) = self.peek()
            && let Some((_, operator)) = operators.iter().find(|(text, _)| text == mark)
        {
            self.next += 1;
            let right = self.binary(level + 1)?;
            let at = left.at.start..right.at.end;
            left = self.node(Kind::Binary(*operator, Box::new(left), Box::new(right)), at)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expression, RecipeError> {
        let start = self.here().start;
        for (mark, operator) in [("-", Unary::Negate), ("!", Unary::Not), ("~", Unary::Complement)] {
            if self.take(mark) {
                let of = self.deeper(Self::unary)?;
                let at = start..of.at.end;
                let kind = match (operator, of.kind) {
                    (Unary::Negate, Kind::Integer(value)) => Kind::Integer(-value),
                    (Unary::Negate, Kind::Float(value)) => Kind::Float(-value),
                    (_, kind) => Kind::Unary(operator, Box::new(Expression { kind, ..of })),
                };
                return self.node(kind, at);
            }
        }
        self.primary()
    }

    fn node(&self, kind: Kind, at: Range<usize>) -> Result<Expression, RecipeError> {
        let depth = 1 + match &kind {
            Kind::Call { arguments, .. } => arguments.iter().map(|argument| argument.depth).max().unwrap_or(0),
            Kind::Unary(_, of) => of.depth,
            Kind::Binary(_, left, right) => left.depth.max(right.depth),
            _ => 0,
        };
        if depth > DEPTH_MAX {
            return Err(wrong(self.text, "nested too deep", at));
        }
        Ok(Expression { kind, at, depth })
    }

    fn primary(&mut self) -> Result<Expression, RecipeError> {
        let Some((token, at)) = self.tokens.get(self.next).cloned() else {
            return Err(self.wrong("expected an expression"));
        };
        self.next += 1;
        let kind = match token {
            Token::Integer(value) => Kind::Integer(value),
            Token::Float(value) => Kind::Float(value),
            Token::Text(bytes) => Kind::Text(bytes),
            Token::Mark("(") => {
                let inner = self.expression()?;
                self.expect(")")?;
                return Ok(inner);
            }
            Token::Quoted(name) => {
                self.expect("(")?;
                Kind::Call { name, at: at.clone(), quoted: true, arguments: self.arguments()? }
            }
            Token::Name(name) if self.take("(") => match &*name {
                "draw" => self.draw()?,
                _ => Kind::Call { name, at: at.clone(), quoted: false, arguments: self.arguments()? },
            },
            Token::Name(name) => self.name(name, at.clone())?,
            Token::Mark(_) | Token::End => {
                self.next -= 1;
                return Err(self.wrong("expected an expression"));
            }
        };
        let end = self.tokens[self.next - 1].1.end;
        self.node(kind, at.start..end)
    }

    fn name(&mut self, name: String, at: Range<usize>) -> Result<Kind, RecipeError> {
        if let Some(&encoding) = Encoding::ALL.iter().find(|encoding| encoding.word() == name) {
            if let Some(other) = self.parsed.takes.filter(|&other| other != encoding) {
                let message =
                    format!("the input is `{name}` here and `{}` before: it can be one of them", other.word());
                return Err(wrong(self.text, message, at));
            }
            self.parsed.takes = Some(encoding);
            return Ok(Kind::Input);
        }
        match &*name {
            "len" => {
                self.uses_len = true;
                Ok(Kind::Len)
            }
            word if WORDS.contains(&word) => Err(wrong(self.text, format!("`{word}` is no expression"), at)),
            _ => Ok(Kind::Variable(name)),
        }
    }

    /// What follows the parenthesis of a call.
    fn arguments(&mut self) -> Result<Vec<Expression>, RecipeError> {
        let mut arguments = Vec::new();
        if self.take(")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.expression()?);
            if self.take(")") {
                return Ok(arguments);
            }
            if !self.take(",") {
                return Err(self.wrong("expected `,` or `)`"));
            }
        }
    }

    /// What follows the parenthesis of `draw`.
    fn draw(&mut self) -> Result<Kind, RecipeError> {
        let draw = match self.peek() {
            Some(Token::Name(name)) => {
                let types =
                    [("i32", ValType::I32), ("i64", ValType::I64), ("f32", ValType::F32), ("f64", ValType::F64)];
                let ty = types.iter().find(|(word, _)| word == name).map(|&(_, ty)| ty);
                let ty = ty.ok_or_else(|| self.wrong("it is `i32`, `i64`, `f32`, `f64`, or a range as `0..10`"))?;
                self.next += 1;
                Draw { ty, range: None }
            }
            _ => self.range()?,
        };
        self.expect(")")?;
        if self.is_given {
            self.next -= 1;
            return Err(self.wrong("what is in the place of an import draws nothing"));
        }
        if self.parsed.draws.len() == DRAWS_MAX {
            return Err(self.wrong(format!("more than {DRAWS_MAX} draws")));
        }
        self.parsed.draws.push(draw);
        Ok(Kind::Draw(self.parsed.draws.len() - 1))
    }

    /// `LO..HI`, without `HI`. An i32 where both fit.
    fn range(&mut self) -> Result<Draw, RecipeError> {
        let start = self.here().start;
        let lo = self.integer()?;
        self.expect("..")?;
        let hi = self.integer()?;
        let at = start..self.tokens[self.next - 1].1.end;
        let fits = |min: i64, max: i64| lo >= min.into() && hi - 1 <= max.into();
        if hi <= lo || !fits(i64::MIN, i64::MAX) {
            return Err(wrong(self.text, "a range is from a number to a larger one, within 64 bits", at));
        }
        let narrow = fits(i32::MIN.into(), i32::MAX.into());
        let ty = if narrow { ValType::I32 } else { ValType::I64 };
        // All of them have no number in the type; they are drawn as they are.
        let count = u64::try_from(hi - lo).ok().filter(|&count| !narrow || u32::try_from(count).is_ok());
        Ok(Draw { ty, range: count.map(|count| (lo as i64, count)) })
    }

    fn integer(&mut self) -> Result<i128, RecipeError> {
        let negative = self.take("-");
        let Some(&Token::Integer(value)) = self.peek() else { return Err(self.wrong("expected an integer")) };
        self.next += 1;
        Ok(if negative { -value } else { value })
    }
}
