//! Properties as entries, and what becomes of them on the command line.

use super::{IMPORTS, executors, indices, kind, module, run, settings};
use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::{Executor, Target};
use fuzzbox::settings::Settings;
use fuzzbox::stream::{Rule, decode};
use fuzzbox_tests::command::Fuzzbox;
use std::sync::Arc;

#[track_caller]
fn refused(wat: &str, settings: Settings, words: &[&str]) {
    let error = format!("{:#}", Target::load(wat.as_bytes(), settings).expect_err("it is refused"));
    for word in words {
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn the_only_property_is_the_entry() {
    let parts = "(func (export \"fbx_gen_a\")) (func (export \"fbx_check_a\") (param i32 i32))
        (func (export \"fbx_alloc\") (param i32) (result i32) (i32.const 0))";
    let one = module(&format!("(func (export \"fbx_a\")) {parts}"));
    let target = Target::load(one.as_bytes(), settings()).unwrap();
    assert_eq!(target.candidate.entry.to_string(), "fbx_a(), a property that draws its input");
    assert!(target.takes_choices());
    let two = module("(func (export \"fbx_a\")) (func (export \"fbx_b\"))");
    refused(&two, settings(), &["several properties: fbx_a, fbx_b", "--entry"]);
    let named = Settings { entry: Some("fbx_b".to_owned()), ..settings() };
    assert!(Target::load(two.as_bytes(), named).unwrap().takes_choices());
    // Any function without parameters, if the module draws.
    let other = Settings { entry: Some("other".to_owned()), ..settings() };
    assert!(Target::load(module("(func (export \"other\"))").as_bytes(), other.clone()).unwrap().takes_choices());
    assert!(!Target::load(b"(module (func (export \"other\")))", other).unwrap().takes_choices());
    let command = Target::load(module("(func (export \"_start\"))").as_bytes(), settings()).unwrap();
    assert!(command.takes_choices());
}

#[test]
fn imports_of_a_wrong_type_are_refused_by_name() {
    let wrong =
        "(module (import \"fuzzbox_v1\" \"draw_int\" (func (param i64 i64) (result i64))) (func (export \"fbx_a\")))";
    refused(
        wrong,
        settings(),
        &["fuzzbox_v1.draw_int with the type (i64, i64) -> i64, but it is (i64, i64, i64) -> i64"],
    );
    let unknown = "(module (import \"fuzzbox_v1\" \"draw_it\" (func)) (func (export \"fbx_a\")))";
    refused(unknown, settings(), &["fuzzbox_v1.draw_it"]);
}

#[test]
fn imports_can_be_called_by_reference() {
    let wat = module(
        "(type $draw (func (param i64 i64 i64) (result i64)))
        (table funcref (elem $draw_int))
        (export \"again\" (func $draw_int))
        (func (export \"fbx_any\")
            (call $keyframe (i32.const 0)
                (call_indirect (type $draw) (i64.const 0) (i64.const 100) (i64.const 50) (i32.const 0)))
            (call $keyframe (i32.const 1) (call $draw_int (i64.const 0) (i64.const 100) (i64.const 50))))",
    );
    for (variant, executor) in executors(&wat).iter_mut().enumerate() {
        let (outcome, trace, told) = run(executor, &indices(&[3, 4]), Rule::default());
        assert_eq!((outcome, told.keyframes), (Outcome::Ok, vec![(0, 52), (1, 48)]));
        assert!(variant == 1 || trace.draws.iter().map(|draw| draw.site).collect::<Vec<_>>() == [0, 2]);
    }
}

#[test]
fn imports_may_be_there_twice() {
    let again = "(import \"fuzzbox_v1\" \"draw_int\" (func $other (param i64 i64 i64) (result i64)))";
    let wat = format!(
        "(module {IMPORTS} {again}
        (func (export \"fbx_any\")
            (call $keyframe (i32.const 0) (call $draw_int (i64.const 0) (i64.const 100) (i64.const 0)))
            (call $keyframe (i32.const 1) (call $other (i64.const 0) (i64.const 100) (i64.const 0)))))"
    );
    for executor in &mut executors(&wat) {
        assert_eq!(run(executor, &indices(&[3, 4]), Rule::default()).2.keyframes, [(0, 3), (1, 4)]);
    }
}

#[test]
fn what_the_guest_says_is_the_signature() {
    let wat = module(
        "(data (i32.const 0) \"not sorted\")
        (func (export \"fbx_any\")
            (if (call $draw_bool (i32.const 9)) (then (call $fail (i32.const 0) (i32.const 10))))
            (call $reject (i32.const 4) (i32.const 6)))",
    );
    for executor in &mut executors(&wat) {
        let (outcome, _, told) = run(executor, &[], Rule::default());
        assert_eq!((outcome, told.rejected.as_deref()), (Outcome::Rejected, Some("sorted")));
        let (outcome, _, told) = run(executor, &indices(&[1]), Rule::default());
        assert_eq!((kind(&outcome), told.failed.as_deref()), ("failed", Some("not sorted")));
        assert_eq!(outcome.trap().unwrap().class.as_deref(), Some("not sorted"));
    }
}

/// Draws lists of numbers, and fails if one is sorted but for one place.
const LIST: &str = "
    (data (i32.const 0) \"almost\")
    (func (export \"fbx_list\") (local $sum i64) (local $count i32)
        (block $done
            (loop $again
                (br_if $done (i32.eqz (call $draw_more (i32.const 0) (i32.const 9) (i32.const 1024))))
                (local.set $count (i32.add (local.get $count) (i32.const 1)))
                (local.set $sum
                    (i64.add (local.get $sum) (call $draw_int (i64.const -1000) (i64.const 1000) (i64.const 0))))
                (br $again)))
        (call $note (i32.const 0) (i32.const 3))
        (if (i32.and (i64.gt_s (local.get $sum) (i64.const 700)) (i32.ge_u (local.get $count) (i32.const 2)))
            (then (call $fail (i32.const 0) (i32.const 6)))))";

#[test]
fn campaigns_find_what_properties_fail_on_and_reproduce_it() {
    let fuzzbox = Fuzzbox::new();
    let path = fuzzbox.dir().join("list.wat");
    std::fs::write(&path, module(LIST)).unwrap();
    let path = path.to_str().unwrap();
    let run =
        fuzzbox.run("run", &[path], &["--execs", "200000", "--stop-on", "first", "--reporter", "json", "--seed", "1"]);
    assert_eq!(run.code, 1, "{run:?}");
    let lines = run.json_lines();
    let finding = &lines.last().unwrap()["findings"][0];
    assert_eq!(finding["signature"], "failed: almost", "{finding}");
    let id = finding["id"].as_str().unwrap();
    let repro = fuzzbox.run("repro", &[&id[..8]], &[]);
    assert_eq!(repro.code, 1, "{repro:?}");
    let replay = fuzzbox.run("replay", &[path, finding["input"].as_str().unwrap()], &["--json"]);
    assert_eq!((replay.code, &replay.json_lines()[0]["signature"]), (1, &finding["signature"]), "{replay:?}");
    // What is stored is canonical.
    let input = fuzzbox.read(&format!("targets/list/findings/{id}/input"));
    let target = Arc::new(Target::load(module(LIST).as_bytes(), settings()).unwrap());
    let mut executor = Executor::new(&target).unwrap();
    assert_eq!(kind(&executor.run(&input).unwrap()), "failed");
    assert_eq!(executor.observation().draws().choices, decode(&input));
}

#[test]
fn executions_that_draw_too_much_and_rejected_ones_are_counted_apart() {
    let fuzzbox = Fuzzbox::new();
    let guest = module(
        "(func (export \"fbx_any\")
            (if (call $draw_bool (i32.const 0x40000000))
                (then (loop $again (drop (call $draw_bool (i32.const 9))) (br $again))))
            (call $assume (call $draw_bool (i32.const 0x40000000))))",
    );
    std::fs::write(fuzzbox.dir().join("any.wat"), guest).unwrap();
    let args = ["--execs", "2000", "--seed", "1", "--reporter", "json"];
    let done = fuzzbox.run("run", &["any.wat"], &args).json_lines().pop().unwrap();
    let count = |key: &str| done[key].as_u64().unwrap();
    assert!(count("overruns") > 0 && count("rejected") > 0, "{done}");
    assert!(count("overruns") + count("rejected") < count("execs"), "{done}");
}

#[test]
fn any_number_of_jobs_finds_the_same() {
    let campaign = |jobs| {
        let fuzzbox = Fuzzbox::new();
        std::fs::write(fuzzbox.dir().join("list.wat"), module(LIST)).unwrap();
        let args = ["--execs", "60000", "--seed", "7", "--reporter", "json", "--jobs", jobs];
        let lines = fuzzbox.run("run", &["list.wat"], &args).json_lines();
        let done = lines.last().unwrap();
        (done["corpus_hash"].clone(), done["findings"].clone(), done["edges"].clone(), done["rounds"].clone())
    };
    assert_eq!(campaign("1"), campaign("2"));
}

#[test]
fn modules_that_do_not_draw_are_rewritten_as_before() {
    let plain = |imports: &str| {
        let wat = format!("(module {imports} (memory 1) (func (export \"f\") (drop (i32.load (i32.const 0)))))");
        let options = fuzzbox_instrument::Options::full();
        fuzzbox_instrument::instrument(&wat::parse_str(wat).unwrap(), &options).unwrap()
    };
    let without = plain("");
    assert!(without.injected.stream.is_none() && without.injected.protocol_exports.is_empty());
    assert!(plain(IMPORTS).wasm.len() > without.wasm.len() + 1000);
}
