//! What is left of a failure when the generator has changed: the value, for one.

use fuzzbox_guest::native::{self, Choice, Outcome};
use fuzzbox_guest::value::{from_bytes, to_bytes};
use fuzzbox_guest::{Source, Value};

/// What is checked; it stays.
#[derive(Clone, Debug, PartialEq, Value)]
enum Order {
    Buy { amount: u32 },
    Sell { amount: u32 },
    Cancel,
}

fn check(orders: &[Order]) {
    let mut stock = 0_i64;
    for order in orders {
        match order {
            Order::Buy { amount } => stock += i64::from(*amount),
            Order::Sell { amount } => stock -= i64::from(*amount),
            Order::Cancel => {}
        }
        assert!(stock >= 0, "sold what was not there");
    }
}

fn orders(source: &mut Source, order: impl FnMut(&mut Source) -> Order) -> Vec<Order> {
    source.vec(0..=10, order)
}

/// The generator that the failure was found with.
fn before(source: &mut Source) -> Vec<Order> {
    orders(source, |source| match source.choice(3) {
        0 => Order::Buy { amount: source.int(0..=100) },
        1 => Order::Sell { amount: source.int(0..=100) },
        _ => Order::Cancel,
    })
}

/// The same alternatives in another order.
fn reordered(source: &mut Source) -> Vec<Order> {
    orders(source, |source| match source.choice(3) {
        0 => Order::Cancel,
        1 => Order::Buy { amount: source.int(0..=100) },
        _ => Order::Sell { amount: source.int(0..=100) },
    })
}

/// A draw more, before all others.
fn with_a_draw_in_front(source: &mut Source) -> Vec<Order> {
    let limit = source.int(1..=1000);
    let mut orders = before(source);
    orders.truncate(limit);
    orders
}

/// Other bounds.
fn with_other_bounds(source: &mut Source) -> Vec<Order> {
    orders(source, |source| match source.choice(3) {
        0 => Order::Buy { amount: source.int(10..=50) },
        1 => Order::Sell { amount: source.int(10..=50) },
        _ => Order::Cancel,
    })
}

fn outcome(choices: &[Choice], generator: fn(&mut Source) -> Vec<Order>) -> Outcome {
    native::run(choices.to_vec().into(), |source| check(&generator(source))).outcome
}

#[test]
fn a_value_survives_what_choices_do_not() {
    // Buy 1, sell 2.
    let choices = [1, 0, 1, 1, 1, 2, 0].map(Choice::Index);
    assert!(outcome(&choices, before).is_failure());
    assert!(!outcome(&choices, reordered).is_failure(), "cancel, buy");
    assert!(
        !outcome(&choices, with_a_draw_in_front).is_failure(),
        "the draw in front takes what was meant for the list"
    );
    assert!(outcome(&choices, with_other_bounds).is_failure(), "11 and 12 in the place of 1 and 2");

    let mut bytes = Vec::new();
    native::run(choices.to_vec().into(), |source| bytes = to_bytes(&before(source)));
    let value: Vec<Order> = from_bytes(&bytes).expect("a value");
    assert_eq!(value, [Order::Buy { amount: 1 }, Order::Sell { amount: 2 }]);
    // No generator has a part in it.
    assert!(native::run(Vec::new().into(), |_| check(&value)).outcome.is_failure());
}
