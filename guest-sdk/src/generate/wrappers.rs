//! Pointers, options, results, tuples.

use super::{Generate, label_of};
use crate::Source;
use crate::label::{label, mix};
use crate::size::{Sizes, total_size};
use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

macro_rules! pointers {
    ($($type:ident)*) => {$(
        impl<T: Generate> Generate for $type<T> {
            const LABEL: u32 = T::LABEL;

            fn generate(source: &mut Source) -> Self {
                Self::new(T::generate(source))
            }

            fn min_size(sizes: &mut Sizes) -> u32 {
                T::min_size(sizes)
            }
        }
    )*};
}

pointers! { Box Rc Arc Cell RefCell }

impl<T: Generate> Generate for Box<[T]> {
    const LABEL: u32 = label_of("slice", T::LABEL);

    fn generate(source: &mut Source) -> Self {
        Vec::generate(source).into()
    }

    fn min_size(sizes: &mut Sizes) -> u32 {
        Vec::<T>::min_size(sizes)
    }
}

/// Always owned.
impl<B: ToOwned<Owned: Generate> + ?Sized> Generate for Cow<'_, B> {
    const LABEL: u32 = B::Owned::LABEL;

    fn generate(source: &mut Source) -> Self {
        Cow::Owned(B::Owned::generate(source))
    }

    fn min_size(sizes: &mut Sizes) -> u32 {
        B::Owned::min_size(sizes)
    }
}

impl<T: Generate> Generate for Option<T> {
    const LABEL: u32 = label_of("Option", T::LABEL);

    fn generate(source: &mut Source) -> Self {
        source.span(Self::LABEL, |source| {
            source.deeper(|source| {
                let p_some = if source.is_too_deep() { 0.0 } else { 0.5 };
                if source.chance(p_some) { Some(T::generate(source)) } else { None }
            })
        })
    }
}

impl<T: Generate, E: Generate> Generate for Result<T, E> {
    const LABEL: u32 = mix(label_of("Result", T::LABEL), E::LABEL);

    fn generate(source: &mut Source) -> Self {
        source.span(Self::LABEL, |source| {
            let name = core::any::type_name::<Self>();
            let alternative = source.alternative(name, None, |sizes| [T::min_size(sizes), E::min_size(sizes)].into());
            source.deeper(|source| match alternative {
                0 => Ok(T::generate(source)),
                _ => Err(E::generate(source)),
            })
        })
    }

    fn min_size(sizes: &mut Sizes) -> u32 {
        sizes.of(core::any::type_name::<Self>(), |sizes| total_size(&[1, T::min_size(sizes).min(E::min_size(sizes))]))
    }
}

macro_rules! tuples {
    ($($($part:ident)*;)*) => {$(
        impl<$($part: Generate),*> Generate for ($($part,)*) {
            const LABEL: u32 = {
                let mut all = label("tuple");
                $(all = mix(all, $part::LABEL);)*
                all
            };

            fn generate(source: &mut Source) -> Self {
                source.span(Self::LABEL, |source| ($($part::generate(source),)*))
            }

            fn min_size(sizes: &mut Sizes) -> u32 {
                total_size(&[$($part::min_size(sizes)),*])
            }
        }
    )*};
}

tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
}
