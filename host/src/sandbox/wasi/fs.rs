//! The file system's inodes: storage, limits, and the way back to the state of the snapshot.
//!
//! ```text
//! base    [root][tmp][a.txt]                 as of the snapshot, never written
//! live    [root][tmp][a.txt'][new][new]      what the guest sees
//! dirty          ^ 2                         base inodes whose live copy may differ
//! ```
//!
//! [`Fs::reset`] copies back what is dirty and drops what was added, so that a guest which only reads pays nothing. An
//! inode is copied as a whole, with a file's contents: fine for files of the size of test inputs. Reading leaves access
//! times alone (as on a file system mounted with `noatime`), which is what makes reading free.

use super::abi::{Errno, Filestat, Filetype, Result};
use super::dir::Dir;
use super::ino::Ino;
use crate::sandbox::machine::heap::give_back_freed;
use std::cell::Cell;
use std::sync::Arc;

/// A file, directory or symbolic link, apart from its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Inode {
    pub(super) body: Body,
    /// Number of names; for a directory, 2 and its subdirectories. 0 after removal, while descriptors hold it.
    pub(super) nlink: u64,
    pub(super) times: Times,
}

/// What an inode is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// Not in use.
    Free,
    File(Vec<u8>),
    Dir(Dir),
    /// Never empty, never starts with `/`.
    Symlink(Arc<[u8]>),
}

/// Time stamps in nanoseconds of virtual real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) atim: u64,
    pub(super) mtim: u64,
    pub(super) ctim: u64,
}

impl Times {
    pub(super) fn all(now: u64) -> Self {
        Self { atim: now, mtim: now, ctim: now }
    }
}

impl Inode {
    /// Becomes equal to `other`, in the buffers that it has unless they are far too large and not to be kept.
    fn restore(&mut self, other: &Self, keep_buffer: bool) {
        match (&mut self.body, &other.body) {
            (Body::File(to), Body::File(from)) => {
                to.clone_from(from);
                if to.capacity() > Fs::SPARE_BYTES_MAX && !keep_buffer {
                    to.shrink_to_fit();
                }
            }
            (to, from) => *to = from.clone(),
        }
        self.nlink = other.nlink;
        self.times = other.times;
    }
}

/// An in-memory file system.
pub(super) struct Fs {
    base: Vec<Inode>,
    base_free: Vec<Ino>,
    base_used: usize,
    live: Vec<Inode>,
    /// Unused inodes in `live`, last to be used first.
    free: Vec<Ino>,
    /// Bytes charged for contents, names and inodes.
    used: usize,
    pub(super) bytes_max: usize,
    /// Indices into `base`, in the order of their first change, each once.
    dirty: Vec<Ino>,
    is_dirty: Vec<bool>,
    /// The file that [`Fs::put`] filled last: it will be filled again.
    pub(super) filled: Option<Ino>,
    /// Empty buffers of files that are gone, for the next ones.
    spare: Vec<Vec<u8>>,
    /// What was done since somebody last asked, in units of fuel, beside moving bytes.
    work: Cell<u64>,
}

impl Fs {
    /// The directory `/`.
    pub(super) const ROOT: Ino = Ino(0);
    /// Charged for an inode, so that empty files are not free of cost.
    const INODE_BYTES: usize = 256;
    /// Charged for a name, besides its length.
    const NAME_BYTES: usize = 64;
    /// Spare buffers larger than this are given back, and so is what a restored file has left.
    const SPARE_BYTES_MAX: usize = 64 << 10;
    /// Where an execution wrote more than this, what its files took is given back to the kernel: they grew by doubling,
    /// and of all sizes that they had some would be kept.
    const FREED_BYTES_MAX: usize = 8 << 20;
    /// Spare buffers kept.
    const SPARE_MAX: usize = 32;

    /// A name is looked for, or one directory after the other is gone through: in units of fuel.
    pub(super) const LOOK_WORK: u64 = 128;
    /// A name or an inode comes or goes.
    const CHANGE_WORK: u64 = 512;

    /// Counts work.
    pub(super) fn worked(&self, units: u64) {
        self.work.set(self.work.get().saturating_add(units));
    }

    /// Work since this was last asked for, in units of fuel.
    pub(super) fn take_work(&self) -> u64 {
        self.work.take()
    }

    /// Bytes that contents, names and inodes take together.
    pub(super) fn bytes(&self) -> usize {
        self.used
    }

    /// An empty root directory. `bytes_max` bounds contents, names and inodes together.
    pub(super) fn new(bytes_max: usize, now: u64) -> Self {
        let root = Inode { body: Body::Dir(Dir::new(Self::ROOT)), nlink: 2, times: Times::all(now) };
        let mut fs = Self {
            base: Vec::new(),
            base_free: Vec::new(),
            base_used: 0,
            live: vec![root],
            free: Vec::new(),
            used: Self::INODE_BYTES,
            bytes_max,
            dirty: Vec::new(),
            is_dirty: Vec::new(),
            filled: None,
            spare: Vec::new(),
            work: Cell::new(0),
        };
        fs.snapshot();
        fs
    }

    /// Makes the present state the one to which [`Fs::reset`] goes back.
    pub(super) fn snapshot(&mut self) {
        self.base.clone_from(&self.live);
        self.base_free.clone_from(&self.free);
        self.base_used = self.used;
        self.dirty.clear();
        self.is_dirty.clear();
        self.is_dirty.resize(self.base.len(), false);
    }

    /// Goes back to the snapshot.
    pub(super) fn reset(&mut self) {
        while self.live.len() > self.base.len() {
            if let Some(Inode { body: Body::File(data), .. }) = self.live.pop() {
                self.keep_buffer(data);
            }
        }
        while let Some(ino) = self.dirty.pop() {
            let keep_buffer = self.filled == Some(ino);
            self.live[ino.0 as usize].restore(&self.base[ino.0 as usize], keep_buffer);
            self.is_dirty[ino.0 as usize] = false;
        }
        self.free.clone_from(&self.base_free);
        if self.used > self.base_used + Self::FREED_BYTES_MAX {
            give_back_freed();
        }
        self.used = self.base_used;
    }

    fn keep_buffer(&mut self, mut data: Vec<u8>) {
        if self.spare.len() < Self::SPARE_MAX && data.capacity() <= Self::SPARE_BYTES_MAX {
            data.clear();
            self.spare.push(data);
        }
    }

    pub(super) fn get(&self, ino: Ino) -> &Inode {
        &self.live[ino.0 as usize]
    }

    /// The inode for writing: from here on it counts as changed.
    pub(super) fn edit(&mut self, ino: Ino) -> &mut Inode {
        if let Some(is_dirty @ false) = self.is_dirty.get_mut(ino.0 as usize) {
            *is_dirty = true;
            self.dirty.push(ino);
        }
        &mut self.live[ino.0 as usize]
    }

    /// The entries of `ino`, if it is a directory.
    pub(super) fn dir(&self, ino: Ino) -> Result<&Dir> {
        match &self.get(ino).body {
            Body::Dir(dir) => Ok(dir),
            _ => Err(Errno::Notdir),
        }
    }

    pub(super) fn is_dir(&self, ino: Ino) -> bool {
        matches!(self.get(ino).body, Body::Dir(_))
    }

    fn charge(&mut self, bytes: usize) -> Result<()> {
        self.check_room(bytes)?;
        self.used += bytes;
        Ok(())
    }

    pub(super) fn check_room(&self, bytes: usize) -> Result<()> {
        if bytes > self.room() { Err(Errno::Nospc) } else { Ok(()) }
    }

    /// Inode number `index`, for tests that look at all of them.
    #[cfg(test)]
    pub(super) fn nth(&self, index: usize) -> Option<&Inode> {
        self.live.get(index)
    }

    #[cfg(test)]
    pub(super) fn unused(&self) -> &[Ino] {
        &self.free
    }

    #[cfg(test)]
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// Bytes that can still be stored.
    fn room(&self) -> usize {
        self.bytes_max.saturating_sub(self.used)
    }

    /// Adds an inode without a name.
    fn add_inode(&mut self, body: Body, now: u64) -> Result<Ino> {
        self.worked(Self::CHANGE_WORK);
        let content = if let Body::Symlink(target) = &body { target.len() } else { 0 };
        self.charge(Self::INODE_BYTES + content)?;
        let nlink = if matches!(body, Body::Dir(_)) { 2 } else { 1 };
        let inode = Inode { body, nlink, times: Times::all(now) };
        if let Some(ino) = self.free.pop() {
            *self.edit(ino) = inode;
            return Ok(ino);
        }
        let ino = Ino(u32::try_from(self.live.len()).map_err(|_| Errno::Nospc)?);
        self.live.push(inode);
        Ok(ino)
    }

    /// Gives up an inode that has neither names nor descriptors.
    pub(super) fn free(&mut self, ino: Ino) {
        assert_eq!(self.get(ino).nlink, 0, "inode {} still has a name", ino.0);
        self.worked(Self::CHANGE_WORK);
        let body = std::mem::replace(&mut self.edit(ino).body, Body::Free);
        self.used -= Self::INODE_BYTES;
        match body {
            Body::File(data) => {
                self.used -= data.len();
                self.keep_buffer(data);
            }
            Body::Symlink(target) => self.used -= target.len(),
            Body::Dir(_) | Body::Free => {}
        }
        self.free.push(ino);
    }

    /// Makes a file, directory or link called `name` in `dir`, where there is no such name yet.
    pub(super) fn create(&mut self, dir: Ino, name: &[u8], kind: Create<'_>, now: u64) -> Result<Ino> {
        self.check_alive(dir)?;
        self.check_room(Self::NAME_BYTES + name.len() + Self::INODE_BYTES)?;
        let body = match kind {
            Create::File => Body::File(self.spare.pop().unwrap_or_default()),
            Create::Dir => Body::Dir(Dir::new(dir)),
            Create::Symlink(target) => Body::Symlink(target.into()),
        };
        let is_dir = matches!(body, Body::Dir(_));
        let ino = self.add_inode(body, now)?;
        if let Err(errno) = self.attach(dir, name, ino, now) {
            self.edit(ino).nlink = 0;
            self.free(ino);
            return Err(errno);
        }
        if is_dir {
            self.edit(dir).nlink += 1;
        }
        Ok(ino)
    }

    /// Gives `ino` the name `name` in `dir`, where there is no such name yet. Link counts are the caller's.
    pub(super) fn attach(&mut self, dir: Ino, name: &[u8], ino: Ino, now: u64) -> Result<()> {
        self.check_alive(dir)?;
        self.worked(Self::CHANGE_WORK);
        self.charge(Self::NAME_BYTES + name.len())?;
        let inode = self.edit(dir);
        inode.times.mtim = now;
        inode.times.ctim = now;
        let Body::Dir(entries) = &mut inode.body else { unreachable!("checked to be a directory") };
        entries.insert(name, ino);
        Ok(())
    }

    /// Takes the name `name` out of `dir`, which has it. Link counts are the caller's.
    pub(super) fn detach(&mut self, dir: Ino, name: &[u8], now: u64) {
        self.worked(Self::CHANGE_WORK);
        self.used -= Self::NAME_BYTES + name.len();
        let inode = self.edit(dir);
        inode.times.mtim = now;
        inode.times.ctim = now;
        if let Body::Dir(entries) = &mut inode.body {
            entries.remove(name);
        }
    }

    /// Nothing can be added to a directory that was removed.
    pub(super) fn check_alive(&self, dir: Ino) -> Result<()> {
        self.dir(dir)?;
        if self.get(dir).nlink == 0 { Err(Errno::Noent) } else { Ok(()) }
    }

    /// Bytes of the file from `position` on; none behind its end.
    pub(super) fn read(&self, ino: Ino, position: u64) -> &[u8] {
        match &self.get(ino).body {
            Body::File(data) => usize::try_from(position).ok().and_then(|at| data.get(at..)).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Length of the file in bytes, 0 for anything else.
    pub(super) fn size(&self, ino: Ino) -> u64 {
        match &self.get(ino).body {
            Body::File(data) => data.len() as u64,
            _ => 0,
        }
    }

    /// Stores as much of `bytes` at `position` as there is room for, and says how much that was. A gap between the end
    /// and `position` is filled with zeros, which take room too.
    pub(super) fn write(&mut self, ino: Ino, position: u64, bytes: &[u8], now: u64) -> Result<usize> {
        if position > i64::MAX as u64 {
            return Err(Errno::Inval);
        }
        if bytes.is_empty() {
            return Ok(0);
        }
        let size = self.size(ino);
        let end_max = size + self.room() as u64;
        if position >= end_max {
            return Err(Errno::Nospc);
        }
        let count = bytes.len().min((end_max - position) as usize);
        let end = position as usize + count;
        if end as u64 > size {
            self.used += end - size as usize;
        }
        if let Body::File(data) = &mut self.modify(ino, now).body {
            if end > data.len() {
                data.resize(end, 0);
            }
            data[position as usize..end].copy_from_slice(&bytes[..count]);
        }
        Ok(count)
    }

    /// Cuts the file, or extends it with zeros; `fbig` if there is no room.
    pub(super) fn set_size(&mut self, ino: Ino, size: u64, now: u64) -> Result<()> {
        let old = self.size(ino);
        if size > old && size - old > self.room() as u64 {
            return Err(Errno::Fbig);
        }
        // Pages are new each time: the kernel gives them, clears them, and takes them back.
        self.worked(size.saturating_sub(old) / 2);
        self.used = self.used - old as usize + size as usize;
        if let Body::File(data) = &mut self.modify(ino, now).body {
            data.resize(size as usize, 0);
        }
        Ok(())
    }

    /// Replaces the file's contents; the limit is not asked.
    pub(super) fn fill(&mut self, ino: Ino, bytes: &[u8], now: u64) {
        if let Body::File(data) = &mut self.modify(ino, now).body {
            let old = data.len();
            data.clear();
            data.extend_from_slice(bytes);
            self.used = self.used - old + bytes.len();
        }
    }

    fn modify(&mut self, ino: Ino, now: u64) -> &mut Inode {
        let inode = self.edit(ino);
        inode.times.mtim = now;
        inode.times.ctim = now;
        inode
    }

    /// The attributes of `ino`. Directories are 4096 bytes long, as on many file systems.
    pub(super) fn stat(&self, ino: Ino) -> Filestat {
        let Inode { body, nlink, times } = self.get(ino);
        let (filetype, size) = match body {
            Body::File(data) => (Filetype::RegularFile, data.len() as u64),
            Body::Dir(_) => (Filetype::Directory, 4096),
            Body::Symlink(target) => (Filetype::SymbolicLink, target.len() as u64),
            Body::Free => (Filetype::Unknown, 0),
        };
        let Times { atim, mtim, ctim } = *times;
        Filestat { dev: 1, ino: u64::from(ino.0) + 1, filetype, nlink: *nlink, size, atim, mtim, ctim }
    }
}

/// What [`Fs::create`] makes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Create<'a> {
    File,
    Dir,
    /// With its target, which is not empty and does not start with `/`.
    Symlink(&'a [u8]),
}
