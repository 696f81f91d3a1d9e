//! Generators that are made of no others.

use super::Generator;
use crate::generate::Generate;
use crate::integer::Integer;
use crate::label::label;
use crate::size::Sizes;
use crate::{Source, range};
use core::marker::PhantomData;
use core::ops::RangeBounds;

/// Values of a type that says how it is drawn.
pub fn any<T: Generate>() -> Any<T> {
    Any(PhantomData)
}

/// See [`any`].
#[derive(Debug)]
pub struct Any<T>(PhantomData<fn() -> T>);

impl<T: Generate> Generator for Any<T> {
    type Value = T;

    fn generate(&self, source: &mut Source) -> T {
        source.draw()
    }

    fn min_size(&self) -> u32 {
        Sizes::settle(|sizes| T::min_size(sizes))
    }

    fn label(&self) -> u32 {
        T::LABEL
    }
}

/// Always the same value, without a draw.
pub fn just<T: Clone>(value: T) -> Just<T> {
    Just(value)
}

/// See [`just`].
#[derive(Clone, Debug)]
pub struct Just<T>(T);

impl<T: Clone> Generator for Just<T> {
    type Value = T;

    fn generate(&self, _: &mut Source) -> T {
        self.0.clone()
    }

    fn min_size(&self) -> u32 {
        0
    }
}

/// Integers in a range.
///
/// # Panics
///
/// If there is none.
pub fn ints<T: Integer>(range: impl RangeBounds<T>) -> impl Generator<Value = T> {
    let (lo, hi) = range::bounds(&range);
    Ints { lo, hi }
}

struct Ints<T> {
    lo: T,
    hi: T,
}

impl<T: Integer> Generator for Ints<T> {
    type Value = T;

    fn generate(&self, source: &mut Source) -> T {
        source.int(self.lo..=self.hi)
    }

    fn min_size(&self) -> u32 {
        size_of::<T>().div_ceil(8) as u32
    }

    fn label(&self) -> u32 {
        label("integer")
    }
}

macro_rules! tuples {
    ($($($part:ident $at:tt)*;)*) => {$(
        impl<$($part: Generator),*> Generator for ($($part,)*) {
            type Value = ($($part::Value,)*);

            fn generate(&self, source: &mut Source) -> Self::Value {
                source.span(self.label(), |source| ($(self.$at.generate(source),)*))
            }

            fn min_size(&self) -> u32 {
                crate::total_size(&[$(self.$at.min_size()),*])
            }

            fn label(&self) -> u32 {
                let mut all = label("tuple");
                $(all = crate::label::mix(all, self.$at.label());)*
                all
            }
        }
    )*};
}

tuples! {
    A 0;
    A 0 B 1;
    A 0 B 1 C 2;
    A 0 B 1 C 2 D 3;
    A 0 B 1 C 2 D 3 E 4;
    A 0 B 1 C 2 D 3 E 4 F 5;
}
