//! Compiled code is kept in the user's cache: it is found again, it is right or not there, and it comes from nowhere else.

use fuzzbox::cache::Cache;
use fuzzbox::sandbox::{CodeCache, Executor, History, Target, Variant};
use fuzzbox::settings::Settings;
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

/// A directory for the user's caches.
fn base() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn load(base: &TempDir, settings: Settings) -> Arc<Target> {
    Arc::new(Target::load_cached(GUEST.as_bytes(), settings, &CodeCache::in_dir(base.path())).unwrap())
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

fn entries(base: &TempDir) -> Vec<PathBuf> {
    files(&base.path().join("fuzzbox/code"))
}

#[test]
fn the_second_load_compiles_nothing_and_the_same_happens() {
    let base = base();
    let (first, second) = (load(&base, Settings::default()), load(&base, Settings::default()));
    assert_eq!((first.was_cached(), second.was_cached()), (false, true));
    assert_eq!(shown(&first), shown(&second));
    assert_eq!(entries(&base).len(), 1);

    // What is rewritten in another way is another module.
    let in_variant = |target: &Arc<Target>, variant| Arc::new(target.in_variant(variant).unwrap());
    let [first, second] = [first, second].map(|target| in_variant(&target, Variant::Full));
    assert_eq!((first.was_cached(), second.was_cached()), (false, true));
    assert_eq!(shown(&first), shown(&second));
    assert_eq!(entries(&base).len(), 2);
    // Which edges are interesting differs from campaign to campaign.
    for _ in 0..2 {
        assert!(!in_variant(&first, Variant::Fast(EdgeSet::default())).was_cached());
    }
    assert_eq!(entries(&base).len(), 2);
    // And what only changes what the host does is not.
    let settings = Settings { fuel_max: 1000, input_bytes_max: 10, crash_on_exit: true, ..Settings::default() };
    assert!(load(&base, settings).was_cached());
}

#[test]
fn a_campaign_takes_the_layout_of_the_one_before_if_it_does_much_the_same() {
    let base = base();
    let target = load(&base, Settings::default());
    let past = |inputs: &[&[u8]]| History::of(&target, inputs.iter().copied()).unwrap();
    let first = past(&[b"a"]).or_cached(&target);
    assert_eq!(first, past(&[b"a"]));
    let full = |past: &History| target.in_variant_after(Variant::Full, past).unwrap();
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
    for entry in files(&base.path().join("fuzzbox/past")) {
        fs::write(&entry, [0; 40]).unwrap();
    }
    assert_eq!(past(&[b"a", b"b"]).or_cached(&target), past(&[b"a", b"b"]));
}

#[test]
fn another_module_has_another_entry() {
    let base = base();
    load(&base, Settings::default());
    for (from, to) in [("i32.const 33", "i32.const 34"), ("1024", "1025"), ("memory\") 1", "memory\") 2")] {
        let text = GUEST.replace(from, to);
        assert_ne!(text, GUEST);
        let load =
            || Target::load_cached(text.as_bytes(), Settings::default(), &CodeCache::in_dir(base.path())).unwrap();
        assert!(!load().was_cached(), "{to}");
        assert!(load().was_cached(), "{to}");
    }
}

#[test]
fn code_that_was_changed_is_compiled_again() {
    let base = base();
    let expected = shown(&load(&base, Settings::default()));
    let [entry] = entries(&base).try_into().unwrap();
    let whole = fs::read(&entry).unwrap();
    let mut tried = 0;
    for at in (0..whole.len()).step_by(100) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&entry, bytes).unwrap();
        let target = load(&base, Settings::default());
        assert!(!target.was_cached(), "byte {at}");
        assert_eq!(shown(&target), expected, "byte {at}");
        // And it is put right.
        assert_eq!(fs::read(&entry).unwrap(), whole, "byte {at}");
        tried += 1;
    }
    assert!(tried > 50, "an entry of {} bytes", whole.len());
    for length in [0, 31, 32, 33, whole.len() / 2, whole.len() - 1] {
        fs::write(&entry, &whole[..length]).unwrap();
        assert!(!load(&base, Settings::default()).was_cached(), "{length} bytes");
    }
    assert!(load(&base, Settings::default()).was_cached());
}

#[test]
fn whole_entries_of_other_content_are_none() {
    let base = base();
    let expected = shown(&load(&base, Settings::default()));
    let [entry] = entries(&base).try_into().unwrap();
    let key = *blake3::Hash::from_hex(name(&entry)).unwrap().as_bytes();
    for content in [&b""[..], b"\x7fELF", &[0; 5000]] {
        Cache::in_dir(base.path()).unwrap().put("code", &key, content).unwrap();
        let target = load(&base, Settings::default());
        assert!(!target.was_cached());
        assert_eq!(shown(&target), expected);
    }
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

#[test]
fn the_cache_may_vanish_or_be_closed() {
    let base = base();
    let cache = base.path().join("fuzzbox");
    let target = load(&base, Settings::default());
    let expected = shown(&target);
    fs::remove_dir_all(&cache).unwrap();
    assert!(!load(&base, Settings::default()).was_cached());
    assert!(load(&base, Settings::default()).was_cached());
    // Nothing can be written where a file is in the way.
    fs::remove_dir_all(&cache).unwrap();
    fs::write(&cache, "").unwrap();
    for _ in 0..2 {
        let target = load(&base, Settings::default());
        assert!(!target.was_cached());
        assert_eq!(shown(&target), expected);
    }
}

#[test]
fn code_that_others_may_read_or_write_is_not_run() {
    let base = base();
    load(&base, Settings::default());
    let [entry] = entries(&base).try_into().unwrap();
    for mode in [0o620, 0o604] {
        fs::set_permissions(&entry, fs::Permissions::from_mode(mode)).unwrap();
        assert!(!load(&base, Settings::default()).was_cached());
        assert!(load(&base, Settings::default()).was_cached());
    }
}

#[test]
fn several_at_once_disturb_nobody() {
    let base = base();
    let expected = shown(&load(&base, Settings::default()));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (base, expected) = (&base, &expected);
            scope.spawn(move || {
                for round in 0..8 {
                    assert_eq!(shown(&load(base, Settings::default())), *expected);
                    if (thread + round) % 4 == 0 {
                        drop(fs::remove_dir_all(base.path().join("fuzzbox")));
                    }
                }
            });
        }
    });
}

/// The entry of `GUEST` in a cache, with the machine code of another module in its place: `!` is no crash there.
fn other_code(entry: &Path) -> Vec<u8> {
    let other = base();
    let text = GUEST.replace("i32.const 33", "i32.const 34");
    Target::load_cached(text.as_bytes(), Settings::default(), &CodeCache::in_dir(other.path())).unwrap();
    let [compiled] = entries(&other).try_into().unwrap();
    let code = fs::read(compiled).unwrap().split_off(32);
    // As it was before there was a secret: over the name, the kind and the content.
    let key = blake3::Hash::from_hex(name(entry)).unwrap();
    let mut hasher = blake3::Hasher::new();
    hasher.update(key.as_bytes()).update(&[4]).update(b"code").update(&code);
    [&hasher.finalize().as_bytes()[..], &code].concat()
}

#[test]
fn forged_code_is_not_executed_wherever_it_lies() {
    let fuzzbox = Fuzzbox::new();
    fs::write(fuzzbox.dir().join("guest.wat"), GUEST).unwrap();
    fs::create_dir(fuzzbox.dir().join("inputs")).unwrap();
    fs::write(fuzzbox.dir().join("inputs/one"), "!").unwrap();
    let run = || fuzzbox.run("run", &["guest.wat"], &["--execs", "10", "--jobs", "1", "--corpus", "inputs"]);
    assert_eq!(run().code, 1, "`!` is a crash");
    let kept = || {
        let mut kept = files(&fuzzbox.user_cache().join("fuzzbox/code"));
        // The campaign may have ended while code was being written.
        kept.retain(|path| blake3::Hash::from_hex(name(path)).is_ok());
        kept
    };
    let findings = files(&fuzzbox.store().join("targets/guest/findings"));
    let finding = name(findings[0].parent().unwrap());
    let replay = || fuzzbox.run("replay", &["guest.wat", "inputs"], &[]);

    // All of the user's entries are replaced, in the cache itself and where stores had theirs.
    let entries = kept();
    assert!(!entries.is_empty());
    let mut in_store = Vec::new();
    for entry in &entries {
        let forged = other_code(entry);
        let shard = fuzzbox.store().join("cache/code").join(&name(entry)[..2]);
        fs::create_dir_all(&shard).unwrap();
        in_store.push(shard.join(&name(entry)[2..]));
        fs::write(in_store.last().unwrap(), &forged).unwrap();
        fs::write(entry, forged).unwrap();
    }
    let forged: Vec<_> = in_store.iter().map(|path| fs::read(path).unwrap()).collect();
    for (verb, ran) in [("replay", replay()), ("repro", fuzzbox.run("repro", &[finding], &[])), ("run", run())] {
        assert_eq!(ran.code, 1, "{verb} executes what it compiled: {ran:?}");
        for (entry, forged) in entries.iter().zip(&forged) {
            fs::write(entry, forged).unwrap();
        }
    }
    // Without a cache of the user there is none at all.
    let mut command = fuzzbox.command(&["replay", "guest.wat", "inputs"]);
    assert_eq!(command.env_remove("HOME").env_remove("XDG_CACHE_HOME").output().unwrap().status.code(), Some(1));
    for (path, bytes) in in_store.iter().zip(forged) {
        assert_eq!(fs::read(path).unwrap(), bytes, "what is in the store is left alone");
    }
}

#[test]
fn forged_code_would_be_seen() {
    // With the secret it is executed: then `!` is none, and the test above can fail.
    let base = base();
    let expected = shown(&load(&base, Settings::default()));
    let [entry] = entries(&base).try_into().unwrap();
    let key = *blake3::Hash::from_hex(name(&entry)).unwrap().as_bytes();
    let code = other_code(&entry).split_off(32);
    Cache::in_dir(base.path()).unwrap().put("code", &key, &code).unwrap();
    let target = load(&base, Settings::default());
    assert!(target.was_cached());
    assert_ne!(shown(&target), expected);
}

#[test]
fn a_store_has_no_code_and_every_verb_uses_the_users() {
    let fuzzbox = Fuzzbox::new();
    fs::write(fuzzbox.dir().join("guest.wat"), GUEST).unwrap();
    fs::create_dir(fuzzbox.dir().join("inputs")).unwrap();
    fs::write(fuzzbox.dir().join("inputs/one"), "!").unwrap();
    let verb = |args: &[&str]| {
        let ran = fuzzbox.run(args[0], &args[1..], &[]);
        assert!(matches!(ran.code, 0 | 1), "{ran:?}");
        ran
    };
    let cache = fuzzbox.user_cache().join("fuzzbox");
    let kept = || files(&cache.join("code")).len();
    // No store is made to keep code in.
    verb(&["replay", "guest.wat", "inputs"]);
    assert!(!fuzzbox.store().exists() && kept() > 0);
    verb(&["run", "guest.wat", "--execs", "10", "--jobs", "1", "--corpus", "inputs"]);
    let findings = files(&fuzzbox.store().join("targets/guest/findings"));
    let finding = findings.iter().find(|path| path.ends_with("finding.json")).expect("`!` is a crash");
    let finding = name(finding.parent().unwrap());
    for args in [
        &["run", "guest.wat", "--execs", "10", "--jobs", "1"][..],
        &["replay", "guest.wat", "inputs"],
        &["import", "inputs", "--for", "guest.wat"],
        &["repro", finding],
        &["shrink", finding],
    ] {
        drop(fs::remove_dir_all(&cache));
        verb(args);
        assert!(kept() > 0, "{args:?}");
        assert!(!fuzzbox.store().join("cache").exists(), "{args:?}");
    }
}
