//! Appends the bodies that a module needs: those of its imports, whom they call, and what they need of the guest; and writes what takes
//! the place of a call.

use anyhow::{Result, anyhow, bail};
use wasm_encoder::reencode::{Reencode, utils};
use wasm_encoder::{BlockType, Encode, Instruction as I, MemArg};
use wasmparser::{FuncType, Operator};

use super::assembled::Assembly;
use super::{Assembled, Imports, OWN};
use crate::added::Added;
use crate::annex::Helper;
use crate::code::Code;
use crate::plan::Draft;
use crate::survey::Survey;

/// Where the protocol's functions are among those that are appended.
#[derive(Clone, Copy)]
pub(crate) struct Linked {
    /// The index of the first.
    first: u32,
    /// Whether draws are recorded.
    pub(crate) recording: bool,
    /// Where the stream's area begins in the injected memory.
    pub(crate) start: u32,
}

/// Calls of short functions are replaced by their bodies up to this site: more would make large modules much larger.
const INLINED_SITES_MAX: u32 = 1024;
/// The first of the scratch locals that an inlined body has, by number. Those of probes come before.
const INLINED_LOCALS: u32 = 64;

impl Linked {
    pub(crate) fn new(first: u32, recording: bool, start: u32) -> Linked {
        Linked { first, recording, start }
    }

    /// How many functions there are: the bodies, then one to be exported for each import.
    pub(crate) fn count(self, imports: &Imports) -> u32 {
        (self.bodies(imports).len() + imports.all().len()) as u32
    }

    /// Which of the assembled functions are there, ascending.
    fn bodies(self, imports: &Imports) -> &[u32] {
        if self.recording { &imports.recording } else { &imports.reading }
    }

    /// The function index of an assembled function, which is there.
    fn index(self, imports: &Imports, body: u32) -> u32 {
        self.first + self.bodies(imports).binary_search(&body).expect("all that is called was put in") as u32
    }

    /// Writes what takes the place of a call of an imported function, at a call site; `false` if that is none of the protocol's.
    pub(crate) fn call(
        self,
        survey: &Survey<'_>,
        draft: &mut Draft,
        function: u32,
        site: u32,
        tail: bool,
    ) -> Result<bool> {
        let (imports, all) = (&survey.protocol, Assembled::get());
        let Some(body) = imports.body(function) else { return Ok(false) };
        if let Some(short) = all.inlined(body).filter(|_| !tail && (1..=INLINED_SITES_MAX).contains(&site))
            && let Some(locals) = locals(short, draft)?
        {
            let link = Link { all, imports, linked: self, memory: survey.memories };
            link.inline(short, &locals, site, &mut draft.out.inserted)?;
            return Ok(true);
        }
        let mut code = Code::new(&mut draft.out.inserted, survey.memories);
        code.i32_const(site.cast_signed());
        let index = self.index(imports, body);
        if tail {
            code.return_call(index)
        } else {
            code.call(index)
        };
        Ok(true)
    }

    /// One of the functions that probes call.
    pub(crate) fn own(self, imports: &Imports, name: &str) -> u32 {
        self.index(imports, Assembled::get().export(name).expect("it is one of them"))
    }

    /// The imports' names, each once, and the functions to export for them.
    pub(crate) fn exports(self, imports: &Imports) -> impl Iterator<Item = (&'static str, u32)> {
        let first = self.first + self.bodies(imports).len() as u32;
        let mut seen = std::collections::BTreeSet::new();
        let all = (first..).zip(imports.all()).filter(move |&(_, &(_, body))| seen.insert(body));
        all.map(|(index, &(_, body))| (Assembled::get().name(body), index))
    }

    /// The functions' types, in order.
    pub(crate) fn types(self, imports: &Imports) -> Vec<crate::trace::Types> {
        let all = Assembled::get();
        let bodies = self.bodies(imports).iter().map(|&body| parts(all.ty(body)));
        let exported = imports.all().iter().map(|&(_, body)| {
            let (params, results) = parts(all.ty(body));
            (&params[..params.len() - 1], results)
        });
        bodies.chain(exported).collect()
    }

    /// The functions' bodies, in order, each with its size before it.
    pub(crate) fn code(self, survey: &Survey<'_>, added: &Added) -> Result<Vec<Vec<u8>>> {
        let imports = &survey.protocol;
        let all = Assembled::get();
        let mut bodies = Vec::new();
        for &body in self.bodies(imports) {
            let code = match all.imports.get(body as usize) {
                Some((name, _)) => of_guest(name, survey, added)?,
                None => Link { all, imports, linked: self, memory: survey.memories }
                    .body(&all.functions[body as usize - all.imports.len()])?,
            };
            bodies.push(code);
        }
        for &(_, body) in imports.all() {
            let mut code = vec![0]; // no locals
            let mut sink = Code::new(&mut code, survey.memories);
            for param in 0..all.ty(body).params().len() as u32 - 1 {
                sink.local_get(param);
            }
            sink.i32_const(0).call(self.index(imports, body)).end();
            bodies.push(code);
        }
        let sized = |code: Vec<u8>| {
            let mut sized = Vec::with_capacity(code.len() + 5);
            code.encode(&mut sized); // with its length
            sized
        };
        Ok(bodies.into_iter().map(sized).collect())
    }
}

impl Imports {
    /// Finds out which bodies are needed.
    pub(super) fn close(&mut self) {
        let own: Vec<u32> = if self.draw {
            OWN.map(|name| Assembled::get().export(name).expect("it is there")).into()
        } else {
            Vec::new()
        };
        let imported = self.functions.iter().map(|&(_, body)| body);
        self.reading = closure(imported.clone().collect());
        self.recording = closure(imported.chain(own).collect());
    }
}

/// These functions and all that they reach, ascending.
fn closure(mut todo: Vec<u32>) -> Vec<u32> {
    let all = Assembled::get();
    let mut found = std::collections::BTreeSet::new();
    while let Some(body) = todo.pop() {
        if found.insert(body) {
            todo.extend(all.callees(body));
        }
    }
    found.into_iter().collect()
}

fn parts(ty: &'static FuncType) -> crate::trace::Types {
    (ty.params(), ty.results())
}

/// One of the functions that are about the guest: by what its memory and the host are like.
fn of_guest(name: &str, survey: &Survey<'_>, added: &Added) -> Result<Vec<u8>> {
    let mut bytes = vec![0]; // no locals
    let injected = survey.memories;
    let guest = survey.memory_types.first();
    let wide = guest.is_some_and(|guest| guest.memory64);
    let mut code = Code::new(&mut bytes, injected);
    let beyond = code.cell(0, 0);
    let cell = MemArg { target: wasm_encoder::MemArgTarget::Memory(0), ..beyond };
    let address = |code: &mut Code<'_>, param| {
        code.local_get(param);
        if wide {
            code.i64_extend_i32_u();
        }
    };
    let annex = added.annex.filter(|annex| annex.is(survey, 0));
    let looked_at = |code: &mut Code<'_>, helper| {
        if let Some(function) = annex.and_then(|annex| annex.index(survey, helper)) {
            code.call(function);
        }
    };
    match (name, guest) {
        ("stop", _) => {
            if let Some(traps) = added.traps {
                code.i32_const(0).call_indirect(traps.table, added.plain_type);
            }
            code.unreachable();
        }
        ("size", None) => _ = code.i64_const(0),
        ("size", Some(guest)) => {
            code.memory_size(0);
            if !wide {
                code.i64_extend_i32_u();
            }
            code.i64_const(guest.page_size_log2.unwrap_or(16).into()).i64_shl();
        }
        ("copy_out", None) => {
            // Nothing can be copied to address 0; all else is out of bounds.
            code.local_get(0).local_get(2).i32_or().if_(BlockType::Empty);
            code.i32_const(-1).i64_load(beyond).drop().end();
        }
        // Bounds were checked before.
        (_, None) => _ = code.unreachable(),
        ("load", _) => {
            address(&mut code, 0);
            code.i32_load(cell);
        }
        ("load8", _) => {
            address(&mut code, 0);
            code.i32_load8_u(MemArg { align: 0, ..cell });
        }
        ("store", _) => {
            address(&mut code, 0);
            code.local_get(1).i32_store8(cell);
        }
        ("copy_in", _) => {
            code.local_get(0);
            address(&mut code, 1);
            code.local_get(2);
            looked_at(&mut code, Helper::Range { wide: [false, wide, false], first: false, second: true });
            code.memory_copy(injected, 0);
        }
        ("copy_out", _) => {
            address(&mut code, 0);
            code.local_get(1).local_get(2);
            looked_at(&mut code, Helper::Range { wide: [wide, false, false], first: true, second: false });
            code.memory_copy(0, injected);
        }
        _ => bail!("needs the unknown function {name}"),
    }
    code.end();
    Ok(bytes)
}

/// What an assembled function becomes in a module.
struct Link<'a> {
    all: &'static Assembled,
    imports: &'a Imports,
    linked: Linked,
    /// The injected memory.
    memory: u32,
}

impl Reencode for Link<'_> {
    type Error = std::convert::Infallible;

    fn function_index(&mut self, function: u32) -> Result<u32, wasm_encoder::reencode::Error> {
        Ok(self.linked.index(self.imports, function))
    }

    fn memory_index(&mut self, _: u32) -> Result<u32, wasm_encoder::reencode::Error> {
        Ok(self.memory)
    }

    fn mem_arg(&mut self, arg: wasmparser::MemArg) -> Result<MemArg, wasm_encoder::reencode::Error> {
        let arg = utils::mem_arg(self, arg)?;
        Ok(MemArg { offset: arg.offset + u64::from(self.linked.start), ..arg })
    }
}

impl Link<'_> {
    /// The body of a function.
    fn body(&mut self, function: &Assembly) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let locals: Vec<_> = function.body.get_locals_reader()?.into_iter().collect::<wasmparser::Result<_>>()?;
        locals.len().encode(&mut bytes);
        for (count, ty) in locals {
            count.encode(&mut bytes);
            crate::types::encoded(ty)?.encode(&mut bytes);
        }
        self.operators(function, &mut bytes, |_, _, _| false)?;
        Ok(bytes)
    }

    /// Writes a short function in the place of a call. Its parameters without the last, which is `site`, lie on the stack; `locals` are
    /// what its locals become.
    ///
    /// Nothing is cleared, so such a function sets each of its locals before it uses it.
    fn inline(mut self, function: &Assembly, locals: &[u32], site: u32, bytes: &mut Vec<u8>) -> Result<()> {
        let own = function.ty.params().len() - 1;
        for &param in locals[..own].iter().rev() {
            I::LocalSet(param).encode(bytes);
        }
        let result = function
            .ty
            .results()
            .first()
            .map_or(Ok(BlockType::Empty), |&ty| anyhow::Ok(BlockType::Result(crate::types::encoded(ty)?)))?;
        I::Block(result).encode(bytes);
        self.operators(function, bytes, |link, (operator, depth), bytes| {
            match *operator {
                Operator::LocalGet { local_index } if local_index as usize == own => {
                    I::I32Const(site.cast_signed()).encode(bytes);
                }
                Operator::LocalGet { local_index } => I::LocalGet(locals[local_index as usize]).encode(bytes),
                Operator::LocalSet { local_index } => I::LocalSet(locals[local_index as usize]).encode(bytes),
                Operator::LocalTee { local_index } => I::LocalTee(locals[local_index as usize]).encode(bytes),
                Operator::Return => I::Br(depth).encode(bytes),
                Operator::ReturnCall { function_index } => {
                    I::Call(link.linked.index(link.imports, function_index)).encode(bytes);
                    I::Br(depth).encode(bytes);
                }
                _ => return false,
            }
            true
        })
    }

    /// Writes a function's operators, those of its end included. `instead` is asked about each, with the number of blocks that are open
    /// around it, and may write something else.
    fn operators(
        &mut self,
        function: &Assembly,
        bytes: &mut Vec<u8>,
        instead: impl Fn(&Self, (&Operator<'_>, u32), &mut Vec<u8>) -> bool,
    ) -> Result<()> {
        let mut operators = function.body.get_operators_reader()?;
        let mut depth = 0_u32;
        while !operators.eof() {
            let operator = operators.read()?;
            match operator {
                Operator::GlobalGet { global_index } if global_index == self.all.recording => {
                    // What follows is an `if` without `else`, out of which nothing branches.
                    operators.read()?;
                    if self.linked.recording {
                        depth += 1;
                        I::Block(BlockType::Empty).encode(bytes);
                    } else {
                        skip_block(&mut operators)?;
                    }
                    continue;
                }
                Operator::GlobalGet { .. } => {
                    I::I32Const(self.linked.start.cast_signed()).encode(bytes);
                    continue;
                }
                Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => depth += 1,
                Operator::End => depth = depth.saturating_sub(1),
                _ => {}
            }
            if !instead(self, (&operator, depth), bytes) {
                let instruction = self.instruction(operator);
                instruction.map_err(|error| anyhow!("failed to link a body: {error}"))?.encode(bytes);
            }
        }
        Ok(())
    }
}

/// Scratch locals for the parameters and locals of a function that is inlined; none for the call site. `None` if there is no room.
fn locals(function: &Assembly, draft: &mut Draft) -> Result<Option<Vec<u32>>> {
    let mut types = function.ty.params().to_vec();
    let site = types.len() - 1;
    for group in function.body.get_locals_reader()? {
        let (count, ty) = group?;
        types.extend(std::iter::repeat_n(ty, count as usize));
    }
    let local = |(place, &ty)| {
        if place == site { Some(u32::MAX) } else { draft.scratch(ty, INLINED_LOCALS + place as u32).ok() }
    };
    Ok(types.iter().enumerate().map(local).collect())
}

/// Skips to behind the end of a block that was just opened.
fn skip_block(operators: &mut wasmparser::OperatorsReader<'_>) -> Result<()> {
    let mut open = 1;
    while open > 0 {
        match operators.read()? {
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => open += 1,
            Operator::End => open -= 1,
            _ => {}
        }
    }
    Ok(())
}
