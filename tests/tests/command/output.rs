//! What is printed is safe to look at, and says what could not be written; how the output ends is not how the work ends.

use fuzzbox_tests::command::{Fuzzbox, Ran, example};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

/// Clears the screen, rings, reverses, and begins a line of its own.
const EVIL: &str = "\u{1b}[2J\u{7}\u{202e}\nhelp: rm -rf";

/// Checks that a command said something, and nothing of it drives a terminal or begins a line that we didn't.
#[track_caller]
fn harmless(ran: &Ran) {
    let text = format!("{}{}", ran.stdout, ran.stderr);
    assert!(!text.is_empty() && !text.contains("panicked"), "{ran:?}");
    assert!(text.chars().all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}')), "{ran:?}");
    assert!(!text.lines().any(|line| line.starts_with("help: rm")), "{ran:?}");
}

/// A length and text, as modules have them.
fn name(text: &str) -> Vec<u8> {
    [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
}

/// A module of sections, each given by its number and content.
fn module(sections: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let sections =
        sections.iter().map(|(id, content)| [&[*id, u8::try_from(content.len()).unwrap()], &content[..]].concat());
    sections.fold(b"\0asm\x01\0\0\0".to_vec(), |module, section| [module, section].concat())
}

/// A module that exports one function under these names.
fn exporting(names: &[&str]) -> Vec<u8> {
    let exports = names.iter().flat_map(|export| [name(export), vec![0, 0]].concat());
    let exports = std::iter::once(u8::try_from(names.len()).unwrap()).chain(exports).collect();
    module(&[(1, vec![1, 0x60, 0, 0]), (3, vec![1, 0]), (7, exports), (10, vec![1, 2, 0, 0x0b])])
}

#[test]
fn names_and_texts_of_modules_drive_no_terminal() {
    let fuzzbox = Fuzzbox::new();
    // A global that holds a reference that is never null can't be stubbed.
    let import = [vec![1], name("env"), name(EVIL), vec![3, 0x64, 0, 0]].concat();
    let never_null = module(&[
        (1, vec![1, 0x60, 0, 0]),
        (2, import),
        (3, vec![1, 0]),
        (7, [vec![1], name("_start"), vec![0, 0]].concat()),
        (10, vec![1, 2, 0, 0x0b]),
    ]);
    let component_import = [vec![1, 0], name("a:b/c"), vec![1, 0]].concat();
    let files: [(&str, Vec<u8>); 6] = [
        ("text.wat", format!("(module (func i32.{EVIL}))").into_bytes()),
        ("string.wat", format!("(module (import \"{EVIL}\" \"x\" (func)) (export \"_start\" (func 7)))").into_bytes()),
        ("twice.wasm", exporting(&[EVIL, EVIL])),
        ("names.wasm", exporting(&[EVIL])),
        ("stub.wasm", never_null),
        (
            "component.wasm",
            [b"\0asm\x0d\0\x01\0".to_vec(), vec![10, u8::try_from(component_import.len()).unwrap()], component_import]
                .concat(),
        ),
    ];
    for (file, bytes) in files {
        fs::write(fuzzbox.dir().join(file), bytes).unwrap();
        for flags in [&["--stub-imports", "zero"][..], &[], &["--entry", EVIL]] {
            harmless(&fuzzbox.run("run", &[file], &[flags, &["--execs", "1"]].concat()));
            harmless(&fuzzbox.run("inspect", &[file], flags));
        }
        harmless(&fuzzbox.run("inspect", &[file], &["--cfg", "0"]));
        harmless(&fuzzbox.run("inspect", &[file], &["--cfg", EVIL]));
        harmless(&fuzzbox.run("inspect", &[file], &["--json"]));
        harmless(&fuzzbox.run("instrument", &[file], &["--output", "out.wasm"]));
    }
}

#[test]
fn names_of_files_drive_no_terminal() {
    let fuzzbox = Fuzzbox::new();
    let dir = fuzzbox.dir();
    let evil = EVIL.replace('/', "-");
    fs::create_dir(dir.join("inputs")).unwrap();
    fs::write(dir.join("inputs").join(&evil), "x").unwrap();
    symlink("nowhere", dir.join("inputs").join(format!("broken{evil}"))).unwrap();
    fs::write(dir.join("inputs").join(OsStr::from_bytes(b"\xff\x1b[2J")), "y").unwrap();
    let json = example("json");
    harmless(&fuzzbox.run("replay", &[&json, "inputs"], &[]));
    harmless(&fuzzbox.run("replay", &[&json, "inputs"], &["--json"]));
    harmless(&fuzzbox.run("replay", &[&json, &evil], &[]));
    harmless(&fuzzbox.run("import", &["inputs"], &["--for", &json]));
    let own = dir.join(format!("{evil}.wasm"));
    fs::copy(&json, &own).unwrap();
    for reporter in ["lines", "terminal", "json", "quiet"] {
        harmless_or_silent(&fuzzbox.run("run", &[own.to_str().unwrap()], &["--execs", "100", "--reporter", reporter]));
    }
    harmless(&fuzzbox.run("ls", &[], &[]));
    harmless(&fuzzbox.run("ls", &[], &["--json"]));
    harmless(&fuzzbox.run("export", &["out"], &["--target", &evil]));
    harmless(&fuzzbox.run("export", &["out"], &["--target", "nothing"]));
    for typed in [
        &["run", &*evil][..],
        &[&*evil],
        &["run", &format!("--{evil}")],
        &["run", &json, "--store", &evil, "--entry", "x"],
    ] {
        harmless(&fuzzbox.run(typed[0], &typed[1..], &[]));
    }
    for flags in [["--debug-info", &*evil], ["--dict", &*evil], ["--corpus", &*evil]] {
        harmless(&fuzzbox.run("run", &[&json], &flags));
    }
    fs::copy(&json, dir.join(format!("debug{evil}"))).unwrap();
    harmless(&fuzzbox.run("inspect", &[&example("first-bug")], &["--debug-info", &format!("debug{evil}")]));
}

#[track_caller]
fn harmless_or_silent(ran: &Ran) {
    if !format!("{}{}", ran.stdout, ran.stderr).is_empty() {
        harmless(ran);
    }
}

/// The command with its standard output given away.
fn into(fuzzbox: &Fuzzbox, stdout: impl Into<Stdio>, arguments: &[&str]) -> Ran {
    let output =
        fuzzbox.command(arguments).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::new(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_full_output_is_named() {
    let fuzzbox = Fuzzbox::new();
    let json = example("json");
    assert_eq!(fuzzbox.run("run", &[&json], &["--execs", "10"]).code, 0);
    fs::write(fuzzbox.dir().join("input"), "[]").unwrap();
    let bug = example("first-bug");
    let verbs: [&[&str]; 8] = [
        &["ls"],
        &["--help"],
        &["run", &json, "--execs", "100", "--reporter", "lines"],
        &["run", &json, "--execs", "100", "--reporter", "json"],
        &["run", &json, "--execs", "100", "--reporter", "terminal"],
        &["replay", &json, "input"],
        &["inspect", &bug, "--cfg", "0"],
        &["new", "--c", "guest"],
    ];
    for arguments in verbs {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let ran = into(&fuzzbox, full, arguments);
        assert_eq!(ran.code, 3, "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains("standard output") && ran.stderr.contains("No space left"), "{ran:?}");
    }
    let ran = fuzzbox.run("run", &[&json], &["--execs", "100", "--report", "/dev/full"]);
    assert!(ran.code == 3 && ran.stderr.contains("`/dev/full`"), "{ran:?}");
}

/// A pipe that nobody reads.
fn closed_pipe() -> Stdio {
    let (_, writer) = std::io::pipe().unwrap();
    writer.into()
}

#[test]
fn a_reader_that_goes_away_ends_the_output_and_nothing_else() {
    let fuzzbox = Fuzzbox::new();
    let bug = example("first-bug");
    for reporter in ["lines", "json", "terminal", "quiet"] {
        let arguments = ["run", &bug, "--execs", "30000", "--seed", "1", "--jobs", "1", "--reporter", reporter];
        let ran = into(&fuzzbox, closed_pipe(), &arguments);
        assert_eq!((ran.code, &*ran.stderr), (1, ""), "{reporter}");
        let stats = String::from_utf8(fuzzbox.read("targets/first-bug/fuzzer_stats")).unwrap();
        assert!(stats.lines().any(|line| line.starts_with("execs_done") && line.contains("00")), "{stats}");
        let findings = fs::read_dir(fuzzbox.store().join("targets/first-bug/findings")).unwrap().count();
        assert!(findings > 0, "{reporter}: what was found is stored");
    }
    let findings = fs::read_dir(fuzzbox.store().join("targets/first-bug/findings")).unwrap();
    let id = findings.map(|entry| entry.unwrap().file_name().into_string().unwrap()).next().unwrap();
    assert_eq!(into(&fuzzbox, closed_pipe(), &["repro", &id]).code, 1);
    assert_eq!(into(&fuzzbox, closed_pipe(), &["replay", &bug, &id]).code, 1);
    for quiet in [&["ls"][..], &["show", &id], &["--help"], &["inspect", &bug]] {
        let ran = into(&fuzzbox, closed_pipe(), quiet);
        assert_eq!((ran.code, &*ran.stderr), (0, ""), "{quiet:?}");
    }
}

#[test]
fn files_without_an_end_are_read_up_to_the_limit() {
    let fuzzbox = Fuzzbox::new();
    let json = example("json");
    fs::File::create(fuzzbox.dir().join("huge")).unwrap().set_len(1 << 40).unwrap();
    for file in ["/dev/zero", "huge"] {
        for (ran, limit) in [
            (fuzzbox.run("replay", &[&json, file], &[]), "1 MiB"),
            (fuzzbox.run("shrink", &[&json, file], &["--input-bytes-max", "10"]), "10 bytes"),
            (fuzzbox.run("run", &[&json], &["--dict", file]), "16 MiB"),
        ] {
            assert_eq!(ran.code, 2, "{ran:?}");
            assert!(ran.stderr.contains(&format!("`{file}`")) && ran.stderr.contains(limit), "{ran:?}");
        }
    }
    // What a shell substitutes is a pipe.
    let piped =
        fuzzbox.command(&["replay", &json, "/dev/stdin"]).stdin(fs::File::open(&json).unwrap()).output().unwrap();
    assert_eq!(piped.status.code(), Some(0), "{piped:?}");
}

/// The command in a shell that sets limits first.
fn limited(fuzzbox: &Fuzzbox, limits: &str, arguments: &[&str]) -> Ran {
    let command = fuzzbox.command(arguments);
    let output = Command::new("sh")
        .args(["-c", &format!("{limits}; exec \"$0\" \"$@\"")])
        .arg(command.get_program())
        .args(arguments)
        .current_dir(fuzzbox.dir())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn a_limit_on_files_is_said_in_one_error() {
    for blocks in ["0", "1", "64"] {
        let fuzzbox = Fuzzbox::new();
        let arguments = ["run", &example("json"), "--execs", "100000", "--seed", "1"];
        let ran = limited(&fuzzbox, &format!("ulimit -f {blocks}"), &arguments);
        assert_eq!(ran.code, 3, "{ran:?}");
        assert!(ran.stderr.matches("error: ").count() == 1 && ran.stderr.contains("File too large"), "{ran:?}");
    }
}

#[test]
fn a_small_stack_of_the_first_thread_is_enough() {
    let fuzzbox = Fuzzbox::new();
    let bug = example("first-bug");
    let run = ["run", &bug, "--execs", "300000", "--seed", "1", "--stop-on", "first", "--jobs", "1"];
    let ran = limited(&fuzzbox, "ulimit -s 64", &run);
    assert_eq!(ran.code, 1, "{ran:?}");
    let findings = fs::read_dir(fuzzbox.store().join("targets/first-bug/findings")).unwrap();
    let id = findings.map(|entry| entry.unwrap().file_name().into_string().unwrap()).next().unwrap();
    for arguments in [&["repro", &id][..], &["replay", &bug, &id], &["shrink", &id], &["show", &id], &["run", "--help"]]
    {
        let ran = limited(&fuzzbox, "ulimit -s 64", arguments);
        assert!((0..=1).contains(&ran.code) && ran.stderr.is_empty(), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn an_input_is_shown_with_who_has_it() {
    let fuzzbox = Fuzzbox::new();
    let bug = example("first-bug");
    let run = ["--execs", "300000", "--seed", "1", "--jobs", "1", "--reporter", "json"];
    let lines = fuzzbox.run("run", &[&bug], &run).json_lines();
    let finding = &lines.last().unwrap()["findings"][0];
    let (id, input) = (finding["id"].as_str().unwrap(), finding["input"].as_str().unwrap());
    let shown = fuzzbox.run("show", &[&input[..10]], &[]);
    assert_eq!(shown.code, 0, "{shown:?}");
    let words =
        [format!("input {input}\n"), "(10 bytes)".to_owned(), format!("shows finding {} of first-bug", &id[..8])];
    assert!(words.iter().all(|word| shown.stdout.contains(word)), "{shown:?}");
    let json = fuzzbox.run("show", &[input], &["--json"]).json_lines();
    assert_eq!((json[0]["bytes"].as_u64(), &json[0]["findings"][0]), (Some(10), &finding["id"]));
    let raw = fuzzbox.command(&["show", "--raw", input]).output().unwrap().stdout;
    assert_eq!(blake3::hash(&raw).to_hex().as_str(), input);
    let of_finding = fuzzbox.run("show", &[&id[..10]], &[]);
    assert!(of_finding.stdout.starts_with(&format!("finding {id} of first-bug\n")), "{of_finding:?}");

    fuzzbox.run("export", &["out"], &[]);
    let kept = fs::read_dir(fuzzbox.dir().join("out")).unwrap().next().unwrap().unwrap().file_name();
    let shown = fuzzbox.run("show", &[kept.to_str().unwrap()], &[]);
    assert!(shown.code == 0 && shown.stdout.contains("\nin the corpus of first-bug\n"), "{shown:?}");
}

#[test]
fn what_becomes_of_imported_files_is_told_by_kind() {
    let (fuzzbox, bug) = (Fuzzbox::new(), example("first-bug"));
    let dir = fuzzbox.dir();
    let files: [(&str, &[u8]); 6] = [
        ("default/queue/id:000000,orig:a", b"SPR"),
        ("default/queue/id:000001,src:0", b"SPR"),
        ("default/crashes/id:000000,sig:06", b"SPR\x800\x000000"),
        ("default/crashes/README.txt", b"no input"),
        ("default/fuzzer_stats", b"no input"),
        ("default/hangs/id:000000", b"S"),
    ];
    for (path, bytes) in files {
        let path = dir.join("out").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    fs::write(dir.join("out/default/queue/id:000002"), [0; 100]).unwrap();
    let flags = ["--for", &bug, "--reporter", "json", "--input-bytes-max", "64"];
    let import = || fuzzbox.run("import", &["out"], &flags);
    let first = import();
    assert_eq!(first.code, 1, "{first:?}");
    assert!(first.stderr.contains("warning: skipped `out/default/queue/id:000002`"), "{first:?}");
    let imported = |ran: &Ran| ran.json_lines().into_iter().find(|line| line["event"] == "imported").unwrap();
    let counts = |files: &serde_json::Value| {
        ["new", "known", "failing", "rejected", "unreadable"].map(|key| files[key].as_u64().unwrap())
    };
    let of = imported(&first);
    assert_eq!(counts(&of["kinds"]["crashes"]), [0, 0, 1, 0, 0]);
    let [new, known, ..] = counts(&of["kinds"]["queue"]);
    assert_eq!((new + known, of["kinds"]["queue"]["unreadable"].as_u64()), (2, Some(1)));
    assert!(known >= 1, "of two equal files one is new at most");
    assert_eq!(counts(&of).iter().sum::<u64>(), 5);
    assert_eq!(first.json_lines().last().unwrap()["stopped"], "all inputs executed");
    let again = imported(&import());
    assert_eq!(counts(&again), [0, 3, 1, 0, 1]);
}
