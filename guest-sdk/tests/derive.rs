//! The derive macros, on the shapes that types have.

use fuzzbox_guest::native::{Choice, Input, Outcome, Seed, run};
use fuzzbox_guest::value::{from_bytes, to_bytes};
use fuzzbox_guest::{Generate, Source, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::marker::PhantomData;

#[derive(Clone, Debug, PartialEq, Generate, Value)]
struct Unit;

#[derive(Clone, Debug, PartialEq, Generate, Value)]
struct Newtype(i64);

#[derive(Clone, Debug, PartialEq, Generate, Value)]
struct Pair(u8, String);

#[derive(Clone, Debug, PartialEq, Generate, Value)]
struct Named {
    first: bool,
    r#type: Option<char>,
    rest: Vec<Newtype>,
}

#[derive(Clone, Debug, PartialEq, Generate, Value)]
enum Plain {
    One,
    Two,
    Three,
}

#[derive(Clone, Debug, PartialEq, Generate, Value)]
enum Mixed {
    Empty,
    Number(u128),
    Fields { x: f64, y: f32 },
    Nested(Plain, Named),
}

#[derive(Clone, Debug, PartialEq, Generate, Value)]
struct Generic<T, const N: usize> {
    items: [T; N],
    more: Vec<T>,
}

#[derive(Clone, Debug, PartialEq, Generate, Value)]
enum Either<L, R>
where
    L: Clone,
{
    Left(L),
    Right { right: R },
}

#[derive(Clone, Debug, PartialEq, Generate, Value)]
enum List<T> {
    More(T, Box<List<T>>),
    End,
}

#[derive(Clone, Debug, PartialEq, Generate, Value)]
enum Rose {
    Node { name: u8, children: Vec<Rose> },
}

#[derive(Clone, Debug, PartialEq, Generate, Value)]
struct Chain {
    next: Option<Box<Chain>>,
}

#[derive(Clone, Debug, PartialEq, Generate, Value)]
struct Maps {
    map: BTreeMap<u8, BTreeSet<i16>>,
    tuple: (u16, (bool, ())),
}

#[derive(Clone, Debug, PartialEq, Generate)]
struct Marked<T>(PhantomData<T>, u8);

fn even(source: &mut Source) -> u32 {
    source.int(0..=50) * 2
}

#[derive(Clone, Debug, PartialEq, Generate)]
struct Constrained {
    #[generate(with = even)]
    even: u32,
    #[generate(with = |source| source.string_of(fuzzbox_guest::text::LOWER, 1..=3))]
    name: String,
}

#[derive(Clone, Debug, PartialEq, Generate)]
#[allow(dead_code)]
enum Weighted {
    #[generate(weight = 99)]
    Common,
    Rare,
    #[generate(skip)]
    Never,
}

fn drawn<T: Generate>(input: Input) -> (T, Vec<Choice>) {
    let mut value = None;
    let run = run(input, |source| value = Some(source.draw()));
    assert_eq!(run.outcome, Outcome::Passed);
    (value.expect("it passed"), run.choices)
}

/// The simplest value is this; a thousand values come back from their choices, and from their bytes.
fn behaves<T: Generate + Value + Clone + Debug>(simplest: &str) {
    assert_eq!(format!("{:?}", drawn::<T>(Input::default()).0), simplest);
    for state in 1..=1000 {
        let (value, choices) = drawn::<T>(Seed::new(200, state).into());
        let (again, same_choices) = drawn::<T>(choices.clone().into());
        // As text, because NaN is not equal to itself.
        assert_eq!(format!("{value:?}"), format!("{again:?}"));
        assert_eq!(choices, same_choices);
        let read: T = from_bytes(&to_bytes(&value)).expect("bytes of a value");
        assert_eq!(format!("{value:?}"), format!("{read:?}"));
    }
}

#[test]
fn structs_are_drawn_field_by_field() {
    behaves::<Unit>("Unit");
    behaves::<Newtype>("Newtype(0)");
    behaves::<Pair>("Pair(0, \"\")");
    behaves::<Named>("Named { first: false, type: None, rest: [] }");
    behaves::<Maps>("Maps { map: {}, tuple: (0, (false, ())) }");
}

#[test]
fn enums_begin_with_their_smallest_variant() {
    behaves::<Plain>("One");
    behaves::<Mixed>("Empty");
}

#[test]
fn generic_types_are_drawn_by_their_parameters() {
    behaves::<Generic<bool, 3>>("Generic { items: [false, false, false], more: [] }");
    behaves::<Either<u8, Unit>>("Right { right: Unit }");
    behaves::<Either<Unit, u8>>("Left(Unit)");
    assert_eq!(drawn::<Marked<Rose>>(Input::default()).0, Marked(PhantomData, 0));
}

#[test]
fn recursive_types_end() {
    behaves::<List<u16>>("End");
    behaves::<Rose>("Node { name: 0, children: [] }");
    behaves::<Chain>("Chain { next: None }");
}

#[test]
fn labels_tell_types_apart_and_their_parameters() {
    let labels = [
        Unit::LABEL,
        Newtype::LABEL,
        List::<u8>::LABEL,
        List::<u16>::LABEL,
        Vec::<u8>::LABEL,
        Vec::<Vec<u8>>::LABEL,
        Either::<u8, bool>::LABEL,
        Either::<bool, u8>::LABEL,
    ];
    assert_eq!(BTreeSet::from(labels).len(), labels.len());
}

#[test]
fn every_value_is_a_span_and_spans_nest() {
    let run = run(Seed::new(300, 77).into(), |source| drop(source.draw::<Vec<Named>>()));
    assert!(run.spans.iter().any(|span| span.label == Named::LABEL));
    for (at, span) in run.spans.iter().enumerate() {
        assert!(span.start <= span.end && span.end <= run.choices.len());
        for later in &run.spans[at + 1..] {
            assert!(later.start >= span.end || later.end <= span.end, "{span:?} {later:?}");
        }
    }
}

#[test]
fn attributes_say_how_a_field_is_drawn() {
    assert_eq!(drawn::<Constrained>(Input::default()).0, Constrained { even: 0, name: "a".into() });
    for state in 1..=500 {
        let (value, _) = drawn::<Constrained>(Seed::new(50, state).into());
        assert!(value.even.is_multiple_of(2) && (1..=3).contains(&value.name.len()), "{value:?}");
    }
}

#[test]
fn variants_are_as_likely_as_they_weigh_and_some_are_never_drawn() {
    let drawn: Vec<Weighted> =
        (1..=5000).map(|state: u32| drawn(Seed::new(8, state.wrapping_mul(0x9e37_79b9)).into()).0).collect();
    let rare = drawn.iter().filter(|value| **value == Weighted::Rare).count();
    assert!((25..80).contains(&rare), "{rare}");
    assert!(!drawn.contains(&Weighted::Never));
}

#[test]
fn reordered_variants_read_old_bytes() {
    mod before {
        #[derive(fuzzbox_guest::Value)]
        pub(super) enum Color {
            Red(u8),
            Green,
        }
    }
    #[derive(Debug, PartialEq, Value)]
    enum Color {
        Blue,
        Green,
        Red(u8),
    }
    assert_eq!(from_bytes(&to_bytes(&before::Color::Red(7))), Some(Color::Red(7)));
    assert_eq!(from_bytes(&to_bytes(&before::Color::Green)), Some(Color::Green));
    assert_eq!(from_bytes::<Color>(b"xxxx"), None);
    assert_ne!(to_bytes(&Color::Blue), to_bytes(&Color::Green));
}

mod before {
    /// What values were made of, of which types of the same name in tests are later versions.
    #[derive(Clone, Debug, fuzzbox_guest::Value)]
    pub(super) struct Order {
        pub(super) amount: u16,
        pub(super) price: u16,
        pub(super) buyer: String,
        pub(super) kind: Kind,
    }

    #[derive(Clone, Debug, fuzzbox_guest::Value)]
    pub(super) enum Kind {
        #[allow(dead_code)]
        Plain,
        Express(u8),
    }

    pub(super) fn order() -> Order {
        Order { amount: 3, price: 500, buyer: "Ada".into(), kind: Kind::Express(9) }
    }
}

#[test]
fn fields_are_found_by_their_names_and_new_ones_are_the_simplest() {
    #[derive(Debug, PartialEq, Value)]
    enum Kind {
        Tree(Box<Kind>, Box<Kind>),
        Express(u8, bool),
    }
    #[derive(Debug, PartialEq, Value)]
    struct Order {
        number: i64,
        kind: Kind,
        price: Option<u64>,
        amount: u16,
        parts: Kind,
    }
    let read: Order = from_bytes(&to_bytes(&before::order())).unwrap();
    let parts = Kind::Express(0, false);
    assert_eq!(read, Order { number: 0, kind: Kind::Express(9, false), price: Some(500), amount: 3, parts });
}

#[test]
fn fields_that_were_renamed_are_found_by_their_order() {
    #[derive(Debug, PartialEq, Value)]
    enum Way {
        Usual,
        Fast { hours: u8 },
    }
    #[derive(Debug, PartialEq, Value)]
    struct Purchase {
        count: u16,
        price: u16,
        by: String,
        way: Way,
    }
    #[derive(Debug, PartialEq, Value)]
    struct Tuple(u16, u16, String, Way);
    #[derive(Debug, PartialEq, Value)]
    struct Around {
        order: Purchase,
        more: Vec<u8>,
    }
    let bytes = to_bytes(&before::order());
    let purchase = || Purchase { count: 3, price: 500, by: "Ada".into(), way: Way::Fast { hours: 9 } };
    assert_eq!(from_bytes(&bytes), Some(purchase()));
    assert_eq!(from_bytes(&bytes), Some(Tuple(3, 500, "Ada".into(), Way::Fast { hours: 9 })));
    assert_eq!(from_bytes(&to_bytes(&(before::order(),))), Some(Around { order: purchase(), more: Vec::new() }));
    assert_eq!(from_bytes(&to_bytes(&purchase())), Some(purchase()));
}
