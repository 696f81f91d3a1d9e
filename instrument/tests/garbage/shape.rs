//! A module taken apart far enough that it can be changed and stay valid: functions as lists of operators, the rest as
//! bytes.

use std::borrow::Cow;
use std::rc::Rc;

use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{BlockType, Encode, Instruction, ValType};
use wasmparser::{BinaryReader, CompositeInnerType, Operator, OperatorsReader, Parser, Payload, TypeRef};

use super::bytes::leb;

/// A section as it is in the file.
pub(crate) struct Section<'a> {
    pub(crate) id: u8,
    pub(crate) bytes: &'a [u8],
}

/// The sections of whatever it is, as far as they can be told apart.
pub(crate) fn sections(wasm: &[u8]) -> impl Iterator<Item = Section<'_>> {
    let mut at = 8;
    std::iter::from_fn(move || {
        let mut reader = BinaryReader::new(wasm.get(at..)?, 0);
        let id = reader.read_u8().ok()?;
        let size = reader.read_var_u32().ok()? as usize;
        let bytes = reader.read_bytes(size).ok()?;
        at += reader.current_position();
        Some(Section { id, bytes })
    })
}

/// Parameters and results.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Signature {
    pub(crate) params: Vec<ValType>,
    pub(crate) results: Vec<ValType>,
}

/// An operator: those that open, close or leave blocks in a form that can be changed, all others as bytes.
#[derive(Clone, Debug)]
pub(crate) enum Op<'a> {
    Plain(Cow<'a, [u8]>),
    Control(Instruction<'a>),
}

/// A function body.
#[derive(Clone, Debug)]
pub(crate) struct Body<'a> {
    /// Groups of locals, without parameters.
    pub(crate) locals: Vec<(u32, ValType)>,
    /// With the last `end`.
    pub(crate) code: Vec<Op<'a>>,
}

/// A module taken apart. Cheap to clone: bodies are shared until they change.
#[derive(Clone)]
pub(crate) struct Shape<'a> {
    wasm: &'a [u8],
    /// Per type index; `None` for structs and arrays.
    pub(crate) types: Vec<Option<Signature>>,
    /// How many of them the module had.
    types_before: usize,
    /// Types of the imported functions, as type indices.
    pub(crate) imported: Vec<u32>,
    /// The defined functions, each with its type's index.
    pub(crate) functions: Vec<(u32, Rc<Body<'a>>)>,
    pub(crate) tags: Vec<u32>,
    pub(crate) has_memory: bool,
}

impl<'a> Shape<'a> {
    /// Takes a valid module apart.
    pub(crate) fn new(wasm: &'a [u8]) -> Shape<'a> {
        let mut shape = Shape {
            wasm,
            types: Vec::new(),
            types_before: 0,
            imported: Vec::new(),
            functions: Vec::new(),
            tags: Vec::new(),
            has_memory: false,
        };
        let mut functions = Vec::new();
        for payload in Parser::new(0).parse_all(wasm) {
            match payload.unwrap() {
                Payload::TypeSection(section) => {
                    for ty in section.into_iter().flat_map(|group| group.unwrap().into_types()) {
                        shape.types.push(match ty.composite_type.inner {
                            CompositeInnerType::Func(ty) => {
                                Some(Signature { params: types(ty.params()), results: types(ty.results()) })
                            }
                            _ => None,
                        });
                    }
                }
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        match import.unwrap().ty {
                            TypeRef::Func(ty) => shape.imported.push(ty),
                            TypeRef::Memory(_) => shape.has_memory = true,
                            TypeRef::Tag(tag) => shape.tags.push(tag.func_type_idx),
                            _ => {}
                        }
                    }
                }
                Payload::MemorySection(section) => shape.has_memory |= section.count() > 0,
                Payload::TagSection(section) => {
                    shape.tags.extend(section.into_iter().map(|tag| tag.unwrap().func_type_idx));
                }
                Payload::FunctionSection(section) => functions.extend(section.into_iter().map(Result::unwrap)),
                Payload::CodeSectionEntry(body) => {
                    let ty = functions[shape.functions.len()];
                    shape.functions.push((ty, Rc::new(Body::new(wasm, &body))));
                }
                _ => {}
            }
        }
        shape.types_before = shape.types.len();
        shape
    }

    pub(crate) fn signature(&self, ty: u32) -> Option<&Signature> {
        self.types.get(ty as usize)?.as_ref()
    }

    /// Parameters and results of a block.
    pub(crate) fn block(&self, ty: BlockType) -> Signature {
        match ty {
            BlockType::Empty => Signature::default(),
            BlockType::Result(ty) => Signature { params: Vec::new(), results: vec![ty] },
            BlockType::FunctionType(index) => self.signature(index).cloned().unwrap_or_default(),
        }
    }

    /// The index of a type with this signature, added if there is none.
    pub(crate) fn add_type(&mut self, signature: Signature) -> u32 {
        let known = self.types.iter().position(|ty| ty.as_ref() == Some(&signature));
        known.unwrap_or_else(|| {
            self.types.push(Some(signature));
            self.types.len() - 1
        }) as u32
    }

    /// Puts the module together.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = self.wasm[..8].to_vec();
        for Section { id, bytes } in sections(self.wasm) {
            let content = match id {
                1 => Cow::Owned(self.type_section(bytes)),
                3 => Cow::Owned(self.function_section()),
                10 => Cow::Owned(self.code_section()),
                _ => Cow::Borrowed(bytes),
            };
            out.push(id);
            content[..].encode(&mut out); // with its length
        }
        out
    }

    fn type_section(&self, old: &[u8]) -> Vec<u8> {
        let added = &self.types[self.types_before..];
        let mut reader = BinaryReader::new(old, 0);
        let groups = reader.read_var_u32().unwrap() as usize;
        let mut out = Vec::new();
        leb((groups + added.len()) as u64, 0, &mut out);
        out.extend(&old[reader.current_position()..]);
        for Signature { params, results } in added.iter().flatten() {
            out.push(0x60);
            params.encode(&mut out);
            results.encode(&mut out);
        }
        out
    }

    fn function_section(&self) -> Vec<u8> {
        let mut out = Vec::new();
        leb(self.functions.len() as u64, 0, &mut out);
        for (ty, _) in &self.functions {
            ty.encode(&mut out);
        }
        out
    }

    fn code_section(&self) -> Vec<u8> {
        let mut out = Vec::new();
        leb(self.functions.len() as u64, 0, &mut out);
        let mut code = Vec::new();
        for (_, body) in &self.functions {
            code.clear();
            body.encode(&mut code);
            code[..].encode(&mut out);
        }
        out
    }
}

impl<'a> Body<'a> {
    fn new(wasm: &'a [u8], body: &wasmparser::FunctionBody<'a>) -> Body<'a> {
        let mut locals = body.get_locals_reader().unwrap();
        let groups: Vec<_> = (0..locals.get_count()).map(|_| locals.read().unwrap()).collect();
        let mut reader = OperatorsReader::new(locals.get_binary_reader());
        let mut code = Vec::new();
        while !reader.eof() {
            let start = reader.original_position() as usize;
            let operator = reader.read().unwrap();
            let bytes = &wasm[start..reader.original_position() as usize];
            code.push(match operator {
                Operator::Block { .. }
                | Operator::Loop { .. }
                | Operator::If { .. }
                | Operator::Else
                | Operator::End
                | Operator::Try { .. }
                | Operator::Catch { .. }
                | Operator::CatchAll
                | Operator::Delegate { .. }
                | Operator::Rethrow { .. }
                | Operator::TryTable { .. }
                | Operator::Br { .. }
                | Operator::BrIf { .. }
                | Operator::BrTable { .. }
                | Operator::BrOnNull { .. }
                | Operator::BrOnNonNull { .. }
                | Operator::BrOnCast { .. }
                | Operator::BrOnCastFail { .. } => Op::Control(RoundtripReencoder.instruction(operator).unwrap()),
                _ => Op::Plain(Cow::Borrowed(bytes)),
            });
        }
        let locals = groups.into_iter().map(|(count, ty)| (count, RoundtripReencoder.val_type(ty).unwrap())).collect();
        Body { locals, code }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        leb(self.locals.len() as u64, 0, out);
        for (count, ty) in &self.locals {
            count.encode(out);
            ty.encode(out);
        }
        for op in &self.code {
            match op {
                Op::Plain(bytes) => out.extend(&bytes[..]),
                Op::Control(instruction) => instruction.encode(out),
            }
        }
    }
}

fn types(of: &[wasmparser::ValType]) -> Vec<ValType> {
    of.iter().map(|&ty| RoundtripReencoder.val_type(ty).unwrap()).collect()
}

impl Op<'_> {
    pub(crate) fn opens(&self) -> bool {
        self.block_type().is_some()
    }

    pub(crate) fn closes(&self) -> bool {
        matches!(self, Op::Control(Instruction::End | Instruction::Delegate(_)))
    }

    /// The type of the block that it opens.
    pub(crate) fn block_type(&self) -> Option<BlockType> {
        match self {
            Op::Control(
                Instruction::Block(ty)
                | Instruction::Loop(ty)
                | Instruction::If(ty)
                | Instruction::Try(ty)
                | Instruction::TryTable(ty, _),
            ) => Some(*ty),
            _ => None,
        }
    }

    /// The depths of labels it has.
    pub(crate) fn change_labels(&mut self, change: impl Fn(u32) -> u32) {
        let Op::Control(instruction) = self else { return };
        match instruction {
            Instruction::Br(label)
            | Instruction::BrIf(label)
            | Instruction::BrOnNull(label)
            | Instruction::BrOnNonNull(label)
            | Instruction::Delegate(label)
            | Instruction::Rethrow(label) => *label = change(*label),
            Instruction::BrOnCast { relative_depth, .. } | Instruction::BrOnCastFail { relative_depth, .. } => {
                *relative_depth = change(*relative_depth);
            }
            Instruction::BrTable(labels, default) => {
                labels.to_mut().iter_mut().for_each(|label| *label = change(*label));
                *default = change(*default);
            }
            Instruction::TryTable(_, catches) => {
                use wasm_encoder::Catch::{All, AllRef, One, OneRef};
                for catch in catches.to_mut() {
                    let (One { label, .. } | OneRef { label, .. } | All { label } | AllRef { label }) = catch;
                    *label = change(*label);
                }
            }
            _ => {}
        }
    }
}
