//! Everything appears in the store complete, or not at all: it is written here first, then renamed.
//!
//! ```text
//! tmp/4711-0/lock     locked (flock) for as long as process 4711 has the store open
//! tmp/4711-0/17       the 17th thing it is writing: a file, or a finding's directory
//! ```
//!
//! Who died is told by the lock, not by the process id in the name: the kernel drops a lock with its holder, however
//! that died, while process ids are reused and mean nothing across containers that share a directory.

use super::StoreError;
use super::dir::{Dir, Kind, is_gone, own_uid};
use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where the directories of open stores are.
const TMP: &str = "tmp";

/// How often a write is repeated when somebody deletes its directory under it.
const ATTEMPTS_MAX: u32 = 4;

/// What must hold once a write has returned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// Survives a kill. For what carries its own checksum and can be computed again.
    Process,
    /// After a power failure it is either there with its content or not there.
    Content,
    /// It is there after a power failure.
    Name,
}

/// A directory inside the store that belongs to one open store of one live process.
#[derive(Debug)]
pub(super) struct Scratch {
    root: Arc<Dir>,
    /// Its name in `tmp`.
    name: String,
    next: AtomicU64,
    _lock: File,
}

impl Scratch {
    /// Creates one. The caller holds the store's lock, so that nobody sweeps it away before its own lock is taken.
    pub(super) fn create(root: &Arc<Dir>) -> Result<Self> {
        let tmp = root.make_dir(Path::new(TMP))?;
        let process = std::process::id();
        for number in 0u32.. {
            let name = format!("{process}-{number}");
            if !tmp.make_new(OsStr::new(&name), 0o777)? {
                continue;
            }
            let dir = tmp.make_dir(Path::new(&name))?;
            let lock = lock(&dir).inspect_err(|_| drop(tmp.remove_all(OsStr::new(&name))))?;
            return Ok(Self { root: root.clone(), name, next: AtomicU64::new(0), _lock: lock });
        }
        anyhow::bail!("failed to create a temporary directory in `{}`: it is full", tmp.path().display())
    }

    /// Removes what dead processes of this user left. The caller holds the store's lock. What has another name, is no
    /// directory or can't be removed stays: it harms nobody.
    pub(super) fn sweep(root: &Dir) -> Result<()> {
        let Some(tmp) = root.dir(Path::new(TMP))? else { return Ok(()) };
        let own = own_uid();
        for (name, kind) in tmp.list()? {
            if kind != Kind::Dir || !is_name(&name) {
                continue;
            }
            let Ok(Some(dir)) = tmp.enter(&name) else { continue };
            let is_own = dir.access().is_ok_and(|access| Some(access.uid) == own);
            let dead = match dir.open_file(Path::new(LOCK)) {
                Ok(Some(lock)) => lock.try_lock().is_ok(),
                Ok(None) => true,
                Err(_) => false,
            };
            if is_own && dead {
                drop(tmp.remove_all(&name));
            }
        }
        Ok(())
    }

    /// A name in here that was not handed out before.
    pub(super) fn fresh(&self) -> String {
        self.next.fetch_add(1, Ordering::Relaxed).to_string()
    }

    /// The directory itself, made again if somebody deleted it.
    pub(super) fn dir(&self) -> Result<Dir> {
        self.root.make_dir(&Path::new(TMP).join(&self.name))
    }

    /// Puts a file of `bytes` at `to` below the store's root, replacing what file is there; missing directories are
    /// created.
    pub(super) fn publish(&self, bytes: &[u8], mode: u32, to: &Path, durability: Durability) -> Result<()> {
        self.place(to, durability, |dir, name| {
            Ok(dir.write_new(name, bytes, mode, durability != Durability::Process)?)
        })
    }

    /// Puts a directory with `files` at `to`, where nothing but an empty directory may be.
    pub(super) fn publish_dir(&self, files: &[(&str, &[u8])], to: &Path) -> Result<()> {
        self.place(to, Durability::Name, |dir, name| {
            let dir = dir.make_dir(Path::new(name))?;
            for (name, bytes) in files {
                dir.write_new(OsStr::new(name), bytes, 0o644, true)?;
            }
            Ok(dir.sync()?)
        })
    }

    /// Removes a directory in one step, as others see it.
    pub(super) fn remove_dir(&self, below: &Path) -> Result<()> {
        let context = || format!("failed to remove `{}`", self.root.path().join(below).display());
        let Some((parent, name)) = self.root.parent(below)? else { return Ok(()) };
        let (dir, temporary) = (self.dir()?, self.fresh());
        parent.rename(name, &dir, OsStr::new(&temporary)).with_context(context)?;
        dir.remove_all(OsStr::new(&temporary)).with_context(context)
    }

    /// Lets `write` make something of a temporary name and renames that to `to`.
    fn place(&self, to: &Path, durability: Durability, write: impl Fn(&Dir, &OsStr) -> Result<()>) -> Result<()> {
        let context = || format!("failed to write `{}`", self.root.path().join(to).display());
        let name = to.file_name().with_context(context)?;
        let mut attempt = 1;
        loop {
            match self.try_place(to, name, durability, &write) {
                // `cache` and `tmp` may be deleted at any moment; their directories are made again.
                Err(error) if is_gone(&error) && attempt < ATTEMPTS_MAX => attempt += 1,
                // It names what it is about.
                Err(error) if error.is::<StoreError>() => return Err(error),
                result => return result.with_context(context),
            }
        }
    }

    fn try_place(
        &self,
        to: &Path,
        name: &OsStr,
        durability: Durability,
        write: impl Fn(&Dir, &OsStr) -> Result<()>,
    ) -> Result<()> {
        let parent = self.root.make_dir(to.parent().unwrap_or(Path::new("")))?;
        let (dir, temporary) = (self.dir()?, self.fresh());
        let temporary = OsStr::new(&temporary);
        write(&dir, temporary)
            .and_then(|()| Ok(dir.rename(temporary, &parent, name)?))
            .inspect_err(|_| drop(dir.remove_all(temporary)))?;
        if durability == Durability::Name { Ok(parent.sync()?) } else { Ok(()) }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Ok(Some(tmp)) = self.root.dir(Path::new(TMP)) {
            drop(tmp.remove_all(OsStr::new(&self.name)));
        }
    }
}

/// Whether a directory in `tmp` is called as [`Scratch::create`] calls it.
fn is_name(name: &OsStr) -> bool {
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    name.to_str().and_then(|name| name.split_once('-')).is_some_and(|(a, b)| is_number(a) && is_number(b))
}

/// The name of the file that is locked.
const LOCK: &str = "lock";

/// Opens (or creates) the file `lock` in `dir` and waits until it is ours; dropping the file releases it.
pub(super) fn lock(dir: &Dir) -> Result<File> {
    let file = dir.open_to_append(OsStr::new(LOCK), 0o644)?;
    loop {
        match file.lock() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => {
                let context = || format!("failed to lock `{}`", dir.path().join(LOCK).display());
                return result.map(|()| file).with_context(context);
            }
        }
    }
}
