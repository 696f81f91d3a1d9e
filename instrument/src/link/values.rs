//! What functions of components give, as far as whoever lifts it has to look at it: where it lies, and what it may be.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use wasmparser::PrimitiveValType as P;
use wasmparser::component_types::{
    ComponentDefinedType, ComponentDefinedTypeId, ComponentFuncTypeId, ComponentValType, ResourceId,
};
use wasmparser::types::Types;

/// Types of values that are nested deeper are refused.
const DEPTH_MAX: u32 = 100;

/// A type of values, as the canonical ABI stores them in memories with addresses of 32 bits.
#[derive(Clone, PartialEq, Eq)]
pub struct ValueType {
    /// What a value consists of.
    pub shape: Shape,
    /// How many bytes a value takes.
    pub size: u32,
    /// Its address is a multiple of this.
    pub align: u32,
    /// How many numbers a value is where it isn't in memory: 1, or 2 for more.
    pub flat: u32,
    /// Whether some of what may lie there is no value.
    pub is_checked: bool,
    depth: u32,
}

/// What a value consists of.
#[derive(Clone, PartialEq, Eq)]
pub enum Shape {
    /// Any bits are a value.
    Plain,
    /// A Unicode scalar value.
    Char,
    /// Address and length of UTF-8.
    String,
    /// Address and number of values.
    List(Arc<ValueType>),
    /// Values one after the other, each at its offset.
    Fields(Vec<(u32, Arc<ValueType>)>),
    /// So many values.
    Repeated(Arc<ValueType>, u32),
    /// One of several, of which each may have a value.
    Variant {
        /// How many bytes say which.
        discriminant: u32,
        /// The offset of what it has.
        payload: u32,
        /// What each has.
        cases: Vec<Option<Arc<ValueType>>>,
    },
    /// A resource that the component gives away.
    Handle(HandleType),
}

/// What a handle is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleType {
    /// A resource that the component defines, by [its number](super::ComponentImport::resource).
    Own(u32),
    /// A resource that the component imports.
    Imported,
    /// A resource that only an instance inside has a name for.
    Unknown,
}

impl fmt::Debug for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Types may have the same part very often.
        f.debug_struct("ValueType").field("size", &self.size).field("align", &self.align).finish_non_exhaustive()
    }
}

impl ValueType {
    fn new(shape: Shape, (size, align): (u64, u32), flat: u32) -> Option<Arc<Self>> {
        let (is_checked, depth) = match &shape {
            Shape::Plain => (false, 0),
            Shape::Char | Shape::String | Shape::Handle(_) => (true, 0),
            Shape::List(element) => (true, element.depth),
            Shape::Repeated(element, _) => (element.is_checked, element.depth),
            Shape::Fields(fields) => (
                fields.iter().any(|(_, field)| field.is_checked),
                fields.iter().map(|(_, field)| field.depth).max().unwrap_or(0),
            ),
            Shape::Variant { cases, .. } => (true, cases.iter().flatten().map(|case| case.depth).max().unwrap_or(0)),
        };
        let size = u32::try_from(size.next_multiple_of(align.into())).ok()?;
        Some(Arc::new(Self { shape, size, align, flat: flat.min(2), is_checked, depth: depth + 1 }))
    }

    fn plain(bytes: u32) -> Option<Arc<Self>> {
        Self::new(Shape::Plain, (bytes.into(), bytes), 1)
    }
}

/// The types that were made so far.
pub(super) struct Values {
    known: BTreeMap<ComponentDefinedTypeId, Arc<ValueType>>,
    resources: BTreeMap<ResourceId, HandleType>,
}

impl Values {
    /// For a component that has these resources.
    pub(super) fn new(resources: BTreeMap<ResourceId, HandleType>) -> Self {
        Self { known: BTreeMap::new(), resources }
    }

    /// What a function gives, if it gives something; or `Err` if that is beyond what can be looked at.
    pub(super) fn result(&mut self, types: &Types, ty: ComponentFuncTypeId) -> Result<Option<Arc<ValueType>>, ()> {
        types[ty].result.map(|ty| self.value(types, ty, 1).ok_or(())).transpose()
    }

    fn value(&mut self, types: &Types, ty: ComponentValType, depth: u32) -> Option<Arc<ValueType>> {
        let id = match ty {
            ComponentValType::Primitive(ty) => return primitive(ty),
            ComponentValType::Type(id) => id,
        };
        if let Some(known) = self.known.get(&id) {
            return Some(known.clone()).filter(|known| depth + known.depth <= DEPTH_MAX);
        }
        if depth > DEPTH_MAX {
            return None;
        }
        let made = self.defined(types, &types[id], depth + 1)?;
        self.known.insert(id, made.clone());
        Some(made)
    }

    fn defined(&mut self, types: &Types, ty: &ComponentDefinedType, depth: u32) -> Option<Arc<ValueType>> {
        use ComponentDefinedType as D;
        let mut value = |ty: &ComponentValType| self.value(types, *ty, depth);
        let mut optional = |ty: &Option<ComponentValType>| match ty {
            Some(ty) => Some(Some(value(ty)?)),
            None => Some(None),
        };
        match ty {
            D::Primitive(ty) => primitive(*ty),
            D::Record(record) => fields(record.fields.values().map(value).collect::<Option<_>>()?),
            D::Tuple(tuple) => fields(tuple.types.iter().map(value).collect::<Option<_>>()?),
            D::List { element, .. } => list(value(element)?),
            D::Map { key, value: of, .. } => list(fields(vec![value(key)?, value(of)?])?),
            D::FixedLengthList { element, length, .. } => {
                let element = value(element)?;
                let size = u64::from(element.size) * u64::from(*length);
                let (align, flat) = (element.align, element.flat.saturating_mul(*length));
                ValueType::new(Shape::Repeated(element, *length), (size, align), flat)
            }
            D::Variant(of) => variant(of.cases.values().map(|case| optional(&case.ty)).collect::<Option<_>>()?),
            D::Enum(names) => variant(vec![None; names.len()]),
            D::Option { ty, .. } => variant(vec![None, Some(value(ty)?)]),
            D::Result { ok, err, .. } => variant(vec![optional(ok)?, optional(err)?]),
            D::Flags(names) => match names.len() {
                0..=8 => ValueType::plain(1),
                9..=16 => ValueType::plain(2),
                len => {
                    let words = len.div_ceil(32) as u32;
                    ValueType::new(Shape::Plain, (u64::from(words) * 4, 4), words)
                }
            },
            D::Own(id) => {
                let of = self.resources.get(&id.resource()).copied().unwrap_or(HandleType::Unknown);
                ValueType::new(Shape::Handle(of), (4, 4), 1)
            }
            // These are not looked at.
            D::Borrow(_) | D::Future { .. } | D::Stream { .. } => ValueType::plain(4),
        }
    }
}

fn primitive(ty: P) -> Option<Arc<ValueType>> {
    match ty {
        P::Bool | P::S8 | P::U8 => ValueType::plain(1),
        P::S16 | P::U16 => ValueType::plain(2),
        P::S32 | P::U32 | P::F32 | P::ErrorContext => ValueType::plain(4),
        P::S64 | P::U64 | P::F64 => ValueType::plain(8),
        P::Char => ValueType::new(Shape::Char, (4, 4), 1),
        P::String => ValueType::new(Shape::String, (8, 4), 2),
    }
}

fn list(element: Arc<ValueType>) -> Option<Arc<ValueType>> {
    ValueType::new(Shape::List(element), (8, 4), 2)
}

fn fields(types: Vec<Arc<ValueType>>) -> Option<Arc<ValueType>> {
    let (mut end, mut flat, mut align) = (0_u64, 0_u32, 1);
    let mut fields = Vec::with_capacity(types.len());
    for ty in types {
        let start = end.next_multiple_of(ty.align.into());
        end = start + u64::from(ty.size);
        (flat, align) = (flat.saturating_add(ty.flat), align.max(ty.align));
        fields.push((u32::try_from(start).ok()?, ty));
    }
    ValueType::new(Shape::Fields(fields), (end, align), flat)
}

fn variant(cases: Vec<Option<Arc<ValueType>>>) -> Option<Arc<ValueType>> {
    let discriminant: u32 = match cases.len() {
        0..=0x100 => 1,
        0x101..=0x1_0000 => 2,
        _ => 4,
    };
    let of = |number: fn(&ValueType) -> u32| cases.iter().flatten().map(|case| number(case)).max().unwrap_or(0);
    let (size, align, flat) = (of(|case| case.size), of(|case| case.align).max(1), of(|case| case.flat));
    let payload = discriminant.next_multiple_of(align);
    let layout = (u64::from(payload) + u64::from(size), align.max(discriminant));
    ValueType::new(Shape::Variant { discriminant, payload, cases }, layout, flat + 1)
}
