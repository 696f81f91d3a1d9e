//! A store that somebody else made: whatever lies in it, nothing outside of it is read, written, made or deleted, nothing waits
//! for ever, and what is wrong is said in one error.

use fuzzbox_tests::command::{Fuzzbox, Ran};
use fuzzbox_tests::disk;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use tempfile::TempDir;

const GUEST: &str = r#"(module
    (memory (export "memory") 1)
    (func (export "malloc") (param i32) (result i32) i32.const 1024)
    (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
        (if (i32.eqz (local.get 1)) (then (return (i32.const 0))))
        (if (i32.eq (i32.load8_u (local.get 0)) (i32.const 33)) (then unreachable))
        (if (i32.eq (i32.load8_u (local.get 0)) (i32.const 97)) (then (return (i32.const 0))))
        i32.const 0))"#;

/// No command takes as long, on however slow a machine.
const WATCHDOG: Duration = Duration::from_secs(300);

/// What no output and no store may hold: it is outside.
const SECRET: &str = "CANARY-7f3a";

/// How many verbs are tried.
const VERBS: usize = 12;

/// What is put in the place of a file or a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Odd {
    LinkToFile,
    LinkToDir,
    LinkToCopy,
    LinkToNothing,
    LinkToZeros,
    LinkToItself,
    Pipe,
    Dir,
    Empty,
    Foreign,
}

const ODDS: [Odd; 10] = [
    Odd::LinkToFile,
    Odd::LinkToDir,
    Odd::LinkToCopy,
    Odd::LinkToNothing,
    Odd::LinkToZeros,
    Odd::LinkToItself,
    Odd::Pipe,
    Odd::Dir,
    Odd::Empty,
    Odd::Foreign,
];

/// A directory with a store in it, and one that isn't the store's.
struct Place {
    fuzzbox: Fuzzbox,
    outside: TempDir,
    finding: String,
    input: String,
}

impl Place {
    fn new() -> Self {
        let fuzzbox = Fuzzbox::new();
        fs::write(fuzzbox.dir().join("guest.wat"), GUEST).unwrap();
        fs::write(fuzzbox.dir().join("other.wat"), GUEST.replace("1024", "2048")).unwrap();
        fs::create_dir(fuzzbox.dir().join("inputs")).unwrap();
        fs::write(fuzzbox.dir().join("inputs/one"), "!").unwrap();
        fs::write(fuzzbox.dir().join("inputs/two"), "a").unwrap();
        for guest in ["guest.wat", "other.wat"] {
            let ran = fuzzbox.run("run", &[guest], &["-n", "20", "-s", "1", "-j", "1", "--corpus", "inputs"]);
            assert_eq!(ran.code, 1, "{ran:?}");
        }
        let dirs = fs::read_dir(fuzzbox.store().join("targets/guest/findings")).unwrap();
        let [finding] = <[_; 1]>::try_from(dirs.map(|dir| dir.unwrap().file_name()).collect::<Vec<_>>()).unwrap();
        let (finding, input) = (finding.into_string().unwrap(), blake3::hash(b"!").to_string());
        for verb in [&["close", &finding][..], &["ignore", &finding]] {
            assert_eq!(fuzzbox.command(verb).output().unwrap().status.code(), Some(0));
        }
        let place = Self { fuzzbox, outside: tempfile::tempdir().unwrap(), finding, input };
        fs::rename(place.fuzzbox.store(), place.original()).unwrap();
        place
    }

    /// The store as it was made.
    fn original(&self) -> PathBuf {
        self.fuzzbox.dir().join("original")
    }

    /// Makes the store as it was, and what is outside.
    fn renew(&self) {
        for path in [self.fuzzbox.store(), self.fuzzbox.dir().join("out")] {
            drop(fs::remove_dir_all(&path));
            drop(fs::remove_file(&path));
        }
        copy(&self.original(), &self.fuzzbox.store());
        let outside = self.outside.path();
        for entry in fs::read_dir(outside).unwrap() {
            let path = entry.unwrap().path();
            fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path)).unwrap();
        }
        fs::write(outside.join("secret"), SECRET).unwrap();
        for dir in ["dir/1-0/0", "dir/findings", "dir/ab"] {
            fs::create_dir_all(outside.join(dir)).unwrap();
        }
        for file in ["secret", "1-0/secret", "1-0/0/secret", "77", "corpus", "modules", "events.jsonl", "input"] {
            fs::write(outside.join("dir").join(file), SECRET).unwrap();
        }
    }

    /// Puts something in the place of `below`; false if that can't be done here.
    fn replace(&self, below: &Path, odd: Odd) -> bool {
        let (path, outside) = (self.fuzzbox.store().join(below), self.outside.path());
        if odd == Odd::Foreign {
            return chown(&path, Some(4321), None).is_ok();
        }
        if odd == Odd::LinkToCopy {
            fs::rename(&path, outside.join("copy")).unwrap();
        } else if path.is_dir() {
            fs::remove_dir_all(&path).unwrap();
        } else {
            fs::remove_file(&path).unwrap();
        }
        match odd {
            Odd::LinkToFile => symlink(outside.join("secret"), path).unwrap(),
            Odd::LinkToDir => symlink(outside.join("dir"), path).unwrap(),
            Odd::LinkToCopy => symlink(outside.join("copy"), path).unwrap(),
            Odd::LinkToNothing => symlink(outside.join("dir/new"), path).unwrap(),
            Odd::LinkToZeros => symlink("/dev/zero", path).unwrap(),
            Odd::LinkToItself => symlink(path.file_name().unwrap(), &path).unwrap(),
            Odd::Pipe => {
                let made = Command::new("mkfifo").arg(&path).status().unwrap();
                assert!(made.success());
            }
            Odd::Dir => fs::create_dir(path).unwrap(),
            Odd::Empty => fs::write(path, "").unwrap(),
            Odd::Foreign => unreachable!(),
        }
        true
    }

    fn verbs(&self) -> [Vec<&str>; VERBS] {
        let run = ["-n", "20", "-s", "1", "-j", "1", "--corpus", "inputs"];
        [
            [&["run", "guest.wat"][..], &run].concat(),
            vec!["repro", &self.finding],
            vec!["replay", "guest.wat", &self.input],
            vec!["shrink", &self.finding, "-j", "1"],
            vec!["ls"],
            vec!["show", &self.finding],
            vec!["import", "inputs", "--for", "guest.wat"],
            vec!["export", "out", "--target", "guest", "--findings"],
            vec!["ignore", &self.finding, "--undo"],
            vec!["close", &self.finding],
            vec!["repro", "--on", "other.wat", "--name", "guest"],
            vec!["bisect", &self.finding, "guest.wat", "other.wat"],
        ]
    }

    /// Runs a command in the store as it is, and checks what must hold for any.
    fn check(&self, what: &str, arguments: &[&str]) -> Ran {
        let before = seen(self.outside.path());
        let ran = watched(self.fuzzbox.command(arguments), what);
        assert_eq!(seen(self.outside.path()), before, "{what}: something outside was touched: {ran:?}");
        assert!((0..=4).contains(&ran.code), "{what}: {ran:?}");
        let errors = ran.stderr.lines().filter(|line| line.starts_with("error:")).count();
        assert_eq!(errors, usize::from(matches!(ran.code, 2 | 3)), "{what}: one error: {ran:?}");
        assert!(!ran.stderr.contains("panicked"), "{what}: {ran:?}");
        assert!(!ran.stdout.contains(SECRET) && !ran.stderr.contains(SECRET), "{what}: {ran:?}");
        for dir in [self.fuzzbox.store(), self.fuzzbox.dir().join("out")] {
            for (path, content) in contents(&dir) {
                let holds = content.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
                assert!(!holds, "{what}: {} has what is outside", path.display());
            }
        }
        ran
    }
}

/// Runs a command; if it does not end, it is killed and the test fails.
fn watched(mut command: Command, what: &str) -> Ran {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (sender, receiver) = mpsc::channel();
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        stderr.read_to_string(&mut text).unwrap();
        text
    });
    std::thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).unwrap();
        drop(sender.send(text));
    });
    let Ok(stdout) = receiver.recv_timeout(WATCHDOG) else {
        child.kill().unwrap();
        panic!("{what}: it hangs");
    };
    let code = child.wait().unwrap().code().unwrap_or(-1);
    Ran { code, stdout, stderr: errors.join().unwrap() }
}

/// Copies a store.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    disk::copy(from, to).unwrap();
}

/// All names below a directory, with what would be different if it had been touched.
fn seen(dir: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let there = fs::symlink_metadata(&path).unwrap();
            let content = if there.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            let (inode, time) = (there.ino(), (there.mtime(), there.mtime_nsec(), there.ctime(), there.ctime_nsec()));
            found.insert(path.clone(), format!("{:o} {inode} {time:?} {}", there.mode(), blake3::hash(&content)));
            if there.is_dir() {
                dirs.push(path);
            }
        }
    }
    found
}

/// All regular files below a directory.
fn contents(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    if !fs::symlink_metadata(dir).is_ok_and(|there| there.is_dir()) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let there = fs::symlink_metadata(&path).unwrap();
        if there.is_dir() {
            found.extend(contents(&path));
        } else if there.is_file() {
            found.push((path.clone(), fs::read(path).unwrap()));
        }
    }
    found
}

/// All files and directories of a store, relative to it.
fn names(root: &Path) -> Vec<PathBuf> {
    seen(root).into_keys().map(|path| path.strip_prefix(root).unwrap().to_owned()).collect()
}

#[test]
fn whatever_lies_in_a_store_nothing_outside_of_it_is_touched() {
    // Every verb on everything, or for each thing in each place three verbs in turn.
    let all = std::env::var("FUZZBOX_FOREIGN_STORES").is_ok_and(|value| value == "all");
    let place = Place::new();
    let names = names(&place.original());
    for expected in ["format", "lock", "tmp", "objects", "targets/guest"] {
        assert!(names.contains(&PathBuf::from(expected)), "{names:?}");
    }
    for expected in ["findings", "plot_data", "verdicts", "ignored"] {
        assert!(names.contains(&Path::new("targets/guest").join(expected)), "{names:?}");
    }
    let cases: Vec<_> = names.iter().flat_map(|name| ODDS.map(|odd| (name, odd))).collect();
    let work = |part: usize| {
        let place = if part == 0 { &place } else { &Place::new() };
        let (mut refused, mut fine) = (0, 0);
        for (number, (name, odd)) in cases.iter().enumerate().filter(|(number, _)| number % 2 == part) {
            // Numbers of names and of odds have no common pattern with those of verbs: each sees each.
            let turn = number / ODDS.len() + number % ODDS.len();
            for (index, verb) in place.verbs().iter().enumerate() {
                if !all && (index + VERBS - turn % VERBS) % VERBS >= 3 && index > 0 {
                    continue;
                }
                place.renew();
                if !place.replace(name, *odd) {
                    continue;
                }
                let ran = place.check(&format!("{odd:?} as {} in {verb:?}", name.display()), verb);
                if ran.code == 3 { refused += 1 } else { fine += 1 }
            }
        }
        (refused, fine)
    };
    let (first, second) = std::thread::scope(|scope| {
        let second = scope.spawn(|| work(1));
        (work(0), second.join().unwrap())
    });
    let (refused, fine) = (first.0 + second.0, first.1 + second.1);
    assert!(refused > 100 && fine > 100, "{refused} refused, {fine} not");
}

#[test]
fn a_directory_that_leads_elsewhere_is_refused_by_its_name() {
    let place = Place::new();
    for name in [
        "tmp",
        "lock",
        "objects",
        "targets",
        "targets/guest",
        "targets/guest/findings",
        "targets/guest/corpus",
        "targets/guest/modules",
        "targets/guest/verdicts",
        "targets/guest/ignored",
        "targets/guest/events.jsonl",
        "targets/guest/plot_data",
        "targets/guest/fuzzer_stats",
    ] {
        for odd in [Odd::LinkToFile, Odd::LinkToDir, Odd::LinkToCopy, Odd::Pipe] {
            place.renew();
            place.replace(Path::new(name), odd);
            let what = format!("{odd:?} as {name}");
            let ran = place.check(&what, &place.verbs()[0]);
            assert_eq!(ran.code, 3, "{what}: {ran:?}");
            let said = format!("{}` is damaged: it is ", place.fuzzbox.store().join(name).display());
            assert!(ran.stderr.contains(&said), "{what}: {ran:?}");
        }
    }
}

#[test]
fn a_damaged_target_hides_no_other() {
    let place = Place::new();
    for name in ["targets/guest", "targets/guest/findings", "targets/guest/corpus"] {
        for odd in [Odd::LinkToDir, Odd::LinkToFile, Odd::Pipe] {
            // A pipe is no target at all.
            if (name, odd) == ("targets/guest", Odd::Pipe) {
                continue;
            }
            place.renew();
            place.replace(Path::new(name), odd);
            let what = format!("{odd:?} as {name}");
            let ran = place.check(&what, &["ls"]);
            assert_eq!(ran.code, 3, "{what}: {ran:?}");
            assert!(
                ran.stdout.starts_with("other: ") && ran.stderr.contains("failed to list target `guest`"),
                "{what}: {ran:?}"
            );
            let findings = fs::read_dir(place.fuzzbox.store().join("targets/other/findings")).unwrap();
            let other = findings.map(|entry| entry.unwrap().file_name().into_string().unwrap()).next().unwrap();
            assert_eq!(place.check(&what, &["repro", &other]).code, 1);
        }
    }
}

#[test]
fn a_store_that_is_found_is_used_only_if_it_is_a_directory_of_the_user() {
    let place = Place::new();
    place.renew();
    let (store, elsewhere) = (place.fuzzbox.store(), place.outside.path().join("store"));
    fs::rename(&store, &elsewhere).unwrap();
    symlink(&elsewhere, &store).unwrap();
    for verb in place.verbs().iter().filter(|verb| verb[0] != "replay") {
        let ran = place.check("a link as store", verb);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains("is a symbolic link\n") && ran.stderr.contains("--store"), "{ran:?}");
    }
    // Who types it means it.
    let ran = watched(place.fuzzbox.command(&["ls", "--store", ".fuzzbox"]), "a link that was typed");
    assert_eq!(ran.code, 0, "{ran:?}");

    place.renew();
    if chown(&store, Some(4321), None).is_ok() {
        let ran = place.check("somebody else's store", &["ls"]);
        assert!(ran.code == 2 && ran.stderr.contains("belongs to somebody else"), "{ran:?}");
        assert_eq!(place.check("somebody else's store", &["ls", "--store", ".fuzzbox"]).code, 0);
    }

    // Of one that is further up the user is told where it is.
    place.renew();
    let below = place.fuzzbox.dir().join("a/b");
    fs::create_dir_all(&below).unwrap();
    let mut command =
        place.fuzzbox.command(&["run", "../../guest.wat", "-n", "20", "-j", "1", "--corpus", "../../inputs"]);
    command.current_dir(&below);
    let ran = watched(command, "a store above");
    let note = format!("note: the store is `{}`\n", fs::canonicalize(&store).unwrap().display());
    // What it finds is ignored.
    assert!(ran.code == 0 && ran.stderr.matches(&note).count() == 1, "{ran:?}");
    let ran = place.check("a store here", &place.verbs()[0]);
    assert!(!ran.stderr.contains("note:"), "{ran:?}");
}

#[test]
fn seeds_beside_a_store_are_taken_and_links_among_them_are_not() {
    let place = Place::new();
    place.renew();
    let seeds = place.fuzzbox.dir().join("seeds/guest");
    fs::create_dir_all(&seeds).unwrap();
    fs::write(seeds.join("good"), "!seed").unwrap();
    symlink(place.outside.path().join("secret"), seeds.join("bad")).unwrap();
    fs::create_dir(place.fuzzbox.dir().join("regressions")).unwrap();
    symlink(place.outside.path().join("dir"), place.fuzzbox.dir().join("regressions/guest")).unwrap();
    let run = [&place.verbs()[0][..], &["--reporter", "json"]].concat();
    let seeds = |ran: &Ran| ran.json_lines()[0]["seeds"].as_u64().unwrap();
    let ran = place.check("links among seeds", &run);
    assert!(ran.stderr.contains("seeds/guest/bad`: it is a symbolic link"), "{ran:?}");
    assert!(ran.stderr.contains("regressions/guest` is damaged: it is a symbolic link"), "{ran:?}");
    let with = seeds(&ran);
    place.renew();
    fs::remove_dir_all(place.fuzzbox.dir().join("seeds")).unwrap();
    assert_eq!(seeds(&place.check("no seeds", &run)) + 1, with, "the good one is taken");
}

#[test]
fn a_finding_cannot_ask_for_more_than_can_be_typed() {
    let place = Place::new();
    let file = format!("targets/guest/findings/{}/finding.json", place.finding);
    for (from, to) in [
        ("\"fuel_max\": 2000000000", "\"fuel_max\": 18446744073709551615"),
        ("\"memory_bytes_max\": 268435456", "\"memory_bytes_max\": 281474976710656"),
        ("\"grow_heap_bytes\": 1048576", "\"grow_heap_bytes\": 4294967295"),
    ] {
        place.renew();
        let path = place.fuzzbox.store().join(&file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        let text = text.replace(from, to);
        // Whoever makes a record can seal it.
        let at = text.rfind("\"check\": \"").unwrap() + 10;
        let zeros = format!("{}{}{}", &text[..at], "0".repeat(64), &text[at + 64..]);
        let check = blake3::hash(zeros.as_bytes()).to_string();
        fs::write(&path, format!("{}{check}{}", &text[..at], &text[at + 64..])).unwrap();
        for verb in ["repro", "shrink"] {
            let ran = place.check(to, &[verb, &place.finding]);
            assert!(ran.code == 3 && ran.stderr.contains("the limit is"), "{to}: {ran:?}");
        }
        assert_eq!(place.check(to, &["ls"]).code, 0);
    }
}

#[test]
fn an_export_follows_no_link_below_the_directory_that_was_named() {
    let place = Place::new();
    place.renew();
    let out = place.fuzzbox.dir().join("out");
    fs::create_dir(&out).unwrap();
    symlink(place.outside.path().join("dir"), out.join("crashes")).unwrap();
    let input = out.join(blake3::hash(b"a").to_string());
    symlink(place.outside.path().join("dir/new"), &input).unwrap();
    let ran = place.check("links in an export", &place.verbs()[7]);
    assert!(ran.code == 3 && ran.stderr.contains("crashes` is damaged: it is a symbolic link"), "{ran:?}");
    // An input takes the place of a link of its name.
    assert!(fs::symlink_metadata(input).unwrap().is_file(), "{ran:?}");
}

#[test]
fn every_test_and_file_that_security_md_names_exists() {
    let root = fuzzbox_tests::workspace();
    let text = fs::read_to_string(root.join("SECURITY.md")).unwrap();
    let sources: String = ["tests/tests", "host/src"]
        .iter()
        .flat_map(|dir| contents(&root.join(dir)))
        .map(|(_, content)| String::from_utf8_lossy(&content).into_owned())
        .collect();
    let is_test = |name: &&str| {
        name.matches('_').count() > 1 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    let named: Vec<&str> = text.split('`').filter(is_test).collect();
    assert!(named.len() > 15, "{named:?}");
    for name in named {
        assert!(sources.contains(&format!("fn {name}()")), "there is no test `{name}`");
    }
    // And the paths, which lead to a file, a folder, or a file without its ending.
    let is_path = |word: &&str| ["tests/", "host/", "instrument/"].iter().any(|dir| word.starts_with(dir));
    let paths = text.split(|c: char| c.is_whitespace() || "(),;`|".contains(c)).map(|word| word.trim_end_matches('.'));
    let paths: Vec<&str> = paths.filter(is_path).collect();
    assert!(paths.len() > 15, "{paths:?}");
    for path in paths {
        let exists = root.join(path).exists() || root.join(format!("{path}.rs")).exists();
        assert!(exists, "there is no `{path}`");
    }
}
