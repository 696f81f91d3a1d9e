//! A campaign ends when it is told to, whatever its guest does, and says what came of it.
//!
//! `FUZZBOX_ENDINGS_TIME=5s` lets campaigns run as long before they are ended, by `--time` or a signal. How long that then took is told
//! with `--nocapture`.

use fuzzbox::sandbox::is_ignored;
use fuzzbox_tests::command::Fuzzbox;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Far more than a campaign of a second takes to begin and to end, and far less than one execution of most of these guests.
const ENOUGH: Duration = Duration::from_secs(60);

/// Harnesses that don't end, or not within hours: what they have beside the function that is called, and its code.
const HARNESSES: [(&str, &str, &str); 21] = [
    ("a start function that does not end", "(func $s (loop (br 0))) (start $s)", ""),
    ("an initialiser that does not end", "(func (export \"_initialize\") (loop (br 0)))", ""),
    (
        "exceptions that leave many frames",
        "(tag $e) (func $f (param i32)
            (if (local.get 0) (then (call $f (i32.sub (local.get 0) (i32.const 1)))) (else (throw $e))))",
        "(loop $a (block $caught (try_table (catch $e $caught) (call $f (i32.const 60000)))) (br $a))",
    ),
    (
        "a heap that is nearly full",
        "(type $l (struct (field (ref null $l)) (field i64)))",
        "(local $l (ref null $l)) (local $i i32)
        (loop $a (local.set $l (struct.new $l (local.get $l) (i64.const 1)))
            (br_if $a (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 1000000))))
        (loop $b (drop (struct.new $l (ref.null $l) (i64.const 1))) (br $b))",
    ),
    ("a loop", "", "(loop (br 0))"),
    ("loops in loops", "", "(loop $a (loop $b (br_if $b (local.get 0))) (br $a))"),
    ("loop after loop", "(func $f (loop (br_if 0 (i32.const 0))))", "(loop $a (call $f) (call $f) (br $a))"),
    ("a loop over br_table", "", "(block $end (loop $a (br_table $a $a $a (local.get 1))))"),
    (
        "recursion that returns",
        "(func $f (param i32) (if (local.get 0) (then
            (call $f (i32.sub (local.get 0) (i32.const 1))) (call $f (i32.sub (local.get 0) (i32.const 1))))))",
        "(call $f (i32.const 60))",
    ),
    (
        "a cycle of tail calls",
        "(func $f (param i32) (return_call $g (local.get 0))) (func $g (param i32) (return_call $f (local.get 0)))",
        "(call $f (i32.const 1))",
    ),
    (
        "tail calls by reference",
        "(table funcref (elem $f)) (type $t (func (param i32)))
         (func $f (param i32) (return_call_indirect (type $t) (local.get 0) (i32.const 0)))",
        "(call $f (i32.const 1))",
    ),
    (
        "throws",
        "(tag $e)",
        "(loop $a (block $caught (try_table (catch $e $caught) (throw $e))) (br $a))",
    ),
    ("fills", "", "(loop (memory.fill (i32.const 0) (i32.const 1) (i32.const 4096)) (br 0))"),
    ("copies", "", "(loop (memory.copy (i32.const 0) (i32.const 1) (i32.const 60000)) (br 0))"),
    ("growth that is refused", "", "(loop (drop (memory.grow (i32.const 65535))) (br 0))"),
    (
        "tables that are filled and copied",
        "(table $t 50000 funcref)",
        "(loop (table.fill $t (i32.const 0) (ref.null func) (i32.const 50000))
            (table.copy $t $t (i32.const 0) (i32.const 1) (i32.const 49999)) (br 0))",
    ),
    (
        "a table that grows, so that there is a new instance each time",
        "(table $t 1 funcref)",
        "(drop (table.grow $t (ref.null func) (i32.const 1))) (loop (br 0))",
    ),
    ("allocation", "(type $a (array i8))", "(loop (drop (array.new_default $a (i32.const 1000))) (br 0))"),
    (
        "arrays of references",
        "(type $a (array (mut externref)))",
        "(local $x (ref $a)) (local.set $x (array.new_default $a (i32.const 10000)))
         (loop (array.fill $a (local.get $x) (i32.const 0) (ref.null extern) (i32.const 10000)) (br 0))",
    ),
    (
        "a start function that takes seconds, for every worker",
        "(global $g (mut i32) (i32.const 0))
         (func $s (loop $a
            (global.set $g (i32.add (global.get $g) (i32.const 1))) (br_if $a (i32.lt_u (global.get $g) (i32.const 400000000)))))
         (start $s)",
        "",
    ),
    (
        "an initialiser that takes seconds, for every worker",
        "(global $g (mut i32) (i32.const 0))
         (func (export \"_initialize\") (loop $a
            (global.set $g (i32.add (global.get $g) (i32.const 1))) (br_if $a (i32.lt_u (global.get $g) (i32.const 400000000)))))",
        "",
    ),
];

/// Those that take long before they are given any input: they may be refused for that.
const BEFORE_ANY_INPUT: [&str; 4] = [
    "a start function that takes seconds, for every worker",
    "an initialiser that takes seconds, for every worker",
    "a start function that does not end",
    "an initialiser that does not end",
];

/// Whole modules and components that don't end.
const MODULES: [(&str, &str); 8] = [
    (
        "opens and closes files",
        r#"(module
            (import "wasi_snapshot_preview1" "path_open"
                (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
            (memory (export "memory") 1) (data (i32.const 0) "f")
            (func (export "_start")
                (loop (drop (call $open (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 1)
                    (i64.const 66) (i64.const 0) (i32.const 0) (i32.const 8))) (br 0))))"#,
    ),
    (
        "a program that waits",
        r#"(module
            (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
            (memory (export "memory") 160)
            (func (export "_start")
                (loop (drop (call $poll (i32.const 0) (i32.const 0) (i32.const 100000) (i32.const 0))) (br 0))))"#,
    ),
    (
        "a component that gives lists without end",
        r#"(component
            (core module $m (memory (export "memory") 1)
                (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 60000))
                (func (export "f") (param i32 i32) (result i32) (local $at i32)
                    (loop $a
                        (i32.store (local.get $at) (i32.const 0))
                        (i32.store offset=4 (local.get $at) (i32.const 4000))
                        (br_if $a (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 8))) (i32.const 40000))))
                    (i32.const 0)))
            (core instance $i (instantiate $m))
            (func (export "f") (param "x" (list u8)) (result (list (list (list (list (list string))))))
                (canon lift (core func $i "f") (memory (core memory $i "memory")) (realloc (core func $i "realloc")))))"#,
    ),
    (
        "writes to standard output",
        r#"(module
            (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
            (memory (export "memory") 1)
            (func (export "_start") (i32.store (i32.const 4) (i32.const 16))
                (loop (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))) (br 0))))"#,
    ),
    (
        "looks at the clock",
        r#"(module
            (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
            (memory (export "memory") 1)
            (func (export "_start") (loop (drop (call $clock (i32.const 1) (i64.const 0) (i32.const 8))) (br 0))))"#,
    ),
    (
        "draws, and then does not end",
        r#"(module
            (import "fuzzbox_v1" "draw_uint" (func $draw (param i64 i64 i64) (result i64)))
            (func (export "fbx_test")
                (loop $a (br_if $a (i64.ne (i64.const 0) (call $draw (i64.const 0) (i64.const 1000) (i64.const 0)))))
                (loop $b (br $b))))"#,
    ),
    (
        "asks for a feature",
        r#"(module
            (import "fuzzbox_v1" "feature" (func $feature (param i32 i32) (result i32)))
            (memory (export "memory") 1)
            (func (export "fbx_test") (loop (drop (call $feature (i32.const 0) (i32.const 60000))) (br 0))))"#,
    ),
    (
        "a component",
        r#"(component
            (core module $m (memory (export "memory") 1)
                (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
                (func (export "f") (param i32 i32) (loop (br 0))))
            (core instance $i (instantiate $m))
            (func (export "f") (param "x" (list u8))
                (canon lift (core func $i "f") (memory (core memory $i "memory")) (realloc (core func $i "realloc")))))"#,
    ),
];

/// How long campaigns run, in milliseconds; not at all if they are ended by a signal and nobody asked for it.
fn asked_time() -> Option<u64> {
    let text = std::env::var("FUZZBOX_ENDINGS_TIME").ok()?;
    let seconds: u64 = text.strip_suffix('s').and_then(|text| text.parse().ok()).expect("whole seconds, as `5s`");
    Some(seconds * 1000)
}

fn guests() -> Vec<(&'static str, String)> {
    let harness = |(name, items, code)| {
        let harness = r#"(func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)"#;
        (name, format!("(module (memory (export \"memory\") 1) {items} {harness} {code} (i32.const 0)))"))
    };
    let modules = MODULES.into_iter().map(|(name, text)| (name, text.to_owned()));
    HARNESSES.into_iter().map(harness).chain(modules).collect()
}

/// A campaign without end, if nobody ends it, whose executions have as much fuel as there can be.
fn campaign(fuzzbox: &Fuzzbox, text: &str, flags: &[&str]) -> Command {
    std::fs::write(fuzzbox.dir().join("guest.wat"), text).unwrap();
    let run = ["run", "guest.wat", "--seed", "1", "--jobs", "2", "--reporter", "json", "--fuel-max", "4294967295"];
    fuzzbox.command(&[&run, flags].concat())
}

/// What is told at a campaign's end.
fn done(about: &str, stdout: &[u8]) -> Value {
    let lines = String::from_utf8(stdout.to_vec()).unwrap();
    let last = lines.lines().last().unwrap_or_else(|| panic!("{about}: nothing was told"));
    let last: Value = serde_json::from_str(last).unwrap_or_else(|error| panic!("{about}: {error}: {last}"));
    assert_eq!(last["event"], "done", "{about}: {last}");
    last
}

#[test]
fn the_time_ends_a_campaign_whatever_the_guest_does() {
    let run = |(about, text): (&str, String)| {
        let fuzzbox = Fuzzbox::new();
        let begun = Instant::now();
        let time = asked_time().unwrap_or(500);
        let output = campaign(&fuzzbox, &text, &["--time", &format!("{time}ms")]).output().unwrap();
        let (took, stderr) = (begun.elapsed(), String::from_utf8_lossy(&output.stderr).into_owned());
        if BEFORE_ANY_INPUT.contains(&about) && output.status.code() == Some(2) {
            // There is no campaign yet.
            println!("{about}: {:.1} s in all", took.as_secs_f32());
            // By the time or by the fuel, whichever ends first.
            let is_said = ["initialisers take too long", "units of fuel"].iter().any(|why| stderr.contains(why));
            return assert!(is_said, "{about}: {stderr}");
        }
        assert!(matches!(output.status.code(), Some(0 | 1 | 4)), "{about}: {:?}: {stderr}", output.status);
        let done = done(about, &output.stdout);
        println!(
            "{about}: ended {} ms after {time} ms, {} executions, {:.1} s in all",
            done["elapsed_ms"].as_u64().unwrap().saturating_sub(time),
            done["execs"],
            took.as_secs_f32()
        );
        assert_eq!(done["stopped"], "--time reached", "{about}");
        assert!(took < ENOUGH, "{about}: {took:?}");
        let scratch = std::fs::read_dir(fuzzbox.store().join("tmp")).map_or(0, Iterator::count);
        assert_eq!(scratch, 0, "{about}: something is left in tmp");
    };
    std::thread::scope(|scope| {
        let (guests, lanes) = (guests(), 3);
        for lane in 0..lanes {
            let mine: Vec<_> = guests.iter().skip(lane).step_by(lanes).cloned().collect();
            scope.spawn(move || mine.into_iter().for_each(run));
        }
    });
}

/// Waits until a campaign has told its start.
fn started(child: &mut Child) -> Vec<u8> {
    use std::io::Read;
    let stdout = child.stdout.as_mut().unwrap();
    let (mut told, mut byte) = (Vec::new(), [0]);
    while byte != *b"\n" && stdout.read(&mut byte).unwrap() == 1 {
        told.push(byte[0]);
    }
    told
}

/// Begins a campaign on a guest, and ends it by a signal.
fn end_by(signal: &str, (guest, text): &(&'static str, String)) {
    let about = format!("{signal}, {guest}");
    let fuzzbox = Fuzzbox::new();
    let mut command = campaign(&fuzzbox, text, &[]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    started(&mut child);
    if let Some(time) = asked_time() {
        std::thread::sleep(Duration::from_millis(time));
    }
    let begun = Instant::now();
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    println!("{about}: ended {} ms after it", begun.elapsed().as_millis());
    assert!(begun.elapsed() < ENOUGH, "{about}");
    assert!(matches!(output.status.code(), Some(0 | 1 | 4)), "{about}: {:?}", output.status);
    assert_eq!(done(&about, &output.stdout)["stopped"], "interrupted");
    let scratch = fuzzbox.store().join("tmp");
    let left: Vec<PathBuf> =
        std::fs::read_dir(scratch).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{about}: {left:?}");
}

#[test]
fn each_signal_ends_a_campaign_whose_guest_hangs_and_leaves_nothing_behind() {
    const HANGUP: i32 = 1;
    // Below `nohup` a hangup is ignored, by this process and what it starts.
    let signals: Vec<_> =
        ["INT", "TERM", "HUP"].into_iter().filter(|&signal| signal != "HUP" || !is_ignored(HANGUP)).collect();
    // Before there is a campaign signals end the process as they do any other.
    let guests: Vec<_> = guests().into_iter().filter(|(name, _)| !BEFORE_ANY_INPUT.contains(name)).collect();
    let (guests, signals, lanes) = (&guests, &signals, 3);
    std::thread::scope(|scope| {
        for lane in 0..lanes {
            scope.spawn(move || {
                for (index, guest) in guests.iter().enumerate().skip(lane).step_by(lanes) {
                    end_by(signals[(index + lane) % signals.len()], guest);
                }
            });
        }
    });
}
