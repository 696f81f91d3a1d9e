//! Generators that are made of one other.

use super::Generator;
use crate::Source;
use crate::label::{label, mix};
use crate::range::Lengths;
use crate::size::{INFINITE, total_size};
use alloc::vec::Vec;

/// See [`Generator::map`].
#[derive(Clone, Debug)]
pub struct Map<G, F> {
    inner: G,
    function: F,
}

impl<G, F> Map<G, F> {
    pub(super) fn new(inner: G, function: F) -> Self {
        Self { inner, function }
    }
}

/// Stays as many alternatives as it was.
impl<G: Generator, T, F: Fn(G::Value) -> T> Generator for Map<G, F> {
    type Value = T;

    fn generate(&self, source: &mut Source) -> T {
        (self.function)(self.inner.generate(source))
    }

    fn min_size(&self) -> u32 {
        self.inner.min_size()
    }

    fn label(&self) -> u32 {
        self.inner.label()
    }

    fn alternatives(&self) -> u32 {
        self.inner.alternatives()
    }

    fn alternative_min_size(&self, alternative: u32) -> u32 {
        self.inner.alternative_min_size(alternative)
    }

    fn generate_alternative(&self, alternative: u32, source: &mut Source) -> T {
        (self.function)(self.inner.generate_alternative(alternative, source))
    }
}

/// See [`Generator::filter`].
#[derive(Clone, Debug)]
pub struct Filter<G, F> {
    inner: G,
    condition: F,
}

impl<G, F> Filter<G, F> {
    pub(super) fn new(inner: G, condition: F) -> Self {
        Self { inner, condition }
    }
}

impl<G: Generator, F: Fn(&G::Value) -> bool> Generator for Filter<G, F> {
    type Value = G::Value;

    fn generate(&self, source: &mut Source) -> G::Value {
        source.retry(mix(label("filter"), self.inner.label()), |source| {
            Some(self.inner.generate(source)).filter(&self.condition)
        })
    }

    fn min_size(&self) -> u32 {
        self.inner.min_size()
    }

    fn label(&self) -> u32 {
        self.inner.label()
    }
}

/// See [`Generator::then`].
#[derive(Clone, Debug)]
pub struct Then<G, F> {
    first: G,
    next: F,
}

impl<G, F> Then<G, F> {
    pub(super) fn new(first: G, next: F) -> Self {
        Self { first, next }
    }
}

impl<G: Generator, H: Generator, F: Fn(G::Value) -> H> Generator for Then<G, F> {
    type Value = H::Value;

    fn generate(&self, source: &mut Source) -> H::Value {
        source.span(mix(label("then"), self.first.label()), |source| {
            let first = self.first.generate(source);
            (self.next)(first).generate(source)
        })
    }

    fn min_size(&self) -> u32 {
        INFINITE
    }
}

/// Lists.
pub fn vec<G: Generator>(element: G, len: impl Into<Lengths>) -> VecOf<G> {
    VecOf { element, len: len.into() }
}

/// See [`vec`].
#[derive(Clone, Debug)]
pub struct VecOf<G> {
    element: G,
    len: Lengths,
}

impl<G: Generator> Generator for VecOf<G> {
    type Value = Vec<G::Value>;

    fn generate(&self, source: &mut Source) -> Self::Value {
        let len = if source.is_too_deep() { (self.len.min as usize).into() } else { self.len };
        source.deeper(|source| source.vec_labelled(self.element.label(), len, |source| self.element.generate(source)))
    }

    fn min_size(&self) -> u32 {
        let forced =
            if self.len.min == 0 { 0 } else { total_size(&[1, self.element.min_size()]).saturating_mul(self.len.min) };
        total_size(&[1, forced])
    }

    fn label(&self) -> u32 {
        mix(label("vec of"), self.element.label())
    }
}

/// A value or nothing.
pub fn option<G: Generator>(some: G) -> OptionOf<G> {
    OptionOf(some)
}

/// See [`option`].
#[derive(Clone, Debug)]
pub struct OptionOf<G>(G);

impl<G: Generator> Generator for OptionOf<G> {
    type Value = Option<G::Value>;

    fn generate(&self, source: &mut Source) -> Self::Value {
        source.span(self.label(), |source| {
            let p_some = if source.is_too_deep() { 0.0 } else { 0.5 };
            if source.chance(p_some) { Some(source.deeper(|source| self.0.generate(source))) } else { None }
        })
    }

    fn min_size(&self) -> u32 {
        1
    }

    fn label(&self) -> u32 {
        mix(label("option of"), self.0.label())
    }
}
