//! What both macros need of fields and type parameters.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Fields, Generics, Ident, Member, Path, Result, parse_quote};

/// A way to make a value: a struct, or a variant of an enum.
pub(crate) struct Shape<'a> {
    /// `Self` or `Self::Variant`.
    pub(crate) path: Path,
    /// The variant's name; the struct's otherwise.
    pub(crate) name: &'a Ident,
    pub(crate) attributes: &'a [syn::Attribute],
    pub(crate) fields: &'a Fields,
}

impl Shape<'_> {
    /// An expression that makes the value, from one for each field.
    pub(crate) fn made_of(&self, values: &[TokenStream]) -> TokenStream {
        let (path, members) = (&self.path, self.fields.members());
        quote!(#path { #(#members: #values,)* })
    }

    /// A pattern that binds each field to a name, and the names.
    pub(crate) fn pattern(&self) -> (TokenStream, Vec<Ident>) {
        let path = &self.path;
        let members: Vec<Member> = self.fields.members().collect();
        let names: Vec<Ident> = (0..members.len()).map(|at| format_ident!("field_{at}")).collect();
        (quote!(#path { #(#members: #names,)* }), names)
    }
}

/// The ways to make a value.
pub(crate) fn shapes(input: &DeriveInput) -> Result<Vec<Shape<'_>>> {
    match &input.data {
        Data::Struct(data) => Ok(vec![Shape {
            path: parse_quote!(Self),
            name: &input.ident,
            attributes: &input.attrs,
            fields: &data.fields,
        }]),
        Data::Enum(data) if data.variants.is_empty() => {
            Err(Error::new_spanned(&input.ident, "an enum without variants has no values"))
        }
        Data::Enum(data) => Ok(data
            .variants
            .iter()
            .map(|variant| {
                let name = &variant.ident;
                Shape { path: parse_quote!(Self::#name), name, attributes: &variant.attrs, fields: &variant.fields }
            })
            .collect()),
        Data::Union(_) => Err(Error::new_spanned(&input.ident, "a union does not say which of its fields it holds")),
    }
}

/// The type's parameters, each type among them bound by the trait.
pub(crate) fn bounded(generics: &Generics, bound: &TokenStream) -> Generics {
    let mut generics = generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(#bound));
    }
    generics
}
