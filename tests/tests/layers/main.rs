//! The house is laid out as ARCHITECTURE.md says: the layers that it has as text are read here, and held against every import.

mod graph;
mod planted;
mod rules;

use graph::Sources;
use rules::{Rules, circles, too_large};
use std::path::Path;

/// The crates whose layers are written down.
const ROOTS: [&str; 2] = ["host/src", "instrument/src"];
/// Files in circles today, by root: these figures may only become smaller.
const CIRCLES: [usize; 2] = [0, 0];
/// Files, functions and comments that are too large today, by root: these figures may only become smaller.
const TOO_LARGE: [[usize; 3]; 2] = [[0, 0, 0], [0, 10, 19]];

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate has a folder of its own")
}

fn read(root: &str) -> Sources {
    let mut sources = Sources::new();
    let mut folders = vec![repository().join(root)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the folder is there") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let file = path.strip_prefix(repository()).expect("it is below").to_str().expect("names are text");
                sources.insert(file.replace('\\', "/"), std::fs::read_to_string(&path).expect("it can be read"));
            }
        }
    }
    sources
}

#[test]
fn imports_go_down() {
    let text = std::fs::read_to_string(repository().join("ARCHITECTURE.md")).unwrap();
    let rules = Rules::read(&text);
    let broken: Vec<_> = ROOTS.iter().flat_map(|root| rules.broken(root, &read(root))).collect();
    assert!(broken.is_empty(), "{} rules of ARCHITECTURE.md are broken:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn files_import_each_other_in_no_circle() {
    for (root, most) in ROOTS.iter().zip(CIRCLES) {
        let found = circles(root, &read(root));
        assert!(found.len() <= most, "{root}: at most {most} files are in circles:\n{}", found.join("\n"));
    }
}

#[test]
fn nothing_becomes_larger_than_it_should_be() {
    for (root, most) in ROOTS.iter().zip(TOO_LARGE) {
        for (found, most) in too_large(root, &read(root)).iter().zip(most) {
            let list = found.join("\n");
            assert!(found.len() <= most, "{root}: {} are too large, at most {most} may be:\n{list}", found.len());
        }
    }
}
