//! Types by their structure, because type indices move.

use wasmparser::{
    BlockType, CompositeInnerType, FieldType, FuncType, HeapType, RecGroup, RefType, StorageType, SubType,
    UnpackedIndex, ValType,
};

use super::hash::{Hash, hash};

/// Per type index: the hash of what the type is. Two types have the same hash if they are the same type by the rules of
/// WebAssembly: equal groups, equal place in the group, with types outside of the group compared by the same rule.
#[derive(Default)]
pub(super) struct Types {
    hashes: Vec<Hash>,
    /// What function types are written as, so that a block type by index equals the same one in short.
    functions: Vec<Option<FuncType>>,
    /// The index at which the group starts that is being read.
    group: u32,
}

impl Types {
    /// Appends a recursion group.
    pub(super) fn push(&mut self, group: RecGroup) {
        self.group = self.hashes.len() as u32;
        let types: Vec<SubType> = group.into_types().collect();
        let mut bytes = Vec::new();
        for ty in &types {
            self.sub_type(&mut bytes, ty);
        }
        let whole = hash(&[b"group", &bytes]);
        for (place, ty) in (0u32..).zip(types) {
            self.hashes.push(hash(&[b"type", &whole, &place.to_le_bytes()]));
            self.functions.push(match ty.composite_type.inner {
                CompositeInnerType::Func(ty) => Some(ty),
                _ => None,
            });
        }
        self.group = u32::MAX;
    }

    /// Writes which type an index means.
    pub(super) fn index(&self, out: &mut Vec<u8>, index: u32) {
        match index.checked_sub(self.group) {
            Some(inside) => {
                out.push(b'i');
                out.extend(inside.to_le_bytes());
            }
            None => {
                out.push(b'o');
                out.extend(self.hashes.get(index as usize).copied().unwrap_or_default());
            }
        }
    }

    pub(super) fn block_type(&self, out: &mut Vec<u8>, ty: BlockType) {
        match ty {
            BlockType::Empty => out.extend(*b"|"),
            BlockType::Type(ty) => {
                out.push(b'|');
                self.val_type(out, ty);
            }
            BlockType::FuncType(index) => {
                if let Some(ty) = self.functions.get(index as usize).and_then(Option::as_ref) {
                    self.func_type(out, ty);
                }
            }
        }
    }

    pub(super) fn func_type(&self, out: &mut Vec<u8>, ty: &FuncType) {
        ty.params().iter().for_each(|&ty| self.val_type(out, ty));
        out.push(b'|');
        ty.results().iter().for_each(|&ty| self.val_type(out, ty));
    }

    pub(super) fn val_type(&self, out: &mut Vec<u8>, ty: ValType) {
        match ty {
            ValType::I32 => out.push(1),
            ValType::I64 => out.push(2),
            ValType::F32 => out.push(3),
            ValType::F64 => out.push(4),
            ValType::V128 => out.push(5),
            ValType::Ref(ty) => self.ref_type(out, ty),
        }
    }

    pub(super) fn ref_type(&self, out: &mut Vec<u8>, ty: RefType) {
        out.push(if ty.is_nullable() { 6 } else { 7 });
        self.heap_type(out, ty.heap_type());
    }

    pub(super) fn heap_type(&self, out: &mut Vec<u8>, ty: HeapType) {
        match ty {
            HeapType::Abstract { shared, ty } => out.extend(format!("{shared}{ty:?};").bytes()),
            HeapType::Concrete(index) => self.unpacked(out, b'c', index),
            HeapType::Exact(index) => self.unpacked(out, b'x', index),
        }
    }

    fn unpacked(&self, out: &mut Vec<u8>, how: u8, index: UnpackedIndex) {
        out.push(how);
        match index {
            UnpackedIndex::Module(index) => self.index(out, index),
            UnpackedIndex::RecGroup(inside) => self.index(out, self.group.saturating_add(inside)),
            UnpackedIndex::Id(_) => {}
        }
    }

    fn sub_type(&self, out: &mut Vec<u8>, ty: &SubType) {
        out.push(u8::from(ty.is_final));
        for index in &ty.supertype_idxs {
            self.unpacked(out, b's', index.unpack());
        }
        out.push(u8::from(ty.composite_type.shared));
        match &ty.composite_type.inner {
            CompositeInnerType::Func(ty) => {
                out.push(b'f');
                self.func_type(out, ty);
            }
            CompositeInnerType::Array(ty) => {
                out.push(b'a');
                self.field(out, ty.0);
            }
            CompositeInnerType::Struct(ty) => {
                out.push(b't');
                ty.fields.iter().for_each(|&field| self.field(out, field));
            }
            CompositeInnerType::Cont(ty) => self.unpacked(out, b'k', ty.0.unpack()),
        }
        out.push(b'.');
    }

    fn field(&self, out: &mut Vec<u8>, field: FieldType) {
        out.push(u8::from(field.mutable));
        match field.element_type {
            StorageType::I8 => out.push(8),
            StorageType::I16 => out.push(16),
            StorageType::Val(ty) => self.val_type(out, ty),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasmparser::{Parser, Payload};

    fn hashes(text: &str) -> Vec<Hash> {
        let wasm = wat::parse_str(text).unwrap();
        let mut types = Types::default();
        for payload in Parser::new(0).parse_all(&wasm) {
            if let Payload::TypeSection(section) = payload.unwrap() {
                section.into_iter().for_each(|group| types.push(group.unwrap()));
            }
        }
        types.hashes
    }

    #[test]
    fn a_type_is_its_structure_wherever_it_stands() {
        let list = "(rec (type $list (struct (field (ref null $list)) (field i8))))";
        let one = hashes(&format!("(module {list} (type $use (func (param (ref $list)))))"));
        let two = hashes(&format!(
            "(module (type (func)) (rec (type (array i8)) (type (array i16))) {list} \
            (type $use (func (param (ref $list)))))"
        ));
        assert_eq!(one, [two[3], two[4]]);
        assert_ne!(two[1], two[2]);
        let other = hashes("(module (rec (type $list (struct (field (ref null $list)) (field i16)))))");
        assert_ne!(one[0], other[0]);
    }
}
