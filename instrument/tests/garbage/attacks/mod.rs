//! Modules that are small and mean much: few bytes each of something that takes memory when it is looked at, counted, or
//! written anew.

mod entries;
mod operators;
mod parts;
mod values;

/// A kind of module.
#[derive(Clone, Copy)]
pub(crate) struct Attack {
    /// What it has many of.
    pub(crate) name: &'static str,
    /// Makes a module that has that many.
    pub(crate) make: fn(usize) -> Vec<u8>,
    /// How many there can be before it takes minutes.
    pub(crate) count_max: usize,
}

/// What it has many of, and how it is made.
type Named = (&'static str, fn(usize) -> Vec<u8>);

/// All of them.
pub(crate) fn attacks() -> Vec<Attack> {
    let all = |attacks: &[Named], count_max: usize| -> Vec<_> {
        attacks.iter().map(|&(name, make)| Attack { name, make, count_max }).collect()
    };
    [
        all(entries::ATTACKS, 1_000_000),
        all(operators::ATTACKS, 1_000_000),
        all(values::ATTACKS, 1_500), // each is as much work as there are values on the stack
    ]
    .concat()
}
