//! Calls on paths, and the listing of directories.

use super::abi::{DIRENT_BYTES, Errno, Filetype, Result, SYMLINK_FOLLOW, check_flags, fdflags, oflags, rights};
use super::descriptors::{DirFd, Fd, FileFd};
use super::fd_calls::new_times;
use super::fs::Fs;
use super::guest::Call;
use super::tree::Open;

/// The arguments of `path_open` that say how.
#[derive(Clone, Copy, Debug)]
struct Mode {
    read: bool,
    write: bool,
    open: Open,
}

impl Mode {
    /// Access follows from the rights asked for, except that making or cutting a file opens it for writing, and that
    /// what isn't opened for writing is opened for reading.
    fn new(lookup: u32, oflags: u32, base: u64) -> Result<Self> {
        let has = |flag| oflags & flag != 0;
        let (create, truncate) = (has(oflags::CREAT), has(oflags::TRUNC));
        let asked_write = base & rights::FD_WRITE != 0;
        let (directory, exclusive) = (has(oflags::DIRECTORY), has(oflags::EXCL));
        if directory && (create || exclusive || truncate) {
            return Err(Errno::Inval);
        }
        let write = asked_write || create || truncate;
        let follow = lookup & SYMLINK_FOLLOW != 0;
        Ok(Self {
            read: base & rights::FD_READ != 0 || !asked_write,
            write,
            open: Open { follow, create, exclusive, truncate, directory, write },
        })
    }
}

impl Call<'_> {
    #[expect(clippy::too_many_arguments, reason = "it has so many")]
    pub(super) fn path_open(
        &mut self,
        dir: u32,
        lookup: u32,
        path: u32,
        path_len: u32,
        oflags: u32,
        base: u64,
        inheriting: u64,
        flags: u32,
        result: u32,
    ) -> Result<()> {
        check_flags(lookup, SYMLINK_FOLLOW)?;
        check_flags(oflags, oflags::ALL)?;
        check_flags(flags, fdflags::ALL)?;
        if (base | inheriting) & !rights::ALL != 0 {
            return Err(Errno::Inval);
        }
        let path = self.guest.text(path, path_len)?;
        let now = self.wasi.now();
        let dir = match self.wasi.small.fds.get(dir)? {
            Fd::Dir(dir) => dir.ino,
            Fd::File(_) => return Err(Errno::Notdir),
            Fd::Stdin | Fd::Stdout | Fd::Stderr => return Err(Errno::Badf),
        };
        let mode = Mode::new(lookup, oflags, base)?;
        self.wasi.small.fds.check_room()?;
        let ino = self.wasi.fs.open(dir, path.as_bytes(), mode.open, now)?;
        let fd = if self.wasi.fs.is_dir(ino) {
            Fd::Dir(DirFd { ino, preopen: false })
        } else {
            Fd::File(FileFd { ino, position: 0, read: mode.read, write: mode.write, flags })
        };
        let number = self.wasi.small.fds.insert(fd)?;
        self.guest.write_u32(result, number)
    }

    pub(super) fn path_create_directory(&mut self, dir: u32, path: u32, len: u32) -> Result<()> {
        let dir = self.wasi.small.fds.dir(dir)?;
        let path = self.guest.text(path, len)?;
        let now = self.wasi.now();
        self.wasi.fs.make_dir(dir, path.as_bytes(), now)
    }

    pub(super) fn path_filestat_get(&mut self, dir: u32, lookup: u32, path: u32, len: u32, result: u32) -> Result<()> {
        check_flags(lookup, SYMLINK_FOLLOW)?;
        let dir = self.wasi.small.fds.dir(dir)?;
        let path = self.guest.text(path, len)?;
        let ino = self.wasi.fs.find(dir, path.as_bytes(), lookup & SYMLINK_FOLLOW != 0)?;
        self.guest.write_filestat(result, &self.wasi.fs.stat(ino))
    }

    #[expect(clippy::too_many_arguments, reason = "it has so many")]
    pub(super) fn path_filestat_set_times(
        &mut self,
        dir: u32,
        lookup: u32,
        path: u32,
        len: u32,
        atim: u64,
        mtim: u64,
        flags: u32,
    ) -> Result<()> {
        check_flags(lookup, SYMLINK_FOLLOW)?;
        let now = self.wasi.now();
        let (atim, mtim) = new_times(flags, atim, mtim, now)?;
        let dir = self.wasi.small.fds.dir(dir)?;
        let path = self.guest.text(path, len)?;
        let ino = self.wasi.fs.find(dir, path.as_bytes(), lookup & SYMLINK_FOLLOW != 0)?;
        self.wasi.fs.set_times(ino, atim, mtim, now);
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "it has so many")]
    pub(super) fn path_link(
        &mut self,
        old_dir: u32,
        lookup: u32,
        old_path: u32,
        old_len: u32,
        new_dir: u32,
        new_path: u32,
        new_len: u32,
    ) -> Result<()> {
        check_flags(lookup, SYMLINK_FOLLOW)?;
        let (old_dir, new_dir) = (self.wasi.small.fds.dir(old_dir)?, self.wasi.small.fds.dir(new_dir)?);
        let (old, new) = (self.guest.text(old_path, old_len)?, self.guest.text(new_path, new_len)?);
        if lookup & SYMLINK_FOLLOW != 0 {
            return Err(Errno::Inval);
        }
        let now = self.wasi.now();
        self.wasi.fs.link((old_dir, old.as_bytes()), (new_dir, new.as_bytes()), now)
    }

    /// The number of bytes stored is the answer; a target that is too long for the buffer is cut.
    pub(super) fn path_readlink(
        &mut self,
        dir: u32,
        path: u32,
        len: u32,
        buffer: u32,
        room: u32,
        result: u32,
    ) -> Result<()> {
        let dir = self.wasi.small.fds.dir(dir)?;
        let path = self.guest.text(path, len)?;
        let target = self.wasi.fs.read_symlink(dir, path.as_bytes())?;
        let target = &target[..target.len().min(room as usize)];
        self.guest.write(buffer, target)?;
        self.guest.write_u32(result, target.len() as u32)
    }

    pub(super) fn path_remove_directory(&mut self, dir: u32, path: u32, len: u32) -> Result<()> {
        let dir = self.wasi.small.fds.dir(dir)?;
        let path = self.guest.text(path, len)?;
        let now = self.wasi.now();
        let orphan = self.wasi.fs.remove_dir(dir, path.as_bytes(), now)?;
        self.wasi.reap(orphan);
        Ok(())
    }

    pub(super) fn path_rename(
        &mut self,
        old_dir: u32,
        old_path: u32,
        old_len: u32,
        new_dir: u32,
        new_path: u32,
        new_len: u32,
    ) -> Result<()> {
        let (old_dir, new_dir) = (self.wasi.small.fds.dir(old_dir)?, self.wasi.small.fds.dir(new_dir)?);
        let (old, new) = (self.guest.text(old_path, old_len)?, self.guest.text(new_path, new_len)?);
        let now = self.wasi.now();
        if let Some(orphan) = self.wasi.fs.rename((old_dir, old.as_bytes()), (new_dir, new.as_bytes()), now)? {
            self.wasi.reap(orphan);
        }
        Ok(())
    }

    pub(super) fn path_symlink(&mut self, target: u32, target_len: u32, dir: u32, path: u32, len: u32) -> Result<()> {
        let dir = self.wasi.small.fds.dir(dir)?;
        let (target, path) = (self.guest.text(target, target_len)?, self.guest.text(path, len)?);
        let now = self.wasi.now();
        self.wasi.fs.make_symlink(target.as_bytes(), dir, path.as_bytes(), now)
    }

    pub(super) fn path_unlink_file(&mut self, dir: u32, path: u32, len: u32) -> Result<()> {
        let dir = self.wasi.small.fds.dir(dir)?;
        let path = self.guest.text(path, len)?;
        let now = self.wasi.now();
        let orphan = self.wasi.fs.unlink(dir, path.as_bytes(), now)?;
        self.wasi.reap(orphan);
        Ok(())
    }

    /// Stores as many entries after `cookie` as fit, the last one cut where the buffer ends. An answer smaller than the
    /// buffer means that there are no more. `.` and `..` are listed first, both with the directory's own inode.
    pub(super) fn fd_readdir(&mut self, fd: u32, buffer: u32, len: u32, cookie: u64, result: u32) -> Result<()> {
        let ino = self.wasi.small.fds.dir(fd)?;
        let fs = &self.wasi.fs;
        let dots = [(1, ino, &b"."[..]), (2, ino, &b".."[..])].into_iter().filter(|(next, ..)| *next > cookie);
        let entries = fs.dir(ino)?.after(cookie.max(2)).map(|entry| (entry.cookie, entry.ino, entry.name));
        let mut used = 0;
        for (next, ino, name) in dots.chain(entries) {
            fs.worked(Fs::LOOK_WORK);
            let mut head = [0; DIRENT_BYTES];
            head[..8].copy_from_slice(&next.to_le_bytes());
            head[8..16].copy_from_slice(&(u64::from(ino.0) + 1).to_le_bytes());
            head[16..20].copy_from_slice(&(name.len() as u32).to_le_bytes());
            head[20] = if next <= 2 { Filetype::Directory } else { fs.stat(ino).filetype } as u8;
            for part in [&head[..], name] {
                let part = &part[..part.len().min((len - used) as usize)];
                self.guest.write(buffer.checked_add(used).ok_or(Errno::Fault)?, part)?;
                used += part.len() as u32;
            }
            if used == len {
                break;
            }
        }
        self.guest.write_u32(result, used)
    }
}
