//! What is kept of a value: a tree that says of itself what it is.

use super::{SIMPLEST_DEPTH_MAX, Value};
use alloc::borrow::ToOwned as _;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

/// Items deeper within each other than this are not read: hostile bytes would exhaust the stack.
const DEPTH_MAX: usize = 2048;

/// What is kept of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// An integer from 0 on.
    Unsigned(u128),
    /// An integer below 0: -1 minus it.
    Negative(u128),
    /// A number of 32 bits.
    Single(f32),
    /// A number of 64 bits.
    Double(f64),
    /// A text.
    Text(String),
    /// What has any number of elements.
    List(Vec<Self>),
    /// What has fields, each with the label of its name, or 0.
    Record(Vec<(u32, Self)>),
    /// One of several ways to be a value.
    Variant {
        /// Its place among them.
        at: u32,
        /// The label of its name.
        name: u32,
        /// Its fields.
        fields: Vec<(u32, Self)>,
    },
    /// A thing or nothing.
    Option(Option<Box<Self>>),
}

impl Item {
    /// What is in it, if that is one thing: a struct of one field is what the field is.
    pub fn inner(&self) -> &Self {
        let mut item = self;
        loop {
            item = match item {
                Self::Option(Some(some)) => some,
                Self::Record(fields) if fields.len() == 1 => &fields[0].1,
                _ => return item,
            };
        }
    }

    /// The place of the variant that it is, among those of an enum whose variants are called so: by its name, else by
    /// its place.
    pub fn variant(&self, names: &[u32]) -> Option<usize> {
        match self {
            Self::Variant { at, name, .. } => {
                let place = (*at as usize).min(names.len());
                names.iter().position(|known| known == name).or((place < names.len()).then_some(place))
            }
            Self::Option(Some(item)) => item.variant(names),
            _ => None,
        }
    }

    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Unsigned(number) => write_head(bytes, 0, *number),
            Self::Negative(number) => write_head(bytes, 1, *number),
            Self::Single(number) => {
                write_head(bytes, 2, 4);
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            Self::Double(number) => {
                write_head(bytes, 2, 8);
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            Self::Text(text) => {
                write_head(bytes, 3, text.len() as u128);
                bytes.extend_from_slice(text.as_bytes());
            }
            Self::List(items) => {
                write_head(bytes, 4, items.len() as u128);
                items.iter().for_each(|item| item.write(bytes));
            }
            Self::Record(fields) => write_fields(bytes, fields),
            Self::Variant { at, name, fields } => {
                write_head(bytes, 6, u128::from(*at));
                bytes.extend_from_slice(&name.to_le_bytes());
                write_fields(bytes, fields);
            }
            Self::Option(option) => {
                write_head(bytes, 7, u128::from(option.is_some()));
                option.iter().for_each(|item| item.write(bytes));
            }
        }
    }

    /// The item that these bytes are, and nothing else.
    pub(super) fn read(mut bytes: &[u8]) -> Option<Self> {
        let item = Self::take(&mut bytes, DEPTH_MAX)?;
        bytes.is_empty().then_some(item)
    }

    fn take(bytes: &mut &[u8], depth: usize) -> Option<Self> {
        let (kind, number) = take_head(bytes)?;
        let below = depth.checked_sub(1)?;
        Some(match kind {
            0 => Self::Unsigned(number),
            1 => Self::Negative(number),
            2 if number == 4 => Self::Single(f32::from_le_bytes(take_array(bytes)?)),
            2 if number == 8 => Self::Double(f64::from_le_bytes(take_array(bytes)?)),
            3 => {
                let (text, rest) = bytes.split_at_checked(usize::try_from(number).ok()?)?;
                *bytes = rest;
                Self::Text(core::str::from_utf8(text).ok()?.to_owned())
            }
            // What it says of its length is not trusted: nothing is reserved, and each item takes a byte.
            4 => Self::List((0..number).map(|_| Self::take(bytes, below)).collect::<Option<_>>()?),
            5 => Self::Record(Self::take_fields(bytes, number, below)?),
            6 => {
                let name = u32::from_le_bytes(take_array(bytes)?);
                let (5, count) = take_head(bytes)? else { return None };
                Self::Variant { at: number.try_into().ok()?, name, fields: Self::take_fields(bytes, count, below)? }
            }
            7 if number == 0 => Self::Option(None),
            7 if number == 1 => Self::Option(Some(Box::new(Self::take(bytes, below)?))),
            _ => return None,
        })
    }

    fn take_fields(bytes: &mut &[u8], count: u128, depth: usize) -> Option<Vec<(u32, Self)>> {
        let field = |_| Some((u32::from_le_bytes(take_array(bytes)?), Self::take(bytes, depth)?));
        (0..count).map(field).collect()
    }
}

/// The fields that were kept, as those of a type that may have changed take them.
#[derive(Debug)]
pub struct Fields<'a> {
    /// Those that are left, with what they are called.
    left: Vec<(u32, &'a Item)>,
    /// What fields of the type are called.
    names: &'a [u32],
    /// Fields of the type that have been taken.
    taken: usize,
    /// Structs and variants that a simplest value may have.
    depth: u32,
}

impl<'a> Fields<'a> {
    /// Of an item; `names` are the labels of the type's fields, in their order.
    pub fn new(item: &'a Item, names: &'a [u32]) -> Self {
        let left = match item {
            Item::Record(fields) | Item::Variant { fields, .. } => {
                fields.iter().map(|(name, item)| (*name, item)).collect()
            }
            Item::Option(Some(item)) => return Self::new(item, names),
            // What was the only thing that is now one of several.
            other => Vec::from([(0, other)]),
        };
        Self { left, names, taken: 0, depth: SIMPLEST_DEPTH_MAX }
    }

    /// The type's next field: what is called so, else the first that no other field has a name for and that can be read
    /// as one, else the simplest value.
    pub fn take<T: Value>(&mut self) -> Option<T> {
        let name = self.names.get(self.taken).copied().unwrap_or(0);
        self.taken += 1;
        let named = self.left.iter().position(|(theirs, _)| name != 0 && *theirs == name);
        if let Some(at) = named {
            return T::of_item(self.left.remove(at).1).or_else(|| T::simplest(self.depth));
        }
        let is_free = |theirs: u32| theirs == 0 || !self.names.contains(&theirs);
        let free = self.left.iter().enumerate().filter(|(_, (theirs, _))| is_free(*theirs));
        let found = free.filter_map(|(at, (_, item))| Some((at, T::of_item(item)?))).next();
        found.map_or_else(
            || T::simplest(self.depth),
            |(at, value)| {
                self.left.remove(at);
                Some(value)
            },
        )
    }
}

fn write_fields(bytes: &mut Vec<u8>, fields: &[(u32, Item)]) {
    write_head(bytes, 5, fields.len() as u128);
    for (name, item) in fields {
        bytes.extend_from_slice(&name.to_le_bytes());
        item.write(bytes);
    }
}

fn write_head(bytes: &mut Vec<u8>, kind: u8, number: u128) {
    let mut rest = number >> 4;
    let more = |rest: u128| if rest > 0 { 0x80 } else { 0 };
    bytes.push(kind | (number as u8 & 0xf) << 3 | more(rest));
    while rest > 0 {
        bytes.push(rest as u8 & 0x7f | more(rest >> 7));
        rest >>= 7;
    }
}

fn take_head(bytes: &mut &[u8]) -> Option<(u8, u128)> {
    let [first] = take_array(bytes)?;
    let mut number = u128::from(first >> 3 & 0xf);
    let (mut more, mut shift) = (first & 0x80 != 0, 4);
    while more {
        let [byte] = take_array(bytes)?;
        let part = u128::from(byte & 0x7f);
        let shifted = part.checked_shl(shift)?;
        // Bits must not be lost.
        (shifted >> shift == part).then_some(())?;
        number |= shifted;
        (more, shift) = (byte & 0x80 != 0, shift + 7);
    }
    Some((first & 7, number))
}

fn take_array<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}
