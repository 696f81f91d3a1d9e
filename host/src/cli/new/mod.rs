//! `fuzzbox new`: a guest to begin with.

mod languages;
mod sdk;
mod tools;

use super::exit::{Exit, Fault, UserError, Verdict};
use super::write::{say, shown};
use anyhow::{Context, Result, anyhow, bail};
use languages::Language;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Flags of `new`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The guest's name, and its folder's: letters, digits, `-` and `_`, a letter first
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,
    /// In Rust [default]
    #[arg(long, group = "language")]
    rust: bool,
    /// In C, one file beside `fuzzbox.h`
    #[arg(long, group = "language")]
    c: bool,
    /// In C++, as in C
    #[arg(long, group = "language")]
    cpp: bool,
    /// In Zig, one file beside `fuzzbox.zig`
    #[arg(long, group = "language")]
    zig: bool,
    /// In Go, a module with the package `fuzzbox`
    #[arg(long, group = "language")]
    go: bool,
    /// In AssemblyScript, one file beside `fuzzbox.ts`
    #[arg(long, group = "language")]
    assemblyscript: bool,
    /// A folder with the crate fuzzbox-guest, to be used in the place of a copy
    #[arg(long, value_name = "DIR", conflicts_with_all = ["c", "cpp", "zig", "go", "assemblyscript"])]
    sdk: Option<PathBuf>,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        let Self { name, sdk, .. } = &self;
        let guest = match (self.language(), sdk) {
            (Some(_), _) if name == FUZZBOX => {
                return Err(anyhow!("what a guest draws with is called `{FUZZBOX}` already")).blame_user();
            }
            (Some(language), _) => language.guest(name),
            (None, Some(folder)) => Guest::rust(name, Some(&check_sdk(folder).blame_user()?))?,
            (None, None) => Guest::rust(name, None)?,
        };
        guest.write(Path::new(name))?;
        say!("created {name}/{}: something to test, and a property of it that does not hold", guest.source);
        if guest.has_sdk() {
            say!("        {name}/{SDK}: a copy of the crate that it draws with");
        }
        say!("");
        say!("    cd {name}");
        let commands = guest.commands.iter().map(|command| format!("    {command}"));
        commands.chain(guest.hints).try_for_each(|line| {
            say!("{line}");
            io::Result::Ok(())
        })?;
        Ok(Exit::Clean)
    }

    /// The language, if it is not Rust.
    fn language(&self) -> Option<Language> {
        let typed = [
            (self.c, Language::C),
            (self.cpp, Language::Cpp),
            (self.zig, Language::Zig),
            (self.go, Language::Go),
            (self.assemblyscript, Language::AssemblyScript),
        ];
        typed.into_iter().find(|(is_typed, _)| *is_typed).map(|(_, language)| language)
    }
}

/// What files that are drawn with are called.
const FUZZBOX: &str = "fuzzbox";

/// A folder that is to be made.
struct Guest {
    /// The file with the property.
    source: String,
    /// Paths in the folder and what the files hold.
    files: Vec<(String, String)>,
    /// What to type in the folder.
    commands: Vec<String>,
    /// What else to know, line by line.
    hints: Vec<String>,
}

/// The folder in a guest that has a copy of the crate fuzzbox-guest.
const SDK: &str = "fuzzbox-guest";

impl Guest {
    /// With a copy of the crate fuzzbox-guest, unless there is a path to it from the guest's folder.
    fn rust(name: &str, sdk: Option<&Path>) -> Result<Self> {
        let path = sdk.unwrap_or(Path::new(SDK));
        // A JSON string is a TOML string.
        let path = serde_json::to_string(path).with_context(|| format!("failed to name `{}`", shown(path)))?;
        let manifest = include_str!("Cargo.toml.template");
        let manifest = manifest.replace("{name}", name).replace("{sdk}", &path).replace("{version}", sdk::VERSION);
        let source = "src/lib.rs".to_owned();
        let mut files = vec![
            ("Cargo.toml".into(), manifest),
            (source.clone(), include_str!("property.rs.template").into()),
            (".gitignore".into(), "/.fuzzbox\n/target\n".into()),
        ];
        if sdk.is_none() {
            files.extend(sdk::files().map(|(path, text)| (format!("{SDK}/{path}"), text)));
        }
        let module = format!("wasm32-unknown-unknown/release/{}.wasm", name.replace('-', "_"));
        Ok(Self {
            files,
            source,
            commands: vec![
                "rustup target add wasm32-unknown-unknown".into(),
                "cargo build --release --target wasm32-unknown-unknown".into(),
                format!("{} run {} --stop-on first", tools::fuzzbox()?, tools::in_target_folder(&module)),
            ],
            hints: Vec::new(),
        })
    }

    fn has_sdk(&self) -> bool {
        self.files.iter().any(|(path, _)| path.starts_with(SDK))
    }

    /// Makes the folder with all files, or nothing.
    fn write(&self, folder: &Path) -> Result<(), Fault> {
        let shown = shown(folder);
        match fs::create_dir(folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(anyhow!("`{shown}` exists already")).blame_user();
            }
            made => made.with_context(|| format!("failed to create `{shown}`"))?,
        }
        self.fill(folder).inspect_err(|_| {
            // The first error is the one to tell.
            let _ = fs::remove_dir_all(folder);
        })?;
        Ok(())
    }

    fn fill(&self, folder: &Path) -> Result<()> {
        for (path, content) in &self.files {
            let path = folder.join(path);
            let write = || {
                fs::create_dir_all(path.parent().expect("a file lies in a folder"))?;
                fs::write(&path, content)
            };
            write().with_context(|| format!("failed to write `{}`", shown(&path)))?;
        }
        Ok(())
    }
}

/// The path from a new guest to the crate fuzzbox-guest, as it was typed: relative, if that was relative.
fn check_sdk(folder: &Path) -> Result<PathBuf> {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    if !manifest.lines().any(|line| line == "name = \"fuzzbox-guest\"") {
        let shown = shown(folder);
        bail!(
            "the crate fuzzbox-guest is not in `{shown}`\nhelp: --sdk DIR is the folder `guest-sdk` of fuzzbox's sources; without it the guest has a copy"
        );
    }
    Ok(Path::new("..").join(folder))
}

/// Names that a crate can't have, or only with trouble: keywords, and what comes with Rust or is in the guest anyway.
const TAKEN: &str = "abstract alloc as async await become box break const continue core crate do dyn else enum extern \
    false final fn for fuzzbox-guest fuzzbox_guest gen if impl in let loop macro match mod move mut override priv \
    proc_macro pub ref return self static std struct super test trait true try type typeof unsafe unsized use virtual \
    where while yield";

/// A name that a folder, a crate and a module can have.
fn name(typed: &str) -> Result<String, &'static str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !typed.starts_with(|c: char| c.is_ascii_alphabetic()) || !typed.chars().all(fits) {
        return Err("a name begins with a letter, and has letters, digits, `-` and `_`");
    }
    if TAKEN.split(' ').any(|taken| taken == typed) {
        return Err("a crate can't have this name");
    }
    Ok(typed.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_crates_and_files_can_be_called() {
        for good in ["a", "my-guest", "My_Guest-2", "fnord"] {
            assert_eq!(name(good).as_deref(), Ok(good));
        }
        for bad in ["", "-a", "_a", "1a", "a b", "a/b", "..", "a.b", "é", "aé", "fn", "std", "fuzzbox-guest"] {
            assert!(name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn paths_of_the_sdk_are_written_as_toml() {
        let guest = Guest::rust("x", Some(Path::new("/a \"b\"\\c"))).unwrap();
        assert!(guest.files[0].1.contains(r#"fuzzbox-guest = { path = "/a \"b\"\\c", "#), "{}", guest.files[0].1);
        assert!(!guest.has_sdk());
    }

    #[test]
    fn a_guest_names_no_folder_of_the_machine() {
        let others = [Language::C, Language::Cpp, Language::Zig, Language::Go, Language::AssemblyScript];
        for guest in others.map(|language| language.guest("x")).into_iter().chain([Guest::rust("x", None).unwrap()]) {
            assert!(guest.files.iter().any(|(path, _)| *path == guest.source), "{}", guest.source);
            for (path, text) in guest.files {
                assert!(!text.contains(env!("CARGO_MANIFEST_DIR")), "{path}");
            }
        }
    }
}
