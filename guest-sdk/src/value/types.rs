//! The library's types, as values.

use super::{Fields, Item, Value};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

/// The float that an item is, if it is a number.
fn float(item: &Item) -> Option<f64> {
    match item {
        Item::Unsigned(number) => Some(*number as f64),
        Item::Negative(number) => Some(-1.0 - *number as f64),
        Item::Single(number) => Some(f64::from(*number)),
        Item::Double(number) => Some(*number),
        _ => None,
    }
}

macro_rules! integers {
    ($($type:ident)*) => {$(
        impl Value for $type {
            fn to_item(&self) -> Item {
                #[allow(unused_comparisons)]
                if *self < 0 { Item::Negative(!(*self as u128)) } else { Item::Unsigned(*self as u128) }
            }

            /// The nearest that there is.
            fn of_item(item: &Item) -> Option<Self> {
                match item.inner() {
                    Item::Unsigned(number) => Some((*number).try_into().unwrap_or(Self::MAX)),
                    Item::Negative(number) => {
                        let wide = i128::try_from(*number).map_or(i128::MIN, |number| !number);
                        Some(wide.try_into().unwrap_or(Self::MIN))
                    }
                    // Casts round towards 0 and end at the bounds.
                    other => float(other).map(|number| number as Self),
                }
            }

            fn simplest(_: u32) -> Option<Self> {
                Some(0)
            }
        }
    )*};
}

integers! { u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize }

impl Value for bool {
    fn to_item(&self) -> Item {
        Item::Unsigned(u128::from(*self))
    }

    fn of_item(item: &Item) -> Option<Self> {
        match item.inner() {
            Item::Unsigned(0) => Some(false),
            Item::Unsigned(1) => Some(true),
            _ => None,
        }
    }

    fn simplest(_: u32) -> Option<Self> {
        Some(false)
    }
}

macro_rules! floats {
    ($($type:ident $kind:ident)*) => {$(
        impl Value for $type {
            fn to_item(&self) -> Item {
                Item::$kind(*self)
            }

            fn of_item(item: &Item) -> Option<Self> {
                match item.inner() {
                    // The bits of NaNs are theirs.
                    Item::$kind(number) => Some(*number),
                    other => float(other).map(|number| number as Self),
                }
            }

            fn simplest(_: u32) -> Option<Self> {
                Some(0.0)
            }
        }
    )*};
}

floats! { f32 Single f64 Double }

impl Value for char {
    fn to_item(&self) -> Item {
        Item::Unsigned((*self as u32).into())
    }

    fn of_item(item: &Item) -> Option<Self> {
        match item.inner() {
            Item::Unsigned(number) => Self::from_u32(u32::try_from(*number).ok()?),
            Item::Text(text) => text.chars().next(),
            _ => None,
        }
    }

    fn simplest(_: u32) -> Option<Self> {
        Some('a')
    }
}

impl Value for String {
    fn to_item(&self) -> Item {
        Item::Text(self.clone())
    }

    fn of_item(item: &Item) -> Option<Self> {
        match item.inner() {
            Item::Text(text) => Some(text.clone()),
            // It may have been a list of characters.
            Item::List(items) => items.iter().map(char::of_item).collect(),
            _ => None,
        }
    }

    fn simplest(_: u32) -> Option<Self> {
        Some(Self::new())
    }
}

impl<T: Value> Value for Box<T> {
    fn to_item(&self) -> Item {
        (**self).to_item()
    }

    fn of_item(item: &Item) -> Option<Self> {
        T::of_item(item).map(Self::new)
    }

    fn simplest(depth: u32) -> Option<Self> {
        T::simplest(depth).map(Self::new)
    }
}

impl<T: Value> Value for Option<T> {
    fn to_item(&self) -> Item {
        Item::Option(self.as_ref().map(|value| Box::new(value.to_item())))
    }

    fn of_item(item: &Item) -> Option<Self> {
        Some(match item {
            Item::Option(option) => {
                option.as_ref().map(|item| T::of_item(item)).map_or(Some(None), |value| value.map(Some))?
            }
            other => Some(T::of_item(other)?),
        })
    }

    fn simplest(_: u32) -> Option<Self> {
        Some(None)
    }
}

/// The elements of what is or was a list.
fn elements<T: Value>(item: &Item) -> Option<Vec<T>> {
    match item {
        Item::List(items) => items.iter().map(T::of_item).collect(),
        Item::Option(None) => Some(Vec::new()),
        Item::Option(Some(item)) => elements(item),
        Item::Text(text) => text.bytes().map(|byte| T::of_item(&Item::Unsigned(byte.into()))).collect(),
        Item::Record(fields) if fields.len() == 1 && matches!(fields[0].1, Item::List(_)) => elements(&fields[0].1),
        // One thing may have become several.
        other => Some(Vec::from([T::of_item(other)?])),
    }
}

macro_rules! lists {
    ($($type:ident<$part:ident: $($bound:ident)+>;)*) => {$(
        impl<$part: $($bound +)+> Value for $type<$part> {
            fn to_item(&self) -> Item {
                Item::List(self.iter().map($part::to_item).collect())
            }

            fn of_item(item: &Item) -> Option<Self> {
                Some(elements(item)?.into_iter().collect())
            }

            fn simplest(_: u32) -> Option<Self> {
                Some(Self::new())
            }
        }
    )*};
}

lists! {
    Vec<T: Value>;
    BTreeSet<T: Value Ord>;
}

impl<K: Value + Ord, V: Value> Value for BTreeMap<K, V> {
    fn to_item(&self) -> Item {
        let pair = |(key, value): (&K, &V)| Item::Record(Vec::from([(0, key.to_item()), (0, value.to_item())]));
        Item::List(self.iter().map(pair).collect())
    }

    fn of_item(item: &Item) -> Option<Self> {
        Some(elements::<(K, V)>(item)?.into_iter().collect())
    }

    fn simplest(_: u32) -> Option<Self> {
        Some(Self::new())
    }
}

/// Elements that are not there are the simplest, and those that are too many are left out.
impl<T: Value, const N: usize> Value for [T; N] {
    fn to_item(&self) -> Item {
        Item::List(self.iter().map(T::to_item).collect())
    }

    fn of_item(item: &Item) -> Option<Self> {
        let mut items = elements(item)?;
        while items.len() < N {
            items.push(T::simplest(super::SIMPLEST_DEPTH_MAX)?);
        }
        items.truncate(N);
        items.try_into().ok()
    }

    fn simplest(depth: u32) -> Option<Self> {
        let items: Option<Vec<T>> = (0..N).map(|_| T::simplest(depth)).collect();
        items?.try_into().ok()
    }
}

impl Value for () {
    fn to_item(&self) -> Item {
        Item::Record(Vec::new())
    }

    fn of_item(_: &Item) -> Option<Self> {
        Some(())
    }

    fn simplest(_: u32) -> Option<Self> {
        Some(())
    }
}

macro_rules! tuples {
    ($($($part:ident $at:tt)*;)*) => {$(
        impl<$($part: Value),*> Value for ($($part,)*) {
            fn to_item(&self) -> Item {
                Item::Record(Vec::from([$((0, self.$at.to_item())),*]))
            }

            fn of_item(item: &Item) -> Option<Self> {
                let mut fields = Fields::new(item, &[]);
                Some(($(fields.take::<$part>()?,)*))
            }

            fn simplest(depth: u32) -> Option<Self> {
                let depth = depth.checked_sub(1)?;
                Some(($($part::simplest(depth)?,)*))
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
