//! The same files and descriptors by system calls of POSIX, as Emscripten's libc makes them: paths are absolute or
//! relative to the root, and errors have WASI's numbers.

use super::Wasi;
use super::abi::{Errno, Filestat, Filetype, Result};
use super::descriptors::{DirFd, Fd, FileFd};
use super::fs::Fs;
use super::ino::Ino;
use super::tree::Open;

/// Flags of `open`, as musl has them.
const ACCESS: u32 = 3;
const WRITE_ONLY: u32 = 1;
const CREATE: u32 = 0o100;
const EXCLUSIVE: u32 = 0o200;
const TRUNCATE: u32 = 0o1000;
const APPEND: u32 = 0o2000;
const DIRECTORY: u32 = 0o200_000;
const NO_FOLLOW: u32 = 0o400_000;

/// The directory that paths are relative to if no descriptor is given.
const CURRENT: i32 = -100;

/// What a file is, for `stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStatus {
    /// Type and permissions.
    pub(crate) mode: u32,
    pub(crate) inode: u64,
    pub(crate) links: u32,
    /// In bytes.
    pub(crate) size: u64,
    /// When it was read, written and changed last, in nanoseconds since 1970.
    pub(crate) times: [u64; 3],
}

impl FileStatus {
    fn of(stat: &Filestat) -> Self {
        let mode = match stat.filetype {
            Filetype::Directory => 0o040_755,
            Filetype::RegularFile => 0o100_644,
            Filetype::SymbolicLink => 0o120_777,
            // A pipe, so that nothing is written line by line.
            Filetype::Unknown => 0o010_666,
        };
        let times = [stat.atim, stat.mtim, stat.ctim];
        Self { mode, inode: stat.ino + 1, links: stat.nlink.max(1) as u32, size: stat.size, times }
    }
}

/// An error's number.
pub(super) fn number<T>(result: Result<T>) -> std::result::Result<T, i32> {
    result.map_err(|errno| errno as i32)
}

/// A path below the root.
pub(super) fn relative(path: &[u8]) -> &[u8] {
    let start = path.iter().position(|&byte| byte != b'/').unwrap_or(path.len());
    if path[start..].is_empty() { b"." } else { &path[start..] }
}

impl Wasi {
    /// Opens a file or a stream; the new descriptor.
    pub(crate) fn open(&mut self, dir: i32, path: &[u8], flags: u32) -> std::result::Result<u32, i32> {
        number(self.open_at(dir, path, flags))
    }

    fn open_at(&mut self, dir: i32, path: &[u8], flags: u32) -> Result<u32> {
        if path.is_empty() {
            return Err(Errno::Noent);
        }
        let stream = match path {
            b"/dev/stdin" | b"/dev/fd/0" => Some(Fd::Stdin),
            b"/dev/stdout" | b"/dev/fd/1" => Some(Fd::Stdout),
            b"/dev/stderr" | b"/dev/fd/2" => Some(Fd::Stderr),
            _ => None,
        };
        self.small.fds.check_room()?;
        if let Some(stream) = stream {
            return self.small.fds.insert(stream);
        }
        let has = |flag| flags & flag != 0;
        let (start, now) = (self.start(dir, path)?, self.now());
        let write = flags & ACCESS != 0;
        let how = Open {
            follow: !has(NO_FOLLOW),
            create: has(CREATE),
            exclusive: has(EXCLUSIVE),
            truncate: has(TRUNCATE),
            directory: has(DIRECTORY),
            write,
        };
        let ino = self.fs.open(start, relative(path), how, now)?;
        let fd = if self.fs.is_dir(ino) {
            Fd::Dir(DirFd { ino, preopen: false })
        } else {
            let append = if has(APPEND) { super::abi::fdflags::APPEND } else { 0 };
            Fd::File(FileFd { ino, position: 0, read: flags & ACCESS != WRITE_ONLY, write, flags: append })
        };
        self.small.fds.insert(fd)
    }

    fn start(&self, dir: i32, path: &[u8]) -> Result<Ino> {
        match u32::try_from(dir) {
            Ok(fd) if !path.starts_with(b"/") && dir != CURRENT => self.small.fds.dir(fd),
            _ => Ok(Fs::ROOT),
        }
    }

    /// What is at a path.
    pub(crate) fn status(&mut self, dir: i32, path: &[u8], follow: bool) -> std::result::Result<FileStatus, i32> {
        if path.is_empty() {
            return Err(Errno::Noent as i32);
        }
        let ino = number(self.start(dir, path).and_then(|start| self.fs.find(start, relative(path), follow)))?;
        Ok(FileStatus::of(&self.fs.stat(ino)))
    }

    /// What a descriptor is.
    pub(crate) fn descriptor_status(&mut self, fd: u32) -> std::result::Result<FileStatus, i32> {
        Ok(FileStatus::of(&match number(self.small.fds.get(fd))? {
            Fd::Stdin | Fd::Stdout | Fd::Stderr => Filestat::STREAM,
            Fd::Dir(dir) => self.fs.stat(dir.ino),
            Fd::File(file) => self.fs.stat(file.ino),
        }))
    }

    /// Another descriptor of the same file or stream; from then on each has a place of its own.
    pub(crate) fn copy_descriptor(&mut self, fd: u32) -> std::result::Result<u32, i32> {
        number(self.small.fds.get(fd).and_then(|fd| self.small.fds.insert(fd)))
    }

    /// Moves the place of the next read or write: from the start, from here or from the end. The new place.
    pub(crate) fn seek(&mut self, fd: u32, offset: i64, whence: u32) -> std::result::Result<u64, i32> {
        let mut file = number(self.small.fds.seekable(fd))?;
        let from = match whence {
            0 => 0,
            1 => file.position,
            2 => self.fs.size(file.ino),
            _ => return Err(Errno::Inval as i32),
        };
        file.position = from.checked_add_signed(offset).ok_or(Errno::Inval as i32)?;
        self.small.fds.update(fd, file);
        Ok(file.position)
    }

    /// Removes a file, or a directory.
    pub(crate) fn remove(&mut self, dir: i32, path: &[u8], is_dir: bool) -> std::result::Result<(), i32> {
        let (start, now) = (number(self.start(dir, path))?, self.now());
        let removed = match is_dir {
            true => self.fs.remove_dir(start, relative(path), now),
            false => self.fs.unlink(start, relative(path), now),
        };
        self.reap(number(removed)?);
        Ok(())
    }

    /// Makes a directory.
    pub(crate) fn make_dir(&mut self, dir: i32, path: &[u8]) -> std::result::Result<(), i32> {
        let (start, now) = (number(self.start(dir, path))?, self.now());
        number(self.fs.make_dir(start, relative(path), now))
    }

    /// The work that looking for files was, charged.
    pub(crate) fn charge_files(&mut self) -> wasmtime::Result<()> {
        let work = self.fs.take_work();
        Ok(self.worked(work)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::wasi::WasiConfig;

    #[test]
    fn files_are_found_by_absolute_paths() {
        let files = vec![("/input".to_owned(), b"abc".to_vec())];
        let mut wasi = Wasi::new(WasiConfig { files, ..WasiConfig::default() });
        let fd = wasi.open(CURRENT, b"/input", 0).unwrap();
        let status = wasi.descriptor_status(fd).unwrap();
        assert_eq!((status.mode & 0o170_000, status.size), (0o100_000, 3));
        assert_eq!(wasi.status(CURRENT, b"input", true), Ok(status));
        let copy = wasi.copy_descriptor(fd).unwrap();
        assert_eq!(wasi.descriptor_status(copy), Ok(status));
        assert_eq!((wasi.seek(fd, -1, 2), wasi.seek(fd, -9, 1)), (Ok(2), Err(Errno::Inval as i32)));
        assert_eq!(wasi.open(CURRENT, b"/no", 0), Err(Errno::Noent as i32));
        let written = wasi.open(CURRENT, b"/out", WRITE_ONLY | CREATE | TRUNCATE).unwrap();
        assert_eq!(wasi.descriptor_status(written).unwrap().size, 0);
        assert_eq!(wasi.remove(CURRENT, b"/out", false), Ok(()));
        assert_eq!(wasi.status(CURRENT, b"/out", true), Err(Errno::Noent as i32));
        let stdin = wasi.open(CURRENT, b"/dev/stdin", 0).unwrap();
        assert_eq!(wasi.seek(stdin, 0, 0), Err(Errno::Spipe as i32));
        assert_eq!((wasi.make_dir(CURRENT, b"/d"), wasi.open(99, b"x", 0)), (Ok(()), Err(Errno::Badf as i32)));
        wasi.reset(b"");
        assert_eq!(wasi.status(CURRENT, b"/d", true), Err(Errno::Noent as i32), "a reset undoes it");
    }
}
