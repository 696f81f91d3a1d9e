//! `#[derive(Generate)]`.

use crate::fields::{self, Shape};
use crate::options::options;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Result};

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let is_enum = matches!(input.data, Data::Enum(_));
    if !is_enum {
        options(&input.attrs, &[])?;
    }
    let ways = fields::shapes(input)?.iter().map(|shape| way(shape, is_enum)).collect::<Result<Vec<_>>>()?;
    let ways: Vec<Way> = ways.into_iter().flatten().collect();
    if ways.is_empty() {
        return Err(Error::new_spanned(&input.ident, "every variant is skipped"));
    }
    let (body, size) = if is_enum { alternatives(&ways) } else { (ways[0].made.clone(), total(&ways[0].sizes, 0)) };

    let (name, text) = (&input.ident, input.ident.to_string());
    let generics = fields::bounded(&input.generics, &quote!(::fuzzbox_guest::Generate));
    let (parameters, _, conditions) = generics.split_for_impl();
    let (_, arguments, _) = input.generics.split_for_impl();
    let types = input.generics.type_params().map(|parameter| &parameter.ident);
    Ok(quote! {
        impl #parameters ::fuzzbox_guest::Generate for #name #arguments #conditions {
            const LABEL: u32 = {
                let label = ::fuzzbox_guest::label(concat!(module_path!(), "::", #text));
                #(let label = ::fuzzbox_guest::__private::mix(label, <#types as ::fuzzbox_guest::Generate>::LABEL);)*
                label
            };

            fn generate(source: &mut ::fuzzbox_guest::Source) -> Self {
                source.span(Self::LABEL, |source| #body)
            }

            fn min_size(sizes: &mut ::fuzzbox_guest::Sizes) -> u32 {
                sizes.of(::core::any::type_name::<Self>(), |sizes| #size)
            }
        }
    })
}

/// A struct or a variant that is drawn.
struct Way {
    /// An expression that draws the fields.
    made: TokenStream,
    /// Expressions for the sizes of the fields.
    sizes: Vec<TokenStream>,
    weight: Option<u32>,
}

/// `None` if it is skipped.
fn way(shape: &Shape<'_>, is_variant: bool) -> Result<Option<Way>> {
    let of_shape = if is_variant { options(shape.attributes, &["weight", "skip"])? } else { Default::default() };
    let (mut draws, mut sizes) = (Vec::new(), Vec::new());
    for field in shape.fields {
        let field_type = &field.ty;
        match options(&field.attrs, &["with"])?.with {
            Some(with) => {
                // What a closure takes is known only where it is called.
                draws.push(quote!({
                    fn call<T>(source: &mut ::fuzzbox_guest::Source, with: impl FnOnce(&mut ::fuzzbox_guest::Source) -> T) -> T {
                        with(source)
                    }
                    call::<#field_type>(source, #with)
                }));
                sizes.push(quote!(1));
            }
            None => {
                draws.push(quote!(<#field_type as ::fuzzbox_guest::Generate>::generate(source)));
                sizes.push(quote!(<#field_type as ::fuzzbox_guest::Generate>::min_size(sizes)));
            }
        }
    }
    let way = Way { made: shape.made_of(&draws), sizes, weight: of_shape.weight };
    Ok((!of_shape.skip).then_some(way))
}

/// How one of several variants is drawn, and how many draws the smallest takes.
fn alternatives(ways: &[Way]) -> (TokenStream, TokenStream) {
    let sizes = ways.iter().map(|way| total(&way.sizes, 0));
    let sizes = quote!(::fuzzbox_guest::__private::vec![#(#sizes),*]);
    let weights = if ways.iter().any(|way| way.weight.is_some()) {
        let weights = ways.iter().map(|way| way.weight.unwrap_or(1));
        quote!(::core::option::Option::Some(&[#(#weights),*]))
    } else {
        quote!(::core::option::Option::None)
    };
    let (numbers, made) = (0..ways.len() - 1, ways.iter().map(|way| &way.made).collect::<Vec<_>>());
    let (last, others) = made.split_last().expect("there is a way");
    let body = quote! {{
        let alternative =
            source.alternative(::core::any::type_name::<Self>(), #weights, |sizes| #sizes);
        source.deeper(|source| match alternative {
            #(#numbers => #others,)*
            _ => #last,
        })
    }};
    let least = quote! {{
        let sizes = #sizes;
        ::fuzzbox_guest::total_size(&[1, sizes.into_iter().min().unwrap_or(::fuzzbox_guest::INFINITE)])
    }};
    (body, least)
}

fn total(sizes: &[TokenStream], more: u32) -> TokenStream {
    quote!(::fuzzbox_guest::total_size(&[#more, #(#sizes),*]))
}
