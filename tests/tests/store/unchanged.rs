//! What executes nothing that a new build changed is not executed again.

use crate::recompiles::{copy_dir, events, found};
use fuzzbox_tests::command::Fuzzbox;
use fuzzbox_tests::found::if_begins_with;
use std::fs;

/// Twenty parsers, each chosen by the first byte and looking for words of its own; in parser `edited` a number is
/// another one, and with `moved` so is what lies in memory.
fn parsers(edited: Option<usize>, moved: bool) -> Vec<u8> {
    const PARSERS: usize = 20;
    let parser = |number: usize| {
        let words: String = (0..4)
            .map(|word| {
                let letter = char::from(b'a' + (number + word * 5) as u8 % 26);
                if_begins_with(
                    &format!("{}{letter}{word}", char::from(b'A' + number as u8)),
                    "(call $seen (i32.const 1))",
                )
            })
            .collect();
        let number_in_it = if edited == Some(number) { 9 } else { 8 };
        format!(
            "(func $parser{number} (param $data i32) (param $size i32) {words}
            (if (i32.gt_u (local.get $size) (i32.const {number_in_it})) (then (call $seen (i32.const 2)))))"
        )
    };
    let all: String = (0..PARSERS).map(parser).collect();
    let calls: String = (0..PARSERS)
        .map(|number| {
            let byte = b'A' + number as u8;
            format!("(if (i32.eq (i32.load8_u (local.get $data)) (i32.const {byte})) (then (call $parser{number} (local.get $data) (local.get $size))))")
        })
        .collect();
    wat::parse_str(format!(
        r#"(module
            (memory (export "memory") 1)
            (data (i32.const 2048) "{}")
            (global $count (mut i32) (i32.const 0))
            (func $seen (param i32) (global.set $count (i32.add (global.get $count) (local.get 0))))
            {all}
            (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
                (if (i32.lt_u (local.get $size) (i32.const 3)) (then (return (i32.const 0))))
                {calls}
                (i32.const 0)))"#,
        if moved { "other" } else { "words" }
    ))
    .unwrap()
}

#[test]
fn inputs_that_execute_nothing_new_are_not_executed_and_the_same_is_found() {
    let fuzzbox = Fuzzbox::new();
    let write = |module: Vec<u8>| fs::write(fuzzbox.dir().join("t.wasm"), module).unwrap();
    write(parsers(None, false));
    let flags = ["--seed", "1", "--reporter", "json"];
    let inputs = fuzzbox.dir().join("inputs");
    fs::create_dir(&inputs).unwrap();
    for number in 0..400_u32 {
        let (parser, more) = (b'A' + (number % 20) as u8, number / 20);
        let word = format!(
            "{}{}{}{}",
            char::from(parser),
            char::from(b'a' + (more % 26) as u8),
            more % 5,
            "x".repeat(more as usize % 12)
        );
        fs::write(inputs.join(number.to_string()), word).unwrap();
    }
    let first = fuzzbox.run("run", &["t.wasm"], &[&flags[..], &["--corpus", "inputs", "--execs", "1000"]].concat());
    assert_eq!(first.code, 0, "{first:?}");
    let run = |store: &str| {
        copy_dir(&fuzzbox.store(), &fuzzbox.dir().join(store));
        let more = ["--corpus", "inputs", "--execs", "5000", "--store", store];
        fuzzbox.run("run", &["t.wasm"], &[&flags[..], &more].concat())
    };
    for edited in [0, 7, 19] {
        write(parsers(Some(edited), false));
        let ran = run(&format!("edited{edited}"));
        let event = &events(&ran, "retraced")[0];
        let (inputs, executed) = (event["inputs"].as_u64().unwrap(), event["executed"].as_u64().unwrap());
        // One parser's are executed, one part in 16 to check, and what is short: no inputs but those are.
        assert!(inputs > 400 && executed * 5 < inputs && executed > inputs / 40, "{edited}: {executed} of {inputs}");
        assert_eq!((event["functions"].as_u64(), event["unchanged"].as_u64()), (Some(22), Some(21)));
        let known = fuzzbox.user_cache().join("fuzzbox/results");
        let aside = fuzzbox.dir().join("aside");
        fs::rename(&known, &aside).unwrap();
        let full = run(&format!("full{edited}"));
        let event = &events(&full, "retraced")[0];
        assert_eq!(event["executed"], event["inputs"], "nothing is known: {full:?}");
        assert_eq!(found(&full), found(&ran));
        fs::remove_dir_all(&known).unwrap();
        fs::rename(&aside, &known).unwrap();
    }
    // What lies in memory can be seen by all.
    write(parsers(Some(3), true));
    let event = &events(&run("moved"), "retraced")[0].clone();
    assert_eq!(event["executed"], event["inputs"], "{event}");
}
