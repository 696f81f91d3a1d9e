//! A generator of trees that does not end by itself: a leaf in a third of the cases, two branches in the others.

use super::{executor, executors, indices, module, run};
use fuzzbox::outcome::Outcome;
use fuzzbox::stream::{Rule, Tail};

/// Draws a tree, and tells how many nodes it has. The branch is the first that its author thought of, and the leaf the simplest.
pub(super) fn guest() -> String {
    module(
        "(func $tree (result i32)
            (if (result i32) (call $draw_bool (i32.const 0xaaaaaaaa))
                (then (i32.add (i32.const 1) (i32.add (call $tree) (call $tree))))
                (else (i32.const 1))))
        (func (export \"fbx_tree\")
            (call $keyframe (i32.const 1) (i64.extend_i32_u (call $tree))))",
    )
}

#[test]
fn trees_end_when_entropy_does() {
    // With a finite stream of random choices and zeros behind it; the second executor is of the variant that reads only.
    let mut executor = executors(&guest()).swap_remove(1);
    for (choices, runs, mean_max) in [(64, 10_000, 200), (8192, 1_000, 8192)] {
        let mut nodes = 0;
        for seed in 0..runs {
            let rule = Rule { tail: Tail::Random { seed, choices }, ..Rule::default() };
            let (outcome, _, told) = run(&mut executor, &[], rule);
            assert_eq!(outcome, Outcome::Ok);
            nodes += told.keyframes[0].1;
        }
        let mean = nodes / runs.cast_signed();
        println!("{choices} choices: {mean} nodes");
        assert!((2..mean_max).contains(&mean), "{mean}");
    }
}

#[test]
fn zeros_are_the_single_leaf() {
    let mut executor = executor(&guest());
    let (outcome, trace, told) = run(&mut executor, &[], Rule::default());
    assert_eq!((outcome, told.keyframes), (Outcome::Ok, vec![(1, 1)]));
    assert_eq!((trace.choices.len(), trace.given), (1, 0));
    let (_, trace, told) = run(&mut executor, &indices(&[1, 0, 1]), Rule::default());
    assert_eq!(told.keyframes, [(1, 5)]);
    assert_eq!((trace.choices.len(), trace.given, trace.misaligned), (5, 3, None));
    // A stream that must not go on.
    let stop = Rule { tail: Tail::Stop, ..Rule::default() };
    assert_eq!(run(&mut executor, &indices(&[1, 0]), stop).0, Outcome::Overrun);
    assert_eq!(run(&mut executor, &indices(&[1, 0, 0]), stop).0, Outcome::Ok);
}
