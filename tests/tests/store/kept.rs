//! The store under everything that may happen to it: other processes, kills, damage, a full disk.

use fuzzbox::id::{FindingId, InputId, ModuleId, ObjectId};
use fuzzbox::store::{FindingRecord, Store};
use fuzzbox_tests::disk::{self, SmallDisk};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::{env, fs, thread};

const MODULE: ModuleId = ModuleId([1; 32]);
const MODULE_FILE: &[u8] = b"\0asm\x01\0\0\0";

fn record(signature: &str, input: &[u8]) -> FindingRecord {
    FindingRecord {
        v: FindingRecord::VERSION,
        id: FindingId::of(&[MODULE.0.as_slice(), input].concat()),
        target: "json".into(),
        module: MODULE,
        module_object: ObjectId::of(MODULE_FILE),
        input: InputId::of(input),
        input_bytes: input.len() as u64,
        kind: fuzzbox::outcome::FailureKind::Crash,
        signature: signature.into(),
        lineless: None,
        frames: Vec::new(),
        settings: serde_json::json!({"fuel_max": 1}),
        against_object: None,
        found_at_execs: 1,
        seed: 1,
        strategy: String::new(),
        engine: "0.1.0".into(),
        former: Vec::new(),
        drawn: None,
        said: None,
    }
}

/// What two writers with overlapping work do: step `number` of `writer`.
fn step(store: &Store, writer: u32, number: u32) -> anyhow::Result<()> {
    let own = format!("{writer} {number}").into_bytes();
    let common = format!("common {number}").into_bytes();
    store.add_module("json", MODULE, MODULE_FILE)?;
    let batch = [&own, &common].map(|bytes| (InputId::of(bytes), bytes.as_slice()));
    store.add_to_corpus("json", MODULE, &batch)?;
    // Ever better inputs for one bug, in another order for each writer, and some bugs of its own.
    let length = (number * 7 + writer * 3) % 11 + 1;
    let input = vec![b'a' + (writer % 20) as u8; length as usize];
    store.add_finding(&record("shared bug", &input), &input)?;
    store.add_finding(&record(&format!("bug {}", number % 5), &common), &common)?;
    store.target_folder("json")?.replace("fuzzer_stats", format!("writer {writer}").as_bytes())
}

/// Checks that everything that is in a store is whole.
fn check_whole(root: &Path) -> Store {
    let store = Store::open_or_create(root).unwrap();
    for target in store.targets().unwrap() {
        assert_eq!(target.damaged, 0, "{:?}", store.damaged(None));
        let loaded = store.load_corpus(&target.name, 1 << 20).unwrap();
        assert!(loaded.damaged.is_empty(), "{:?}", loaded.damaged);
    }
    for finding in store.findings(None).unwrap() {
        assert_eq!(InputId::of(&store.finding_input(&finding).unwrap()), finding.input);
        store.get(finding.module_object).unwrap();
        let dir = root.join("targets/json/findings").join(finding.id.to_string());
        assert!(fs::read_to_string(dir.join("README.md")).unwrap().contains("fuzzbox repro "));
    }
    for file in files(&root.join("objects")) {
        let shard = file.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let name = format!("{shard}{}", file.file_name().unwrap().to_str().unwrap());
        store.get(name.parse().unwrap()).unwrap();
    }
    store
}

/// All files below a directory, sorted.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

/// Starts this test program again as a writer. It prints a line after every step.
fn writer(root: &Path, number: u32, steps: u32) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "kept::a_writer_for_the_other_tests", "--nocapture"])
        .env("FUZZBOX_TEST_STORE", root)
        .env("FUZZBOX_TEST_WRITER", format!("{number} {steps}"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn a_writer_for_the_other_tests() {
    let (Ok(root), Ok(work)) = (env::var("FUZZBOX_TEST_STORE"), env::var("FUZZBOX_TEST_WRITER")) else { return };
    let (number, steps) = work.split_once(' ').unwrap();
    let store = Store::open_or_create(Path::new(&root)).unwrap();
    for done in 0..steps.parse().unwrap() {
        step(&store, number.parse().unwrap(), done).unwrap();
        println!("step {done}");
    }
}

/// The content that any number of writers of `steps` steps must leave.
fn check_complete(store: &Store, writers: u32, steps: u32) {
    assert_eq!(store.corpus("json").unwrap().len() as u32, (writers + 1) * steps);
    assert_eq!(store.modules("json").unwrap().len(), 1);
    let findings = store.findings(Some("json")).unwrap();
    let signatures: BTreeSet<_> = findings.iter().map(|finding| finding.signature.as_str()).collect();
    assert_eq!((findings.len(), signatures.len()), (6, 6), "{signatures:?}");
    let best =
        (0..writers).flat_map(|writer| (0..steps).map(move |number| (writer, (number * 7 + writer * 3) % 11 + 1)));
    let (length, writer) = best.map(|(writer, length)| (length, writer)).min().unwrap();
    let shared = findings.iter().find(|finding| finding.signature == "shared bug").unwrap();
    assert_eq!(store.finding_input(shared).unwrap(), vec![b'a' + writer as u8; length as usize]);
    let stats = fs::read_to_string(store.target_folder("json").unwrap().path("fuzzer_stats")).unwrap();
    assert!(stats.starts_with("writer ") && stats.len() == 8, "{stats}");
}

#[test]
fn processes_and_threads_that_share_a_store_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let steps = 25;
    // They race for making the store, too.
    let processes: Vec<Child> = (0..2).map(|number| writer(&root, number, steps)).collect();
    thread::scope(|scope| {
        let shared = Store::open_or_create(&root).unwrap();
        for number in 2..4 {
            let (root, shared) = (&root, shared.clone());
            scope.spawn(move || {
                // One thread shares a handle with another, the next opens its own.
                let store = if number == 2 { shared } else { Store::open_or_create(root).unwrap() };
                (0..steps).for_each(|done| step(&store, number, done).unwrap());
            });
        }
    });
    for process in processes {
        assert!(process.wait_with_output().unwrap().status.success());
    }
    check_complete(&check_whole(&root), 4, steps);
    assert_eq!(fs::read_dir(root.join("tmp")).unwrap().count(), 0);
}

#[test]
fn a_kill_at_any_moment_leaves_a_valid_store() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let steps = 12;
    for round in 0..steps {
        let mut process = writer(&root, 0, steps);
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        // Killed while it works on the step after this one, wherever in it that happens to be.
        let marker = format!("step {round}");
        while lines.next().is_some_and(|line| line.unwrap() != marker) {}
        process.kill().unwrap();
        process.wait().unwrap();
        let store = check_whole(&root);
        assert!(store.corpus("json").unwrap().len() as u32 >= 2 * (round + 1), "what was finished is there");
        // Only the check's own directory is left.
        assert!(fs::read_dir(root.join("tmp")).unwrap().count() <= 1);
    }
    assert!(writer(&root, 0, steps).wait_with_output().unwrap().status.success());
    check_complete(&check_whole(&root), 1, steps);
}

/// The same at every moment there is: before each system call that changes files, in turn.
#[test]
#[ignore = "needs strace; run it when the order of writes changes"]
fn a_kill_before_any_system_call_leaves_a_valid_store() {
    let dir = tempfile::tempdir().unwrap();
    let steps = 5;
    let mut kills = 0;
    // strace counts each call on its own.
    for call in [
        "openat",
        "write",
        "rename",
        "renameat",
        "mkdir",
        "mkdirat",
        "unlink",
        "unlinkat",
        "rmdir",
        "fsync",
        "fdatasync",
        "flock",
    ] {
        for kill_at in 1.. {
            let root = dir.path().join(format!("{call} {kill_at}"));
            let status = Command::new("strace")
                .args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}")])
                .args(["-e", &format!("inject={call}:signal=KILL:when={kill_at}")])
                .arg(env::current_exe().unwrap())
                .args(["--exact", "kept::a_writer_for_the_other_tests"])
                .env("FUZZBOX_TEST_STORE", &root)
                .env("FUZZBOX_TEST_WRITER", format!("0 {steps}"))
                .stdout(Stdio::null())
                .status()
                .unwrap();
            let store = check_whole(&root);
            (0..steps).for_each(|number| step(&store, 0, number).unwrap());
            check_complete(&check_whole(&root), 1, steps);
            fs::remove_dir_all(&root).unwrap();
            if status.success() {
                println!("{call}: {} kills", kill_at - 1);
                break;
            }
            kills += 1;
        }
    }
    assert!(kills > 100, "{kills} kills");
}

/// A store with one of everything.
fn small_store(root: &Path) -> Store {
    let store = Store::open_or_create(root).unwrap();
    repeat_all(&store).unwrap();
    store
}

fn repeat_all(store: &Store) -> anyhow::Result<()> {
    store.add_module("json", MODULE, MODULE_FILE)?;
    let batch = [&b"{}"[..], b"[1]"].map(|bytes| (InputId::of(bytes), bytes));
    store.add_to_corpus("json", MODULE, &batch)?;
    store.add_finding(&record("bug", b"{{{"), b"{{{")?;
    store.target_folder("json")?.replace("fuzzer_stats", b"stats")
}

/// Reads a damaged store in every way. What it gives is right, or an error with words in it; it never panics.
fn read_all(root: &Path) {
    let words = |error: anyhow::Error| assert!(error.to_string().len() > 10, "{error}");
    let store = match Store::open_existing(root) {
        Ok(store) => store,
        Err(error) => {
            words(error);
            return Store::open_or_create(root).map(drop).unwrap_or_else(words);
        }
    };
    store.targets().map(drop).unwrap_or_else(words);
    store.damaged(None).map(drop).unwrap_or_else(words);
    for bytes in [MODULE_FILE, b"{}", b"[1]", b"{{{"] {
        match store.get(ObjectId::of(bytes)) {
            Ok(got) => assert_eq!(got, bytes),
            Err(error) => words(error),
        }
        store.resolve(&ObjectId::of(bytes).to_string()[..8]).map(drop).unwrap_or_else(words);
    }
    match store.load_corpus("json", 1 << 20) {
        Ok(loaded) => loaded.inputs.iter().for_each(|(entry, bytes)| assert_eq!(InputId::of(bytes), entry.input)),
        Err(error) => words(error),
    }
    let finding = record("bug", b"{{{");
    for found in store.findings(None).unwrap_or_default() {
        assert_eq!(found, finding);
    }
    match store.finding("json", finding.id) {
        Ok(found) => assert_eq!(found, finding),
        Err(error) => words(error),
    }
    match store.finding_input(&finding) {
        Ok(bytes) => assert_eq!(bytes, b"{{{"),
        Err(error) => words(error),
    }
    let out = tempfile::tempdir().unwrap();
    store.export("json", out.path(), true).map(drop).unwrap_or_else(words);
}

/// Running again after some damage: everything is there, unless an error says what stands in the way.
fn repair(root: &Path) {
    let store = match Store::open_or_create(root) {
        Ok(store) => store,
        Err(error) => return assert!(error.to_string().contains(root.to_str().unwrap()), "{error:#}"),
    };
    if let Err(error) = repeat_all(&store) {
        return assert!(format!("{error:#}").contains(root.to_str().unwrap()), "{error:#}");
    }
    for bytes in [MODULE_FILE, b"{}", b"[1]", b"{{{"] {
        assert_eq!(store.get(ObjectId::of(bytes)).unwrap(), bytes);
    }
    assert_eq!(store.findings(None).unwrap(), [record("bug", b"{{{")]);
    let corpus: BTreeSet<InputId> = store.corpus("json").unwrap().iter().map(|entry| entry.input).collect();
    assert!([&b"{}"[..], b"[1]"].iter().all(|bytes| corpus.contains(&InputId::of(bytes))));
    assert_eq!(fs::read(store.target_folder("json").unwrap().path("fuzzer_stats")).unwrap(), b"stats");
}

/// Copies a store.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    disk::copy(from, to).unwrap();
}

/// Replaces a file, whatever its mode.
fn overwrite(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn damage_of_any_file_is_an_error_or_harmless_and_never_a_wrong_answer() {
    let dir = tempfile::tempdir().unwrap();
    let original = dir.path().join("original");
    drop(small_store(&original));
    let all = files(&original);
    assert_eq!(all.len(), 12, "{all:?}");
    for (number, file) in all.iter().map(|file| file.strip_prefix(&original).unwrap()).enumerate() {
        let root = dir.path().join(number.to_string());
        copy(&original, &root);
        let path = root.join(file);
        let whole = fs::read(&path).unwrap();
        let stride = whole.len().div_ceil(48).max(1);
        for at in (0..whole.len()).step_by(stride) {
            for bit in [0x01, 0x80] {
                let mut bytes = whole.clone();
                bytes[at] ^= bit;
                overwrite(&path, &bytes);
                read_all(&root);
            }
            overwrite(&path, &whole[..at]);
            read_all(&root);
        }
        overwrite(&path, &[&whole[..], b"x"].concat());
        read_all(&root);
    }
}

#[test]
fn running_again_repairs_what_was_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let original = dir.path().join("original");
    drop(small_store(&original));
    let mut number = 0;
    type Damage = fn(&Path, &[u8]);
    let damages: [Damage; 8] = [
        |path, whole| overwrite(path, &[&whole[..whole.len() / 2], b"\x80", whole].concat()),
        |path, whole| overwrite(path, &whole[..whole.len() / 2]),
        |path, _| overwrite(path, b""),
        |path, _| fs::remove_file(path).unwrap(),
        |path, _| fs::remove_dir_all(path.parent().unwrap()).unwrap(),
        |path, _| {
            fs::remove_file(path).unwrap();
            fs::create_dir_all(path.join("full")).unwrap();
        },
        |path, _| {
            fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink("nowhere", path).unwrap();
        },
        |path, _| {
            let parent = path.parent().unwrap();
            fs::remove_dir_all(parent).unwrap();
            fs::write(parent, "a file where a directory belongs").unwrap();
        },
    ];
    for file in files(&original).iter().map(|file| file.strip_prefix(&original).unwrap()) {
        for damage in damages {
            let root = dir.path().join(format!("{number}"));
            number += 1;
            copy(&original, &root);
            let path = root.join(file);
            damage(&path, &fs::read(&path).unwrap());
            read_all(&root);
            repair(&root);
            read_all(&root);
        }
    }
}

#[test]
fn a_disk_that_fills_up_at_any_moment_leaves_a_valid_store() {
    let Some(disk) = SmallDisk::mount("a_disk_that_fills_up_at_any_moment_leaves_a_valid_store") else { return };
    let root = disk.path().join("store");
    let (mut failed, mut succeeded) = (0, 0);
    for pages in 0..24 {
        drop(fs::remove_dir_all(&root));
        let store = small_store(&root);
        let worse = record("other bug", b"long input");
        store.add_finding(&worse, b"long input").unwrap();
        disk.fill(pages);

        let module = vec![3; 9000];
        let inputs: Vec<Vec<u8>> = (0..40).map(|number| vec![b'x'; number]).collect();
        let batch: Vec<_> = inputs.iter().map(|bytes| (InputId::of(bytes), bytes.as_slice())).collect();
        let better = record("other bug", b"short");
        let work = || {
            [
                store.add_finding(&better, b"short").map(drop),
                store.add_module("json", MODULE, &module).map(drop),
                store.add_to_corpus("json", MODULE, &batch[..2]),
                store.add_to_corpus("json", MODULE, &batch),
                store.add_to_corpus("new", MODULE, &batch[..2]),
                store.target_folder("json").unwrap().replace("fuzzer_stats", &module),
            ]
        };
        for result in work() {
            match result {
                Ok(()) => succeeded += 1,
                Err(error) => {
                    failed += 1;
                    let text = format!("{error:#}");
                    assert!(text.contains(root.to_str().unwrap()) && text.contains("No space left"), "{text}");
                }
            }
        }
        let other: Vec<_> =
            store.findings(None).unwrap().into_iter().filter(|f| f.signature == worse.signature).collect();
        let ids: Vec<_> = other.iter().map(|finding| finding.id).collect();
        assert!(ids == [worse.id] || ids == [better.id], "{other:?}");
        Store::open_existing(&root).unwrap().targets().unwrap();
        if let Err(error) = Store::open_or_create(&root) {
            assert!(format!("{error:#}").contains(root.to_str().unwrap()), "{error:#}");
        }
        disk.free();
        check_whole(&root);
        for result in work() {
            result.unwrap();
        }
        assert_eq!(store.findings(None).unwrap().len(), 2);
        assert_eq!(store.load_corpus("json", 1 << 20).unwrap().inputs.len(), 42);
        check_whole(&root);
        drop(store);
        assert_eq!(fs::read_dir(root.join("tmp")).unwrap().count(), 0);
    }
    assert!(failed >= 20 && succeeded >= 20, "{failed} writes failed, {succeeded} succeeded");
}
