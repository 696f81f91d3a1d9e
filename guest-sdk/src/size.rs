//! The sizes of smallest values, by which alternatives are ordered.
//!
//! A generator ends when its choices run out, because from then on every draw gives the simplest value. For that the first
//! alternative must be one that ends: so alternatives are ordered by the smallest number of draws that each can take, those
//! of equal size as they were written. A type that refers to itself is counted as infinite while it is being
//! defined: the alternative with the reference is never the smallest.

use alloc::vec::Vec;

/// The size of something that has no end, or whose end isn't known.
pub const INFINITE: u32 = u32::MAX;

/// The size of several things that are drawn one after the other.
///
/// ```
/// use fuzzbox_guest::{INFINITE, total_size};
/// assert_eq!(total_size(&[1, 2]), 3);
/// assert_eq!(total_size(&[1, INFINITE]), INFINITE);
/// ```
pub fn total_size(sizes: &[u32]) -> u32 {
    sizes.iter().fold(0, |sum, &size| sum.saturating_add(size))
}

/// Indices of alternatives in the order of their sizes.
pub(crate) fn order(sizes: &[u32]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..sizes.len() as u32).collect();
    order.sort_by_key(|&alternative| sizes[alternative as usize]);
    order
}

/// The sizes of types that refer to each other: the least solution, found by going round until nothing changes.
///
/// Each round looks into every type once, so families of hundreds of types cost no more than rounds times types.
#[derive(Debug, Default)]
pub struct Sizes {
    known: Vec<Known>,
    round: u32,
    has_changed: bool,
}

#[derive(Debug)]
struct Known {
    name: &'static str,
    size: u32,
    round: u32,
}

impl Sizes {
    /// The smallest size of the type called `name`, by what `compute` says of its parts. While that runs, a reference to
    /// the same type has the size that is known so far, which is infinite at first.
    pub fn of(&mut self, name: &'static str, compute: impl FnOnce(&mut Self) -> u32) -> u32 {
        let at = self.known.iter().position(|known| known.name == name).unwrap_or_else(|| {
            self.known.push(Known { name, size: INFINITE, round: 0 });
            self.known.len() - 1
        });
        if self.known[at].round == self.round {
            return self.known[at].size;
        }
        self.known[at].round = self.round;
        let size = compute(self);
        if size < self.known[at].size {
            self.known[at].size = size;
            self.has_changed = true;
        }
        self.known[at].size
    }

    /// Repeats a question until its answer is final.
    pub(crate) fn settle<T>(mut ask: impl FnMut(&mut Self) -> T) -> T {
        let mut sizes = Self::default();
        loop {
            sizes.round += 1;
            sizes.has_changed = false;
            let answer = ask(&mut sizes);
            if !sizes.has_changed {
                return answer;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An expression is a number or a block; a block is a statement and a block, or an expression.
    fn expression(sizes: &mut Sizes) -> u32 {
        sizes.of("expression", |sizes| total_size(&[1, block(sizes)]).min(2))
    }

    fn block(sizes: &mut Sizes) -> u32 {
        sizes.of("block", |sizes| {
            let pair = total_size(&[1, expression(sizes), block(sizes)]);
            pair.min(total_size(&[1, expression(sizes)]))
        })
    }

    #[test]
    fn types_that_need_each_other_get_their_least_sizes() {
        assert_eq!(Sizes::settle(expression), 2);
        assert_eq!(Sizes::settle(block), 3);
    }

    #[test]
    fn a_type_without_end_stays_infinite() {
        fn endless(sizes: &mut Sizes) -> u32 {
            sizes.of("endless", |sizes| total_size(&[1, endless(sizes)]))
        }
        assert_eq!(Sizes::settle(endless), INFINITE);
    }

    #[test]
    fn equal_sizes_keep_their_order() {
        assert_eq!(order(&[3, 1, INFINITE, 1]), [1, 3, 0, 2]);
    }
}
