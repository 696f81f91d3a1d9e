//! What is solved by coming nearer alone: conditions that no mutant meets by luck.

use super::{aim, pursue, target, times, workers};
use fuzzbox::sandbox::Target;
use std::fmt::Write as _;
use std::sync::Arc;

/// Gopinath's triangle over three numbers below 2^31, whose simplest values are these; the constants 10 to 13 are
/// executed where it is equilateral, twice isosceles, or scalene.
fn triangle(simplest: [u32; 3]) -> Arc<Target> {
    let [a, b, c] = simplest;
    let draw = |towards: u32| format!("(call $int (i64.const 0) (i64.const 0x7fffffff) (i64.const {towards}))");
    target(
        format!(
            r#"(module
                (import "fuzzbox_v1" "draw_int" (func $int (param i64 i64 i64) (result i64)))
                (memory (export "memory") 1)
                (func $triangle (param $a i64) (param $b i64) (param $c i64) (result i32)
                    (if (i64.eq (local.get $a) (local.get $b))
                        (then (if (i64.eq (local.get $b) (local.get $c))
                            (then (return (i32.const 10)))
                            (else (return (i32.const 11)))))
                        (else (if (i64.eq (local.get $b) (local.get $c))
                            (then (return (i32.const 12)))
                            (else (if (i64.eq (local.get $a) (local.get $c))
                                (then (return (i32.const 13)))
                                (else (return (i32.const 14))))))))
                    unreachable)
                (func (export "fbx_triangle")
                    (drop (call $triangle {} {} {}))))"#,
            draw(a),
            draw(b),
            draw(c)
        )
        .as_bytes(),
    )
}

/// Six numbers of 32 bits in bytes, one after the other, each of which is compared with another; then the constant 99.
fn nested(numbers: [u32; 6]) -> Arc<Target> {
    let (mut ifs, mut ends) = (String::new(), String::new());
    for (place, number) in (0..).zip(numbers) {
        let _ = write!(
            ifs,
            "(if (i32.eq (i32.load offset={} (local.get $data)) (i32.const {})) (then ",
            4 * place,
            number.cast_signed()
        );
        ends.push_str("))");
    }
    target(
        format!(
            r#"(module
                (memory (export "memory") 1)
                (global $deep (mut i32) (i32.const 0))
                (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
                    (if (i32.lt_u (local.get $size) (i32.const 24)) (then (return (i32.const 0))))
                    {ifs} (global.set $deep (i32.const 99)) {ends}
                    (i32.const 0)))"#
        )
        .as_bytes(),
    )
}

/// Numbers below 2^32 that a seed stands for.
fn numbers<const N: usize>(seed: u64) -> [u32; N] {
    let hash = blake3::hash(&seed.to_le_bytes());
    std::array::from_fn(|place| u32::from_le_bytes(hash.as_bytes()[4 * place..4 * place + 4].try_into().unwrap()))
}

#[test]
fn an_equilateral_triangle_is_found_within_two_thousand_executions() {
    let workers = workers(1);
    let mut took = Vec::new();
    for seed in 0..times(50) {
        let triangle = triangle(numbers(seed).map(|number| number >> 1));
        let aim = aim(&triangle, 10, 2);
        let (campaign, has_arrived) = pursue(&workers, &triangle, "approach", &aim, (seed, 2000));
        assert!(has_arrived, "seed {seed}");
        took.push(campaign.totals().execs);
    }
    took.sort_unstable();
    println!("triangle: median {}, most {:?} of {}", took[took.len() / 2], took.last(), took.len());
}

#[test]
fn six_nested_equalities_are_solved_within_five_thousand_executions() {
    let workers = workers(1);
    let mut took = Vec::new();
    for seed in 0..times(20) {
        let nested = nested(numbers(seed));
        let aim = aim(&nested, 99, 2);
        let (campaign, has_arrived) = pursue(&workers, &nested, "approach", &aim, (seed, 5000));
        assert!(has_arrived, "seed {seed}");
        took.push(campaign.totals().execs);
    }
    took.sort_unstable();
    println!("nested: median {}, most {:?} of {}", took[took.len() / 2], took.last(), took.len());
}

#[test]
fn the_same_is_found_with_two_workers() {
    let (one, two) = (workers(1), workers(2));
    let triangle = triangle([5, 77_777, 1 << 30]);
    let nested = nested(numbers(3));
    for (target, constant) in [(&triangle, 10), (&nested, 99)] {
        for strategy in ["approach", "directed", "fuzz", "fuzz+restarts"] {
            let aim = aim(target, constant, 2);
            let found = [&one, &two].map(|workers| {
                let (campaign, has_arrived) = pursue(workers, target, strategy, &aim, (7, 4000));
                (campaign.corpus().hash(), campaign.totals().execs, has_arrived)
            });
            assert_eq!(found[0], found[1], "{strategy}");
        }
    }
}
