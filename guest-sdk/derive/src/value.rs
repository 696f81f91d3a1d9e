//! `#[derive(Value)]`.

use crate::fields::{self, Shape};
use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::{Data, DeriveInput, Member, Result};

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let is_enum = matches!(input.data, Data::Enum(_));
    let shapes = fields::shapes(input)?;
    let kept = shapes.iter().enumerate().map(|(at, shape)| kept(at as u32, shape, is_enum));
    let reads = shapes.iter().enumerate().map(|(at, shape)| read(at, shape));
    let simplest: Vec<TokenStream> = shapes.iter().map(simplest).collect();
    let read = if is_enum {
        let names = shapes.iter().map(|shape| label(&shape.name.to_string()));
        quote!(match item.variant(&[#(#names),*])? { #(#reads)* _ => ::core::option::Option::None })
    } else {
        quote!(match 0_usize { #(#reads)* _ => ::core::option::Option::None })
    };
    let simplest = if is_enum {
        // The smallest of all variants, and of those the first.
        quote!((0..=depth).find_map(|depth| ::core::option::Option::None #(.or_else(|| #simplest))*))
    } else {
        quote!(#(#simplest)*)
    };
    let name = &input.ident;
    let generics = fields::bounded(&input.generics, &quote!(::fuzzbox_guest::Value));
    let (parameters, _, conditions) = generics.split_for_impl();
    let (_, arguments, _) = input.generics.split_for_impl();
    Ok(quote! {
        impl #parameters ::fuzzbox_guest::Value for #name #arguments #conditions {
            fn to_item(&self) -> ::fuzzbox_guest::value::Item {
                match self { #(#kept)* }
            }

            fn of_item(item: &::fuzzbox_guest::value::Item) -> ::core::option::Option<Self> {
                #read
            }

            #[allow(unused_variables)]
            fn simplest(depth: u32) -> ::core::option::Option<Self> {
                #simplest
            }
        }
    })
}

/// The label of a name.
fn label(name: &str) -> TokenStream {
    quote!(::fuzzbox_guest::label(#name))
}

/// Labels of the fields' names; those that have none have 0.
fn labels(shape: &Shape<'_>) -> Vec<TokenStream> {
    let of_member = |member| match member {
        Member::Named(name) => label(&name.to_token_stream().to_string()),
        Member::Unnamed(_) => quote!(0_u32),
    };
    shape.fields.members().map(of_member).collect()
}

/// An arm that makes the item of a shape.
fn kept(at: u32, shape: &Shape<'_>, is_variant: bool) -> TokenStream {
    let (pattern, names) = shape.pattern();
    let labels = labels(shape);
    let fields = quote!(::fuzzbox_guest::__private::vec![#((#labels, ::fuzzbox_guest::Value::to_item(#names))),*]);
    if is_variant {
        let name = label(&shape.name.to_string());
        quote!(#pattern => ::fuzzbox_guest::value::Item::Variant { at: #at, name: #name, fields: #fields },)
    } else {
        quote!(#pattern => ::fuzzbox_guest::value::Item::Record(#fields),)
    }
}

/// An arm that reads a shape.
fn read(at: usize, shape: &Shape<'_>) -> TokenStream {
    let labels = labels(shape);
    let values: Vec<TokenStream> = labels.iter().map(|_| quote!(fields.take()?)).collect();
    let made = shape.made_of(&values);
    quote! {
        #at => {
            let names: &[u32] = &[#(#labels),*];
            #[allow(unused_mut, unused_variables)]
            let mut fields = ::fuzzbox_guest::value::Fields::new(item, names);
            ::core::option::Option::Some(#made)
        }
    }
}

/// An expression that makes the simplest value of a shape.
fn simplest(shape: &Shape<'_>) -> TokenStream {
    let one = || quote!(::fuzzbox_guest::Value::simplest(::core::primitive::u32::checked_sub(depth, 1)?)?);
    let values: Vec<TokenStream> = shape.fields.members().map(|_| one()).collect();
    let made = shape.made_of(&values);
    quote!((|| ::core::option::Option::Some(#made))())
}
