//! Types of a component's functions, as text and as what can be made of an input.

use wasmparser::PrimitiveValType;
use wasmparser::component_types::{ComponentDefinedType, ComponentFuncTypeId, ComponentValType};
use wasmparser::types::Types;

/// What a function of a component takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Nothing.
    Nothing,
    /// One `list<u8>`.
    Bytes,
    /// One `string`.
    Text,
    /// Something else.
    Other,
}

/// Types inside of types are shown this deep.
const DEPTH_MAX: usize = 3;
/// No more parameters, fields or cases are shown.
const SHOWN_MAX: usize = 5;
/// Longer names are cut, in characters.
const NAME_CHARS_MAX: usize = 40;

impl Takes {
    pub(super) fn of(types: &Types, ty: ComponentFuncTypeId) -> Self {
        let ty = match &*types[ty].params {
            [] => return Self::Nothing,
            [(_, ty)] => *ty,
            _ => return Self::Other,
        };
        match ty {
            ComponentValType::Primitive(PrimitiveValType::String) => Self::Text,
            ComponentValType::Primitive(_) => Self::Other,
            ComponentValType::Type(id) => match &types[id] {
                ComponentDefinedType::Primitive(PrimitiveValType::String) => Self::Text,
                ComponentDefinedType::List { element, .. } if is_u8(types, *element) => Self::Bytes,
                _ => Self::Other,
            },
        }
    }
}

fn is_u8(types: &Types, ty: ComponentValType) -> bool {
    match ty {
        ComponentValType::Primitive(ty) => ty == PrimitiveValType::U8,
        ComponentValType::Type(id) => matches!(types[id], ComponentDefinedType::Primitive(PrimitiveValType::U8)),
    }
}

/// A function's type as text.
pub(super) fn show(types: &Types, ty: ComponentFuncTypeId) -> String {
    let ty = &types[ty];
    let params = list(ty.params.iter().map(|(name, ty)| format!("{}: {}", short(name), value(types, *ty, 1))));
    let result = ty.result.map_or_else(String::new, |ty| format!(" -> {}", value(types, ty, 1)));
    format!("{}func({params}){result}", if ty.async_ { "async " } else { "" })
}

fn list(items: impl ExactSizeIterator<Item = String>) -> String {
    let more = items.len().saturating_sub(SHOWN_MAX);
    let mut shown: Vec<_> = items.take(SHOWN_MAX).collect();
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown.join(", ")
}

/// A name, cut if it is long.
fn short(name: &impl ToString) -> String {
    let name = name.to_string();
    match name.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => format!("{}..", &name[..end]),
        None => name,
    }
}

fn value(types: &Types, ty: ComponentValType, depth: usize) -> String {
    let id = match ty {
        ComponentValType::Primitive(ty) => return ty.to_string(),
        ComponentValType::Type(_) if depth > DEPTH_MAX => return "..".to_owned(),
        ComponentValType::Type(id) => id,
    };
    let inside = |ty: ComponentValType| value(types, ty, depth + 1);
    let optional = |ty: Option<ComponentValType>| ty.map_or_else(|| "_".to_owned(), inside);
    match &types[id] {
        ComponentDefinedType::Primitive(ty) => ty.to_string(),
        ComponentDefinedType::Record(record) => {
            format!(
                "record {{ {} }}",
                list(record.fields.iter().map(|(name, ty)| format!("{}: {}", short(name), inside(*ty))))
            )
        }
        ComponentDefinedType::Variant(variant) => {
            let case = |(name, ty): (&wasmparser::names::KebabString, Option<ComponentValType>)| match ty {
                Some(ty) => format!("{}({})", short(name), inside(ty)),
                None => short(name),
            };
            format!("variant {{ {} }}", list(variant.cases.iter().map(|(name, ty)| case((name, ty.ty)))))
        }
        ComponentDefinedType::List { element, .. } => format!("list<{}>", inside(*element)),
        ComponentDefinedType::Map { key, value, .. } => format!("map<{}, {}>", inside(*key), inside(*value)),
        ComponentDefinedType::FixedLengthList { element, length, .. } => {
            format!("list<{}, {length}>", inside(*element))
        }
        ComponentDefinedType::Tuple(tuple) => format!("tuple<{}>", list(tuple.types.iter().map(|ty| inside(*ty)))),
        ComponentDefinedType::Flags(names) => format!("flags {{ {} }}", list(names.iter().map(short))),
        ComponentDefinedType::Enum(names) => format!("enum {{ {} }}", list(names.iter().map(short))),
        ComponentDefinedType::Option { ty, .. } => format!("option<{}>", inside(*ty)),
        ComponentDefinedType::Result { ok: None, err: None, .. } => "result".to_owned(),
        ComponentDefinedType::Result { ok, err: None, .. } => format!("result<{}>", optional(*ok)),
        ComponentDefinedType::Result { ok, err, .. } => format!("result<{}, {}>", optional(*ok), optional(*err)),
        ComponentDefinedType::Own(_) => "own<..>".to_owned(),
        ComponentDefinedType::Borrow(_) => "borrow<..>".to_owned(),
        ComponentDefinedType::Future { ty, .. } => format!("future<{}>", optional(*ty)),
        ComponentDefinedType::Stream { ty, .. } => format!("stream<{}>", optional(*ty)),
    }
}
