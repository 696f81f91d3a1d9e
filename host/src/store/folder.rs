//! What else lies in a target's directory: statistics for people and for other tools.

use super::Store;
use super::dir::{Dir, Kind};
use super::scratch::Durability;
use super::target::target_path;
use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// How often a file is begun anew when somebody else does the same.
const ATTEMPTS_MAX: u32 = 8;

/// The directory of a target, for files that the store itself knows nothing of.
#[derive(Clone, Debug)]
pub struct TargetFolder {
    store: Store,
    below: PathBuf,
}

impl Store {
    /// The directory of `target`, which is made when something is written.
    ///
    /// # Errors
    ///
    /// [`StoreError::TargetName`](super::StoreError::TargetName) if the name is empty or too long.
    pub fn target_folder(&self, target: &str) -> Result<TargetFolder> {
        Ok(TargetFolder { store: self.clone(), below: target_path(target)? })
    }
}

impl TargetFolder {
    /// Begins a file anew, and opens it for appending.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`](super::StoreError::Damaged) if what has this name is no file; it stays then. Else the
    /// error names the file.
    pub fn start(&self, name: &str) -> Result<File> {
        let dir = self.store.dir().make_dir(&self.below)?;
        let mut attempt = 1;
        loop {
            check_in(&dir, name)?;
            // It is removed, and not truncated: another name of it, wherever that is, keeps what it had.
            let removed = match dir.remove_file(OsStr::new(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
            match removed.and_then(|()| dir.create_new(OsStr::new(name), 0o644)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < ATTEMPTS_MAX => attempt += 1,
                file => return file.with_context(|| format!("failed to write `{}`", dir.path().join(name).display())),
            }
        }
    }

    /// Opens a file for reading and appending, and makes it if it isn't there.
    ///
    /// # Errors
    ///
    /// As [`TargetFolder::start`].
    pub fn open_to_append(&self, name: &str) -> Result<File> {
        let file = self.store.dir().make_dir(&self.below)?.open_to_append(OsStr::new(name), 0o644)?;
        let metadata = file.metadata().with_context(|| format!("failed to open `{}`", self.path(name).display()))?;
        // Another name of it, wherever that is, keeps what it has.
        if metadata.nlink() > 1 { self.start(name) } else { Ok(file) }
    }

    /// Reads a file of at most `bytes_max` bytes; `None` if there is none.
    ///
    /// # Errors
    ///
    /// As [`TargetFolder::start`], and if it is larger.
    pub fn read(&self, name: &str, bytes_max: u64) -> Result<Option<Vec<u8>>> {
        self.store.dir().read(&self.below.join(name), bytes_max)
    }

    /// The folder of process number `number` of those that fuzz the target at the same time.
    #[must_use]
    pub fn of_process(&self, number: u32) -> Self {
        let mut name = self.below.file_name().unwrap_or_default().to_owned();
        if number > 1 {
            name.push(format!("~{number}"));
        }
        Self { store: self.store.clone(), below: self.below.with_file_name(name) }
    }

    /// Replaces a file by one with the given content, or leaves it as it was: readers never see half of it.
    ///
    /// # Errors
    ///
    /// As [`TargetFolder::start`].
    pub fn replace(&self, name: &str, content: &[u8]) -> Result<()> {
        self.check(name)?;
        self.store.scratch()?.publish(content, 0o644, &self.below.join(name), Durability::Process)
    }

    /// Refuses what is no file: somebody put it there for a purpose that isn't ours.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`](super::StoreError::Damaged) if there is such a thing.
    pub fn check(&self, name: &str) -> Result<()> {
        self.store.dir().dir(&self.below)?.map_or(Ok(()), |dir| check_in(&dir, name))
    }

    /// Where a file is, to be shown.
    pub fn path(&self, name: &str) -> PathBuf {
        self.store.root().join(&self.below).join(name)
    }
}

fn check_in(dir: &Dir, name: &str) -> Result<()> {
    match dir.kind(OsStr::new(name))? {
        None | Some(Kind::File) => Ok(()),
        Some(kind) => Err(dir.odd(OsStr::new(name), kind.instead_of_file())),
    }
}
