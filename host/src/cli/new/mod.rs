//! `fuzzbox new`: a guest to begin with.

use super::exit::{Exit, Fault, UserError, Verdict};
use super::output::say;
use anyhow::{Context, Result, anyhow, bail};
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
    #[arg(long, conflicts_with = "c")]
    rust: bool,
    /// In C, one file beside `fuzzbox.h`
    #[arg(long)]
    c: bool,
    /// The folder of the crate fuzzbox-guest, if it is not where fuzzbox was built
    #[arg(long, value_name = "DIR", conflicts_with = "c")]
    sdk: Option<PathBuf>,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        let Self { name, sdk, .. } = &self;
        let guest = if self.c { Guest::c(name) } else { Guest::rust(name, &find_sdk(sdk.as_deref()).blame_user()?)? };
        guest.write(Path::new(name))?;
        say!("created {name}/{}: something to test, and a property of it that does not hold\n", guest.source);
        say!("    cd {name}");
        guest.commands.iter().try_for_each(|command| {
            say!("    {command}");
            io::Result::Ok(())
        })?;
        Ok(Exit::Clean)
    }
}

/// A folder that is to be made.
struct Guest {
    /// The file with the property.
    source: String,
    /// Paths in the folder and what the files hold.
    files: Vec<(String, String)>,
    /// What to type in the folder.
    commands: Vec<String>,
}

impl Guest {
    fn rust(name: &str, sdk: &Path) -> Result<Self> {
        // A JSON string is a TOML string.
        let sdk = serde_json::to_string(sdk).with_context(|| format!("failed to name `{}`", sdk.display()))?;
        let manifest = include_str!("Cargo.toml.template").replace("{name}", name).replace("{sdk}", &sdk);
        let source = "src/lib.rs".to_owned();
        let module = name.replace('-', "_");
        Ok(Self {
            files: vec![
                ("Cargo.toml".into(), manifest),
                (source.clone(), include_str!("property.rs.template").into()),
                (".gitignore".into(), "/.fuzzbox\n/target\n".into()),
            ],
            source,
            commands: vec![
                "rustup target add wasm32-unknown-unknown".into(),
                "cargo build --release --target wasm32-unknown-unknown".into(),
                format!("fuzzbox run target/wasm32-unknown-unknown/release/{module}.wasm --stop-on first"),
            ],
        })
    }

    fn c(name: &str) -> Self {
        let source = format!("{name}.c");
        Self {
            files: vec![
                (source.clone(), include_str!("property.c.template").into()),
                ("fuzzbox.h".into(), include_str!("../../../../guest-sdk/c/fuzzbox.h").into()),
                (".gitignore".into(), format!("/.fuzzbox\n/{name}.wasm\n")),
            ],
            commands: vec![
                format!("clang --target=wasm32 -nostdlib -Wl,--no-entry -O1 -g {source} -o {name}.wasm"),
                format!("fuzzbox run {name}.wasm --stop-on first"),
            ],
            source,
        }
    }

    /// Makes the folder with all files, or nothing.
    fn write(&self, folder: &Path) -> Result<(), Fault> {
        let shown = folder.display();
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
            write().with_context(|| format!("failed to write `{}`", path.display()))?;
        }
        Ok(())
    }
}

/// Where the crate that guests are made with was when this was built.
const SDK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../guest-sdk");

/// The folder of the crate fuzzbox-guest, as an absolute path.
fn find_sdk(given: Option<&Path>) -> Result<PathBuf> {
    let folder = given.unwrap_or(Path::new(SDK));
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    if !manifest.lines().any(|line| line == "name = \"fuzzbox-guest\"") {
        let shown = folder.display();
        bail!(
            "the crate fuzzbox-guest is not in `{shown}`\nhelp: --sdk DIR, the folder `guest-sdk` of fuzzbox's sources"
        );
    }
    fs::canonicalize(folder).with_context(|| format!("failed to find `{}`", folder.display()))
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
        let guest = Guest::rust("x", Path::new("/a \"b\"\\c")).unwrap();
        assert!(guest.files[0].1.contains(r#"fuzzbox-guest = { path = "/a \"b\"\\c" }"#), "{}", guest.files[0].1);
    }
}
