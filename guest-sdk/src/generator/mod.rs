//! Generators as values: what to draw when the type alone doesn't say it.
//!
//! ```
//! use fuzzbox_guest::{Generator, any, ints, one_of, recursive, vec};
//!
//! #[derive(Clone, Debug)]
//! enum Json {
//!     Null,
//!     Number(i64),
//!     List(Vec<Json>),
//! }
//!
//! fn json() -> impl Generator<Value = Json> {
//!     recursive(|json| {
//!         one_of![
//!             vec(json, 0..=4).map(Json::List),
//!             ints(-9..=9).map(Json::Number),
//!             fuzzbox_guest::just(Json::Null),
//!         ]
//!     })
//! }
//!
//! fn property(source: &mut fuzzbox_guest::Source) {
//!     let value = source.draw_from(&json());
//!     let flags: bool = source.draw_from(&any::<bool>());
//! }
//! ```
//!
//! Alternatives are ordered by the size of their smallest values (the number of draws), those of equal size as written, so
//! the list above is the last of the three although it is written first. In [`recursive`] the reference to itself is infinite while it is
//! being defined.

mod basic;
mod combine;
mod one_of;
mod recursive;

pub use basic::{Any, Just, any, ints, just};
pub use combine::{Filter, Map, OptionOf, Then, VecOf, option, vec};
pub use one_of::{OneOf, boxed, weighted};
pub use recursive::{Recursive, recursive};

use crate::Source;
use alloc::boxed::Box;

/// Something that knows how to draw values.
pub trait Generator {
    /// What is drawn.
    type Value;

    /// Draws a value.
    fn generate(&self, source: &mut Source) -> Self::Value;

    /// The fewest draws that a value takes; [`crate::INFINITE`] if that isn't known.
    fn min_size(&self) -> u32;

    /// What kind of thing a value is, as a span's label; 0 for none in particular.
    fn label(&self) -> u32 {
        0
    }

    /// How many alternatives this is, if that is all it is; else 1. They become alternatives of a [`one_of!`](crate::one_of!) around it.
    fn alternatives(&self) -> u32 {
        1
    }

    /// The fewest draws that an alternative takes, besides the choice of it.
    fn alternative_min_size(&self, alternative: u32) -> u32 {
        let _ = alternative;
        self.min_size()
    }

    /// Draws a value of an alternative that has been chosen already.
    fn generate_alternative(&self, alternative: u32, source: &mut Source) -> Self::Value {
        let _ = alternative;
        self.generate(source)
    }

    /// What a function makes of the values.
    fn map<T, F: Fn(Self::Value) -> T>(self, function: F) -> Map<Self, F>
    where
        Self: Sized,
    {
        Map::new(self, function)
    }

    /// Values that fulfil a condition; three attempts, then the execution is rejected.
    fn filter<F: Fn(&Self::Value) -> bool>(self, condition: F) -> Filter<Self, F>
    where
        Self: Sized,
    {
        Filter::new(self, condition)
    }

    /// Values of a generator that depends on a value. Its smallest size is not known, so it counts as infinite.
    fn then<G: Generator, F: Fn(Self::Value) -> G>(self, next: F) -> Then<Self, F>
    where
        Self: Sized,
    {
        Then::new(self, next)
    }
}

macro_rules! forward {
    ($($type:ty)*) => {$(
        impl<G: Generator + ?Sized> Generator for $type {
            type Value = G::Value;

            fn generate(&self, source: &mut Source) -> Self::Value {
                (**self).generate(source)
            }

            fn min_size(&self) -> u32 {
                (**self).min_size()
            }

            fn label(&self) -> u32 {
                (**self).label()
            }

            fn alternatives(&self) -> u32 {
                (**self).alternatives()
            }

            fn alternative_min_size(&self, alternative: u32) -> u32 {
                (**self).alternative_min_size(alternative)
            }

            fn generate_alternative(&self, alternative: u32, source: &mut Source) -> Self::Value {
                (**self).generate_alternative(alternative, source)
            }
        }
    )*};
}

forward! { &G Box<G> }
