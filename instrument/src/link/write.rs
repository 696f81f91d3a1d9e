//! Writes the module that others were merged to.

use anyhow::{Result, anyhow, ensure};
use wasm_encoder::reencode::{Error, Reencode};
use wasm_encoder::{
    CodeSection, ConstExpr, DataCountSection, DataSection, ElementSection, EntityType, ExportKind, ExportSection,
    Function, FunctionSection, GlobalSection, ImportSection, Instruction, MemorySection, Module, StartSection,
    TableSection, TagSection, TypeSection,
};
use wasmparser::{DataKind, ElementKind};

use super::addresses::Addresses;
use super::merge::{Map, Merger, OutOfRange, Part};

fn said(error: Error<OutOfRange>) -> anyhow::Error {
    anyhow!("has a core module that can't be linked: {error}")
}

impl Merger<'_> {
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
        sequence.finish(module, &mut self.parts, debugged)
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
    /// Start functions of several modules, or one before segments of others: a function does all of it in order, from
    /// the first start function on.
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
        ensure!(code.bytes.len() <= crate::module::limits::MODULE_BYTES_MAX, "has too much code");
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
