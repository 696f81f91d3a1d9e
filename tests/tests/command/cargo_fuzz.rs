//! `fuzzbox cargo`: a cargo-fuzz folder is fuzzed as it is, and what cargo has to say is cargo's.

use anyhow::{Context as _, Result, ensure};
use fuzzbox_tests::command::{Fuzzbox, Ran};
use fuzzbox_tests::{disk, guests, workspace};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What cargo tells tests, and what somebody may have set for other builds.
const NOT_OURS: &[&str] = &[
    "CARGO_BUILD_TARGET",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_TARGET_DIR",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
];

/// The shortest input with which `parse` fails.
const TOO_DEEP: &[u8] = b"[[[";

/// A target over a type of its own, whose only bug is one of overflow; it looks whether it is told that it is fuzzed.
const SHAPE: &str = r#"#![no_main]
use libfuzzer_sys::{arbitrary, fuzz_target};

#[derive(Debug, arbitrary::Arbitrary)]
struct Shape {
    sides: u8,
    name: Option<bool>,
}

fuzz_target!(|shape: Shape| {
    if cfg!(fuzzing) && shape.name == Some(true) {
        assert!(shape.sides + 10 > 9);
    }
});
"#;

/// A program with a bug, whose folder `fuzz` has a target over bytes, one over a type, one that is no target, and one
/// that doesn't build.
struct Project {
    fuzzbox: Fuzzbox,
}

impl Project {
    fn new() -> Result<Self> {
        let project = Self { fuzzbox: Fuzzbox::new() };
        fs::create_dir_all(project.dir())?;
        disk::copy(&workspace().join("tests/guests/parse/rust"), &project.dir())?;
        let fuzz = project.dir().join("fuzz");
        let mut manifest = fs::read_to_string(fuzz.join("Cargo.toml"))?;
        manifest = manifest.replace(
            "libfuzzer-sys = \"0.4\"",
            "libfuzzer-sys = { version = \"0.4\", features = [\"arbitrary-derive\"] }",
        );
        for (name, source) in
            [("shape", SHAPE), ("helper", "fn main() {}\n"), ("broken", "#![no_main]\nfn f() { missing() }\n")]
        {
            manifest.push_str(&format!("\n[[bin]]\nname = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"\n"));
            fs::write(fuzz.join("fuzz_targets").join(name).with_extension("rs"), source)?;
        }
        fs::write(fuzz.join("Cargo.toml"), manifest)?;
        Ok(project)
    }

    fn dir(&self) -> PathBuf {
        self.fuzzbox.dir().join("project")
    }

    /// What `fuzzbox cargo` with `words` does in a folder of the project.
    fn cargo(&self, below: &str, words: &[&str]) -> Result<Ran> {
        let mut command = self.fuzzbox.command(&[&["cargo"], words].concat());
        NOT_OURS.iter().for_each(|variable| _ = command.env_remove(variable));
        let output = command.env("RUSTC", guests::rustc()?).current_dir(self.dir().join(below)).output()?;
        Ok(Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout)?,
            stderr: String::from_utf8(output.stderr)?,
        })
    }

    /// The hashes of the files, by their paths, without the folders that cargo-fuzz's users have ignored, and ours.
    fn files(&self) -> Result<BTreeMap<PathBuf, blake3::Hash>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.dir()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                let below = path.strip_prefix(self.dir())?.to_owned();
                if ["fuzz/target", "fuzz/corpus", "fuzz/artifacts", ".fuzzbox"].iter().any(|to| below == Path::new(to))
                {
                    continue;
                } else if path.is_dir() {
                    folders.push(path);
                } else {
                    files.insert(below, blake3::hash(&fs::read(path)?));
                }
            }
        }
        Ok(files)
    }

    /// The names of the files in a folder of `fuzz`, and what they hold.
    fn inputs(&self, below: &str) -> Result<BTreeMap<String, Vec<u8>>> {
        let entries = fs::read_dir(self.dir().join("fuzz").join(below)).with_context(|| below.to_owned())?;
        let read = |path: PathBuf| -> Result<_> {
            let name = path.file_name().and_then(|name| name.to_str()).context("a name in text")?;
            Ok((name.to_owned(), fs::read(&path)?))
        };
        entries.map(|entry| read(entry?.path())).collect()
    }
}

/// Whether programs can be built that have an environment.
fn has_wasi() -> bool {
    Command::new("rustup").args(["target", "add", "wasm32-wasip1"]).output().is_ok_and(|output| output.status.success())
}

#[test]
fn a_cargo_fuzz_folder_is_fuzzed_as_it_is() -> Result<()> {
    let project = Project::new()?;
    fs::create_dir_all(project.dir().join("fuzz/corpus/doc"))?;
    fs::write(project.dir().join("fuzz/corpus/doc/mine"), "[[")?;
    let wasi = has_wasi();
    let mut before = project.files()?;

    let budget = ["-n", "20000", "--seed", "1", "--jobs", "1", "--reporter", "json"];
    let ran = project.cargo("src", &budget)?;
    assert_eq!(ran.code, 1, "{ran:?}");
    let lines = ran.json_lines();
    let done: BTreeMap<_, _> =
        lines.iter().filter(|line| line["event"] == "done").map(|line| (line["target"].as_str(), line)).collect();
    assert_eq!(done.keys().copied().collect::<Vec<_>>(), [Some("doc"), Some("shape")], "{ran:?}");
    for (target, says) in [("doc", "too deep: 3"), ("shape", "attempt to add with overflow")] {
        let findings = done[&Some(target)]["findings"].as_array().context("a list")?;
        assert_eq!(findings.len(), 1, "{findings:#?}");
        assert!(findings[0]["said"].to_string().contains(says), "{findings:#?}");
        let artifacts = project.inputs(&format!("artifacts/{target}"))?;
        let name = format!("crash-{}", findings[0]["input"].as_str().context("an id")?);
        assert_eq!(artifacts.keys().collect::<Vec<_>>(), [&name]);
        assert!(ran.stderr.contains(&name), "{ran:?}");
        let corpus = project.inputs(&format!("corpus/{target}"))?;
        let contents: BTreeSet<_> = corpus.values().collect();
        assert!(contents.len() == corpus.len() && corpus.len() > 2, "no input is there twice: {corpus:?}");
    }
    assert_eq!(project.inputs("artifacts/doc")?.values().collect::<Vec<_>>(), [TOO_DEEP]);
    for said in ["cannot find function `missing`", "`broken` does not build", "`helper` is left out"] {
        assert!(ran.stderr.contains(said), "{said}: {ran:?}");
    }

    let after = project.files()?;
    // Cargo makes it where there is none.
    before.insert("fuzz/Cargo.lock".into(), after[Path::new("fuzz/Cargo.lock")]);
    assert_eq!(before, after, "no file is touched, and none is left behind");
    assert_eq!(fs::read_to_string(project.dir().join(".fuzzbox/.gitignore"))?, "*\n");

    // What failed is the first that is tried.
    let again = project.cargo("", &["doc", "-n", "20", "--store", "another", "--reporter", "json"])?;
    assert_eq!(again.code, 1, "{again:?}");
    if wasi {
        shows_values(&project)?;
    } else {
        println!("rustup has no wasm32-wasip1, without which no values are shown");
    }
    Ok(())
}

/// Looks at the values of artifacts.
fn shows_values(project: &Project) -> Result<()> {
    let shown = |target: &str| -> Result<String> {
        let name = project.inputs(&format!("artifacts/{target}"))?.into_keys().next().context("an artifact")?;
        let ran = project.cargo("fuzz", &["fmt", target, &format!("artifacts/{target}/{name}")])?;
        ensure!(ran.code == 0, "{ran:?}");
        Ok(ran.stdout)
    };
    let value = shown("shape")?;
    assert!(value.starts_with("Shape {\n    sides: 2") && value.contains("name: Some(\n        true,"), "{value}");
    assert_eq!(shown("doc")?, format!("{TOO_DEEP:?}\n"));
    Ok(())
}

#[test]
fn what_does_not_build_is_what_cargo_says_it_is() -> Result<()> {
    let project = Project::new()?;
    let ran = project.cargo("", &["broken"])?;
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("cannot find function `missing`"), "{ran:?}");
    assert!(ran.stderr.contains("error: `broken` does not build for wasm: cargo says why"), "{ran:?}");
    assert!(!project.dir().join(".fuzzbox").exists() && !project.dir().join("fuzz/corpus").exists());

    let manifest = project.dir().join("fuzz/Cargo.toml");
    fs::write(&manifest, "[package]\nname = 5\n")?;
    let ran = project.cargo("", &["list"])?;
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("invalid type: integer `5`"), "{ran:?}");
    assert!(ran.stderr.contains("error: failed to read `fuzz/Cargo.toml`"), "{ran:?}");
    Ok(())
}

#[test]
fn folders_and_targets_are_found_by_their_names() -> Result<()> {
    let project = Project::new()?;
    for below in ["", "src", "fuzz", "fuzz/fuzz_targets"] {
        let ran = project.cargo(below, &["list"])?;
        assert_eq!((ran.code, &*ran.stdout), (0, "broken\ndoc\nhelper\nshape\n"), "{below}: {ran:?}");
    }
    let says = |words: &[&str], text: &str| -> Result<()> {
        let ran = project.cargo("", words)?;
        assert!(ran.code == 2 && ran.stderr.contains(text), "{words:?}: {ran:?}");
        Ok(())
    };
    says(&["shap"], "`fuzz` has no target `shap`; it has broken, doc, helper, shape\nhelp: did you mean `shape`?")?;
    says(&["--", "list"], "has no target `list`")?;
    says(&["run", "list"], "has no target `list`")?;
    says(&["doc", "--", "-runs=5"], "help: did you mean --execs 5")?;
    says(&["--fuzz-dir", "."], "`.` is no cargo-fuzz folder")?;
    says(&["--fuzz-dir", "nowhere"], "failed to read `nowhere/Cargo.toml`")?;
    says(&["doc", "--target", "wasm32-none"], "help: rustup target add wasm32-none")?;

    // A package of the workspace that is marked, wherever it lies.
    fs::rename(project.dir().join("fuzz"), project.dir().join("tries"))?;
    says(&["list"], "there is no cargo-fuzz folder here or above")?;
    let manifest = project.dir().join("Cargo.toml");
    fs::write(&manifest, format!("{}\n[workspace]\nmembers = [\"tries\"]\n", fs::read_to_string(&manifest)?))?;
    assert_eq!(project.cargo("src", &["list"])?.stdout, "broken\ndoc\nhelper\nshape\n");
    Ok(())
}
