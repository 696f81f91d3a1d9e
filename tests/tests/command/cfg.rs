//! `inspect --cfg` as a user types it.

use fuzzbox_tests::command::{Fuzzbox, example};
use serde_json::Value;

#[test]
fn a_function_is_drawn_by_name_and_by_index() {
    let fuzzbox = Fuzzbox::new();
    let module = example("first-bug");
    let run = |args: &[&str]| fuzzbox.run("inspect", &[&module], args);
    let json = run(&["--cfg", "draw_runs"]);
    assert_eq!(json.code, 0, "{json:?}");
    let graph: Value = serde_json::from_str(&json.stdout).unwrap();
    let (blocks, edges) = (graph["blocks"].as_array().unwrap(), graph["edges"].as_array().unwrap());
    assert!(blocks.len() > 5 && edges.len() > blocks.len(), "{json:?}");
    assert!(blocks.iter().any(|block| !block["depends_on"].as_array().unwrap().is_empty()), "{json:?}");
    let index = graph["function"].as_u64().unwrap().to_string();
    assert_eq!(run(&["--cfg", &index, "--format", "json"]).stdout, json.stdout);
    let dot = run(&["--cfg", &index, "--format", "dot"]).stdout;
    assert!(dot.starts_with("digraph \"draw_runs\" {\n") && dot.ends_with("}\n"), "{dot}");
    assert_eq!(dot.matches(" -> ").count(), edges.len() + graph["endless"].as_array().unwrap().len());
    assert_eq!(fuzzbox.run("inspect", &["missing.wasm"], &["--cfg", "0"]).code, 2);
}

#[test]
fn what_cannot_be_drawn_is_refused_by_name() {
    let fuzzbox = Fuzzbox::new();
    let module = example("first-bug");
    let cases: [(&[&str], &str); 4] = [
        (&["--cfg", "Fuzzer"], "help: like it: "),
        (&["--cfg", "no such function"], "has no function `no such function`"),
        (&["--cfg", "4000000"], "so there is none with index 4000000"),
        (&["--format", "dot"], "--cfg <FUNCTION>"),
    ];
    for (args, words) in cases {
        let ran = fuzzbox.run("inspect", &[&module], args);
        assert!(ran.code == 2 && ran.stderr.contains(words), "{args:?}: {ran:?}");
    }
}
