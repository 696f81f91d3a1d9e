//! `run` and `repro` as a user types them: findings, exit codes, and the same corpus for any number of jobs.

use fuzzbox_tests::command::{Fuzzbox, example};
use serde_json::Value;

/// The last line of `--reporter json`.
fn done(lines: &[Value]) -> &Value {
    let done = lines.last().expect("there is output");
    assert_eq!(done["event"], "done");
    done
}

#[test]
fn the_readme_shows_what_happens() {
    let readme = include_str!("../../../README.md");
    let fuzzbox = Fuzzbox::new();
    let args = ["--stop-on", "first", "--seed", "1", "--reporter", "json"];
    let run = fuzzbox.run("run", &[&example("first-bug")[..]], &args);
    let lines = run.json_lines();
    let id = done(&lines)["findings"][0]["id"].as_str().unwrap();
    assert!(readme.contains(&format!("$ fuzzbox repro {}\n", &id[..8])), "the README has another finding than {id}");
    for line in fuzzbox.run("repro", &[&id[..8]], &[]).stdout.lines() {
        assert!(readme.contains(&format!("{line}\n")), "not in the README: {line}");
    }
}

/// A finding is found, and reproduced by its hash alone, in a new process, without the cache; its input's file hashes to its id.
#[test]
fn first_bug_is_found_and_reproduced_by_its_hash() {
    for seed in ["1", "2", "3", "4"] {
        let fuzzbox = Fuzzbox::new();
        let args = ["--execs", "2000000", "--seed", seed, "--stop-on", "first", "--reporter", "json"];
        let run = fuzzbox.run("run", &[&example("first-bug")[..]], &args);
        assert_eq!(run.code, 1, "{run:?}");
        let lines = run.json_lines();
        let findings = done(&lines)["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 1, "{findings:?}");
        let finding = &findings[0];
        assert_eq!(finding["kind"], "crash");
        let top = &finding["frames"][0];
        assert!(top["file"].as_str().unwrap().ends_with("first-bug.c") && top["line"].is_u64(), "{top}");

        fuzzbox.delete("cache");
        let id = finding["id"].as_str().unwrap();
        let repro = fuzzbox.run("repro", &[&id[..8]], &[]);
        assert_eq!(repro.code, 1, "{repro:?}");
        assert!(repro.stdout.contains(finding["signature"].as_str().unwrap()), "{repro:?}");
        let by_input = fuzzbox.run("repro", &[&finding["input"].as_str().unwrap()[..12]], &["--json"]);
        assert_eq!((by_input.code, &by_input.json_lines()[0]["same"]), (1, &Value::Bool(true)));

        let input = fuzzbox.read(&format!("targets/first-bug/findings/{id}/input"));
        assert_eq!(blake3::hash(&input).to_hex().as_str(), finding["input"].as_str().unwrap());
        assert_eq!(input.len() as u64, finding["input_bytes"].as_u64().unwrap());
    }
}

/// The number of workers changes nothing but the time.
#[test]
fn any_number_of_jobs_finds_the_same() {
    for (target, execs) in [("json", "100000"), ("first-bug", "60000"), ("stdin-tool", "20000")] {
        let campaign = |jobs| {
            let fuzzbox = Fuzzbox::new();
            let args = ["--execs", execs, "--seed", "7", "--reporter", "json", "--jobs", jobs];
            let lines = fuzzbox.run("run", &[&example(target)[..]], &args).json_lines();
            let done = done(&lines);
            assert_eq!(done["execs"].to_string(), execs);
            (done["corpus_hash"].clone(), done["findings"].clone(), done["edges"].clone(), done["rounds"].clone())
        };
        let one = campaign("1");
        assert_eq!(one, campaign("2"), "{target}");
        if target == "stdin-tool" {
            assert_eq!(one, campaign("5"), "{target}");
        }
    }
}

/// A second run goes on where the first stopped: nothing that was known is lost.
#[test]
fn a_second_run_begins_with_the_stored_corpus() {
    let fuzzbox = Fuzzbox::new();
    let args = ["--execs", "30000", "--seed", "1", "--reporter", "json"];
    let first = fuzzbox.run("run", &[&example("json")[..]], &args).json_lines();
    let args = ["--execs", "1", "--seed", "1", "--reporter", "json"];
    let few = fuzzbox.run("run", &[&example("json")[..]], &args).json_lines();
    assert_eq!(done(&few)["execs"], 1, "a limit on executions holds for the seeds too");
    let args = ["--execs", "2000", "--seed", "2", "--reporter", "json"];
    let second = fuzzbox.run("run", &[&example("json")[..]], &args).json_lines();
    assert!(done(&second)["edges"].as_u64() >= done(&first)["edges"].as_u64());
    assert_eq!(done(&few)["findings"], Value::Array(vec![]));
}

/// What is exported can be imported elsewhere, and shows as much there.
#[test]
fn export_and_import_keep_the_coverage() {
    let (from, to) = (Fuzzbox::new(), Fuzzbox::new());
    let args = ["--execs", "30000", "--seed", "1", "--reporter", "json"];
    let run = from.run("run", &[&example("json")[..]], &args).json_lines();
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("corpus");
    let dir = dir.to_str().unwrap();
    let store = from.store();
    assert_eq!(to.run("export", &[dir], &["--store", store.to_str().unwrap()]).code, 0);
    let import = to.run("import", &[dir], &["--for", &example("json"), "--reporter", "json"]);
    assert_eq!(import.code, 0, "{import:?}");
    let import = import.json_lines();
    assert_eq!(done(&import)["edges"], done(&run)["edges"]);
    let replay = to.run("replay", &[&example("json"), dir], &["--json"]);
    assert_eq!(replay.code, 0);
    assert_eq!(replay.json_lines().len() as u64, done(&run)["corpus"].as_u64().unwrap());
}

/// Nothing executed is not the same as nothing found.
#[test]
fn no_executions_have_an_exit_code_of_their_own() {
    let fuzzbox = Fuzzbox::new();
    let run = fuzzbox.run("run", &[&example("json")[..]], &["--execs", "0", "--reporter", "json"]);
    assert_eq!((run.code, &done(&run.json_lines())["execs"]), (4, &Value::from(0)), "{run:?}");
    std::fs::create_dir(fuzzbox.dir().join("empty")).unwrap();
    assert_eq!(fuzzbox.run("replay", &[&example("json"), "empty"], &[]).code, 4);
}

/// Before there is any input an allocator does what it does in every execution, so it is no input's fault.
#[test]
fn what_fails_in_an_allocator_on_the_empty_input_is_said_and_is_no_finding() {
    let run = |function: &str| {
        let fuzzbox = Fuzzbox::new();
        let wat = format!(
            r#"(module (memory (export "memory") 1)
            (func ${function} (param i32) (if (i32.eqz (local.get 0)) (then (drop (i32.load (i32.const 0x100000))))))
            (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
                (call ${function} (local.get 1)) (i32.const 0)))"#
        );
        std::fs::write(fuzzbox.dir().join("f.wat"), wat).unwrap();
        let run = fuzzbox.run("run", &["f.wat"], &["--execs", "2000", "--reporter", "json"]);
        let lines = run.json_lines();
        let advice = lines.iter().filter(|line| line["event"] == "advice").map(|line| line["message"].to_string());
        let advice = advice.filter(|message| message.contains("fails in the allocator")).collect::<Vec<_>>();
        (run.code, done(&lines)["findings"].as_array().unwrap().len(), advice)
    };
    let (code, findings, advice) = run("malloc");
    assert_eq!((code, findings, advice.len()), (0, 0, 1), "{advice:?}");
    assert!(advice[0].contains("in `malloc` (memory-out-of-bounds)"), "{advice:?}");
    assert_eq!(run("parse"), (1, 1, vec![]));
}
