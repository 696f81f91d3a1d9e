//! That the rules find what breaks them: a house of three rooms, and one fault planted at a time.

use crate::graph::Sources;
use crate::rules::{Rules, circles, too_large};

const TEXT: &str = "\
# A house

```text layers a/src
main
engine  what it does
report store  beside each other
id
```

```text layers a/src/engine
campaign
worker
```

```text homes
clap a/src/main.rs
std::fs a/src/store
std::time::Instant a/src/engine/campaign.rs
unsafe a/src/id.rs
```
";

fn house() -> Sources {
    let files = [
        ("lib.rs", "pub mod engine;\npub mod id;\npub mod report;\npub mod store;\npub use id::Id;\n"),
        ("main.rs", "use clap::Parser;\nfn main() {}\n"),
        ("engine/mod.rs", "mod campaign;\nmod worker;\npub use campaign::Campaign;\n"),
        ("engine/campaign.rs", "use super::worker::Worker;\nuse std::time::Instant;\npub struct Campaign(Worker);\n"),
        ("engine/worker.rs", "use crate::{id::Id, store::Store};\npub struct Worker(Id, Store);\n"),
        ("report.rs", "pub struct Event(crate::id::Id);\n"),
        ("store/mod.rs", "mod file;\npub use file::Store;\n"),
        ("store/file.rs", "use std::fs;\nuse crate::id::Id;\npub struct Store(Id);\n"),
        ("id.rs", "pub struct Id;\nimpl Id { pub fn of() -> u8 { unsafe { 0 } } }\n"),
    ];
    files.into_iter().map(|(file, text)| (format!("a/src/{file}"), text.to_owned())).collect()
}

/// What is found if `more` is added to a file.
fn broken(file: &str, more: &str) -> Vec<String> {
    let mut house = house();
    house.entry(format!("a/src/{file}")).or_default().push_str(more);
    Rules::read(TEXT).broken("a/src", &house)
}

#[test]
fn a_house_that_keeps_the_rules_has_no_fault() {
    assert_eq!(broken("id.rs", ""), Vec::<String>::new());
    assert_eq!(circles("a/src", &house()), Vec::<String>::new());
    let tested = "#[cfg(test)]\nmod tests {\n    use crate::engine::Campaign;\n}\n";
    assert_eq!(broken("id.rs", tested), Vec::<String>::new(), "tests may use all");
}

#[test]
fn planted_faults_are_found() {
    let faults = [
        (
            "an import upwards",
            "id.rs",
            "use crate::report::Event;\n",
            "a/src/id.rs: `crate::report::Event` goes up from `id` to `report`",
        ),
        (
            "a path upwards",
            "report.rs",
            "fn f() { crate::engine::Campaign::new() }\n",
            "goes up from `report` to `engine`",
        ),
        ("sideways", "report.rs", "use crate::store::Store;\n", "goes sideways from `report` to `store`"),
        (
            "upwards by super",
            "store/file.rs",
            "use super::super::engine::Campaign;\n",
            "goes up from `store` to `engine`",
        ),
        (
            "upwards in a folder",
            "engine/worker.rs",
            "use super::campaign::Campaign;\n",
            "goes up from `worker` to `campaign`",
        ),
        (
            "behind a re-export",
            "engine/worker.rs",
            "use crate::engine::Campaign;\n",
            "goes up from `worker` to `campaign`",
        ),
        ("in a macro", "id.rs", "fn g() { println!(\"{}\", crate::report::f()) }\n", "goes up from `id` to `report`"),
        ("from the face", "engine/worker.rs", "use crate::Id as Name;\n", "is taken from the face of the crate"),
        (
            "another crate",
            "report.rs",
            "#[derive(clap::Args)]\nstruct A;\n",
            "a/src/report.rs: `clap` is not at home here",
        ),
        ("files", "id.rs", "use std::{fs::File, io};\n", "`std::fs` is not at home here"),
        (
            "a clock",
            "engine/worker.rs",
            "fn now() { std::time::Instant::now(); }\n",
            "`std::time::Instant` is not at home here",
        ),
        ("unsafe", "report.rs", "unsafe fn f() {}\n", "`unsafe` is not at home here"),
        ("a new room", "kitchen.rs", "", "a/src: `kitchen` is on no layer"),
    ];
    for (what, file, more, expected) in faults {
        let found = broken(file, more);
        assert!(found.iter().any(|fault| fault.contains(expected)), "{what}: {found:?}");
    }
    let mut house = house();
    house.insert("a/src/store/other.rs".to_owned(), "use super::file::Store;\npub struct Other(Store);\n".to_owned());
    house.entry("a/src/store/file.rs".to_owned()).or_default().push_str("use super::other::Other;\n");
    let found = circles("a/src", &house);
    assert_eq!(
        found,
        ["a/src/store/file.rs", "a/src/store/other.rs"].map(|file| format!("{file}: in a circle of files"))
    );
    let gone = Rules::read(&TEXT.replace("id\n```", "id cellar\n```")).broken("a/src", &house);
    assert!(gone.iter().any(|fault| fault == "a/src: there is no `cellar`"), "{gone:?}");
}

#[test]
fn what_is_too_large_is_counted() {
    let mut house = house();
    let long = format!("fn long() {{\n{}}}\n// {}\n", "    f();\n".repeat(500), "x".repeat(118));
    house.insert("a/src/report.rs".to_owned(), long);
    assert_eq!(too_large("a/src", &house).map(|found| found.len()), [1, 1, 1]);
}
