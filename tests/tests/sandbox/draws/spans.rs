//! Spans: those that guests tell, and those that are found in their code.

use super::{executor, indices, module, run, tree};
use fuzzbox::stream::{Rule, Span};

fn shown(spans: &[Span]) -> Vec<(u64, std::ops::Range<usize>, u16, bool)> {
    spans.iter().map(|span| (span.label & 0xffff_ffff, span.range(), span.depth, span.automatic)).collect()
}

#[test]
fn calls_that_draw_are_spans() {
    let (_, trace, _) = run(&mut executor(&tree::guest()), &indices(&[1, 0, 1]), Rule::default());
    let calls = [(0, 0..5, 0, true), (0, 0..5, 1, true), (0, 1..2, 2, true), (0, 2..5, 2, true)];
    let leaves = [(0, 3..4, 3, true), (0, 4..5, 3, true)];
    assert_eq!(shown(&trace.spans), [&calls[..], &leaves[..]].concat());
    let labels: Vec<u64> = trace.spans.iter().map(|span| span.label >> 32).collect();
    assert_eq!(labels, [23, 22, 22, 22, 22, 22], "the functions' indices");
    assert_eq!(trace.draws.iter().map(|draw| draw.site).collect::<Vec<_>>(), [1; 5]);
}

#[test]
fn iterations_that_draw_are_spans_however_the_loop_is_left() {
    let again = "(call $draw_bool (i32.const 0x40000000))";
    // By a branch out of two blocks, by falling out of it, by a jump table.
    let ways = [
        format!("(block $a (block $b (loop $l (br_if $a (i32.eqz {again})) (br $l))) (unreachable))"),
        format!("(loop $l (br_if $l {again}))"),
        format!("(block $a (loop $l (br_table $a $l $l {again})))"),
    ];
    for way in ways {
        let wat = module(&format!(
            "(func (export \"fbx_loop\")
                (loop $other (br_if $other (i32.const 0)))
                {way}
                (drop (call $draw_choice (i32.const 9) (i32.const 0))))"
        ));
        let (_, trace, _) = run(&mut executor(&wat), &indices(&[1, 1, 0, 7]), Rule::default());
        let iterations = [(2, 0..1, 1, true), (2, 1..2, 1, true), (2, 2..3, 1, true)];
        assert_eq!(shown(&trace.spans), [&[(0, 0..4, 0, true)], &iterations[..]].concat(), "{way}");
    }
}

#[test]
fn calls_by_reference_are_spans_if_they_may_draw() {
    let body = |table: &str| {
        module(&format!(
            "(type $f (func)) (table funcref (elem {table}))
            (func $draws (drop (call $draw_int (i64.const 0) (i64.const 9) (i64.const 0))))
            (func $other)
            (func $calls (call_indirect (type $f) (i32.const 0)))
            (func (export \"fbx_any\") (call $calls) (call $draws))"
        ))
    };
    let spans = |table| run(&mut executor(&body(table)), &[], Rule::default()).1.spans.len();
    assert_eq!(spans("$draws"), 4);
    assert_eq!(spans("$other"), 2);
}

#[test]
fn told_spans_have_labels_and_may_be_discarded() {
    let wat = module(
        "(func (export \"fbx_any\")
            (call $span_begin (i32.const 7))
            (drop (call $draw_bool (i32.const 1)))
            (call $span_begin (i32.const 8))
            (drop (call $draw_bool (i32.const 1)))
            (call $span_end (i32.const 1))
            (call $span_end (i32.const 0)))",
    );
    let (_, trace, _) = run(&mut executor(&wat), &[], Rule::default());
    assert_eq!(shown(&trace.spans), [(0, 0..2, 0, true), (7, 0..2, 1, false), (8, 1..2, 2, false)]);
    assert_eq!(trace.spans.iter().map(|span| span.discarded).collect::<Vec<_>>(), [false, false, true]);
}
