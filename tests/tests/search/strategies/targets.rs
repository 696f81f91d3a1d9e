//! Scores that are to become large.

use super::figures::{Section, figure, promised};
use super::{guest, searched};
use fuzzbox::sandbox::Executor;

/// To make x * y large where x + y is at most 1000.
const PRODUCT: &str = r#"
    (data (i32.const 0) "product")
    (func (export "fbx_product") (local $x i64) (local $y i64)
        (local.set $x (call $int (i64.const 0) (i64.const 1000) (i64.const 0)))
        (local.set $y (call $int (i64.const 0) (i64.const 1000) (i64.const 0)))
        (call $assume (i64.le_s (i64.add (local.get $x) (local.get $y)) (i64.const 1000)))
        (call $target (i32.const 0) (i32.const 7)
            (f64.convert_i64_s (i64.mul (local.get $x) (local.get $y)))))"#;

#[test]
fn a_product_under_a_bound_comes_within_a_hundredth_of_its_maximum() {
    let target = guest(PRODUCT);
    let mut executor = Executor::new(&target).unwrap();
    let mut best = |seed| {
        let campaign = searched(&target, "fuzz", seed, 1, 2_000, false);
        let scores = campaign.corpus().testcases().iter().flat_map(|testcase| {
            executor.run(&testcase.bytes).unwrap();
            executor.observation().told().targets.iter().map(|(_, score)| *score).collect::<Vec<_>>()
        });
        scores.fold(f64::NEG_INFINITY, f64::max)
    };
    let worst = (0..promised(10, 20)).map(&mut best).fold(f64::INFINITY, f64::min);
    println!("{worst}");
    figure(
        Section::Targets,
        "x * y where x + y is at most 1000, worst of 20 seeds",
        "247,500 in 2,000",
        &worst.to_string(),
    );
    assert!(worst >= 0.99 * 250_000.0, "{worst}");
}
