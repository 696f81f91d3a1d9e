//! `run` finds a planted bug through each kind of entry, and `repro` shows it again by its hash.

use fuzzbox_tests::command::Fuzzbox;
use serde_json::Value;

/// Runs a module that has a bug behind a few branches, and returns the first event.
#[track_caller]
fn found(body: &str, flags: &[&str]) -> Value {
    let fuzzbox = Fuzzbox::new();
    std::fs::write(fuzzbox.dir().join("guest.wat"), format!("(module {body})")).unwrap();
    let common =
        ["--execs", "2000000", "--seed", "1", "--stop-on", "first", "--reporter", "json", "--input-bytes-max", "256"];
    let run = fuzzbox.run("run", &["guest.wat"], &[&common[..], flags].concat());
    assert_eq!(run.code, 1, "{run:?}");
    let lines = run.json_lines();
    let findings = lines.last().unwrap()["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    let repro = fuzzbox.run("repro", &[&findings[0]["id"].as_str().unwrap()[..12]], &["--json"]);
    assert_eq!((repro.code, &repro.json_lines()[0]["same"]), (1, &Value::Bool(true)), "{repro:?}");
    lines[0].clone()
}

/// `unreachable` if byte `index` from the address in `$at` on is the one in `bytes`, for all of them.
fn planted(bytes: &[u8]) -> String {
    let check = |(index, byte): (usize, &u8)| {
        format!("(if (i32.eq (i32.load8_u offset={index} (local.get $at)) (i32.const {byte})) (then ")
    };
    let checks: String = bytes.iter().enumerate().map(check).collect();
    format!("{checks} unreachable {}", "))".repeat(bytes.len()))
}

#[test]
fn over_numbers() {
    let body = r#"(func (export "f") (param $a i32) (param $b i64) (param $c f64) (param $d v128) (result f32)
        (if (i32.eq (i32.shr_u (local.get $a) (i32.const 24)) (i32.const 0x46)) (then
            (if (i64.gt_s (local.get $b) (i64.const 0x4000000000000000)) (then
                (if (f64.gt (local.get $c) (f64.const 1e10)) (then
                    (if (i32.eq (i8x16.extract_lane_u 3 (local.get $d)) (i32.const 0x21)) (then unreachable))))))))
        (f32.const 0))"#;
    let start = found(body, &["--entry", "f"]);
    assert_eq!(start["entry"], "f(i32, i64, f64, v128), a function over numbers from the input");
}

#[test]
fn over_numbers_that_could_be_addresses() {
    let body = r#"(memory 1) (func (export "f") (param $a i32) (param $b i32)
        (if (i32.eq (local.get $a) (i32.const 0xff)) (then
            (if (i32.eq (i32.and (local.get $b) (i32.const 0xff)) (i32.const 0x46)) (then unreachable)))))"#;
    found(body, &["--entry", "f", "--entry-args", "numbers"]);
}

#[test]
fn over_bytes_and_flags() {
    let body = format!(
        r#"(memory (export "memory") 1) (func (export "f") (param $at i32) (param $len i32) (param $flags i32)
        (if (i32.and (local.get $flags) (i32.const 0x80)) (then
            (if (i32.ge_u (local.get $len) (i32.const 2)) (then {})))))"#,
        planted(b"(a")
    );
    let start = found(&body, &["--entry", "f"]);
    assert_eq!(start["entry"], "f(ptr, len, i32), a function over numbers from the input and the bytes after them");
}

/// One byte behind the input is read by whoever doesn't look at its length.
#[test]
fn over_bytes_of_which_one_too_many_is_read() {
    let body = r#"(memory (export "memory") 1) (func (export "f") (param $at i32) (param $len i32) (param $n f32)
        (drop (i32.load8_u (i32.add (local.get $at) (local.get $len)))))"#;
    found(body, &["--entry", "f"]);
}

/// A command that reads the file that its argument names.
#[test]
fn over_a_file() {
    let body = format!(
        r#"(import "wasi_snapshot_preview1" "args_get" (func $args_get (param i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "path_open"
            (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 1)
        (func (export "_start") (local $at i32)
            (drop (call $args_get (i32.const 0) (i32.const 100)))
            ;; the third argument is `--from=/input.cfg`; the path is opened without its slash
            (local.set $at (i32.add (i32.load (i32.const 8)) (i32.const 8)))
            (if (call $path_open (i32.const 3) (i32.const 0) (local.get $at) (i32.const 9) (i32.const 0) (i64.const 2)
                    (i64.const 0) (i32.const 0) (i32.const 40))
                (then (return)))
            (i32.store (i32.const 44) (i32.const 1000))
            (i32.store (i32.const 48) (i32.const 500))
            (drop (call $fd_read (i32.load (i32.const 40)) (i32.const 44) (i32.const 1) (i32.const 52)))
            (local.set $at (i32.const 1000))
            {})"#,
        planted(b"cfg")
    );
    let start = found(&body, &["--", "-v", "--from=@@.cfg"]);
    assert_eq!(start["entry"], "_start(), a WASI command that reads the file /input.cfg");
    found(&body, &["--arg", "-v", "--arg", "--from=@@.cfg"]);
}

/// The bug is there only after a call with the empty input.
#[test]
fn after_a_warm_up_run() {
    let body = format!(
        r#"(memory (export "memory") 1) (global $warm (mut i32) (i32.const 0))
        (func (export "LLVMFuzzerTestOneInput") (param $at i32) (param $len i32) (result i32)
            (if (i32.and (i32.ge_u (local.get $len) (i32.const 2)) (global.get $warm)) (then {}))
            (global.set $warm (i32.const 1)) (i32.const 0))"#,
        planted(b"<!")
    );
    found(&body, &["--warm-up"]);
}

/// A real program: packs bit streams, from standard input or from a file. What it does is the same.
#[test]
fn a_real_command_does_the_same_with_a_file() {
    let icepack = fuzzbox_tests::guest("icepack").unwrap_or_else(|error| panic!("{error:#}"));
    let icepack = icepack.to_str().unwrap();
    let fuzzbox = Fuzzbox::new();
    let dir = fuzzbox.dir();
    std::fs::create_dir(dir.join("in")).unwrap();
    for (name, bytes) in [
        ("empty", &b""[..]),
        ("comment", b".comment x\n.device 384\n"),
        ("no-device", b".device 17\n"),
        ("tile", b".comment arch\n.device 384\n.io_tile 1 0\n0101\n"),
        ("garbage", &[0xff; 100_000]),
    ] {
        std::fs::write(dir.join("in").join(name), bytes).unwrap();
    }
    let replay = |flags: &[&str]| {
        let ran = fuzzbox.run("replay", &[icepack, "in", "in", "--json"], flags);
        assert_eq!(ran.code, 0, "{ran:?}");
        let line = |line: Value| (line["name"].clone(), line["outcome"].clone(), line["exit_code"].clone());
        ran.json_lines().into_iter().map(line).collect::<Vec<_>>()
    };
    let (stdin, file) = (replay(&[]), replay(&["--", "@@", "/out"]));
    assert_eq!(stdin, file);
    assert_ne!(stdin, replay(&["--", "/absent"]), "it is the file that is read");
}
