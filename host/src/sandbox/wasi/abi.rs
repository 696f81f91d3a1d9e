//! Numbers and layouts of WASI preview 1, as its witx files define them.

use std::fmt;

/// Why a call failed, as the guest sees it: only the codes that this implementation returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(super) enum Errno {
    /// The descriptor is not open, or not of the kind or direction that the call needs.
    Badf = 8,
    Exist = 20,
    /// The guest passed a pointer outside of its memory.
    Fault = 21,
    Fbig = 22,
    Busy = 10,
    Ilseq = 25,
    Inval = 28,
    Isdir = 31,
    Loop = 32,
    /// Too many open descriptors.
    Mfile = 33,
    Nametoolong = 37,
    Noent = 44,
    /// The file system's byte limit is reached.
    Nospc = 51,
    Notdir = 54,
    Notempty = 55,
    Notsock = 57,
    Notsup = 58,
    /// A path that leads out of the directory it is relative to, and hard links to directories.
    Perm = 63,
    Spipe = 70,
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// Result of a call's implementation.
pub(super) type Result<T, E = Errno> = std::result::Result<T, E>;

/// What an inode or descriptor is, as stored in `filestat`, `fdstat` and `dirent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Filetype {
    /// Also the standard streams: see [`Fd`](super::descriptors::Fd).
    Unknown = 0,
    Directory = 3,
    RegularFile = 4,
    SymbolicLink = 7,
}

/// Bits of `rights`.
pub(super) mod rights {
    pub(in super::super) const FD_DATASYNC: u64 = 1 << 0;
    pub(in super::super) const FD_READ: u64 = 1 << 1;
    pub(in super::super) const FD_SEEK: u64 = 1 << 2;
    pub(in super::super) const FD_FDSTAT_SET_FLAGS: u64 = 1 << 3;
    pub(in super::super) const FD_SYNC: u64 = 1 << 4;
    pub(in super::super) const FD_TELL: u64 = 1 << 5;
    pub(in super::super) const FD_WRITE: u64 = 1 << 6;
    pub(in super::super) const FD_ADVISE: u64 = 1 << 7;
    pub(in super::super) const FD_ALLOCATE: u64 = 1 << 8;
    pub(in super::super) const PATH_CREATE_DIRECTORY: u64 = 1 << 9;
    pub(in super::super) const PATH_CREATE_FILE: u64 = 1 << 10;
    pub(in super::super) const PATH_LINK_SOURCE: u64 = 1 << 11;
    pub(in super::super) const PATH_LINK_TARGET: u64 = 1 << 12;
    pub(in super::super) const PATH_OPEN: u64 = 1 << 13;
    pub(in super::super) const FD_READDIR: u64 = 1 << 14;
    pub(in super::super) const PATH_READLINK: u64 = 1 << 15;
    pub(in super::super) const PATH_RENAME_SOURCE: u64 = 1 << 16;
    pub(in super::super) const PATH_RENAME_TARGET: u64 = 1 << 17;
    pub(in super::super) const PATH_FILESTAT_GET: u64 = 1 << 18;
    pub(in super::super) const PATH_FILESTAT_SET_SIZE: u64 = 1 << 19;
    pub(in super::super) const PATH_FILESTAT_SET_TIMES: u64 = 1 << 20;
    pub(in super::super) const FD_FILESTAT_GET: u64 = 1 << 21;
    pub(in super::super) const FD_FILESTAT_SET_SIZE: u64 = 1 << 22;
    pub(in super::super) const FD_FILESTAT_SET_TIMES: u64 = 1 << 23;
    pub(in super::super) const PATH_SYMLINK: u64 = 1 << 24;
    pub(in super::super) const PATH_REMOVE_DIRECTORY: u64 = 1 << 25;
    pub(in super::super) const PATH_UNLINK_FILE: u64 = 1 << 26;
    pub(in super::super) const POLL_FD_READWRITE: u64 = 1 << 27;
    /// Every right that preview 1 knows (30 of them).
    pub(in super::super) const ALL: u64 = (1 << 30) - 1;

    /// What a preopened directory can do: the set that language runtimes look for at start.
    pub(in super::super) const PREOPEN: u64 = PATH_CREATE_DIRECTORY
        | PATH_CREATE_FILE
        | PATH_LINK_SOURCE
        | PATH_LINK_TARGET
        | PATH_OPEN
        | FD_READDIR
        | PATH_READLINK
        | PATH_RENAME_SOURCE
        | PATH_RENAME_TARGET
        | PATH_SYMLINK
        | PATH_REMOVE_DIRECTORY
        | PATH_UNLINK_FILE
        | PATH_FILESTAT_GET
        | PATH_FILESTAT_SET_TIMES
        | FD_FILESTAT_GET
        | FD_FILESTAT_SET_TIMES;

    /// What can be handed to descriptors opened below a preopened directory.
    pub(in super::super) const PREOPEN_INHERITING: u64 = PREOPEN
        | FD_DATASYNC
        | FD_READ
        | FD_SEEK
        | FD_FDSTAT_SET_FLAGS
        | FD_SYNC
        | FD_TELL
        | FD_WRITE
        | FD_ADVISE
        | FD_ALLOCATE
        | FD_FILESTAT_SET_SIZE
        | POLL_FD_READWRITE;
}

/// Bits of `fdflags`.
pub(super) mod fdflags {
    pub(in super::super) const APPEND: u32 = 1;
    pub(in super::super) const DSYNC: u32 = 2;
    pub(in super::super) const NONBLOCK: u32 = 4;
    pub(in super::super) const RSYNC: u32 = 8;
    pub(in super::super) const SYNC: u32 = 16;
    pub(in super::super) const ALL: u32 = APPEND | DSYNC | NONBLOCK | RSYNC | SYNC;
}

/// Bits of `oflags`.
pub(super) mod oflags {
    pub(in super::super) const CREAT: u32 = 1;
    pub(in super::super) const DIRECTORY: u32 = 2;
    pub(in super::super) const EXCL: u32 = 4;
    pub(in super::super) const TRUNC: u32 = 8;
    pub(in super::super) const ALL: u32 = CREAT | DIRECTORY | EXCL | TRUNC;
}

/// Bits of `fstflags`.
pub(super) mod fstflags {
    pub(in super::super) const ATIM: u32 = 1;
    pub(in super::super) const ATIM_NOW: u32 = 2;
    pub(in super::super) const MTIM: u32 = 4;
    pub(in super::super) const MTIM_NOW: u32 = 8;
    pub(in super::super) const ALL: u32 = ATIM | ATIM_NOW | MTIM | MTIM_NOW;
}

/// The only bit of `lookupflags`.
pub(super) const SYMLINK_FOLLOW: u32 = 1;

/// Checks that `flags` has only bits of `known`.
pub(super) fn check_flags(flags: u32, known: u32) -> Result<()> {
    if flags & !known == 0 { Ok(()) } else { Err(Errno::Inval) }
}

/// Fields of `filestat`, in the order in which preview 1 stores them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Filestat {
    pub(super) dev: u64,
    pub(super) ino: u64,
    pub(super) filetype: Filetype,
    pub(super) nlink: u64,
    pub(super) size: u64,
    /// Nanoseconds of the virtual real-time clock, like the next two.
    pub(super) atim: u64,
    pub(super) mtim: u64,
    pub(super) ctim: u64,
}

impl Filestat {
    /// What the standard streams answer.
    pub(super) const STREAM: Self =
        Self { dev: 0, ino: 0, filetype: Filetype::Unknown, nlink: 0, size: 0, atim: 0, mtim: 0, ctim: 0 };
}

/// Bytes of one `dirent` without its name.
pub(super) const DIRENT_BYTES: usize = 24;
/// Bytes of one `subscription` of `poll_oneoff`.
pub(super) const SUBSCRIPTION_BYTES: u32 = 48;
/// Bytes of one `event` of `poll_oneoff`.
pub(super) const EVENT_BYTES: u32 = 32;
