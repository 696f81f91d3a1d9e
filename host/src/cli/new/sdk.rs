//! The crate that guests in Rust are made with, as files. Each new guest has a copy: the crate is in no registry, and
//! where fuzzbox was built is nobody else's business.

/// Each file's path in the crate and its text.
macro_rules! files {
    ($($path:literal)*) => { &[$(($path, include_str!(concat!("../../../../guest-sdk/", $path)))),*] };
}

const FILES: &[(&str, &str)] = files![
    "Cargo.toml"
    "README.md"
    "derive/Cargo.toml"
    "derive/src/fields.rs"
    "derive/src/generate.rs"
    "derive/src/lib.rs"
    "derive/src/options.rs"
    "derive/src/value.rs"
    "src/bridge.rs"
    "src/domain.rs"
    "src/float.rs"
    "src/generate/collections.rs"
    "src/generate/leaves.rs"
    "src/generate/mod.rs"
    "src/generate/wrappers.rs"
    "src/generator/basic.rs"
    "src/generator/combine.rs"
    "src/generator/mod.rs"
    "src/generator/one_of.rs"
    "src/generator/recursive.rs"
    "src/imports.rs"
    "src/index.rs"
    "src/integer.rs"
    "src/label.rs"
    "src/lib.rs"
    "src/native/cargo_test.rs"
    "src/native/catch.rs"
    "src/native/choice.rs"
    "src/native/entropy.rs"
    "src/native/floats.rs"
    "src/native/mod.rs"
    "src/native/search.rs"
    "src/native/tape.rs"
    "src/panics.rs"
    "src/property.rs"
    "src/range.rs"
    "src/scenario.rs"
    "src/size.rs"
    "src/source.rs"
    "src/text.rs"
    "src/value/item.rs"
    "src/value/mod.rs"
    "src/value/tests.rs"
    "src/value/types.rs"
];

/// What the crate may be used under.
const LICENCES: &[(&str, &str)] = &[
    ("LICENSE-APACHE", include_str!("../../../../LICENSE-APACHE")),
    ("LICENSE-MIT", include_str!("../../../../LICENSE-MIT")),
];

/// The version that all crates of the workspace have.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The crate's files, with manifests that need no workspace.
pub(super) fn files() -> impl Iterator<Item = (&'static str, String)> {
    FILES.iter().chain(LICENCES).map(|&(path, text)| {
        let is_manifest = path.rsplit('/').next() == Some("Cargo.toml");
        (path, if is_manifest { stand_alone(text) } else { text.to_owned() })
    })
}

/// A manifest with what it takes from the workspace written out, and without what concerns only those who work on the
/// crate.
fn stand_alone(manifest: &str) -> String {
    let inherited = [
        ("version.workspace = true", format!("version = \"{VERSION}\"")),
        ("edition.workspace = true", "edition = \"2024\"".to_owned()),
        ("rust-version.workspace = true", format!("rust-version = \"{}\"", env!("CARGO_PKG_RUST_VERSION"))),
        ("license.workspace = true", format!("license = \"{}\"", env!("CARGO_PKG_LICENSE"))),
        (
            "arbitrary = { workspace = true, optional = true }",
            "arbitrary = { version = \"1\", optional = true }".to_owned(),
        ),
    ];
    let mut written = String::new();
    let mut is_theirs = true;
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_theirs = !["[dev-dependencies]", "[lints]"].contains(&line);
        }
        if is_theirs {
            let instead = inherited.iter().find(|(from, _)| *from == line);
            written.push_str(instead.map_or(line, |(_, to)| to));
            written.push('\n');
        }
    }
    written.trim_end().to_owned() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// All files below a folder, by their paths from `top`.
    fn list(folder: &Path, top: &Path, into: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                list(&path, top, into);
            } else {
                into.insert(path.strip_prefix(top).unwrap().to_str().unwrap().to_owned());
            }
        }
    }

    #[test]
    fn every_file_of_the_crate_is_copied() {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guest-sdk");
        let mut there = BTreeSet::from(["Cargo.toml".to_owned(), "README.md".to_owned()]);
        list(&top.join("src"), &top, &mut there);
        list(&top.join("derive"), &top, &mut there);
        assert_eq!(FILES.iter().map(|(path, _)| (*path).to_owned()).collect::<BTreeSet<_>>(), there);
    }

    #[test]
    fn manifests_need_no_workspace() {
        for (path, text) in files().filter(|(path, _)| path.ends_with("Cargo.toml")) {
            assert!(!text.contains("workspace"), "{path}: {text}");
            assert!(text.contains(&format!("version = \"{VERSION}\"")), "{path}: {text}");
            assert!(text.contains("edition = \"2024\""), "{path}: {text}");
        }
        let workspace = include_str!("../../../../Cargo.toml");
        assert!(workspace.contains("edition = \"2024\"") && workspace.contains("\narbitrary = \"1\"\n"));
    }
}
