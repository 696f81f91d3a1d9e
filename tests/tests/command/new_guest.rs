//! A new user's way, from `fuzzbox new` to a shrunk counterexample: what the SDK's README shows is typed and compared.

use anyhow::{Context as _, Result};
use fuzzbox_tests::command::{Fuzzbox, Ran};
use fuzzbox_tests::{guests, workspace};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A command of the transcript, and the lines below it.
struct Step {
    command: String,
    output: Vec<String>,
}

/// The part of the SDK's README about a new guest.
fn chapter() -> Result<String> {
    let readme = fs::read_to_string(workspace().join("guest-sdk/README.md"))?;
    let (_, rest) = readme.split_once("\n## From an empty folder\n").context("the chapter is there")?;
    Ok(rest.split("\n## ").next().unwrap_or_default().to_owned())
}

/// What is in the first block of a language.
fn block<'a>(chapter: &'a str, language: &str) -> Result<&'a str> {
    let (_, rest) = chapter.split_once(&format!("```{language}\n")).context("the block is there")?;
    rest.split("```").next().context("it ends")
}

fn steps(transcript: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in transcript.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { command: command.to_owned(), output: Vec::new() }),
            (None, Some(step)) => step.output.push(line.to_owned()),
            (None, None) => panic!("`{line}` is nobody's output"),
        }
    }
    steps
}

/// The line without what depends on the build: ids, numbers of calls, and in how many lines a compiler leaves code.
fn masked(line: &str) -> String {
    let mask = |word: &str| {
        let is_id = |text: &str| text.len() >= 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match word.split_once(":+") {
            _ if is_id(word) || word.starts_with('#') => "_".to_owned(),
            Some((function, _)) => format!("{function}:+_"),
            None => word.to_owned(),
        }
    };
    line.split_whitespace().map(mask).collect::<Vec<_>>().join(" ")
}

/// Whether every build prints this line: edges, times and jobs are not the same everywhere.
fn is_certain(line: &str) -> bool {
    !line.contains(" edges, ") && !line.contains("Finished ") && line != "..." && !line.is_empty()
}

/// Checks that what was printed has the lines of the transcript, in their order.
fn has_lines(printed: &str, expected: &[String]) {
    let mut printed_lines = printed.lines().map(masked);
    for line in expected.iter().filter(|line| is_certain(line)).map(|line| masked(line)) {
        assert!(printed_lines.any(|printed| printed == line), "`{line}` is not, or not there, in:\n{printed}");
    }
}

/// The id that a finding is reproduced by.
fn found(run: &Ran) -> Option<String> {
    let rest = run.stdout.split_once("fuzzbox repro ")?.1;
    rest.split_whitespace().next().map(str::to_owned)
}

/// A command as somebody types it who has installed fuzzbox under its name.
fn installed(fuzzbox: &Fuzzbox, words: &[&str]) -> Result<Command> {
    let mut command = fuzzbox.command(words);
    let bin = fuzzbox.dir().join("bin");
    if !bin.is_dir() {
        fs::create_dir(&bin)?;
        std::os::unix::fs::symlink(command.get_program(), bin.join("fuzzbox"))?;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env("PATH", std::env::join_paths([bin].into_iter().chain(std::env::split_paths(&path)))?);
    command.env_remove("CARGO_TARGET_DIR");
    Ok(command)
}

/// Types the commands of `transcript` in a new folder, with tools that this machine has.
fn type_all(fuzzbox: &Fuzzbox, transcript: &[Step]) -> Result<Vec<Ran>> {
    let mut folder = fuzzbox.dir().to_owned();
    let (mut id, mut all) = (String::new(), Vec::new());
    for step in transcript {
        let words: Vec<&str> = step.command.split(' ').collect();
        let mut command = match words[..] {
            ["cd", to] => {
                folder.push(to);
                continue;
            }
            // It is provided by other means where rustup can't.
            ["rustup", "target", "add", "wasm32-unknown-unknown"] => {
                guests::rustc()?;
                continue;
            }
            ["fuzzbox", "repro", _] => fuzzbox.command(&["repro", &id]),
            // Nobody watches: the terminal's form has to be asked for.
            ["fuzzbox", "run", ..] => fuzzbox.command(&[&words[1..], &["--reporter", "terminal"]].concat()),
            ["fuzzbox", ..] => installed(fuzzbox, &words[1..])?,
            ["cargo", ..] => {
                let mut cargo = Command::new("cargo");
                // It needs nothing but what is in the folder.
                cargo.args(&words[1..]).env("RUSTC", guests::rustc()?).env("CARGO_NET_OFFLINE", "true");
                cargo.env("CARGO_HOME", fuzzbox.dir().join("cargo-home"));
                for variable in ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET", "CARGO_ENCODED_RUSTFLAGS", "RUSTFLAGS"] {
                    cargo.env_remove(variable);
                }
                cargo
            }
            [clang, ..] if clang.starts_with("clang") => {
                let mut clang = Command::new(guests::clang()?);
                clang.args(&words[1..]);
                clang
            }
            _ => panic!("`{}` is no command of a transcript", step.command),
        };
        let output = command.current_dir(&folder).output().with_context(|| format!("`{}`", step.command))?;
        let ran = Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout)?,
            stderr: String::from_utf8(output.stderr)?,
        };
        let finds = matches!(words[..], ["fuzzbox", "run" | "repro", ..]);
        assert_eq!(ran.code, i32::from(finds), "`{}`: {ran:?}", step.command);
        has_lines(&ran.stdout, &step.output);
        id = found(&ran).unwrap_or(id);
        all.push(ran);
    }
    Ok(all)
}

#[test]
fn what_the_readme_shows_is_what_happens() -> Result<()> {
    let chapter = chapter()?;
    let transcript = steps(block(&chapter, "text")?);
    assert!(transcript.len() <= 10);
    assert!(transcript.iter().any(|step| step.output.iter().any(|line| line.trim() == "list = [0, 1, 0]")));
    let fuzzbox = Fuzzbox::new();
    type_all(&fuzzbox, &transcript)?;
    let source = fs::read_to_string(fuzzbox.dir().join("my-guest/src/lib.rs"))?;
    assert_eq!(source, block(&chapter, "rust")?);
    // What `new` said to type next is what was typed.
    for line in transcript[0].output.iter().filter(|line| line.starts_with("    ") && !line.starts_with("     ")) {
        assert!(transcript.iter().any(|step| step.command.starts_with(line.trim())), "{line}");
    }
    Ok(())
}

/// The commands that `new` says to type.
fn commands(new: &Ran) -> Vec<Step> {
    let commands =
        new.stdout.lines().filter_map(|line| line.strip_prefix("    ")).filter(|line| !line.starts_with(' '));
    commands.map(|command| Step { command: command.to_owned(), output: Vec::new() }).collect()
}

#[test]
fn a_new_guest_in_c_finds_its_bug_by_what_it_says_to_type() -> Result<()> {
    let fuzzbox = Fuzzbox::new();
    guests::clang()?;
    let output = installed(&fuzzbox, &["new", "--c", "my_guest-2"])?.output()?;
    let new = Ran { code: 0, stdout: String::from_utf8(output.stdout)?, stderr: String::from_utf8(output.stderr)? };
    assert!(output.status.success() && !new.stdout.contains("missing"), "{new:?}");
    let mut typed = commands(&new);
    let hosted = typed.pop().context("a line for a C library")?;
    let ran = type_all(&fuzzbox, &typed)?;
    let has_found = |run: &Ran| {
        assert!(run.stdout.contains("failed: a number is there twice"), "{run:?}");
        assert!(run.stdout.contains(r#""\x00\x01\x00""#), "{run:?}");
    };
    has_found(ran.last().context("a command")?);
    let header = fs::read(fuzzbox.dir().join("my_guest-2/fuzzbox.h"))?;
    assert_eq!(header, fs::read(workspace().join("guest-sdk/c/fuzzbox.h"))?);

    // The same property, in need of a C library.
    let source = fuzzbox.dir().join("my_guest-2/my_guest-2.c");
    let without = fs::read_to_string(&source)?;
    let with = without.replace("uint8_t list[100];", "uint8_t *list = malloc(100);").replace("sizeof list", "100");
    assert!(hosted.command.contains("--target=wasm32-wasi"), "{}", hosted.command);
    fs::write(&source, format!("#include <stdlib.h>\n{with}"))?;
    typed[1] = hosted;
    fs::remove_dir_all(fuzzbox.dir().join("my_guest-2/.fuzzbox"))?;
    has_found(type_all(&fuzzbox, &typed)?.last().context("a command")?);
    Ok(())
}

#[test]
fn a_new_guest_in_cxx_finds_its_bug() -> Result<()> {
    let fuzzbox = Fuzzbox::new();
    guests::clang()?;
    let new = fuzzbox.run("new", &["--cpp", "my_guest"], &[]);
    assert_eq!(new.code, 0, "{new:?}");
    let mut typed = commands(&new);
    typed.pop().context("a line for a C++ library")?;
    // It is not installed under its name here.
    typed.last_mut().context("a line that fuzzes")?.command = "fuzzbox run my_guest.wasm --stop-on first".to_owned();
    let ran = type_all(&fuzzbox, &typed)?;
    assert!(ran.last().context("a command")?.stdout.contains("failed: a number is there twice"), "{ran:?}");
    Ok(())
}

#[test]
fn what_to_type_works_without_a_search_path_and_with_another_target_folder() -> Result<()> {
    let fuzzbox = Fuzzbox::new();
    guests::rustc()?;
    let elsewhere = fuzzbox.dir().join("built here");
    let output = fuzzbox.command(&["new", "elsewhere"]).env("CARGO_TARGET_DIR", &elsewhere).output()?;
    let said = String::from_utf8(output.stdout)?;
    let lines: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    let typed = lines.iter().filter(|line| !line.starts_with(' ') && !line.starts_with("rustup"));
    let script = typed.copied().collect::<Vec<_>>().join("\n");
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", &script]).current_dir(fuzzbox.dir());
    shell.env("CARGO_TARGET_DIR", &elsewhere).env("RUSTC", guests::rustc()?);
    let output = shell.output()?;
    assert_eq!(output.status.code(), Some(1), "{script}\n{output:?}");
    assert!(String::from_utf8(output.stdout)?.contains("panic: 0 is there twice"));
    Ok(())
}

#[test]
fn a_guest_can_be_carried_elsewhere_and_compiles_without_a_warning() -> Result<()> {
    let fuzzbox = Fuzzbox::new();
    assert_eq!(fuzzbox.run("new", &["carried"], &[]).code, 0);
    let moved = tempfile::tempdir()?;
    let folder = moved.path().join("by somebody else");
    fs::rename(fuzzbox.dir().join("carried"), &folder)?;
    // A checked build, and one with all that the copy of the crate can do.
    for features in [&["--features", "fuzzbox-guest/derive"][..], &[]] {
        let mut cargo = Command::new("cargo");
        cargo.args(["check", "--offline", "--tests"]).args(features).current_dir(&folder);
        cargo.env_remove("CARGO_TARGET_DIR").env_remove("RUSTFLAGS").env("CARGO_TERM_COLOR", "never");
        let output = cargo.output()?;
        let said = String::from_utf8(output.stderr)?;
        assert!(output.status.success() && !said.contains("warning"), "{said}");
    }
    Ok(())
}

/// Checks for one error with exit code 2, and that nothing was made or changed.
#[track_caller]
fn refused(fuzzbox: &Fuzzbox, operands: &[&str], words: &[&str]) {
    let files = |folder: &Path| -> Vec<_> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        names.sort();
        names
    };
    let before = (files(fuzzbox.dir()), files(&fuzzbox.dir().join("taken")));
    let ran = fuzzbox.run("new", operands, &[]);
    assert_eq!((ran.code, ran.stderr.matches("error: ").count()), (2, 1), "{ran:?}");
    assert!(ran.stderr.matches("help: ").count() <= 1, "{ran:?}");
    for word in words {
        assert!(ran.stderr.contains(word), "`{word}` is not in {ran:?}");
    }
    assert_eq!((files(fuzzbox.dir()), files(&fuzzbox.dir().join("taken"))), before);
}

#[test]
fn what_is_no_name_and_what_is_there_is_refused() -> Result<()> {
    let fuzzbox = Fuzzbox::new();
    for name in ["1st", "a.b", "../up", "a/b", "é", "", "_a", "self"] {
        refused(&fuzzbox, &[name], &["name"]);
        if name != "self" {
            refused(&fuzzbox, &["--c", name], &["name"]);
        }
    }
    refused(&fuzzbox, &["--go", "fuzzbox"], &["`fuzzbox`"]);
    refused(&fuzzbox, &["--go", "--zig", "x"], &["--go", "--zig"]);
    fs::create_dir(fuzzbox.dir().join("taken"))?;
    fs::write(fuzzbox.dir().join("taken/mine"), "")?;
    fs::write(fuzzbox.dir().join("file"), "")?;
    for name in ["taken", "file"] {
        refused(&fuzzbox, &[name], &[&format!("`{name}` exists already")]);
        refused(&fuzzbox, &["--c", name], &[&format!("`{name}` exists already")]);
    }
    refused(&fuzzbox, &["a", "--sdk", "taken"], &["fuzzbox-guest", "`taken`", "--sdk"]);
    refused(&fuzzbox, &["a", "--rust", "--c"], &["--rust", "--c"]);
    Ok(())
}

#[test]
fn a_guest_can_use_a_folder_with_the_crate() -> Result<()> {
    let fuzzbox = Fuzzbox::new();
    std::os::unix::fs::symlink(workspace().join("guest-sdk"), fuzzbox.dir().join("sdk"))?;
    let new = fuzzbox.run("new", &["guest", "--sdk", "./sdk"], &[]);
    assert_eq!(new.code, 0, "{new:?}");
    let manifest = fs::read_to_string(fuzzbox.dir().join("guest/Cargo.toml"))?;
    assert!(manifest.contains(r#"path = ".././sdk""#), "{manifest}");
    assert!(!fuzzbox.dir().join("guest/fuzzbox-guest").exists());
    Ok(())
}

#[test]
fn a_guest_is_no_part_of_a_workspace_around_it() -> Result<()> {
    let fuzzbox = Fuzzbox::new();
    fs::write(fuzzbox.dir().join("Cargo.toml"), "[workspace]\nmembers = []\n")?;
    let new = fuzzbox.run("new", &["a-B_2"], &[]);
    assert_eq!(new.code, 0, "{new:?}");
    let mut cargo = Command::new("cargo");
    cargo.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(fuzzbox.dir().join("a-B_2"));
    let output = cargo.output()?;
    assert!(output.status.success(), "{output:?}");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let targets = metadata["packages"][0]["targets"][0].clone();
    assert_eq!((targets["name"].as_str(), targets["crate_types"][0].as_str()), (Some("a_B_2"), Some("cdylib")));
    Ok(())
}
