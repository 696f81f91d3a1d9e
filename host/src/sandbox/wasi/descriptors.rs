//! The table of open descriptors.

use super::abi::{Errno, Filetype, Result, fdflags, rights};
use super::ino::Ino;

/// An open descriptor.
///
/// The standard streams are of type `unknown`, like pipes under wasmtime, and not `character_device`: then `isatty` is
/// false, and C programs buffer their output fully, so that it doesn't depend on how lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fd {
    Stdin,
    Stdout,
    Stderr,
    Dir(DirFd),
    File(FileFd),
}

/// An open directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DirFd {
    pub(super) ino: Ino,
    /// The root as it is handed to the program at start. There is only this one.
    pub(super) preopen: bool,
}

/// An open regular file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileFd {
    pub(super) ino: Ino,
    /// Offset of the next read or write; may lie anywhere, also behind the end.
    pub(super) position: u64,
    pub(super) read: bool,
    pub(super) write: bool,
    /// `fdflags` bits.
    pub(super) flags: u32,
}

impl FileFd {
    pub(super) fn append(&self) -> bool {
        self.flags & fdflags::APPEND != 0
    }
}

/// `fdstat` without its padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fdstat {
    pub(super) filetype: Filetype,
    pub(super) flags: u32,
    pub(super) rights_base: u64,
    pub(super) rights_inheriting: u64,
}

impl Fd {
    /// Type, flags and rights. Rights are answered as programs check them and never enforced: what a descriptor may do
    /// is decided by its kind and by the access it was opened for.
    pub(super) fn stat(&self) -> Fdstat {
        let same = |filetype, flags, rights| Fdstat { filetype, flags, rights_base: rights, rights_inheriting: rights };
        match self {
            Self::Stdin => same(Filetype::Unknown, 0, rights::FD_READ),
            Self::Stdout | Self::Stderr => same(Filetype::Unknown, 0, rights::FD_WRITE),
            Self::Dir(DirFd { preopen: true, .. }) => Fdstat {
                filetype: Filetype::Directory,
                flags: 0,
                rights_base: rights::PREOPEN,
                rights_inheriting: rights::PREOPEN_INHERITING,
            },
            Self::Dir(DirFd { preopen: false, .. }) => {
                let missing =
                    rights::FD_SEEK | rights::FD_FILESTAT_SET_SIZE | rights::PATH_FILESTAT_SET_SIZE | rights::FD_WRITE;
                same(Filetype::Directory, 0, rights::ALL & !missing)
            }
            Self::File(file) => {
                let no_read = if file.read { 0 } else { rights::FD_READ | rights::FD_READDIR };
                let no_write = if file.write { 0 } else { rights::FD_WRITE };
                same(Filetype::RegularFile, file.flags, rights::ALL & !no_read & !no_write)
            }
        }
    }

    fn ino(&self) -> Option<Ino> {
        match self {
            Self::Stdin | Self::Stdout | Self::Stderr => None,
            Self::Dir(dir) => Some(dir.ino),
            Self::File(file) => Some(file.ino),
        }
    }
}

/// Descriptors by number.
///
/// A new one gets the highest number that was given up before, as under wasmtime (preview 1 promises nothing).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fds {
    slots: Vec<Option<Fd>>,
    /// A bit for each slot, set if it is free.
    free: Vec<u64>,
    open: usize,
    open_max: usize,
}

impl Fds {
    /// Standard streams as 0, 1, 2 and `root` as 3. Of `open_max`, they count.
    pub(super) fn new(root: Ino, open_max: usize) -> Self {
        let root = Fd::Dir(DirFd { ino: root, preopen: true });
        let slots = vec![Some(Fd::Stdin), Some(Fd::Stdout), Some(Fd::Stderr), Some(root)];
        Self { open: slots.len(), free: vec![0], slots, open_max }
    }

    /// Becomes equal to `other` without allocating.
    pub(super) fn restore(&mut self, other: &Self) {
        self.slots.clone_from(&other.slots);
        self.free.clone_from(&other.free);
        self.open = other.open;
    }

    /// How many numbers there are, open or not.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn get(&self, fd: u32) -> Result<Fd> {
        self.slots.get(fd as usize).copied().flatten().ok_or(Errno::Badf)
    }

    /// The directory `fd`; anything else is `badf`.
    pub(super) fn dir(&self, fd: u32) -> Result<Ino> {
        match self.get(fd)? {
            Fd::Dir(dir) => Ok(dir.ino),
            _ => Err(Errno::Badf),
        }
    }

    /// The regular file `fd`; anything else is `badf`.
    pub(super) fn file(&self, fd: u32) -> Result<FileFd> {
        match self.get(fd)? {
            Fd::File(file) => Ok(file),
            _ => Err(Errno::Badf),
        }
    }

    /// The regular file `fd`; a standard stream is `spipe`, anything else `badf`.
    pub(super) fn seekable(&self, fd: u32) -> Result<FileFd> {
        match self.get(fd)? {
            Fd::Stdin | Fd::Stdout | Fd::Stderr => Err(Errno::Spipe),
            _ => self.file(fd),
        }
    }

    /// Replaces what is known of the open file `fd`.
    pub(super) fn update(&mut self, fd: u32, file: FileFd) {
        let slot = &mut self.slots[fd as usize];
        assert!(matches!(slot, Some(Fd::File(_))), "descriptor {fd} is an open file");
        *slot = Some(Fd::File(file));
    }

    /// Whether [`Fds::insert`] would succeed.
    pub(super) fn check_room(&self) -> Result<()> {
        if self.open < self.open_max { Ok(()) } else { Err(Errno::Mfile) }
    }

    pub(super) fn insert(&mut self, new: Fd) -> Result<u32> {
        self.check_room()?;
        let number = self.take_free();
        self.slots[number] = Some(new);
        self.open += 1;
        Ok(number as u32)
    }

    /// The highest number that is free, which is free no more; a new one if there is none.
    fn take_free(&mut self) -> usize {
        if let Some((word, bits)) = self.free.iter_mut().enumerate().rev().find(|(_, bits)| **bits != 0) {
            let bit = bits.ilog2();
            *bits &= !(1 << bit);
            return word * 64 + bit as usize;
        }
        self.slots.push(None);
        self.free.resize(self.slots.len().div_ceil(64), 0);
        self.slots.len() - 1
    }

    /// Takes an open descriptor out of the table.
    fn give_up(&mut self, fd: u32) -> Option<Fd> {
        let fd = fd as usize;
        let closed = self.slots.get_mut(fd)?.take()?;
        self.free[fd / 64] |= 1 << (fd % 64);
        self.open -= 1;
        Some(closed)
    }

    /// Closes `fd`, and gives what it was.
    pub(super) fn remove(&mut self, fd: u32) -> Result<Fd> {
        self.give_up(fd).ok_or(Errno::Badf)
    }

    /// Moves `from` to the number `to`, and gives what was closed by that. Both must be open.
    pub(super) fn renumber(&mut self, from: u32, to: u32) -> Result<Option<Fd>> {
        let moved = self.get(from)?;
        let closed = self.get(to)?;
        if from == to {
            return Ok(None);
        }
        self.give_up(from);
        self.slots[to as usize] = Some(moved);
        Ok(Some(closed))
    }

    /// Whether some descriptor keeps `ino` alive.
    pub(super) fn holds(&self, ino: Ino) -> bool {
        self.slots.iter().flatten().any(|fd| fd.ino() == Some(ino))
    }
}
