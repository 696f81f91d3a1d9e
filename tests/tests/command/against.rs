//! `--against`: what another build does otherwise with the same input is a finding.

use fuzzbox_tests::command::{Fuzzbox, Ran};
use serde_json::Value;
use std::fs;

/// A function over bytes: `body` has them at `$data`, `$size` of them, and leaves an i32.
fn function(body: &str) -> String {
    format!(
        r#"(module (memory (export "memory") 1 2)
        (func $at (param $data i32) (param $size i32) (param $index i32) (result i32)
            (if (i32.ge_u (local.get $index) (local.get $size)) (then (return (i32.const 0))))
            (i32.load8_u (i32.add (local.get $data) (local.get $index))))
        (func $deep (param $left i32) (if (local.get $left) (then (call $deep (i32.sub (local.get $left) (i32.const 1))))))
        (func (export "parse") (param $data i32) (param $size i32) (result i32) {body}))"#
    )
}

/// Whether the input begins with a byte.
fn begins(byte: u8) -> String {
    format!("(i32.eq (call $at (local.get $data) (local.get $size) (i32.const 0)) (i32.const {byte}))")
}

/// What is done with inputs that begin with `x`; all give 7.
fn with_x(body: &str) -> String {
    function(&format!("(if {} (then {body})) (i32.const 7)", begins(b'x')))
}

/// A program that writes a text and exits with a code if its input begins with `x`, and else writes `hello`.
fn program(text: &str, code: u32) -> String {
    let len = text.len();
    format!(
        r#"(module
        (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
        (memory (export "memory") 1)
        (data (i32.const 1024) "\40\00\00\00\01\00\00\00")
        (data (i32.const 2048) "\00\10\00\00\05\00\00\00\00\11\00\00")
        (data (i32.const 4096) "hello") (data (i32.const 4352) "{text}")
        (func (export "_start")
            (drop (call $read (i32.const 0) (i32.const 1024) (i32.const 1) (i32.const 1040)))
            (if (i32.ne (i32.load8_u (i32.const 64)) (i32.const 120))
                (then (drop (call $write (i32.const 1) (i32.const 2048) (i32.const 1) (i32.const 1040))) (return)))
            (i32.store (i32.const 2060) (i32.const {len}))
            (drop (call $write (i32.const 1) (i32.const 2056) (i32.const 1) (i32.const 1040)))
            (call $exit (i32.const {code}))))"#
    )
}

/// A property that draws a number below 100 and notes a text if it is 77.
fn property(text: &str) -> String {
    let len = text.len();
    format!(
        r#"(module (import "fuzzbox_v1" "draw_choice" (func $choice (param i32 i32) (result i32)))
        (import "fuzzbox_v1" "note" (func $note (param i32 i32)))
        (memory (export "memory") 1) (data (i32.const 1024) "{text}")
        (func (export "fbx_notes")
            (if (i32.eq (call $choice (i32.const 100) (i32.const 0)) (i32.const 77))
                (then (call $note (i32.const 1024) (i32.const {len}))))))"#
    )
}

fn fuzzbox(files: &[(&str, &str)]) -> Fuzzbox {
    let fuzzbox = Fuzzbox::new();
    files.iter().for_each(|(name, text)| fs::write(fuzzbox.dir().join(name), text).unwrap());
    fuzzbox
}

/// Fuzzes `new.wat` against `old.wat`.
fn run(fuzzbox: &Fuzzbox, flags: &[&str]) -> Ran {
    let args = ["--against", "old.wat", "--seed", "1", "--reporter", "json"];
    fuzzbox.run("run", &["new.wat"], &[&args[..], flags].concat())
}

/// What the campaign told last.
fn done(ran: &Ran) -> Value {
    let last = ran.json_lines().into_iter().find(|event| event["event"] == "done");
    last.unwrap_or_else(|| panic!("{ran:?}"))
}

/// The signatures that it found, and what each says.
fn found(ran: &Ran) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = done(ran)["findings"].as_array().unwrap().clone();
    findings.iter().map(|finding| (text(&finding["signature"]), text(&finding["said"]["message"]))).collect()
}

/// The only difference between two builds.
fn difference((old, new): (&str, &str), flags: &[&str]) -> (String, String) {
    let ran = run(&fuzzbox(&[("old.wat", old), ("new.wat", new)]), flags);
    let found = found(&ran);
    assert_eq!((ran.code, found.len()), (1, 1), "{ran:?}");
    found.into_iter().next().unwrap()
}

const PARSE: [&str; 4] = ["--entry", "parse", "--execs", "20000"];

#[test]
fn what_is_returned_otherwise_is_found_shrunk_and_reproduced() {
    let (old, new) = (with_x("nop"), with_x("(return (i32.const -1))"));
    let fuzzbox = fuzzbox(&[("old.wat", &old), ("new.wat", &new)]);
    let ran = run(&fuzzbox, &PARSE);
    let finding = done(&ran)["findings"][0].clone();
    assert_eq!((ran.code, &finding["kind"]), (1, &Value::from("difference")), "{ran:?}");
    assert_eq!(
        (&finding["signature"], &finding["input_bytes"]),
        (&"difference: return: positive -> negative".into(), &1.into())
    );
    assert_eq!(finding["said"]["message"], "old return: 7\nnew return: -1");
    // Nothing but the store is needed from here on.
    for file in ["old.wat", "new.wat"] {
        fs::rename(fuzzbox.dir().join(file), fuzzbox.dir().join(format!("{file}.away"))).unwrap();
    }
    let id = &finding["id"].as_str().unwrap()[..8];
    let repro = fuzzbox.run("repro", &[id], &[]);
    assert_eq!(repro.code, 1, "{repro:?}");
    for told in
        ["difference: return: positive -> negative\n", "old return: 7", "new return: -1", "the signature is the same"]
    {
        assert!(repro.stdout.contains(told), "{told} {repro:?}");
    }
    for (verb, operands) in [("show", vec![id]), ("ls", vec![]), ("shrink", vec![id])] {
        let ran = fuzzbox.run(verb, &operands, &[]);
        assert!(ran.code == 0 && ran.stdout.contains("difference: return: positive -> negative"), "{ran:?}");
    }
}

#[test]
fn what_a_recipe_returns_is_compared() {
    let files = [("old.wat", &*with_x("nop")), ("new.wat", &*with_x("(return (i32.const 8))"))];
    let call = |recipe: &str| run(&fuzzbox(&files), &["--call", recipe, "--execs", "20000"]);
    let ran = call("r = parse(input, len); return r");
    let difference =
        [("difference: return: positive -> positive".to_owned(), "old return: 7\nnew return: 8".to_owned())];
    assert_eq!((ran.code, found(&ran)), (1, difference.to_vec()), "{ran:?}");
    let ran = call("r = parse(input, len)");
    assert_eq!((ran.code, found(&ran)), (0, Vec::new()), "what is not returned is nobody's: {ran:?}");
}

#[test]
fn another_build_of_the_target_is_compared_with_the_same_module() {
    let (old, new) = (with_x("nop"), with_x("(return (i32.const -1))"));
    let fuzzbox = fuzzbox(&[("old.wat", &old), ("new.wat", &new), ("fixed.wat", &with_x("nop nop"))]);
    let ran = run(&fuzzbox, &PARSE);
    let id = done(&ran)["findings"][0]["id"].as_str().unwrap()[..8].to_owned();
    let on = |build: &str| fuzzbox.run("repro", &[&id], &["--on", build]);
    assert_eq!((on("new.wat").code, on("fixed.wat").code), (1, 0));
    fs::write(fuzzbox.dir().join("x"), "x").unwrap();
    let replay = |flags: &[&str]| fuzzbox.run("replay", &["new.wat", "x"], &[&["--entry", "parse"], flags].concat());
    assert_eq!(replay(&[]).code, 0);
    let differs = replay(&["--against", "old.wat"]);
    assert!(differs.code == 1 && differs.stdout.contains("new return: -1"), "{differs:?}");
    assert_eq!(replay(&["--against", "old.wat", "--compare", "outcome,stdout"]).code, 0);
    // A campaign that compares with nothing doesn't say that it is fixed.
    fs::copy(fuzzbox.dir().join("fixed.wat"), fuzzbox.dir().join("new.wat")).unwrap();
    let alone = fuzzbox.run("run", &["new.wat"], &[&PARSE[..2], &["--execs", "100", "--seed", "1"]].concat());
    assert!(alone.code == 1 && !alone.stdout.contains("fixed"), "{alone:?}");
    let fixed = fuzzbox.run("run", &["new.wat"], &["--entry", "parse", "--execs", "100", "--against", "old.wat"]);
    assert_eq!(fixed.code, 0, "{fixed:?}");
}

#[test]
fn each_thing_that_is_compared_differs_in_its_own_way() {
    let told = difference((&program("12 apples", 0), &program("12 pears", 0)), &["--execs", "20000"]);
    let (signature, message) = told;
    assert_eq!(signature, "difference: stdout: letter -> letter");
    assert_eq!(message, "old stdout: \"12 apples\"\nnew stdout: \"12 pears\"");
    let exits = difference((&program("a", 0), &program("a", 3)), &["--execs", "20000"]);
    assert_eq!(exits, ("difference: outcome: ok -> exit 3".into(), "old outcome: ok\nnew outcome: exit 3".into()));
    let crash = difference((&with_x("nop"), &with_x("unreachable")), &PARSE);
    assert_eq!(crash.0, "difference: outcome: ok -> unreachable: parse@7");
    assert_eq!(crash.1, "old outcome: ok\nnew outcome: unreachable");
    let no_crash = difference((&with_x("unreachable"), &with_x("nop")), &PARSE);
    assert_eq!(no_crash.0, "difference: outcome: unreachable: parse@7 -> ok");
    let notes = difference((&property("one"), &property("one!")), &["--execs", "20000"]);
    assert_eq!(notes.0, "difference: value: nothing -> sign");
    assert_eq!(notes.1, "old value: \"one\\n\"\nnew value: \"one!\\n\"");
}

#[test]
fn what_fails_in_both_is_the_finding_that_it_is_without_the_other() {
    let crash = with_x("unreachable");
    let ids = [&["--against", "old.wat"][..], &[]].map(|flags| {
        let fuzzbox = fuzzbox(&[("old.wat", &with_x("nop unreachable")), ("new.wat", &crash)]);
        let args = ["--entry", "parse", "--execs", "20000", "--seed", "1", "--reporter", "json"];
        let ran = fuzzbox.run("run", &["new.wat"], &[&args[..], flags].concat());
        let finding = done(&ran)["findings"][0].clone();
        (finding["kind"].clone(), finding["id"].clone())
    });
    assert_eq!((&ids[0].0, &ids[0]), (&Value::from("crash"), &ids[1]));
}

#[test]
fn what_is_limited_differs_only_if_that_is_asked_for() {
    let grows = "(if (i32.eq (memory.grow (i32.const 1)) (i32.const -1)) (then unreachable))";
    for (name, old) in [
        ("hang", "(loop $on (br $on))"),
        ("stack-overflow: deep", "(call $deep (i32.const 1000000))"),
        ("oom: parse@", grows),
    ] {
        let (old, new) = (with_x(old), with_x("nop"));
        let limits = ["--fuel-max", "3000000", "--memory-max", "64KiB"];
        let args = [&PARSE[..3], &["3000"], &limits[..]].concat();
        let ran = run(&fuzzbox(&[("old.wat", &old), ("new.wat", &new)]), &args);
        assert_eq!((ran.code, found(&ran)), (0, vec![]), "{ran:?}");
        let asked = [&args[..], &["--compare", "outcome,limits"]].concat();
        let (signature, _) = difference((&old, &new), &asked);
        assert!(signature.starts_with(&format!("difference: limits: {name}")), "{signature}");
        // The target's own are what they are without the other.
        let ran = run(&fuzzbox(&[("old.wat", &new), ("new.wat", &old)]), &args);
        let own = found(&ran);
        assert!(own.len() == 1 && own[0].0.starts_with(name), "{ran:?}");
    }
}

/// Steps that only the old build takes apart.
fn ladder(steps: &[u8], end: &str) -> String {
    let step = |(index, byte): (usize, &u8)| {
        format!(
            "(if (i32.ne (call $at (local.get $data) (local.get $size) (i32.const {index})) (i32.const {byte})) \
             (then (return (i32.const 0))))"
        )
    };
    function(&(steps.iter().enumerate().map(step).collect::<String>() + end))
}

#[test]
fn what_is_new_in_the_other_build_steers_and_jobs_change_nothing() {
    let old = ladder(b"stairs", "(i32.const 1)");
    let results = ["1", "2"].map(|jobs| {
        let fuzzbox = fuzzbox(&[("old.wat", &old), ("new.wat", &function("(i32.const 0)"))]);
        let args = ["--entry", "parse", "--execs", "600000", "--no-compares", "--jobs", jobs];
        let ran = run(&fuzzbox, &args);
        let done = done(&ran);
        assert_eq!(found(&ran)[0].0, "difference: return: positive -> 0", "{ran:?}");
        (done["corpus_hash"].clone(), done["findings"].clone(), done["rounds"].clone())
    });
    assert_eq!(results[0], results[1]);
}

#[test]
fn a_build_does_not_differ_from_itself() {
    let steps = ladder(b"stairs", "unreachable");
    for (text, entry) in [(&steps, &["--entry", "parse"][..]), (&program("a", 3), &[]), (&property("one"), &[])] {
        let fuzzbox = fuzzbox(&[("old.wat", text), ("new.wat", text)]);
        let ran = run(
            &fuzzbox,
            &[entry, &["--execs", "100000", "--compare", "outcome,stdout,stderr,return,value,limits"]].concat(),
        );
        assert!(found(&ran).iter().all(|(signature, _)| signature.starts_with("unreachable")), "{ran:?}");
    }
}

#[test]
fn what_can_not_be_compared_is_refused_before_anything_is_written() {
    let component = "(component)";
    let files = [
        ("new.wat", &with_x("nop")[..]),
        ("old.wat", &with_x("nop")),
        ("other.wat", &with_x("nop").replace("\"parse\"", "\"render\"")),
        (
            "numbers.wat",
            r#"(module (memory (export "memory") 1) (func (export "parse") (param i32) (result i32) (local.get 0)))"#,
        ),
        ("broken.wat", "(module (func"),
        ("component.wat", component),
        ("loops.wat", &with_x("nop").replace("(func $at", "(func $on (loop $on (br $on))) (start $on) (func $at")),
    ];
    let fuzzbox = fuzzbox(&files);
    for (other, told) in [
        ("nowhere.wasm", "`nowhere.wasm`"),
        ("other.wat", "`parse`"),
        ("numbers.wat", "what it is compared with by parse(i32)"),
        ("broken.wat", "broken.wat"),
        ("component.wat", "component"),
        ("loops.wat", "the build that it is compared with"),
    ] {
        let ran = fuzzbox.run("run", &["new.wat"], &["--entry", "parse", "--execs", "10", "--against", other]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains(told) && ran.stderr.matches("error: ").count() == 1, "{told} {ran:?}");
    }
    for flags in [&["--compare", "stdout"][..], &["--against", "old.wat", "--compare", "output"]] {
        let ran = fuzzbox.run("run", &["new.wat"], &[&["--entry", "parse", "--execs", "10"], flags].concat());
        assert_eq!(ran.code, 2, "{ran:?}");
    }
    let ran =
        fuzzbox.run("run", &["new.wat", "old.wat"], &["--entry", "parse", "--execs", "10", "--against", "old.wat"]);
    assert!(ran.code == 2 && ran.stderr.contains("--against is for one target, there are 2"), "{ran:?}");
    assert!(!fuzzbox.store().exists());
}

/// Whether a number that the first four bytes are is less than another, or in a range.
fn compared(how: &str) -> String {
    let at = |index: u32| {
        let byte = format!("(call $at (local.get $data) (local.get $size) (i32.const {index}))");
        format!("(i32.shl {byte} (i32.const {}))", 8 * index)
    };
    let number = (1..4).fold(at(0), |number, index| format!("(i32.or {number} {})", at(index)));
    let result = how.replace("NUMBER", &number);
    function(&format!("(if (i32.eq (local.get $size) (i32.const 4)) (then (return {result}))) (i32.const 7)"))
}

#[test]
fn builds_that_differ_in_one_number_of_four_billion_are_told_apart() {
    let sides = [
        ("(i32.lt_u NUMBER (i32.const 1234567890))", "(i32.le_u NUMBER (i32.const 1234567890))"),
        ("(i32.ge_s NUMBER (i32.const -7654321))", "(i32.gt_s NUMBER (i32.const -7654321))"),
        // As compilers ask for a range: from 55,296 on, 1,024 numbers; one less at its end, or at its beginning.
        (
            "(i32.lt_u (i32.sub NUMBER (i32.const 55296)) (i32.const 1024))",
            "(i32.lt_u (i32.sub NUMBER (i32.const 55296)) (i32.const 1023))",
        ),
        (
            "(i32.lt_u (i32.sub NUMBER (i32.const 55296)) (i32.const 1024))",
            "(i32.lt_u (i32.sub NUMBER (i32.const 55297)) (i32.const 1023))",
        ),
    ];
    for (one, other) in sides {
        for (old, new) in [(one, other), (other, one)] {
            let found = difference((&compared(old), &compared(new)), &["--entry", "parse", "--execs", "60000"]);
            assert!(found.0.starts_with("difference: return: "), "{old} and {new}: {found:?}");
        }
    }
}
