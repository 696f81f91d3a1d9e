//! `run --grammar`: what it takes, and what it refuses.

use fuzzbox_tests::command::{Fuzzbox, example};
use std::fs;

#[test]
fn a_campaign_begins_with_texts_of_the_grammar_and_with_what_is_none() {
    let fuzzbox = Fuzzbox::new();
    let write = |path: &str, text: &str| fs::write(fuzzbox.dir().join(path), text).unwrap();
    write("list.ebnf", "list = \"[\" { number \",\" } \"]\" ; number = \"0\"..\"9\"+ ;");
    fs::create_dir(fuzzbox.dir().join("seeds")).unwrap();
    write("seeds/list", "[1,22,]");
    write("seeds/other", "{\"a\": 7}");
    let flags = ["--grammar", "list.ebnf", "--corpus", "seeds", "--execs", "500", "--seed", "1", "--reporter", "json"];
    let ran = fuzzbox.run("run", &[&example("json")], &flags);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stderr.contains("2 of the 3 inputs that the campaign begins with are no texts of the grammar"),
        "{ran:?}"
    );
    // They are stored as they are.
    let exported = fuzzbox.run("export", &["out"], &[]);
    let bytes: Vec<_> = fs::read_dir(fuzzbox.dir().join("out"))
        .unwrap_or_else(|error| panic!("{error}: {exported:?}"))
        .map(|entry| fs::read(entry.unwrap().path()).unwrap())
        .collect();
    assert!(bytes.contains(&b"[1,22,]".to_vec()) && bytes.contains(&b"{\"a\": 7}".to_vec()));
}

#[test]
fn an_import_tells_how_much_of_it_the_grammar_derives() {
    let fuzzbox = Fuzzbox::new();
    let write = |path: &str, text: &[u8]| fs::write(fuzzbox.dir().join(path), text).unwrap();
    write("list.ebnf", b"list = \"[\" { number \",\" } \"]\" ; number = \"0\"..\"9\"+ ;");
    fs::create_dir(fuzzbox.dir().join("texts")).unwrap();
    for (name, text) in [("one", &b"[1,22,]"[..]), ("none", b"[]"), ("other", b"{\"a\": 7}")] {
        write(&format!("texts/{name}"), text);
    }
    let import = |flags: &[&str]| fuzzbox.run("import", &["--for", &example("json"), "texts"], flags);
    let ran = import(&["--parse", "list.ebnf", "--reporter", "json"]);
    let imported = ran.json_lines().into_iter().find(|event| event["event"] == "imported");
    let imported = imported.unwrap_or_else(|| panic!("{ran:?}"));
    assert_eq!((imported["parsed"].as_u64(), imported["new"].as_u64().map(|new| new > 0)), (Some(2), Some(true)));
    let ran = import(&["--parse", "list.ebnf", "--reporter", "lines"]);
    assert!(ran.stdout.contains("import: 2 of 3 are texts of the grammar"), "{ran:?}");
    assert!(!import(&["--reporter", "lines"]).stdout.contains("grammar"));
    write("list.ebnf", b"list = other ;");
    let ran = import(&["--parse", "list.ebnf"]);
    assert!(ran.code == 2 && ran.stderr.contains("line 1: there is no rule `other`"), "{ran:?}");
}

#[test]
fn grammars_that_are_none_are_refused_by_file_and_line() {
    let fuzzbox = Fuzzbox::new();
    let path = fuzzbox.dir().join("g.ebnf");
    let run = |target: &str| fuzzbox.run("run", &[target], &["--grammar", "g.ebnf", "--execs", "10"]);
    for (bytes, told) in [
        (&b"a = b ;\n"[..], "error: failed to read grammar `g.ebnf`\n  caused by: line 1: there is no rule `b`"),
        (b"a = \xff ;", "error: failed to read grammar `g.ebnf`"),
        (b"", "there is no rule in it"),
    ] {
        fs::write(&path, bytes).unwrap();
        let ran = run(&example("json"));
        assert!(ran.code == 2 && ran.stderr.contains(told), "{ran:?}");
    }
    fs::write(&path, "a = \"x\" ;").unwrap();
    let draws = "(module (import \"fuzzbox_v1\" \"draw_bool\" (func $bool (param i32) (result i32))) (memory (export \"memory\") 1)
        (func (export \"fbx_p\") (drop (call $bool (i32.const 7)))))";
    fs::write(fuzzbox.dir().join("draws.wat"), draws).unwrap();
    let ran = run("draws.wat");
    assert!(ran.code == 2 && ran.stderr.contains("`draws.wat` draws what it needs: it takes no texts"), "{ran:?}");
    assert!(!fuzzbox.store().exists());
}
