//! Lists, sets and maps.
//!
//! Hash maps and hash sets are left out: their order is not the same in each execution.

use super::{Generate, label_of};
use crate::Source;
use crate::size::Sizes;
use alloc::collections::{BTreeMap, BTreeSet, BinaryHeap, LinkedList, VecDeque};
use alloc::vec::Vec;

impl<T: Generate> Generate for Vec<T> {
    const LABEL: u32 = label_of("Vec", T::LABEL);

    fn generate(source: &mut Source) -> Self {
        source.deeper(|source| if source.is_too_deep() { Self::new() } else { T::generate_vec(source) })
    }

    fn min_size(_: &mut Sizes) -> u32 {
        T::min_size_vec()
    }
}

macro_rules! from_list {
    ($($type:ident $($bound:ident)?;)*) => {$(
        impl<T: Generate $(+ $bound)?> Generate for $type<T> {
            const LABEL: u32 = label_of(stringify!($type), T::LABEL);

            fn generate(source: &mut Source) -> Self {
                Vec::<T>::generate(source).into_iter().collect()
            }

            fn min_size(sizes: &mut Sizes) -> u32 {
                Vec::<T>::min_size(sizes)
            }
        }
    )*};
}

from_list! { BTreeSet Ord; BinaryHeap Ord; LinkedList; VecDeque; }

/// Of pairs with equal keys the last one stays.
impl<K: Generate + Ord, V: Generate> Generate for BTreeMap<K, V> {
    const LABEL: u32 = label_of("BTreeMap", <(K, V)>::LABEL);

    fn generate(source: &mut Source) -> Self {
        Vec::<(K, V)>::generate(source).into_iter().collect()
    }

    fn min_size(sizes: &mut Sizes) -> u32 {
        Vec::<(K, V)>::min_size(sizes)
    }
}

/// No draw says how many there are.
impl<T: Generate, const N: usize> Generate for [T; N] {
    const LABEL: u32 = label_of("array", T::LABEL ^ N as u32);

    fn generate(source: &mut Source) -> Self {
        source.span(Self::LABEL, |source| core::array::from_fn(|_| T::generate(source)))
    }

    fn min_size(sizes: &mut Sizes) -> u32 {
        if N == 0 { 0 } else { T::min_size(sizes).saturating_mul(N as u32) }
    }
}
