//! What changes names: make, remove, rename and link, with the errors that Linux gives, in the order in which it does.

use super::abi::{Errno, Result};
use super::fs::{Body, Create, Fs, Times};
use super::ino::Ino;
use super::path_lookup::{Place, Walk, check_paths, strip_slashes};

/// An inode that lost a name: it is to be freed if it has no other and no descriptor holds it.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Orphan(pub(super) Ino);

/// How [`Fs::open`] opens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) follow: bool,
    pub(super) create: bool,
    pub(super) exclusive: bool,
    pub(super) truncate: bool,
    pub(super) directory: bool,
    /// For writing; directories can't be.
    pub(super) write: bool,
}

impl Fs {
    /// Finds or makes what is to be opened.
    pub(super) fn open(&mut self, start: Ino, path: &[u8], how: Open, now: u64) -> Result<Ino> {
        let follow = how.follow && !(how.create && how.exclusive);
        let (ino, slash) = match self.walk(start, path, Walk { follow, create: how.create })? {
            Place::Dots(ino) => (ino, true),
            Place::Name { ino: Some(ino), slash, .. } => (ino, slash),
            Place::Name { dir, name, ino: None, .. } if how.create => {
                return self.create(dir, &name, Create::File, now);
            }
            Place::Name { ino: None, .. } => return Err(Errno::Noent),
        };
        if how.create && how.exclusive {
            return Err(Errno::Exist);
        }
        match &self.get(ino).body {
            Body::Dir(_) if how.write => Err(Errno::Isdir),
            Body::Dir(_) => Ok(ino),
            _ if slash => Err(Errno::Notdir),
            Body::Symlink(_) => Err(Errno::Loop),
            _ if how.directory => Err(Errno::Notdir),
            _ if how.truncate => self.set_size(ino, 0, now).map(|()| ino),
            _ => Ok(ino),
        }
    }

    /// Makes a directory.
    pub(super) fn make_dir(&mut self, start: Ino, path: &[u8], now: u64) -> Result<()> {
        let (dir, name) = self.parent(start, strip_slashes(path))?;
        self.check_new(dir, name)?;
        self.create(dir, name, Create::Dir, now)?;
        Ok(())
    }

    /// Makes a symbolic link to `target`, which is not looked at but must be relative.
    pub(super) fn make_symlink(&mut self, target: &[u8], start: Ino, path: &[u8], now: u64) -> Result<()> {
        if target.first() == Some(&b'/') {
            return Err(Errno::Perm);
        }
        let (dir, name) = self.parent(start, path)?;
        check_paths(target, name)?;
        self.check_new(dir, name)?;
        self.create(dir, name, Create::Symlink(target), now)?;
        Ok(())
    }

    /// The target of a symbolic link.
    pub(super) fn read_symlink(&self, start: Ino, path: &[u8]) -> Result<&[u8]> {
        let (dir, name) = self.parent(start, path)?;
        if name == b"." {
            return Err(Errno::Inval);
        }
        match &self.get(self.lookup(dir, name)?.ok_or(Errno::Noent)?).body {
            Body::Symlink(target) => Ok(target),
            _ => Err(Errno::Inval),
        }
    }

    /// Checks that `name` can be made in `dir`.
    fn check_new(&self, dir: Ino, name: &[u8]) -> Result<()> {
        if name == b"." || self.lookup(dir, name)?.is_some() {
            return Err(Errno::Exist);
        }
        Ok(())
    }

    /// Gives a file or symbolic link, which is not followed, a second name.
    pub(super) fn link(&mut self, from: (Ino, &[u8]), to: (Ino, &[u8]), now: u64) -> Result<()> {
        let (from_dir, from_name) = self.parent(from.0, from.1)?;
        let (to_dir, to_name) = self.parent(to.0, to.1)?;
        if to_name.contains(&0) {
            return Err(Errno::Inval);
        }
        let ino = match from_name {
            b"." => from_dir,
            name => self.lookup(from_dir, name)?.ok_or(Errno::Noent)?,
        };
        self.check_new(to_dir, to_name)?;
        if self.is_dir(ino) {
            return Err(Errno::Perm);
        }
        self.attach(to_dir, to_name, ino, now)?;
        let inode = self.edit(ino);
        inode.nlink += 1;
        inode.times.ctim = now;
        Ok(())
    }

    /// Removes a name of a file or symbolic link.
    pub(super) fn unlink(&mut self, start: Ino, path: &[u8], now: u64) -> Result<Orphan> {
        let (dir, name) = self.parent(start, path)?;
        if name == b"." {
            return Err(Errno::Isdir);
        }
        let ino = self.lookup(dir, name)?.ok_or(Errno::Noent)?;
        if self.is_dir(ino) {
            return Err(Errno::Isdir);
        }
        self.detach(dir, name, now);
        Ok(self.drop_name(ino, now))
    }

    /// Removes an empty directory.
    pub(super) fn remove_dir(&mut self, start: Ino, path: &[u8], now: u64) -> Result<Orphan> {
        let (dir, name) = self.parent(start, path)?;
        if name == b"." {
            return Err(Errno::Inval);
        }
        let ino = self.lookup(dir, name)?.ok_or(Errno::Noent)?;
        if !self.dir(ino)?.is_empty() {
            return Err(Errno::Notempty);
        }
        self.detach(dir, name, now);
        self.edit(dir).nlink -= 1;
        Ok(self.drop_name(ino, now))
    }

    /// Counts a name less. A directory has only one.
    fn drop_name(&mut self, ino: Ino, now: u64) -> Orphan {
        let inode = self.edit(ino);
        inode.times.ctim = now;
        match &mut inode.body {
            Body::Dir(dir) => {
                inode.nlink = 0;
                dir.parent = ino;
            }
            _ => inode.nlink -= 1,
        }
        Orphan(ino)
    }

    /// Moves a name, in place of what has the new one.
    pub(super) fn rename(&mut self, from: (Ino, &[u8]), to: (Ino, &[u8]), now: u64) -> Result<Option<Orphan>> {
        let slash = from.1.ends_with(b"/") || to.1.ends_with(b"/");
        let (from_dir, from_name) = self.parent(from.0, strip_slashes(from.1))?;
        let (to_dir, to_name) = self.parent(to.0, strip_slashes(to.1))?;
        check_paths(from_name, to_name)?;
        if from_name == b"." || to_name == b"." {
            return Err(Errno::Busy);
        }
        let moved = self.lookup(from_dir, from_name)?.ok_or(Errno::Noent)?;
        let replaced = self.lookup(to_dir, to_name)?;
        let is_dir = self.is_dir(moved);
        if slash && !is_dir {
            return Err(Errno::Notdir);
        }
        if is_dir && self.is_within(to_dir, moved) {
            return Err(Errno::Inval);
        }
        if replaced.is_some_and(|ino| self.is_dir(ino) && self.is_within(from_dir, ino)) {
            return Err(Errno::Notempty);
        }
        if replaced == Some(moved) {
            return Ok(None);
        }
        if let Some(ino) = replaced {
            match (&self.get(ino).body, is_dir) {
                (Body::Dir(dir), true) if !dir.is_empty() => return Err(Errno::Notempty),
                (Body::Dir(_), false) => return Err(Errno::Isdir),
                (Body::Dir(_), true) => {}
                (_, true) => return Err(Errno::Notdir),
                (_, false) => {}
            }
        }
        self.move_name((from_dir, from_name), (to_dir, to_name), moved, replaced, now)
    }

    /// The part of [`Fs::rename`] that changes things, after all checks but that for room.
    fn move_name(
        &mut self,
        from: (Ino, &[u8]),
        to: (Ino, &[u8]),
        moved: Ino,
        replaced: Option<Ino>,
        now: u64,
    ) -> Result<Option<Orphan>> {
        match replaced {
            Some(_) => self.detach(to.0, to.1, now),
            None => self.check_room(to.1.len().saturating_sub(from.1.len()))?,
        }
        self.detach(from.0, from.1, now);
        // There is room: the names that went were as long as this one, or the difference was checked.
        self.attach(to.0, to.1, moved, now)?;
        if self.is_dir(moved) {
            self.edit(from.0).nlink -= 1;
            // A replaced directory left the count that the moved one adds.
            if replaced.is_none() {
                self.edit(to.0).nlink += 1;
            }
            if let Body::Dir(dir) = &mut self.edit(moved).body {
                dir.parent = to.0;
            }
        }
        self.edit(moved).times.ctim = now;
        Ok(replaced.map(|ino| self.drop_name(ino, now)))
    }

    /// Whether `dir` is `ancestor` or lies in it.
    fn is_within(&self, dir: Ino, ancestor: Ino) -> bool {
        let mut here = dir;
        loop {
            self.worked(Self::LOOK_WORK);
            if here == ancestor {
                return true;
            }
            match self.dir(here) {
                Ok(entries) if entries.parent != here => here = entries.parent,
                _ => return false,
            }
        }
    }

    /// Sets the time stamps that are given, in nanoseconds.
    pub(super) fn set_times(&mut self, ino: Ino, atim: Option<u64>, mtim: Option<u64>, now: u64) {
        let times = &mut self.edit(ino).times;
        *times = Times { atim: atim.unwrap_or(times.atim), mtim: mtim.unwrap_or(times.mtim), ctim: now };
    }

    /// Puts a file with these contents at an absolute path, whatever it takes: directories are made, what is in the way
    /// is replaced. For the files that we give to the guest; not bounded by the limit.
    pub(super) fn put(&mut self, path: &str, bytes: &[u8], now: u64) -> Vec<Orphan> {
        let mut orphans = Vec::new();
        let mut names = path.split('/').filter(|name| !name.is_empty() && *name != ".").map(str::as_bytes).peekable();
        let mut dir = Self::ROOT;
        let limit = std::mem::replace(&mut self.bytes_max, usize::MAX);
        while let Some(name) = names.next() {
            let kind = if names.peek().is_some() { Create::Dir } else { Create::File };
            let there = self.dir(dir).ok().and_then(|entries| entries.get(name));
            let fits = there.is_some_and(|ino| match self.get(ino).body {
                Body::Dir(_) => matches!(kind, Create::Dir),
                Body::File(_) => matches!(kind, Create::File),
                _ => false,
            });
            let ino = match there {
                Some(ino) if fits => ino,
                there => {
                    if let Some(ino) = there {
                        self.detach(dir, name, now);
                        if self.is_dir(ino) {
                            self.edit(dir).nlink -= 1;
                        }
                        orphans.push(self.drop_name(ino, now));
                    }
                    self.create(dir, name, kind, now).expect("a live directory without this name takes it")
                }
            };
            if let Create::File = kind {
                self.fill(ino, bytes, now);
                self.filled = Some(ino);
            }
            dir = ino;
        }
        self.bytes_max = limit;
        orphans
    }

    /// What is in a file, by its absolute path; no link on the way is followed.
    pub(super) fn file(&self, path: &str) -> Option<&[u8]> {
        let mut ino = Self::ROOT;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            ino = self.dir(ino).ok()?.get(name.as_bytes())?;
        }
        match &self.get(ino).body {
            Body::File(bytes) => Some(bytes),
            _ => None,
        }
    }
}
