//! One of several generators.

use super::Generator;
use crate::Source;
use crate::label::{label, mix};
use crate::size::{self, total_size};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// One of several generators, all equally likely, in the order of their smallest sizes.
///
/// An alternative that is itself made by `one_of!`, also through `map`, is taken apart: its alternatives become alternatives
/// of the whole. So `one_of![a, one_of![b, c]]` and `one_of![one_of![a, b], c]` are the same: each of the three is chosen
/// in a third of all cases, and one draw decides.
///
/// ```
/// use fuzzbox_guest::{Generator, just, one_of};
/// let nested = one_of![just('a'), one_of![just('b'), just('c')].map(|c| c.to_ascii_uppercase())];
/// assert_eq!(nested.alternatives(), 3);
/// ```
#[macro_export]
macro_rules! one_of {
    ($($alternative:expr),+ $(,)?) => {
        $crate::generator::OneOf::new($crate::__private::vec![$($crate::generator::boxed($alternative)),+])
    };
}

/// Generators of different types with values of the same one.
pub fn boxed<'a, G: Generator + 'a>(generator: G) -> Box<dyn Generator<Value = G::Value> + 'a> {
    Box::new(generator)
}

/// See [`one_of!`](crate::one_of!).
pub struct OneOf<'a, T> {
    alternatives: Vec<Box<dyn Generator<Value = T> + 'a>>,
    /// What an index chooses: which of these, and which alternative of it.
    order: Vec<(u32, u32)>,
    sizes: Vec<u32>,
    /// By the order; none if all are equally likely.
    weights: Vec<u32>,
    label: u32,
}

impl<'a, T> OneOf<'a, T> {
    /// One of these.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn new(alternatives: Vec<Box<dyn Generator<Value = T> + 'a>>) -> Self {
        let parts = |which: u32| (0..alternatives[which as usize].alternatives()).map(move |part| (which, part));
        let all: Vec<(u32, u32)> = (0..alternatives.len() as u32).flat_map(parts).collect();
        Self::ordered(alternatives, &all, &[])
    }

    fn ordered(alternatives: Vec<Box<dyn Generator<Value = T> + 'a>>, all: &[(u32, u32)], weights: &[u32]) -> Self {
        assert!(!alternatives.is_empty(), "one of 0 generators");
        let is_whole = !weights.is_empty();
        let sizes: Vec<u32> = all
            .iter()
            .map(|&(which, part)| {
                let alternative = &alternatives[which as usize];
                if is_whole { alternative.min_size() } else { alternative.alternative_min_size(part) }
            })
            .collect();
        let order = size::order(&sizes);
        let label = alternatives.iter().fold(label("one of"), |all, alternative| mix(all, alternative.label()));
        Self {
            order: order.iter().map(|&at| all[at as usize]).collect(),
            sizes: order.iter().map(|&at| sizes[at as usize]).collect(),
            weights: if is_whole { order.iter().map(|&at| weights[at as usize]).collect() } else { Vec::new() },
            alternatives,
            label,
        }
    }

    fn chosen(&self, index: u32, source: &mut Source) -> T {
        let (which, part) = self.order[index as usize];
        let alternative = &self.alternatives[which as usize];
        source.deeper(|source| {
            if self.weights.is_empty() {
                alternative.generate_alternative(part, source)
            } else {
                alternative.generate(source)
            }
        })
    }
}

impl<T> core::fmt::Debug for OneOf<'_, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("OneOf").field("order", &self.order).field("sizes", &self.sizes).finish_non_exhaustive()
    }
}

impl<T> Generator for OneOf<'_, T> {
    type Value = T;

    fn generate(&self, source: &mut Source) -> T {
        source.span(self.label, |source| {
            let n = if source.is_too_deep() { 1 } else { self.order.len() };
            let is_weighted = n > 1 && !self.weights.is_empty();
            let index = if is_weighted { source.weighted(&self.weights) } else { source.choice(n) };
            self.chosen(index as u32, source)
        })
    }

    fn min_size(&self) -> u32 {
        total_size(&[1, self.sizes[0]])
    }

    fn label(&self) -> u32 {
        self.label
    }

    /// With weights it stays one alternative: taking it apart would change how likely each is.
    fn alternatives(&self) -> u32 {
        if self.weights.is_empty() { self.order.len() as u32 } else { 1 }
    }

    fn alternative_min_size(&self, alternative: u32) -> u32 {
        if self.weights.is_empty() { self.sizes[alternative as usize] } else { self.min_size() }
    }

    fn generate_alternative(&self, alternative: u32, source: &mut Source) -> T {
        if self.weights.is_empty() { self.chosen(alternative, source) } else { self.generate(source) }
    }
}

/// One of several generators, as likely as their weights say, in the order of their smallest sizes; for generators in boxes see
/// [`boxed`].
///
/// # Panics
///
/// If there is none.
pub fn weighted<'a, T>(
    alternatives: impl IntoIterator<Item = (u32, Box<dyn Generator<Value = T> + 'a>)>,
) -> OneOf<'a, T> {
    let (weights, alternatives): (Vec<u32>, Vec<_>) = alternatives.into_iter().unzip();
    let all: Vec<(u32, u32)> = (0..alternatives.len() as u32).map(|which| (which, 0)).collect();
    OneOf::ordered(alternatives, &all, &weights)
}
