//! Makes one core module of many: index spaces one behind the other, imports of one replaced by what others export.

use std::collections::BTreeMap;
use std::convert::Infallible;

use anyhow::{Context, Result, anyhow, ensure};
use wasm_encoder::reencode::{Error, Reencode};
use wasm_encoder::{
    CodeSection, ConstExpr, DataCountSection, DataSection, ElementSection, EntityType, ExportKind, ExportSection,
    Function, FunctionSection, GlobalSection, ImportSection, Instruction, MemorySection, Module, StartSection,
    TableSection, TagSection, TypeSection,
};
use wasmparser::{DataKind, ElementKind, ExternalKind, FunctionBody, Parser, Payload, TypeRef};

use super::addresses::Addresses;
use super::component::{Assembly, Core, CoreItem};
use crate::claims::check_counts;

/// What a merged module is made of.
#[derive(Default)]
pub(super) struct Merger<'a> {
    parts: Vec<Part<'a>>,
    /// By number of a core instance: which part it is.
    part_of: BTreeMap<usize, usize>,
    /// Functions of the host that are imported, with their types: part and index there.
    hosts: Vec<(usize, (usize, u32))>,
    /// Which number among these a function of the host has.
    numbers: BTreeMap<usize, u32>,
    counts: Counts,
}

/// The module of one core instance.
struct Part<'a> {
    wasm: &'a [u8],
    sections: Sections<'a>,
    exports: BTreeMap<&'a str, (ExternalKind, u32)>,
    map: Map,
}

/// A module's sections, as far as they are copied entry by entry.
#[derive(Default)]
struct Sections<'a> {
    types: Option<wasmparser::TypeSectionReader<'a>>,
    functions: Option<wasmparser::FunctionSectionReader<'a>>,
    tables: Option<wasmparser::TableSectionReader<'a>>,
    memories: Option<wasmparser::MemorySectionReader<'a>>,
    tags: Option<wasmparser::TagSectionReader<'a>>,
    globals: Option<wasmparser::GlobalSectionReader<'a>>,
    elements: Option<wasmparser::ElementSectionReader<'a>>,
    datas: Option<wasmparser::DataSectionReader<'a>>,
    start: Option<u32>,
    bodies: Vec<FunctionBody<'a>>,
    code_start: u64,
}

/// Sizes of the index spaces of what was added so far, without imports.
#[derive(Clone, Copy, Default)]
struct Counts {
    types: u32,
    functions: u32,
    tables: u32,
    memories: u32,
    globals: u32,
    tags: u32,
    elements: u32,
    datas: u32,
}

/// A function of the merged module.
#[derive(Clone, Copy, Debug)]
enum Func {
    /// An import, by its number.
    Host(u32),
    /// The merged module's own, by its number among those.
    Own(u32),
}

/// From a module's indices to those of the merged one.
#[derive(Default)]
struct Map {
    base: Counts,
    functions: Vec<Func>,
    tables: Vec<u32>,
    memories: Vec<u32>,
    globals: Vec<u32>,
    tags: Vec<u32>,
    /// How many functions the merged module imports; known when all parts are.
    imported: u32,
}

impl Map {
    fn function(&self, function: Func) -> u32 {
        match function {
            Func::Host(number) => number,
            Func::Own(number) => self.imported + number,
        }
    }
}

/// A place in an index space that is checked by validation before.
fn at<T: Copy>(space: &[T], index: u32) -> Result<T, Error<Infallible>> {
    space.get(index as usize).copied().ok_or_else(|| Error::UnexpectedNonCoreModuleSection)
}

impl Reencode for Map {
    type Error = Infallible;

    fn type_index(&mut self, index: u32) -> Result<u32, Error<Infallible>> {
        Ok(self.base.types + index)
    }

    fn function_index(&mut self, index: u32) -> Result<u32, Error<Infallible>> {
        Ok(self.function(at(&self.functions, index)?))
    }

    fn table_index(&mut self, index: u32) -> Result<u32, Error<Infallible>> {
        at(&self.tables, index)
    }

    fn memory_index(&mut self, index: u32) -> Result<u32, Error<Infallible>> {
        at(&self.memories, index)
    }

    fn global_index(&mut self, index: u32) -> Result<u32, Error<Infallible>> {
        at(&self.globals, index)
    }

    fn tag_index(&mut self, index: u32) -> Result<u32, Error<Infallible>> {
        at(&self.tags, index)
    }

    fn element_index(&mut self, index: u32) -> Result<u32, Error<Infallible>> {
        Ok(self.base.elements + index)
    }

    fn data_index(&mut self, index: u32) -> Result<u32, Error<Infallible>> {
        Ok(self.base.datas + index)
    }
}

fn said(error: Error<Infallible>) -> anyhow::Error {
    anyhow!("has a core module that can't be linked: {error}")
}

impl<'a> Merger<'a> {
    /// Lays out the index spaces of all modules of `assembly`.
    pub(super) fn new(assembly: &Assembly<'a>) -> Result<Self> {
        let mut merger = Self::default();
        for (instance, core) in assembly.cores.iter().enumerate() {
            if let Core::Module { wasm, args } = core {
                check_counts(wasm)?;
                merger.part_of.insert(instance, merger.parts.len());
                let part = merger.part(assembly, wasm, args)?;
                merger.parts.push(part);
            }
        }
        let imported = u32::try_from(merger.hosts.len())?;
        merger.parts.iter_mut().for_each(|part| part.map.imported = imported);
        Ok(merger)
    }

    /// The functions of the host that are imported, in the order of their indices.
    pub(super) fn hosts(&self) -> impl Iterator<Item = usize> {
        self.hosts.iter().map(|(host, _)| *host)
    }

    /// Where something that a core instance exports is in the merged module.
    pub(super) fn index(&self, item: CoreItem<'_>) -> Option<u32> {
        let CoreItem::Export { instance, name } = item else { return None };
        let part = &self.parts[*self.part_of.get(&instance)?];
        let (kind, index) = *part.exports.get(name)?;
        let index = index as usize;
        match kind {
            ExternalKind::Func | ExternalKind::FuncExact => {
                part.map.functions.get(index).map(|function| part.map.function(*function))
            }
            ExternalKind::Table => part.map.tables.get(index).copied(),
            ExternalKind::Memory => part.map.memories.get(index).copied(),
            ExternalKind::Global => part.map.globals.get(index).copied(),
            ExternalKind::Tag => part.map.tags.get(index).copied(),
        }
    }

    /// Names of the merged module's functions: each module's own, and for those that it exports only, that.
    pub(super) fn names(&self) -> BTreeMap<u32, String> {
        let mut all = BTreeMap::new();
        for part in &self.parts {
            let mut names = crate::names::Names::new(part.wasm, part.map.functions.len());
            for (name, (kind, index)) in &part.exports {
                if *kind == ExternalKind::Func {
                    names.propose(*index, (*name).to_owned());
                }
            }
            for (function, name) in part.map.functions.iter().zip(names.into_vec()) {
                if let (Func::Own(_), Some(name)) = (function, name) {
                    // The part that defines it comes before those that import it.
                    all.entry(part.map.function(*function)).or_insert(name);
                }
            }
        }
        all
    }

    /// The module with the most debug information, or code if there is none, and the number of its part: debug information that is
    /// elsewhere will be its.
    pub(super) fn debugged(&self) -> Option<(usize, &'a [u8])> {
        let sizes = |(number, part): (usize, &Part<'a>)| {
            let info = crate::custom_sections(part.wasm).find(|(name, _)| *name == ".debug_info");
            let code: u64 = part.sections.bodies.iter().map(|body| body.range().end - body.range().start).sum();
            (info.map_or(0, |(_, info)| info.len()), code, std::cmp::Reverse(number), part.wasm)
        };
        self.parts.iter().enumerate().map(sizes).max().map(|(_, _, number, wasm)| (number.0, wasm))
    }

    fn part(&mut self, assembly: &Assembly<'a>, wasm: &'a [u8], args: &BTreeMap<&'a str, usize>) -> Result<Part<'a>> {
        let mut map = Map { base: self.counts, ..Map::default() };
        let mut sections = Sections::default();
        let mut exports = BTreeMap::new();
        let number = self.parts.len();
        let mut parser = Parser::new(0);
        parser.set_features(crate::features());
        for payload in parser.parse_all(wasm) {
            match payload? {
                Payload::TypeSection(types) => {
                    for group in types.clone() {
                        let types = u32::try_from(group?.types().len())?;
                        self.counts.types = self.counts.types.checked_add(types).context("has too many types")?;
                    }
                    sections.types = Some(types);
                }
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports() {
                        let import = import?;
                        let instance = args.get(import.module).context("has a core module without an argument")?;
                        let item = assembly.core_export(*instance, import.name)?;
                        self.import(number, &mut map, item, import.ty)?;
                    }
                }
                Payload::FunctionSection(functions) => {
                    for number in self.counts.functions..self.counts.functions + functions.count() {
                        map.functions.push(Func::Own(number));
                    }
                    self.counts.functions += functions.count();
                    sections.functions = Some(functions);
                }
                Payload::TableSection(tables) => {
                    append(&mut map.tables, &mut self.counts.tables, tables.count());
                    sections.tables = Some(tables);
                }
                Payload::MemorySection(memories) => {
                    append(&mut map.memories, &mut self.counts.memories, memories.count());
                    sections.memories = Some(memories);
                }
                Payload::TagSection(tags) => {
                    append(&mut map.tags, &mut self.counts.tags, tags.count());
                    sections.tags = Some(tags);
                }
                Payload::GlobalSection(globals) => {
                    append(&mut map.globals, &mut self.counts.globals, globals.count());
                    sections.globals = Some(globals);
                }
                Payload::ExportSection(all) => {
                    for export in all {
                        let export = export?;
                        exports.insert(export.name, (export.kind, export.index));
                    }
                }
                Payload::StartSection { func, .. } => sections.start = Some(func),
                Payload::ElementSection(elements) => {
                    self.counts.elements += elements.count();
                    sections.elements = Some(elements);
                }
                Payload::DataSection(datas) => {
                    self.counts.datas += datas.count();
                    sections.datas = Some(datas);
                }
                Payload::CodeSectionStart { unchecked_range: range, .. } => sections.code_start = range.start,
                Payload::CodeSectionEntry(body) => sections.bodies.push(body),
                _ => {}
            }
        }
        Ok(Part { wasm, sections, exports, map })
    }

    /// Gives a module what it imports.
    fn import(&mut self, part: usize, map: &mut Map, item: CoreItem<'a>, ty: TypeRef) -> Result<()> {
        if let CoreItem::Host(host) = item {
            let TypeRef::Func(ty) = ty else { return Err(anyhow!("has a core module whose import is no function")) };
            let next = u32::try_from(self.hosts.len())?;
            let number = *self.numbers.entry(host).or_insert(next);
            if number == next {
                self.hosts.push((host, (part, ty)));
            }
            map.functions.push(Func::Host(number));
            return Ok(());
        }
        let CoreItem::Export { instance, name } = item else { unreachable!("there are two kinds") };
        let from = self.part_of.get(&instance).and_then(|part| self.parts.get(*part));
        let from = from.context("has a core module that imports from a later one")?;
        let (_, index) = *from.exports.get(name).context("has a core module whose import isn't exported")?;
        let missing = || anyhow!("has a core module with an export out of range");
        let index = index as usize;
        match ty {
            TypeRef::Func(_) | TypeRef::FuncExact(_) => {
                map.functions.push(*from.map.functions.get(index).ok_or_else(missing)?);
            }
            TypeRef::Table(_) => map.tables.push(*from.map.tables.get(index).ok_or_else(missing)?),
            TypeRef::Memory(_) => map.memories.push(*from.map.memories.get(index).ok_or_else(missing)?),
            TypeRef::Global(_) => map.globals.push(*from.map.globals.get(index).ok_or_else(missing)?),
            TypeRef::Tag(_) => map.tags.push(*from.map.tags.get(index).ok_or_else(missing)?),
        }
        Ok(())
    }

    /// Writes the merged module without custom sections. `names` are the names of imports, `exports` those of exports.
    /// Of the part number `debugged`, the way from new to old code is told.
    pub(super) fn write(
        mut self,
        names: &[(String, String)],
        exports: &[(String, ExportKind, u32)],
        debugged: Option<usize>,
    ) -> Result<(Module, Addresses)> {
        let start = Start::of(&self.parts)?;
        let mut module = Module::new();
        self.write_types(&mut module, &start)?;
        self.write_imports(&mut module, names)?;
        self.write_declarations(&mut module, &start)?;
        let mut section = ExportSection::new();
        exports.iter().for_each(|(name, kind, index)| _ = section.export(name, *kind, *index));
        module.section(&section);
        let imported = u32::try_from(self.hosts.len())?;
        match start {
            Start::None => {}
            Start::Function { part, function } => {
                let function_index = self.parts[part].map.function_index(function).map_err(said)?;
                module.section(&StartSection { function_index });
            }
            Start::Sequence { .. } => {
                module.section(&StartSection { function_index: imported + self.counts.functions });
            }
        }
        let sequence = self.write_segments(&mut module, &start)?;
        Ok(sequence.finish(module, &mut self.parts, debugged)?)
    }

    fn write_types(&mut self, module: &mut Module, start: &Start) -> Result<()> {
        let mut types = TypeSection::new();
        for Part { sections, map, .. } in &mut self.parts {
            if let Some(section) = sections.types.clone() {
                map.parse_type_section(&mut types, section).map_err(said)?;
            }
        }
        if let Start::Sequence { .. } = start {
            types.ty().function([], []);
        }
        module.section(&types);
        Ok(())
    }

    fn write_imports(&mut self, module: &mut Module, names: &[(String, String)]) -> Result<()> {
        let mut imports = ImportSection::new();
        for ((_, (part, ty)), (interface, name)) in self.hosts.iter().zip(names) {
            let ty = self.parts[*part].map.type_index(*ty).map_err(said)?;
            imports.import(interface, name, EntityType::Function(ty));
        }
        module.section(&imports);
        Ok(())
    }

    /// Functions, tables, memories, tags and globals.
    fn write_declarations(&mut self, module: &mut Module, start: &Start) -> Result<()> {
        let mut functions = FunctionSection::new();
        let mut tables = TableSection::new();
        let mut memories = MemorySection::new();
        let mut tags = TagSection::new();
        let mut globals = GlobalSection::new();
        for Part { sections, map, .. } in &mut self.parts {
            if let Some(section) = sections.functions.clone() {
                map.parse_function_section(&mut functions, section).map_err(said)?;
            }
            if let Some(section) = sections.tables.clone() {
                map.parse_table_section(&mut tables, section).map_err(said)?;
            }
            if let Some(section) = sections.memories.clone() {
                map.parse_memory_section(&mut memories, section).map_err(said)?;
            }
            if let Some(section) = sections.tags.clone() {
                map.parse_tag_section(&mut tags, section).map_err(said)?;
            }
            if let Some(section) = sections.globals.clone() {
                map.parse_global_section(&mut globals, section).map_err(said)?;
            }
        }
        if let Start::Sequence { .. } = start {
            functions.function(self.counts.types);
        }
        module.section(&functions).section(&tables).section(&memories);
        if !tags.is_empty() {
            module.section(&tags);
        }
        module.section(&globals);
        Ok(())
    }

    /// Elements, and what comes after them: the count of data segments; the segments themselves come behind the code.
    fn write_segments(&mut self, module: &mut Module, start: &Start) -> Result<Rest> {
        let mut elements = ElementSection::new();
        let mut datas = DataSection::new();
        let mut body = Function::new([]);
        for (number, Part { sections, map, .. }) in self.parts.iter_mut().enumerate() {
            let late = start.is_late(number);
            for (index, element) in sections.elements.clone().into_iter().flatten().enumerate() {
                let element = element?;
                match &element.kind {
                    ElementKind::Active { table_index, offset_expr } if late => {
                        let elem_index = map.base.elements + index as u32;
                        let table = map.table_index(table_index.unwrap_or(0)).map_err(said)?;
                        let count = match &element.items {
                            wasmparser::ElementItems::Functions(items) => items.count(),
                            wasmparser::ElementItems::Expressions(_, items) => items.count(),
                        };
                        expression(map, &mut body, offset_expr)?;
                        body.instruction(&Instruction::I32Const(0));
                        body.instruction(&Instruction::I32Const(count.cast_signed()));
                        body.instruction(&Instruction::TableInit { elem_index, table });
                        body.instruction(&Instruction::ElemDrop(elem_index));
                        elements.passive(map.element_items(element.items.clone()).map_err(said)?);
                    }
                    _ => map.parse_element(&mut elements, element).map_err(said)?,
                }
            }
            for (index, data) in sections.datas.clone().into_iter().flatten().enumerate() {
                let data = data?;
                match &data.kind {
                    DataKind::Active { memory_index, offset_expr } if late => {
                        let data_index = map.base.datas + index as u32;
                        let mem = map.memory_index(*memory_index).map_err(said)?;
                        expression(map, &mut body, offset_expr)?;
                        body.instruction(&Instruction::I32Const(0));
                        body.instruction(&Instruction::I32Const(u32::try_from(data.data.len())?.cast_signed()));
                        body.instruction(&Instruction::MemoryInit { data_index, mem });
                        body.instruction(&Instruction::DataDrop(data_index));
                        datas.passive(data.data.iter().copied());
                    }
                    _ => map.parse_data(&mut datas, data).map_err(said)?,
                }
            }
            if let (Start::Sequence { .. }, Some(function)) = (start, sections.start) {
                body.instruction(&Instruction::Call(map.function_index(function).map_err(said)?));
            }
        }
        body.instruction(&Instruction::End);
        module.section(&elements);
        if !datas.is_empty() {
            module.section(&DataCountSection { count: datas.len() });
        }
        Ok(Rest { datas, start: matches!(start, Start::Sequence { .. }).then_some(body) })
    }
}

/// Indices of the next `count` things.
fn append(space: &mut Vec<u32>, next: &mut u32, count: u32) {
    space.extend(*next..*next + count);
    *next += count;
}

/// Puts a constant expression into a function.
fn expression(map: &mut Map, body: &mut Function, expression: &wasmparser::ConstExpr<'_>) -> Result<()> {
    let constant: ConstExpr = map.const_expr(expression.clone()).map_err(said)?;
    let mut bytes = Vec::new();
    wasm_encoder::Encode::encode(&constant, &mut bytes);
    bytes.pop(); // its end
    body.raw(bytes);
    Ok(())
}

/// What runs when the merged module is instantiated, besides its active segments.
enum Start {
    None,
    /// The only start function, of the last module that has anything to do then.
    Function {
        part: usize,
        function: u32,
    },
    /// Start functions of several modules, or one before segments of others: a function does all of it in order, from the
    /// first start function on.
    Sequence {
        first: usize,
    },
}

impl Start {
    fn of(parts: &[Part<'_>]) -> Result<Self> {
        let starts = || parts.iter().enumerate().filter_map(|(number, part)| Some((number, part.sections.start?)));
        let Some((first, function)) = starts().next() else { return Ok(Self::None) };
        let mut quiet = starts().count() == 1;
        for part in &parts[first + 1..] {
            for element in part.sections.elements.clone().into_iter().flatten() {
                quiet &= !matches!(element?.kind, ElementKind::Active { .. });
            }
            for data in part.sections.datas.clone().into_iter().flatten() {
                quiet &= !matches!(data?.kind, DataKind::Active { .. });
            }
        }
        Ok(if quiet { Self::Function { part: first, function } } else { Self::Sequence { first } })
    }

    /// Whether the active segments of a part have to wait for a start function.
    fn is_late(&self, part: usize) -> bool {
        matches!(self, Self::Sequence { first } if part > *first)
    }
}

/// What is written last.
struct Rest {
    datas: DataSection,
    /// The function that does in order what has to be done at the start.
    start: Option<Function>,
}

impl Rest {
    /// Writes the code and what comes after it.
    fn finish(
        self,
        mut module: Module,
        parts: &mut [Part<'_>],
        debugged: Option<usize>,
    ) -> Result<(Module, Addresses)> {
        let count: usize = parts.iter().map(|part| part.sections.bodies.len()).sum();
        let count = u32::try_from(count + usize::from(self.start.is_some()))?;
        let mut addresses = Addresses::default();
        let mut code = Code::new(count);
        for (number, Part { sections, map, .. }) in parts.iter_mut().enumerate() {
            if debugged != Some(number) {
                addresses.outside(code.position());
            }
            for body in &sections.bodies {
                let mut function = map.new_function_with_parsed_locals(body).map_err(said)?;
                let mut places = vec![(0, body.range().start)];
                let mut reader = body.get_operators_reader()?;
                while !reader.eof() {
                    places.push((function.byte_len(), reader.original_position()));
                    let instruction = map.parse_instruction(&mut reader).map_err(said)?;
                    function.instruction(&instruction);
                }
                let start = code.push(function);
                if debugged == Some(number) {
                    for (new, old) in places {
                        addresses.push(start + u32::try_from(new)?, u32::try_from(old - sections.code_start)?);
                    }
                }
            }
        }
        if let Some(start) = self.start {
            addresses.outside(code.position());
            code.push(start);
        }
        ensure!(code.bytes.len() <= crate::survey::MODULE_BYTES_MAX, "has too much code");
        let mut section = CodeSection::new();
        for body in code.bodies() {
            section.raw(body);
        }
        module.section(&section);
        if !self.datas.is_empty() {
            module.section(&self.datas);
        }
        Ok((module, addresses))
    }
}

/// The contents of a code section.
struct Code {
    bytes: Vec<u8>,
    /// Bytes of the count of functions before them.
    before: usize,
    ranges: Vec<std::ops::Range<usize>>,
}

impl Code {
    fn new(functions: u32) -> Self {
        let mut count = Vec::new();
        wasm_encoder::Encode::encode(&functions, &mut count);
        Self { bytes: Vec::new(), before: count.len(), ranges: Vec::new() }
    }

    /// How many bytes the section has so far, its count included.
    fn position(&self) -> u32 {
        u32::try_from(self.before + self.bytes.len()).unwrap_or(u32::MAX)
    }

    /// Adds a function; gives the place of its locals in the section.
    fn push(&mut self, function: Function) -> u32 {
        let body = function.into_raw_body();
        wasm_encoder::Encode::encode(&(body.len() as u32), &mut self.bytes);
        let start = self.position();
        self.ranges.push(self.bytes.len()..self.bytes.len() + body.len());
        self.bytes.extend(body);
        start
    }

    fn bodies(&self) -> impl Iterator<Item = &[u8]> {
        self.ranges.iter().map(|range| &self.bytes[range.clone()])
    }
}
