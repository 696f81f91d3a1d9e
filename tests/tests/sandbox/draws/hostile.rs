//! Guests that misuse the protocol end themselves, and nothing else.

use super::{executors, kind, module, run};
use fuzzbox::outcome::Outcome;
use fuzzbox::stream::{Choice, Rule, Tail, encode};
use fuzzbox_tests::interrupt_until_over;

/// A property with this body ends so, in all variants, twice.
#[track_caller]
fn ends(body: &str, end: &str) {
    for executor in &mut executors(&module(&format!("(func (export \"fbx_any\") {body})"))) {
        for _ in 0..2 {
            let (outcome, ..) = run(executor, &[], Rule::default());
            assert_eq!(kind(&outcome), end, "{body}: {outcome:?}");
            if let (Some(trap), true) = (outcome.trap(), executor.target().variant != fuzzbox::sandbox::Variant::Full) {
                assert!(trap.frames.iter().all(|frame| frame.function == 22), "the guest's own: {trap:?}");
                assert!(!trap.frames.is_empty());
            }
        }
    }
}

#[test]
fn what_there_cannot_be_is_a_bad_draw() {
    for body in [
        "(drop (call $draw_int (i64.const 1) (i64.const 0) (i64.const 0)))",
        "(drop (call $draw_uint (i64.const -1) (i64.const 0) (i64.const 0)))",
        "(drop (call $draw_choice (i32.const 0) (i32.const 0)))",
        "(drop (call $draw_choice (i32.const -1) (i32.const 0)))",
        "(drop (call $draw_choice (i32.const 4097) (i32.const 8)))",
        "(drop (call $draw_f64 (f64.const 1) (f64.const 0) (i32.const 0)))",
        "(drop (call $draw_f64 (f64.const nan) (f64.const 0) (i32.const 1)))",
        "(drop (call $draw_payload (i32.const 0)))",
        "(drop (call $draw_payload (i32.const 65)))",
        "(drop (call $draw_more (i32.const -1) (i32.const 0) (i32.const 0)))",
        "(drop (call $draw_more (i32.const 2) (i32.const 1) (i32.const 0)))",
        "(drop (call $draw_bytes (i32.const 0) (i32.const 2) (i32.const 1)))",
        "(drop (call $draw_bytes (i32.const 0) (i32.const -1) (i32.const 1)))",
        "(drop (call $draw_str (i32.const 0) (i32.const -1) (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 0)))",
        "(drop (call $draw_str (i32.const 0) (i32.const 9) (i32.const 0) (i32.const 1) (i32.const 8) (i32.const 0)))",
        "(drop (call $draw_str (i32.const 0) (i32.const 9) (i32.const 0) (i32.const 1) (i32.const 8) (i32.const 257)))",
        "(i32.store (i32.const 8) (i32.const 0x110000)) (i32.store (i32.const 12) (i32.const 0x110000))
        (drop (call $draw_str (i32.const 0) (i32.const 9) (i32.const 0) (i32.const 1) (i32.const 8) (i32.const 1)))",
    ] {
        ends(body, "bad-draw");
    }
}

#[test]
fn pointers_out_of_memory_trap() {
    for (at, len) in [(65_536, 1), (65_535, 2), (0, 65_537), (-1, 1), (0, -1), (-1, -1), (65_537, 0)] {
        let text = format!("(i32.const {at}) (i32.const {len})");
        for call in [
            format!("(call $reject {text})"),
            format!("(call $fail {text})"),
            format!("(call $target {text} (f64.const 0))"),
            format!("(call $event {text} (i64.const 0))"),
            format!("(call $name (i32.const 0) (i32.const 0) {text})"),
            format!("(call $note {text})"),
            format!("(call $value (i64.const 0) (i32.const 0) {text})"),
            format!("(drop (call $feature {text}))"),
        ] {
            ends(&call, "memory-out-of-bounds");
        }
        if len >= 0 {
            ends(
                &format!("(drop (call $draw_bytes (i32.const {at}) (i32.const 0) (i32.const {len})))"),
                "memory-out-of-bounds",
            );
            let rest = "(i32.const 0) (i32.const 1) (i32.const 0) (i32.const 0)";
            ends(&format!("(drop (call $draw_str {text} {rest}))"), "memory-out-of-bounds");
        }
    }
    let ok = "(call $note (i32.const 65535) (i32.const 1)) (call $note (i32.const 65536) (i32.const 0))";
    ends(ok, "ok");
    ends("(drop (call $draw_choice (i32.const 2) (i32.const 65530)))", "memory-out-of-bounds");
    ends("(drop (call $draw_choice (i32.const 2) (i32.const -4)))", "memory-out-of-bounds");
    let alphabet = "(i32.const 0) (i32.const 9) (i32.const 0) (i32.const 1) (i32.const 65532) (i32.const 1)";
    ends(&format!("(drop (call $draw_str {alphabet}))"), "memory-out-of-bounds");
    ends("(drop (call $draw_bytes (i32.const 0) (i32.const 0) (i32.const 0x7fffffff)))", "memory-out-of-bounds");
}

#[test]
fn spans_may_be_left_open_or_closed_too_often() {
    ends("(call $span_begin (i32.const 1)) (drop (call $draw_bool (i32.const 9)))", "ok");
    let close = "(call $span_end (i32.const 1)) (call $span_end (i32.const 1)) (drop (call $draw_bool (i32.const 9)))";
    ends(close, "ok");
    ends("(loop $l (call $span_begin (i32.const 1)) (br $l))", "overrun");
    // More spans than can be recorded, all of them closed: the draw still finds its place.
    let many = "(local $i i32)
        (loop $l
            (call $span_begin (i32.const 1)) (call $span_end (i32.const 1))
            (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 100000))))
        (drop (call $draw_bool (i32.const 9)))";
    ends(many, "ok");
}

#[test]
fn draws_without_end_overrun() {
    ends("(loop $l (drop (call $draw_bool (i32.const 9))) (br $l))", "overrun");
    ends("(loop $l (drop (call $draw_bytes (i32.const 0) (i32.const 30000) (i32.const 30000))) (br $l))", "overrun");
    let rest = "(i32.const 30000) (i32.const 30000) (i32.const 30000) (i32.const 0) (i32.const 0)";
    ends(&format!("(loop $l (drop (call $draw_str (i32.const 0) {rest})) (br $l))"), "overrun");
    // What has no room is left out, and does not end anything.
    let tell = "(local $i i32)
        (loop $l
            (call $note (i32.const 0) (i32.const 65000)) (call $event (i32.const 0) (i32.const 2000) (i64.const 1))
            (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 3000))))
        (call $fail (i32.const 0) (i32.const 2000))";
    ends(tell, "failed");
}

#[test]
fn streams_longer_than_any_execution_are_cut() {
    let wat = module("(func (export \"fbx_any\") (loop $l (br_if $l (call $draw_bool (i32.const 0x40000000)))))");
    let many = encode(&vec![Choice::Index(1); 70_000]);
    for executor in &mut executors(&wat) {
        assert_eq!(run(executor, &many, Rule::default()).0, Outcome::Overrun);
        let all = Rule { tail: Tail::Random { seed: 1, choices: u32::MAX }, wrap: true, close: false };
        assert_eq!(run(executor, &[], all).0, Outcome::Ok);
    }
}

#[test]
fn initialisers_may_draw_and_tell() {
    let wat = module(
        "(global $drawn (mut i64) (i64.const -1))
        (data (i32.const 8) \"name\")
        (func $init
            (global.set $drawn (call $draw_int (i64.const 3) (i64.const 9) (i64.const 0)))
            (call $span_begin (i32.const 1))
            (call $name (i32.const 1) (i32.const 2) (i32.const 8) (i32.const 4)))
        (start $init)
        (func (export \"fbx_any\")
            (call $assume (i64.eq (global.get $drawn) (i64.const 3)))
            (if (i64.eq (call $draw_int (i64.const 0) (i64.const 9) (i64.const 0)) (i64.const 5)) (then unreachable)))",
    );
    for executor in &mut executors(&wat) {
        for index in [0, 5, 0] {
            let (outcome, _, told) = run(executor, &super::indices(&[index]), Rule::default());
            assert_eq!(kind(&outcome), if index == 5 { "unreachable" } else { "ok" });
            assert!(told.names.is_empty(), "they were told before");
        }
    }
    let target = super::executor(&wat).target().clone();
    assert_eq!(target.names(), [(1, 2, "name".to_owned())]);
}

#[test]
fn memories_of_any_kind_do() {
    let draw = "(func (export \"fbx_any\")
        (drop (call $draw_bytes (i32.const 8) (i32.const 3) (i32.const 9)))
        (drop (call $draw_str (i32.const 16) (i32.const 9) (i32.const 2) (i32.const 9) (i32.const 0) (i32.const 0)))
        (call $note (i32.const 16) (i32.const 2))
        (drop (call $draw_choice (i32.const 1) (i32.const 16)))
        (drop (call $draw_bytes (i32.const 0) (i32.const 0) (i32.const 0))))";
    let stream = encode(&[Choice::Blob(b"abc".to_vec()), Choice::Blob(vec![3, 4])]);
    let memory = "(memory (export \"memory\") 1)";
    for other in [memory, "(memory i64 1)", "(memory 70000 (pagesize 1))"] {
        let wat = module(draw).replace(memory, other);
        for (variant, executor) in executors(&wat).iter_mut().enumerate() {
            let (outcome, _, told) = run(executor, &stream, Rule::default());
            assert_eq!(kind(&outcome), "ok", "{other}");
            assert!(variant == 1 || told.notes[0].text == "de");
        }
    }
    let wat = module(draw).replace(memory, "");
    for executor in &mut executors(&wat) {
        assert_eq!(kind(&run(executor, &stream, Rule::default()).0), "memory-out-of-bounds");
    }
    ends("(drop (call $draw_bytes (i32.const 0) (i32.const 0) (i32.const 0)))", "ok");
}

#[test]
fn what_never_ends_can_be_interrupted_and_draws_go_on_after_it() {
    let wat = module(
        "(func (export \"fbx_any\") (local $drawn i64)
            (drop (call $draw_bytes (i32.const 8) (i32.const 3) (i32.const 3)))
            (local.set $drawn (call $draw_int (i64.const 0) (i64.const 9) (i64.const 0)))
            (loop $forever (br_if $forever (i64.eq (local.get $drawn) (i64.const 1))))
            (call $keyframe (i32.const 0) (local.get $drawn)))",
    );
    let stream = |index| encode(&[Choice::Blob(b"abc".to_vec()), Choice::Index(index)]);
    let executor = &mut executors(&wat)[1];
    for _ in 0..3 {
        let interrupter = executor.interrupter();
        let outcome = std::thread::scope(|scope| {
            scope.spawn(move || {
                let execution = loop {
                    match interrupter.running() {
                        Some(execution) => break execution,
                        None => std::thread::yield_now(),
                    }
                };
                interrupt_until_over(&interrupter, execution);
            });
            executor.run(&stream(1)).unwrap()
        });
        assert_eq!(outcome, Outcome::Interrupted);
        let (outcome, _, told) = run(executor, &stream(5), Rule::default());
        assert_eq!((outcome, told.keyframes), (Outcome::Ok, vec![(0, 5)]));
    }
}
