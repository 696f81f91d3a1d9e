//! Problems about lists.

use fuzzbox_guest::{Source, property};
use std::collections::BTreeSet;

fn integers(source: &mut Source) -> Vec<i64> {
    source.vec(.., |source| source.int(..))
}

property! {
    /// Five lists, each with a sum below 256, have a sum below five times that. Not where sums wrap.
    #[should_panic(expected = "the sum is")]
    pub fn bound5(source) {
        let lists: [Vec<i16>; 5] = std::array::from_fn(|_| source.vec(.., |source| source.int(..)));
        source.note_value("lists", &lists);
        let sum = |list: &[i16]| list.iter().fold(0_i16, |sum, number| sum.wrapping_add(*number));
        source.assume(lists.iter().all(|list| sum(list) < 256));
        let total = lists.iter().fold(0_i16, |total, list| total.wrapping_add(sum(list)));
        assert!(total < 5 * 256, "the sum is {total}");
    }
}

property! {
    /// Lists have at most four different numbers among them.
    #[should_panic(expected = "different numbers")]
    pub fn large_union_list(source) {
        let lists: Vec<Vec<i64>> = source.vec(.., integers);
        source.note_value("lists", &lists);
        let union: BTreeSet<i64> = lists.into_iter().flatten().collect();
        assert!(union.len() <= 4, "{} different numbers", union.len());
    }
}

property! {
    /// A list is the same backwards.
    #[should_panic(expected = "not the same backwards")]
    pub fn reverse(source) {
        let list = integers(source);
        source.note_value("list", &list);
        assert!(list.iter().eq(list.iter().rev()), "not the same backwards");
    }
}

property! {
    /// Of 1 to 100 numbers, none is 900 or more. The number is drawn first, so a shorter list needs two changes.
    #[should_panic(expected = "the largest is")]
    pub fn length_list(source) {
        let len = source.int(1..=100);
        let list: Vec<u32> = (0..len).map(|_| source.int(0..=1000)).collect();
        source.note_value("list", &list);
        let largest = list.iter().max();
        assert!(largest < Some(&900), "the largest is {largest:?}");
    }
}

property! {
    /// In a list of indices into itself, none leads to another that leads back.
    #[should_panic(expected = "there and back")]
    pub fn coupling(source) {
        let list: Vec<usize> = source.vec(.., |source| source.int(0..=10));
        source.note_value("list", &list);
        source.assume(list.iter().all(|&index| index < list.len()));
        for (from, &to) in list.iter().enumerate() {
            assert!(from == to || list[to] != from, "there and back");
        }
    }
}

property! {
    /// What is taken out of a list is no longer in it.
    #[should_panic(expected = "it is still there")]
    pub fn deletion(source) {
        let mut list: Vec<i64> = source.vec(1.., |source| source.int(..));
        source.note_value("list", &list);
        let element = *source.pick(&list);
        source.note_value("element", &element);
        let first = list.iter().position(|&other| other == element).expect("it is one of them");
        list.remove(first);
        assert!(!list.contains(&element), "it is still there");
    }
}

property! {
    /// A list has fewer than three different numbers.
    #[should_panic(expected = "different numbers")]
    pub fn distinct(source) {
        let list = integers(source);
        source.note_value("list", &list);
        let set: BTreeSet<i64> = list.into_iter().collect();
        assert!(set.len() < 3, "{} different numbers", set.len());
    }
}

property! {
    /// Lists in a list have ten elements at most, taken together.
    #[should_panic(expected = "elements")]
    pub fn nested_lists(source) {
        let lists: Vec<Vec<i64>> = source.vec(.., integers);
        source.note_value("lists", &lists);
        let total: usize = lists.iter().map(Vec::len).sum();
        assert!(total <= 10, "{total} elements");
    }
}
