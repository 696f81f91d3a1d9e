//! Content-addressed objects, findings and corpora in a local directory.
//!
//! ```text
//! .fuzzbox/
//!   format                         `fuzzbox store 1`
//!   objects/ab/cdef...             modules, inputs and values, read only; a file's blake3 is its name
//!   targets/<name>/corpus          `<input id> <module id>` per line: worth keeping, and since which module
//!   targets/<name>/origin.json     path of the module, and the entry that was named
//!   targets/<name>/modules         `<module id> <object id>` per line: what was fuzzed, and the file it came from
//!   targets/<name>/learned          what campaigns learned beside the corpus; may be deleted
//!   targets/<name>/findings/<id>/  input, finding.json, README.md with the line that reproduces it
//!   targets/<name>/verdicts        `<finding id> <module id> <word>` per line: what became of a finding on which build
//!   targets/<name>/ignored         `<hash of a signature> <finding id>` per line: failures nobody wants to hear of
//!   lock, tmp/                     what keeps two processes apart, and what is being written
//! ```
//!
//! Three rules make a kill at any moment, a full disk and a second process harmless. What a name promises is written
//! completely before the name exists (`scratch`). Lists grow by whole lines, and a torn line is no line
//! (`record`). What takes several steps (keeping one finding per signature) is done under one lock, in an order in
//! which every prefix leaves a valid store: first the new, then away with the old.
//!
//! Nothing that is read is trusted: a store is data that somebody else may have made. Objects and inputs are checked
//! against their ids, `finding.json` against a checksum in it, all sizes against a limit, and what has a name that
//! fuzzbox doesn't give is ignored (`cache/`, where earlier versions kept compiled code, too). Every file and directory
//! is opened relative to the one that it is in, and through no link ([`Dir`]).
//!
//! # Files
//!
//! Content-addressed objects, corpora, findings (`finding/record` is what their files say); `dir` is the door to
//! all of it: directories entered name by name, through no link.
//!
//! # A store is data, the cache is code
//!
//! A store is data, the cache is code. Stores are passed on, so whoever unpacks one owns it, and neither owner nor
//! checksum says who made it. What is run as it is found, compiled code, lies in the user's cache directory, with
//! checksums keyed by a secret that is there too; stores have none.

mod corpus;
pub(crate) mod dir;
mod error;
mod export;
mod finding;
mod folder;
mod import;
mod learned;
mod life;
mod object;
mod origin;
mod record;
mod resolve;
mod scratch;
mod seal;
mod target;

pub use corpus::{CorpusEntry, LoadedCorpus, ModuleEntry};
pub use dir::Dir;
pub use error::StoreError;
pub use export::{Exported, export_file};
pub use finding::{Drawn, FindingRecord, Former, StoredValue};
pub use folder::TargetFolder;
pub use import::{Imported, Skipped, import_dir, import_found_dir, import_kind};
pub use life::{Fate, Life, State, Verdict};
pub use origin::Origin;
pub use resolve::Match;
pub use target::TargetSummary;

use crate::settings::Settings;
use anyhow::{Context, Result};
use fuzzbox_instrument::MODULE_BYTES_MAX;
use scratch::{Durability, Scratch};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Largest object, and so the largest module file: 512 MiB. With debug information a file may be larger than what is
/// executed of it.
pub const OBJECT_BYTES_MAX: u64 = 512 << 20;

/// Largest input: what settings may allow at most.
pub const INPUT_BYTES_MAX: u64 = Settings::INPUT_BYTES_MAX as u64;

const _: () = {
    assert!(OBJECT_BYTES_MAX >= MODULE_BYTES_MAX as u64, "what can be rewritten can be stored");
    assert!(OBJECT_BYTES_MAX >= INPUT_BYTES_MAX, "inputs are objects");
};

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
    root: Arc<Dir>,
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
        let root = match open(dir)? {
            Some(root) => root,
            None => {
                fs::create_dir_all(dir).with_context(|| format!("failed to create the store `{}`", dir.display()))?;
                open(dir)?.with_context(|| format!("somebody removed the store `{}`", dir.display()))?
            }
        };
        Self::in_or_made(root)
    }

    /// Opens the store in `dir` and creates nothing.
    ///
    /// # Errors
    ///
    /// Like [`Store::open_or_create`], and [`StoreError::Absent`] if there is none.
    pub fn open_existing(dir: &Path) -> Result<Self> {
        Self::existing(open(dir)?.ok_or_else(|| StoreError::Absent { path: dir.into() })?)
    }

    /// Looks for a directory `.fuzzbox` in `from` and in the directories above it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Stray`] if it is a link, or somebody else's: nobody named it, so it may be there to be found.
    pub fn find(from: &Path) -> Result<Option<StoreLocation>> {
        let from = std::path::absolute(from).context("failed to find the current directory")?;
        let is_one = |path: &Path| fs::symlink_metadata(path).is_ok_and(|there| there.is_dir() || there.is_symlink());
        let Some(path) = from.ancestors().map(|dir| dir.join(".fuzzbox")).find(|path| is_one(path)) else {
            return Ok(None);
        };
        let stray = |why| StoreError::Stray { path: path.clone(), why };
        let root = match Dir::open_no_link(&path) {
            Ok(root) => root,
            Err(_) if fs::symlink_metadata(&path).is_ok_and(|there| there.is_symlink()) => {
                return Err(stray("is a symbolic link").into());
            }
            Err(error) => return Err(error).with_context(|| format!("failed to open the store `{}`", path.display())),
        };
        let access = root.access().with_context(|| format!("failed to open the store `{}`", path.display()))?;
        if Some(access.uid) != dir::own_uid() {
            return Err(stray("belongs to somebody else").into());
        }
        Ok(Some(StoreLocation { root }))
    }

    /// The directory, as it was given.
    pub fn root(&self) -> &Path {
        self.shared.root.path()
    }

    fn at(root: Dir) -> Self {
        Self { shared: Arc::new(Shared { root: Arc::new(root), scratch: Mutex::new(None) }) }
    }

    fn in_or_made(root: Dir) -> Result<Self> {
        let store = Self::at(root);
        if !store.check_format()? {
            store.check_empty()?;
            let format = format!("{FORMAT}{VERSION}\n");
            store.exclusive()?.scratch.publish(format.as_bytes(), 0o644, Path::new("format"), Durability::Name)?;
        }
        let exclusive = store.exclusive()?;
        Scratch::sweep(store.dir())?;
        drop(exclusive);
        Ok(store)
    }

    fn existing(root: Dir) -> Result<Self> {
        let store = Self::at(root);
        if !store.check_format()? {
            store.check_empty()?;
            return Err(StoreError::Absent { path: store.root().into() }.into());
        }
        Ok(store)
    }

    /// The door to all that is in it.
    fn dir(&self) -> &Dir {
        &self.shared.root
    }

    /// Checks the version; false if the directory has none.
    fn check_format(&self) -> Result<bool> {
        let path = self.root().join("format");
        let Some(bytes) = self.dir().read(Path::new("format"), 64)? else { return Ok(false) };
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
        let mut names = self.dir().list()?.into_iter().map(|(name, _)| name);
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
        let _lock = scratch::lock(self.dir())?;
        let scratch = Arc::new(Scratch::create(&self.shared.root)?);
        *slot = Some(scratch.clone());
        Ok(scratch)
    }

    /// Waits until no other thread or process changes several files as one. Not reentrant.
    fn exclusive(&self) -> Result<Exclusive> {
        // In this order, or two threads could wait for each other: one for the slot, one for the lock.
        let scratch = self.scratch()?;
        let lock = scratch::lock(self.dir())?;
        Ok(Exclusive { scratch, _lock: lock })
    }
}

/// A store that was found by looking upwards: this user's, and reached by no link.
#[derive(Debug)]
pub struct StoreLocation {
    root: Dir,
}

impl StoreLocation {
    /// Where it is.
    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// Opens it, and makes it if its making was interrupted.
    ///
    /// # Errors
    ///
    /// Like [`Store::open_or_create`].
    pub fn open_or_create(self) -> Result<Store> {
        Store::in_or_made(self.root)
    }

    /// Opens it and creates nothing.
    ///
    /// # Errors
    ///
    /// Like [`Store::open_existing`].
    pub fn open_existing(self) -> Result<Store> {
        Store::existing(self.root)
    }
}

/// Opens a store's directory at a path that was typed; `None` if there is nothing.
fn open(path: &Path) -> Result<Option<Dir>> {
    match Dir::open(path) {
        Ok(root) => Ok(Some(root)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(StoreError::Foreign { path: path.into(), why: "it is not a directory".into() }.into())
        }
        Err(error) => Err(error).with_context(|| format!("failed to open the store `{}`", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

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
        for from in [&below, &root] {
            let found = Store::find(from).unwrap().unwrap();
            assert_eq!(found.path(), root);
            found.open_existing().unwrap();
        }
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
        scratch.dir().unwrap().write_new(scratch.fresh().as_ref(), b"being written", 0o644, false).unwrap();
        // The process id of a dead one may be in use again, here by ourselves.
        let dead = dir.path().join(format!("tmp/{}-77", std::process::id()));
        fs::create_dir_all(dead.join("5")).unwrap();
        fs::write(dead.join("lock"), "").unwrap();
        fs::write(dead.join("5/finding.json"), "{").unwrap();

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
        assert!(!dir.path().join("tmp").exists() && !dir.path().join("lock").exists());
    }

    #[test]
    fn only_directories_that_are_named_as_ours_are_swept_and_no_link_leads_out() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("s");
        drop(Store::open_or_create(&root).unwrap());
        let outside = dir.path().join("outside");
        fs::create_dir_all(outside.join("1-0")).unwrap();
        fs::write(outside.join("1-0/kept"), "").unwrap();
        let tmp = root.join("tmp");
        for name in ["1-0x", "a-1", "-1", "1-", "1", "-", "1-2-3"] {
            fs::create_dir(tmp.join(name)).unwrap();
        }
        fs::write(tmp.join("3-3"), "").unwrap();
        symlink(&outside, tmp.join("4-4")).unwrap();
        fs::create_dir(tmp.join("5-5")).unwrap();
        symlink(&outside, tmp.join("5-5/0")).unwrap();
        fs::create_dir(tmp.join("6-6")).unwrap();
        symlink(outside.join("1-0/kept"), tmp.join("6-6/lock")).unwrap();
        drop(Store::open_or_create(&root).unwrap());
        let mut left: Vec<_> = fs::read_dir(&tmp).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["-", "-1", "1", "1-", "1-0x", "1-2-3", "3-3", "4-4", "6-6", "a-1"]);
        assert!(outside.join("1-0/kept").exists());

        fs::remove_dir_all(&tmp).unwrap();
        symlink(&outside, &tmp).unwrap();
        let error = error(Store::open_or_create(&root));
        assert_eq!(error.to_string(), format!("`{}` is damaged: it is a symbolic link", tmp.display()));
        assert!(outside.join("1-0/kept").exists());
    }

    #[test]
    fn a_store_that_is_found_must_be_the_users_and_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let (named, from) = (dir.path().join("named"), dir.path().join("from"));
        drop(Store::open_or_create(&named).unwrap());
        fs::create_dir(&from).unwrap();
        let stray = || Store::find(&from).unwrap_err().downcast::<StoreError>().unwrap().to_string();
        symlink(&named, from.join(".fuzzbox")).unwrap();
        assert!(stray().ends_with("is a symbolic link"), "{}", stray());
        Store::open_existing(&from.join(".fuzzbox")).unwrap();
        // Only root can give a directory away.
        fs::remove_file(from.join(".fuzzbox")).unwrap();
        drop(Store::open_or_create(&from.join(".fuzzbox")).unwrap());
        assert!(Store::find(&from).unwrap().is_some());
        if std::os::unix::fs::chown(from.join(".fuzzbox"), Some(4321), None).is_ok() {
            assert!(stray().ends_with("belongs to somebody else"), "{}", stray());
        }
    }
}
