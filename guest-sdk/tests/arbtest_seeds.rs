//! Seeds mean the same bytes as in the crate arbtest.

use arbtest::arbtest;
use fuzzbox_guest::native::{Seed, run};

#[test]
fn a_thousand_seeds_are_the_bytes_that_arbtest_makes_of_them() {
    let mut state = 1_u32;
    for number in 0..1000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // All sizes that arbtest goes through, lengths beside multiples of four, and no state but also none at all.
        let len = [number % 70, state >> 20, 32 + number, 65_536][number as usize % 4];
        let seed = Seed::new(len, if number == 500 { 0 } else { state });
        let mut theirs = None;
        arbtest(|u| {
            theirs = Some(u.bytes(u.len())?.to_vec());
            Ok(())
        })
        .seed(seed.0)
        .run();
        assert_eq!(theirs, Some(seed.bytes()), "{seed}");
    }
}

#[test]
fn a_type_of_arbitrary_is_the_same_value_here_and_there() {
    type Value = (u32, Vec<Option<String>>, [bool; 3]);
    for state in 1..300_u32 {
        let seed = Seed::new(64, state.wrapping_mul(0x9e37_79b9));
        let (mut theirs, mut ours) = (None, None);
        arbtest(|u| {
            theirs = Some(u.arbitrary::<Value>()?);
            Ok(())
        })
        .seed(seed.0)
        .run();
        run(seed.into(), |source| {
            ours = Some(source.unstructured(65_536, |u| u.arbitrary::<Value>()));
        });
        assert_eq!(ours, theirs, "{seed}");
    }
}
