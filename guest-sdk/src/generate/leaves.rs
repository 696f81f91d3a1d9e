//! Types without parts.

use super::Generate;
use crate::Source;
use crate::integer::Integer;
use crate::label::label;
use crate::size::Sizes;
use crate::source::BLOB_LEN_MAX;
use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::num::{NonZero, Wrapping};
use core::time::Duration;

macro_rules! integers {
    ($($type:ident)*) => {$(
        impl Generate for $type {
            const LABEL: u32 = label(stringify!($type));

            fn generate(source: &mut Source) -> Self {
                source.int(..)
            }
        }

        /// Not 0; 1 is the simplest.
        impl Generate for NonZero<$type> {
            const LABEL: u32 = label(concat!("NonZero<", stringify!($type), ">"));

            fn generate(source: &mut Source) -> Self {
                // For signed types, what is drawn from 0 on goes up by one.
                let drawn: $type = source.int(..$type::MAX);
                let number = if <$type as Integer>::ZERO <= drawn { drawn + 1 } else { drawn };
                Self::new(number).expect("numbers from 0 on went up by one")
            }
        }
    )*};
}

integers! { i8 i16 i32 i64 isize u16 u32 u64 usize }

/// A list of them is a blob.
impl Generate for u8 {
    const LABEL: u32 = label("u8");

    fn generate(source: &mut Source) -> Self {
        source.int(..)
    }

    fn generate_vec(source: &mut Source) -> Vec<Self> {
        source.bytes(..=BLOB_LEN_MAX as usize)
    }
}

macro_rules! wide {
    ($($type:ident)*) => {$(
        /// Two draws of 64 bits.
        impl Generate for $type {
            const LABEL: u32 = label(stringify!($type));

            fn generate(source: &mut Source) -> Self {
                source.span(Self::LABEL, |source| source.int(..))
            }

            fn min_size(_: &mut Sizes) -> u32 {
                2
            }
        }
    )*};
}

wide! { i128 u128 }

macro_rules! by_method {
    ($($type:ident $method:ident)*) => {$(
        impl Generate for $type {
            const LABEL: u32 = label(stringify!($type));

            fn generate(source: &mut Source) -> Self {
                source.$method()
            }
        }
    )*};
}

by_method! { bool bool f64 f64 f32 f32 char char }

/// Up to 4096 characters.
impl Generate for String {
    const LABEL: u32 = label("String");

    fn generate(source: &mut Source) -> Self {
        source.string(..=BLOB_LEN_MAX as usize)
    }
}

impl Generate for () {
    const LABEL: u32 = label("()");

    fn generate(_: &mut Source) -> Self {}

    fn min_size(_: &mut Sizes) -> u32 {
        0
    }
}

impl<T> Generate for PhantomData<T> {
    const LABEL: u32 = label("PhantomData");

    fn generate(_: &mut Source) -> Self {
        Self
    }

    fn min_size(_: &mut Sizes) -> u32 {
        0
    }
}

impl<T: Generate> Generate for Wrapping<T> {
    const LABEL: u32 = T::LABEL;

    fn generate(source: &mut Source) -> Self {
        Self(T::generate(source))
    }

    fn min_size(sizes: &mut Sizes) -> u32 {
        T::min_size(sizes)
    }
}

/// Seconds of 64 bits, and nanoseconds.
impl Generate for Duration {
    const LABEL: u32 = label("Duration");

    fn generate(source: &mut Source) -> Self {
        source.span(Self::LABEL, |source| Self::new(source.int(..), source.int(0..1_000_000_000)))
    }

    fn min_size(_: &mut Sizes) -> u32 {
        2
    }
}

impl Generate for core::cmp::Ordering {
    const LABEL: u32 = label("Ordering");

    fn generate(source: &mut Source) -> Self {
        *source.pick(&[Self::Equal, Self::Less, Self::Greater])
    }
}
