//! Values as bytes, so that a failure survives a change of the generator.
//!
//! A property in two parts draws a value and checks it. The value is kept beside the choices: when the generator
//! changes, the choices mean something else, but the value is what it was. When its type changes as well, what was kept
//! is read as the value of the new type that is most like it: the names of fields and variants are kept, too.

mod item;
mod types;

pub use item::{Fields, Item};

use alloc::vec::Vec;

/// The id of the encoding in this module: two bytes, 0xfb and 0x02, and an item.
///
/// An item begins with a byte: its kind in the lowest three bits, then four bits of a number, and a bit that says
/// whether more of the number follows, in LEB128.
///
/// | kind | item | number | then |
/// | --- | --- | --- | --- |
/// | 0 | unsigned integer, `bool`, `char` | it | |
/// | 1 | integer below 0 | -1 minus it | |
/// | 2 | float | 4 or 8 | that many bytes, little endian |
/// | 3 | text | its length in bytes | these |
/// | 4 | list, array, set, map | its length | an item for each element; a map's are pairs |
/// | 5 | struct, tuple | its fields | for each a name and an item |
/// | 6 | variant of an enum | its place among the variants | its name, and a struct |
/// | 7 | `Option` | 0, or 1 | nothing, or an item |
///
/// Names are [`crate::label()`] of them, four bytes in little endian; fields without a name have 0. A box is what is
/// in it.
///
/// So variants and fields may be reordered, added and removed. What is read finds its fields by their names; one that
/// was renamed takes, in their order, what nobody else has a name for, and one that was added is the simplest value of
/// its type ([`Value::simplest`]). Numbers are the nearest that the type has, what is or was an `Option`, or a struct
/// around one thing, is taken out or put in. Bytes that are left over make a value unreadable.
pub const ENCODING: u32 = 2;

/// What the bytes of a value begin with.
const MAGIC: [u8; 2] = [0xfb, 0x02];

/// How many structs and variants can lie within each other in what [`Value::simplest`] looks for.
const SIMPLEST_DEPTH_MAX: u32 = 16;

/// A type whose values are kept as bytes. Derived for structs and enums.
pub trait Value: Sized {
    /// What is kept of the value.
    fn to_item(&self) -> Item;

    /// The value that is most like what was kept; `None` if there is none like it.
    fn of_item(item: &Item) -> Option<Self>;

    /// A value for a field that was not there: 0, empty, none, the first variant that ends. `None` if it is deeper than
    /// `depth` structs and variants.
    fn simplest(depth: u32) -> Option<Self>;

    /// Which type it is: the FNV-1a hash of what [`core::any::type_name`] says. It tells values of another type; that
    /// it is the same proves nothing.
    fn type_id() -> u64 {
        crate::label64(core::any::type_name::<Self>())
    }
}

/// The bytes of a value.
pub fn to_bytes(value: &impl Value) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    value.to_item().write(&mut bytes);
    bytes
}

/// The value that was kept as these bytes, of this type or of one that was like it.
pub fn from_bytes<T: Value>(bytes: &[u8]) -> Option<T> {
    T::of_item(&Item::read(bytes.strip_prefix(&MAGIC)?)?)
}

#[cfg(test)]
mod tests;
