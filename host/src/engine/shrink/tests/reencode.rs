//! Values that are kept where lowering a draw changes the bounds or the kind of what is drawn behind it.
//!
//! The values are too large to be found by trying, and the exhaustive finish is off.

use super::protocol::{Drawn, Native, Source};
use crate::engine::shrink::{Limits, shrink};
use crate::stream::Choice;

const VALUE: i64 = 123_456_789;
const WIDTH: i64 = 1 << 40;

fn indices(indices: &[u64]) -> Vec<Choice> {
    indices.iter().copied().map(Choice::Index).collect()
}

/// Asserts that shrinking `first` ends at `simplest`, with any number of threads, and finds nothing there.
fn check(property: fn(&mut Source) -> Drawn<()>, first: &[Choice], simplest: &[Choice]) {
    let mut native = Native::new(property, "fail");
    let limits = Limits { exhaustive_max: 0, explain_max: 0, ..Limits::default() };
    let one = shrink(&native, first, limits).unwrap().expect("it fails");
    assert_eq!(one.trace.choices, simplest, "from {first:?}");
    assert!(one.report.is_fixed_point);
    for jobs in [2, 8] {
        native.jobs = jobs;
        let many = shrink(&native, first, limits).unwrap().expect("it fails");
        assert_eq!((many.trace, many.report, many.slips), (one.trace.clone(), one.report.clone(), one.slips.clone()));
    }
    let again = shrink(&native, simplest, limits).unwrap().expect("it fails");
    assert_eq!(again.trace, one.trace);
}

/// A number from 0 on, or from 500 on.
fn either(source: &mut Source) -> Drawn<i64> {
    match source.choice(1, 2)? {
        0 => source.int(2, 0, WIDTH, 0),
        _ => source.int(3, 500, WIDTH + 500, 500),
    }
}

#[test]
fn a_lower_alternative_is_taken_if_it_can_give_the_same_number() {
    let property = |source: &mut Source| {
        let value = either(source)?;
        source.check(value != VALUE, "fail")
    };
    check(property, &indices(&[1, 123_456_289]), &indices(&[0, 123_456_789]));
    let decided_by_a_bool = |source: &mut Source| {
        let value = if source.bool(1)? { source.int(2, -WIDTH, WIDTH, 0)? } else { source.int(3, 0, WIDTH, 9)? };
        source.check(value != VALUE, "fail")
    };
    check(decided_by_a_bool, &indices(&[1, 2 * 123_456_789 - 1]), &indices(&[0, 123_456_789]));
}

#[test]
fn each_element_of_a_list_is_taken_from_the_lower_alternative() {
    let property = |source: &mut Source| {
        let list = source.list(10, either)?;
        source.check(list != [VALUE, 7 * VALUE, 600], "fail")
    };
    let first = indices(&[1, 1, 123_456_289, 1, 0, 864_197_523, 1, 1, 100, 0]);
    check(property, &first, &indices(&[1, 0, 123_456_789, 1, 0, 864_197_523, 1, 0, 600, 0]));
    // Without spans, the places in the guest have to say what belongs together.
    let flat = |source: &mut Source| {
        let values = [either(source)?, either(source)?, either(source)?];
        source.check(values != [VALUE, 7 * VALUE, 600], "fail")
    };
    let first = indices(&[1, 123_456_289, 0, 864_197_523, 1, 100]);
    check(flat, &first, &indices(&[0, 123_456_789, 0, 864_197_523, 0, 600]));
}

#[test]
fn a_number_keeps_its_value_where_another_kind_is_drawn() {
    let from_unsigned = |source: &mut Source| {
        let value = match source.choice(1, 2)? {
            0 => source.int(2, -WIDTH, WIDTH, 0)?,
            _ => source.uint(3, 1000, u64::MAX, 2000)?.cast_signed(),
        };
        source.check(value != VALUE, "fail")
    };
    check(from_unsigned, &indices(&[1, 123_455_789]), &indices(&[0, 246_913_577]));
    let from_float = |source: &mut Source| {
        let value = match source.choice(1, 2)? {
            0 => source.int(2, 0, WIDTH, 0)?,
            _ => source.float(3, f64::NEG_INFINITY, f64::INFINITY)? as i64,
        };
        source.check(value != VALUE, "fail")
    };
    check(from_float, &indices(&[1, 246_913_577]), &indices(&[0, 123_456_789]));
    let to_float = |source: &mut Source| {
        let value = match source.choice(1, 2)? {
            0 => source.float(3, f64::NEG_INFINITY, f64::INFINITY)?,
            _ => source.int(2, 0, WIDTH, 0)? as f64,
        };
        source.check(value != VALUE as f64, "fail")
    };
    check(to_float, &indices(&[1, 123_456_789]), &indices(&[0, 246_913_577]));
}

/// A number up to 1000, and two that are not below it.
fn bound_and_two(source: &mut Source) -> Drawn<[i64; 3]> {
    let least = source.int(1, 0, 1000, 0)?;
    let mut above = |site| source.int(site, least, least + WIDTH, least);
    Ok([least, above(2)?, above(3)?])
}

#[test]
fn a_bound_is_lowered_and_what_is_drawn_above_it_stays() {
    let property = |source: &mut Source| {
        let [_, one, two] = bound_and_two(source)?;
        source.check([one, two] != [VALUE, 7 * VALUE], "fail")
    };
    let first = indices(&[700, 123_456_089, 864_196_823]);
    check(property, &first, &indices(&[0, 123_456_789, 864_197_523]));
    let at_least_17 = |source: &mut Source| {
        let [least, one, two] = bound_and_two(source)?;
        source.check([one, two] != [VALUE, 7 * VALUE] || least < 17, "fail")
    };
    check(at_least_17, &first, &indices(&[17, 123_456_772, 864_197_506]));
}

#[test]
fn bounds_that_depend_on_values_that_are_kept_are_followed() {
    let property = |source: &mut Source| {
        let [_, one, two] = bound_and_two(source)?;
        let three = source.int(4, one, one + WIDTH, one)?;
        let four = source.int(5, three, three + WIDTH, three)?;
        source.check([one, two, three, four] != [VALUE, 7 * VALUE, 2 * VALUE, 4 * VALUE], "fail")
    };
    let first = indices(&[700, 123_456_089, 864_196_823, 123_456_789, 246_913_578]);
    check(property, &first, &indices(&[0, 123_456_789, 864_197_523, 123_456_789, 246_913_578]));
}

#[test]
fn bytes_are_carried_over_with_the_numbers_beside_them() {
    let property = |source: &mut Source| {
        let (number, bytes) = match source.choice(1, 2)? {
            0 => (source.int(2, 0, WIDTH, 0)?, source.bytes(3, 0, 20)?),
            _ => {
                let bytes = source.bytes(4, 1, 40)?;
                (source.int(5, 500, WIDTH, 500)?, bytes)
            }
        };
        source.check(number != VALUE || bytes.len() != 4 || bytes[0] < 150 || bytes[2] < 170, "fail")
    };
    let first = [Choice::Index(1), Choice::Blob(vec![200, 0, 210, 7]), Choice::Index(123_456_289)];
    let simplest = [Choice::Index(0), Choice::Index(123_456_789), Choice::Blob(vec![150, 0, 170, 0])];
    check(property, &first, &simplest);
}
