//! A corpus as a directory that other fuzzers read: a file is an input.

use super::dir::{Dir, Kind};
use super::{State, Store};
use crate::id::InputId;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

/// What an export wrote.
#[derive(Debug, Default)]
pub struct Exported {
    /// Corpus entries in the directory now.
    pub inputs: u64,
    /// Findings in it now; in its `crashes` each distinct input once.
    pub findings: u64,
    /// One error for each that could not be read from the store.
    pub damaged: Vec<anyhow::Error>,
}

impl Store {
    /// Writes the corpus of `target` as `dir/<input id>`, and with `findings` the inputs that fail as
    /// `dir/crashes/<input id>`.
    ///
    /// libFuzzer and AFL++ read such a directory as it is. Files that are there with these names and lengths stay.
    ///
    /// # Errors
    ///
    /// Fails if a list can't be read or a file can't be written.
    pub fn export(&self, target: &str, dir: &Path, findings: bool) -> Result<Exported> {
        let dir = create(dir)?;
        let mut exported = self.export_but(target, &dir, &BTreeSet::new())?;
        if !findings {
            return Ok(exported);
        }
        let (good, damaged) = self.scan_findings(target)?;
        exported.damaged.extend(damaged);
        let crashes = dir.make_dir(Path::new("crashes"))?;
        let mut seen = BTreeSet::new();
        for finding in good.iter().filter(|finding| seen.insert(finding.input)) {
            match self.finding_input(finding) {
                Ok(bytes) => {
                    write(&crashes, finding.input.to_string(), &bytes)?;
                    exported.findings += 1;
                }
                Err(error) => exported.damaged.push(error),
            }
        }
        Ok(exported)
    }

    /// Writes the input of each finding of `target` as `dir/<finding id>`, whatever became of it, but for those that
    /// are ignored; without any, nothing is made. An id stands for one input, so what is there with its length stays.
    ///
    /// # Errors
    ///
    /// Like [`Store::export`].
    pub fn export_regressions(&self, target: &str, dir: &Path) -> Result<Exported> {
        let (findings, damaged) = self.scan_findings(target)?;
        let lives = self.lives(target, &findings)?;
        let mut exported = Exported { damaged, ..Exported::default() };
        for (finding, _) in findings.iter().zip(lives).filter(|(_, life)| life.state != State::Ignored) {
            match self.finding_input(finding) {
                Ok(bytes) => {
                    write(&create(dir)?, finding.id.to_string(), &bytes)?;
                    exported.findings += 1;
                }
                Err(error) => exported.damaged.push(error),
            }
        }
        Ok(exported)
    }

    /// Writes what the corpus of `target` has beside `known` as `dir/<input id>`; without any, nothing is made.
    ///
    /// # Errors
    ///
    /// Like [`Store::export`].
    pub fn export_new(&self, target: &str, dir: &Path, known: &BTreeSet<InputId>) -> Result<Exported> {
        if self.corpus(target)?.iter().all(|entry| known.contains(&entry.input)) {
            return Ok(Exported::default());
        }
        self.export_but(target, &create(dir)?, known)
    }

    fn export_but(&self, target: &str, dir: &Dir, known: &BTreeSet<InputId>) -> Result<Exported> {
        let mut exported = Exported::default();
        for entry in self.corpus(target)?.iter().filter(|entry| !known.contains(&entry.input)) {
            match self.get_input(entry.input) {
                Ok(bytes) => {
                    write(dir, entry.input.to_string(), &bytes)?;
                    exported.inputs += 1;
                }
                Err(error) => exported.damaged.push(error),
            }
        }
        Ok(exported)
    }
}

/// Writes an input that is called `name` into a directory that a person named, and makes that if it isn't there. A file
/// with this name and length stays.
///
/// # Errors
///
/// If it can't be written.
pub fn export_file(dir: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    write(&create(dir)?, name.to_owned(), bytes)
}

/// Opens a directory that a person named, and makes it if it isn't there. From there on no link is followed.
fn create(dir: &Path) -> Result<Dir> {
    let made = fs::create_dir_all(dir).and_then(|()| Dir::open(dir));
    made.with_context(|| format!("failed to create `{}`", dir.display()))
}

/// Writes one input through a temporary file, so that whoever reads the directory meanwhile sees whole inputs.
fn write(dir: &Dir, name: String, bytes: &[u8]) -> Result<()> {
    let path = dir.path().join(&name);
    let is_there = dir.kind(OsStr::new(&name))? == Some(Kind::File)
        && dir
            .open_file(Path::new(&name))?
            .is_some_and(|file| file.metadata().is_ok_and(|there| there.len() == bytes.len() as u64));
    if is_there {
        return Ok(());
    }
    let temporary = format!(".{name}.{}", std::process::id());
    let temporary = OsStr::new(&temporary);
    // Left by a process of the same number that was killed.
    drop(dir.remove_file(temporary));
    dir.write_new(temporary, bytes, 0o644, false)
        .and_then(|()| dir.rename(temporary, dir, OsStr::new(&name)))
        .inspect_err(|_| drop(dir.remove_file(temporary)))
        .with_context(|| format!("failed to write `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ModuleId;
    use crate::store::import_dir;

    #[test]
    fn what_is_exported_is_what_is_imported() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&dir.path().join("s")).unwrap();
        let batch = [&b"a"[..], b"bb", b""].map(|bytes| (InputId::of(bytes), bytes));
        store.add_to_corpus("t", ModuleId([1; 32]), &batch).unwrap();
        let out = dir.path().join("out/deep");
        for _ in 0..2 {
            let exported = store.export("t", &out, true).unwrap();
            assert_eq!((exported.inputs, exported.findings, exported.damaged.len()), (3, 0, 0));
        }
        let imported = import_dir(&out, 1024).unwrap();
        assert_eq!(imported.inputs.len(), 3);
        for (path, bytes) in imported.inputs {
            assert_eq!(path.file_name().unwrap().to_str().unwrap(), InputId::of(&bytes).to_string());
        }
        let (new, known) = (dir.path().join("new"), BTreeSet::from(batch.map(|(id, _)| id)));
        assert_eq!(store.export_new("t", &new, &known).unwrap().inputs, 0);
        assert!(!new.exists(), "nothing is made for nothing");
        let known = known.into_iter().filter(|id| *id != InputId::of(b"a")).collect();
        assert_eq!(store.export_new("t", &new, &known).unwrap().inputs, 1);
        assert_eq!(fs::read(new.join(InputId::of(b"a").to_string())).unwrap(), b"a");
    }
}
