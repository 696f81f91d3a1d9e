//! Guests that make no sense: what they draw and how they end is a hash of what they drew.

use super::protocol::{Drawn, Halt, Native, Source};
use crate::engine::shrink::{Limits, Order, Tail, Verdict, shrink};
use crate::stream::shortlex;

/// Guests that are shrunk.
const GUESTS: u64 = 150;
const DEPTH_MAX: u32 = 4;

/// Mixes `value` into `state` (splitmix64).
fn mix(state: u64, value: u64) -> u64 {
    let mut mixed = (state ^ value).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Draws something that `state` says, and returns a state that depends on it.
fn draw(source: &mut Source, state: u64, depth: u32) -> Drawn<u64> {
    let next = |value: u64| mix(state, value);
    let kind = if depth == DEPTH_MAX { state % 4 } else { state % 8 };
    Ok(match kind {
        0 => next(source.int(1, -(state as i64 >> 8 & 0xff), state as i64 >> 16 & 0xffff, 3)? as u64 / 16),
        1 => next(source.choice(2, 2 + state / 8 % 5)?),
        2 => next(source.bool(3)?.into()),
        3 => source
            .bytes(4, (state / 8 % 3) as usize, 12)?
            .iter()
            .fold(state, |state, byte| mix(state, u64::from(byte / 64))),
        4 => {
            let mut inner = state;
            source.list(10 + state % 2, |source| {
                inner = mix(inner, draw(source, state / 8, depth + 1)? % 3);
                Ok(())
            })?;
            inner
        }
        5 => source.flagged_span(20, |source| Ok((draw(source, next(5), depth + 1)?, state & 64 == 0)))?,
        _ => {
            let first = source.span(30 + state % 2, |source| draw(source, next(1), depth + 1))?;
            source.span(30 + state % 2, |source| draw(source, mix(next(2), first % 4), depth + 1))?
        }
    })
}

fn guest(seed: u64) -> Native {
    let property = move |source: &mut Source| {
        let mut state = mix(seed, 0);
        for field in 0..3 {
            state = mix(draw(source, mix(seed, field + 1), 0)? % 8, state);
        }
        match state % 16 {
            0..3 => Err(Halt::Fail("fail")),
            3 => Err(Halt::Fail("other")),
            4..6 => Err(Halt::Invalid),
            _ => Ok(()),
        }
    };
    Native::new(property, "fail")
}

#[test]
fn laws_hold_for_guests_that_make_no_sense() {
    let limits = Limits { exhaustive_max: 200, explain_max: 10, execs_max: 20_000, ..Limits::default() };
    let mut shrunk = 0;
    for seed in 0..GUESTS {
        let mut native = guest(seed);
        let Some(first) = native.find_in(seed, 3000) else { continue };
        let once = shrink(&native, &first, limits).unwrap().expect("it fails");
        assert!(shortlex(&once.trace.choices, &first).is_le());
        let (attempt, _) = native.run(&Order { choices: once.trace.choices.clone(), tail: Tail::Zero });
        assert_eq!((attempt.verdict, attempt.trace.choices), (Verdict::Same, once.trace.choices.clone()), "{seed}");
        for choices in once.slips.values() {
            let order = Order { choices: choices.clone(), tail: Tail::Zero };
            assert_eq!(native.run(&order).0.verdict, Verdict::Slip("other".into()));
        }
        if once.report.is_fixed_point {
            let twice = shrink(&native, &once.trace.choices, limits).unwrap().expect("it fails");
            assert_eq!(twice.trace, once.trace, "{seed}");
        }
        native.jobs = 3;
        let many = shrink(&native, &first, limits).unwrap().expect("it fails");
        assert_eq!((many.trace, many.report, many.slips), (once.trace, once.report, once.slips), "{seed}");
        shrunk += 1;
    }
    assert!(shrunk > GUESTS / 2, "only {shrunk} guests fail at all");
}
