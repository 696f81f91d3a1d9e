//! `fuzzbox gate`: ends when every trace was reached, and names the frame that was not.

use fuzzbox_tests::command::{Fuzzbox, Ran};
use std::fs;

/// Draws five times one of 200, of which a certain one is the next step; steps beyond `steps` are never made. Key frames
/// have names. In the last step it fails if it is told to.
fn protocol(steps: u32, fails: bool) -> String {
    let end = if fails { "(if (i32.eq (local.get $alive) (i32.const 1)) (then unreachable))" } else { "" };
    let names = ["hello", "key", "proof", "confirm", "done"];
    let data: String =
        (1..).zip(names).map(|(id, name)| format!("(data (i32.const {}) \"{name}\")", id * 16)).collect();
    let named: String = (1..)
        .zip(names)
        .map(|(id, name)| {
            let len = name.len();
            format!("(call $name (i32.const 1) (i32.const {id}) (i32.const {}) (i32.const {len}))", id * 16)
        })
        .collect();
    format!(
        r#"(module
            (import "fuzzbox_v1" "draw_choice" (func $choice (param i32 i32) (result i32)))
            (import "fuzzbox_v1" "keyframe" (func $keyframe (param i32 i64)))
            (import "fuzzbox_v1" "name" (func $name (param i32 i32 i32 i32)))
            (memory (export "memory") 1)
            {data}
            (func (export "fbx_login") (local $step i32) (local $alive i32)
                {named}
                (local.set $alive (i32.const 1))
                (loop $again
                    (local.set $alive (i32.and (local.get $alive) (i32.and
                        (i32.lt_u (local.get $step) (i32.const {steps}))
                        (i32.eq (call $choice (i32.const 200) (i32.const 0)) (i32.add (local.get $step) (i32.const 90))))))
                    (local.set $step (i32.add (local.get $step) (i32.const 1)))
                    (call $keyframe (i32.mul (local.get $alive) (local.get $step)) (i64.extend_i32_u (local.get $step)))
                    (br_if $again (i32.lt_u (local.get $step) (i32.const 5))))
                {end}))"#
    )
}

/// A directory with a target and traces.
fn at(target: &str, traces: &[(&str, &str)]) -> Fuzzbox {
    let fuzzbox = Fuzzbox::new();
    fs::write(fuzzbox.dir().join("login.wat"), target).unwrap();
    fs::create_dir(fuzzbox.dir().join("traces")).unwrap();
    for (name, text) in traces {
        fs::write(fuzzbox.dir().join("traces").join(name), text).unwrap();
    }
    fuzzbox
}

const LOGIN: (&str, &str) = ("login.toml", "frames = [\"hello\", 2, \"proof\", 4, { frame = 5, arg = 5, before = 6 }]");
const BEGIN: (&str, &str) = ("begin.toml", "name = \"begins\"\nframes = [\"hello\"]");

fn gate(fuzzbox: &Fuzzbox, flags: &[&str]) -> Ran {
    fuzzbox.run("gate", &["login.wat"], &[&["--execs", "20000"], flags].concat())
}

#[test]
fn a_gate_ends_in_the_round_in_which_the_last_trace_is_reached() {
    let fuzzbox = at(&protocol(5, false), &[LOGIN, BEGIN, ("notes.txt", "no trace")]);
    let first = gate(&fuzzbox, &["--seed", "1", "--reporter", "json"]);
    assert_eq!(first.code, 0, "{first:?}");
    let lines = first.json_lines();
    let done = lines.last().unwrap();
    assert_eq!(done["stopped"], "every trace was reached");
    assert_eq!(done["traces"][0]["name"], "begins");
    assert_eq!((&done["traces"][1]["reached"], &done["traces"][1]["frames"]), (&5.into(), &5.into()));
    let frames: Vec<_> = lines.iter().filter(|line| line["event"] == "keyframe").collect();
    let last = frames.last().unwrap();
    assert_eq!((&last["trace"], &last["reached"], &last["draws"]), (&"login".into(), &5.into(), &5.into()));
    assert_eq!(last["frame"], "5 (done), argument 5, before draw 6");
    // Nothing was executed after the round that reached it.
    assert_eq!(last["execs"], done["execs"], "{first:?}");
    assert!(frames.iter().any(|frame| frame["trace"] == "begins" && frame["frame"] == "1 (hello)"));

    // What reached them is stored, and executed first.
    let again = gate(&fuzzbox, &["--seed", "2", "--reporter", "json"]);
    assert_eq!(again.code, 0, "{again:?}");
    let stored = done["corpus"].as_u64().unwrap();
    let done = again.json_lines().pop().unwrap();
    assert!(done["execs"].as_u64().unwrap() <= stored + 1, "{done} after {stored}");
    assert_eq!(gate(&fuzzbox, &["--seed", "1", "--reporter", "lines"]).stdout.matches("reached all of").count(), 2);
}

#[test]
fn a_gate_names_the_frame_that_was_not_reached() {
    let fuzzbox = at(&protocol(3, false), &[LOGIN]);
    let told = "trace `login`: reached 3 of 5 frames, not `4 (confirm)`";
    for reporter in ["lines", "terminal", "quiet"] {
        let ran = gate(&fuzzbox, &["--seed", "1", "--reporter", reporter]);
        assert_eq!((ran.code, ran.stdout.matches(told).count()), (1, 1), "{ran:?}");
    }
    let ran = gate(&fuzzbox, &["--seed", "1", "--reporter", "json"]);
    assert_eq!(ran.json_lines().last().unwrap()["traces"][0]["missing"], "4 (confirm)");
    // Who only follows traces has not failed.
    let ran = fuzzbox.run("run", &["login.wat"], &["--traces", "traces", "--execs", "2000", "--reporter", "lines"]);
    assert_eq!((ran.code, ran.stdout.matches("of 5 frames, not `").count()), (0, 1), "{ran:?}");
}

#[test]
fn what_fails_on_the_way_is_a_finding_and_its_frames_are_shown() {
    let fuzzbox = at(&protocol(5, true), &[("login.toml", "frames = [1, 2, 3, 4, 5]")]);
    let ran = gate(&fuzzbox, &["--seed", "3", "--stop-on", "first", "--reporter", "json"]);
    // What fails counts for no trace, so the last frame is never reached.
    assert_eq!(ran.code, 1, "{ran:?}");
    let done = ran.json_lines().pop().unwrap();
    assert_eq!(done["stopped"], "first finding");
    let id = done["findings"][0]["id"].as_str().unwrap().to_owned();
    let shown = fuzzbox.run("repro", &[&id], &[]);
    assert!(shown.stdout.contains("key frames\n  1 (hello), argument 1\n  2 (key), argument 2\n"), "{shown:?}");
    let shown = fuzzbox.run("show", &[&id], &["--json"]);
    assert!(shown.stdout.contains("\"4 (confirm), argument 4\""), "{shown:?}");
    // A gate with a finding that is open is closed, whatever was reached.
    fs::write(fuzzbox.dir().join("traces/login.toml"), "frames = [1]").unwrap();
    let ran = gate(&fuzzbox, &["--seed", "3", "--reporter", "lines"]);
    assert!(ran.code == 1 && ran.stdout.contains("reached all of 1 frame"), "{ran:?}");
}

#[test]
fn traces_that_are_none_are_refused_by_file_and_line() {
    let cases: [(&[(&str, &str)], &str); 5] = [
        (&[("a.toml", "frames = [1,\n 2.5]")], "failed to read trace `traces/a.toml`\n  caused by: line 2: "),
        (&[("a.toml", "frames = [1]\nfrom = 2")], "line 2: unknown field `from`"),
        (
            &[("a.toml", "name = 'x'\nframes = [1]"), ("b.toml", "name = 'x'\nframes = [2]")],
            "two traces have the name `x`",
        ),
        (&[("a.toml", "\u{0}")], "failed to read trace `traces/a.toml`"),
        (&[], "there is no `.toml` in it"),
    ];
    for (traces, told) in cases {
        let fuzzbox = at(&protocol(5, false), traces);
        let ran = gate(&fuzzbox, &["--seed", "1"]);
        assert_eq!((ran.code, ran.stderr.matches("error: ").count()), (2, 1), "{ran:?}");
        assert!(ran.stderr.contains(told), "{ran:?}");
        assert!(!fuzzbox.store().exists());
    }
    let fuzzbox = at(&protocol(5, false), &[("a.toml", "frames = [1]")]);
    fs::write(fuzzbox.dir().join("traces/b.toml"), [0xff, 0xfe]).unwrap();
    assert!(
        gate(&fuzzbox, &["--seed", "1"])
            .stderr
            .contains("failed to read trace `traces/b.toml`\n  caused by: it is no UTF-8")
    );
    fs::write(fuzzbox.dir().join("traces/b.toml"), vec![b' '; 70_000]).unwrap();
    assert!(gate(&fuzzbox, &["--seed", "1"]).stderr.contains("it is larger than 64 KiB, the limit"));
    let ran = gate(&fuzzbox, &["--seed", "1", "--traces", "nowhere"]);
    assert!(ran.code == 2 && ran.stderr.contains("failed to read traces in `nowhere`"), "{ran:?}");
    fs::write(
        fuzzbox.dir().join("login.wat"),
        "(module (import \"fuzzbox_v1\" \"draw_bool\" (func $bool (param i32) (result i32))) (memory (export \"memory\") 1)
            (func (export \"fbx_p\") (drop (call $bool (i32.const 7)))))",
    )
    .unwrap();
    fs::remove_file(fuzzbox.dir().join("traces/b.toml")).unwrap();
    let ran = gate(&fuzzbox, &["--seed", "1"]);
    assert!(ran.code == 2 && ran.stderr.contains("`login.wat` tells no key frames"), "{ran:?}");
}
