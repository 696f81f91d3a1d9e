//! A corpus as a directory that other fuzzers read: a file is an input.

use super::Store;
use super::dir::{Dir, Kind};
use crate::id::InputId;
use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

/// What an export wrote.
#[derive(Debug, Default)]
pub struct Exported {
    /// Corpus entries in the directory now.
    pub inputs: u64,
    /// Findings in its `crashes` now, each distinct input once.
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
        let mut exported = Exported::default();
        let dir = create(dir)?;
        for entry in self.corpus(target)? {
            match self.get_input(entry.input) {
                Ok(bytes) => {
                    write(&dir, entry.input, &bytes)?;
                    exported.inputs += 1;
                }
                Err(error) => exported.damaged.push(error),
            }
        }
        if !findings {
            return Ok(exported);
        }
        let (good, damaged) = self.scan_findings(target)?;
        exported.damaged.extend(damaged);
        let crashes = dir.make_dir(Path::new("crashes"))?;
        let mut seen = std::collections::BTreeSet::new();
        for finding in good.iter().filter(|finding| seen.insert(finding.input)) {
            match self.finding_input(finding) {
                Ok(bytes) => {
                    write(&crashes, finding.input, &bytes)?;
                    exported.findings += 1;
                }
                Err(error) => exported.damaged.push(error),
            }
        }
        Ok(exported)
    }
}

/// Opens a directory that a person named, and makes it if it isn't there. From there on no link is followed.
fn create(dir: &Path) -> Result<Dir> {
    let made = fs::create_dir_all(dir).and_then(|()| Dir::open(dir));
    made.with_context(|| format!("failed to create `{}`", dir.display()))
}

/// Writes one input through a temporary file, so that whoever reads the directory meanwhile sees whole inputs.
fn write(dir: &Dir, id: InputId, bytes: &[u8]) -> Result<()> {
    let name = id.to_string();
    let path = dir.path().join(&name);
    let is_there = dir.kind(OsStr::new(&name))? == Some(Kind::File)
        && dir
            .open_file(Path::new(&name))?
            .is_some_and(|file| file.metadata().is_ok_and(|there| there.len() == bytes.len() as u64));
    if is_there {
        return Ok(());
    }
    let temporary = format!(".{id}.{}", std::process::id());
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
    }
}
