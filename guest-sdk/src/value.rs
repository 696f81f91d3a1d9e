//! Values as bytes, so that a failure survives a change of the generator.
//!
//! A property in two parts draws a value and checks it. The value is kept beside the choices: when the generator
//! changes, the choices mean something else, but the value is what it was.

use alloc::borrow::ToOwned as _;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

/// The id of the encoding in this module.
///
/// | type | bytes |
/// | --- | --- |
/// | `u8`, `bool` | one |
/// | unsigned integers, `char` | LEB128 |
/// | signed integers | LEB128 of the zigzag form: 0, -1, 1, -2 are 0, 1, 2, 3 |
/// | `f32`, `f64` | their bits, little endian |
/// | `String`, lists, sets, maps | number of bytes or elements in LEB128, then these |
/// | `Option` | 0; or 1 and the value |
/// | tuples, arrays, structs, boxes | their parts, one after the other |
/// | enums | [`crate::label()`] of the variant's name, four bytes in little endian, then its fields |
///
/// So variants may be reordered and added, and fields renamed; fields that are added, removed or reordered make old
/// bytes unreadable, or mean something else. Bytes that are left over make a value unreadable.
pub const ENCODING: u32 = 1;

/// A type whose values are kept as bytes. Derived for structs and enums.
pub trait Value: Sized {
    /// Appends the value.
    fn encode(&self, bytes: &mut Vec<u8>);

    /// Takes a value from the front of `bytes`; `None` if there is none.
    fn decode(bytes: &mut &[u8]) -> Option<Self>;

    /// Which type it is: the FNV-1a hash of what [`core::any::type_name`] says. It tells values of another type; that
    /// it is the same proves nothing.
    fn type_id() -> u64 {
        crate::label64(core::any::type_name::<Self>())
    }
}

/// The bytes of a value.
pub fn to_bytes(value: &impl Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.encode(&mut bytes);
    bytes
}

/// The value that these bytes are, and nothing else.
pub fn from_bytes<T: Value>(mut bytes: &[u8]) -> Option<T> {
    let value = T::decode(&mut bytes)?;
    bytes.is_empty().then_some(value)
}

/// Items without bytes that a list can have.
const EMPTY_ITEMS_MAX: usize = 1 << 16;

fn take<'a>(bytes: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    Some(taken)
}

fn write_number(bytes: &mut Vec<u8>, mut number: u128) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn read_number(bytes: &mut &[u8]) -> Option<u128> {
    let mut number = 0;
    for at in 0..19 {
        let byte = take(bytes, 1)?[0];
        number |= u128::from(byte & 0x7f).checked_shl(7 * at)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

impl Value for u8 {
    fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.push(*self);
    }

    fn decode(bytes: &mut &[u8]) -> Option<Self> {
        Some(take(bytes, 1)?[0])
    }
}

impl Value for bool {
    fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.push((*self).into());
    }

    fn decode(bytes: &mut &[u8]) -> Option<Self> {
        match u8::decode(bytes)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

macro_rules! unsigned {
    ($($type:ident)*) => {$(
        impl Value for $type {
            fn encode(&self, bytes: &mut Vec<u8>) {
                write_number(bytes, *self as u128);
            }

            fn decode(bytes: &mut &[u8]) -> Option<Self> {
                read_number(bytes)?.try_into().ok()
            }
        }
    )*};
}

unsigned! { u16 u32 u64 u128 usize }

macro_rules! signed {
    ($($type:ident)*) => {$(
        impl Value for $type {
            fn encode(&self, bytes: &mut Vec<u8>) {
                let wide = *self as i128;
                write_number(bytes, ((wide << 1) ^ (wide >> 127)) as u128);
            }

            fn decode(bytes: &mut &[u8]) -> Option<Self> {
                let number = read_number(bytes)?;
                (((number >> 1) as i128) ^ -((number & 1) as i128)).try_into().ok()
            }
        }
    )*};
}

signed! { i8 i16 i32 i64 i128 isize }

macro_rules! floats {
    ($($type:ident)*) => {$(
        impl Value for $type {
            fn encode(&self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn decode(bytes: &mut &[u8]) -> Option<Self> {
                Some(Self::from_le_bytes(take(bytes, size_of::<Self>())?.try_into().ok()?))
            }
        }
    )*};
}

floats! { f32 f64 }

impl Value for char {
    fn encode(&self, bytes: &mut Vec<u8>) {
        (*self as u32).encode(bytes);
    }

    fn decode(bytes: &mut &[u8]) -> Option<Self> {
        Self::from_u32(u32::decode(bytes)?)
    }
}

impl Value for String {
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.len().encode(bytes);
        bytes.extend_from_slice(self.as_bytes());
    }

    fn decode(bytes: &mut &[u8]) -> Option<Self> {
        let len = usize::decode(bytes)?;
        Some(core::str::from_utf8(take(bytes, len)?).ok()?.to_owned())
    }
}

impl<T: Value> Value for Box<T> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        (**self).encode(bytes);
    }

    fn decode(bytes: &mut &[u8]) -> Option<Self> {
        T::decode(bytes).map(Self::new)
    }
}

impl<T: Value> Value for Option<T> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.is_some().encode(bytes);
        if let Some(value) = self {
            value.encode(bytes);
        }
    }

    fn decode(bytes: &mut &[u8]) -> Option<Self> {
        Some(if bool::decode(bytes)? { Some(T::decode(bytes)?) } else { None })
    }
}

macro_rules! lists {
    ($($type:ident<$($part:ident: $($bound:ident)+),*> $item:ty;)*) => {$(
        impl<$($part: $($bound +)+ ),*> Value for $type<$($part),*> {
            fn encode(&self, bytes: &mut Vec<u8>) {
                self.len().encode(bytes);
                self.iter().for_each(|item| lists!(@item item bytes $($part)*));
            }

            fn decode(bytes: &mut &[u8]) -> Option<Self> {
                // What it says of its length is not trusted: nothing is reserved, and items may take no bytes.
                let len = usize::decode(bytes)?;
                (len <= bytes.len().max(EMPTY_ITEMS_MAX)).then_some(())?;
                (0..len).map(|_| <$item>::decode(bytes)).collect()
            }
        }
    )*};
    (@item $item:ident $bytes:ident $one:ident) => { $item.encode($bytes) };
    (@item $item:ident $bytes:ident $one:ident $other:ident) => {{
        $item.0.encode($bytes);
        $item.1.encode($bytes);
    }};
}

lists! {
    Vec<T: Value> T;
    BTreeSet<T: Value Ord> T;
    BTreeMap<K: Value Ord, V: Value> (K, V);
}

impl<T: Value, const N: usize> Value for [T; N] {
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.iter().for_each(|item| item.encode(bytes));
    }

    fn decode(bytes: &mut &[u8]) -> Option<Self> {
        let items: Option<Vec<T>> = (0..N).map(|_| T::decode(bytes)).collect();
        items?.try_into().ok()
    }
}

impl Value for () {
    fn encode(&self, _: &mut Vec<u8>) {}

    fn decode(_: &mut &[u8]) -> Option<Self> {
        Some(())
    }
}

macro_rules! tuples {
    ($($($part:ident $at:tt)*;)*) => {$(
        impl<$($part: Value),*> Value for ($($part,)*) {
            fn encode(&self, bytes: &mut Vec<u8>) {
                $(self.$at.encode(bytes);)*
            }

            fn decode(bytes: &mut &[u8]) -> Option<Self> {
                Some(($($part::decode(bytes)?,)*))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn comes_back<T: Value + PartialEq + core::fmt::Debug>(value: T) {
        assert_eq!(from_bytes::<T>(&to_bytes(&value)), Some(value));
    }

    #[test]
    fn values_come_back_from_their_bytes() {
        comes_back((0_u8, 255_u8, 300_u16, u64::MAX, u128::MAX, usize::MAX));
        comes_back((i8::MIN, -1_i16, i32::MAX, i64::MIN, i128::MIN, i128::MAX));
        comes_back((true, 'ß', 1.5_f32, -0.0_f64));
        comes_back((String::from("grün"), Some(Box::new(5_u32)), None::<u8>));
        comes_back(Vec::from([(); 3]));
        comes_back(BTreeMap::from([(1_u8, String::new()), (2, String::from("b"))]));
        comes_back([1_u16, 2, 3]);
    }

    #[test]
    fn what_is_no_value_is_refused() {
        assert_eq!(from_bytes::<bool>(&[2]), None);
        assert_eq!(from_bytes::<u8>(&[1, 2]), None, "bytes that are left over");
        assert_eq!(from_bytes::<u16>(&[0xff, 0xff, 0x7f]), None);
        assert_eq!(from_bytes::<Vec<u8>>(&[0xff, 0xff, 0xff, 0xff, 0x7f]), None);
        assert_eq!(from_bytes::<char>(&to_bytes(&0xd800_u32)), None);
        assert_eq!(from_bytes::<u128>(&[0xff; 40]), None);
    }

    #[test]
    fn the_encoding_is_what_its_table_says() {
        assert_eq!(to_bytes(&(-2_i32, 300_u16, String::from("ab"))), [3, 0xac, 2, 2, b'a', b'b']);
        assert_eq!(to_bytes(&Vec::from([Some(1_u8), None])), [2, 1, 1, 0]);
    }
}
