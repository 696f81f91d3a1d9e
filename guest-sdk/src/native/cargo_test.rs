//! What the test of a property does.

use super::catch::{Outcome, Run, caught, run};
use super::choice::{decode, encode};
use super::entropy::Seed;
use super::search::{Failure, Search};
use super::tape::Input;
use crate::Source;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::string::{String, ToString as _};
use std::vec::Vec;
use std::{env, format};

/// Checks the bytes of a value; false if they are no value.
pub type CheckBytes = dyn Fn(&[u8]) -> bool;

/// A property, as [`crate::property!`] tells it.
#[derive(Clone, Copy)]
pub struct Property<'a> {
    /// The function's name.
    pub name: &'a str,
    /// The folder of its package.
    pub folder: &'a str,
    /// The property.
    pub run: &'a dyn Fn(&mut Source),
    /// For properties in two parts: checks a value.
    pub check: Option<&'a CheckBytes>,
}

impl std::fmt::Debug for Property<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Property").field("name", &self.name).field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// Tests a property.
///
/// First the files in `cases/<name>/` of its package, in the order of their names: `*.value` holds the bytes of a value, for
/// properties in two parts; `*.seed` a seed as text; every other file a stream. Then a [`Search`]. Variables of the environment
/// change that:
///
/// | variable | instead |
/// | --- | --- |
/// | `FUZZBOX_SEED=0x...` | only this seed |
/// | `FUZZBOX_STREAM=path` | only the stream in this file |
/// | `FUZZBOX_STREAM=7f3a` | only the stream with this id in fuzzbox's store, or that of the finding with this id; at least four digits. The store is `.fuzzbox` in the package's folder or one above, or `FUZZBOX_STORE` |
/// | `FUZZBOX_STREAM=hex:0204` | only this stream |
/// | `FUZZBOX_RUNS=10000` | a longer search; 1000 executions if nothing is said |
/// | `FUZZBOX_SEARCH=1` | another search |
/// | `FUZZBOX_KEEP=1` | the same; and a failure that is found is kept in `cases/<name>/`: its value if there is one, else its stream |
///
/// # Panics
///
/// If the property does not hold, with what is needed to see it again; and if a variable or a file can't be read.
pub fn check(property: &Property<'_>) {
    if let Ok(text) = env::var("FUZZBOX_SEED") {
        let Some(seed) = Seed::parse(&text) else { panic!("`FUZZBOX_SEED={text}` is no seed") };
        return expect(property, seed.into(), &format!("seed {seed}"));
    }
    if let Ok(name) = env::var("FUZZBOX_STREAM") {
        let bytes = stream(&name, Path::new(property.folder));
        let bytes = bytes.unwrap_or_else(|error| panic!("failed to read `FUZZBOX_STREAM={name}`: {error}"));
        return expect(property, decode(&bytes).into(), &format!("stream `{name}`"));
    }
    cases(property);
    let search =
        Search { runs: number("FUZZBOX_RUNS", 1000) as u32, number: number("FUZZBOX_SEARCH", 0), ..Search::default() };
    if let Some(failure) = search.find(property.name, property.run) {
        let found = format!("seed {}, found after {} runs", failure.seed, failure.runs);
        let mut again = format!("FUZZBOX_SEED={} cargo test {}", failure.seed, property.name);
        if env::var_os("FUZZBOX_KEEP").is_some() {
            let path = keep(property, &failure).unwrap_or_else(|error| panic!("failed to keep the failure: {error}"));
            let _ = write!(again, "\nkept: {}", path.display());
        }
        panic!("{}", report(property.name, &failure.run, &found, Some(&again)));
    }
}

/// Writes a failure where it is tested first from now on.
fn keep(property: &Property<'_>, failure: &Failure) -> std::io::Result<PathBuf> {
    let folder = Path::new(property.folder).join("cases").join(property.name);
    fs::create_dir_all(&folder)?;
    let (name, bytes) = match &failure.run.value {
        Some(value) => (format!("{}.value", failure.seed), value.bytes.clone()),
        None => (failure.seed.to_string(), encode(&failure.run.choices)),
    };
    let path = folder.join(name);
    fs::write(&path, bytes)?;
    Ok(path)
}

fn number(variable: &str, default: u64) -> u64 {
    match env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("`{variable}={text}` is no number")),
        Err(_) => default,
    }
}

/// Runs it once; says how it went, and panics if it fails.
fn expect(property: &Property<'_>, input: Input, what: &str) {
    let run = run(input, property.run);
    if run.outcome.is_failure() {
        panic!("{}", report(property.name, &run, what, None));
    }
    std::println!("{what}: {}", how(&run.outcome));
    run.notes.iter().for_each(|note| std::println!("  {note}"));
}

fn how(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Passed => "passes".to_string(),
        Outcome::Rejected(why) => format!("is rejected: {why}"),
        Outcome::Overrun => format!("makes more than {} choices", super::CHOICES_MAX),
        Outcome::Failed(why) => format!("fails: {why}"),
    }
}

/// Bytes of a stream that are printed with a failure.
const PRINTED_LEN_MAX: usize = 256;

fn report(name: &str, run: &Run, found: &str, again: Option<&str>) -> String {
    let mut text = format!("property `{name}` {}\n", how(&run.outcome));
    for note in &run.notes {
        text.push_str("  ");
        text.push_str(note);
        text.push('\n');
    }
    text.push_str(found);
    if let Some(again) = again {
        let _ = write!(text, "\nagain: {again}");
    }
    let stream = encode(&run.choices);
    if stream.len() <= PRINTED_LEN_MAX {
        let hex: String = stream.iter().map(|byte| format!("{byte:02x}")).collect();
        let _ = write!(text, "\nstream: FUZZBOX_STREAM=hex:{hex}");
    }
    text
}

/// Runs the files of a property.
fn cases(property: &Property<'_>) {
    let folder = Path::new(property.folder).join("cases").join(property.name);
    let Ok(entries) = fs::read_dir(&folder) else { return };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.is_file());
    files.sort();
    for path in files {
        let what = format!("case `{}`", path.display());
        let bytes = fs::read(&path).unwrap_or_else(|error| panic!("failed to read {what}: {error}"));
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("value") => check_value(property, &bytes, &what),
            Some("seed") => {
                let seed = std::str::from_utf8(&bytes).ok().and_then(Seed::parse);
                expect(property, seed.unwrap_or_else(|| panic!("{what} is no seed")).into(), &what);
            }
            _ => expect(property, decode(&bytes).into(), &what),
        }
    }
}

fn check_value(property: &Property<'_>, bytes: &[u8], what: &str) {
    let Some(check) = property.check else { panic!("{what} is a value, but `{}` has no check", property.name) };
    let mut is_value = true;
    let outcome = caught(|| is_value = check(bytes));
    assert!(is_value, "{what} is no value of `{}`", property.name);
    assert!(!outcome.is_failure(), "{what} of property `{}` {}", property.name, how(&outcome));
}

/// The bytes of a stream, by file, by id or as they are.
fn stream(name: &str, folder: &Path) -> Result<Vec<u8>, String> {
    if let Some(hex) = name.strip_prefix("hex:") {
        let digits = hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        return digits.collect::<Option<_>>().ok_or_else(|| "these are no hexadecimal digits".into());
    }
    let path = Path::new(name);
    let candidates = [path.to_path_buf(), folder.join(path)];
    let path = match candidates.into_iter().find(|path| path.is_file()) {
        Some(path) => path,
        None => stored(name, folder)?,
    };
    fs::read(&path).map_err(|error| format!("`{}`: {error}", path.display()))
}

/// The file in fuzzbox's store whose id begins like this: an object, or the input of a finding.
fn stored(id: &str, folder: &Path) -> Result<PathBuf, String> {
    if id.len() < 4 || !id.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err("there is no such file, and it is no id".into());
    }
    let store = match env::var_os("FUZZBOX_STORE") {
        Some(store) => Some(PathBuf::from(store)),
        None => folder.ancestors().map(|folder| folder.join(".fuzzbox")).find(|store| store.is_dir()),
    };
    let store = store.ok_or("there is no such file, and no store `.fuzzbox`")?;
    let id = id.to_ascii_lowercase();
    let (first, rest) = id.split_at(2);
    let mut found = beginning_with(&store.join("objects").join(first), rest);
    for target in entries(&store.join("targets")) {
        let findings = beginning_with(&target.join("findings"), &id);
        found.extend(findings.into_iter().map(|finding| finding.join("input")));
    }
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(format!("nothing in `{}` has this id", store.display())),
        several => Err(format!("{} things in `{}` have ids that begin so", several.len(), store.display())),
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

fn beginning_with(folder: &Path, start: &str) -> Vec<PathBuf> {
    let mut paths = entries(folder);
    paths.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start)));
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with a store: an object, and a finding with an input.
    fn with_store(name: &str, test: impl FnOnce(&Path)) {
        let folder = env::temp_dir().join(format!("fuzzbox-{name}-{}", std::process::id()));
        let store = folder.join(".fuzzbox");
        let object = store.join("objects/7f");
        let finding = store.join("targets/my-guest/findings/c0ffee11");
        fs::create_dir_all(&object).and_then(|()| fs::create_dir_all(&finding)).expect("folders");
        fs::write(object.join("3a55"), [2]).expect("an object");
        fs::write(object.join("3a66"), [3]).expect("another one");
        fs::write(finding.join("input"), [4]).expect("an input");
        test(&folder.join("package"));
        fs::remove_dir_all(&folder).expect("it was there");
    }

    #[test]
    fn streams_are_found_by_the_beginning_of_their_id() {
        with_store("ids", |package| {
            assert_eq!(stream("7f3a5", package), Ok([2].to_vec()));
            assert_eq!(stream("C0FF", package), Ok([4].to_vec()));
            assert!(stream("7f3a", package).is_err_and(|error| error.starts_with("2 things in")));
            assert!(stream("7f99", package).is_err_and(|error| error.starts_with("nothing in")));
            assert!(stream("7f3", package).is_err_and(|error| error.contains("no id")));
        });
    }

    #[test]
    fn streams_are_read_from_files_and_digits() {
        with_store("files", |package| {
            let file = package.parent().expect("a folder").join(".fuzzbox/objects/7f/3a66");
            assert_eq!(stream(file.to_str().expect("text"), package), Ok([3].to_vec()));
            assert_eq!(stream("hex:02ff", package), Ok([2, 255].to_vec()));
            assert!(stream("hex:0", package).is_ok_and(|bytes| bytes == [0]));
            assert!(stream("hex:zz", package).is_err());
        });
    }
}
