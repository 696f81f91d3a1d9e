//! What is fuzzed: a guest of this repository, a C file that needs nothing else, or any other program by a description.
//!
//! A description is a JSON file, whose paths begin at its folder:
//!
//! ```json
//! { "module": "lua.wasm", "sources": ["harness.c", "src/lapi.c"], "flags": ["-Isrc"], "inputs": "seeds" }
//! ```

use super::Start;
use crate::bench::build::folder;
use crate::bench::native::{AS_DRIVERS_WANT_IT, guest_files};
use crate::cost;
use crate::guests::{self, CRASHES, tool};
use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program.
pub(super) struct Subject {
    pub(super) name: String,
    /// The module.
    pub(super) wasm: PathBuf,
    /// The inputs to begin with, if it has some.
    pub(super) inputs: Option<Vec<Vec<u8>>>,
    made_of: MadeOf,
}

enum MadeOf {
    /// C files with the flags of each.
    C(Vec<(PathBuf, Vec<String>)>),
    /// A package with a crash.
    Rust(String),
}

impl Subject {
    /// A program by what it is called on the command line.
    pub(super) fn find(name: &str) -> Result<Self> {
        let found = match Path::new(name).extension().and_then(|extension| extension.to_str()) {
            Some("json") => described(Path::new(name)),
            Some("c") => of_file(Path::new(name)),
            _ => of_guest(name),
        };
        found.with_context(|| format!("`{name}` can't be fuzzed by everybody"))
    }

    pub(super) fn is_rust(&self) -> bool {
        matches!(self.made_of, MadeOf::Rust(_))
    }

    /// The C files with the flags of each, with these for all; or the package in Rust.
    pub(super) fn parts(&self, instrumentation: &[String]) -> (Vec<(PathBuf, Vec<String>)>, Option<&str>) {
        match &self.made_of {
            MadeOf::C(files) => {
                let with = |(file, flags): &(PathBuf, Vec<String>)| {
                    (file.clone(), flags.iter().chain(instrumentation).cloned().collect())
                };
                (files.iter().map(with).collect(), None)
            }
            MadeOf::Rust(package) => (Vec::new(), Some(package)),
        }
    }

    /// Writes what campaigns begin with into a folder that is not there. (LibAFL looks into none whose name begins with a
    /// point, as those of temporary folders do.)
    pub(super) fn write_seeds(&self, start: Start, folder: &Path) -> Result<()> {
        fs::create_dir(folder).with_context(|| format!("failed to create `{}`", folder.display()))?;
        let nothing = [b"\n".to_vec()];
        let inputs = match start {
            Start::Seeds => self.inputs.as_deref().unwrap_or_default(),
            Start::Nothing => &nothing,
        };
        for (index, input) in inputs.iter().enumerate() {
            let path = folder.join(format!("{index:03}"));
            fs::write(&path, input).with_context(|| format!("failed to write `{}`", path.display()))?;
        }
        Ok(())
    }
}

fn of_guest(name: &str) -> Result<Subject> {
    let made_of = match CRASHES.contains(&name) && guests::is_crash_in_rust(name)? {
        true => MadeOf::Rust(name.to_owned()),
        false => MadeOf::C(guest_files(&guests::sources(name)?, &[])?),
    };
    let inputs = cost::GUESTS.contains(&name).then(|| cost::seeds(name)).transpose()?;
    Ok(Subject { name: name.to_owned(), wasm: crate::guest(name)?, inputs, made_of })
}

/// A file with a harness and all that it calls.
fn of_file(file: &Path) -> Result<Subject> {
    let name = stem(file)?;
    let wasm = folder(&name)?.join("search.wasm");
    let mut clang = Command::new(guests::clang()?);
    clang.args(["--target=wasm32-wasi", "-O2", "-g", "-w", "--no-wasm-opt", "-mexec-model=reactor"]).arg(file);
    clang.args(["LLVMFuzzerTestOneInput", "malloc", "free"].map(|function| format!("-Wl,--export={function}")));
    tool::run(clang.arg("-o").arg(&wasm))?;
    // Some have a `main` of their own for one fuzzer or another.
    let flags = ["-O2", "-g", "-Dmain=harness_main"].into_iter().chain(AS_DRIVERS_WANT_IT);
    let flags = flags.map(str::to_owned).collect();
    Ok(Subject { name, wasm, inputs: None, made_of: MadeOf::C(vec![(file.to_owned(), flags)]) })
}

fn described(file: &Path) -> Result<Subject> {
    let text = fs::read_to_string(file).with_context(|| format!("failed to read `{}`", file.display()))?;
    let value: Value = serde_json::from_str(&text).context("it is not JSON")?;
    let home = file.parent().filter(|home| !home.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let home = home.canonicalize().with_context(|| format!("failed to find `{}`", home.display()))?;
    let strings = |key: &str| -> Result<Vec<String>> {
        let Some(list) = value.get(key) else { return Ok(Vec::new()) };
        let string = |value: &Value| value.as_str().map(str::to_owned);
        let strings = list.as_array().and_then(|list| list.iter().map(string).collect());
        strings.with_context(|| format!("`{key}` is no list of strings"))
    };
    let path = |key: &str| value[key].as_str().map(|path| home.join(path));
    let sources = strings("sources")?;
    ensure!(!sources.is_empty(), "it names no `sources`");
    let mut flags = ["-O2", "-g"].map(str::to_owned).to_vec();
    flags.extend(strings("flags")?.iter().map(|flag| match flag.strip_prefix("-I") {
        Some(folder) => format!("-I{}", home.join(folder).display()),
        None => flag.clone(),
    }));
    flags.extend(AS_DRIVERS_WANT_IT.map(str::to_owned));
    Ok(Subject {
        name: stem(file)?,
        wasm: path("module").context("it names no `module`")?,
        inputs: path("inputs").map(|folder| cost::files(&folder)).transpose()?,
        made_of: MadeOf::C(sources.iter().map(|source| (home.join(source), flags.clone())).collect()),
    })
}

fn stem(file: &Path) -> Result<String> {
    let stem = file.file_stem().and_then(|stem| stem.to_str());
    Ok(stem.with_context(|| format!("`{}` has no name", file.display()))?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_begins_at_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        fs::create_dir(home.join("seeds")).unwrap();
        fs::write(home.join("seeds/a"), "1").unwrap();
        let text = r#"{"module":"a.wasm","sources":["a.c"],"flags":["-Iinclude","-DA"],"inputs":"seeds"}"#;
        fs::write(home.join("a.json"), text).unwrap();
        let subject = Subject::find(home.join("a.json").to_str().unwrap()).unwrap();
        assert_eq!((subject.name.as_str(), &subject.wasm), ("a", &home.join("a.wasm")));
        assert_eq!(subject.inputs, Some(vec![b"1".to_vec()]));
        let (files, _) = subject.parts(&["-fX".into()]);
        let (file, flags) = &files[0];
        assert_eq!(file, &home.join("a.c"));
        assert!(flags.contains(&format!("-I{}", home.join("include").display())) && flags.contains(&"-fX".into()));
    }

    #[test]
    fn what_a_description_lacks_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        for (text, missing) in [
            (r#"{"module":"a.wasm"}"#, "`sources`"),
            (r#"{"sources":["a.c"]}"#, "`module`"),
            (r#"{"module":"a.wasm","sources":"a.c"}"#, "`sources` is no list"),
            ("a", "not JSON"),
        ] {
            fs::write(&path, text).unwrap();
            let error = Subject::find(path.to_str().unwrap()).err().expect("no subject");
            assert!(format!("{error:#}").contains(missing), "{text}: {error:#}");
        }
    }
}
