//! From what a recipe says to a function: gives types, and makes code.

use crate::recipe::append::Added;
use crate::recipe::builtin::{Builtin, Cell};
use crate::recipe::code::{self, Place};
use crate::recipe::error::RecipeError;
use crate::recipe::lex::wrong;
use crate::recipe::syntax::{Binary, Draw, Expression, Given, Kind, Parsed, Statement, Unary};
use crate::recipe::view::View;
use crate::recipe::{EXPORT, given_name};
use std::ops::Range;
use wasm_encoder::{BlockType, Function, Instruction as I, MemArg, MemArgTarget};
use wasmparser::ValType;

/// More bytes of texts than this are refused: each is stored by an instruction of its own.
const TEXT_BYTES_MAX: usize = 4 << 10;

/// What is made of a recipe.
pub(super) struct Compiled {
    /// The first parameters of the recipe's function.
    pub(super) draws: Vec<ValType>,
    /// Functions to append; the recipe's is the last, and its result is an i32.
    pub(super) functions: Vec<Added>,
    /// The type of two globals that the functions expect behind all others: address and length of the input, for what
    /// is in the place of imports.
    pub(super) globals: Option<ValType>,
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
    let input = u32::try_from(draws.len()).unwrap_or(u32::MAX);
    let globals = Some(address).filter(|_| parsed.takes.is_some() && !parsed.given.is_empty());
    let mut compiler = Compiler {
        parsed,
        view,
        address,
        input: Place::Local(input),
        params: u32::try_from(params.len()).unwrap_or(u32::MAX),
        variables: Vec::new(),
        returns: None,
        text_bytes: 0,
        code: Vec::new(),
    };
    for offset in (0..2).filter(|_| globals.is_some()) {
        compiler.code.extend([I::LocalGet(input + offset), I::GlobalSet(view.globals + offset)]);
    }
    for statement in &parsed.statements {
        compiler.statement(statement)?;
    }
    compiler.code.extend([I::I32Const(0), I::End]);
    let body = compiler.body(0)?;
    let mut functions = Vec::new();
    for given in &parsed.given {
        let function = provided(parsed, view, address, given)?;
        if functions.iter().any(|other: &Added| other.name == function.name) {
            return Err(wrong(&parsed.text, format!("`{}` is given already", given.name), given.at.clone()));
        }
        functions.push(function);
    }
    functions.push(Added { name: EXPORT.into(), params, results: vec![ValType::I32], body });
    Ok(Compiled { draws, functions, globals })
}

/// The function in the place of an import.
fn provided(parsed: &Parsed, view: &View, address: ValType, given: &Given) -> Result<Added, RecipeError> {
    let Given { name, at, params, body } = given;
    let is_it = |module: &str, own: &str| own == name || name.split_once('.') == Some((module, own));
    let Some((module, import, ty)) = view.imports.iter().find(|(module, own, _)| is_it(module, own)) else {
        let mut error = wrong(&parsed.text, format!("the module imports no function `{name}`"), at.clone());
        error.unknown = Some(name.clone());
        return Err(error);
    };
    if ty.params().len() != params.len() {
        let message = format!("`{name}` is {}, and takes {} here", code::signature(ty), params.len());
        return Err(wrong(&parsed.text, message, at.clone()));
    }
    let mut compiler = Compiler {
        parsed,
        view,
        address,
        input: Place::Global(view.globals),
        // They are the first variables.
        params: 0,
        variables: params.iter().map(|(name, _)| name.clone()).zip(ty.params().iter().copied()).collect(),
        returns: Some(ty.results()),
        text_bytes: 0,
        code: Vec::new(),
    };
    for statement in body {
        compiler.statement(statement)?;
    }
    compiler.zeros(ty.results(), at)?;
    compiler.code.push(I::End);
    Ok(Added {
        name: given_name(module, import),
        params: ty.params().to_vec(),
        results: ty.results().to_vec(),
        body: compiler.body(params.len())?,
    })
}

struct Compiler<'p> {
    parsed: &'p Parsed,
    view: &'p View,
    /// The type of addresses.
    address: ValType,
    input: Place,
    /// The local that is the first variable.
    params: u32,
    variables: Vec<(String, ValType)>,
    /// What is returned by what is in the place of an import.
    returns: Option<&'p [ValType]>,
    text_bytes: usize,
    code: Vec<I<'static>>,
}

impl Compiler<'_> {
    fn wrong(&self, message: impl Into<String>, at: &Range<usize>) -> RecipeError {
        wrong(&self.parsed.text, message, at.clone())
    }

    /// The function's body, if so many of the variables are parameters.
    fn body(&self, params: usize) -> Result<Function, RecipeError> {
        let unusable = |name| self.wrong(format!("`{name}` has a type that can't be encoded"), &(0..0));
        code::function(&self.variables[params..], &self.code).map_err(unusable)
    }

    /// Leaves a zero of each type.
    fn zeros(&mut self, types: &[ValType], at: &Range<usize>) -> Result<(), RecipeError> {
        for &ty in types {
            let zero = code::constant(0, ty).ok_or_else(|| self.wrong(format!("{ty} has no value to return"), at))?;
            self.code.push(zero);
        }
        Ok(())
    }

    fn return_(&mut self, at: &Range<usize>, value: Option<&Expression>) -> Result<(), RecipeError> {
        match (self.returns, value) {
            (None, None) => self.code.push(I::I32Const(0)),
            (Some(types), None) => self.zeros(types, at)?,
            (Some(&[ty]), Some(value)) => self.expression(value, ty)?,
            (Some(types), Some(value)) => {
                return Err(self.wrong(format!("{} values are returned here, not one", types.len()), &value.at));
            }
            // Of the recipe itself -1 is `reject`.
            (None, Some(value)) => self.expression(value, ValType::I32)?,
        }
        self.code.push(I::Return);
        Ok(())
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
            Statement::Return(at, value) => self.return_(at, value.as_ref())?,
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
                None if !code::is_defaultable(ty) => {
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
                code::signature(ty),
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
            Builtin::Copy => {
                arguments.iter().try_for_each(|argument| self.expression(argument, self.address))?;
                self.copy();
            }
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
        match &what.kind {
            Kind::Input => {
                self.expression(to, self.address)?;
                self.code.extend([self.input.get(0), self.input.get(1)]);
                self.copy();
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

    fn memory(&self) -> u32 {
        self.view.memory.map_or(0, |(memory, _)| memory)
    }

    fn copy(&mut self) {
        self.code.push(I::MemoryCopy { src_mem: self.memory(), dst_mem: self.memory() });
    }

    fn memory_arg(&self, offset: u64) -> MemArg {
        MemArg { offset, align: 0, target: MemArgTarget::Memory(self.memory()), ordering: None }
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
                let constant =
                    code::constant(*value, ty).ok_or_else(|| self.wrong(format!("{value} is no {ty}"), at))?;
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
            Kind::Input => self.code.push(self.input.get(0)),
            Kind::Len => self.code.push(self.input.get(1)),
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
