//! What Node gives programs beside system calls: files and streams by its `fs`, time, and the way out. Errors have
//! WASI's numbers, of which [`error_name`] has Node's names.

use super::abi::{Errno, Result};
use super::clock::Clock;
use super::descriptors::Fd;
use super::fs::Fs;
use super::js_heap::Heap;
use super::posix::{number, relative};
use super::{Exit, Output, Wasi};

/// What Node calls an error.
pub(crate) fn error_name(number: i32) -> &'static str {
    const NAMES: [(Errno, &str); 19] = [
        (Errno::Badf, "EBADF"),
        (Errno::Exist, "EEXIST"),
        (Errno::Fault, "EFAULT"),
        (Errno::Fbig, "EFBIG"),
        (Errno::Busy, "EBUSY"),
        (Errno::Ilseq, "EILSEQ"),
        (Errno::Inval, "EINVAL"),
        (Errno::Isdir, "EISDIR"),
        (Errno::Loop, "ELOOP"),
        (Errno::Mfile, "EMFILE"),
        (Errno::Nametoolong, "ENAMETOOLONG"),
        (Errno::Noent, "ENOENT"),
        (Errno::Nospc, "ENOSPC"),
        (Errno::Notdir, "ENOTDIR"),
        (Errno::Notempty, "ENOTEMPTY"),
        (Errno::Notsock, "ENOTSOCK"),
        (Errno::Notsup, "ENOTSUP"),
        (Errno::Perm, "EPERM"),
        (Errno::Spipe, "ESPIPE"),
    ];
    NAMES.iter().find(|(errno, _)| *errno as i32 == number).map_or("EIO", |(_, name)| name)
}

impl Wasi {
    /// The values of JavaScript that a program of Go's sees.
    pub(in crate::sandbox) fn js_heap(&mut self) -> &mut Heap {
        &mut self.small.js_heap
    }

    /// Whether there are files from the start.
    pub(crate) fn has_files(&self) -> bool {
        self.has_files
    }

    /// Command-line arguments, and variables as programs find them.
    pub(crate) fn arguments(&self) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        (self.args.iter().collect(), self.env.iter().collect())
    }

    /// Nanoseconds since 1970. Looking takes time.
    pub(crate) fn nanoseconds(&mut self) -> u64 {
        Clock::REALTIME_START + self.small.clock.look()
    }

    /// Nanoseconds since the start of the execution. Nothing passes.
    pub(crate) fn elapsed(&self) -> u64 {
        self.small.clock.elapsed()
    }

    /// Lets time pass until so many nanoseconds after the start of the execution.
    pub(crate) fn wait_until(&mut self, time: u64) {
        self.small.clock.wait_until(time);
    }

    /// Notes the exit code, as `proc_exit` does.
    pub(crate) fn exit(&mut self, code: u32) -> Exit {
        self.exit_code = Some(code);
        Exit(code)
    }

    /// Reads up to `len` bytes from where the descriptor is, which then is behind them, or from `position`.
    pub(crate) fn read(&mut self, fd: u32, len: usize, position: Option<u64>) -> std::result::Result<Vec<u8>, i32> {
        number(self.read_from(fd, len, position))
    }

    fn read_from(&mut self, fd: u32, len: usize, position: Option<u64>) -> Result<Vec<u8>> {
        match self.small.fds.get(fd)? {
            Fd::Stdin if position.is_some() => Err(Errno::Spipe),
            Fd::Stdin => {
                let left = &self.stdin[self.stdin_position..];
                let bytes = left[..len.min(left.len())].to_vec();
                self.stdin_position += bytes.len();
                Ok(bytes)
            }
            Fd::File(mut file) if file.read => {
                let left = self.fs.read(file.ino, position.unwrap_or(file.position));
                let bytes = left[..len.min(left.len())].to_vec();
                if position.is_none() {
                    file.position += bytes.len() as u64;
                    self.small.fds.update(fd, file);
                }
                Ok(bytes)
            }
            Fd::Dir(_) => Err(Errno::Isdir),
            Fd::Stdout | Fd::Stderr | Fd::File(_) => Err(Errno::Badf),
        }
    }

    /// Writes where the descriptor is, which then is behind that, or at `position`; how many bytes.
    pub(crate) fn write(&mut self, fd: u32, bytes: &[u8], position: Option<u64>) -> std::result::Result<usize, i32> {
        number(self.write_to(fd, bytes, position))
    }

    fn write_to(&mut self, fd: u32, bytes: &[u8], position: Option<u64>) -> Result<usize> {
        let stream = match self.small.fds.get(fd)? {
            Fd::File(mut file) if file.write => {
                let at = if file.append() { self.fs.size(file.ino) } else { position.unwrap_or(file.position) };
                let (now, before) = (self.now(), self.fs.bytes());
                let written = self.fs.write(file.ino, at, bytes, now)?;
                // What lies between the end and there is filled.
                self.fs.worked(self.fs.bytes().abs_diff(before) as u64 / 8);
                if position.is_none() {
                    file.position = at + written as u64;
                    self.small.fds.update(fd, file);
                }
                return Ok(written);
            }
            Fd::Stdout => Output::Stdout,
            Fd::Stderr => Output::Stderr,
            Fd::Stdin | Fd::Dir(_) | Fd::File(_) => return Err(Errno::Badf),
        };
        if position.is_some() {
            return Err(Errno::Spipe);
        }
        self.output(stream, bytes);
        Ok(bytes.len())
    }

    pub(crate) fn close(&mut self, fd: u32) -> std::result::Result<(), i32> {
        let closed = number(self.small.fds.remove(fd))?;
        self.closed(closed);
        Ok(())
    }

    /// Cuts a file that is open for writing, or extends it with zeros.
    pub(crate) fn cut_open(&mut self, fd: u32, len: u64) -> std::result::Result<(), i32> {
        let file = number(self.small.fds.file(fd).map_err(|_| Errno::Inval))?;
        let now = self.now();
        if !file.write || len > i64::MAX as u64 {
            return Err(Errno::Inval as i32);
        }
        number(self.fs.set_size(file.ino, len, now))
    }

    /// The same by its path.
    pub(crate) fn cut(&mut self, path: &[u8], len: u64) -> std::result::Result<(), i32> {
        let (ino, now) = (number(self.fs.find(Fs::ROOT, relative(path), true))?, self.now());
        if self.fs.is_dir(ino) {
            return Err(Errno::Isdir as i32);
        }
        if len > i64::MAX as u64 {
            return Err(Errno::Inval as i32);
        }
        number(self.fs.set_size(ino, len, now))
    }

    pub(crate) fn rename(&mut self, from: &[u8], to: &[u8]) -> std::result::Result<(), i32> {
        let now = self.now();
        let renamed = self.fs.rename((Fs::ROOT, relative(from)), (Fs::ROOT, relative(to)), now);
        if let Some(orphan) = number(renamed)? {
            self.reap(orphan);
        }
        Ok(())
    }

    /// Gives a file a second name.
    pub(crate) fn link(&mut self, from: &[u8], to: &[u8]) -> std::result::Result<(), i32> {
        let now = self.now();
        number(self.fs.link((Fs::ROOT, relative(from)), (Fs::ROOT, relative(to)), now))
    }

    pub(crate) fn make_link(&mut self, target: &[u8], path: &[u8]) -> std::result::Result<(), i32> {
        let now = self.now();
        number(self.fs.make_symlink(target, Fs::ROOT, relative(path), now))
    }

    pub(crate) fn read_link(&mut self, path: &[u8]) -> std::result::Result<Vec<u8>, i32> {
        number(self.fs.read_symlink(Fs::ROOT, relative(path)).map(<[u8]>::to_vec))
    }

    /// Sets the times of the last access and the last change, in nanoseconds since 1970.
    pub(crate) fn set_times(&mut self, path: &[u8], times: [u64; 2]) -> std::result::Result<(), i32> {
        let (ino, now) = (number(self.fs.find(Fs::ROOT, relative(path), true))?, self.now());
        self.fs.set_times(ino, Some(times[0]), Some(times[1]), now);
        Ok(())
    }

    /// The names in a directory, in the order in which they were made.
    pub(crate) fn names(&mut self, path: &[u8]) -> std::result::Result<Vec<Vec<u8>>, i32> {
        let ino = number(self.fs.find(Fs::ROOT, relative(path), true))?;
        let names: Vec<_> = number(self.fs.dir(ino))?.after(2).map(|entry| entry.name.to_vec()).collect();
        self.fs.worked(names.len() as u64 * Fs::LOOK_WORK);
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::wasi::WasiConfig;

    #[test]
    fn files_are_written_read_and_gone_after_a_reset() {
        let mut wasi = Wasi::new(WasiConfig::default());
        wasi.reset(b"input");
        assert_eq!((wasi.read(0, 3, None), wasi.read(0, 9, None)), (Ok(b"inp".to_vec()), Ok(b"ut".to_vec())));
        assert_eq!(wasi.read(0, 1, Some(0)), Err(Errno::Spipe as i32));
        let fd = wasi.open(-100, b"/a", 0o102).unwrap();
        assert_eq!((wasi.write(fd, b"abc", None), wasi.write(fd, b"X", Some(1))), (Ok(3), Ok(1)));
        assert_eq!(wasi.read(fd, 9, Some(0)), Ok(b"aXc".to_vec()));
        assert_eq!(
            (wasi.cut_open(fd, 2), wasi.rename(b"/a", b"/b"), wasi.link(b"/b", b"/c")),
            (Ok(()), Ok(()), Ok(()))
        );
        assert_eq!(wasi.names(b"/"), Ok(vec![b"b".to_vec(), b"c".to_vec()]));
        assert_eq!((wasi.make_link(b"b", b"/l"), wasi.read_link(b"/l")), (Ok(()), Ok(b"b".to_vec())));
        assert_eq!((wasi.cut(b"/l", 1), wasi.set_times(b"/b", [1, 2])), (Ok(()), Ok(())));
        assert_eq!(wasi.status(-100, b"/c", true).unwrap().times[..2], [1, 2]);
        assert_eq!((wasi.close(fd), wasi.close(fd).map_err(error_name)), (Ok(()), Err("EBADF")));
        assert_eq!(wasi.read(3, 1, None).map_err(error_name), Err("EISDIR"));
        wasi.reset(b"");
        assert_eq!(wasi.names(b"/").map(|names| names.len()), Ok(0));
    }
}
