//! First pass: validates everything but function bodies, and keeps what the later passes need to know.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};
use wasmparser::types::{CoreTypeId, Types, TypesRef};
use wasmparser::{
    AbstractHeapType, CompositeInnerType, ConstExpr, ElementItems, ExternalKind, FieldType, FuncType, HeapType,
    MemoryType, Operator, Parser, Payload, RefType, StorageType, TypeRef, UnpackedIndex, ValType, ValidPayload,
    Validator,
};

use crate::module::bodies::Bodies;
use crate::module::claims::check_counts;
use crate::module::features::{INVALID, features};
use crate::module::limits::MODULE_BYTES_MAX;
use crate::module::low::LowAddresses;
use crate::module::names::Names;
use crate::module::sections::sections;
use crate::module::types::Values;
use crate::protocol::Imports;

/// How many ids sections have, that of custom sections included.
const SECTIONS: usize = 14;

/// How exports that the rewriter adds start; a number is put before the colon if the module has such names itself.
const PREFIX: &str = "fuzzbox";

/// What there is to know about a module before its function bodies are read.
pub(crate) struct Survey<'a> {
    /// The module as it was given.
    pub(crate) wasm: &'a [u8],
    /// The contents of its sections, by their ids.
    pub(crate) sections: [Option<&'a [u8]>; SECTIONS],
    /// Per type index: the function type as it was written, or `None` for structs and arrays.
    pub(crate) types: Vec<Option<FuncType>>,
    /// A type index for each type that the validator knows.
    pub(crate) type_indices: BTreeMap<CoreTypeId, u32>,
    /// Per tag index: the index of its function type.
    pub(crate) tags: Vec<u32>,
    /// Size of the memory index space; the injected memory's index.
    pub(crate) memories: u32,
    /// The memories.
    pub(crate) memory_types: Vec<MemoryType>,
    /// Names of those that are imported: the first.
    pub(crate) memory_imports: Vec<(&'a str, &'a str)>,
    /// Size of the table index space.
    pub(crate) tables: u32,
    /// Size of the global index space.
    pub(crate) globals: u32,
    /// Indices of the mutable globals, and the types of their values as the module would write them.
    pub(crate) mutable_globals: Vec<(u32, ValType)>,
    /// Whether nothing is to be below [`DATA_START`](crate::module::low::DATA_START) in memory 0.
    pub(crate) low_is_free: bool,
    /// Names by function index.
    pub(crate) names: Vec<Option<String>>,
    /// How many functions are imported: the first.
    pub(crate) imported: u32,
    /// How names start that are free for exports: `fuzzbox:`.
    pub(crate) export_prefix: String,
    /// Functions of the guest protocol that the module imports.
    pub(crate) protocol: Imports,
    /// Functions that are in tables from the start, or in globals.
    pub(crate) referenced: Vec<u32>,
    /// What holds references to collected objects, whose number is kept in them.
    pub(crate) objects: Objects,
}

/// What holds references to collected objects, by index.
#[derive(Default)]
pub(crate) struct Objects {
    /// Fields of structs, as pairs of type and field; of arrays field 0.
    fields: BTreeSet<(u32, u32)>,
    tables: BTreeSet<u32>,
    globals: BTreeSet<u32>,
}

impl Survey<'_> {
    /// Whether a field of a struct, or an array (field 0), has such references.
    pub(crate) fn field_holds_objects(&self, ty: u32, field: u32) -> bool {
        self.objects.fields.contains(&(ty, field))
    }

    /// Whether a table has.
    pub(crate) fn table_holds_objects(&self, table: u32) -> bool {
        self.objects.tables.contains(&table)
    }

    /// Whether a global has.
    pub(crate) fn global_holds_objects(&self, global: u32) -> bool {
        self.objects.globals.contains(&global)
    }

    /// The value types that `values` stands for, as they were written.
    pub(crate) fn values(&self, values: Values) -> Result<Vec<ValType>> {
        let function = |index: u32| {
            let ty = self.types.get(index as usize).and_then(Option::as_ref);
            ty.with_context(|| format!("uses type {index} as a block's, which is not a function type"))
        };
        Ok(match values {
            Values::Empty => vec![],
            Values::One(ty) => vec![ty],
            Values::Params(index) => function(index)?.params().to_vec(),
            Values::Results(index) => function(index)?.results().to_vec(),
            Values::ParamsAndExn(index) => [function(index)?.params(), &[ValType::EXNREF]].concat(),
        })
    }

    /// Whether `values` stands for no types at all.
    pub(crate) fn is_empty(&self, values: Values) -> bool {
        let function = |index: u32| self.types.get(index as usize).and_then(Option::as_ref);
        match values {
            Values::Empty => true,
            Values::One(_) | Values::ParamsAndExn(_) => false,
            Values::Params(index) => function(index).is_some_and(|ty| ty.params().is_empty()),
            Values::Results(index) => function(index).is_some_and(|ty| ty.results().is_empty()),
        }
    }

    /// A type as the module would write it, for one that the validator gave: it has its own numbers for types.
    pub(crate) fn written(&self, ty: RefType) -> Result<RefType> {
        let HeapType::Concrete(UnpackedIndex::Id(id)) = ty.heap_type() else { return Ok(ty) };
        let index = *self.type_indices.get(&id).context("uses a type that it doesn't define")?;
        RefType::new(ty.is_nullable(), HeapType::Concrete(UnpackedIndex::Module(index)))
            .with_context(|| format!("has a reference to type {index}, beyond what can be encoded"))
    }
}

/// Whether a type is that of references to collected objects, or may be: to all but functions.
fn is_object(types: TypesRef<'_>, ty: RefType) -> bool {
    match ty.heap_type() {
        HeapType::Abstract { ty, .. } => !matches!(ty, AbstractHeapType::Func | AbstractHeapType::NoFunc),
        HeapType::Concrete(UnpackedIndex::Id(id)) | HeapType::Exact(UnpackedIndex::Id(id)) => {
            !matches!(types[id].composite_type.inner, CompositeInnerType::Func(_))
        }
        HeapType::Concrete(_) | HeapType::Exact(_) => true,
    }
}

impl Objects {
    fn find(types: TypesRef<'_>) -> Self {
        let is = |ty: ValType| matches!(ty, ValType::Ref(ty) if is_object(types, ty));
        let holds = |field: &FieldType| matches!(field.element_type, StorageType::Val(ty) if is(ty));
        let fields = |ty| match &types[types.core_type_at_in_module(ty)].composite_type.inner {
            CompositeInnerType::Array(array) => std::slice::from_ref(&array.0),
            CompositeInnerType::Struct(fields) => &*fields.fields,
            _ => &[],
        };
        let all =
            (0..types.core_type_count_in_module()).flat_map(|ty| (0..).zip(fields(ty)).map(move |(n, f)| (ty, n, f)));
        let is_table = |table: &u32| is_object(types, types.table_at(*table).element_type);
        Self {
            fields: all.filter(|(.., field)| holds(field)).map(|(ty, number, _)| (ty, number)).collect(),
            tables: (0..types.table_count()).filter(is_table).collect(),
            globals: (0..types.global_count()).filter(|&global| is(types.global_at(global).content_type)).collect(),
        }
    }
}

/// Validates a module up to its function bodies.
pub(crate) fn survey(wasm: &[u8]) -> Result<(Survey<'_>, Bodies<'_>)> {
    ensure!(wasm.len() <= MODULE_BYTES_MAX, "has {} bytes, more than the {MODULE_BYTES_MAX} allowed", wasm.len());
    sections(wasm).and_then(check_counts)?; // says in our words what is no core module, too
    let mut reader = Reader::default();
    let mut validator = Validator::new_with_features(features());
    let mut parser = Parser::new(0);
    parser.set_features(features());
    for payload in parser.parse_all(wasm) {
        let payload = payload.context(INVALID)?;
        if let Some((id, range)) = payload.as_section()
            && let Some(section) = reader.sections.get_mut(usize::from(id))
        {
            *section = wasm.get(range.start as usize..range.end as usize);
        }
        reader.read(&payload).context(INVALID)?;
        match validator.payload(&payload).context(INVALID)? {
            ValidPayload::Ok => {}
            ValidPayload::Func(function, body) => reader.bodies.push((function, body)),
            ValidPayload::Parser(_) => bail!("has a module inside; only core modules can be rewritten"),
            ValidPayload::End(types) => return reader.finish(wasm, &types),
        }
    }
    bail!("is not a wasm module: it has no end")
}

/// What is collected on the way, section by section.
#[derive(Default)]
struct Reader<'a> {
    sections: [Option<&'a [u8]>; SECTIONS],
    bodies: Bodies<'a>,
    types: Vec<Option<FuncType>>,
    /// Module, name, and index of the type.
    imports: Vec<(&'a str, &'a str, u32)>,
    memory_imports: Vec<(&'a str, &'a str)>,
    referenced: Vec<u32>,
    exports: Vec<(u32, &'a str)>,
    /// What stands between `fuzzbox` and `:` in export names.
    taken: BTreeSet<&'a str>,
    functions: u32,
    low: LowAddresses,
}

impl<'a> Reader<'a> {
    fn read(&mut self, payload: &Payload<'a>) -> wasmparser::Result<()> {
        match payload {
            Payload::TypeSection(section) => {
                for group in section.clone() {
                    self.types.extend(group?.into_types().map(|ty| match ty.composite_type.inner {
                        CompositeInnerType::Func(ty) => Some(ty),
                        _ => None,
                    }));
                }
            }
            Payload::ImportSection(section) => {
                for import in section.clone().into_imports() {
                    let import = import?;
                    if let TypeRef::Func(ty) | TypeRef::FuncExact(ty) = import.ty {
                        self.imports.push((import.module, import.name, ty));
                    }
                    if let TypeRef::Memory(_) = import.ty {
                        self.memory_imports.push((import.module, import.name));
                    }
                }
            }
            Payload::GlobalSection(section) => {
                self.low.globals(section.clone())?;
                for global in section.clone() {
                    self.refers(&global?.init_expr)?;
                }
            }
            Payload::ElementSection(section) => {
                for segment in section.clone() {
                    match segment?.items {
                        ElementItems::Functions(functions) => {
                            for function in functions {
                                self.referenced.push(function?);
                            }
                        }
                        ElementItems::Expressions(_, expressions) => {
                            for expression in expressions {
                                self.refers(&expression?)?;
                            }
                        }
                    }
                }
            }
            Payload::DataSection(section) => self.low.data(section.clone())?,
            Payload::FunctionSection(section) => self.functions = section.count(),
            Payload::ExportSection(section) => {
                for export in section.clone() {
                    let export = export?;
                    if let ExternalKind::Func | ExternalKind::FuncExact = export.kind {
                        self.exports.push((export.index, export.name));
                    }
                    if let Some((number, _)) = export.name.strip_prefix(PREFIX).and_then(|rest| rest.split_once(':')) {
                        self.taken.insert(number);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Notes which functions a constant refers to.
    fn refers(&mut self, constant: &ConstExpr<'_>) -> wasmparser::Result<()> {
        for operator in constant.get_operators_reader() {
            if let Operator::RefFunc { function_index } = operator? {
                self.referenced.push(function_index);
            }
        }
        Ok(())
    }

    fn finish(self, wasm: &'a [u8], types: &Types) -> Result<(Survey<'a>, Bodies<'a>)> {
        let types = types.as_ref();
        let mut names = Names::new(wasm, self.imports.len() + self.bodies.len());
        for (index, name) in self.exports {
            names.propose(index, name.to_owned());
        }
        for (index, (module, name, _)) in (0..).zip(&self.imports) {
            names.propose(index, format!("{module}.{name}"));
        }
        let imports = self
            .imports
            .iter()
            .map(|&(module, name, ty)| (module, name, self.types.get(ty as usize).and_then(Option::as_ref)));
        let protocol = Imports::find(imports)?;
        let type_count = types.core_type_count_in_module();
        debug_assert_eq!(type_count as usize, self.types.len());
        let type_indices: BTreeMap<_, _> =
            (0..type_count).rev().map(|index| (types.core_type_at_in_module(index), index)).collect();
        let mutable = (0..types.global_count()).filter(|&index| types.global_at(index).mutable);
        let mutable_globals: Vec<_> = mutable.map(|index| (index, types.global_at(index).content_type)).collect();
        let mut survey = Survey {
            wasm,
            sections: self.sections,
            types: self.types,
            tags: (0..types.tag_count()).map(|index| type_indices[&types.tag_at(index)]).collect(),
            type_indices,
            memories: types.memory_count(),
            memory_types: (0..types.memory_count()).map(|index| types.memory_at(index)).collect(),
            memory_imports: self.memory_imports,
            tables: types.table_count(),
            globals: types.global_count(),
            low_is_free: self.low.are_free() && types.memory_count() > 0 && !types.memory_at(0).memory64,
            mutable_globals: Vec::new(),
            imported: (types.function_count() as usize - self.bodies.len()) as u32,
            names: names.into_vec(),
            export_prefix: free_prefix(&self.taken),
            protocol,
            referenced: self.referenced,
            objects: Objects::find(types),
        };
        let written =
            |(index, ty)| Ok((index, if let ValType::Ref(ty) = ty { ValType::Ref(survey.written(ty)?) } else { ty }));
        survey.mutable_globals = mutable_globals.into_iter().map(written).collect::<Result<_>>()?;
        Ok((survey, self.bodies))
    }
}

/// `fuzzbox:`, or `fuzzbox1:` if a name starts so, and so on.
fn free_prefix(taken: &BTreeSet<&str>) -> String {
    let numbers = std::iter::once(String::new()).chain((1u32..).map(|number| number.to_string()));
    let free = numbers.into_iter().find(|number| !taken.contains(number.as_str())).unwrap_or_default();
    format!("{PREFIX}{free}:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_is_one_that_no_export_has() {
        assert_eq!(free_prefix(&BTreeSet::new()), "fuzzbox:");
        assert_eq!(free_prefix(&BTreeSet::from(["", "1", "x"])), "fuzzbox2:");
        assert_eq!(free_prefix(&BTreeSet::from(["1"])), "fuzzbox:");
    }
}
