//! Compiled code is kept in the store: it is found again, it is right or not there, and it goes nowhere.

use fuzzbox::sandbox::{CodeCache, Executor, Past, Settings, Target, Variant};
use fuzzbox::store::{Store, import_dir};
use fuzzbox_instrument::EdgeSet;
use fuzzbox_tests::command::Fuzzbox;
use fuzzbox_tests::{Shown, show};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

const GUEST: &str = r#"(module
    (memory (export "memory") 1)
    (func (export "malloc") (param i32) (result i32) i32.const 1024)
    (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
        (if (i32.eq (i32.load8_u (local.get 0)) (i32.const 33)) (then unreachable))
        i32.const 0))"#;

fn store() -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_or_create(&dir.path().join("s")).unwrap();
    (dir, store)
}

fn load(store: &Store, settings: Settings) -> Arc<Target> {
    Arc::new(Target::load_cached(GUEST.as_bytes(), settings, &CodeCache::new(store)).unwrap())
}

/// What executions show that do all there is to do.
fn shown(target: &Arc<Target>) -> Vec<Shown> {
    let mut executor = Executor::new(target).unwrap();
    [&b"a"[..], b"!"].map(|input| show(&mut executor, input)).into()
}

/// All files below `dir`.
fn files(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn entries(store: &Store) -> Vec<PathBuf> {
    files(&store.root().join("cache/code"))
}

#[test]
fn the_second_load_compiles_nothing_and_the_same_happens() {
    let (_dir, store) = store();
    let (first, second) = (load(&store, Settings::default()), load(&store, Settings::default()));
    assert_eq!((first.was_cached(), second.was_cached()), (false, true));
    assert_eq!(shown(&first), shown(&second));
    assert_eq!(entries(&store).len(), 1);

    // What is rewritten in another way is another module.
    let in_variant = |target: &Arc<Target>, variant| Arc::new(target.in_variant(variant).unwrap());
    let [first, second] = [first, second].map(|target| in_variant(&target, Variant::Full));
    assert_eq!((first.was_cached(), second.was_cached()), (false, true));
    assert_eq!(shown(&first), shown(&second));
    assert_eq!(entries(&store).len(), 2);
    // Which edges are interesting differs from campaign to campaign.
    for _ in 0..2 {
        assert!(!in_variant(&first, Variant::Fast(EdgeSet::default())).was_cached());
    }
    assert_eq!(entries(&store).len(), 2);
    // And what only changes what the host does is not.
    let settings = Settings { fuel_max: 1000, input_bytes_max: 10, crash_on_exit: true, ..Settings::default() };
    assert!(load(&store, settings).was_cached());
}

#[test]
fn a_campaign_takes_the_layout_of_the_one_before_if_it_does_much_the_same() {
    let (_dir, store) = store();
    let target = load(&store, Settings::default());
    let past = |inputs: &[&[u8]]| Past::of(&target, inputs.iter().copied()).unwrap();
    let first = past(&[b"a"]).or_cached(&target);
    assert_eq!(first, past(&[b"a"]));
    let full = |past: &Past| target.in_variant_after(Variant::Full, past).unwrap();
    assert!(!full(&first).was_cached());
    // The same edges, more often.
    let second = past(&[b"a", b"b", b"c"]).or_cached(&target);
    assert_eq!(second, first);
    assert!(full(&second).was_cached());
    // What was not done before is another layout, which is kept from now on.
    let other = past(&[b"!"]).or_cached(&target);
    assert_eq!(other, past(&[b"!"]));
    assert_eq!(past(&[b"!", b"!"]).or_cached(&target), other);
    assert_ne!(past(&[b"a"]).or_cached(&target), other);
    // A damaged entry is none.
    for entry in files(&store.root().join("cache/past")) {
        fs::set_permissions(&entry, fs::Permissions::from_mode(0o644)).unwrap();
        fs::write(&entry, [0; 40]).unwrap();
    }
    assert_eq!(past(&[b"a", b"b"]).or_cached(&target), past(&[b"a", b"b"]));
}

#[test]
fn another_module_has_another_entry() {
    let (_dir, store) = store();
    load(&store, Settings::default());
    for (from, to) in [("i32.const 33", "i32.const 34"), ("1024", "1025"), ("memory\") 1", "memory\") 2")] {
        let text = GUEST.replace(from, to);
        assert_ne!(text, GUEST);
        let load = || Target::load_cached(text.as_bytes(), Settings::default(), &CodeCache::new(&store)).unwrap();
        assert!(!load().was_cached(), "{to}");
        assert!(load().was_cached(), "{to}");
    }
}

#[test]
fn code_that_was_changed_is_compiled_again() {
    let (_dir, store) = store();
    let expected = shown(&load(&store, Settings::default()));
    let [entry] = entries(&store).try_into().unwrap();
    let whole = fs::read(&entry).unwrap();
    let mut tried = 0;
    for at in (0..whole.len()).step_by(100) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::remove_file(&entry).unwrap();
        fs::write(&entry, bytes).unwrap();
        let target = load(&store, Settings::default());
        assert!(!target.was_cached(), "byte {at}");
        assert_eq!(shown(&target), expected, "byte {at}");
        // And it is put right.
        assert_eq!(fs::read(&entry).unwrap(), whole, "byte {at}");
        tried += 1;
    }
    assert!(tried > 50, "an entry of {} bytes", whole.len());
    for length in [0, 31, 32, 33, whole.len() / 2, whole.len() - 1] {
        fs::remove_file(&entry).unwrap();
        fs::write(&entry, &whole[..length]).unwrap();
        assert!(!load(&store, Settings::default()).was_cached(), "{length} bytes");
    }
    assert!(load(&store, Settings::default()).was_cached());
}

#[test]
fn whole_entries_of_other_content_are_none() {
    let (_dir, store) = store();
    let expected = shown(&load(&store, Settings::default()));
    let [entry] = entries(&store).try_into().unwrap();
    let name = format!("{}{}", name(entry.parent().unwrap()), name(&entry));
    let key = *blake3::Hash::from_hex(name).unwrap().as_bytes();
    for content in [&b""[..], b"\x7fELF", &[0; 5000]] {
        store.cache_put("code", &key, content).unwrap();
        let target = load(&store, Settings::default());
        assert!(!target.was_cached());
        assert_eq!(shown(&target), expected);
    }
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

#[test]
fn the_cache_may_vanish_or_be_closed() {
    let (_dir, store) = store();
    let cache = store.root().join("cache");
    let target = load(&store, Settings::default());
    let expected = shown(&target);
    fs::remove_dir_all(&cache).unwrap();
    assert!(!load(&store, Settings::default()).was_cached());
    assert!(load(&store, Settings::default()).was_cached());
    // Nothing can be written where a file is in the way.
    fs::remove_dir_all(&cache).unwrap();
    fs::write(&cache, "").unwrap();
    for _ in 0..2 {
        let target = load(&store, Settings::default());
        assert!(!target.was_cached());
        assert_eq!(shown(&target), expected);
    }
}

#[test]
fn code_that_others_may_write_is_not_run() {
    let (_dir, store) = store();
    load(&store, Settings::default());
    let [entry] = entries(&store).try_into().unwrap();
    fs::set_permissions(&entry, fs::Permissions::from_mode(0o664)).unwrap();
    assert!(!load(&store, Settings::default()).was_cached());
    assert!(load(&store, Settings::default()).was_cached());
}

#[test]
fn several_at_once_disturb_nobody() {
    let (_dir, store) = store();
    let expected = shown(&load(&store, Settings::default()));
    let cache = store.root().join("cache");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (store, cache, expected) = (Store::open_existing(store.root()).unwrap(), &cache, &expected);
            scope.spawn(move || {
                for round in 0..8 {
                    assert_eq!(shown(&load(&store, Settings::default())), *expected);
                    if (thread + round) % 4 == 0 {
                        drop(fs::remove_dir_all(cache));
                    }
                }
            });
        }
    });
}

#[test]
fn code_is_neither_imported_nor_exported() {
    let (dir, store) = store();
    load(&store, Settings::default());
    let [entry] = entries(&store).try_into().unwrap();
    let exported = dir.path().join("out");
    store.export("t", &exported, true).unwrap();
    assert_eq!(files(&exported), Vec::<PathBuf>::new());
    // Another store's folder is a folder with files: inputs, whatever they are.
    let other = Store::open_or_create(&dir.path().join("other")).unwrap();
    let inputs = import_dir(store.root(), 1 << 20).unwrap().inputs;
    assert!(inputs.iter().any(|(path, _)| *path == entry));
    assert!(entries(&other).is_empty());
    assert!(!load(&other, Settings::default()).was_cached());
}

#[test]
fn every_verb_that_has_a_store_uses_it() {
    let fuzzbox = Fuzzbox::new();
    fs::write(fuzzbox.dir().join("guest.wat"), GUEST).unwrap();
    fs::create_dir(fuzzbox.dir().join("inputs")).unwrap();
    fs::write(fuzzbox.dir().join("inputs/one"), "!").unwrap();
    let verb = |args: &[&str]| {
        let ran = fuzzbox.run(args[0], &args[1..], &[]);
        assert!(matches!(ran.code, 0 | 1), "{ran:?}");
        ran
    };
    let kept = || files(&fuzzbox.store().join("cache/code")).len();
    // There is no store yet, and none is made to keep code in.
    verb(&["replay", "guest.wat", "inputs"]);
    assert!(!fuzzbox.store().exists());
    verb(&["run", "guest.wat", "--execs", "10", "--jobs", "1", "--corpus", "inputs"]);
    assert!(kept() > 0);
    let findings = files(&fuzzbox.store().join("targets/guest/findings"));
    let finding = findings.iter().find(|path| path.ends_with("finding.json")).expect("`!` is a crash");
    let finding = name(finding.parent().unwrap());
    for args in [
        &["run", "guest.wat", "--execs", "10", "--jobs", "1"][..],
        &["replay", "guest.wat", "inputs"],
        &["import", "inputs", "--for", "guest.wat"],
        &["repro", finding],
    ] {
        fuzzbox.delete("cache");
        verb(args);
        assert!(kept() > 0, "{args:?}");
    }
}
