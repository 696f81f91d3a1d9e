use super::*;
use crate::failure::Said;
use crate::id::{ModuleId, ObjectId};
use crate::store::{Match, seal};
use crate::symbols::ResolvedFrame;
use std::fs;

fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_or_create(&dir.path().join("s")).unwrap();
    (dir, store)
}

pub(in crate::store) fn record(signature: &str, input: &[u8]) -> FindingRecord {
    FindingRecord {
        v: FindingRecord::VERSION,
        id: FindingId::of(&[b"id", input].concat()),
        target: "a b".into(),
        module: ModuleId([1; 32]),
        module_object: ObjectId([2; 32]),
        input: InputId::of(input),
        input_bytes: input.len() as u64,
        kind: crate::outcome::FailureKind::Crash,
        signature: signature.into(),
        lineless: None,
        frames: vec![ResolvedFrame {
            function: "parse`\n#\u{1b}[31m".into(),
            index: 3,
            offset: 77,
            file: Some("a.c".into()),
            line: Some(12),
            column: None,
        }],
        settings: serde_json::json!({"fuel_max": u64::MAX, "ratio": 0.1}),
        against_object: None,
        found_at_execs: 9,
        seed: u64::MAX,
        strategy: "quickcheck".to_owned(),
        engine: "0.1.0".into(),
        former: Vec::new(),
        drawn: None,
        said: Some(Said { stderr: "got\u{1b}[2J\n".into(), ..Said::default() }),
    }
}

#[test]
fn a_finding_is_read_back_as_it_was_written() {
    let (_dir, store) = store();
    let finding = record("s", b"boom");
    assert_eq!(store.add_finding(&finding, b"boom").unwrap(), finding.id);
    assert_eq!(store.finding("a b", finding.id).unwrap(), finding);
    assert_eq!(store.findings(None).unwrap(), std::slice::from_ref(&finding));
    assert_eq!(store.finding_input(&finding).unwrap(), b"boom");
    assert_eq!(store.get_input(finding.input).unwrap(), b"boom");
    let readme =
        fs::read_to_string(store.root().join(format!("targets/a%20b/findings/{}/README.md", finding.id))).unwrap();
    assert!(readme.contains(&format!("\n    fuzzbox repro {}\n", &finding.id.to_string()[..8])), "{readme}");
    assert!(readme.contains("\nIt says:\n\n    stderr\n      got\\u{1b}[2J\n"), "{readme}");
    assert!(readme.contains("\n    #0 parse`\\n#\\u{1b}[31m at a.c:12\n"), "{readme}");
}

#[test]
fn one_finding_per_signature_is_kept_the_smallest_in_any_order() {
    let inputs: [&[u8]; 5] = [b"cc", b"b", b"aaa", b"a", b"ab"];
    for first in 0..inputs.len() {
        let (_dir, store) = store();
        for input in inputs.iter().cycle().skip(first).take(inputs.len()) {
            let kept = store.add_finding(&record("s", input), input).unwrap();
            assert_eq!(store.findings(Some("a b")).unwrap().iter().map(|f| f.id).collect::<Vec<_>>(), [kept]);
        }
        assert_eq!(without_former(&store), [record("s", b"a")]);
        store.add_finding(&record("other", b"longer"), b"longer").unwrap();
        let mut other_module = record("s", b"other module");
        other_module.module = ModuleId([9; 32]);
        store.add_finding(&other_module, b"other module").unwrap();
        assert_eq!(store.findings(None).unwrap().len(), 3);
    }
}

/// All findings, as if they had taken no other's place.
fn without_former(store: &Store) -> Vec<FindingRecord> {
    let findings = store.findings(None).unwrap().into_iter();
    findings.map(|finding| FindingRecord { former: Vec::new(), ..finding }).collect()
}

/// A pair of numbers as a choice stream.
fn drawn(a: u64, b: u64) -> (FindingRecord, Vec<u8>) {
    let input = crate::stream::encode(&[a, b].map(crate::stream::Choice::Index));
    (FindingRecord { drawn: Some(Drawn::default()), ..record("s", &input) }, input)
}

#[test]
fn of_choice_streams_the_first_by_shortlex_is_kept_in_any_order() {
    // By their bytes, the second is the longest and the fourth the one that a person could read.
    let pairs = [(9, 5), (0, 1000), (9, 6), (41, 45), (10, 0)];
    for first in 0..pairs.len() {
        let (_dir, store) = store();
        for &(a, b) in pairs.iter().cycle().skip(first).take(pairs.len()) {
            let (record, input) = drawn(a, b);
            store.add_finding(&record, &input).unwrap();
        }
        assert_eq!(without_former(&store), [drawn(0, 1000).0]);
    }
    // A record of before there was the mark is compared as what it is.
    let (_dir, store) = store();
    let ((readable, input), (simplest, other)) = (drawn(41, 45), drawn(9, 5));
    store.add_finding(&FindingRecord { drawn: None, ..readable }, &input).unwrap();
    store.add_finding(&simplest, &other).unwrap();
    assert_eq!(without_former(&store), [simplest]);
}

#[test]
fn two_of_a_signature_left_by_a_kill_become_one() {
    let (_dir, store) = store();
    store.add_finding(&record("s", b"longer"), b"longer").unwrap();
    store.add_finding(&record("other", b"x"), b"x").unwrap();
    // A kill between writing the better one and removing the other leaves both.
    let better = record("s", b"x");
    let dir = store.root().join("targets/a%20b/findings").join(better.id.to_string());
    fs::write(dir.join("finding.json"), seal::seal(&better).unwrap()).unwrap();
    assert_eq!(store.findings(None).unwrap().len(), 2);
    assert_eq!(store.add_finding(&record("s", b"longest"), b"longest").unwrap(), better.id);
    assert_eq!(without_former(&store), [better]);
}

#[test]
fn a_damaged_finding_is_named_and_found_again_it_is_repaired() {
    let (_dir, store) = store();
    let finding = record("s", b"boom");
    store.add_finding(&finding, b"boom").unwrap();
    let dir = store.root().join("targets/a%20b/findings").join(finding.id.to_string());
    for damage in ["", "{}", "[]", "{\"v\":1}", "null"] {
        fs::write(dir.join("finding.json"), damage).unwrap();
        let error = store.finding("a b", finding.id).unwrap_err();
        assert!(error.to_string().starts_with(&format!("finding {} of a b is damaged: ", finding.id)), "{error}");
        assert_eq!(store.findings(None).unwrap(), []);
        assert_eq!(store.damaged(None).unwrap().len(), 1);
        assert_eq!(store.targets().unwrap()[0].damaged, 1);
        assert_eq!(store.add_finding(&finding, b"boom").unwrap(), finding.id);
        assert_eq!(store.findings(None).unwrap(), std::slice::from_ref(&finding));
    }
}

#[test]
fn an_id_that_was_told_leads_to_the_finding_that_took_its_place() {
    let inputs: [&[u8]; 5] = [b"cccccccc", b"bbbbbb", b"dddd", b"ee", b"f"];
    let (_dir, store) = store();
    let mut told = Vec::new();
    for input in inputs {
        // Worse ones in between change nothing.
        let worse = [input, b"worse"].concat();
        let kept = store.add_finding(&record("s", input), input).unwrap();
        assert_eq!(store.add_finding(&record("s", &worse), &worse).unwrap(), kept);
        assert_eq!(kept, record("s", input).id);
        told.push((kept, InputId::of(input)));
        let last = || InputId::of(input);
        for (id, shown) in &told {
            let by = |hash: String, input| {
                assert_eq!(
                    store.resolve(&hash[..8]).unwrap(),
                    [Match::Finding { target: "a b".into(), id: kept, input }]
                );
            };
            by(id.to_string(), last());
            by(shown.to_string(), *shown);
        }
    }
    let kept = &store.findings(None).unwrap()[0];
    assert_eq!(kept.former.iter().map(|former| (former.id, former.input)).collect::<Vec<_>>(), told[..4]);
    for former in &kept.former {
        assert_eq!(store.get_input(former.input).unwrap().len() as u64, former.input_bytes);
    }
    // One that is better and brings its own past leads to both.
    let brought = Former { id: FindingId([8; 32]), input: InputId::of(b"longest of all"), input_bytes: 14 };
    let best = FindingRecord { former: vec![brought.clone()], ..record("s", b"") };
    store.add_finding(&best, b"").unwrap();
    let former = &store.findings(None).unwrap()[0].former;
    assert_eq!((former.len(), &former[0]), (6, &brought));
    assert_eq!(store.resolve(&told[0].0.to_string()).unwrap().len(), 1);
}

#[test]
fn what_a_finding_is_goes_before_what_another_was() {
    let (_dir, store) = store();
    let mut other = record("other", b"was");
    for (record, input) in [(record("s", b"was"), b"was".as_slice()), (record("s", b"is"), b"is")] {
        store.add_finding(&record, input).unwrap();
    }
    other.id = FindingId([9; 32]);
    store.add_finding(&other, b"was").unwrap();
    let is = |id, input| Match::Finding { target: "a b".into(), id, input };
    let was = InputId::of(b"was");
    assert_eq!(store.resolve(&was.to_string()).unwrap(), [is(other.id, was)]);
    assert_eq!(
        store.resolve(&record("s", b"was").id.to_string()).unwrap(),
        [is(record("s", b"is").id, InputId::of(b"is"))]
    );
}

#[test]
fn a_finding_of_a_later_version_says_so() {
    let (_dir, store) = store();
    let finding = record("s", b"boom");
    store.add_finding(&finding, b"boom").unwrap();
    let path = store.root().join("targets/a%20b/findings").join(finding.id.to_string()).join("finding.json");
    fs::write(&path, "{\"v\": 2}").unwrap();
    let error = store.finding("a b", finding.id).unwrap_err();
    assert!(error.to_string().contains("written by a newer fuzzbox (version 2, this one reads up to 1)"), "{error}");
}

#[test]
fn a_record_under_another_name_is_damaged() {
    let (_dir, store) = store();
    let finding = record("s", b"boom");
    store.add_finding(&finding, b"boom").unwrap();
    let findings = store.root().join("targets/a%20b/findings");
    fs::rename(findings.join(finding.id.to_string()), findings.join(FindingId([3; 32]).to_string())).unwrap();
    assert!(store.finding("a b", FindingId([3; 32])).unwrap_err().to_string().contains("is damaged"));
}

#[test]
fn an_input_is_taken_from_the_object_if_the_copy_is_damaged_and_never_wrong() {
    let (_dir, store) = store();
    let finding = record("s", b"boom");
    store.add_finding(&finding, b"boom").unwrap();
    let copy = store.root().join("targets/a%20b/findings").join(finding.id.to_string()).join("input");
    fs::write(&copy, b"bomm").unwrap();
    assert_eq!(store.finding_input(&finding).unwrap(), b"boom");
    fs::remove_dir_all(store.root().join("objects")).unwrap();
    assert!(store.finding_input(&finding).unwrap_err().to_string().contains("is damaged: its bytes hash to"));
    fs::remove_file(&copy).unwrap();
    assert!(store.finding_input(&finding).unwrap_err().to_string().contains("is not in the store"));
}

#[test]
fn a_record_that_does_not_fit_its_input_is_refused() {
    let (_dir, store) = store();
    assert!(store.add_finding(&record("s", b"boom"), b"bomm").is_err());
    assert!(store.add_finding(&record("s", b"boom"), b"boo").is_err());
    assert_eq!(store.targets().unwrap(), []);
}
