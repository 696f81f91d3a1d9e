//! `#[derive(Generate)]` and `#[derive(Value)]` of fuzzbox-guest.

mod fields;
mod generate;
mod options;
mod value;

use proc_macro::TokenStream;

/// Draws values of a struct or an enum, field by field.
///
/// Variants are ordered by the number of draws that their smallest values take, so that recursive types end; those of equal size as
/// they are written. Each value is a span whose label is the type's name.
///
/// - `#[generate(with = expression)]` on a field: a function or closure that takes the `&mut Source` and gives the field. It
///   counts as one draw.
/// - `#[generate(weight = 3)]` on a variant: how likely it is beside the others, which weigh 1.
/// - `#[generate(skip)]` on a variant: it is never drawn.
#[proc_macro_derive(Generate, attributes(generate))]
pub fn generate(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    generate::derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Writes values of a struct or an enum as bytes and reads them back; see `fuzzbox_guest::value::ENCODING`.
#[proc_macro_derive(Value)]
pub fn value(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    value::derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
