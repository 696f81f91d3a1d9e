//! Components are restored as modules are: an execution never depends on those before it.

use super::commands::command;
use super::libraries::{MODULE, WIT, library};
use super::{BUG, core, parser};
use crate::restored_equals_fresh::law::Guest;
use fuzzbox_tests::command::example;

fn seeds() -> Vec<Vec<u8>> {
    [&b""[..], b"bug", b"bu", b"hello, world", b"\xff\xfe", b"a=1\nb=2\n", &[7; 300]].map(<[u8]>::to_vec).into()
}

#[test]
fn small_components_are_restored() {
    let kinds = Guest::new("bytes", parser("(list u8)", BUG).into_bytes(), seeds(), 1_000_000).check();
    assert!(kinds["unreachable"] > 0 && kinds["ok"] > 0, "{kinds:?}");
    Guest::new("text", parser("string", BUG).into_bytes(), seeds(), 1_000_000).check();
}

/// Each call allocates more than the heap that was there before, and never frees it.
#[test]
fn components_that_grow_their_memory_are_restored() {
    let functions = r#"
        (func $parse (export "parse") (param i32 i32)
            (local $at i32)
            (local.set $at (call $cabi_realloc (i32.const 0) (i32.const 0) (i32.const 8)
                (i32.add (i32.const 1500000) (i32.mul (local.get 1) (i32.const 1000)))))
            (if (i32.load (i32.add (local.get $at) (i32.const 1400000))) (then (unreachable)))
            (i32.store (i32.add (local.get $at) (i32.const 1400000)) (i32.const -1))
            (if (i32.gt_u (local.get 1) (i32.const 100)) (then
                (drop (i32.load8_u (i32.shl (memory.size) (i32.const 16)))))))"#;
    let kinds = Guest::new("grows", parser("(list u8)", functions).into_bytes(), seeds(), 1_000_000).check();
    assert!(kinds["memory-out-of-bounds"] > 0 && kinds["ok"] > 0, "{kinds:?}");
    assert!(core(functions).contains("$cabi_realloc"));
}

#[test]
fn components_with_adapters_are_restored() {
    let module = std::fs::read(example("stdin-tool")).unwrap();
    Guest::new("command", command(&module), seeds(), 2_000_000).check();
    let mut guest = Guest::new("library", library(WIT, MODULE), seeds(), 2_000_000);
    guest.settings.entry = Some("test:lib/parser#parse".to_owned());
    let kinds = guest.check();
    assert!(kinds["unreachable"] > 0 && kinds["ok"] > 0, "{kinds:?}");
}
