//! Calls, where functions end in all the ways they can.

use fuzzbox_instrument::Options;
use fuzzbox_instrument::trace::{Event, Span, SpanEnd, Trace, Way};
use wasmtime::Val;

use super::Traced;

/// The tree on one line, as `f(g h!)`: `!` for what was unwound, `?` for what has no end, `>` for tail calls.
fn tree(run: &Traced, trace: &Trace) -> String {
    fn write(run: &Traced, spans: &[Span], number: usize, out: &mut String) {
        let span = &spans[number];
        out.push_str(run.new.edges.function_name(span.function).unwrap_or("-"));
        for (place, &child) in span.children.iter().enumerate() {
            out.push(if place == 0 { '(' } else { ' ' });
            assert_eq!(spans[child].parent, Some(number));
            assert_eq!(spans[child].depth, span.depth + 1);
            write(run, spans, child, out);
        }
        if !span.children.is_empty() {
            out.push(')');
        }
        out.push_str(match span.end {
            SpanEnd::Left(Way::TailCall) => ">",
            SpanEnd::Left(_) => "",
            SpanEnd::Unwound => "!",
            SpanEnd::Open => "?",
        });
    }
    let spans = trace.spans();
    let roots = (0..spans.len()).filter(|&number| spans[number].parent.is_none());
    let trees = roots.map(|root| {
        let mut out = String::new();
        write(run, &spans, root, &mut out);
        out
    });
    trees.collect::<Vec<_>>().join(" ")
}

#[test]
fn functions_are_left_in_all_ways() {
    let mut run = Traced::golden("spans");
    let mut found = |name: &str, argument| {
        let trace = run.traced(name, &[Val::I32(argument)]);
        tree(&run, &trace)
    };
    assert_eq!(found("plain", 0), "plain");
    assert_eq!(found("plain", 1), "plain");
    assert_eq!(found("one_value", 0), "one_value");
    assert_eq!(found("one_value", 1), "one_value");
    assert_eq!(found("two_values", 1), "two_values");
    assert_eq!(found("tail_call", 1), "tail_call> one_value");
    assert_eq!(found("tail_call", 0), "tail_call");
    // What threw and what was passed is ended by the handler, and is not around what is called then.
    assert_eq!(found("catches", 1), "catches(passes(throws!)! one_value)");
    let trace = run.traced("is_left", &[]);
    assert_eq!(tree(&run, &trace), "is_left");
    let ways: Vec<_> =
        ["plain", "one_value"].map(|name| run.traced(name, &[Val::I32(0)])).map(|trace| trace.spans()[0].end).into();
    assert_eq!(ways, [SpanEnd::Left(Way::End), SpanEnd::Left(Way::Return)]);
    assert_eq!(run.call("one_value", &[Val::I32(1)]).unwrap()[0].i32(), Some(7));
    let two = run.call("two_values", &[Val::I32(1)]).unwrap();
    assert_eq!((two[0].i32(), two[1].i64()), (Some(1), Some(2)));
}

#[test]
fn what_a_trap_ends_stays_open_and_the_next_execution_starts_outside() {
    let mut run = Traced::text(
        r#"(module
          (func $inner (param i32) (if (local.get 0) (then unreachable)))
          (func $outer (export "outer") (param i32)
            (call $inner (i32.const 0))
            (call $inner (local.get 0)))
          (func $ends (export "ends") (loop (br 0))))"#,
    );
    let trace = run.traced("outer", &[Val::I32(1)]);
    assert_eq!(tree(&run, &trace), "outer(inner inner?)?");
    let trace = run.traced("outer", &[Val::I32(0)]);
    assert_eq!(tree(&run, &trace), "outer(inner inner)");
    // Out of fuel.
    let memory = run.memory();
    memory
        .write(
            &mut run.store,
            fuzzbox_instrument::layout::FUEL as usize,
            &(1_000_i64 - Options::traced().fuel.unwrap()).to_le_bytes(),
        )
        .unwrap();
    let trace = run.traced("ends", &[]);
    assert_eq!(tree(&run, &trace), "ends?");
}

#[test]
fn a_start_function_is_traced() {
    let mut run = Traced::text(
        r#"(module
          (func $start (drop (i32.eq (i32.const 5) (i32.const 6))))
          (start $start))"#,
    );
    let trace = run.trace();
    assert_eq!(tree(&run, &trace), "start");
    assert_eq!(trace.records.len(), 3);
}

#[test]
fn legacy_exceptions_unwind_and_sites_are_the_originals() {
    let mut run = Traced::text(
        r#"(module
          (tag $e (param i32))
          (func $throws (param i32) (if (local.get 0) (then (throw $e (local.get 0)))))
          (func $again (param i32)
            try
              (call $throws (local.get 0))
            catch $e
              drop
              rethrow 0
            end)
          (func $catches (export "catches") (param i32) (result i32)
            try (result i32)
              (call $again (local.get 0))
              i32.const 0
            catch $e
              i32.const 7
              i32.lt_u
            end
            (call $throws (i32.const 0))))"#,
    );
    let trace = run.traced("catches", &[Val::I32(0)]);
    assert_eq!(tree(&run, &trace), "catches(again(throws) throws)");
    let trace = run.traced("catches", &[Val::I32(5)]);
    assert_eq!(tree(&run, &trace), "catches(again(throws!)! throws)");
    let compares: Vec<_> =
        trace.records.iter().filter(|record| matches!(record.event, Event::Compare { .. })).collect();
    assert_eq!(compares.len(), 1);
    assert_eq!(run.operator(compares[0].site), "i32.lt_u");
    for record in &trace.records {
        let expected: &[&str] = match record.event {
            Event::Enter { .. } => &["local.get", "try"],
            Event::Leave { .. } => &["end"],
            Event::Caught { .. } => &["try"],
            _ => &["if", "i32.lt_u"],
        };
        let operator = run.operator(record.site);
        assert!(expected.contains(&operator.as_str()), "{operator}: {record:?}");
    }
}

#[test]
fn a_function_with_all_locals_there_may_be_has_no_span() {
    let locals = "i32 ".repeat(50_000);
    let mut run = Traced::text(&format!(
        "(module
          (func $inner (param i32))
          (func $full (local {locals}) (call $inner (i32.const 1)))
          (func $outer (export \"outer\") call $full))"
    ));
    let trace = run.traced("outer", &[]);
    assert_eq!(tree(&run, &trace), "outer(inner)");
}

#[test]
fn deep_recursion_has_a_deep_tree() {
    let mut run = Traced::text(
        r#"(module (func $f (export "f") (param i32)
          (if (local.get 0) (then (call $f (i32.sub (local.get 0) (i32.const 1)))))))"#,
    );
    let trace = run.traced("f", &[Val::I32(2_000)]);
    let spans = trace.spans();
    assert_eq!(spans.len(), 2_001);
    assert_eq!(spans.last().unwrap().depth, 2_001);
    assert!(spans.iter().all(|span| span.end == SpanEnd::Left(Way::End)));
}
