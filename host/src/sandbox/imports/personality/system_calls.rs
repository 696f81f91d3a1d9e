//! System calls about files, which JavaScript answers for Emscripten's libc.

use crate::sandbox::imports::personality::guest::{Function, Guest, Reply};
use crate::sandbox::wasi::posix::FileStatus;

type Result<T> = wasmtime::Result<T>;

/// `AT_REMOVEDIR`, `AT_SYMLINK_NOFOLLOW`, `AT_EMPTY_PATH`.
const REMOVE_DIR: u32 = 0x200;
const NO_FOLLOW: u32 = 0x100;
const EMPTY_PATH: u32 = 0x1000;
/// `AT_FDCWD`.
const CURRENT: i32 = -100;

pub(super) const FUNCTIONS: [(&str, Function); 9] = [
    ("__syscall_openat", openat),
    ("__syscall_open", open),
    ("__syscall_fstat64", fstat),
    ("__syscall_stat64", stat),
    ("__syscall_lstat64", lstat),
    ("__syscall_newfstatat", newfstatat),
    ("__syscall_unlinkat", unlinkat),
    ("__syscall_mkdirat", mkdirat),
    ("__syscall_dup", dup),
];

/// What the call returns: a number, or an error's with a minus.
fn reply(guest: &mut Guest<'_, '_>, result: std::result::Result<u32, i32>) -> Result<Reply> {
    guest.caller.data_mut().wasi.charge_files()?;
    Ok(Reply::Integer(result.map_or_else(|error| -error, u32::cast_signed)))
}

/// Directory, path, flags.
fn openat(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let path = guest.bytes_to_zero(guest.number(1))?;
    let (dir, flags) = (guest.number(0).cast_signed(), guest.number(2));
    let opened = guest.caller.data_mut().wasi.open(dir, &path, flags);
    reply(guest, opened)
}

/// Path, flags.
fn open(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let path = guest.bytes_to_zero(guest.number(0))?;
    let flags = guest.number(1);
    let opened = guest.caller.data_mut().wasi.open(CURRENT, &path, flags);
    reply(guest, opened)
}

fn fstat(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let fd = guest.number(0);
    let status = guest.caller.data_mut().wasi.descriptor_status(fd);
    store(guest, status, guest.number(1))
}

fn stat(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let path = guest.bytes_to_zero(guest.number(0))?;
    status_at(guest, (CURRENT, &path, true), guest.number(1))
}

fn lstat(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let path = guest.bytes_to_zero(guest.number(0))?;
    status_at(guest, (CURRENT, &path, false), guest.number(1))
}

/// Directory, path, address, flags.
fn newfstatat(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let path = guest.bytes_to_zero(guest.number(1))?;
    let (dir, flags) = (guest.number(0), guest.number(3));
    if path.is_empty() && flags & EMPTY_PATH != 0 {
        let status = guest.caller.data_mut().wasi.descriptor_status(dir);
        return store(guest, status, guest.number(2));
    }
    status_at(guest, (dir.cast_signed(), &path, flags & NO_FOLLOW == 0), guest.number(2))
}

fn status_at(guest: &mut Guest<'_, '_>, (dir, path, follow): (i32, &[u8], bool), at: u32) -> Result<Reply> {
    let status = guest.caller.data_mut().wasi.status(dir, path, follow);
    store(guest, status, at)
}

/// Stores a `struct stat`. There are two layouts, an older one with padding behind the device, and a module does not
/// say which is its own; what only one of them has at a place is where the other has an owner or a time.
fn store(guest: &mut Guest<'_, '_>, status: std::result::Result<FileStatus, i32>, at: u32) -> Result<Reply> {
    const BYTES: usize = 96;
    let written = match status {
        Ok(status) => {
            let mut bytes = [0; BYTES];
            let mut put = |offset: usize, value: u32| bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
            // Newer: mode, links, size, inode.
            put(4, status.mode);
            put(8, status.links);
            put(24, status.size as u32);
            put(88, status.inode as u32);
            // Older: mode, links, size.
            put(12, status.mode);
            put(16, status.links);
            put(40, status.size as u32);
            guest.write(at, &bytes).map(|()| Ok(0))?
        }
        Err(error) => Err(error),
    };
    reply(guest, written)
}

/// Directory, path, flags.
fn unlinkat(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let path = guest.bytes_to_zero(guest.number(1))?;
    let (dir, flags) = (guest.number(0).cast_signed(), guest.number(2));
    let removed = guest.caller.data_mut().wasi.remove(dir, &path, flags & REMOVE_DIR != 0);
    reply(guest, removed.map(|()| 0))
}

fn mkdirat(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let path = guest.bytes_to_zero(guest.number(1))?;
    let dir = guest.number(0).cast_signed();
    let made = guest.caller.data_mut().wasi.make_dir(dir, &path);
    reply(guest, made.map(|()| 0))
}

/// Another descriptor of the same file, which goes on from where that is.
fn dup(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let fd = guest.number(0);
    let copied = guest.caller.data_mut().wasi.copy_descriptor(fd);
    reply(guest, copied)
}

/// WASI's, whose offset is two numbers: descriptor, low, high, from where, address of the result.
pub(super) fn seek(guest: &mut Guest<'_, '_>) -> Result<Reply> {
    let offset = i64::from(guest.number(1)) | i64::from(guest.number(2).cast_signed()) << 32;
    let (fd, whence, result) = (guest.number(0), guest.number(3), guest.number(4));
    match guest.caller.data_mut().wasi.seek(fd, offset, whence) {
        Ok(place) => guest.write(result, &place.to_le_bytes()).map(|()| Reply::Integer(0)),
        Err(error) => Ok(Reply::Integer(error)),
    }
}
