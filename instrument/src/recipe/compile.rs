//! From what a recipe says to a function: gives types, and makes code.

use crate::module::types::encoded;
use crate::recipe::builtin::{Builtin, Cell};
use crate::recipe::code;
use crate::recipe::error::RecipeError;
use crate::recipe::lex::wrong;
use crate::recipe::syntax::{Binary, Draw, Expression, Kind, Parsed, Statement, Unary};
use crate::recipe::view::View;
use std::ops::Range;
use wasm_encoder::{BlockType, Function, Instruction as I, MemArg, MemArgTarget};
use wasmparser::{FuncType, ValType};

/// More bytes of texts than this are refused: each is stored by an instruction of its own.
const TEXT_BYTES_MAX: usize = 4 << 10;

/// A function to append: its parameters, and its body. Its result is an i32.
pub(super) struct Compiled {
    /// The first parameters.
    pub(super) draws: Vec<ValType>,
    /// All parameters.
    pub(super) params: Vec<ValType>,
    pub(super) body: Function,
}

/// Makes a recipe a function.
pub(super) fn compile(parsed: &Parsed, view: &View) -> Result<Compiled, RecipeError> {
    let draws: Vec<ValType> = parsed.draws.iter().map(|draw| draw.ty).collect();
    let mut params = draws.clone();
    let address = match (parsed.takes, view.memory) {
        (Some(_), None) => {
            return Err(wrong(&parsed.text, "the module has no memory to put an input into", 0..parsed.text.len()));
        }
        (_, Some((_, true))) => ValType::I64,
        _ => ValType::I32,
    };
    if parsed.takes.is_some() {
        params.extend([address; 2]);
    }
    let mut compiler = Compiler {
        parsed,
        view,
        address,
        input: u32::try_from(draws.len()).unwrap_or(u32::MAX),
        params: u32::try_from(params.len()).unwrap_or(u32::MAX),
        variables: Vec::new(),
        text_bytes: 0,
        code: Vec::new(),
    };
    for statement in &parsed.statements {
        compiler.statement(statement)?;
    }
    compiler.code.extend([I::I32Const(0), I::End]);
    let mut locals = Vec::new();
    for (name, ty) in &compiler.variables {
        let unusable = |_| wrong(&parsed.text, format!("`{name}` has a type that can't be encoded"), 0..0);
        locals.push((1, encoded(*ty).map_err(unusable)?));
    }
    let mut body = Function::new(locals);
    compiler.code.iter().for_each(|instruction| _ = body.instruction(instruction));
    Ok(Compiled { draws, params, body })
}

struct Compiler<'p> {
    parsed: &'p Parsed,
    view: &'p View,
    /// The type of addresses.
    address: ValType,
    /// The parameter that is the input's address; its length is the next.
    input: u32,
    params: u32,
    /// The locals behind the parameters.
    variables: Vec<(String, ValType)>,
    text_bytes: usize,
    code: Vec<I<'static>>,
}

impl Compiler<'_> {
    fn wrong(&self, message: impl Into<String>, at: &Range<usize>) -> RecipeError {
        wrong(&self.parsed.text, message, at.clone())
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), RecipeError> {
        match statement {
            Statement::Assign(names, value) => self.assign(names, value)?,
            Statement::Do(expression) => {
                let results = self.several(expression)?;
                self.code.extend(results.iter().map(|_| I::Drop));
            }
            Statement::If(condition, then, otherwise) => {
                self.expression(condition, ValType::I32)?;
                self.code.push(I::If(BlockType::Empty));
                self.statement(then)?;
                if let Some(otherwise) = otherwise {
                    self.code.push(I::Else);
                    self.statement(otherwise)?;
                }
                self.code.push(I::End);
            }
            Statement::While(condition, body) => {
                self.code.extend([I::Block(BlockType::Empty), I::Loop(BlockType::Empty)]);
                self.expression(condition, ValType::I32)?;
                self.code.extend([I::I32Eqz, I::BrIf(1)]);
                self.statement(body)?;
                self.code.extend([I::Br(0), I::End, I::End]);
            }
            Statement::Block(statements) => {
                for statement in statements {
                    self.statement(statement)?;
                }
            }
            Statement::Reject => self.code.extend([I::I32Const(-1), I::Return]),
            Statement::Return => self.code.extend([I::I32Const(0), I::Return]),
            Statement::Fail => self.code.push(I::Unreachable),
        }
        Ok(())
    }

    fn assign(&mut self, names: &[(String, Range<usize>)], value: &Expression) -> Result<(), RecipeError> {
        let known = |compiler: &Self, name: &str| compiler.variables.iter().position(|(other, _)| other == name);
        let results = match names {
            // Of a literal the variable says what it is.
            [(name, _)] if let Some(at) = known(self, name) => {
                let ty = self.variables[at].1;
                self.expression(value, ty)?;
                vec![ty]
            }
            _ => self.several(value)?,
        };
        if results.len() != names.len() {
            let (given, wanted) = (results.len(), names.len());
            return Err(self.wrong(format!("gives {given} values, for {wanted} names"), &value.at));
        }
        for ((name, at), ty) in names.iter().zip(results).rev() {
            let index = match known(self, name) {
                Some(index) if self.variables[index].1 == ty => index,
                Some(index) => {
                    let was = self.variables[index].1;
                    return Err(self.wrong(format!("`{name}` is {was}, and what it is given is {ty}"), at));
                }
                None if !is_defaultable(ty) => {
                    return Err(self.wrong(format!("`{name}` would be {ty}, which no variable can be"), at));
                }
                None => {
                    self.variables.push((name.clone(), ty));
                    self.variables.len() - 1
                }
            };
            self.code.push(I::LocalSet(self.params + index as u32));
        }
        Ok(())
    }

    /// Code for an expression that may be a call with no result, or with several.
    fn several(&mut self, expression: &Expression) -> Result<Vec<ValType>, RecipeError> {
        if let Kind::Call { name, at, quoted, arguments } = &expression.kind {
            if !quoted && let Some(builtin) = Builtin::of(name) {
                return Ok(self.builtin(builtin, arguments, &expression.at)?.into_iter().collect());
            }
            return self.call(name, at, arguments, &expression.at);
        }
        let ty = self.infer(expression).unwrap_or(ValType::I32);
        self.expression(expression, ty)?;
        Ok(vec![ty])
    }

    fn call(
        &mut self,
        name: &str,
        at: &Range<usize>,
        arguments: &[Expression],
        whole: &Range<usize>,
    ) -> Result<Vec<ValType>, RecipeError> {
        let Some((index, ty)) = self.view.exports.get(name) else {
            let mut error = self.wrong(format!("the module exports no function `{name}`"), at);
            error.unknown = Some(name.to_owned());
            return Err(error);
        };
        if arguments.len() != ty.params().len() {
            let message = format!(
                "`{name}` is {}: it takes {} arguments, and is given {}",
                signature(ty),
                ty.params().len(),
                arguments.len()
            );
            return Err(self.wrong(message, whole));
        }
        for (number, (argument, &param)) in (1..).zip(arguments.iter().zip(ty.params())) {
            let found = self.infer(argument).unwrap_or(param);
            if found != param {
                let message =
                    format!("this is {found}, and argument {number} of `{name}` is {param}: `{param}(...)` converts");
                return Err(self.wrong(message, &argument.at));
            }
            self.expression(argument, param)?;
        }
        self.code.push(I::Call(*index));
        Ok(ty.results().to_vec())
    }

    /// Code for a word of the language; its result, if it has one.
    fn builtin(
        &mut self,
        builtin: Builtin,
        arguments: &[Expression],
        at: &Range<usize>,
    ) -> Result<Option<ValType>, RecipeError> {
        if arguments.len() != builtin.arguments() {
            let (wanted, given) = (builtin.arguments(), arguments.len());
            return Err(self.wrong(format!("it takes {wanted} arguments, and is given {given}"), at));
        }
        if !matches!(builtin, Builtin::Convert(_)) && self.view.memory.is_none() {
            return Err(self.wrong("the module has no memory", at));
        }
        match builtin {
            Builtin::Write => self.write(&arguments[0], &arguments[1])?,
            Builtin::Store(cell) => {
                self.expression(&arguments[0], self.address)?;
                self.expression(&arguments[1], cell.ty())?;
                let arg = self.memory_arg(0);
                self.code.push(cell.store(arg));
            }
            Builtin::Load(cell) => {
                self.expression(&arguments[0], self.address)?;
                let arg = self.memory_arg(0);
                self.code.push(cell.load(arg));
                return Ok(Some(cell.ty()));
            }
            Builtin::Convert(to) => {
                let from = self.infer(&arguments[0]).unwrap_or(to);
                self.expression(&arguments[0], from)?;
                let Some(instruction) = code::convert(from, to) else {
                    return Err(self.wrong(format!("what is {from} can't become {to}"), at));
                };
                self.code.extend(instruction);
                return Ok(Some(to));
            }
        }
        Ok(None)
    }

    /// `write(p, input)` or `write(p, "text")`.
    fn write(&mut self, to: &Expression, what: &Expression) -> Result<(), RecipeError> {
        let memory = self.view.memory.map_or(0, |(memory, _)| memory);
        match &what.kind {
            Kind::Input => {
                self.expression(to, self.address)?;
                self.code.extend([I::LocalGet(self.input), I::LocalGet(self.input + 1)]);
                self.code.push(I::MemoryCopy { src_mem: memory, dst_mem: memory });
            }
            Kind::Text(bytes) => {
                self.text_bytes += bytes.len();
                if self.text_bytes > TEXT_BYTES_MAX {
                    return Err(self.wrong(format!("more than {TEXT_BYTES_MAX} bytes of texts"), &what.at));
                }
                // The address is computed once, and kept where no name reaches it.
                let name = format!("write at {}", to.at.start);
                self.variables.push((name, self.address));
                let local = self.params + self.variables.len() as u32 - 1;
                self.expression(to, self.address)?;
                self.code.push(I::LocalSet(local));
                for (offset, &byte) in (0..).zip(bytes) {
                    let arg = self.memory_arg(offset);
                    self.code.extend([I::LocalGet(local), I::I32Const(byte.into()), Cell::Bits8.store(arg)]);
                }
            }
            _ => {
                let message = "`write` copies `input`, `string`, `utf16` or a text; write8 to write64 store numbers";
                return Err(self.wrong(message, &what.at));
            }
        }
        Ok(())
    }

    fn memory_arg(&self, offset: u64) -> MemArg {
        let memory = self.view.memory.map_or(0, |(memory, _)| memory);
        MemArg { offset, align: 0, target: MemArgTarget::Memory(memory), ordering: None }
    }

    /// The type of an expression as far as it has one of its own: a literal takes that of its place.
    fn infer(&self, expression: &Expression) -> Option<ValType> {
        match &expression.kind {
            Kind::Integer(_) | Kind::Text(_) => None,
            Kind::Float(_) => None,
            Kind::Variable(name) => self.variables.iter().find(|(other, _)| other == name).map(|&(_, ty)| ty),
            Kind::Input | Kind::Len => Some(self.address),
            Kind::Draw(draw) => Some(self.parsed.draws[*draw].ty),
            Kind::Call { name, quoted, .. } => match Builtin::of(name).filter(|_| !quoted) {
                Some(Builtin::Load(cell)) => Some(cell.ty()),
                Some(Builtin::Convert(to)) => Some(to),
                Some(_) => None,
                None => match self.view.exports.get(name)?.1.results() {
                    &[result] => Some(result),
                    _ => None,
                },
            },
            Kind::Unary(Unary::Not, _) => Some(ValType::I32),
            Kind::Unary(_, of) => self.infer(of),
            Kind::Binary(operator, ..) if operator.compares() => Some(ValType::I32),
            Kind::Binary(_, left, right) => self.infer(left).or_else(|| self.infer(right)),
        }
    }

    /// Code that leaves one value of the type.
    fn expression(&mut self, expression: &Expression, ty: ValType) -> Result<(), RecipeError> {
        let at = &expression.at;
        match &expression.kind {
            Kind::Integer(value) => {
                let constant = constant(*value, ty).ok_or_else(|| self.wrong(format!("{value} is no {ty}"), at))?;
                self.code.push(constant);
                return Ok(());
            }
            Kind::Float(value) => {
                self.code.push(match ty {
                    ValType::F32 => I::F32Const((*value as f32).into()),
                    ValType::F64 => I::F64Const((*value).into()),
                    _ => return Err(self.wrong(format!("{value} is no {ty}"), at)),
                });
                return Ok(());
            }
            Kind::Text(_) => {
                return Err(self.wrong("a text is copied by `write(p, \"text\")`: it has no address of its own", at));
            }
            Kind::Variable(name) => {
                let Some(index) = self.variables.iter().position(|(other, _)| other == name) else {
                    let mut error = self.wrong(format!("there is no variable `{name}` yet"), at);
                    error.unknown = Some(name.clone());
                    return Err(error);
                };
                self.code.push(I::LocalGet(self.params + index as u32));
            }
            Kind::Input => self.code.push(I::LocalGet(self.input)),
            Kind::Len => self.code.push(I::LocalGet(self.input + 1)),
            Kind::Draw(draw) => self.draw(*draw),
            Kind::Call { .. } => {
                let results = self.several(expression)?;
                if results.len() != 1 {
                    let given = results.len();
                    return Err(self.wrong(format!("it gives {given} values, and one is needed here"), at));
                }
                return self.same(results[0], ty, at);
            }
            Kind::Unary(operator, of) => self.unary(*operator, of, at)?,
            Kind::Binary(operator, left, right) => {
                return self.binary(*operator, (left, right), ty, at);
            }
        }
        let found = self.infer(expression).unwrap_or(ty);
        self.same(found, ty, at)
    }

    fn same(&self, found: ValType, wanted: ValType, at: &Range<usize>) -> Result<(), RecipeError> {
        if found == wanted {
            return Ok(());
        }
        Err(self.wrong(format!("this is {found}, and {wanted} is needed: `{wanted}(...)` converts"), at))
    }

    fn draw(&mut self, index: usize) {
        self.code.push(I::LocalGet(index as u32));
        let Draw { ty, range: Some((lo, count)) } = self.parsed.draws[index] else { return };
        if ty == ValType::I32 {
            let constants = [I::I32Const((count as u32).cast_signed()), I::I32RemU, I::I32Const(lo as i32), I::I32Add];
            self.code.extend(constants);
        } else {
            self.code.extend([I::I64Const(count.cast_signed()), I::I64RemU, I::I64Const(lo), I::I64Add]);
        }
    }

    fn unary(&mut self, operator: Unary, of: &Expression, at: &Range<usize>) -> Result<(), RecipeError> {
        let ty = self.infer(of).unwrap_or(ValType::I32);
        let Some((before, after)) = code::unary(operator, ty) else {
            return Err(self.wrong(format!("there is no such operator for {ty}"), at));
        };
        self.code.extend(before);
        self.expression(of, ty)?;
        self.code.extend(after);
        Ok(())
    }

    fn binary(
        &mut self,
        operator: Binary,
        (left, right): (&Expression, &Expression),
        wanted: ValType,
        at: &Range<usize>,
    ) -> Result<(), RecipeError> {
        let own = self.infer(left).or_else(|| self.infer(right));
        let ty = own.unwrap_or(if operator.compares() { ValType::I32 } else { wanted });
        let Some(instruction) = code::binary(operator, ty) else {
            return Err(self.wrong(format!("there is no such operator for {ty}"), at));
        };
        self.expression(left, ty)?;
        self.expression(right, ty)?;
        self.code.push(instruction);
        self.same(if operator.compares() { ValType::I32 } else { ty }, wanted, at)
    }
}

/// Whether a variable of the type has a value before it is given one.
fn is_defaultable(ty: ValType) -> bool {
    !matches!(ty, ValType::Ref(ty) if !ty.is_nullable())
}

/// An integer as a constant of a type, if it is one, with or without a sign.
fn constant(value: i128, ty: ValType) -> Option<I<'static>> {
    let fits = |bits: u32| value >= -(1_i128 << (bits - 1)) && value < 1_i128 << bits;
    Some(match ty {
        ValType::I32 if fits(32) => I::I32Const(value as i32),
        ValType::I64 if fits(64) => I::I64Const(value as i64),
        ValType::F32 => I::F32Const((value as f32).into()),
        ValType::F64 => I::F64Const((value as f64).into()),
        // Nothing is the only reference that can be written.
        ValType::Ref(ty) if value == 0 && ty.is_nullable() => {
            let ty = crate::module::types::encoded_ref(ty).ok()?;
            I::RefNull(ty.heap_type)
        }
        _ => return None,
    })
}

/// A function type as a person writes it.
fn signature(ty: &FuncType) -> String {
    let list = |types: &[ValType]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match ty.results() {
        [] => format!("({})", list(ty.params())),
        [result] => format!("({}) -> {result}", list(ty.params())),
        results => format!("({}) -> ({})", list(ty.params()), list(results)),
    }
}
