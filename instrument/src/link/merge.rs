//! Makes one core module of many: index spaces one behind the other, imports of one replaced by what others export.
//! `write` then writes it.

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow};
use wasm_encoder::reencode::{Error, Reencode};
use wasmparser::{ExternalKind, FunctionBody, Parser, Payload, TypeRef};

use super::assembly::Assembly;
use super::scope::{Core, CoreItem};
use crate::module::claims::check_counts;
use crate::module::sections::sections;

/// What a merged module is made of.
#[derive(Default)]
pub(super) struct Merger<'a> {
    pub(super) parts: Vec<Part<'a>>,
    /// By number of a core instance: which part it is.
    part_of: BTreeMap<usize, usize>,
    /// Functions of the host that are imported, with their types: part and index there.
    pub(super) hosts: Vec<(usize, (usize, u32))>,
    /// Which number among these a function of the host has.
    numbers: BTreeMap<usize, u32>,
    pub(super) counts: Counts,
}

/// The module of one core instance.
pub(super) struct Part<'a> {
    wasm: &'a [u8],
    pub(super) sections: Sections<'a>,
    exports: BTreeMap<&'a str, (ExternalKind, u32)>,
    pub(super) map: Map,
}

/// A module's sections, as far as they are copied entry by entry.
#[derive(Default)]
pub(super) struct Sections<'a> {
    pub(super) types: Option<wasmparser::TypeSectionReader<'a>>,
    pub(super) functions: Option<wasmparser::FunctionSectionReader<'a>>,
    pub(super) tables: Option<wasmparser::TableSectionReader<'a>>,
    pub(super) memories: Option<wasmparser::MemorySectionReader<'a>>,
    pub(super) tags: Option<wasmparser::TagSectionReader<'a>>,
    pub(super) globals: Option<wasmparser::GlobalSectionReader<'a>>,
    pub(super) elements: Option<wasmparser::ElementSectionReader<'a>>,
    pub(super) datas: Option<wasmparser::DataSectionReader<'a>>,
    pub(super) start: Option<u32>,
    pub(super) bodies: Vec<FunctionBody<'a>>,
    pub(super) code_start: u64,
}

/// Sizes of the index spaces of what was added so far, without imports.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) types: u32,
    pub(super) functions: u32,
    tables: u32,
    memories: u32,
    globals: u32,
    tags: u32,
    pub(super) elements: u32,
    pub(super) datas: u32,
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
pub(super) struct Map {
    pub(super) base: Counts,
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

/// An index that validation has let pass is out of range.
#[derive(Debug)]
pub(super) struct OutOfRange;

impl std::fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an index is out of range")
    }
}

impl std::error::Error for OutOfRange {}

fn at<T: Copy>(space: &[T], index: u32) -> Result<T, Error<OutOfRange>> {
    space.get(index as usize).copied().ok_or(Error::UserError(OutOfRange))
}

impl Reencode for Map {
    type Error = OutOfRange;

    fn type_index(&mut self, index: u32) -> Result<u32, Error<OutOfRange>> {
        Ok(self.base.types + index)
    }

    fn function_index(&mut self, index: u32) -> Result<u32, Error<OutOfRange>> {
        Ok(self.function(at(&self.functions, index)?))
    }

    fn table_index(&mut self, index: u32) -> Result<u32, Error<OutOfRange>> {
        at(&self.tables, index)
    }

    fn memory_index(&mut self, index: u32) -> Result<u32, Error<OutOfRange>> {
        at(&self.memories, index)
    }

    fn global_index(&mut self, index: u32) -> Result<u32, Error<OutOfRange>> {
        at(&self.globals, index)
    }

    fn tag_index(&mut self, index: u32) -> Result<u32, Error<OutOfRange>> {
        at(&self.tags, index)
    }

    fn element_index(&mut self, index: u32) -> Result<u32, Error<OutOfRange>> {
        Ok(self.base.elements + index)
    }

    fn data_index(&mut self, index: u32) -> Result<u32, Error<OutOfRange>> {
        Ok(self.base.datas + index)
    }
}

impl<'a> Merger<'a> {
    /// Lays out the index spaces of all modules of `assembly`.
    pub(super) fn new(assembly: &Assembly<'a>) -> Result<Self> {
        let mut merger = Self::default();
        for (instance, core) in assembly.cores.iter().enumerate() {
            if let Core::Module { wasm, args } = core {
                sections(wasm).and_then(check_counts)?;
                merger.part_of.insert(instance, merger.parts.len());
                let part = merger.part(assembly, wasm, args)?;
                merger.parts.push(part);
            }
        }
        let imported = u32::try_from(merger.hosts.len())?;
        merger.parts.iter_mut().for_each(|part| part.map.imported = imported);
        Ok(merger)
    }

    /// Gives functions of the host, by their numbers in the assembly, to modules that came before their definition:
    /// they are what an instance exports.
    pub(super) fn give_later(&mut self, given: &BTreeMap<usize, (usize, &str)>) -> Result<()> {
        let mut functions: Vec<Func> = Vec::new();
        let mut kept = Vec::new();
        for &(host, of) in &self.hosts {
            match given.get(&host) {
                Some((instance, name)) => {
                    let part = &self.parts[*self.part_of.get(instance).context("has no such instance")?];
                    let (_, index) = *part.exports.get(name).context("has no such export")?;
                    functions.push(*part.map.functions.get(index as usize).context("has no such function")?);
                }
                None => {
                    functions.push(Func::Host(u32::try_from(kept.len())?));
                    kept.push((host, of));
                }
            }
        }
        // What is given may be given again: an export that is an import.
        let resolve = |mut function: Func| {
            for _ in 0..=functions.len() {
                match function {
                    Func::Host(number) if given.contains_key(&self.hosts[number as usize].0) => {
                        function = functions[number as usize];
                    }
                    Func::Host(number) => return Ok(functions[number as usize]),
                    Func::Own(_) => return Ok(function),
                }
            }
            Err(anyhow!("has functions that are nothing but each other"))
        };
        let imported = u32::try_from(kept.len())?;
        let mut maps = Vec::new();
        for part in &self.parts {
            maps.push(part.map.functions.iter().map(|function| resolve(*function)).collect::<Result<Vec<_>>>()?);
        }
        for (part, functions) in self.parts.iter_mut().zip(maps) {
            (part.map.functions, part.map.imported) = (functions, imported);
        }
        self.hosts = kept;
        Ok(())
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
            let mut names = crate::module::names::Names::new(part.wasm, part.map.functions.len());
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

    /// The module with the most debug information, or code if there is none, and the number of its part: debug
    /// information that is elsewhere will be its.
    pub(super) fn debugged(&self) -> Option<(usize, &'a [u8])> {
        let sizes = |(number, part): (usize, &Part<'a>)| {
            let info = crate::module::sections::custom_sections(part.wasm).find(|(name, _)| *name == ".debug_info");
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
        parser.set_features(crate::module::features::features());
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
}

/// Indices of the next `count` things.
fn append(space: &mut Vec<u32>, next: &mut u32, count: u32) {
    space.extend(*next..*next + count);
    *next += count;
}
