//! Directories that somebody else may have filled: entered name by name, and never through a link.
//!
//! A store comes with a repository or out of an archive. Any name in it may be a link to another place, a pipe that
//! nobody writes to, or a device. So nothing in it is reached by a path from outside: each name is looked up in the
//! open directory before it, and what is not what it should be is an error that names it.

use super::StoreError;
use anyhow::{Context, Result};
use rustix::fs::{self as sys, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// What is deeper than this below a directory is not removed with it: nothing of ours is.
const REMOVED_DEPTH_MAX: u32 = 8;

/// An open directory. Paths that are given to it are relative, and have no `..`.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    path: PathBuf,
}

/// What has a name in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

/// Who owns an open file or directory, and who may do what with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    /// The user's number.
    pub(crate) uid: u32,
    /// Permissions, without the file's kind.
    pub(crate) mode: u32,
}

/// How large a file is, and since when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Its length.
    pub(crate) bytes: u64,
    /// When it was written: seconds since 1970, and nanoseconds.
    pub(crate) modified: (i64, i64),
}

impl Dir {
    /// Opens the directory at a path that a person typed: links in it are followed.
    ///
    /// # Errors
    ///
    /// Fails as `open(2)` does, also if it is something else.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_with(path, OFlags::empty())
    }

    /// Opens the directory at a path that a person is in; only its last name must be no link.
    pub(crate) fn open_no_link(path: &Path) -> io::Result<Self> {
        Self::open_with(path, OFlags::NOFOLLOW)
    }

    fn open_with(path: &Path, more: OFlags) -> io::Result<Self> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let fd = sys::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | more, Mode::empty())?;
        Ok(Self { fd, path: path.into() })
    }

    /// Where it was when it was opened, to be shown.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a directory below this one; `None` if there is nothing of that name.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] if it, or one on the way to it, is a link or no directory.
    pub(crate) fn dir(&self, below: &Path) -> Result<Option<Self>> {
        let mut dir = self.again()?;
        for name in names(below)? {
            match dir.enter(name)? {
                Some(next) => dir = next,
                None => return Ok(None),
            }
        }
        Ok(Some(dir))
    }

    /// Opens a directory below this one, and makes it and those on the way to it if they are missing.
    pub(crate) fn make_dir(&self, below: &Path) -> Result<Self> {
        self.make_dir_with(below, 0o777)
    }

    /// The same; new ones have `mode`, less the umask.
    pub(crate) fn make_dir_with(&self, below: &Path, mode: u32) -> Result<Self> {
        let mut dir = self.again()?;
        for name in names(below)? {
            dir = match dir.enter(name)? {
                Some(next) => next,
                None => {
                    dir.make_new(name, mode)?;
                    // Whoever removed it meanwhile is told apart by the kind of error.
                    let gone = || dir.failed("open", name)(Errno::NOENT.into());
                    dir.enter(name)?.ok_or_else(gone)?
                }
            };
        }
        Ok(dir)
    }

    /// Makes a directory; false if there is something of that name.
    pub(crate) fn make_new(&self, name: &OsStr, mode: u32) -> Result<bool> {
        match sys::mkdirat(&self.fd, name, Mode::from_raw_mode(mode)) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(error) => Err(self.failed("create", name)(error.into())),
        }
    }

    /// Opens a regular file below this directory for reading; `None` if there is nothing of that name.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] if it is a link, a directory, a pipe or a device. None of these is waited for.
    pub(crate) fn open_file(&self, below: &Path) -> Result<Option<File>> {
        let Some((dir, name)) = self.parent(below)? else { return Ok(None) };
        dir.open_regular(name, OFlags::RDONLY, 0)
    }

    /// Opens a regular file in this directory for reading and appending; makes it if there is nothing of that name.
    pub(crate) fn open_to_append(&self, name: &OsStr, mode: u32) -> Result<File> {
        let file = self.open_regular(name, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE, mode)?;
        file.ok_or_else(|| self.failed("create", name)(Errno::NOENT.into()))
    }

    /// Reads a regular file of at most `bytes_max` bytes; `None` if there is nothing of that name.
    pub(crate) fn read(&self, below: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>> {
        let Some(file) = self.open_file(below)? else { return Ok(None) };
        let path = self.path.join(below);
        let context = || format!("failed to read `{}`", path.display());
        let bytes = file.metadata().with_context(context)?.len();
        let too_large = |bytes| StoreError::TooLarge { what: format!("`{}`", path.display()), bytes, bytes_max };
        if bytes > bytes_max {
            return Err(too_large(bytes).into());
        }
        let mut content = Vec::with_capacity(usize::try_from(bytes).with_context(context)?);
        // It may grow while it is read.
        file.take(bytes_max + 1).read_to_end(&mut content).with_context(context)?;
        if content.len() as u64 > bytes_max {
            return Err(too_large(content.len() as u64).into());
        }
        Ok(Some(content))
    }

    /// Makes a file that must not exist yet, open for appending. `mode` is what it has afterwards, less the umask; that
    /// it is read-only does not hinder this process.
    pub(crate) fn create_new(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(sys::openat(&self.fd, name, flags, Mode::from_raw_mode(mode))?.into())
    }

    /// Writes a file that must not exist yet.
    pub(crate) fn write_new(&self, name: &OsStr, bytes: &[u8], mode: u32, sync: bool) -> io::Result<()> {
        let mut file = self.create_new(name, mode)?;
        file.write_all(bytes)?;
        if sync { file.sync_data() } else { Ok(()) }
    }

    /// Moves what is called `name` here to `to` in another directory, where it takes the place of a file or of an empty
    /// directory. A link there is replaced, not followed.
    pub(crate) fn rename(&self, name: &OsStr, dir: &Self, to: &OsStr) -> io::Result<()> {
        Ok(sys::renameat(&self.fd, name, &dir.fd, to)?)
    }

    /// Gives a file a second name, which must not be taken.
    pub(crate) fn link(&self, name: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(sys::linkat(&self.fd, name, &self.fd, to, AtFlags::empty())?)
    }

    /// Removes a name that is not a directory's. Of a link, that is the link.
    pub(crate) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        Ok(sys::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    /// Removes a file, or a directory with all that is in it, down to a depth that nothing of ours has.
    pub(crate) fn remove_all(&self, name: &OsStr) -> Result<()> {
        self.remove_to_depth(name, REMOVED_DEPTH_MAX)
    }

    fn remove_to_depth(&self, name: &OsStr, depth: u32) -> Result<()> {
        if self.kind(name)? == Some(Kind::Dir)
            && depth > 0
            && let Some(dir) = self.enter(name)?
        {
            for (name, _) in dir.list()? {
                dir.remove_to_depth(&name, depth - 1)?;
            }
            return sys::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)
                .map_err(|error| self.failed("remove", name)(error.into()));
        }
        self.remove_file(name).map_err(self.failed("remove", name))
    }

    /// What has a name here; `None` if nothing has.
    pub(crate) fn kind(&self, name: &OsStr) -> Result<Option<Kind>> {
        match sys::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode).into())),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(self.failed("open", name)(error.into())),
        }
    }

    /// How large a file here is, and since when; `None` if it isn't there.
    pub(crate) fn size(&self, name: &OsStr) -> Result<Option<Size>> {
        match sys::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            #[allow(clippy::unnecessary_cast, reason = "their types differ from machine to machine")]
            Ok(stat) => Ok(Some(Size {
                bytes: stat.st_size as u64,
                modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            })),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(self.failed("open", name)(error.into())),
        }
    }

    /// What is here, sorted by name.
    pub(crate) fn list(&self) -> Result<Vec<(OsString, Kind)>> {
        let failed = |error: Errno| {
            let what = format!("failed to list `{}`", self.path.display());
            anyhow::Error::new(io::Error::from(error)).context(what)
        };
        let mut found = Vec::new();
        for entry in sys::Dir::read_from(&self.fd).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                // Not all file systems tell.
                FileType::Unknown => self.kind(name)?,
                kind => Some(kind.into()),
            };
            // Another process may have removed it in between.
            found.extend(kind.map(|kind| (name.to_owned(), kind)));
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }

    /// What is in a directory below, sorted by name; empty if that doesn't exist.
    pub(crate) fn list_below(&self, below: &Path) -> Result<Vec<(OsString, Kind)>> {
        self.dir(below)?.map_or_else(|| Ok(Vec::new()), |dir| dir.list())
    }

    /// Makes what was renamed into or out of it survive a power failure.
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(sys::fsync(&self.fd)?)
    }

    /// Who owns the directory, and who may do what with it.
    pub(crate) fn access(&self) -> io::Result<Access> {
        let stat = sys::fstat(&self.fd)?;
        Ok(Access { uid: stat.st_uid, mode: stat.st_mode & 0o7777 })
    }

    /// Opens the directory that `below` is in, and says what its last name is; `None` if there is no such directory.
    pub(crate) fn parent<'a>(&self, below: &'a Path) -> Result<Option<(Self, &'a OsStr)>> {
        let name = below.file_name().with_context(|| format!("`{}` names no file", below.display()))?;
        Ok(self.dir(below.parent().unwrap_or(Path::new("")))?.map(|dir| (dir, name)))
    }

    /// Opens a directory in this one.
    pub(crate) fn enter(&self, name: &OsStr) -> Result<Option<Self>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match sys::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(Self { fd, path: self.path.join(name) })),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::NOTDIR | Errno::LOOP) => {
                let is_link = self.kind(name)? == Some(Kind::Link);
                Err(self.odd(name, if is_link { IS_LINK } else { "it is not a directory" }))
            }
            Err(error) => Err(self.failed("open", name)(error.into())),
        }
    }

    /// Opens a regular file in this directory.
    fn open_regular(&self, name: &OsStr, flags: OFlags, mode: u32) -> Result<Option<File>> {
        // First, because opening a device may do something already.
        match self.kind(name)? {
            None if !flags.contains(OFlags::CREATE) => return Ok(None),
            None | Some(Kind::File) => {}
            Some(kind) => return Err(self.odd(name, kind.instead_of_file())),
        }
        let safe = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file: File = match sys::openat(&self.fd, name, flags | safe, Mode::from_raw_mode(mode)) {
            Ok(fd) => fd.into(),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(self.odd(name, IS_LINK)),
            Err(error) => return Err(self.failed("open", name)(error.into())),
        };
        // It may be another one by now.
        let metadata = file.metadata().map_err(self.failed("open", name))?;
        if metadata.is_file() { Ok(Some(file)) } else { Err(self.odd(name, Kind::Other.instead_of_file())) }
    }

    /// The same directory, opened once more.
    fn again(&self) -> Result<Self> {
        let fd = self.fd.try_clone().with_context(|| format!("failed to open `{}`", self.path.display()))?;
        Ok(Self { fd, path: self.path.clone() })
    }

    /// Something of a kind that fuzzbox never puts into a store.
    pub(crate) fn odd(&self, name: &OsStr, why: &str) -> anyhow::Error {
        let path = self.path.join(name);
        StoreError::Damaged { what: format!("`{}`", path.display()), why: why.into(), path }.into()
    }

    fn failed(&self, verb: &'static str, name: &OsStr) -> impl Fn(io::Error) -> anyhow::Error + use<> {
        let path = self.path.join(name);
        move |error| anyhow::Error::new(error).context(format!("failed to {verb} `{}`", path.display()))
    }
}

/// Why a link is neither read nor written.
pub(crate) const IS_LINK: &str = "it is a symbolic link";

impl Kind {
    /// Why something of this kind can't be read or written as a file, in words.
    pub(crate) fn instead_of_file(self) -> &'static str {
        match self {
            Self::Link => IS_LINK,
            Self::Dir => "it is a directory",
            Self::File | Self::Other => "it is not a file",
        }
    }
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Dir,
            FileType::Symlink => Self::Link,
            _ => Self::Other,
        }
    }
}

/// The names that a path below a directory consists of.
fn names(below: &Path) -> Result<Vec<&OsStr>> {
    let name = |component| match component {
        Component::Normal(name) => Ok(name),
        _ => anyhow::bail!("`{}` leads out of its directory", below.display()),
    };
    below.components().filter(|component| *component != Component::CurDir).map(name).collect()
}

/// Whether something failed because a file or directory isn't there any more.
pub(crate) fn is_gone(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// The user to whom what this process makes belongs; `None` if the system doesn't say.
pub(crate) fn own_uid() -> Option<u32> {
    let file = sys::memfd_create("owner", sys::MemfdFlags::CLOEXEC).ok()?;
    Some(sys::fstat(file).ok()?.st_uid)
}
