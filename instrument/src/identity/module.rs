//! Reads a module as far as it matters for who a function is.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use wasmparser::{
    BinaryReader, ConstExpr, DataKind, Element, ElementItems, ElementKind, ExternalKind, FuncType, FunctionBody, Name,
    NameSectionReader, Operator, Parser, Payload, TypeRef,
};

use super::body::{Body, Context, Slot, SlotKind, read_body};
use super::hash::{Hash, hash};
use super::memory::Memory;
use super::plain::plain_name;
use super::types::Types;
use crate::module::features::{INVALID, features};
use crate::module::sections::custom_sections;
use crate::module::survey::Survey;

/// A module taken apart.
#[derive(Default)]
pub(super) struct Module {
    /// By function index.
    pub(super) functions: Vec<Function>,
    /// By global index.
    pub(super) globals: Vec<Global>,
    /// Memory 0 at the start.
    pub(super) memory: Memory,
    /// Table 0 at the start: function by place.
    pub(super) table: BTreeMap<u64, u32>,
    /// By index of the element segment: its functions; `None` for what is no function.
    pub(super) elements: Vec<Vec<Option<u32>>>,
    /// By index of the data segment: hash of its content.
    pub(super) data: Vec<Hash>,
}

/// How names of source files end.
const SOURCES: [&str; 12] = [".c", ".h", ".cc", ".hh", ".cpp", ".hpp", ".cxx", ".inc", ".m", ".mm", ".d", ".zig"];

/// The longest name of a source file, in bytes.
const SOURCE_BYTES_MAX: u64 = 1 << 8;

impl Module {
    /// Whether a slot of a function is a line or a column in the source code, which changes with what is put before.
    ///
    /// In C, a line is what follows the name of a source file: `assert` calls `__assert_fail("x > 0", "a.c", 17, "f")`,
    /// and other macros do the like. In AssemblyScript, it is an argument of `abort(message, file, line, column)`.
    pub(super) fn is_line(&self, slots: &[Slot], slot: usize) -> bool {
        let is_word = |slot: usize| slots.get(slot).is_some_and(|slot| slot.kind == SlotKind::Word);
        let is_abort = |slot: usize| match slots.get(slot) {
            Some(Slot { kind: SlotKind::Function, value }) => {
                self.functions.get(*value as usize).is_some_and(|callee| callee.name.as_deref() == Some("env.abort"))
            }
            _ => false,
        };
        is_word(slot)
            && (slot > 0 && is_word(slot - 1) && self.is_source(slots[slot - 1].value)
                || is_abort(slot + 1)
                || is_word(slot + 1) && is_abort(slot + 2))
    }

    /// Whether the name of a source file is at an address, with a zero at its end.
    fn is_source(&self, address: u64) -> bool {
        if !self.memory.objects().contains(&address) {
            return false;
        }
        let text = self.memory.read(address, SOURCE_BYTES_MAX);
        let text = text.split(|&byte| byte == 0).next().and_then(|text| str::from_utf8(text).ok());
        text.is_some_and(|text| SOURCES.iter().any(|end| text.len() > end.len() && text.ends_with(end)))
    }
}

/// A function as far as the next build has to know it.
pub(super) struct Function {
    /// The name it was given, if any: raw, and without hashes. For an import `module.name`.
    pub(super) name: Option<String>,
    pub(super) plain: Option<String>,
    pub(super) imported: bool,
    pub(super) body: Body,
}

/// A global.
pub(super) struct Global {
    /// Its type, and where it is imported from.
    pub(super) ty: Hash,
    pub(super) mutable: bool,
    pub(super) name: Option<String>,
    /// The constant it starts with.
    pub(super) init: Option<u64>,
}

/// What is collected until bodies can be read.
#[derive(Default)]
struct Reader<'a> {
    module: Module,
    types: Types,
    signatures: Vec<Option<FuncType>>,
    /// Type indices of the functions.
    declared: Vec<u32>,
    tags: Vec<Hash>,
    tables: u32,
    /// Size of memory 0 in bytes, and whether its addresses are 64 bits wide.
    memory: Option<(u64, bool)>,
    segments: Vec<(u64, Vec<u8>)>,
    bodies: Vec<FunctionBody<'a>>,
    imports: Vec<(&'a str, &'a str)>,
}

/// Reads a module that was surveyed, that is, whose sections are valid; bodies are not looked into by the survey.
pub(super) fn read_module(survey: &Survey<'_>) -> Result<Module> {
    let mut reader = Reader::default();
    let mut parser = Parser::new(0);
    parser.set_features(features());
    for payload in parser.parse_all(survey.wasm) {
        reader.payload(payload.context(INVALID)?).context(INVALID)?;
    }
    reader.name_globals(survey.wasm);
    reader.finish(survey)
}

impl<'a> Reader<'a> {
    fn payload(&mut self, payload: Payload<'a>) -> wasmparser::Result<()> {
        match payload {
            Payload::TypeSection(section) => {
                for group in section {
                    let group = group?;
                    self.signatures.extend(group.types().map(|ty| match &ty.composite_type.inner {
                        wasmparser::CompositeInnerType::Func(ty) => Some(ty.clone()),
                        _ => None,
                    }));
                    self.types.push(group);
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import?;
                    self.import(import.module, import.name, import.ty);
                }
            }
            Payload::FunctionSection(section) => {
                for ty in section {
                    self.declared.push(ty?);
                }
            }
            Payload::TableSection(section) => self.tables += section.count(),
            Payload::MemorySection(section) => {
                for memory in section {
                    let memory = memory?;
                    self.memory(memory);
                }
            }
            Payload::TagSection(section) => {
                for tag in section {
                    let tag = tag?.func_type_idx;
                    self.tag(tag, "", "");
                }
            }
            Payload::GlobalSection(section) => {
                for global in section {
                    let global = global?;
                    let ty = self.value_type(global.ty.content_type);
                    self.module.globals.push(Global {
                        ty: hash(&[b"global", &ty, &[u8::from(global.ty.mutable)]]),
                        mutable: global.ty.mutable,
                        name: None,
                        init: constant(&global.init_expr),
                    });
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    let export = export?;
                    if export.kind == ExternalKind::Global
                        && let Some(global) = self.module.globals.get_mut(export.index as usize)
                    {
                        global.name.get_or_insert_with(|| export.name.to_owned());
                    }
                }
            }
            Payload::ElementSection(section) => {
                for element in section {
                    self.element(element?)?;
                }
            }
            Payload::DataSection(section) => {
                for data in section {
                    let data = data?;
                    self.module.data.push(hash(&[b"data", data.data]));
                    if let DataKind::Active { memory_index: 0, offset_expr } = &data.kind
                        && let Some(start) = constant(offset_expr)
                    {
                        self.segments.push((start, data.data.to_vec()));
                    }
                }
            }
            Payload::CodeSectionEntry(body) => self.bodies.push(body),
            _ => {}
        }
        Ok(())
    }

    fn import(&mut self, module: &'a str, name: &'a str, ty: TypeRef) {
        match ty {
            TypeRef::Func(ty) | TypeRef::FuncExact(ty) => {
                self.declared.push(ty);
                self.imports.push((module, name));
            }
            TypeRef::Table(_) => self.tables += 1,
            TypeRef::Memory(ty) => self.memory(ty),
            TypeRef::Global(ty) => {
                let value = self.value_type(ty.content_type);
                self.module.globals.push(Global {
                    ty: hash(&[b"import", &value, module.as_bytes(), name.as_bytes()]),
                    mutable: ty.mutable,
                    name: Some(name.to_owned()),
                    init: None,
                });
            }
            TypeRef::Tag(ty) => self.tag(ty.func_type_idx, module, name),
        }
    }

    fn memory(&mut self, ty: wasmparser::MemoryType) {
        let page = ty.page_size_log2.unwrap_or(16).min(16);
        self.memory.get_or_insert((ty.initial.saturating_mul(1 << page), ty.memory64));
    }

    fn tag(&mut self, ty: u32, module: &str, name: &str) {
        let mut bytes = Vec::new();
        self.types.index(&mut bytes, ty);
        self.tags.push(hash(&[b"tag", &bytes, module.as_bytes(), name.as_bytes()]));
    }

    fn value_type(&self, ty: wasmparser::ValType) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.types.val_type(&mut bytes, ty);
        bytes
    }

    fn element(&mut self, element: Element<'_>) -> wasmparser::Result<()> {
        let mut functions = Vec::new();
        match element.items {
            ElementItems::Functions(items) => {
                for function in items {
                    functions.push(Some(function?));
                }
            }
            ElementItems::Expressions(_, items) => {
                for item in items {
                    functions.push(match item?.get_operators_reader().read()? {
                        Operator::RefFunc { function_index } => Some(function_index),
                        _ => None,
                    });
                }
            }
        }
        if let ElementKind::Active { table_index: None | Some(0), offset_expr } = &element.kind
            && let Some(start) = constant(offset_expr)
        {
            let places = (start..).zip(&functions);
            self.module.table.extend(places.filter_map(|(place, function)| Some((place, (*function)?))));
        }
        self.module.elements.push(functions);
        Ok(())
    }

    /// Takes names of globals from the name section, as far as it is well-formed.
    fn name_globals(&mut self, wasm: &[u8]) {
        for (_, content) in custom_sections(wasm).filter(|(name, _)| *name == "name") {
            for subsection in NameSectionReader::new(BinaryReader::new(content, 0)).map_while(Result::ok) {
                let Name::Global(map) = subsection else { continue };
                for naming in map.into_iter().map_while(Result::ok) {
                    if let Some(global) = self.module.globals.get_mut(naming.index as usize) {
                        global.name.get_or_insert_with(|| naming.name.to_owned());
                    }
                }
            }
        }
    }

    fn finish(mut self, survey: &Survey<'_>) -> Result<Module> {
        let (bytes, wide) = self.memory.unwrap_or((0, false));
        for index in 0..self.imports.len() {
            self.push_import(index);
        }
        let context = Context { types: &self.types, tags: &self.tags, wide };
        let defined = self.declared.get(self.imports.len()..).unwrap_or_default();
        for ((index, &ty), body) in (self.imports.len()..).zip(defined).zip(&self.bodies) {
            let ty = self.signatures.get(ty as usize).and_then(Option::as_ref).context("a function without a type")?;
            let name = survey.names.get(index).cloned().flatten();
            let plain = name.as_deref().map(|name| plain_name(name).into_owned());
            let body = read_body(&context, ty, body).context(INVALID)?;
            self.module.functions.push(Function { name, plain, imported: false, body });
        }
        let mut memory = Memory::new(self.segments, if wide { 8 } else { 4 }, bytes);
        memory.find_starts(self.module.functions.iter().flat_map(|function| {
            let slots = function.body.slots.iter();
            slots.filter(|slot| is_address(slot.kind)).map(|slot| slot.value)
        }));
        self.module.memory = memory;
        Ok(self.module)
    }

    fn push_import(&mut self, index: usize) {
        let (module, name) = self.imports[index];
        let mut ty = Vec::new();
        self.types.index(&mut ty, self.declared[index]);
        let shape = hash(&[b"import", module.as_bytes(), name.as_bytes(), &ty]);
        let name = Some(format!("{module}.{name}"));
        let body = Body { shape, signature: hash(&[b"signature", &ty]), slots: Vec::new() };
        self.module.functions.push(Function { plain: name.clone(), name, imported: true, body });
    }
}

/// Whether such a number can be an address in memory.
pub(super) fn is_address(kind: SlotKind) -> bool {
    matches!(kind, SlotKind::Word | SlotKind::Address | SlotKind::Offset)
}

/// The value of an expression that is one constant.
fn constant(expression: &ConstExpr<'_>) -> Option<u64> {
    let mut operators = expression.get_operators_reader();
    let value = match operators.read().ok()? {
        Operator::I32Const { value } => u64::from(value.cast_unsigned()),
        Operator::I64Const { value } => value.cast_unsigned(),
        Operator::F32Const { value } => u64::from(value.bits()),
        Operator::F64Const { value } => value.bits(),
        _ => return None,
    };
    matches!(operators.read(), Ok(Operator::End)).then_some(value)
}
