//! Content-addressed objects, findings and corpora in a local directory.
//!
//! ```text
//! .fuzzbox/
//!   format                         `fuzzbox store 1`
//!   objects/ab/cdef...             modules, inputs and values, read only; a file's blake3 is its name
//!   targets/<name>/corpus          `<input id> <module id>` per line: worth keeping, and since which module
//!   targets/<name>/origin.json     path of the module, and the entry that was named
//!   targets/<name>/modules         `<module id> <object id>` per line: what was fuzzed, and the file it came from
//!   targets/<name>/findings/<id>/  input, finding.json, README.md with the line that reproduces it
//!   cache/<kind>/ab/cdef...        results and compiled code; may be deleted at any time
//!   lock, tmp/                     what keeps two processes apart, and what is being written
//! ```
//!
//! Three rules make a kill at any moment, a full disk and a second process harmless. What a name promises is written
//! completely before the name exists (`scratch`). Lists grow by whole lines, and a torn line is no line
//! (`record`). What takes several steps (keeping one finding per signature) is done under one lock, in an order in
//! which every prefix leaves a valid store: first the new, then away with the old.
//!
//! Nothing that is read is trusted. Objects and inputs are checked against their ids, `finding.json` and cache entries
//! against a checksum in them, all sizes against a limit, and what has a name that fuzzbox doesn't give is ignored.

mod cache;
mod corpus;
mod error;
mod export;
mod file;
mod finding;
mod id;
mod import;
mod object;
mod origin;
mod record;
mod resolve;
mod scratch;
mod seal;
mod target;

pub use corpus::{CorpusEntry, LoadedCorpus, ModuleEntry};
pub use error::StoreError;
pub use export::Exported;
pub use finding::{Drawn, FindingRecord, Former, StoredValue};
pub use id::{FindingId, InputId, ModuleId, ObjectId};
pub use import::{Imported, Skipped, import_dir};
pub use origin::Origin;
pub use resolve::Match;
pub use target::TargetSummary;

use anyhow::{Context, Result};
use scratch::{Durability, Scratch};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Largest object, and so the largest module file: 512 MiB.
pub const OBJECT_BYTES_MAX: u64 = 512 << 20;

/// Largest input: 64 MiB.
pub const INPUT_BYTES_MAX: u64 = 64 << 20;

/// Version of the layout above.
const VERSION: u64 = 1;

/// What `format` begins with; the version follows.
const FORMAT: &str = "fuzzbox store ";

/// An open store. Cheap to clone; all clones, threads and processes may use it at once.
#[derive(Clone, Debug)]
pub struct Store {
    shared: Arc<Shared>,
}

/// What the clones of a store have in common.
#[derive(Debug)]
struct Shared {
    root: PathBuf,
    /// Made by the first write: a store that is only read is left as it is.
    scratch: Mutex<Option<Arc<Scratch>>>,
}

/// The right to change several files as one. Carries the scratch directory, because making one takes the same lock.
struct Exclusive {
    scratch: Arc<Scratch>,
    _lock: File,
}

impl Store {
    /// Opens the store in `dir`; makes one if `dir` is missing, empty, or a store whose making was interrupted.
    ///
    /// # Errors
    ///
    /// [`StoreError::Future`] for a store of a later version, [`StoreError::Foreign`] for files and for directories
    /// that hold other things; plain errors name the path.
    pub fn open_or_create(dir: &Path) -> Result<Self> {
        if let Err(error) = fs::metadata(dir) {
            if error.kind() != io::ErrorKind::NotFound {
                return Err(error).with_context(|| format!("failed to open the store `{}`", dir.display()));
            }
            fs::create_dir_all(dir).with_context(|| format!("failed to create the store `{}`", dir.display()))?;
        }
        let store = Self::at(dir);
        let created = store.check_format()?;
        if !created {
            store.check_empty()?;
            store.exclusive()?.scratch.publish(
                format!("{FORMAT}{VERSION}\n").as_bytes(),
                0o644,
                &dir.join("format"),
                Durability::Name,
            )?;
        }
        let _exclusive = store.exclusive()?;
        Scratch::sweep(&dir.join("tmp"));
        Ok(store)
    }

    /// Opens the store in `dir` and creates nothing.
    ///
    /// # Errors
    ///
    /// Like [`Store::open_or_create`], and [`StoreError::Absent`] if there is none.
    pub fn open_existing(dir: &Path) -> Result<Self> {
        match fs::metadata(dir) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StoreError::Absent { path: dir.into() }.into());
            }
            Err(error) => {
                return Err(error).with_context(|| format!("failed to open the store `{}`", dir.display()));
            }
        }
        let store = Self::at(dir);
        if !store.check_format()? {
            store.check_empty()?;
            return Err(StoreError::Absent { path: dir.into() }.into());
        }
        Ok(store)
    }

    /// Looks for a directory `.fuzzbox` in `from` and in the directories above it.
    pub fn find(from: &Path) -> Option<PathBuf> {
        let from = std::path::absolute(from).ok()?;
        from.ancestors().map(|dir| dir.join(".fuzzbox")).find(|dir| dir.is_dir())
    }

    /// The directory, as it was given.
    pub fn root(&self) -> &Path {
        &self.shared.root
    }

    fn at(dir: &Path) -> Self {
        Self { shared: Arc::new(Shared { root: dir.into(), scratch: Mutex::new(None) }) }
    }

    /// A path below the root.
    fn path(&self, below: &str) -> PathBuf {
        self.shared.root.join(below)
    }

    /// Checks the version; false if the directory has none.
    fn check_format(&self) -> Result<bool> {
        if !self.root().is_dir() {
            return Err(StoreError::Foreign { path: self.root().into(), why: "it is not a directory".into() }.into());
        }
        let path = self.path("format");
        let Some(bytes) = file::read(&path, 64)? else { return Ok(false) };
        let text = String::from_utf8_lossy(&bytes);
        let version = text.strip_suffix('\n').and_then(|line| line.strip_prefix(FORMAT));
        match version.and_then(|version| version.parse().ok()) {
            Some(VERSION) => Ok(true),
            Some(version) if version > VERSION => {
                Err(StoreError::Future { path, version, version_max: VERSION }.into())
            }
            _ => {
                let why = format!("its `format` file says `{}`", text.escape_debug());
                Err(StoreError::Foreign { path: self.root().into(), why }.into())
            }
        }
    }

    /// Checks that a directory without a version holds nothing but what an interrupted making leaves.
    fn check_empty(&self) -> Result<()> {
        let mut names = file::list(self.root())?.into_iter().map(|(name, _)| name);
        let Some(other) = names.find(|name| !["format", "lock", "tmp"].iter().any(|ours| name == ours)) else {
            return Ok(());
        };
        // Another process may have finished making it since.
        if self.check_format()? {
            return Ok(());
        }
        let why = format!("it has no `format` file, but holds `{}`", other.to_string_lossy().escape_debug());
        Err(StoreError::Foreign { path: self.root().into(), why }.into())
    }

    /// This process' directory for what is being written.
    fn scratch(&self) -> Result<Arc<Scratch>> {
        let mut slot = self.shared.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(scratch) = &*slot {
            return Ok(scratch.clone());
        }
        let _lock = scratch::lock(&self.path("lock"))?;
        let scratch = Arc::new(Scratch::create(&self.path("tmp"))?);
        *slot = Some(scratch.clone());
        Ok(scratch)
    }

    /// Waits until no other thread or process changes several files as one. Not reentrant.
    fn exclusive(&self) -> Result<Exclusive> {
        // In this order, or two threads could wait for each other: one for the slot, one for the lock.
        let scratch = self.scratch()?;
        let lock = scratch::lock(&self.path("lock"))?;
        Ok(Exclusive { scratch, _lock: lock })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(result: Result<Store>) -> StoreError {
        result.unwrap_err().downcast().unwrap()
    }

    #[test]
    fn a_store_is_made_where_nothing_is_and_found_from_below() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("a/.fuzzbox");
        assert!(matches!(error(Store::open_existing(&root)), StoreError::Absent { .. }));
        assert!(!root.exists());
        Store::open_or_create(&root).unwrap();
        assert_eq!(fs::read_to_string(root.join("format")).unwrap(), "fuzzbox store 1\n");
        let below = dir.path().join("a/b/c");
        fs::create_dir_all(&below).unwrap();
        assert_eq!(Store::find(&below), Some(root.clone()));
        assert_eq!(Store::find(&root), Some(root.clone()));
        Store::open_or_create(&root).unwrap();
        Store::open_existing(&root).unwrap();
    }

    #[test]
    fn a_store_of_a_later_version_is_refused_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("format"), "fuzzbox store 2\n").unwrap();
        for open in [Store::open_or_create, Store::open_existing] {
            let error = error(open(dir.path()));
            assert!(matches!(error, StoreError::Future { version: 2, .. }));
            assert!(error.to_string().ends_with("was written by a newer fuzzbox (version 2, this one reads up to 1)"));
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_no_store_is_refused_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let used = dir.path().join("used");
        fs::create_dir_all(used.join("src")).unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        for open in [Store::open_or_create, Store::open_existing] {
            assert!(matches!(error(open(&used)), StoreError::Foreign { .. }));
            assert!(matches!(error(open(&file)), StoreError::Foreign { .. }));
        }
        assert_eq!(fs::read_dir(&used).unwrap().count(), 1);
        for format in [
            "",
            "fuzzbox store 0\n",
            "fuzzbox store 1",
            "fuzzbox store one\n",
            "\0",
            "fuzzbox store 99999999999999999999\n",
        ] {
            fs::write(used.join("format"), format).unwrap();
            assert!(matches!(error(Store::open_existing(&used)), StoreError::Foreign { .. }), "{format:?}");
        }
    }

    #[test]
    fn a_store_whose_making_was_interrupted_is_made_again() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("tmp/1-0")).unwrap();
        fs::write(dir.path().join("lock"), "").unwrap();
        fs::write(dir.path().join("tmp/1-0/0"), "fuzzbox sto").unwrap();
        assert!(matches!(error(Store::open_existing(dir.path())), StoreError::Absent { .. }));
        Store::open_or_create(dir.path()).unwrap();
        Store::open_existing(dir.path()).unwrap();
    }

    #[test]
    fn what_dead_processes_left_is_swept_and_what_live_ones_write_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let live = Store::open_or_create(dir.path()).unwrap();
        let scratch = live.scratch().unwrap();
        fs::write(scratch.fresh(), "being written").unwrap();
        // The process id of a dead one may be in use again, here by ourselves.
        let dead = dir.path().join(format!("tmp/{}-77", std::process::id()));
        fs::create_dir_all(dead.join("5")).unwrap();
        fs::write(dead.join("lock"), "").unwrap();
        fs::write(dead.join("5/finding.json"), "{").unwrap();
        fs::write(dir.path().join("tmp/stray"), "").unwrap();

        let second = Store::open_or_create(dir.path()).unwrap();
        assert_eq!(fs::read_dir(dir.path().join("tmp")).unwrap().count(), 2, "those of the two open stores");
        second.put(b"x").unwrap();
        drop(second);
        assert_eq!(fs::read_dir(dir.path().join("tmp")).unwrap().count(), 1);
        live.put(b"y").unwrap();
    }

    #[test]
    fn a_store_that_is_only_read_is_left_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let id = Store::open_or_create(dir.path()).unwrap().put(b"x").unwrap();
        fs::remove_dir(dir.path().join("tmp")).unwrap();
        fs::remove_file(dir.path().join("lock")).unwrap();
        let store = Store::open_existing(dir.path()).unwrap();
        store.get(id).unwrap();
        store.targets().unwrap();
        store.resolve(&id.to_string()).unwrap();
        assert_eq!(store.cache_get("result", &[0; 32]), None);
        assert!(!dir.path().join("tmp").exists() && !dir.path().join("lock").exists());
    }
}
