//! The shrinking challenge (github.com/jlink/shrinking-challenge): properties whose failures are easy to find and
//! hard to shrink.

use super::protocol::{Drawn, Halt, Property, Source};

/// One property.
pub(super) struct Challenge {
    pub(super) name: &'static str,
    pub(super) property: Property,
    /// The simplest failure.
    pub(super) optimum: &'static str,
    /// Mean evaluations of Hypothesis 6.170 after the first failure; none where it does not reach the optimum, or
    /// draws something else.
    pub(super) hypothesis: Option<u64>,
}

pub(super) const ALL: [Challenge; 13] = [
    Challenge { name: "bound5", property: bound5, optimum: "[], [], [], [-1], [-32768]", hypothesis: None },
    Challenge {
        name: "large union list",
        property: large_union_list,
        optimum: "[[0, 1, -1, 2, -2]]",
        hypothesis: Some(201),
    },
    Challenge { name: "reverse", property: reverse, optimum: "[0, 1]", hypothesis: Some(16) },
    Challenge { name: "calculator", property: calculator, optimum: "(/ 0 (+ 0 0))", hypothesis: Some(89) },
    Challenge { name: "length list", property: length_list, optimum: "[900]", hypothesis: Some(86) },
    Challenge { name: "difference zero", property: difference_zero, optimum: "10, 10", hypothesis: Some(37) },
    Challenge { name: "difference small", property: difference_small, optimum: "10, 6", hypothesis: Some(700) },
    Challenge { name: "difference one", property: difference_one, optimum: "10, 9", hypothesis: Some(842) },
    Challenge { name: "binheap", property: binheap, optimum: "(0, -, (0, (0, -, -), (1, -, -)))", hypothesis: None },
    Challenge { name: "coupling", property: coupling, optimum: "[1, 0]", hypothesis: None },
    Challenge { name: "deletion", property: deletion, optimum: "[0, 0], 0", hypothesis: Some(32) },
    Challenge { name: "distinct", property: distinct, optimum: "[0, 1, -1]", hypothesis: Some(49) },
    Challenge {
        name: "nested lists",
        property: nested_lists,
        optimum: "[[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]",
        hypothesis: Some(163),
    },
];

const FAIL: &str = "fail";

fn any_int(source: &mut Source) -> Drawn<i64> {
    source.int(1, i64::MIN, i64::MAX, 0)
}

/// Five lists whose wrapping sums are below 256 have a wrapping sum below 5 * 256.
fn bound5(source: &mut Source) -> Drawn<()> {
    let sum = |values: &[i64]| values.iter().fold(0_i16, |sum, value| sum.wrapping_add(*value as i16));
    let mut lists = Vec::new();
    for _ in 0..5 {
        lists.push(source.list(10, |source| source.int(1, i16::MIN.into(), i16::MAX.into(), 0))?);
    }
    source.note = lists.iter().map(|list| format!("{list:?}")).collect::<Vec<_>>().join(", ");
    source.assume(lists.iter().all(|list| sum(list) < 256))?;
    source.check(sum(&lists.concat()) < 5 * 256, FAIL)
}

/// A list of lists has at most four different values.
fn large_union_list(source: &mut Source) -> Drawn<()> {
    let lists = source.list(10, |source| source.list(20, any_int))?;
    source.note = format!("{lists:?}");
    let mut values = lists.concat();
    values.sort_unstable();
    values.dedup();
    source.check(values.len() <= 4, FAIL)
}

/// A list is its own reverse.
fn reverse(source: &mut Source) -> Drawn<()> {
    let list = source.list(10, any_int)?;
    source.note = format!("{list:?}");
    source.check(list.iter().eq(list.iter().rev()), FAIL)
}

enum Term {
    Number(i64),
    Sum(Box<(Term, Term)>),
    Quotient(Box<(Term, Term)>),
}

impl std::fmt::Display for Term {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Sum(terms) => write!(f, "(+ {} {})", terms.0, terms.1),
            Self::Quotient(terms) => write!(f, "(/ {} {})", terms.0, terms.1),
        }
    }
}

impl Term {
    fn draw(source: &mut Source) -> Drawn<Self> {
        source.span(30, |source| {
            let kind = source.choice(2, 3)?;
            if kind == 0 {
                return Ok(Self::Number(any_int(source)?));
            }
            let terms = Box::new((Self::draw(source)?, Self::draw(source)?));
            Ok(if kind == 1 { Self::Sum(terms) } else { Self::Quotient(terms) })
        })
    }

    fn divides_by_literal_zero(&self) -> bool {
        match self {
            Self::Number(_) => false,
            Self::Quotient(terms) if matches!(terms.1, Self::Number(0)) => true,
            Self::Sum(terms) | Self::Quotient(terms) => {
                terms.0.divides_by_literal_zero() || terms.1.divides_by_literal_zero()
            }
        }
    }

    /// Its value; `None` if it divides by zero. Sums wrap, quotients are rounded down.
    fn value(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Sum(terms) => Some(terms.0.value()?.wrapping_add(terms.1.value()?)),
            Self::Quotient(terms) => {
                let (a, b) = (terms.0.value()?, terms.1.value()?);
                let quotient = a.checked_rem(b).map_or_else(|| (b != 0).then_some(a), |_| Some(a.wrapping_div(b)))?;
                let is_rounded_up = b != 0 && a.wrapping_rem(b) != 0 && (a < 0) != (b < 0);
                Some(quotient - i64::from(is_rounded_up))
            }
        }
    }
}

/// A term without a division by the literal 0 does not divide by zero.
fn calculator(source: &mut Source) -> Drawn<()> {
    let term = Term::draw(source)?;
    source.note = term.to_string();
    source.assume(!term.divides_by_literal_zero())?;
    source.check(term.value().is_some(), FAIL)
}

/// A list whose length is drawn first has no element of 900 and more.
fn length_list(source: &mut Source) -> Drawn<()> {
    let len = source.int(1, 1, 100, 1)?;
    let list = (0..len).map(|_| source.int(2, 0, 1000, 0)).collect::<Result<Vec<_>, Halt>>()?;
    source.note = format!("{list:?}");
    source.check(list.iter().all(|value| *value < 900), FAIL)
}

fn two(source: &mut Source) -> Drawn<(i64, i64)> {
    let (a, b) = (source.int(1, 1, i32::MAX.into(), 0)?, source.int(2, 1, i32::MAX.into(), 0)?);
    source.note = format!("{a}, {b}");
    Ok((a, b))
}

fn difference_zero(source: &mut Source) -> Drawn<()> {
    let (a, b) = two(source)?;
    source.check(a < 10 || a != b, FAIL)
}

fn difference_small(source: &mut Source) -> Drawn<()> {
    let (a, b) = two(source)?;
    source.check(a < 10 || !(1..=4).contains(&(a - b).abs()), FAIL)
}

fn difference_one(source: &mut Source) -> Drawn<()> {
    let (a, b) = two(source)?;
    source.check(a < 10 || (a - b).abs() != 1, FAIL)
}

#[derive(Clone)]
struct Heap {
    key: i64,
    children: [Option<Box<Heap>>; 2],
}

impl Heap {
    fn draw(source: &mut Source, lowest: i64) -> Drawn<Self> {
        source.span(40, |source| {
            let key = source.int(3, lowest, i64::MAX, lowest)?;
            let mut children = [None, None];
            for child in &mut children {
                if source.bool(4)? {
                    *child = Some(Box::new(Self::draw(source, key)?));
                }
            }
            Ok(Self { key, children })
        })
    }

    fn show(heap: Option<&Self>) -> String {
        heap.map_or("-".to_owned(), |heap| {
            let [one, two] = &heap.children;
            format!("({}, {}, {})", heap.key, Self::show(one.as_deref()), Self::show(two.as_deref()))
        })
    }

    fn merge(one: Option<Box<Self>>, two: Option<Box<Self>>) -> Option<Box<Self>> {
        let (Some(one), Some(two)) = (one.clone(), two.clone()) else { return one.or(two) };
        let (low, high) = if one.key <= two.key { (one, two) } else { (two, one) };
        let Self { key, children: [left, right] } = *low;
        Some(Box::new(Self { key, children: [Self::merge(right, Some(high)), left] }))
    }

    /// All keys, in whatever order.
    fn keys(heap: Option<&Self>) -> Vec<i64> {
        let (mut keys, mut left) = (Vec::new(), vec![heap]);
        while let Some(next) = left.pop() {
            let Some(heap) = next else { continue };
            keys.push(heap.key);
            left.extend(heap.children.iter().map(|child| child.as_deref()));
        }
        keys
    }
}

/// Listing a heap's keys in order: after the first one, this one forgets to order.
fn binheap(source: &mut Source) -> Drawn<()> {
    let heap = Heap::draw(source, 0)?;
    source.note = Heap::show(Some(&heap));
    let [one, two] = heap.children;
    let rest = Heap::keys(Heap::merge(one, two).as_deref());
    source.check(rest.is_sorted(), FAIL)
}

/// No two elements of a list of positions point at each other.
fn coupling(source: &mut Source) -> Drawn<()> {
    let list = source.list(10, |source| source.int(1, 0, 10, 0))?;
    source.note = format!("{list:?}");
    source.assume(list.iter().all(|value| (*value as usize) < list.len()))?;
    source.check(list.iter().zip(0..).all(|(value, at)| *value == at || list[*value as usize] != at), FAIL)
}

/// A list from which one of its elements was removed does not have it any more.
fn deletion(source: &mut Source) -> Drawn<()> {
    let mut list = source.list(10, any_int)?;
    source.note = format!("{list:?}");
    source.assume(!list.is_empty())?;
    let value = list[source.choice(5, list.len() as u64)? as usize];
    source.note = format!("{list:?}, {value}");
    list.remove(list.iter().position(|other| *other == value).expect("it was taken from there"));
    source.check(!list.contains(&value), FAIL)
}

/// A list has fewer than three different elements.
fn distinct(source: &mut Source) -> Drawn<()> {
    let mut list = source.list(10, any_int)?;
    source.note = format!("{list:?}");
    list.sort_unstable();
    list.dedup();
    source.check(list.len() < 3, FAIL)
}

/// Lists in a list have at most ten elements together.
fn nested_lists(source: &mut Source) -> Drawn<()> {
    let lists = source.list(10, |source| source.list(20, any_int))?;
    source.note = format!("{lists:?}");
    source.check(lists.iter().map(Vec::len).sum::<usize>() <= 10, FAIL)
}
