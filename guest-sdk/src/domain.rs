//! Finite sets of values that have a number each, so that one draw is enough for any of them.
//!
//! Pearce's index-based sampling: whoever knows how many values there are below each alternative draws each of them
//! alike, where one draw after the other makes small ones far more often. A domain is its number of values, and the
//! value with each number; they are put together by sums, products, lists and subsets.
//!
//! ```
//! use fuzzbox_guest::Domain;
//!
//! // Binary trees by their inner nodes, as nested brackets.
//! let mut trees = vec![Domain::one(".".to_owned())];
//! for inner in 1..=6 {
//!     let splits = (0..inner).map(|left| {
//!         let both = trees[left].clone().and(trees[inner - 1 - left].clone());
//!         both.map(|(left, right)| format!("({left}{right})"))
//!     });
//!     trees.push(Domain::any_of(splits.collect()));
//! }
//! let all = Domain::any_of(trees);
//! assert_eq!(all.cardinality(), 197);
//! assert_eq!(all.nth(1), "(..)");
//! ```

use crate::generator::Generator;
use crate::source::Source;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::fmt;

/// Bits of one draw: a larger domain takes several.
const DIGIT_BITS: u32 = 30;
/// The label of an attempt to draw a number of several digits.
const LABEL: u32 = crate::label("fuzzbox:domain");

/// A finite set of values, in an order. Cheap to clone.
pub struct Domain<T> {
    cardinality: u128,
    nth: Rc<dyn Fn(u128) -> T>,
}

impl<T> Clone for Domain<T> {
    fn clone(&self) -> Self {
        Self { cardinality: self.cardinality, nth: self.nth.clone() }
    }
}

impl<T> fmt::Debug for Domain<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Domain").field("cardinality", &self.cardinality).finish_non_exhaustive()
    }
}

/// Why there can't be more values.
const TOO_MANY: &str = "a domain has fewer than 2^128 values";

impl<T: 'static> Domain<T> {
    fn new(cardinality: u128, nth: impl Fn(u128) -> T + 'static) -> Self {
        Self { cardinality, nth: Rc::new(nth) }
    }

    /// How many values there are.
    pub fn cardinality(&self) -> u128 {
        self.cardinality
    }

    /// The value with this number.
    ///
    /// # Panics
    ///
    /// If there are no more than `index`.
    pub fn nth(&self, index: u128) -> T {
        assert!(index < self.cardinality, "value {index} of {}", self.cardinality);
        (self.nth)(index)
    }

    /// One value.
    pub fn one(value: T) -> Self
    where
        T: Clone,
    {
        Self::new(1, move |_| value.clone())
    }

    /// These values, in their order; each counts, whatever it is equal to.
    pub fn of(values: Vec<T>) -> Self
    where
        T: Clone,
    {
        Self::new(values.len() as u128, move |index| values[index as usize].clone())
    }

    /// The values of all these domains, one domain after the other.
    ///
    /// # Panics
    ///
    /// If there are 2^128 or more.
    pub fn any_of(domains: Vec<Self>) -> Self {
        let add = |sum: u128, domain: &Self| sum.checked_add(domain.cardinality).expect(TOO_MANY);
        let cardinality = domains.iter().fold(0, add);
        Self::new(cardinality, move |mut index| {
            for domain in &domains {
                if index < domain.cardinality {
                    return (domain.nth)(index);
                }
                index -= domain.cardinality;
            }
            unreachable!("the number is below their sum")
        })
    }

    /// All pairs, the second value changing first.
    ///
    /// # Panics
    ///
    /// If there are 2^128 or more.
    #[must_use]
    pub fn and<U: 'static>(self, other: Domain<U>) -> Domain<(T, U)> {
        let count = other.cardinality.max(1);
        let cardinality = self.cardinality.checked_mul(other.cardinality).expect(TOO_MANY);
        Domain::new(cardinality, move |index| ((self.nth)(index / count), (other.nth)(index % count)))
    }

    /// What `f` makes of each value.
    #[must_use]
    pub fn map<U: 'static>(self, f: impl Fn(T) -> U + 'static) -> Domain<U> {
        Domain::new(self.cardinality, move |index| f((self.nth)(index)))
    }

    /// All lists of at most `len_max` of the values, short ones first.
    ///
    /// # Panics
    ///
    /// If there are 2^128 or more.
    #[must_use]
    pub fn lists(self, len_max: u32) -> Domain<Vec<T>> {
        let of_len = |len: u32| self.cardinality.checked_pow(len).expect(TOO_MANY);
        let counts: Vec<u128> = (0..=len_max).map(of_len).collect();
        let cardinality = counts.iter().fold(0_u128, |sum, &count| sum.checked_add(count).expect(TOO_MANY));
        Domain::new(cardinality, move |mut index| {
            let mut len = 0;
            while index >= counts[len] {
                index -= counts[len];
                len += 1;
            }
            let mut list = Vec::with_capacity(len);
            for _ in 0..len {
                list.push((self.nth)(index % self.cardinality));
                index /= self.cardinality;
            }
            list.reverse();
            list
        })
    }

    /// All subsets of the values, each in their order; the bits of a subset's number say which values it has.
    ///
    /// # Panics
    ///
    /// If there are 128 values or more.
    #[must_use]
    pub fn subsets(self) -> Domain<Vec<T>> {
        assert!(self.cardinality < 128, "{TOO_MANY}");
        Domain::new(1 << self.cardinality, move |subset| {
            (0..self.cardinality).filter(|value| subset >> value & 1 == 1).map(|value| (self.nth)(value)).collect()
        })
    }

    /// A value for which `holds`; each is as likely as any other. Three are tried, then the execution is rejected.
    pub fn draw_that(&self, source: &mut Source, holds: impl Fn(&T) -> bool) -> T {
        source.retry(LABEL, |source| Some(self.draw(source)).filter(&holds))
    }

    fn draw(&self, source: &mut Source) -> T {
        assert!(self.cardinality > 0, "a domain without values has none to draw");
        let bits = u128::BITS - (self.cardinality - 1).leading_zeros();
        if bits < DIGIT_BITS {
            return (self.nth)(source.choice(self.cardinality as usize) as u128);
        }
        // Of several digits, of which the first has all its bits, so that next to none is too large.
        let index = source.retry(LABEL, |source| {
            let mut left = bits - DIGIT_BITS;
            let mut index = source.choice(((self.cardinality - 1) >> left) as usize + 1) as u128;
            while left > 0 {
                let digit = left.min(DIGIT_BITS);
                index = index << digit | source.choice(1 << digit) as u128;
                left -= digit;
            }
            Some(index).filter(|&index| index < self.cardinality)
        });
        (self.nth)(index)
    }
}

impl<T: 'static> Generator for Domain<T> {
    type Value = T;

    /// Any of the values, each alike where draws are.
    ///
    /// # Panics
    ///
    /// If there are none.
    fn generate(&self, source: &mut Source) -> T {
        self.draw(source)
    }

    fn min_size(&self) -> u32 {
        1
    }
}
