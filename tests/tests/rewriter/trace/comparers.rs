//! Functions like `memcmp`, by name and by shape, in what clang made of `tests/guests/compare/compare.c`.

use fuzzbox_instrument::trace::{CompareBytes, Comparer, Event};
use wasmtime::Val;

use super::Traced;

const LEFT: usize = 0x8000;
const RIGHT: usize = 0x8800;

/// Puts two texts into memory, calls a function with their places and perhaps a length, and gives what it recorded as a
/// comparer.
fn compared(run: &mut Traced, wide: bool, name: &str, texts: [&[u8]; 2], length: Option<u32>) -> Vec<Event> {
    let memory = run.instance.get_memory(&mut run.store, "memory").unwrap();
    for (place, text) in [LEFT, RIGHT].into_iter().zip(texts) {
        memory.data_mut(&mut run.store)[place..place + 128].fill(0);
        memory.data_mut(&mut run.store)[place..place + text.len()].copy_from_slice(text);
    }
    let number = |number: u32| if wide { Val::I64(number.into()) } else { Val::I32(number as i32) };
    let arguments: Vec<_> = [LEFT as u32, RIGHT as u32].into_iter().chain(length).map(number).collect();
    events(run, name, &arguments)
}

fn events(run: &mut Traced, name: &str, arguments: &[Val]) -> Vec<Event> {
    let records = run.traced(name, arguments).records;
    records.into_iter().map(|record| record.event).filter(|event| matches!(event, Event::Bytes(_))).collect()
}

#[test]
fn comparers_are_known_by_name_and_by_shape() {
    for (guest, wide) in [("compare/compare.wasm", false), ("compare/compare64.wasm", true)] {
        let mut run = Traced::guest(guest);
        let texts: [&[u8]; 2] = [b"some text\0more", b"some test\0else"];
        let pointers = [LEFT as u64, RIGHT as u64];
        for (name, comparer) in [
            ("memcmp", Comparer::Memcmp),
            ("same_bytes", Comparer::SomeBytes),
            ("same_in_constant_time", Comparer::SomeBytes),
            ("same_in_table", Comparer::SomeBytes),
        ] {
            let found = compared(&mut run, wide, name, texts, Some(14));
            let content = texts.map(<[u8]>::to_vec);
            let compared = CompareBytes { comparer, pointers, length: Some(14), content };
            assert_eq!(found, [Event::Bytes(Box::new(compared))], "{guest}: {name}");
        }
        for (name, comparer) in [
            ("strcmp", Comparer::Strcmp),
            ("order_of_names", Comparer::SomeStrings),
            ("same_but_for_case", Comparer::SomeStrings),
            ("starts_with", Comparer::SomeStrings),
        ] {
            let found = compared(&mut run, wide, name, texts, None);
            let content = [b"some text".to_vec(), b"some test".to_vec()];
            let compared = CompareBytes { comparer, pointers, length: None, content };
            assert_eq!(found, [Event::Bytes(Box::new(compared))], "{guest}: {name}");
        }
        for name in ["copy_bytes", "copy_changed", "sum_of_both"] {
            assert_eq!(compared(&mut run, wide, name, texts, Some(14)), [], "{guest}: {name}");
        }
        for name in ["copy_string", "order_of_numbers"] {
            assert_eq!(compared(&mut run, wide, name, texts, None), [], "{guest}: {name}");
        }
        let length = if wide { Val::I64(9) } else { Val::I32(9) };
        let place = if wide { Val::I64(LEFT as i64) } else { Val::I32(LEFT as i32) };
        assert_eq!(events(&mut run, "find_byte", &[place, Val::I32(32), length]), [], "{guest}");
    }
}

/// What a fuzzer does with it: it puts what was wanted where something else was found, until the input is accepted.
#[test]
fn what_is_compared_leads_to_an_input_that_is_accepted() {
    for (guest, wide) in [("compare/compare.wasm", false), ("compare/compare64.wasm", true)] {
        let mut run = Traced::guest(guest);
        let place = run.call("input", &[]).unwrap()[0];
        let place = place.i32().map_or_else(|| place.unwrap_i64() as u64, |place| place as u32 as u64);
        let mut input: Vec<u8> = (0..64).map(|number| b'a' + number % 26).collect();
        let mut tried = 0;
        loop {
            let memory = run.instance.get_memory(&mut run.store, "memory").unwrap();
            memory.write(&mut run.store, place as usize, &input).unwrap();
            let length = if wide { Val::I64(64) } else { Val::I32(64) };
            run.clear();
            if run.call("read", &[length]).unwrap()[0].i32() == Some(0) {
                break;
            }
            tried += 1;
            assert!(tried < 10, "{guest}: {}", input.escape_ascii());
            let Some(Event::Bytes(compared)) = run
                .trace()
                .records
                .into_iter()
                .map(|record| record.event)
                .rfind(|event| matches!(event, Event::Bytes(_)))
            else {
                panic!("{guest}: nothing is compared");
            };
            let CompareBytes { comparer, pointers, content, .. } = *compared;
            let at = (pointers[0] - place) as usize;
            let mut wanted = content[1].clone();
            if comparer == Comparer::Strcmp {
                wanted.push(0);
            }
            input[at..at + wanted.len()].copy_from_slice(&wanted);
        }
        assert!(input.starts_with(b"MAGIC\0\x01\0version-seven\0OK"), "{}", input.escape_ascii());
        assert_eq!(tried, 3);
    }
}

#[test]
fn content_ends_with_the_memory_and_nothing_traps() {
    // Pages of one byte, memories that are shared or wide or none, and pointers to anywhere.
    for (memory, ty, size) in [
        ("(memory 1)", "i32", 65_536u64),
        ("(memory 0)", "i32", 0),
        ("(memory 100 (pagesize 1))", "i32", 100),
        ("(memory i64 1)", "i64", 65_536),
        ("(memory 1 1 shared)", "i32", 65_536),
    ] {
        let mut run = Traced::text(&format!(
            "(module {memory} (func (export \"memcmp\") (param {ty} {ty} {ty}) (result i32) i32.const 1))"
        ));
        let largest = if ty == "i32" { u32::MAX.into() } else { u64::MAX };
        let value = |number: u64| if ty == "i32" { Val::I32(number as i32) } else { Val::I64(number as i64) };
        for pointer in [0, 1, size.saturating_sub(40), size.saturating_sub(7), size, size + 1, largest - 3, largest] {
            for length in [0, 5, 31, 32, 33, largest >> 1] {
                let found = events(&mut run, "memcmp", &[value(pointer), value(largest - pointer), value(length)]);
                let [Event::Bytes(compared)] = &found[..] else { panic!("{memory}: {pointer:#x} {length}: {found:?}") };
                let CompareBytes { pointers, content, length: told, .. } = &**compared;
                assert_eq!((*pointers, *told), ([pointer, largest - pointer], Some(length)));
                for (pointer, content) in pointers.iter().zip(content) {
                    let expected = size.saturating_sub(*pointer).min(length).min(32);
                    assert_eq!(content.len() as u64, expected, "{memory}: {pointer:#x} {length}");
                }
            }
        }
    }
    let mut run = Traced::text("(module (func (export \"memcmp\") (param i32 i32 i32) (result i32) i32.const 1))");
    assert_eq!(events(&mut run, "memcmp", &[Val::I32(0), Val::I32(0), Val::I32(5)]), []);
}

#[test]
fn functions_that_compare_floats_of_128_bits_are_known_by_name_and_by_shape() {
    // Whether the two are numbers, and, if the first line is there, which is less.
    let body = |less: &str| {
        format!(
            "(param i64 i64 i64 i64) (result i32) (block
                (br_if 0 (i64.gt_u (i64.and (local.get 1) (i64.const 0x7fffffffffffffff)) (i64.const 0x7fff000000000000)))
                (br_if 0 (i64.gt_u (i64.and (local.get 3) (i64.const 0x7fffffffffffffff)) (i64.const 0x7fff000000000000)))
                {less}
                (return (i32.const 0)))
             (i32.const 1)"
        )
    };
    let (less, only_numbers) = (body("(br_if 0 (i64.lt_s (local.get 1) (local.get 3)))"), body(""));
    let mut run = Traced::text(&format!(
        "(module (func (export \"order\") {less}) (func (export \"__eqtf2\") {only_numbers}) (func (export \"numbers\") {only_numbers}))"
    ));
    let halves = [1, 0x4000_921f_b544_42d1, u64::MAX, 0xbfff << 48];
    let arguments = halves.map(|half: u64| Val::I64(half.cast_signed()));
    let float = |low: u64, high: u64| u128::from(high) << 64 | u128::from(low);
    let expected = Event::CompareQuads(Box::new([float(halves[0], halves[1]), float(halves[2], halves[3])]));
    for (name, is_known) in [("order", true), ("__eqtf2", true), ("numbers", false)] {
        let records = run.traced(name, &arguments).records;
        let found: Vec<_> = records
            .into_iter()
            .map(|record| record.event)
            .filter(|event| matches!(event, Event::CompareQuads(_)))
            .collect();
        assert_eq!(found, if is_known { vec![expected.clone()] } else { Vec::new() }, "{name}");
    }
}
