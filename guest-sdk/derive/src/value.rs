//! `#[derive(Value)]`.

use crate::fields;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Result};

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let is_enum = matches!(input.data, Data::Enum(_));
    let (mut arms, mut reads) = (Vec::new(), Vec::new());
    for shape in fields::shapes(input)? {
        let (pattern, names) = shape.pattern();
        let text = shape.name.to_string();
        let tag = is_enum.then(|| quote!(bytes.extend_from_slice(&::fuzzbox_guest::label(#text).to_le_bytes());));
        arms.push(quote!(#pattern => { #tag #(::fuzzbox_guest::Value::encode(#names, bytes);)* }));
        let values: Vec<TokenStream> = names.iter().map(|_| quote!(::fuzzbox_guest::Value::decode(bytes)?)).collect();
        let made = shape.made_of(&values);
        reads.push(if is_enum {
            quote!(if tag == ::fuzzbox_guest::label(#text) { return ::core::option::Option::Some(#made); })
        } else {
            quote!(return ::core::option::Option::Some(#made);)
        });
    }
    let read = if is_enum {
        quote! {
            let (tag, rest) = bytes.split_first_chunk()?;
            *bytes = rest;
            let tag = u32::from_le_bytes(*tag);
            #(#reads)*
            ::core::option::Option::None
        }
    } else {
        quote!(#(#reads)*)
    };
    let name = &input.ident;
    let generics = fields::bounded(&input.generics, &quote!(::fuzzbox_guest::Value));
    let (parameters, _, conditions) = generics.split_for_impl();
    let (_, arguments, _) = input.generics.split_for_impl();
    Ok(quote! {
        impl #parameters ::fuzzbox_guest::Value for #name #arguments #conditions {
            fn encode(&self, bytes: &mut ::fuzzbox_guest::__private::Vec<u8>) {
                match self { #(#arms)* }
            }

            fn decode(bytes: &mut &[u8]) -> ::core::option::Option<Self> {
                #read
            }
        }
    })
}
