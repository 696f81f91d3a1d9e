//! A finding is found again after edits of the generators that drew it: a table of edits, each made to one guest in
//! Rust.

use fuzzbox_tests::command::Fuzzbox;
use fuzzbox_tests::{cache, guests, workspace};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// An edit: its name, and what is replaced by what, wherever it stands.
type Edit = (&'static str, &'static [(&'static str, &'static str)]);

/// The edits that generators were first measured with.
const EDITS: &[Edit] = &[
    (
        "two fields swapped",
        &[
            ("    amount: u32,", "    x: u32,"),
            ("    account: u32,", "    amount: u32,"),
            ("    x: u32,", "    account: u32,"),
            (
                "let amount = source.int(0..=1000);\n    let account = source.int(0..=1000);",
                "let account = source.int(0..=1000);\n    let amount = source.int(0..=1000);",
            ),
        ],
    ),
    (
        "a field added at the end",
        &[
            ("    kind: Kind,\n}", "    kind: Kind,\n    note: u8,\n}"),
            (
                "Entry { amount, account, kind }",
                "let note = source.int(..);\n    Entry { amount, account, kind, note }",
            ),
        ],
    ),
    (
        "a field added in front",
        &[
            ("struct Entry {", "struct Entry {\n    note: u32,"),
            ("    let amount =", "    let note = source.int(..);\n    let amount ="),
            ("Entry { amount, account, kind }", "Entry { note, amount, account, kind }"),
        ],
    ),
    (
        "type and fields renamed",
        &[
            ("Entry", "Booking"),
            ("    amount: u32,", "    sum: u32,"),
            ("    account: u32,", "    number: u32,"),
            ("self.amount", "self.sum"),
            ("self.account", "self.number"),
            ("Booking { amount, account, kind }", "Booking { sum: amount, number: account, kind }"),
        ],
    ),
    (
        "bounds widened",
        &[
            ("0..=1000", "-500..=90_000"),
            ("amount: u32", "amount: i64"),
            ("account: u32", "account: i64"),
            ("-> u32", "-> i64"),
        ],
    ),
    (
        "a field wrapped in an option",
        &[
            (
                "source.int(0..=1000))]\n    amount: u32",
                "source.option(|source| source.int(0..=1000)))]\n    amount: Option<u32>",
            ),
            ("self.amount", "self.amount.unwrap_or(0)"),
            ("let amount = source.int(0..=1000)", "let amount = source.option(|source| source.int(0..=1000))"),
        ],
    ),
    (
        "a variant added in front",
        &[
            ("enum Kind {", "enum Kind {\n    Opening,"),
            ("choice(3)", "choice(4)"),
            ("0 => Kind::Deposit", "0 => Kind::Opening,\n        1 => Kind::Deposit"),
            ("1 => Kind::Withdrawal", "2 => Kind::Withdrawal"),
        ],
    ),
    (
        "variants in another order",
        &[
            (
                "    Deposit,\n    Withdrawal,\n    Transfer { fee: u16 },",
                "    Transfer { fee: u16 },\n    Withdrawal,\n    Deposit,",
            ),
            ("0 => Kind::Deposit", "0 => Kind::Transfer { fee: source.int(..) }"),
            ("_ => Kind::Transfer { fee: source.int(..) }", "_ => Kind::Deposit"),
        ],
    ),
    ("the list bounded", &[("0..=8", "0..=3")]),
    ("wider integers", &[("amount: u32", "amount: u64"), ("account: u32", "account: u64"), ("-> u32", "-> u64")]),
    (
        "a draw before everything",
        &[
            (
                "source.vec(0..=8, |source| source.draw())",
                "{\n            let _limit: u32 = source.int(..);\n            source.vec(0..=8, |source| source.draw())\n        }",
            ),
            (
                "let entries = source.vec(0..=8, entry)",
                "let _limit: u32 = source.int(..);\n        let entries = source.vec(0..=8, entry)",
            ),
        ],
    ),
    (
        "a struct made a tuple",
        &[
            ("struct Entry {", "struct Entry("),
            ("    amount: u32,", "    u32,"),
            ("    account: u32,", "    u32,"),
            ("    kind: Kind,\n}", "    Kind,\n);"),
            ("self.amount", "self.0"),
            ("self.account", "self.1"),
            ("self.kind", "self.2"),
            ("Entry { amount, account, kind }", "Entry(amount, account, kind)"),
        ],
    ),
    (
        "the list drawn by a count",
        &[
            (
                "source.vec(0..=8, |source| source.draw())",
                "{\n            let count: usize = source.int(0..=8);\n            (0..count).map(|_| source.draw()).collect()\n        }",
            ),
            (
                "let entries = source.vec(0..=8, entry)",
                "let count: usize = source.int(0..=8);\n        let entries: Vec<Entry> = (0..count).map(|_| entry(source)).collect()",
            ),
        ],
    ),
];

/// More of them.
const FURTHER: &[Edit] = &[
    (
        "a variant with a field of its own",
        &[
            ("    Withdrawal,", "    Withdrawal { note: u8 },"),
            ("Kind::Withdrawal,", "Kind::Withdrawal { note: source.int(..) },"),
        ],
    ),
    (
        "two fields put into a struct of their own",
        &[
            (
                "struct Entry {",
                "struct Entry {\n    whose: Whose,\n    kind: Kind,\n}\n\n#[derive(Clone, Debug, Generate, PartialEq, Value)]\nstruct Whose {",
            ),
            (
                "    kind: Kind,\n}\n\n#[derive(Clone, Debug, Generate, PartialEq, Value)]\nenum",
                "}\n\n#[derive(Clone, Debug, Generate, PartialEq, Value)]\nenum",
            ),
            ("self.amount", "self.whose.amount"),
            ("self.account", "self.whose.account"),
            ("Entry { amount, account, kind }", "Entry { whose: Whose { amount, account }, kind }"),
        ],
    ),
    (
        "a variant renamed, and one dropped",
        &[
            ("    Withdrawal,\n", ""),
            ("Kind::Deposit", "Kind::Income"),
            ("    Deposit,", "    Income,"),
            ("        1 => Kind::Withdrawal,\n", ""),
            ("choice(3)", "choice(2)"),
        ],
    ),
    (
        "a field moved to the end, and one added",
        &[
            (WITH_AMOUNT, ""),
            (
                "    kind: Kind,\n}",
                "    kind: Kind,\n    #[generate(with = |source| source.int(0..=1000))]\n    amount: u32,\n    more: bool,\n}",
            ),
            ("    let amount = source.int(0..=1000);\n", ""),
            (
                "    Entry { amount, account, kind }",
                "    let amount = source.int(0..=1000);\n    let more = source.bool();\n    Entry { account, kind, amount, more }",
            ),
        ],
    ),
    (
        "a variant with another field in front",
        &[
            ("    Transfer { fee: u16 }", "    Transfer { to: u32, fee: u16 }"),
            ("Kind::Transfer { fee }", "Kind::Transfer { fee, .. }"),
            ("Kind::Transfer { fee: source.int(..) }", "Kind::Transfer { to: source.int(..), fee: source.int(..) }"),
        ],
    ),
    (
        "each entry optional",
        &[
            (
                "source.vec(0..=8, |source| source.draw())",
                "source.vec(0..=8, |source| source.option(|source| source.draw())).into_iter().flatten().collect()",
            ),
            (
                "source.vec(0..=8, entry)",
                "source.vec(0..=8, |source| source.option(entry)).into_iter().flatten().collect::<Vec<_>>()",
            ),
        ],
    ),
    (
        "three draws before each entry",
        &[
            (
                "source.vec(0..=8, |source| source.draw())",
                "source.vec(0..=8, |source| {\n            let _noise: (u8, bool, u32) = source.draw();\n            source.draw()\n        })",
            ),
            (
                "    let amount = source.int(0..=1000);",
                "    let _noise: (u8, bool, u32) = source.draw();\n    let amount = source.int(0..=1000);",
            ),
        ],
    ),
    ("numbers that begin elsewhere", &[("source.int(0..=1000)", "source.int_towards(0..=1000, 500)")]),
    (
        "lists in a list",
        &[
            (
                "source.vec(0..=8, |source| source.draw())",
                "source.vec(0..=3, |source| source.vec(0..=4, |source| source.draw())).concat()",
            ),
            ("source.vec(0..=8, entry)", "source.vec(0..=3, |source| source.vec(0..=4, entry)).concat()"),
        ],
    ),
    (
        "a variant more likely than others",
        &[
            ("    Transfer { fee: u16 },", "    #[generate(weight = 5)]\n    Transfer { fee: u16 },"),
            ("source.choice(3)", "source.weighted(&[1, 1, 5])"),
        ],
    ),
    (
        "the kind drawn first",
        &[
            ("    kind: Kind,\n}", "}"),
            ("struct Entry {", "struct Entry {\n    kind: Kind,"),
            ("    let amount = source.int(0..=1000);\n    let account = source.int(0..=1000);\n", ""),
            (
                "    Entry { amount, account, kind }",
                "    let (amount, account) = (source.int(0..=1000), source.int(0..=1000));\n    Entry { amount, account, kind }",
            ),
        ],
    ),
    (
        "everything at once",
        &[
            ("enum Kind {", "enum Kind {\n    Opening { by: u8 },"),
            ("choice(3)", "choice(4)"),
            ("0 => Kind::Deposit", "0 => Kind::Opening { by: source.int(..) },\n        1 => Kind::Deposit"),
            ("1 => Kind::Withdrawal", "2 => Kind::Withdrawal"),
            ("struct Entry {", "struct Entry {\n    note: Option<u32>,"),
            ("    let amount =", "    let note = source.draw();\n    let amount ="),
            ("Entry { amount, account, kind }", "Entry { note, amount, account, kind }"),
            (
                "source.vec(0..=8, |source| source.draw())",
                "{\n            let _limit: u32 = source.int(..);\n            source.vec(0..=8, |source| source.draw())\n        }",
            ),
            (
                "let entries = source.vec(0..=8, entry)",
                "let _limit: u32 = source.int(..);\n        let entries = source.vec(0..=8, entry)",
            ),
        ],
    ),
];

const WITH_AMOUNT: &str = "    #[generate(with = |source| source.int(0..=1000))]\n    amount: u32,\n";

/// The guest with an edit, compiled.
fn built(edit: Option<&Edit>) -> PathBuf {
    // All go through one folder of cargo's.
    static BUILDING: Mutex<()> = Mutex::new(());
    let _one = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = cache().join("ledger");
    let mut source = fs::read_to_string(workspace().join("tests/guests/ledger/ledger.rs")).unwrap();
    for (from, to) in edit.iter().flat_map(|(_, replaced)| *replaced) {
        assert!(source.contains(from), "`{from}` is not there: {edit:?}");
        source = source.replace(from, to);
    }
    let name = edit.map_or_else(|| "base".to_owned(), |(name, _)| name.replace(' ', "-"));
    let home = folder.join(&name);
    fs::create_dir_all(home.join("src")).unwrap();
    let sdk = workspace().join("guest-sdk");
    let manifest = format!(
        "[package]\nname = \"ledger\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[lib]\ncrate-type = [\"cdylib\"]\npath = \"src/ledger.rs\"\n\
         [dependencies]\nfuzzbox-guest = {{ path = {sdk:?} }}\n[profile.release]\ndebug = \"line-tables-only\"\n[workspace]\n",
    );
    let module = folder.join(name).with_extension("wasm");
    let from = format!("{manifest}\n{source}\n{}", sdk_hash());
    if module.is_file() && fs::read_to_string(module.with_extension("from")).is_ok_and(|old| old == from) {
        return module;
    }
    fs::write(home.join("Cargo.toml"), &manifest).unwrap();
    // Whatever is written is compiled anew: libraries for wasm have the same file, whichever package they are of.
    fs::write(home.join("src/ledger.rs"), &source).unwrap();
    fs::copy(workspace().join("Cargo.lock"), home.join("Cargo.lock")).unwrap();
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--offline", "--target", "wasm32-unknown-unknown", "--target-dir"]);
    cargo.arg(folder.join("target")).current_dir(&home).env("RUSTC", guests::rustc().unwrap());
    let output = cargo.env_remove("CARGO_ENCODED_RUSTFLAGS").env_remove("RUSTFLAGS").output().unwrap();
    assert!(output.status.success(), "{home:?}: {}\n{source}", String::from_utf8_lossy(&output.stderr));
    fs::copy(folder.join("target/wasm32-unknown-unknown/release/ledger.wasm"), &module).unwrap();
    fs::write(module.with_extension("from"), from).unwrap();
    module
}

/// What guests are compiled with.
fn sdk_hash() -> String {
    fn add(folder: &Path, hash: &mut blake3::Hasher) {
        let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                add(&path, hash);
            } else {
                hash.update(&fs::read(path).unwrap());
            }
        }
    }
    let mut hash = blake3::Hasher::new();
    ["src", "derive/src"].iter().for_each(|below| add(&workspace().join("guest-sdk").join(below), &mut hash));
    hash.finalize().to_string()
}

/// Finds the bug with the first version of the generator. Returns the finding's id.
fn found(fuzzbox: &Fuzzbox, entry: &str) -> String {
    let args = ["--execs", "1000000", "--seed", "1", "--stop-on", "first", "--reporter", "json", "--entry", entry];
    let run = fuzzbox.run("run", &[built(None).to_str().unwrap()], &args);
    assert_eq!(run.code, 1, "{run:?}");
    run.json_lines().pop().unwrap()["findings"][0]["id"].as_str().unwrap().to_owned()
}

/// How a finding fails on other builds, if it does: `value`, `choices`, `spans` or `search`, by edit.
fn ways(entry: &str, edits: &[Edit]) -> Vec<Option<String>> {
    let fuzzbox = Fuzzbox::new();
    let id = found(&fuzzbox, entry);
    let way = |edit: &Edit| {
        let on = built(Some(edit));
        let ran = fuzzbox.run("repro", &[&id], &["--on", on.to_str().unwrap(), "--json"]);
        let report = ran.json_lines().into_iter().next().unwrap_or_else(|| panic!("{ran:?}"));
        println!("{entry:>12}  {:<42} {} {} {}", edit.0, report["same"], report["by"], report["signature"]);
        (report["same"] == Value::Bool(true)).then(|| report["by"].as_str().unwrap().to_owned())
    };
    edits.iter().map(way).collect()
}

#[test]
fn a_finding_in_two_parts_survives_every_edit_by_its_value() {
    let ways = ways("fbx_in_two_parts", EDITS);
    assert!(ways.iter().all(|way| way.as_deref() == Some("value")), "{ways:?}");
}

#[test]
fn a_finding_in_one_part_survives_edits() {
    all_survive("fbx_in_one_part", EDITS);
}

#[test]
#[ignore = "half a minute of CPU time"]
fn a_finding_that_is_drawn_by_hand_survives_edits() {
    all_survive("fbx_by_hand", EDITS);
}

#[test]
#[ignore = "compiles twelve guests"]
fn a_finding_survives_further_edits() {
    ["fbx_in_two_parts", "fbx_in_one_part", "fbx_by_hand"].iter().for_each(|entry| all_survive(entry, FURTHER));
}

fn all_survive(entry: &str, edits: &[Edit]) {
    let ways = ways(entry, edits);
    let lost: Vec<_> = edits.iter().zip(&ways).filter(|(_, way)| way.is_none()).map(|((name, _), _)| name).collect();
    assert!(lost.is_empty(), "{entry}: {lost:?}");
}
