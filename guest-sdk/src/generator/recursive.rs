//! A generator that refers to itself.

use super::{Generator, boxed};
use crate::Source;
use crate::label::label;
use crate::size::INFINITE;
use alloc::boxed::Box;
use alloc::rc::{Rc, Weak};
use core::cell::OnceCell;

type Definition<T> = OnceCell<Box<dyn Generator<Value = T>>>;

/// Defines a generator by a function that is given the generator itself.
///
/// While the function runs, the generator's size is infinite; so an alternative that contains it comes after those that do
/// not. Values become no deeper than [`Source::set_depth_max`] says.
pub fn recursive<T: 'static, G: Generator<Value = T> + 'static>(
    define: impl FnOnce(Recursive<T>) -> G,
) -> Recursive<T> {
    let definition: Rc<Definition<T>> = Rc::new(OnceCell::new());
    let inner = define(Recursive(Reference::Inner(Rc::downgrade(&definition))));
    // Nobody else has seen the cell but the references within.
    let _ = definition.set(boxed(inner));
    Recursive(Reference::Outer(definition))
}

/// See [`recursive`]. The references inside do not keep the generator alive.
#[derive(Debug)]
pub struct Recursive<T>(Reference<T>);

enum Reference<T> {
    Outer(Rc<Definition<T>>),
    Inner(Weak<Definition<T>>),
}

impl<T> core::fmt::Debug for Reference<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Outer(_) => "Outer",
            Self::Inner(_) => "Inner",
        })
    }
}

impl<T> Recursive<T> {
    fn definition(&self) -> Option<Rc<Definition<T>>> {
        match &self.0 {
            Reference::Outer(definition) => Some(definition.clone()),
            Reference::Inner(definition) => definition.upgrade(),
        }
    }
}

impl<T> Clone for Recursive<T> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Reference::Outer(definition) => Reference::Outer(definition.clone()),
            Reference::Inner(definition) => Reference::Inner(definition.clone()),
        })
    }
}

impl<T> Generator for Recursive<T> {
    type Value = T;

    /// # Panics
    ///
    /// If it is used while it is being defined, or after the whole was dropped.
    fn generate(&self, source: &mut Source) -> T {
        let definition = self.definition().expect("a recursive generator is used after it was dropped");
        let generator = definition.get().expect("a recursive generator is used while it is being defined");
        source.deeper(|source| generator.generate(source))
    }

    fn min_size(&self) -> u32 {
        match &self.0 {
            // The same inside and outside, so that ordering doesn't depend on when it was asked.
            Reference::Inner(_) => INFINITE,
            Reference::Outer(definition) => definition.get().map_or(INFINITE, |generator| generator.min_size()),
        }
    }

    fn label(&self) -> u32 {
        label("recursive")
    }
}
