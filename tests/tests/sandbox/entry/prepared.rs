//! What is done before the first input: growth of the heap, snapshots that guests ask for, and the warm-up run.

use crate::entry::{executor, load, settings};
use fuzzbox::id::InputId;
use fuzzbox::outcome::{FailureKind, Outcome};
use fuzzbox::sandbox::{Candidate, Executor, Target, Variant};
use fuzzbox::settings::{Allocator, AllocatorKind, Settings};
use fuzzbox_tests::show;
use std::sync::Arc;

/// A harness with an allocator that grows memory when it has none left. `unreachable` if it grows in an execution.
fn allocating(malloc: &str, maximum: &str) -> String {
    format!(
        r#"(memory (export "memory") 1 {maximum})
        (global $top (mut i32) (i32.const 0)) (global $have (mut i32) (i32.const 0))
        (func $malloc (export "malloc") (param $len i32) (result i32)
            (local $old i32)
            {malloc}
            (if (i32.gt_u (local.get $len) (global.get $have)) (then
                (local.set $old (memory.grow (i32.shr_u (i32.add (local.get $len) (i32.const 65535)) (i32.const 16))))
                (if (i32.eq (local.get $old) (i32.const -1)) (then (return (i32.const 0))))
                (global.set $top (i32.shl (local.get $old) (i32.const 16)))
                (global.set $have (local.get $len))))
            (global.get $top))
        (func (export "free") (param i32))
        (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
            (local $pages i32)
            (local.set $pages (memory.size))
            (if (i32.eqz (call $malloc (i32.const 100000))) (then (return (i32.const 0))))
            (if (i32.ne (local.get $pages) (memory.size)) (then unreachable))
            (i32.const 0))"#
    )
}

#[test]
fn the_heap_is_grown_before_the_first_execution() {
    let run = |settings| {
        let mut executor = executor(&allocating("", ""), settings);
        executor.run(b"").unwrap();
        (executor.run(b"x").unwrap() == Outcome::Ok, executor.target().summary().before)
    };
    assert_eq!(run(settings()), (true, vec!["growth of the heap by 1024 KiB".to_owned()]));
    assert_eq!(run(Settings { grow_heap_bytes: 0, ..settings() }), (false, vec![]));
    // All that the module allows the memory is the heap's, and none of it the input's.
    let summary = load(&allocating("", "17"), settings()).summary();
    assert_eq!(summary.before, ["growth of the heap by 1024 KiB"]);
}

/// [`allocating`], with functions that are not exported but have names and parameters of an allocator, the size being
/// the parameter `$len`; and what is in front of it, and behind it, in a call.
fn allocating_by([allocate, free]: [&str; 2], params: [&str; 2], given: [&str; 2]) -> String {
    let exported = allocating("", "");
    let named = exported
        .replace(r#"$malloc (export "malloc") (param $len i32)"#, &format!("${allocate} {}", params[0]))
        .replace(r#"(func (export "free") (param i32))"#, &format!("(func ${free} {})", params[1]))
        .replace("$malloc (i32.const 100000)", &format!("${allocate} {} (i32.const 100000) {}", given[0], given[1]));
    assert_ne!(named, exported);
    named
}

#[test]
fn allocators_that_are_not_exported_are_known_by_their_names() {
    let c = (["(param $len i32)", "(param i32)"], ["", ""]);
    let rust = (["(param $len i32) (param i32)", "(param i32 i32 i32)"], ["", "(i32.const 8)"]);
    let zig_given = ["(i32.const 0)", "(i32.const 3) (i32.const 0)"];
    let zig = (["(param i32) (param $len i32) (param i32 i32)", "(param i32 i32 i32 i32 i32)"], zig_given);
    let mangled = ["_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc", "_RNvCsfLfy6EI15iL_7___rustc14___rust_dealloc"];
    for (names, (params, given), is_known) in [
        (["malloc", "free"], c, true),
        (["c.malloc.malloc", "c.malloc.free"], c, true),
        (["dlmalloc", "dlfree"], c, true),
        (["__rust_alloc", "__rust_dealloc"], rust, true),
        (mangled, rust, true),
        (["heap.BrkAllocator.alloc", "heap.BrkAllocator.free"], zig, true),
        (["heap.WasmAllocator.alloc", "heap.WasmAllocator.free"], zig, true),
        // Of another name or another type, or one without the other.
        (["my_malloc", "free"], c, false),
        (["malloc", "release"], c, false),
        (["malloc", "dlfree"], c, false),
        (["malloc", "free"], rust, false),
        (["__rust_alloc", "__rust_dealloc"], c, false),
        (["heap.BrkAllocator.alloc", "heap.BrkAllocator.free"], rust, false),
    ] {
        let target = load(&allocating_by(names, params, given), settings());
        for variant in [Variant::Metered, Variant::Full] {
            let target = Arc::new(target.in_variant(variant).unwrap());
            let outcome = Executor::new(&target).unwrap().run(b"x").unwrap();
            assert_eq!(outcome == Outcome::Ok, is_known, "{names:?}: {outcome:?}");
        }
        assert_eq!(target.summary().before.is_empty(), !is_known, "{names:?}");
    }
}

/// Names are no part of what a module is known by, so which functions they meant is kept with results.
#[test]
fn which_functions_an_allocator_has_is_part_of_the_settings() {
    let (names, params) = (["malloc", "free"], ["(param $len i32)", "(param i32)"]);
    let text = format!("(module {})", allocating_by(names, params, ["", ""]));
    let module = wat::parse_str(text).unwrap();
    let without_names = fuzzbox_instrument::strip_custom_sections(&module).unwrap();
    let [named, bare] = [&module[..], &without_names].map(|module| Candidate::new(module, settings()).unwrap());
    let expected = Allocator::Functions { kind: AllocatorKind::C, allocate: 0, free: 1 };
    assert_eq!((named.settings.allocator, bare.settings.allocator), (expected, Allocator::Exported));
    let input = InputId::of(b"x");
    assert_eq!(named.id, bare.id);
    assert_ne!(named.result_id(input), bare.result_id(input));
    // What was stored says how it was, whatever names there are now.
    let stored = serde_json::to_string(&named.settings).unwrap();
    assert!(stored.contains(r#""allocator":{"functions":{"kind":"c","allocate":0,"free":1}}"#), "{stored}");
    let again = |module: &[u8], stored: &str| Candidate::new(module, serde_json::from_str(stored).unwrap());
    assert_eq!(again(&without_names, &stored).unwrap().result_id(input), named.result_id(input));
    let target = Arc::new(Target::load(&without_names, serde_json::from_str(&stored).unwrap()).unwrap());
    assert_eq!(Executor::new(&target).unwrap().run(b"x").unwrap(), Outcome::Ok);
    let stored_bare = serde_json::to_string(&bare.settings).unwrap();
    assert!(!stored_bare.contains("allocator"), "{stored_bare}");
    assert_eq!(again(&module, &stored_bare).unwrap().result_id(input), bare.result_id(input));
    let error = again(&module, &stored.replace(r#""free":1"#, r#""free":3"#)).unwrap_err();
    assert_eq!(error.to_string(), "its allocator has function 3, which the module has not");
    let other = named.settings.of_another_module();
    assert_eq!((other.allocator, bare.settings.of_another_module().allocator), (Allocator::Named, Allocator::Exported));
}

/// The allocator may refuse, fail, or never end: the target is one without growth then.
#[test]
fn growth_of_the_heap_never_fails_a_target() {
    let nothing: [String; 0] = [];
    let is_large = "(i32.ge_u (local.get $len) (i32.const 131072))";
    for (malloc, maximum, what) in [
        (format!("(if {is_large} (then (return (i32.const 0))))"), "", "refuses"),
        (format!("(if {is_large} (then unreachable))"), "", "traps"),
        (format!("(if {is_large} (then (loop (br 0))))"), "", "never ends"),
        (format!("(if {is_large} (then (global.set $have (i32.const 0)) unreachable))"), "", "traps after a change"),
        (String::new(), "2", "has no memory"),
    ] {
        let target = load(&allocating(&malloc, maximum), Settings { fuel_max: 10_000, ..settings() });
        assert_eq!(target.summary().before, nothing, "{what}");
        let without = load(&allocating(&malloc, maximum), Settings { grow_heap_bytes: 0, ..settings() });
        let mut executor = Executor::new(&target).unwrap();
        let outcome = executor.run(b"x").unwrap();
        let other = Executor::new(&without).unwrap().run(b"x").unwrap();
        assert_eq!(outcome, other, "{what}");
        assert!(
            !matches!(outcome.failure(), Some((FailureKind::OutOfMemory, _))),
            "a refusal before the first input is none of its own"
        );
        // What was in vain in one variant is not tried in another, where nothing would end it.
        let full = Arc::new(target.in_variant(Variant::Full).unwrap());
        assert_eq!(Executor::new(&full).unwrap().run(b"x").unwrap().name(), outcome.name(), "{what}");
    }
}

/// Counts its calls in memory, and traps in the third that it sees.
fn counting(ask: &str) -> String {
    format!(
        r#"(import "fuzzbox_v1" "snapshot_here" (func $snapshot_here))
        (memory (export "memory") 1)
        (func (export "_initialize") (call $snapshot_here))
        (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
            (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1)))
            {ask}
            (if (i32.ge_u (i32.load (i32.const 0)) (i32.const 3)) (then unreachable))
            (if (i32.eq (i32.load (i32.const 0)) (i32.const 2)) (then (return (i32.const -1))))
            (i32.const 0))"#
    )
}

/// How often the guest was called when an execution is over, as far as it sees: told by its result.
#[track_caller]
fn calls_seen(body: &str, settings: Settings) -> u32 {
    let target = load(body, settings);
    let calls = |target: &Arc<Target>| {
        let mut executor = Executor::new(target).unwrap();
        let first = show(&mut executor, b"x");
        assert_eq!(show(&mut executor, b"x"), first, "executions leave nothing behind");
        assert_eq!(show(&mut Executor::new(target).unwrap(), b"x"), first, "restored equals fresh");
        match first.outcome {
            Outcome::Ok => 1,
            Outcome::Rejected => 2,
            _ => 3,
        }
    };
    let seen = calls(&target);
    assert_eq!(calls(&Arc::new(target.in_variant(Variant::Full).unwrap())), seen);
    seen
}

#[test]
fn a_guest_asks_for_the_snapshot_in_its_first_run() {
    let always = counting("(call $snapshot_here)");
    assert_eq!(calls_seen(&always, settings()), 2);
    assert_eq!(load(&always, settings()).summary().before, ["_initialize", "a run with the empty input"]);
    // Not with the empty input, so there is nothing to keep of that run.
    let later = counting("(if (local.get $len) (then (call $snapshot_here)))");
    assert_eq!(calls_seen(&later, settings()), 1);
    // It asked, but did not return.
    let failing = counting("(call $snapshot_here) (if (i32.eqz (local.get $len)) (then unreachable))");
    assert_eq!(calls_seen(&failing, settings()), 1);
    assert_eq!(load(&failing, settings()).summary().before, ["_initialize"]);
}

#[test]
fn a_warm_up_run_is_done_when_it_is_ordered() {
    let never = counting("");
    assert_eq!(calls_seen(&never, settings()), 1);
    assert_eq!(calls_seen(&never, Settings { warm_up: true, ..settings() }), 2);
    let numbers = r#"(global $g (mut i32) (i32.const 0))
        (func (export "run") (param i32)
            (global.set $g (i32.add (global.get $g) (i32.const 1)))
            (if (i32.and (i32.ne (global.get $g) (i32.const 2)) (local.get 0)) (then unreachable)))"#;
    let settings = Settings { warm_up: true, entry: Some("run".to_owned()), ..settings() };
    let mut executor = executor(numbers, settings);
    for _ in 0..3 {
        assert_eq!(executor.run(b"abcd").unwrap(), Outcome::Ok);
    }
}

/// A harness in a command, which is not started, has no other initialiser.
#[test]
fn constructors_are_called_once_before_the_first_input() {
    let with = |initialiser: &str| {
        let body = format!(
            r#"(memory (export "memory") 1) (global $made (mut i32) (i32.const 0))
            (func (export "__wasm_call_ctors") (global.set $made (i32.add (global.get $made) (i32.const 1))))
            {initialiser}
            (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
                (if (i32.ne (global.get $made) (i32.const 1)) (then unreachable)) (i32.const 0))"#
        );
        let mut executor = executor(&body, settings());
        (executor.run(b"").unwrap(), executor.run(b"x").unwrap(), executor.target().summary().before)
    };
    assert_eq!(with(""), (Outcome::Ok, Outcome::Ok, vec!["__wasm_call_ctors".to_owned()]));
    let own = r#"(func (export "_initialize") (global.set $made (i32.const 1)))"#;
    assert_eq!(with(own), (Outcome::Ok, Outcome::Ok, vec!["_initialize".to_owned()]));
}

/// What was written, opened and read before belongs to every execution, and nothing of it is lost by the run between.
#[test]
fn a_warm_up_run_keeps_what_initialisers_wrote() {
    let body = r#"
        (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 1)
        (data (i32.const 0) "\08\00\00\00\01\00\00\00ir")
        (func $write (param $from i32)
            (i32.store (i32.const 0) (local.get $from))
            (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 100))))
        (func (export "_initialize") (call $write (i32.const 8)))
        (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
            (call $write (i32.const 9)) (i32.const 0))"#;
    let stdout = |warm_up| show(&mut executor(body, Settings { warm_up, ..settings() }), b"").stdout;
    assert_eq!(stdout(false), b"ir");
    assert_eq!(stdout(true), b"irr");
}

#[test]
fn old_settings_mean_what_they_meant() {
    let old = r#"{"entry":null,"args":[],"input_bytes_max":1048576,"memory_bytes_max":268435456,"fuel_max":2000000000,
        "stub_imports":null,"crash_on_exit":false}"#;
    let settings: Settings = serde_json::from_str(old).unwrap();
    assert_eq!(settings, Settings { grow_heap_bytes: 0, allocator: Allocator::Exported, ..Settings::default() });
    // So are the addresses of results.
    let written = serde_json::to_string(&settings).unwrap();
    assert_eq!(written, old.split_whitespace().collect::<String>());
    for text in ["auto", "numbers", "bytes", "bytes:7"] {
        let args = text.parse().unwrap();
        let settings = Settings { entry_args: args, warm_up: true, ..Settings::default() };
        let written = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<Settings>(&written).unwrap(), settings);
        assert_eq!(args.to_string(), text);
    }
}
