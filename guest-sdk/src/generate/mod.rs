//! Types that say how their values are drawn.

mod collections;
mod leaves;
mod wrappers;

use crate::Source;
use crate::label::{label, mix};
use crate::size::Sizes;
use alloc::vec::Vec;

/// A type whose values can be drawn: [`Source::draw`].
///
/// Implemented for std's types, and derived for structs and enums:
///
/// ```
/// use fuzzbox_guest::{Generate, Source};
///
/// #[derive(Debug, Generate)]
/// enum Shape {
///     Group(Vec<Shape>),
///     Circle { radius: u16 },
/// }
///
/// fn area_is_finite(source: &mut Source) {
///     let shape: Shape = source.draw();
///     source.note_value("shape", &shape);
/// }
/// ```
///
/// The name is the verb that the trait is for. It isn't `Arbitrary`, because a type may well implement that too, from the crate
/// of that name, where it means to interpret bytes; nor `Strategy` or `Gen`, which elsewhere are values that know how to
/// make other values: here these are [`crate::Generator`]s.
///
/// Implementations draw the simplest value when every draw gives its simplest value, and choose among alternatives by
/// [`Source::alternative`], so that recursion ends.
pub trait Generate: Sized {
    /// What kind of thing a value is, as a span's label.
    const LABEL: u32;

    /// Draws a value.
    fn generate(source: &mut Source) -> Self;

    /// The fewest draws that a value takes; [`crate::INFINITE`] if that is not known to end. Types that can contain themselves
    /// go by [`Sizes::of`].
    fn min_size(sizes: &mut Sizes) -> u32 {
        let _ = sizes;
        1
    }

    /// Draws a list of values, with as many elements as the crate's own lists. Bytes do so as one blob.
    fn generate_vec(source: &mut Source) -> Vec<Self> {
        source.vec_labelled(Self::LABEL, .., Self::generate)
    }

    /// The fewest draws that such a list takes.
    fn min_size_vec() -> u32 {
        1
    }
}

/// The label of a type with a part.
pub(crate) const fn label_of(name: &str, part: u32) -> u32 {
    mix(label(name), part)
}
