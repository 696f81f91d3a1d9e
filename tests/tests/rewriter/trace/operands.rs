//! Operands, of operators whose operands are known.

use fuzzbox_instrument::Options;
use fuzzbox_instrument::trace::{Comparison, Conditional, Event, Source};
use wasmtime::Val;

use super::Traced;
use crate::execution::Random;

/// Comparisons as text, with what they are to be recorded as.
const INTEGERS: [(&str, Comparison); 10] = [
    ("eq", Comparison::Eq),
    ("ne", Comparison::Ne),
    ("lt_s", Comparison::LtS),
    ("lt_u", Comparison::LtU),
    ("gt_s", Comparison::GtS),
    ("gt_u", Comparison::GtU),
    ("le_s", Comparison::LeS),
    ("le_u", Comparison::LeU),
    ("ge_s", Comparison::GeS),
    ("ge_u", Comparison::GeU),
];

const FLOATS: [(&str, Comparison); 6] = [
    ("eq", Comparison::Eq),
    ("ne", Comparison::Ne),
    ("lt", Comparison::LtS),
    ("gt", Comparison::GtS),
    ("le", Comparison::LeS),
    ("ge", Comparison::GeS),
];

fn value(ty: &str, bits: u64) -> Val {
    match ty {
        "i32" => Val::I32(bits as i32),
        "i64" => Val::I64(bits as i64),
        "f32" => Val::F32(bits as u32),
        _ => Val::F64(bits),
    }
}

#[test]
fn all_comparisons_show_their_operands_bit_by_bit() {
    let mut random = Random(3);
    let mut compared = 0;
    for (ty, float, width) in [("i32", false, 4), ("i64", false, 8), ("f32", true, 4), ("f64", true, 8)] {
        for &(name, comparison) in if float { &FLOATS[..] } else { &INTEGERS } {
            let mut run = Traced::text(&format!(
                "(module (func (export \"f\") (param {ty} {ty}) (result i32)
                   local.get 0 local.get 1 {ty}.{name}))"
            ));
            for round in 0..20 {
                // A signalling NaN, too.
                let nan = if width == 4 { 0xffa0_0001 } else { 0xfff4_0000_0000_0001 };
                let bits = [if round == 0 { nan } else { random.number() }, random.number()];
                let [left, right] = if width == 4 { bits.map(|bits| bits & 0xffff_ffff) } else { bits };
                let found = run.operands("f", &[value(ty, left), value(ty, right)]);
                let expected = Event::Compare { comparison, float, width, left, right };
                assert_eq!(found, [(format!("{ty}.{name}"), expected)]);
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 20 * 32);
}

#[test]
fn what_is_compared_with_zero_is_recorded_once() {
    let mut run = Traced::golden("compares");
    let condition = |operator, value| Event::Condition { operator, value };
    let compare = |left, right| Event::Compare { comparison: Comparison::Eq, float: false, width: 4, left, right };
    let found = run.operands("conditions", &[Val::I32(0)]);
    // 0 is not 3, so the negated comparison branches.
    let expected = [
        ("i32.eq", compare(0, 3)),
        ("if", condition(Conditional::If, 0)),
        ("select", condition(Conditional::Select, 0)),
    ];
    assert_eq!(found, expected.map(|(operator, event)| (operator.to_owned(), event)));
    let found = run.operands("conditions", &[Val::I32(3)]);
    let expected = [
        ("i32.eq", compare(3, 3)),
        ("br_if", condition(Conditional::BrIf, 3)),
        ("if", condition(Conditional::If, 3)),
        ("select", condition(Conditional::Select, 3)),
    ];
    assert_eq!(found, expected.map(|(operator, event)| (operator.to_owned(), event)));
    let found = run.operands("numbers", &[Val::I32(-1), Val::I64(1 << 40), 2.5f32.into(), f64::NAN.into()]);
    let operators: Vec<_> = found.iter().map(|(operator, _)| operator.as_str()).collect();
    assert_eq!(operators, ["i32.lt_u", "i64.eqz", "f32.ge", "f64.ne"]);
    let eqz = Event::Compare { comparison: Comparison::Eq, float: false, width: 8, left: 1 << 40, right: 0 };
    assert_eq!(found[1].1, eqz);
}

#[test]
fn differences_that_are_compared_together_are_parts_of_a_comparison() {
    let mut run = Traced::text(
        r#"(module (memory 1) (func (export "wide_equal") (param i32) (result i32)
            (i64.eqz (i64.or
                (i64.xor (i64.load (local.get 0)) (i64.const 7))
                (i64.xor (i64.load offset=8 (local.get 0)) (i64.const 9)))))
            (func (export "three_bytes_equal") (param i32) (result i32)
                (i32.ne (i32.const 0) (i32.and (i32.const 0xffff) (i32.or
                    (i32.xor (i32.load16_u (local.get 0)) (i32.const 7))
                    (i32.xor (i32.load8_u offset=2 (local.get 0)) (i32.const 9)))))))"#,
    );
    let found = run.operands("wide_equal", &[Val::I32(0)]);
    let part = |width, left, right| Event::Part { width, left, right };
    let compare = |comparison, width, left, right| Event::Compare { comparison, float: false, width, left, right };
    let expected =
        [("i64.xor", part(8, 0, 7)), ("i64.xor", part(8, 0, 9)), ("i64.eqz", compare(Comparison::Eq, 8, 7 | 9, 0))];
    assert_eq!(found, expected.map(|(operator, event)| (operator.to_owned(), event)));
    let found = run.operands("three_bytes_equal", &[Val::I32(0)]);
    let expected =
        [("i32.xor", part(4, 0, 7)), ("i32.xor", part(4, 0, 9)), ("i32.ne", compare(Comparison::Ne, 4, 0, 7 | 9))];
    assert_eq!(found, expected.map(|(operator, event)| (operator.to_owned(), event)));
}

#[test]
fn tables_and_changes_of_memory_are_recorded() {
    let mut run = Traced::golden("compares");
    for index in [0, 1, 2, u32::MAX] {
        let found = run.operands("table", &[Val::I32(index as i32)]);
        assert_eq!(found, [("br_table".to_owned(), Event::Choose { index, targets: 2 })]);
    }
    let memory = |source, memory, address, length| Event::Memory { source, memory, address, length };
    let found = run.operands("memory", &[Val::I32(100), Val::I64(200)]);
    let expected = [
        ("memory.fill", memory(Source::Fill { value: 65 }, 0, 100, 3)),
        ("memory.copy", memory(Source::Copy { memory: 0, address: 100 }, 0, 1, 2)),
        ("memory.init", memory(Source::Init { offset: 0 }, 1, 200, 3)),
        ("memory.copy", memory(Source::Copy { memory: 1, address: 200 }, 0, 100, 1)),
    ];
    assert_eq!(found, expected.map(|(operator, event)| (operator.to_owned(), event)));
    // The one that traps is the last.
    let found = run.operands("memory", &[Val::I32(-1), Val::I64(0)]);
    assert_eq!(found, [("memory.fill".to_owned(), memory(Source::Fill { value: 65 }, 0, u32::MAX.into(), 3))]);
}

#[test]
fn what_comes_after_the_loops_of_a_large_execution_is_recorded() {
    const MODULE: &str = "(module
        (func $step (param i32) (result i32) (i32.add (i32.const 1) (local.get 0)))
        (func (export \"f\") (param i32) (result i32) (local i32)
          loop
            (br_if 0 (i32.lt_u (local.tee 1 (call $step (local.get 1))) (local.get 0)))
          end
          (i32.eq (local.get 1) (i32.const 77777))))";
    let wasm = wat::parse_str(MODULE).unwrap();
    let options = Options::traced();
    let trace = Traced::new(&wasm, &options).traced("f", &[Val::I32(100_000)]);
    let compared = |constant: Option<u64>| {
        let is_it =
            |event: &Event| matches!(event, Event::Compare { right, .. } if constant.is_none_or(|it| it == *right));
        trace.records.iter().filter(|record| is_it(&record.event)).count()
    };
    assert_eq!(compared(Some(77_777)), 1, "it is the last one, after 300,000 others");
    // All of the first three quarters, and a few of what comes again and again.
    let most = options.trace_bytes as usize / 32 * 3 / 4;
    assert!((most / 3 - 1024..most / 3).contains(&compared(None)), "{}", compared(None));
    assert!(trace.lost > 250_000, "{}", trace.lost);
}

#[test]
fn a_full_trace_loses_what_comes_and_nothing_else_happens() {
    const MODULE: &str = "(module (memory 1)
        (func $memcmp (export \"memcmp\") (param i32 i32 i32) (result i32) i32.const 0)
        (func (export \"f\") (param i32) (result i32) (local i32)
          loop
            (call $memcmp (local.get 0) (local.get 0) (local.get 0))
            drop
            (local.set 1 (i32.add (local.get 1) (i32.const 1)))
            (br_if 0 (i32.lt_u (local.get 1) (local.get 0)))
          end
          local.get 1))";
    let wasm = wat::parse_str(MODULE).unwrap();
    let whole = Traced::new(&wasm, &Options::traced()).traced("f", &[Val::I32(100)]);
    assert_eq!((whole.records.len(), whole.lost), (2 + 4 * 100, 0));
    for bytes in [0, 1, 31, 32, 96, 97, 100, 128, 160, 500, 4096, 65_536] {
        let mut options = Options::traced();
        options.trace_bytes = bytes;
        let mut run = Traced::new(&wasm, &options);
        let place = run.new.injected.trace.clone().unwrap();
        assert_eq!(u64::from(place.end).div_ceil(65_536), run.new.injected.pages);
        // What lies around it stays as it is.
        let memory = run.memory();
        memory.data_mut(&mut run.store)[place.start as usize - 64..place.start as usize].fill(0x55);
        memory.data_mut(&mut run.store)[place.end as usize..].fill(0x55);
        run.clear();
        assert_eq!(run.call("f", &[Val::I32(100)]).unwrap()[0].i32(), Some(100));
        let trace = run.trace();
        let kept = trace.records.len();
        assert_eq!(trace.records, whole.records[..kept], "{bytes}");
        assert_eq!(kept as u64 + trace.lost, whole.records.len() as u64, "{bytes}");
        assert!(kept > 0 && (kept < whole.records.len() || bytes == 65_536), "{bytes}: {kept}");
        // All but what the longest record would need is used.
        let used = u32::from_le_bytes(memory.data(&run.store)[16..20].try_into().unwrap());
        assert!(used <= place.len() as u32 && (trace.lost == 0 || used + 96 > place.len() as u32), "{bytes}: {used}");
        assert!(
            memory.data(&run.store)[place.start as usize - 64..place.start as usize].iter().all(|&byte| byte == 0x55)
        );
        assert!(memory.data(&run.store)[place.end as usize..].iter().all(|&byte| byte == 0x55), "{bytes}");
        // Whatever is in the cells: nothing is written outside.
        for used in [1u32, 33, place.len() as u32 - 95, u32::MAX - 31, u32::MAX] {
            memory.data_mut(&mut run.store)[16..20].copy_from_slice(&used.to_le_bytes());
            assert_eq!(run.call("f", &[Val::I32(10)]).unwrap()[0].i32(), Some(10));
            assert!(memory.data(&run.store)[place.end as usize..].iter().all(|&byte| byte == 0x55), "{bytes} {used}");
            run.trace();
        }
    }
}

#[test]
fn any_bytes_can_be_read_as_a_trace() {
    let run = Traced::golden("compares");
    let mut random = Random(1);
    let place = run.new.injected.trace.clone().unwrap();
    for round in 0..2_000 {
        let len = if round % 10 == 0 { random.below(place.end.into()) as usize } else { place.start as usize + 4096 };
        let mut memory = vec![0; len];
        for byte in memory.iter_mut().skip(place.start as usize) {
            *byte = if random.below(3) == 0 { random.below(10) as u8 } else { random.next() as u8 };
        }
        for byte in memory.iter_mut().skip(16).take(16) {
            *byte = random.next() as u8;
        }
        if let Some(used) = memory.get_mut(16..20) {
            used.copy_from_slice(&(random.number() as u32).to_le_bytes());
        }
        run.new.trace(&memory).spans();
    }
}

#[test]
fn nothing_is_recorded_unless_it_is_asked_for() {
    let module = "(module (func (export \"f\") (param i32) (result i32) local.get 0 i32.eqz))";
    let wasm = wat::parse_str(module).unwrap();
    for (compares, spans, expected) in [(true, false, 1), (false, true, 2), (true, true, 3)] {
        let mut options = Options::default();
        (options.compares, options.spans) = (compares, spans);
        assert_eq!(Traced::new(&wasm, &options).traced("f", &[Val::I32(0)]).records.len(), expected);
    }
    for options in [Options::default(), Options::full(), Options::fast(Default::default())] {
        let mut run = Traced::new(&wasm, &options);
        assert_eq!(run.new.injected.trace, None);
        assert_eq!(run.traced("f", &[Val::I32(0)]), Default::default());
    }
    let mut options = Options::traced();
    options.trace_bytes = u32::MAX;
    let error = fuzzbox_instrument::instrument(&wasm, &options).unwrap_err();
    assert!(error.to_string().contains("more than the 1073741824 allowed"), "{error}");
}
