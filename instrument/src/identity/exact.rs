//! Which functions of two builds do the same, address for address.
//!
//! [`diff`](super::diff()) says that two functions mean the same, wherever the linker put what they refer to. Here they
//! have the same numbers: all addresses, globals, places in tables; only indices of functions may differ, which no
//! code can see. If all else that code can see is the same in both builds (memories and what is in them, tables,
//! globals, imports, exports, the start function), then an execution that enters such functions alone does the same in
//! both, step by step: by induction over its steps, both are in the same state, and the next operator is the same.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::Result;
use wasmparser::{
    ConstExpr, Element, ElementItems, ElementKind, Export, ExternalKind, Import, Operator, Parser, Payload, TableInit,
    TypeRef,
};

use super::body::{Slot, SlotKind};
use super::diff::{Diff, Pair};
use super::functions::Identity;
use crate::module::features::features;

/// The functions of two builds that are the same, address for address, imported ones included; `None` if something that
/// all of them can see is another. Each build is a module and what is known of it; `diff` is that of the two.
///
/// # Errors
///
/// If one of them is no module.
pub fn exact(
    (old_wasm, old): (&[u8], &Identity),
    (new_wasm, new): (&[u8], &Identity),
    diff: &Diff,
) -> Result<Option<Vec<Pair>>> {
    let imports = imported(old);
    if imports != imported(new) {
        return Ok(None);
    }
    let imports = (0..imports).map(|index| Pair { old: index, new: index });
    let pairs = imports.clone().chain(diff.same.iter().chain(&diff.changed).copied());
    let to_new: BTreeMap<u32, u32> = pairs.map(|pair| (pair.old, pair.new)).collect();
    let own = (0..new.functions().len() as u32).map(|index| (index, index)).collect();
    let (before, after) = (Surroundings::of(old_wasm, &to_new)?, Surroundings::of(new_wasm, &own)?);
    if !before.are(&after) {
        return Ok(None);
    }
    let same = diff.same.iter().copied().filter(|pair| is_exact(old, new, *pair, &to_new));
    Ok(Some(imports.chain(same).collect()))
}

/// How many functions are imported.
fn imported(identity: &Identity) -> u32 {
    identity.functions().iter().filter(|function| function.imported).count() as u32
}

fn is_exact(old: &Identity, new: &Identity, pair: Pair, to_new: &BTreeMap<u32, u32>) -> bool {
    let (Some(a), Some(b)) = (old.module.functions.get(pair.old as usize), new.module.functions.get(pair.new as usize))
    else {
        return false;
    };
    let (a, b) = (&a.body, &b.body);
    let new_of = |index: u64| to_new.get(&u32::try_from(index).ok()?).map(|&index| u64::from(index));
    let same = |(a, b): (&Slot, &Slot)| match a.kind {
        SlotKind::Function => a.kind == b.kind && new_of(a.value) == Some(b.value),
        _ => a == b,
    };
    a.shape == b.shape && a.slots.len() == b.slots.len() && a.slots.iter().zip(&b.slots).all(same)
}

/// What code can see of a module beside code.
#[derive(Default)]
struct Surroundings {
    /// Types in their order: other sections refer to them by their places.
    types: Vec<String>,
    parts: Vec<Vec<u8>>,
    exports: BTreeMap<String, Vec<u8>>,
    /// A function of it is not in the other build.
    is_alone: bool,
}

impl Surroundings {
    /// Those of a module, with `functions` in the place of its functions.
    fn of(wasm: &[u8], functions: &BTreeMap<u32, u32>) -> Result<Self> {
        let mut writer = Writer { wasm, functions, found: Self::default() };
        let mut parser = Parser::new(0);
        parser.set_features(features());
        for payload in parser.parse_all(wasm) {
            writer.payload(payload?)?;
        }
        Ok(writer.found)
    }

    /// Whether they are the same. Types that one has behind all that the other has are referred to by code alone, whose
    /// shape has them.
    fn are(&self, other: &Self) -> bool {
        let common = self.types.len().min(other.types.len());
        self.types[..common] == other.types[..common]
            && self.parts == other.parts
            && self.exports == other.exports
            && !self.is_alone
            && !other.is_alone
    }
}

struct Writer<'a> {
    wasm: &'a [u8],
    functions: &'a BTreeMap<u32, u32>,
    found: Surroundings,
}

impl Writer<'_> {
    fn payload(&mut self, payload: Payload<'_>) -> Result<()> {
        match payload {
            Payload::TypeSection(section) => {
                for group in section {
                    self.found.types.push(format!("{:?}", group?));
                }
            }
            Payload::MemorySection(section) => self.raw("memories", section.range()),
            Payload::TagSection(section) => self.raw("tags", section.range()),
            Payload::DataSection(section) => self.raw("data", section.range()),
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    self.import(import?);
                }
            }
            Payload::TableSection(section) => {
                for table in section {
                    let table = table?;
                    let mut part = format!("table {:?} ", table.ty).into_bytes();
                    if let TableInit::Expr(init) = &table.init {
                        self.expression(&mut part, init)?;
                    }
                    self.found.parts.push(part);
                }
            }
            Payload::GlobalSection(section) => {
                for global in section {
                    let global = global?;
                    let mut part = format!("global {:?} ", global.ty).into_bytes();
                    self.expression(&mut part, &global.init_expr)?;
                    self.found.parts.push(part);
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    self.export(export?);
                }
            }
            Payload::StartSection { func, .. } => {
                let mut part = b"start ".to_vec();
                self.function(&mut part, func);
                self.found.parts.push(part);
            }
            Payload::ElementSection(section) => {
                for element in section {
                    self.element(element?)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn import(&mut self, import: Import<'_>) {
        let kind = match import.ty {
            TypeRef::Func(ty) | TypeRef::FuncExact(ty) => format!("function {ty}"),
            other => format!("{other:?}"),
        };
        self.found.parts.push(format!("import {:?} {:?} {kind}", import.module, import.name).into_bytes());
    }

    fn export(&mut self, export: Export<'_>) {
        let mut part = format!("{:?} ", export.kind).into_bytes();
        match export.kind {
            ExternalKind::Func | ExternalKind::FuncExact => self.function(&mut part, export.index),
            _ => part.extend(export.index.to_le_bytes()),
        }
        self.found.exports.insert(export.name.to_owned(), part);
    }

    fn element(&mut self, element: Element<'_>) -> Result<()> {
        let mut part = b"element ".to_vec();
        match &element.kind {
            ElementKind::Passive => part.extend(b"passive "),
            ElementKind::Declared => part.extend(b"declared "),
            ElementKind::Active { table_index, offset_expr } => {
                part.extend(format!("table {} ", table_index.unwrap_or(0)).bytes());
                self.expression(&mut part, offset_expr)?;
            }
        }
        match element.items {
            ElementItems::Functions(items) => {
                for function in items {
                    self.function(&mut part, function?);
                }
            }
            ElementItems::Expressions(ty, items) => {
                part.extend(format!("{ty:?} ").bytes());
                for item in items {
                    self.expression(&mut part, &item?)?;
                }
            }
        }
        self.found.parts.push(part);
        Ok(())
    }

    /// A constant expression, operator by operator.
    fn expression(&mut self, part: &mut Vec<u8>, expression: &ConstExpr<'_>) -> Result<()> {
        for operator in expression.get_operators_reader() {
            match operator? {
                Operator::RefFunc { function_index } => self.function(part, function_index),
                other => part.extend(format!("{other:?};").bytes()),
            }
        }
        Ok(())
    }

    fn function(&mut self, part: &mut Vec<u8>, index: u32) {
        match self.functions.get(&index) {
            Some(index) => part.extend(format!("f{index};").bytes()),
            None => self.found.is_alone = true,
        }
    }

    fn raw(&mut self, kind: &str, range: Range<u64>) {
        let bytes = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
        let bytes = bytes.and_then(|(start, end)| self.wasm.get(start..end)).unwrap_or_default();
        self.found.parts.push([kind.as_bytes(), bytes].concat());
    }
}
