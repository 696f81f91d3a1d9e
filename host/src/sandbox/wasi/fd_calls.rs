//! Calls on descriptors.

use super::Output;
use super::abi::{Errno, Filestat, Result, check_flags, fdflags, fstflags, rights};
use super::descriptors::{Fd, FileFd};
use super::guest::{Call, Guest, Iovecs};

const WHENCE_SET: u32 = 0;
const WHENCE_CUR: u32 = 1;
const WHENCE_END: u32 = 2;
/// Number of values of `advice`.
const ADVICES: u32 = 6;
/// Name of the only preopened directory.
const PREOPEN_NAME: &[u8] = b"/";

/// The access and modification times that `fst_flags` ask for; `None` leaves one as it is.
pub(super) fn new_times(flags: u32, atim: u64, mtim: u64, now: u64) -> Result<(Option<u64>, Option<u64>)> {
    check_flags(flags, fstflags::ALL)?;
    let pick = |set, set_now, time| match (flags & set != 0, flags & set_now != 0) {
        (true, true) => Err(Errno::Inval),
        (true, false) => Ok(Some(time)),
        (false, true) => Ok(Some(now)),
        (false, false) => Ok(None),
    };
    Ok((pick(fstflags::ATIM, fstflags::ATIM_NOW, atim)?, pick(fstflags::MTIM, fstflags::MTIM_NOW, mtim)?))
}

impl Call<'_> {
    pub(super) fn fd_read(&mut self, fd: u32, iovs: u32, count: u32, result: u32) -> Result<()> {
        let iovs = Iovecs::new(&self.guest, iovs, count)?;
        let total = match self.wasi.small.fds.get(fd)? {
            Fd::Stdin => self.read_stdin(iovs)?,
            Fd::File(mut file) => {
                let total = self.read_file(&file, iovs, file.position)?;
                file.position += u64::from(total);
                self.wasi.small.fds.update(fd, file);
                total
            }
            Fd::Stdout | Fd::Stderr | Fd::Dir(_) => return Err(Errno::Badf),
        };
        self.guest.write_u32(result, total)
    }

    pub(super) fn fd_pread(&mut self, fd: u32, iovs: u32, count: u32, offset: u64, result: u32) -> Result<()> {
        let iovs = Iovecs::new(&self.guest, iovs, count)?;
        let file = match self.wasi.small.fds.get(fd)? {
            Fd::Stdin => return Err(Errno::Spipe),
            Fd::File(file) => file,
            Fd::Stdout | Fd::Stderr | Fd::Dir(_) => return Err(Errno::Badf),
        };
        let total = self.read_file(&file, iovs, offset)?;
        self.guest.write_u32(result, total)
    }

    fn read_stdin(&mut self, iovs: Iovecs) -> Result<u32> {
        let wasi = &mut *self.wasi;
        iovs.transfer(&mut self.guest, |guest, at, len| {
            let used = copy_in(guest, at, len, &wasi.stdin[wasi.stdin_position..])?;
            wasi.stdin_position += used as usize;
            Ok(used)
        })
    }

    fn read_file(&mut self, file: &FileFd, iovs: Iovecs, mut position: u64) -> Result<u32> {
        if position > i64::MAX as u64 {
            return Err(Errno::Inval);
        }
        if !file.read {
            return Err(Errno::Badf);
        }
        let fs = &self.wasi.fs;
        iovs.transfer(&mut self.guest, |guest, at, len| {
            let used = copy_in(guest, at, len, fs.read(file.ino, position))?;
            position += u64::from(used);
            Ok(used)
        })
    }

    pub(super) fn fd_write(&mut self, fd: u32, iovs: u32, count: u32, result: u32) -> Result<()> {
        let iovs = Iovecs::new(&self.guest, iovs, count)?;
        let total = match self.wasi.small.fds.get(fd)? {
            Fd::Stdout => self.write_output(Output::Stdout, iovs)?,
            Fd::Stderr => self.write_output(Output::Stderr, iovs)?,
            Fd::File(mut file) => {
                let total = self.write_file(&file, iovs, file.position)?;
                let end = self.wasi.fs.size(file.ino);
                file.position = if file.append() { end } else { file.position + u64::from(total) };
                self.wasi.small.fds.update(fd, file);
                total
            }
            Fd::Stdin | Fd::Dir(_) => return Err(Errno::Badf),
        };
        self.guest.write_u32(result, total)
    }

    pub(super) fn fd_pwrite(&mut self, fd: u32, iovs: u32, count: u32, offset: u64, result: u32) -> Result<()> {
        let iovs = Iovecs::new(&self.guest, iovs, count)?;
        let file = match self.wasi.small.fds.get(fd)? {
            Fd::Stdout | Fd::Stderr => return Err(Errno::Spipe),
            Fd::File(file) => file,
            Fd::Stdin | Fd::Dir(_) => return Err(Errno::Badf),
        };
        let total = self.write_file(&file, iovs, offset)?;
        self.guest.write_u32(result, total)
    }

    fn write_output(&mut self, to: Output, iovs: Iovecs) -> Result<u32> {
        let wasi = &mut *self.wasi;
        iovs.transfer(&mut self.guest, |guest, at, len| {
            wasi.output(to, guest.bytes(at, len)?);
            Ok(len)
        })
    }

    /// Writes at `position`, or at the end in append mode, even for `fd_pwrite`: Linux does it like this.
    fn write_file(&mut self, file: &FileFd, iovs: Iovecs, mut position: u64) -> Result<u32> {
        if !file.append() && position > i64::MAX as u64 {
            return Err(Errno::Inval);
        }
        if !file.write {
            return Err(Errno::Badf);
        }
        let now = self.wasi.now();
        let fs = &mut self.wasi.fs;
        iovs.transfer(&mut self.guest, |guest, at, len| {
            let bytes = guest.bytes(at, len)?;
            let place = if file.append() { fs.size(file.ino) } else { position };
            let used = fs.write(file.ino, place, bytes, now)?;
            position = position.saturating_add(used as u64);
            Ok(used as u32)
        })
    }

    pub(super) fn fd_close(&mut self, fd: u32) -> Result<()> {
        let closed = self.wasi.small.fds.remove(fd)?;
        self.wasi.closed(closed);
        Ok(())
    }

    pub(super) fn fd_renumber(&mut self, from: u32, to: u32) -> Result<()> {
        if let Some(closed) = self.wasi.small.fds.renumber(from, to)? {
            self.wasi.closed(closed);
        }
        Ok(())
    }

    pub(super) fn fd_seek(&mut self, fd: u32, offset: i64, whence: u32, result: u32) -> Result<()> {
        if whence > WHENCE_END {
            return Err(Errno::Inval);
        }
        let mut file = self.wasi.small.fds.seekable(fd)?;
        let from = match whence {
            WHENCE_SET => 0,
            WHENCE_CUR => file.position,
            _ => self.wasi.fs.size(file.ino),
        };
        file.position = from.checked_add_signed(offset).ok_or(Errno::Inval)?;
        self.wasi.small.fds.update(fd, file);
        self.guest.write_u64(result, file.position)
    }

    pub(super) fn fd_tell(&mut self, fd: u32, result: u32) -> Result<()> {
        let file = self.wasi.small.fds.seekable(fd)?;
        self.guest.write_u64(result, file.position)
    }

    pub(super) fn fd_advise(&mut self, fd: u32, _offset: u64, len: u64, advice: u32) -> Result<()> {
        if advice >= ADVICES {
            return Err(Errno::Inval);
        }
        self.wasi.small.fds.file(fd)?;
        if len > i64::MAX as u64 { Err(Errno::Inval) } else { Ok(()) }
    }

    /// Extends the file to `offset + len`: there is nothing else to set aside.
    pub(super) fn fd_allocate(&mut self, fd: u32, offset: u64, len: u64) -> Result<()> {
        let file = self.wasi.small.fds.file(fd)?;
        if !file.write {
            return Err(Errno::Badf);
        }
        let end = offset.checked_add(len).filter(|end| *end <= i64::MAX as u64).ok_or(Errno::Fbig)?;
        if len == 0 {
            return Err(Errno::Inval);
        }
        if end > self.wasi.fs.size(file.ino) {
            let now = self.wasi.now();
            self.wasi.fs.set_size(file.ino, end, now)?;
        }
        Ok(())
    }

    pub(super) fn fd_sync(&mut self, fd: u32) -> Result<()> {
        self.wasi.small.fds.file(fd).map(drop)
    }

    pub(super) fn fd_datasync(&mut self, fd: u32) -> Result<()> {
        self.wasi.small.fds.file(fd).map(drop)
    }

    pub(super) fn fd_fdstat_get(&mut self, fd: u32, result: u32) -> Result<()> {
        let stat = self.wasi.small.fds.get(fd)?.stat();
        let to = self.guest.bytes_mut(result, 24)?;
        to[0] = stat.filetype as u8;
        to[2..4].copy_from_slice(&(stat.flags as u16).to_le_bytes());
        to[8..16].copy_from_slice(&stat.rights_base.to_le_bytes());
        to[16..24].copy_from_slice(&stat.rights_inheriting.to_le_bytes());
        Ok(())
    }

    /// Append and non-blocking mode can be changed afterwards, the others not.
    pub(super) fn fd_fdstat_set_flags(&mut self, fd: u32, flags: u32) -> Result<()> {
        check_flags(flags, fdflags::ALL)?;
        let mut file = self.wasi.small.fds.file(fd)?;
        check_flags(flags, fdflags::APPEND | fdflags::NONBLOCK)?;
        let kept = file.flags & !(fdflags::APPEND | fdflags::NONBLOCK);
        file.flags = kept | flags;
        self.wasi.small.fds.update(fd, file);
        Ok(())
    }

    pub(super) fn fd_fdstat_set_rights(&mut self, fd: u32, base: u64, inheriting: u64) -> Result<()> {
        if (base | inheriting) & !rights::ALL != 0 {
            return Err(Errno::Inval);
        }
        match self.wasi.small.fds.get(fd)? {
            Fd::Stdin | Fd::Stdout | Fd::Stderr => Err(Errno::Badf),
            Fd::Dir(_) | Fd::File(_) => Err(Errno::Notsup),
        }
    }

    pub(super) fn fd_filestat_get(&mut self, fd: u32, result: u32) -> Result<()> {
        let stat = match self.wasi.small.fds.get(fd)? {
            Fd::Stdin | Fd::Stdout | Fd::Stderr => Filestat::STREAM,
            Fd::Dir(dir) => self.wasi.fs.stat(dir.ino),
            Fd::File(file) => self.wasi.fs.stat(file.ino),
        };
        self.guest.write_filestat(result, &stat)
    }

    pub(super) fn fd_filestat_set_size(&mut self, fd: u32, size: u64) -> Result<()> {
        let file = self.wasi.small.fds.file(fd)?;
        if !file.write || size > i64::MAX as u64 {
            return Err(Errno::Inval);
        }
        let now = self.wasi.now();
        self.wasi.fs.set_size(file.ino, size, now)
    }

    pub(super) fn fd_filestat_set_times(&mut self, fd: u32, atim: u64, mtim: u64, flags: u32) -> Result<()> {
        let now = self.wasi.now();
        let (atim, mtim) = new_times(flags, atim, mtim, now)?;
        let ino = match self.wasi.small.fds.get(fd)? {
            Fd::Stdin | Fd::Stdout | Fd::Stderr => return Err(Errno::Badf),
            Fd::Dir(dir) => dir.ino,
            Fd::File(file) => file.ino,
        };
        self.wasi.fs.set_times(ino, atim, mtim, now);
        Ok(())
    }

    /// Programs ask for 3, 4, ... until the answer is `badf`.
    pub(super) fn fd_prestat_get(&mut self, fd: u32, result: u32) -> Result<()> {
        match self.wasi.small.fds.get(fd)? {
            Fd::Dir(dir) if dir.preopen => {
                self.guest.bytes_mut(result, 8)?[0] = 0;
                self.guest.write_u32(result + 4, PREOPEN_NAME.len() as u32)
            }
            _ => Err(Errno::Badf),
        }
    }

    pub(super) fn fd_prestat_dir_name(&mut self, fd: u32, buffer: u32, len: u32) -> Result<()> {
        match self.wasi.small.fds.get(fd)? {
            Fd::Dir(dir) if dir.preopen => {
                if (len as usize) < PREOPEN_NAME.len() {
                    return Err(Errno::Nametoolong);
                }
                self.guest.write(buffer, PREOPEN_NAME)
            }
            _ => Err(Errno::Notdir),
        }
    }
}

/// Copies what there is, up to `len` bytes, into the guest's buffer, and says how much that was.
///
/// As on Linux only the part that is filled must lie in memory: programs pass lengths that are far too large.
fn copy_in(guest: &mut Guest<'_>, at: u32, len: u32, from: &[u8]) -> Result<u32> {
    let used = from.len().min(len as usize);
    guest.write(at, &from[..used])?;
    Ok(used as u32)
}
