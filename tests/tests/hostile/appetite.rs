//! Guests that take all they can get: what they are given is bounded, they are told what they did, and the campaign goes on.

use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::{Executor, Target, Unsuited, Variant, Watchdog};
use fuzzbox::settings::{Settings, Stub};
use fuzzbox_tests::command::Fuzzbox;
use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// What guests may have of memory, in MiB.
const MEMORY_MIB: u64 = 32;
/// What the process may take beside that, for each job, in MiB: itself, code, stacks, what tells how far it is, and what
/// the allocator keeps, which is some 20 MiB.
const BESIDE_MIB: u64 = 160;
/// Executions of each campaign.
const EXECS: u32 = 20;

/// What a harness takes: items, and code; and what comes of it.
const TAKERS: &[(&str, &str, &str, &[&str])] = &[
    ("memory", "", "(loop $a (br_if $a (i32.ne (i32.const -1) (memory.grow (i32.const 1)))))", &[]),
    ("touched memory", "", "(loop $a (br_if $a (i32.ne (i32.const -1) (memory.grow (i32.const 1))))) (call $touch)", &[]),
    ("memory at once", "", "(drop (memory.grow (i32.const 500))) (call $touch)", &[]),
    ("memory, and then nothing", "", "(loop $a (br_if $a (i32.ne (i32.const -1) (memory.grow (i32.const 16))))) (call $touch) unreachable", &["oom"]),
    ("a little and all by turns", "", "(if (i32.and (local.get 1) (i32.const 1)) (then (drop (memory.grow (i32.const 500))) (call $touch)))", &[]),
    (
        "two memories",
        "(memory $b 1)",
        "(drop (memory.grow 0 (i32.const 250))) (drop (memory.grow $b (i32.const 250)))
        (memory.fill (i32.const 0) (i32.const 1) (i32.shl (memory.size) (i32.const 16)))
        (memory.fill $b (i32.const 0) (i32.const 1) (i32.shl (memory.size $b) (i32.const 16)))",
        &[],
    ),
    ("a memory from the start", "(memory $b 500)", "(memory.fill $b (i32.const 0) (i32.const 1) (i32.shl (memory.size $b) (i32.const 16)))", &[]),
    ("a memory that is initialised", "(memory $b 500) (func $s (memory.fill $b (i32.const 0) (i32.const 1) (i32.shl (memory.size $b) (i32.const 16)))) (start $s)", "(memory.fill $b (i32.const 0) (i32.const 2) (i32.shl (memory.size $b) (i32.const 16)))", &[]),
    ("a memory of bytes", "(memory $b 1 (pagesize 1))", "(drop (memory.grow $b (i32.const 32000000))) (memory.fill $b (i32.const 0) (i32.const 1) (memory.size $b))", &[]),
    ("a memory of 64 bits", "(memory $b i64 1)", "(drop (memory.grow $b (i64.const 500))) (memory.fill $b (i64.const 0) (i32.const 1) (i64.shl (memory.size $b) (i64.const 16)))", &[]),
    ("a table", "(table $t 1 funcref)", "(loop $a (br_if $a (i32.ne (i32.const -1) (table.grow $t (ref.null func) (i32.const 1000)))))", &[]),
    ("a table from the start", "(table $t 1048576 funcref) (func $f) (elem declare func $f)", "(table.fill $t (i32.const 0) (ref.func $f) (i32.const 1048576))", &[]),
    ("a table of objects", "(table $t 1 externref)", "(drop (table.grow $t (ref.null extern) (i32.const 1048575)))", &[]),
    ("a table that is full", "(table $t 1000000 funcref) (func $f) (elem declare func $f) (func $s (table.fill $t (i32.const 0) (ref.func $f) (i32.const 1000000))) (start $s)", "(table.fill $t (i32.const 0) (ref.null func) (i32.const 1000000))", &[]),
    ("objects", "(type $l (struct (field (ref null $l)) (field i64)))", "(local $l (ref null $l)) (loop $a (local.set $l (struct.new $l (local.get $l) (i64.const 1))) (br $a))", &["oom"]),
    ("an array", "(type $a (array i64))", "(drop (array.new_default $a (i32.const 100000000)))", &["oom"]),
    ("arrays", "(type $a (array (mut anyref)))", "(local $any anyref) (loop $a (local.set $any (array.new $a (local.get $any) (i32.const 1000))) (br $a))", &["oom"]),
    ("an array of arrays", "(type $b (array i64)) (type $a (array (mut anyref)))", "(local $i i32) (local $all (ref null $a)) (local.set $all (array.new_default $a (i32.const 10000)))
        (loop $a (array.set $a (local.get $all) (local.get $i) (array.new_default $b (i32.const 10000))) (local.set $i (i32.add (local.get $i) (i32.const 1))) (br $a))", &["oom"]),
    ("objects that hold themselves", "(type $l (struct (field (mut (ref null $l)))))", "(local $l (ref null $l)) (loop $a (local.set $l (struct.new $l (ref.null $l))) (struct.set $l 0 (local.get $l) (local.get $l)) (br $a))", &["oom"]),
    ("objects in a table", "(type $s (struct (field i64 i64 i64 i64))) (table $t 1000000 anyref)", "(local $i i32) (loop $a (table.set $t (local.get $i) (struct.new $s (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1)))
        (br_if $a (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 1000000))))", &["oom"]),
    ("objects and memory", "(type $l (struct (field (ref null $l)) (field i64)))", "(local $l (ref null $l)) (drop (memory.grow (i32.const 300))) (call $touch) (loop $a (local.set $l (struct.new $l (local.get $l) (i64.const 1))) (br $a))", &["oom"]),
    ("objects on a deep stack", "(type $l (struct (field i64 i64))) (func $f (param i32) (local $l (ref null $l)) (local.set $l (struct.new $l (i64.const 1) (i64.const 2))) (call $f (i32.const 1)) (drop (struct.get $l 0 (local.get $l))))", "(call $f (i32.const 0))", &["crash"]),
    ("garbage", "(type $l (struct (field i64 i64)))", "(local $i i32) (loop $a (drop (struct.new $l (i64.const 1) (i64.const 1))) (br_if $a (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 100000))))", &[]),
    (
        "exceptions",
        "(type $t (func (param exnref))) (tag $e (type $t))
        (func $wrap (param exnref) (result exnref)
            (block $caught (result exnref exnref) (try_table (catch_ref $e $caught) (throw $e (local.get 0))) unreachable) return)",
        "(local $e exnref) (loop $a (local.set $e (call $wrap (local.get $e))) (br $a))",
        &["hang"],
    ),
    ("an exception that is large", "(type $t (func (param i64 i64 i64 i64 i64 i64 i64 i64))) (tag $e (type $t))", "(local $i i32) (loop $a (block $c (try_table (catch_all $c) (throw $e (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1)))) (br_if $a (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 10000))))", &[]),
    ("calls", "(func $f (param i32) (result i32) (i32.add (i32.const 1) (call $f (local.get 0))))", "(drop (call $f (i32.const 1)))", &["crash"]),
    ("calls by reference", "(table $t funcref (elem $f)) (type $y (func)) (func $f (call_indirect $t (type $y) (i32.const 0)))", "(call $f)", &["crash"]),
];

/// The same of programs, which ask WASI for it.
const PROGRAMS: &[(&str, &str, &[&str])] = &[
    ("a large file", "(local.set $x (call $file)) (loop $a (drop (call $write (local.get $x) (i32.const 64) (i32.const 1) (i32.const 80))) (br_if $a (i32.load (i32.const 80))))", &["hang"]),
    ("a file that is made large", "(local.set $x (call $file)) (drop (call $allocate (local.get $x) (i64.const 0) (i64.const 67000000)))", &[]),
    ("a file that is far away", "(local.set $x (call $file)) (drop (call $pwrite (local.get $x) (i32.const 64) (i32.const 1) (i64.const 66000000) (i32.const 80)))", &[]),
    ("many files", "(loop $a (call $next) (drop (call $close (call $file))) (br_if $a (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 60000))))", &[]),
    ("many large files", "(loop $a (call $next) (local.set $x (call $file)) (drop (call $allocate (local.get $x) (i64.const 0) (i64.const 1000000))) (drop (call $close (local.get $x)))
        (br_if $a (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 100))))", &[]),
    ("many directories", "(loop $a (call $next) (br_if $a (i32.eqz (call $mkdir (i32.const 3) (i32.const 0) (i32.const 200)))))", &[]),
    ("links", "(loop $a (call $next) (br_if $a (i32.eqz (call $symlink (i32.const 200) (i32.const 4000) (i32.const 3) (i32.const 0) (i32.const 8)))))", &[]),
    ("descriptors", "(loop $a (drop (call $file)) (br_if $a (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 5000))))", &["crash"]),
    ("output", "(loop $a (drop (call $write (i32.const 1) (i32.const 64) (i32.const 1) (i32.const 80))) (br $a))", &["hang"]),
    ("errors", "(loop $a (drop (call $write (i32.const 2) (i32.const 64) (i32.const 1) (i32.const 80))) (br $a))", &["hang"]),
    ("output in small pieces", "(i32.store (i32.const 68) (i32.const 1)) (loop $a (drop (call $write (i32.const 2) (i32.const 64) (i32.const 1) (i32.const 80))) (br_if $a (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 100000))))", &[]),
    ("random bytes", "(drop (memory.grow (i32.const 500))) (drop (call $random (i32.const 0) (i32.const 30000000)))", &[]),
    ("waiting", "(drop (memory.grow (i32.const 500))) (drop (call $poll (i32.const 0) (i32.const 0) (i32.const 600000) (i32.const 0)))", &[]),
];

/// And of properties, which tell what they draw.
const PROPERTIES: &[(&str, &str, &[&str])] = &[
    ("notes", "(loop $a (call $note (i32.const 0) (i32.const 60000)) (call $more) (br $a))", &["hang"]),
    (
        "events",
        "(loop $a (call $next) (call $event (i32.const 0) (i32.const 1000) (i64.const 1)) (call $more) (br $a))",
        &["hang"],
    ),
    (
        "targets",
        "(loop $a (call $next) (call $target (i32.const 0) (i32.const 1000) (f64.const 1)) (call $more) (br $a))",
        &["hang"],
    ),
    (
        "features",
        "(loop $a (call $next) (drop (call $feature (i32.const 0) (i32.const 1000))) (call $more) (br $a))",
        &["hang"],
    ),
    ("spans", "(loop $a (call $begin (i32.const 1)) (br $a))", &[]),
    (
        "spans that end",
        "(loop $a (call $begin (i32.const 1)) (call $end (i32.const 0)) (call $more) (br $a))",
        &["hang"],
    ),
    (
        "values",
        "(loop $a (call $value (i64.const 1) (i32.const 1) (i32.const 0) (i32.const 60000)) (call $more) (br $a))",
        &["hang"],
    ),
    ("draws", "(loop $a (drop (call $draw (i64.const 0) (i64.const -1) (i64.const 0))) (br $a))", &[]),
    ("bytes", "(loop $a (drop (call $bytes (i32.const 0) (i32.const 0) (i32.const 60000))) (br $a))", &[]),
    (
        "failures with long names",
        "(call $note (i32.const 0) (i32.const 60000)) (call $fail (i32.const 0) (i32.const 60000))",
        &["crash"],
    ),
];

/// All guests: name, text, what they are told.
fn guests() -> Vec<(&'static str, String, &'static [&'static str])> {
    let harness = |&(name, items, code, kinds): &(&'static str, &str, &str, &'static [&'static str])| {
        let text = format!(
            r#"(module (memory (export "memory") 1) {items}
                (func $touch (memory.fill (i32.const 0) (i32.const 1) (i32.shl (memory.size) (i32.const 16))))
                (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) {code} (i32.const 0)))"#
        );
        (name, text, kinds)
    };
    let program = |&(name, code, kinds): &(&'static str, &str, &'static [&'static str])| {
        let text = format!(
            r#"(module
                (import "wasi_snapshot_preview1" "path_open" (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
                (import "wasi_snapshot_preview1" "path_create_directory" (func $mkdir (param i32 i32 i32) (result i32)))
                (import "wasi_snapshot_preview1" "path_symlink" (func $symlink (param i32 i32 i32 i32 i32) (result i32)))
                (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
                (import "wasi_snapshot_preview1" "fd_pwrite" (func $pwrite (param i32 i32 i32 i64 i32) (result i32)))
                (import "wasi_snapshot_preview1" "fd_allocate" (func $allocate (param i32 i64 i64) (result i32)))
                (import "wasi_snapshot_preview1" "fd_close" (func $close (param i32) (result i32)))
                (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
                (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
                (memory (export "memory") 2)
                (global $n (mut i32) (i32.const 0))
                ;; A buffer of 64 KiB for what is written.
                (data (i32.const 64) "\00\10\00\00\00\00\01\00")
                (func $s (memory.fill (i32.const 0) (i32.const 97) (i32.const 60)) (memory.fill (i32.const 200) (i32.const 97) (i32.const 4000)))
                (start $s)
                (func $next (local $i i32) (local $n i32)
                    (global.set $n (i32.add (global.get $n) (i32.const 1)))
                    (local.set $n (global.get $n))
                    (loop $a
                        (i32.store8 (local.get $i) (i32.add (i32.const 97) (i32.and (local.get $n) (i32.const 15))))
                        (local.set $n (i32.shr_u (local.get $n) (i32.const 4)))
                        (br_if $a (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 8)))))
                (func $file (result i32)
                    (if (call $open (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 8) (i32.const 1) (i64.const 66) (i64.const 0) (i32.const 0) (i32.const 80))
                        (then (unreachable)))
                    (i32.load (i32.const 80)))
                (func (export "_start") (local $x i32) (local $n i32) {code}))"#
        );
        (name, text, kinds)
    };
    let property = |&(name, code, kinds): &(&'static str, &str, &'static [&'static str])| {
        let text = format!(
            r#"(module
                (import "fuzzbox_v1" "note" (func $note (param i32 i32)))
                (import "fuzzbox_v1" "event" (func $event (param i32 i32 i64)))
                (import "fuzzbox_v1" "target" (func $target (param i32 i32 f64)))
                (import "fuzzbox_v1" "feature" (func $feature (param i32 i32) (result i32)))
                (import "fuzzbox_v1" "span_begin" (func $begin (param i32)))
                (import "fuzzbox_v1" "span_end" (func $end (param i32)))
                (import "fuzzbox_v1" "value" (func $value (param i64 i32 i32 i32)))
                (import "fuzzbox_v1" "draw_uint" (func $draw (param i64 i64 i64) (result i64)))
                (import "fuzzbox_v1" "draw_bytes" (func $bytes (param i32 i32 i32) (result i32)))
                (import "fuzzbox_v1" "fail" (func $fail (param i32 i32)))
                (memory (export "memory") 1)
                (func $next (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1))))
                (func $more)
                (func (export "fbx_test") {code}))"#
        );
        (name, text, kinds)
    };
    let mut all: Vec<_> = TAKERS.iter().map(harness).collect();
    all.extend(PROGRAMS.iter().map(program));
    all.extend(PROPERTIES.iter().map(property));
    all
}

/// The most memory that a process had, in KiB, until it ended. What it took in its last moments may be missing.
fn peak(id: u32, over: impl Fn() -> bool) -> u64 {
    let mut peak = 0;
    while !over() {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
        peak = peak.max(now.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    }
    peak
}

/// What is wrong with a campaign on a guest; `None` if nothing is.
fn wrong(name: &str, text: &str, kinds: &[&str]) -> Option<String> {
    let fuzzbox = Fuzzbox::new();
    std::fs::write(fuzzbox.dir().join("guest.wat"), text).unwrap();
    let (execs, memory) = (EXECS.to_string(), format!("{MEMORY_MIB}MiB"));
    let limits = ["--execs", &execs, "--memory-max", &memory, "--fuel-max", "100000000", "--no-shrink"];
    let run = ["run", "guest.wat", "--jobs", "1", "--seed", "1", "--reporter", "json"];
    let mut command = fuzzbox.command(&[&run[..], &limits].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let id = child.id();
    let ended = std::sync::atomic::AtomicBool::new(false);
    let (peak, output) = std::thread::scope(|scope| {
        let peak = scope.spawn(|| peak(id, || ended.load(std::sync::atomic::Ordering::Relaxed)));
        let stdout = child.stdout.take().unwrap();
        let lines = std::io::read_to_string(stdout).unwrap();
        ended.store(true, std::sync::atomic::Ordering::Relaxed);
        (peak.join().unwrap(), lines)
    });
    let status = child.wait_with_output().unwrap();
    let lines: Vec<serde_json::Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found = lines.iter().filter(|line| line["event"] == "finding");
    let found: BTreeSet<&str> = found.filter_map(|line| line["kind"].as_str()).collect();
    let execs = lines.last().and_then(|done| done["execs"].as_u64()).unwrap_or(0);
    println!("{:4} MiB, {execs:4} executions, {found:?}: {name}", peak >> 10);
    let expected: BTreeSet<&str> = kinds.iter().copied().collect();
    let code = status.status.code();
    if !matches!(code, Some(0 | 1 | 4)) || execs < EXECS.into() || found != expected {
        let told = String::from_utf8_lossy(&status.stderr).into_owned();
        return Some(format!("{name}: exit code {code:?}, {execs} executions, {found:?}: {told}"));
    }
    (peak >> 10 > MEMORY_MIB + BESIDE_MIB).then(|| format!("{name}: {} MiB", peak >> 10))
}

#[test]
fn guests_that_take_all_they_can_are_given_what_there_is_and_no_more() {
    let guests = guests();
    assert!(guests.len() >= 50, "{}", guests.len());
    let failures: Vec<_> = guests.iter().filter_map(|(name, text, kinds)| wrong(name, text, kinds)).collect();
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Executions in each variant, which repeat themselves from the second on.
const EXECS_OF_VARIANT: u32 = 4;
/// What the quick variants take until they are interrupted, at most.
const INTERRUPTED_AFTER: Duration = Duration::from_millis(100);
/// Which guest a process is to execute.
const GUEST: &str = "FUZZBOX_APPETITE_GUEST";

/// Executes one guest in all variants as a worker does: in the deciding one, and in a quick one beside it.
#[test]
fn a_guest_in_each_variant() {
    let Ok(number) = std::env::var(GUEST) else { return };
    let (name, text, _) = guests().swap_remove(number.parse::<usize>().unwrap());
    let settings = Settings {
        memory_bytes_max: MEMORY_MIB << 20,
        fuel_max: 100_000_000,
        stub_imports: Some(Stub::Zero),
        ..Settings::default()
    };
    let metered = Arc::new(Target::load(text.as_bytes(), settings).unwrap());
    let edges = metered.edges.edges.len() as u32;
    let watchdog = Watchdog::new(INTERRUPTED_AFTER).unwrap();
    let mut deciding = Executor::new(&metered).unwrap();
    let run = |executor: &mut Executor, variant: &str| {
        let mut outcomes: BTreeMap<&str, u32> = BTreeMap::new();
        for _ in 0..EXECS_OF_VARIANT {
            let outcome = executor.run(b"x").unwrap();
            *outcomes
                .entry(if outcome == Outcome::Interrupted { "interrupted" } else { outcome.name() })
                .or_default() += 1;
        }
        println!("{name}: {variant}: {outcomes:?}");
    };
    run(&mut deciding, "metered");
    for (about, variant) in [("full", Variant::Full), ("fast", Variant::Fast((0..edges).collect()))] {
        match metered.in_variant(variant) {
            Ok(quick) => {
                let mut quick = Executor::new(&Arc::new(quick)).unwrap();
                watchdog.watch(quick.interrupter());
                run(&mut quick, about);
                run(&mut deciding, "metered");
            }
            Err(error) => assert!(error.is::<Unsuited>(), "{error:#}"),
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")).unwrap();
    let peak = peak.parse::<u64>().unwrap() >> 10;
    println!("{name}: {peak} MiB");
    assert!(peak <= MEMORY_MIB + BESIDE_MIB, "{name}: {peak} MiB");
}

#[test]
fn guests_take_no_more_in_any_variant() {
    let this = std::env::current_exe().unwrap();
    let failures = (0..guests().len()).filter_map(|number| {
        let mut child = Command::new(&this);
        child.args(["--exact", "appetite::a_guest_in_each_variant", "--nocapture"]).env(GUEST, number.to_string());
        let ran = child.output().unwrap();
        let told = String::from_utf8_lossy(&ran.stdout).into_owned();
        told.lines().filter(|line| line.contains(": ")).for_each(|line| println!("{line}"));
        (!ran.status.success()).then(|| String::from_utf8_lossy(&ran.stderr).into_owned())
    });
    let failures: Vec<_> = failures.collect();
    assert!(failures.is_empty(), "{failures:#?}");
}
