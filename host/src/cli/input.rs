//! Inputs as they are typed: a file, a directory of files, or a hash.

use super::exit::{Fault, UserError};
use super::write::{shown, warning};
use crate::settings::Settings;
use crate::store::{Imported, Match, Store, StoreError, import_dir, import_found_dir};
use crate::text::{printable, size};
use anyhow::{Context, Result, anyhow, ensure};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Reads the inputs that `typed` means, with a name to show for each: a file, the files of a directory, or the object
/// with this hash prefix in the store that `store` opens.
pub(super) fn read(
    typed: &str,
    settings: &Settings,
    store: impl FnOnce() -> Result<Store, Fault>,
) -> Result<Vec<(String, Vec<u8>)>, Fault> {
    let path = Path::new(typed);
    if path.is_dir() {
        let inputs = read_dir(path, settings).blame_user()?;
        return Ok(inputs.into_iter().map(|(path, bytes)| (shown(&path), bytes)).collect());
    }
    if path.exists() {
        let read = || read_at_most(path, settings.input_bytes_max.into(), "\nhelp: raise it with --input-bytes-max");
        let bytes = read().with_context(|| format!("failed to read input `{}`", printable(typed))).blame_user()?;
        return Ok(vec![(typed.to_owned(), bytes)]);
    }
    let is_hash = typed.len() >= 4 && typed.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hash {
        return Err(anyhow!("there is no file `{}`, and it is not a hash", printable(typed))).blame_user();
    }
    let store = store()?;
    let object = match &one_match(&store, typed)? {
        Match::Finding { input, .. } | Match::Input { id: input, .. } => (*input).into(),
        Match::Module { object, .. } | Match::Object(object) => *object,
    };
    Ok(vec![(typed.to_owned(), store.get(object)?)])
}

/// Reads a file of at most `bytes_max` bytes, and no more of one that has no end (`/dev/zero`, a pipe). `help` says how
/// to raise the limit.
pub(super) fn read_at_most(path: &Path, bytes_max: u64, help: &str) -> Result<Vec<u8>> {
    let file = std::fs::File::open(path)?;
    let metadata = file.metadata()?;
    ensure!(!metadata.is_dir(), "it is a directory");
    let check = |bytes: u64| {
        ensure!(bytes <= bytes_max, "it is larger than {}, the limit{help}", size(bytes_max));
        Ok(())
    };
    // A pipe or a device has no length to ask for.
    check(metadata.len())?;
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    check(bytes.len() as u64)?;
    Ok(bytes)
}

/// Refuses an input that is longer than the limit.
pub(super) fn check_len(name: &str, bytes: &[u8], settings: &Settings) -> Result<(), Fault> {
    let limit = settings.input_bytes_max as usize;
    if bytes.len() > limit {
        let name = printable(name);
        let (len, limit) = (size(bytes.len() as u64), size(limit as u64));
        let error = anyhow!("input `{name}` has {len}, the limit is {limit}\nhelp: raise it with --input-bytes-max");
        return Err(error).blame_user();
    }
    Ok(())
}

/// Reads all inputs below `dir` that are not too long, sorted by path; says which were left out.
pub(super) fn read_dir(dir: &Path, settings: &Settings) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    Ok(import(dir, settings)?.inputs)
}

/// As [`read_dir`], with what was left out.
pub(super) fn import(dir: &Path, settings: &Settings) -> Result<Imported> {
    tell_skipped(dir, import_dir(dir, settings.input_bytes_max.into()))
}

/// As [`read_dir`] for a directory that nobody named: no link in it is followed.
pub(super) fn read_found_dir(dir: &Path, settings: &Settings) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    Ok(tell_skipped(dir, import_found_dir(dir, settings.input_bytes_max.into()))?.inputs)
}

fn tell_skipped(dir: &Path, imported: Result<Imported>) -> Result<Imported> {
    let imported = imported.with_context(|| format!("failed to read inputs from `{}`", shown(dir)))?;
    for skipped in imported.skipped.iter().filter(|skipped| !skipped.expected) {
        warning!("skipped `{}`: {}", shown(&skipped.path), skipped.why);
    }
    Ok(imported)
}

/// All things in the store that `prefix` can mean.
pub(super) fn resolve(store: &Store, prefix: &str) -> Result<Vec<Match>, Fault> {
    match store.resolve(prefix) {
        Err(error) if matches!(error.downcast_ref(), Some(StoreError::Prefix { .. })) => Err(error).blame_user(),
        matches => Ok(matches?),
    }
}

/// The one thing in the store that `prefix` means.
pub(super) fn one_match(store: &Store, prefix: &str) -> Result<Match, Fault> {
    let mut matches = resolve(store, prefix)?;
    // What a finding is does not depend on the name that its target has.
    matches.dedup_by(|b, a| matches!((a, b), (Match::Finding { id: a, .. }, Match::Finding { id: b, .. }) if a == b));
    match matches.len() {
        0 => Err(anyhow!("nothing in the store `{}` has a hash that begins with `{prefix}`", shown(store.root())))
            .blame_user(),
        1 => Ok(matches.remove(0)),
        _ => {
            let list: Vec<_> = matches.iter().map(ToString::to_string).collect();
            Err(anyhow!("`{prefix}` is ambiguous:\n{}\nhelp: give more digits", list.join("\n"))).blame_user()
        }
    }
}
