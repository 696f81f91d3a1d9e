//! What was learned outlives the build that taught it.

use fuzzbox::engine::Rng;
use fuzzbox_tests::command::{Fuzzbox, Ran};
use fuzzbox_tests::found::if_begins_with;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use std::{fs, thread};

/// What a build of the guest does with two words.
#[derive(Clone, Copy)]
struct Build {
    first: &'static str,
    second: &'static str,
    /// Functions before all others, which move what comes after them.
    more: usize,
}

const CRASH: &str = "unreachable";
const FIXED: &str = "(return)";
/// Both words make it fail.
const BROKEN: Build = Build { first: CRASH, second: CRASH, more: 0 };

impl Build {
    fn module(self) -> Vec<u8> {
        wat::parse_str(self.text()).unwrap()
    }

    fn text(self) -> String {
        let check = |name: &str, word: &str, then: &str| {
            format!("(func ${name} (param $data i32) (param $size i32) {})", if_begins_with(word, then))
        };
        let (first, second) = (check("first", "bug1", self.first), check("second", "bug2", self.second));
        let more: String = (0..self.more)
            .map(|number| format!("(func $more{number} (result i32) (i32.add (i32.const {number}) (i32.const 7)))"))
            .collect();
        let calls: String = (0..self.more).map(|number| format!("(drop (call $more{number}))")).collect();
        format!(
            r#"(module
                (memory (export "memory") 1)
                {more}
                {first}
                {second}
                (func $words (param $data i32) (param $size i32) {})
                (func $added {calls})
                (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
                    (if (i32.lt_u (local.get $size) (i32.const 4)) (then (return (i32.const 0))))
                    (call $first (local.get $data) (local.get $size))
                    (call $second (local.get $data) (local.get $size))
                    (call $words (local.get $data) (local.get $size))
                    (i32.const 0)))"#,
            ["ab", "cde", "xyz"].map(|word| if_begins_with(word, "nop")).join("\n"),
        )
    }

    fn write(self, fuzzbox: &Fuzzbox) {
        fs::write(fuzzbox.dir().join("t.wasm"), self.module()).unwrap();
    }
}

/// A store, and a directory with inputs that show both bugs.
fn fuzzbox() -> Fuzzbox {
    let fuzzbox = Fuzzbox::new();
    let inputs = fuzzbox.dir().join("inputs");
    fs::create_dir(&inputs).unwrap();
    for word in ["bug1", "bug2", "ab..", "cde.", "xyz.", "cdf."] {
        fs::write(inputs.join(word), word).unwrap();
    }
    fuzzbox
}

fn run(fuzzbox: &Fuzzbox, flags: &[&str]) -> Ran {
    let flags = [&["--seed", "1", "--execs", "3000", "--reporter", "json"], flags].concat();
    fuzzbox.run("run", &["t.wasm"], &flags)
}

/// The events of one kind.
pub(crate) fn events(ran: &Ran, kind: &str) -> Vec<Value> {
    ran.json_lines().into_iter().filter(|event| event["event"] == kind).collect()
}

fn done(ran: &Ran) -> Value {
    events(ran, "done").pop().unwrap_or_else(|| panic!("{ran:?}"))
}

/// What does not depend on the machine, and on how much of it was known.
pub(crate) fn found(ran: &Ran) -> [Value; 5] {
    let done = done(ran);
    ["execs", "rounds", "edges", "corpus_hash", "corpus"].map(|key| done[key].clone())
}

/// What became of which signature: `(now, begins with, id)`.
fn became(ran: &Ran) -> Vec<(String, String, String)> {
    let retraced = events(ran, "retraced").pop().unwrap_or_else(|| panic!("{ran:?}"));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let findings = retraced["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| {
            let signature = text(&finding["signature"]);
            let function = signature.split(['@', ':', ' ']).find(|part| ["first", "second"].contains(part));
            (text(&finding["now"]), function.unwrap_or(&signature).to_owned(), text(&finding["id"]))
        })
        .collect()
}

/// The findings of `ls`: state and id.
fn states(fuzzbox: &Fuzzbox, flags: &[&str]) -> BTreeSet<(String, String)> {
    let ls = fuzzbox.run("ls", &[], &[&["--json"], flags].concat());
    let lines = ls.json_lines();
    let findings = lines.iter().flat_map(|line| line["findings"].as_array().unwrap());
    findings
        .map(|finding| {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            (text(&finding["life"]["state"]), text(&finding["id"]))
        })
        .collect()
}

/// The entries of what is known of inputs.
fn results(fuzzbox: &Fuzzbox) -> Vec<PathBuf> {
    let dir = fuzzbox.user_cache().join("fuzzbox/results");
    let mut entries: Vec<_> = fs::read_dir(dir).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

#[test]
fn a_new_build_tells_what_became_of_findings_and_they_keep_their_ids() {
    let fuzzbox = fuzzbox();
    BROKEN.write(&fuzzbox);
    let first = run(&fuzzbox, &["--corpus", "inputs"]);
    assert_eq!((first.code, events(&first, "retraced").len()), (1, 0), "{first:?}");
    let known = states(&fuzzbox, &[]);
    let ids: BTreeSet<_> = known.iter().map(|(_, id)| id.clone()).collect();
    assert!(ids.len() == 2 && known.iter().all(|(state, _)| state == "open"), "{known:?}");

    // One is fixed, and everything has another place.
    let better = Build { first: FIXED, more: 3, ..BROKEN };
    better.write(&fuzzbox);
    let second = run(&fuzzbox, &["--fail-on", "new"]);
    assert_eq!((second.code, events(&second, "finding").len()), (0, 0), "{second:?}");
    let became_now = became(&second);
    let told: Vec<_> = became_now.iter().map(|(now, function, _)| (&**now, &**function)).collect();
    assert_eq!(told, [("fixed", "first"), ("still", "second")]);
    let event = &events(&second, "retraced")[0];
    assert_eq!((event["functions"].as_u64(), event["unchanged"].as_u64()), (Some(8), Some(3)), "{event}");
    let (fixed, still) = (became_now[0].2.clone(), became_now[1].2.clone());
    assert_eq!(BTreeSet::from([fixed.clone(), still.clone()]), ids);
    let ended = done(&second);
    let findings = ended["findings"].as_array().unwrap();
    assert!(findings.len() == 1 && findings[0]["id"] == *still && findings[0]["known"] == true, "{findings:?}");
    let expected = |a: &str, b: &str| BTreeSet::from([(a.to_owned(), fixed.clone()), (b.to_owned(), still.clone())]);
    assert_eq!(states(&fuzzbox, &[]), expected("fixed", "open"), "no finding is there twice");
    assert_eq!(states(&fuzzbox, &["--open"]), BTreeSet::from([("open".to_owned(), still.clone())]));
    assert_eq!(states(&fuzzbox, &["--fixed"]), BTreeSet::from([("fixed".to_owned(), fixed.clone())]));

    // The same build again: nothing is told, and what is open is.
    let again = run(&fuzzbox, &[]);
    assert_eq!((again.code, events(&again, "retraced").len()), (1, 0), "{again:?}");
    let ignored = fuzzbox.run("ignore", &[&still], &[]);
    assert_eq!(ignored.code, 0, "{ignored:?}");
    assert_eq!(states(&fuzzbox, &[]), expected("fixed", "ignored"));
    assert_eq!([run(&fuzzbox, &[]).code, run(&fuzzbox, &["--fail-on", "any"]).code], [0, 1]);
    assert_eq!(fuzzbox.run("ignore", &[&still], &["--undo"]).code, 0);

    // It comes back, as no new finding, and is news all the same.
    let worse = Build { more: 1, ..BROKEN };
    worse.write(&fuzzbox);
    let third = run(&fuzzbox, &["--fail-on", "new"]);
    let told: Vec<_> = became(&third).into_iter().map(|(now, _, id)| (now, id)).collect();
    assert_eq!(told, [("still".to_owned(), still.clone()), ("back".to_owned(), fixed.clone())], "{third:?}");
    assert_eq!((third.code, states(&fuzzbox, &[])), (1, expected("back", "open")));

    // Back and forth: each change is told, and what is known of the very build, too.
    better.write(&fuzzbox);
    let told = |ran: &Ran| -> Vec<_> { became(ran).into_iter().map(|(now, _, id)| (now, id)).collect() };
    let one = |now: &str, id: &str| (now.to_owned(), id.to_owned());
    assert_eq!(told(&run(&fuzzbox, &[])), [one("fixed", &fixed), one("still", &still)]);
    assert_eq!(events(&run(&fuzzbox, &[]), "retraced").len(), 0);
    BROKEN.write(&fuzzbox);
    let first_again = run(&fuzzbox, &["--fail-on", "new"]);
    assert_eq!((told(&first_again), first_again.code), (vec![one("still", &fixed)], 0), "it was no news there");
    assert_eq!(events(&run(&fuzzbox, &[]), "retraced").len(), 0);
    worse.write(&fuzzbox);
    let told_both: BTreeSet<_> = told(&run(&fuzzbox, &[])).into_iter().collect();
    assert_eq!((told_both, states(&fuzzbox, &[])), (expected("still", "still"), expected("open", "open")));

    // Both are closed where they fail, and stay so until another build shows them.
    for id in &ids {
        assert_eq!(fuzzbox.run("close", &[id], &[]).code, 0);
    }
    assert_eq!((run(&fuzzbox, &[]).code, states(&fuzzbox, &[])), (0, expected("closed", "closed")));
    BROKEN.write(&fuzzbox);
    assert_eq!(run(&fuzzbox, &[]).code, 0, "there they were found before they were closed");
    Build { more: 2, ..BROKEN }.write(&fuzzbox);
    assert_eq!((run(&fuzzbox, &[]).code, states(&fuzzbox, &[])), (1, expected("back", "back")));
}

#[test]
fn what_fails_in_another_way_is_said_to_and_is_a_finding_of_its_own() {
    let fuzzbox = fuzzbox();
    Build { second: FIXED, ..BROKEN }.write(&fuzzbox);
    assert_eq!(run(&fuzzbox, &["--corpus", "inputs"]).code, 1);
    let (_, id) = states(&fuzzbox, &[]).pop_first().unwrap();
    Build { first: "(drop (i32.load (i32.const -1)))", second: FIXED, more: 0 }.write(&fuzzbox);
    let ran = run(&fuzzbox, &["--fail-on", "new"]);
    let told: Vec<_> = became(&ran).into_iter().map(|(now, _, id)| (now, id)).collect();
    assert_eq!(told, [("differs".to_owned(), id)], "{ran:?}");
    assert_eq!((ran.code, events(&ran, "finding").len(), states(&fuzzbox, &["--open"]).len()), (1, 1, 2));
}

#[test]
fn what_is_known_is_not_executed_and_the_same_is_found() {
    let fuzzbox = fuzzbox();
    BROKEN.write(&fuzzbox);
    let flags = ["--corpus", "inputs"];
    assert_eq!(done(&run(&fuzzbox, &flags))["recalled"], 0);
    // Both begin with what the first one left.
    let copy = |to: &str| {
        let to = fuzzbox.dir().join(to);
        fs::create_dir(&to).unwrap();
        fuzzbox_tests::disk::copy(&fuzzbox.store(), &to).unwrap();
    };
    ["known", "unknown", "stripped"].iter().for_each(|name| copy(name));
    let known = run(&fuzzbox, &["--corpus", "inputs", "--store", "known"]);
    let recalled = done(&known)["recalled"].as_u64().unwrap();
    let start = &events(&known, "start")[0];
    assert_eq!(recalled, start["seeds"].as_u64().unwrap(), "all of them: {known:?}");
    // Names and other custom sections are no part of what executes; what is in front moves all the code.
    let module = BROKEN.module();
    let custom =
        [&module[..8], b"\0\x09\x04note1234", &fuzzbox_instrument::strip_custom_sections(&module).unwrap()[8..]];
    fs::write(fuzzbox.dir().join("t.wasm"), custom.concat()).unwrap();
    let stripped = run(&fuzzbox, &["--corpus", "inputs", "--store", "stripped"]);
    assert_eq!((done(&stripped)["recalled"].as_u64(), found(&stripped)), (Some(recalled), found(&known)));
    let ids = |ran: &Ran| -> Vec<Value> {
        done(ran)["findings"].as_array().unwrap().iter().map(|finding| finding["id"].clone()).collect()
    };
    assert_eq!(ids(&stripped), ids(&known), "places of failures are those of the file");

    BROKEN.write(&fuzzbox);
    let entries = results(&fuzzbox);
    assert_eq!(entries.len(), 1, "both have the same");
    let whole = fs::read(&entries[0]).unwrap();
    // Of another module, in its place.
    Build { more: 1, ..BROKEN }.write(&fuzzbox);
    run(&fuzzbox, &["--corpus", "inputs", "--store", "other"]);
    let other = results(&fuzzbox).into_iter().find(|entry| *entry != entries[0]).unwrap();
    let other = fs::read(other).unwrap();
    BROKEN.write(&fuzzbox);
    let mut damages: Vec<Vec<u8>> =
        vec![other, Vec::new(), whole[..whole.len() / 2].to_vec(), [&whole[..], b"x"].concat()];
    for at in [0, 31, 32, 64, 70, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        damages.push(bytes);
    }
    for (number, damaged) in damages.iter().enumerate() {
        fs::write(&entries[0], damaged).unwrap();
        let store = format!("unknown{number}");
        copy_dir(&fuzzbox.dir().join("unknown"), &fuzzbox.dir().join(&store));
        let ran = run(&fuzzbox, &["--corpus", "inputs", "--store", &store]);
        assert_eq!((done(&ran)["recalled"].as_u64(), found(&ran)), (Some(0), found(&known)), "{number}");
    }
}

#[test]
fn what_was_learned_is_kept_and_damage_of_it_costs_nothing_else() {
    let fuzzbox = fuzzbox();
    BROKEN.write(&fuzzbox);
    run(&fuzzbox, &["--corpus", "inputs"]);
    let file = fuzzbox.store().join("targets/t/learned");
    let whole = fs::read(&file).unwrap();
    // The next build takes what belongs to its functions, and leaves its own.
    Build { second: FIXED, ..BROKEN }.write(&fuzzbox);
    let before = run(&fuzzbox, &[]);
    assert!(!before.stderr.contains("what was learned"), "{before:?}");
    let carried = fs::read(&file).unwrap();
    assert_ne!(carried, whole, "it is another module's");
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let ran = run(&fuzzbox, &[]);
    assert!(ran.stderr.contains("what was learned of `t` is left out: "), "{ran:?}");
    assert_eq!(ran.code, before.code, "{ran:?}");
    let ran = run(&fuzzbox, &[]);
    assert!(!ran.stderr.contains("what was learned"), "{ran:?}");
}

#[test]
fn findings_are_exported_where_campaigns_begin_with_them() {
    let fuzzbox = fuzzbox();
    BROKEN.write(&fuzzbox);
    run(&fuzzbox, &["--corpus", "inputs"]);
    Build { second: FIXED, ..BROKEN }.write(&fuzzbox);
    run(&fuzzbox, &[]);
    let ids: BTreeSet<_> = states(&fuzzbox, &[]).into_iter().map(|(_, id)| id).collect();
    assert_eq!(states(&fuzzbox, &["--fixed"]).len(), 1, "it is exported, too");
    let regressions = fuzzbox.dir().join("regressions/t");
    let files = || -> BTreeSet<String> {
        let entries = fs::read_dir(&regressions).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    for _ in 0..2 {
        let exported = fuzzbox.run("export", &["--regressions"], &[]);
        assert!(exported.code == 0 && exported.stdout.contains("t: 2 findings in "), "{exported:?}");
        assert_eq!(files(), ids);
    }
    // Whoever checks out nothing but the repository finds them again, in the build that has them.
    fs::remove_dir_all(fuzzbox.store()).unwrap();
    BROKEN.write(&fuzzbox);
    let again = fuzzbox.run("run", &["t.wasm"], &["--seed", "1", "--execs", "3"]);
    assert_eq!((again.code, states(&fuzzbox, &[]).len()), (1, 2), "{again:?}");
    // What is ignored is nobody's regression; a directory may be named.
    let id = ids.first().unwrap();
    let id = states(&fuzzbox, &[]).into_iter().find(|(_, known)| known == id).map_or_else(|| id.clone(), |(_, id)| id);
    assert_eq!(fuzzbox.run("ignore", &[&id], &[]).code, 0);
    let exported = fuzzbox.run("export", &["elsewhere", "--regressions", "--target", "t"], &[]);
    assert!(exported.stdout.contains("t: 1 finding in elsewhere/t"), "{exported:?}");
    assert_eq!(fuzzbox.run("export", &[], &[]).code, 2, "a directory is missing");
}

pub(crate) fn copy_dir(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    fuzzbox_tests::disk::copy(from, to).unwrap();
}

#[test]
fn a_store_has_no_results_and_those_in_one_are_not_believed() {
    let fuzzbox = fuzzbox();
    BROKEN.write(&fuzzbox);
    run(&fuzzbox, &["--corpus", "inputs"]);
    let entry = &results(&fuzzbox)[0];
    let name = entry.file_name().unwrap();
    // Everything that is known lies in the store, and another user has it.
    for below in ["cache", "results", "targets/t/results"] {
        let dir = fuzzbox.store().join(below);
        fs::create_dir_all(&dir).unwrap();
        fs::copy(entry, dir.join(name)).unwrap();
    }
    fs::remove_dir_all(fuzzbox.user_cache()).unwrap();
    let ran = run(&fuzzbox, &["--corpus", "inputs"]);
    assert_eq!(done(&ran)["recalled"], 0, "{ran:?}");
    // Nor is what another user's cache has.
    let other = Fuzzbox::new();
    fs::create_dir(other.dir().join("inputs")).unwrap();
    BROKEN.write(&other);
    run(&other, &["--corpus", "inputs"]);
    let own = &results(&other)[0];
    fs::write(own, fs::read(entry).unwrap()).unwrap();
    assert_eq!(done(&run(&other, &["--corpus", "inputs"]))["recalled"], 0);
}

#[test]
fn processes_that_share_a_store_and_a_cache_lose_nothing() {
    let fuzzbox = fuzzbox();
    BROKEN.write(&fuzzbox);
    let campaign = |seed: &str| {
        let arguments = ["run", "t.wasm", "--corpus", "inputs", "--execs", "60000", "--seed", seed, "--jobs", "1"];
        fuzzbox.command(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut children = ["1", "2", "3"].map(campaign);
    while children.iter_mut().any(|child| child.try_wait().unwrap().is_none()) {
        let ls = fuzzbox.run("ls", &[], &["--json"]);
        assert!(ls.code == 0 || ls.stderr.contains("there is no store"), "{ls:?}");
        assert!(!ls.stderr.contains("warning"), "{ls:?}");
    }
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).contains("error")), (Some(1), false));
    }
    assert_eq!(states(&fuzzbox, &["--open"]).len(), 2);
    // Whoever wrote last knows what the others wrote before.
    run(&fuzzbox, &[]);
    let ran = run(&fuzzbox, &[]);
    assert_eq!(done(&ran)["recalled"], events(&ran, "start")[0]["seeds"]);
}

/// Lines of the list of inputs that a target keeps.
fn kept_inputs(fuzzbox: &Fuzzbox) -> BTreeSet<String> {
    let list = String::from_utf8(fuzzbox.read("targets/t/corpus")).unwrap();
    // A torn line is none.
    list.split_inclusive('\n').filter(|line| line.ends_with('\n')).map(str::to_owned).collect()
}

/// Kills of two processes that share a store, each time on another build; `FUZZBOX_KILLS` says how often.
#[test]
fn a_kill_at_any_moment_of_a_new_build_loses_nothing() {
    let fuzzbox = fuzzbox();
    BROKEN.write(&fuzzbox);
    run(&fuzzbox, &["--corpus", "inputs"]);
    let known = states(&fuzzbox, &[]);
    let builds =
        [Build { first: FIXED, ..BROKEN }, Build { more: 2, ..BROKEN }, Build { more: 4, first: FIXED, ..BROKEN }];
    let mut rng = Rng::of_task(7, 0, 0);
    let kills = std::env::var("FUZZBOX_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(12);
    let mut inputs = kept_inputs(&fuzzbox);
    for kill in 0..kills {
        builds[kill % builds.len()].write(&fuzzbox);
        let campaign = |seed: usize| {
            let mut command = fuzzbox.command(&["run", "t.wasm", "--seed", &seed.to_string()]);
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        for mut child in [campaign(kill), campaign(kill + kills)] {
            // Every moment will do.
            thread::sleep(Duration::from_millis(rng.below(400) as u64));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let now = kept_inputs(&fuzzbox);
        assert!(now.is_superset(&inputs), "kill {kill}: {:?}", inputs.difference(&now).next());
        inputs = now;
        let ids = |states: &BTreeSet<(String, String)>| -> BTreeSet<String> {
            states.iter().map(|(_, id)| id.clone()).collect()
        };
        assert!(ids(&states(&fuzzbox, &[])).is_superset(&ids(&known)), "kill {kill}");
    }
    Build { first: FIXED, more: 9, ..BROKEN }.write(&fuzzbox);
    let ran = run(&fuzzbox, &[]);
    assert!(!ran.stderr.contains("warning"), "{ran:?}");
    let now: BTreeSet<_> = became(&ran).into_iter().map(|(now, function, _)| (now, function)).collect();
    // Whether a verdict on an earlier build was noted depends on the kill; what is true of this one does not.
    assert!(now.contains(&("still".to_owned(), "second".to_owned())), "{now:?}");
    let ids: Vec<_> = states(&fuzzbox, &["--fixed"]).into_iter().collect();
    assert!(ids.len() == 1 && known.iter().any(|(_, id)| *id == ids[0].1), "{ids:?}");
}

#[test]
fn all_findings_are_tried_on_another_build_and_builds_are_bisected() {
    let fuzzbox = fuzzbox();
    BROKEN.write(&fuzzbox);
    run(&fuzzbox, &["--corpus", "inputs"]);
    let builds = [
        BROKEN,
        Build { more: 1, ..BROKEN },
        Build { more: 2, first: FIXED, ..BROKEN },
        Build { more: 3, first: FIXED, ..BROKEN },
        Build { more: 4, first: FIXED, ..BROKEN },
    ];
    let names: Vec<String> = (0..builds.len()).map(|number| format!("build{number}.wasm")).collect();
    for (build, name) in builds.iter().zip(&names) {
        fs::write(fuzzbox.dir().join(name), build.module()).unwrap();
    }
    let all = fuzzbox.run("repro", &[], &["--on", &names[2], "--json"]);
    let now: BTreeSet<_> = all.json_lines().iter().map(|line| line["now"].as_str().unwrap().to_owned()).collect();
    assert_eq!((all.code, now), (1, BTreeSet::from(["fixed".to_owned(), "still".to_owned()])), "{all:?}");
    let text = fuzzbox.run("repro", &[], &["--on", &names[2], "--name", "t"]);
    assert!(text.stdout.ends_with("t: 1 still there, 1 fixed\n"), "{text:?}");
    let fixed = all.json_lines().into_iter().find(|line| line["now"] == "fixed").unwrap()["id"].clone();
    let operands: Vec<&str> =
        std::iter::once(fixed.as_str().unwrap()).chain(names.iter().map(|name| &**name)).collect();
    let bisected = fuzzbox.run("bisect", &operands, &["--json"]);
    let line = &bisected.json_lines()[0];
    assert_eq!((bisected.code, &line["before"], &line["after"]), (0, &1.into(), &2.into()), "{bisected:?}");
    assert!(line["builds"].as_object().unwrap().len() <= 4, "{line}");
    let backwards: Vec<&str> = std::iter::once(operands[0]).chain(operands[1..].iter().rev().copied()).collect();
    let came = fuzzbox.run("bisect", &backwards, &[]);
    assert!(came.code == 1 && came.stdout.ends_with("it came between build2.wasm and build1.wasm\n"), "{came:?}");
}

#[test]
fn a_later_build_is_recognised_by_what_is_in_it() {
    let fuzzbox = fuzzbox();
    let large = Build { more: 8, ..BROKEN };
    large.write(&fuzzbox);
    assert_eq!(run(&fuzzbox, &["--corpus", "inputs"]).code, 1);
    let later = |name: &str, build: Build| fs::write(fuzzbox.dir().join(name), build.module()).unwrap();
    let run = |name: &str, flags: &[&str]| {
        let flags = [&["--seed", "1", "--execs", "500", "--reporter", "json"], flags].concat();
        fuzzbox.run("run", &[name], &flags)
    };
    let targets = || -> Vec<String> {
        let lines = fuzzbox.run("ls", &[], &["--json"]).json_lines();
        lines.iter().map(|line| line["target"].as_str().unwrap().to_owned()).collect()
    };
    later("new.wasm", Build { first: FIXED, ..large });
    let recognised = run("new.wasm", &[]);
    let said = "`new.wasm` looks like a later build of `t` (12 of 13 functions are unchanged): --name t ";
    assert!(recognised.stderr.contains(said) && events(&recognised, "retraced").is_empty(), "{recognised:?}");
    assert_eq!(targets(), ["new", "t"], "nothing is mixed without being asked for");
    let again = run("new.wasm", &[]);
    assert!(again.stderr.is_empty(), "it is a target of its own now: {again:?}");
    let named = run("new.wasm", &["--name", "t"]);
    let told: Vec<_> = became(&named).into_iter().map(|(now, function, _)| (now, function)).collect();
    let expected = [("fixed", "first"), ("still", "second")].map(|(now, name)| (now.to_owned(), name.to_owned()));
    assert_eq!((told, targets()), (expected.to_vec(), vec!["new".to_owned(), "t".to_owned()]), "{named:?}");
    // Another harness of the same library is another target, and so is a copy.
    let other =
        Build { second: FIXED, ..large }.text().replace("(i32.const 4)) (then (return", "(i32.const 5)) (then (return");
    fs::write(fuzzbox.dir().join("harness.wat"), other).unwrap();
    let harness = run("harness.wat", &[]);
    assert!(harness.stderr.is_empty(), "{harness:?}");
    fs::copy(fuzzbox.dir().join("new.wasm"), fuzzbox.dir().join("copy.wasm")).unwrap();
    let copy = run("copy.wasm", &[]);
    assert!(copy.stderr.is_empty() && targets() == ["copy", "harness", "new", "t"], "{copy:?}");
}
