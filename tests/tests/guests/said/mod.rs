//! What guests say when they fail, in twelve ways of saying it: `run` shows the message, and the call to look at is the user's own.
//!
//! `golden.txt` has what is shown, without what compilers decide. `BLESS=1` rewrites the part of it whose guests were built.

mod built;
mod words;

use built::Guest;
use fuzzbox_tests::command::Fuzzbox;
use serde_json::Value;

/// A guest, an input that makes it fail, flags, a part of the message, and where the headline is to be: function and file.
type Case = (Guest, &'static str, &'static [&'static str], &'static str, (&'static str, &'static str));

/// What `run` and then `repro` show of the finding: the message and the headline, in each form of output.
fn shown(case: &Case) -> String {
    let (guest, input, flags, message, (function, file)) = case;
    let module = guest.build().unwrap_or_else(|error| panic!("{guest:?}: {error:#}"));
    let fuzzbox = Fuzzbox::new();
    std::fs::create_dir(fuzzbox.dir().join("inputs")).unwrap();
    std::fs::write(fuzzbox.dir().join("inputs/one"), input).unwrap();
    let limits = ["--corpus", "inputs", "--execs", "300", "--seed", "1", "--jobs", "1", "--no-shrink"];
    let run = |reporter: &str, flags: &[&str]| {
        fuzzbox.run("run", &[module.to_str().unwrap()], &[&limits[..], &["--reporter", reporter][..], flags].concat())
    };
    let json = run("json", flags);
    assert_eq!(json.code, 1, "{guest:?}: {json:?}");
    let lines = json.json_lines();
    let finding = lines.iter().find(|line| line["event"] == "finding").expect("there is one");
    let at = finding["at"].as_str().unwrap_or_default();
    assert!(at.contains(function) && at.contains(file), "{guest:?}: {at}: {finding}");
    let said = &finding["said"];
    assert!(said.to_string().contains(message), "{guest:?}: {finding}");
    // People are shown the same.
    for reporter in ["terminal", "lines", "quiet"] {
        fuzzbox.delete("targets");
        let text = run(reporter, flags).stdout;
        assert!(text.contains(message), "{guest:?} by {reporter}: {text}");
        assert!(text.contains(file), "{guest:?} by {reporter}: {text}");
    }
    let id = finding["id"].as_str().unwrap();
    for verb in ["repro", "show"] {
        let text = fuzzbox.run(verb, &[&id[..8]], &[]).stdout;
        assert!(text.contains(message) && text.contains(file), "{guest:?} by {verb}: {text}");
    }
    let replayed = fuzzbox.run("replay", &[module.to_str().unwrap(), "inputs/one"], &[flags, &["--json"][..]].concat());
    assert_eq!(&replayed.json_lines()[0]["said"], said, "{guest:?}");
    let readme = String::from_utf8(fuzzbox.read(&format!("targets/{}/findings/{id}/README.md", guest.name()))).unwrap();
    assert!(readme.contains(message) && readme.contains(file), "{guest:?}: {readme}");
    format!("{}: {} in {at}\n{}", guest.name(), finding["kind"].as_str().unwrap(), words_of(said))
}

/// The message and its place, and what was written.
fn words_of(said: &Value) -> String {
    let mut text = String::new();
    for field in ["message", "file", "line", "column", "stderr", "stdout"] {
        if !said[field].is_null() {
            text.push_str(&format!("    {field} {}\n", said[field]));
        }
    }
    text
}

fn compare(cases: &[Case], part: &str) {
    let text: String = cases.iter().map(shown).collect();
    let path = fuzzbox_tests::workspace().join("tests/tests/guests/said").join(part);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(&path).unwrap(), "{part}");
}

#[test]
fn c_says_why_it_fails() {
    let own = |file| ("parse", file);
    let stubbed: &[&str] = &["--stub-imports", "trap"];
    let cases: [Case; 4] = [
        (Guest::C("assert"), "abc", &[], "size < 3 || data[0] != 'a'", own("assert.c")),
        (Guest::C("abort"), "abc", &[], "fatal: got an a", own("abort.c")),
        (Guest::Program("exit"), "abc", &["--crash-on-exit"], "bad input: an a", own("exit.c")),
        (
            Guest::Freestanding("freestanding"),
            "abc",
            stubbed,
            "data[0] != 'a'",
            ("LLVMFuzzerTestOneInput", "freestanding.c"),
        ),
    ];
    compare(&cases, "c.txt");
}

#[test]
fn rust_says_why_it_panics_where_there_is_no_stream() {
    let panics =
        |input, message, function, file| -> Case { (Guest::Rust("panics"), input, &[], message, (function, file)) };
    let own = |input, message| panics(input, message, "check", "panics.rs");
    let cases = [
        own("axx", "a literal"),
        own("bxx", "3 bytes: [120, 120]"),
        own("cxx", "called `Option::unwrap()` on a `None` value"),
        own("dxx", "five hundred of them"),
        own("exx", "index out of bounds: the len is 3 but the index is 10"),
        panics("fxx", "InvalidDigit", "number", "numbers.rs"),
        own("gxx", "removal index (is 99) should be < len (is 3)"),
        own("hxx", "in words"),
        (Guest::RustWithoutLines("panics"), "exx", &[], "the len is 3 but the index is 10", ("check", "panics.rs")),
        (Guest::Rust("throws"), "axx", &["--stub-imports", "trap"], "Error: no 97", ("parse", "throws.rs")),
    ];
    // Older ones word some messages otherwise.
    if built::is_current_rust() {
        compare(&cases, "rust.txt");
    } else {
        cases.iter().for_each(|case| drop(shown(case)));
    }
}

#[test]
#[ignore = "installs toolchains: 650 MB from PyPI and npm, and rustup's library for wasip1"]
fn other_languages_say_why_they_fail() {
    let own = |file| ("parse", file);
    let cases: [Case; 6] = [
        (Guest::Zig, "aaa", &[], "index out of bounds: index 100, len 3", own("says.zig")),
        (Guest::Go, "abc", &[], "panic: an a: a", own("main.go")),
        (Guest::AssemblyScript, "abc", &[], "no a: größer", own("says.ts")),
        (Guest::AssemblyScript, "bbc", &[], "Index out of range", ("parse", "says/parse")),
        (Guest::Cxx("terminate"), "abc", &[], "vector", own("terminate.cc")),
        (Guest::RustProgram("stderr"), "abc", &[], "the len is 3 but the index is 10", own("stderr.rs")),
    ];
    compare(&cases, "others.txt");
}
