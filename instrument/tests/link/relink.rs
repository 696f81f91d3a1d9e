//! Writes a finished module anew, with its functions in another order and every number as short as it can be.

use std::collections::BTreeMap;
use std::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode, utils};
use wasm_encoder::{CodeSection, FunctionSection, Module, NameMap, NameSection, TypeSection};
use wasmparser::{CodeSectionReader, FunctionSectionReader, Name, Parser, TypeRef, TypeSectionReader};

use super::Random;

/// Returns the new module, and per function index the new one.
///
/// Types that nothing uses come first, so that type indices are others too; linkers write indices with padding, which
/// is gone. Data stays: only the linker knew what is an address.
pub(crate) fn relink(wasm: &[u8], random: &mut Random) -> (Vec<u8>, Vec<u32>) {
    let mut imported = 0;
    let mut defined = 0;
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.unwrap() {
            wasmparser::Payload::ImportSection(section) => {
                let imports = section.into_imports();
                imported = imports.filter(|import| matches!(import.as_ref().unwrap().ty, TypeRef::Func(_))).count();
            }
            wasmparser::Payload::FunctionSection(section) => defined = section.count() as usize,
            _ => {}
        }
    }
    let order = random.order(defined);
    let mut indices: Vec<u32> = (0..(imported + defined) as u32).collect();
    for (place, &old) in order.iter().enumerate() {
        indices[imported + old] = (imported + place) as u32;
    }
    let mut relinker = Relinker { indices: indices.clone(), order, types: 1 + random.below(9) as u32 };
    let mut module = Module::new();
    relinker.parse_core_module(&mut module, Parser::new(0), wasm).unwrap();
    (module.finish(), indices)
}

struct Relinker {
    /// New function index by old one.
    indices: Vec<u32>,
    /// Defined functions in their new order.
    order: Vec<usize>,
    /// How many types are added.
    types: u32,
}

impl Reencode for Relinker {
    type Error = Infallible;

    fn function_index(&mut self, index: u32) -> Result<u32, Error<Infallible>> {
        Ok(self.indices[index as usize])
    }

    fn type_index(&mut self, index: u32) -> Result<u32, Error<Infallible>> {
        Ok(index + self.types)
    }

    fn parse_custom_name_subsection(
        &mut self,
        names: &mut NameSection,
        section: Name<'_>,
    ) -> Result<(), Error<Infallible>> {
        let Name::Function(map) = section else { return utils::parse_custom_name_subsection(self, names, section) };
        let named = map.into_iter().map(Result::unwrap);
        // Names have to be in the order of the indices.
        let named: BTreeMap<u32, &str> =
            named.map(|naming| (self.indices[naming.index as usize], naming.name)).collect();
        let mut map = NameMap::new();
        named.into_iter().for_each(|(index, name)| map.append(index, name));
        names.functions(&map);
        Ok(())
    }

    fn parse_type_section(
        &mut self,
        types: &mut TypeSection,
        section: TypeSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        (0..self.types).for_each(|_| types.ty().function([], [wasm_encoder::ValType::F64]));
        utils::parse_type_section(self, types, section)
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        section: FunctionSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        let old: Vec<u32> = section.into_iter().map(Result::unwrap).collect();
        for &place in &self.order {
            functions.function(old[place] + self.types);
        }
        Ok(())
    }

    fn parse_code_section(
        &mut self,
        code: &mut CodeSection,
        section: CodeSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        let old: Vec<_> = section.into_iter().map(Result::unwrap).collect();
        for place in self.order.clone() {
            self.parse_function_body(code, old[place].clone())?;
        }
        Ok(())
    }
}
