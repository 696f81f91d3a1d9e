//! Everything appears in the store complete, or not at all: it is written here first, then renamed.
//!
//! ```text
//! tmp/4711-0/lock     locked (flock) for as long as process 4711 has the store open
//! tmp/4711-0/17       the 17th thing it is writing: a file, or a finding's directory
//! ```
//!
//! Who died is told by the lock, not by the process id in the name: the kernel drops a lock with its holder, however
//! that died, while process ids are reused and mean nothing across containers that share a directory.

use super::file;
use anyhow::{Context, Result};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

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
    dir: PathBuf,
    next: AtomicU64,
    _lock: File,
}

impl Scratch {
    /// Creates one. The caller holds the store's lock, so that nobody sweeps it away before its own lock is taken.
    pub(super) fn create(tmp: &Path) -> Result<Self> {
        let context = || format!("failed to create a temporary directory in `{}`", tmp.display());
        fs::create_dir_all(tmp).with_context(context)?;
        let process = std::process::id();
        for number in 0u32.. {
            let dir = tmp.join(format!("{process}-{number}"));
            match fs::create_dir(&dir) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error).with_context(context),
            }
            let lock = lock(&dir.join("lock")).inspect_err(|_| drop(fs::remove_dir_all(&dir)))?;
            return Ok(Self { dir, next: AtomicU64::new(0), _lock: lock });
        }
        anyhow::bail!("failed to create a temporary directory in `{}`: it is full", tmp.display())
    }

    /// Removes what dead processes left. The caller holds the store's lock. What can't be removed stays: it harms nobody.
    pub(super) fn sweep(tmp: &Path) {
        for (name, kind) in file::list(tmp).unwrap_or_default() {
            let path = tmp.join(name);
            if !kind.is_dir() {
                drop(fs::remove_file(&path));
                continue;
            }
            let dead = match file::open(&path.join("lock")) {
                Ok(Some(lock)) => lock.try_lock().is_ok(),
                Ok(None) => true,
                Err(_) => false,
            };
            if dead {
                drop(fs::remove_dir_all(&path));
            }
        }
    }

    /// A path in here that was not handed out before.
    pub(super) fn fresh(&self) -> PathBuf {
        self.dir.join(self.next.fetch_add(1, Ordering::Relaxed).to_string())
    }

    /// Puts a file of `bytes` at `to`, replacing what file is there; missing directories are created.
    pub(super) fn publish(&self, bytes: &[u8], mode: u32, to: &Path, durability: Durability) -> Result<()> {
        self.place(to, durability, |temporary| {
            file::write_new(temporary, bytes, mode, durability != Durability::Process)
        })
    }

    /// Puts a directory with `files` at `to`, where nothing but an empty directory may be.
    pub(super) fn publish_dir(&self, files: &[(&str, &[u8])], to: &Path) -> Result<()> {
        self.place(to, Durability::Name, |temporary| {
            fs::create_dir(temporary)?;
            for (name, bytes) in files {
                file::write_new(&temporary.join(name), bytes, 0o644, true)?;
            }
            file::sync_dir(temporary)
        })
    }

    /// Removes a directory in one step, as others see it.
    pub(super) fn remove_dir(&self, dir: &Path) -> Result<()> {
        let context = || format!("failed to remove `{}`", dir.display());
        let temporary = self.fresh();
        fs::rename(dir, &temporary).with_context(context)?;
        fs::remove_dir_all(&temporary).with_context(context)
    }

    /// Lets `write` make something at a temporary path and renames that to `to`.
    fn place(&self, to: &Path, durability: Durability, write: impl Fn(&Path) -> io::Result<()>) -> Result<()> {
        let context = || format!("failed to write `{}`", to.display());
        let parent = to.parent().with_context(context)?;
        let mut attempt = 1;
        loop {
            let temporary = self.fresh();
            let result = write(&temporary).and_then(|()| fs::rename(&temporary, to));
            match result {
                Ok(()) => break,
                Err(error) => {
                    drop(fs::remove_file(&temporary).or_else(|_| fs::remove_dir_all(&temporary)));
                    if error.kind() != io::ErrorKind::NotFound || attempt == ATTEMPTS_MAX {
                        return Err(error).with_context(context);
                    }
                }
            }
            // Directories are made when they turn out to be missing: mostly they are there, and `cache` may be deleted
            // at any moment.
            attempt += 1;
            fs::create_dir_all(parent).and_then(|()| fs::create_dir_all(&self.dir)).with_context(context)?;
        }
        if durability == Durability::Name { file::sync_dir(parent).with_context(context) } else { Ok(()) }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.dir));
    }
}

/// Opens (or creates) `path` and waits until it is ours; dropping the file releases it.
pub(super) fn lock(path: &Path) -> Result<File> {
    let context = || format!("failed to lock `{}`", path.display());
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o644)
        .custom_flags(flags)
        .open(path)
        .with_context(context)?;
    loop {
        match file.lock() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result.map(|()| file).with_context(context),
        }
    }
}
