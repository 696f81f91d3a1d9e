//! The names in one directory.

use super::fs::Ino;
use std::sync::Arc;

/// Names and their inodes: looked up by name, listed in the order in which they were made.
///
/// A listing goes on behind a cookie, and a cookie stays what it is while names come and go: a program that deletes
/// what it lists, as `rm -r` does, meets every name once. Names are shared between the snapshot and the live directory,
/// so that restoring one copies no text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dir {
    /// The directory that this one is in; itself for the root and for what was removed.
    pub(super) parent: Ino,
    next_cookie: u64,
    /// By cookie.
    listed: Vec<Entry>,
    /// By name, with the cookie.
    named: Vec<(Arc<[u8]>, u64)>,
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Position in the listing: what comes after this entry is what has a larger one.
    pub(super) cookie: u64,
    pub(super) name: Arc<[u8]>,
    pub(super) ino: Ino,
}

impl Dir {
    /// Cookies 1 and 2 are those of `.` and `..`, which are not stored.
    const FIRST_COOKIE: u64 = 3;

    pub(super) fn new(parent: Ino) -> Self {
        Self { parent, next_cookie: Self::FIRST_COOKIE, listed: Vec::new(), named: Vec::new() }
    }

    pub(super) fn restore(&mut self, other: &Self) {
        self.parent = other.parent;
        self.next_cookie = other.next_cookie;
        self.listed.clone_from(&other.listed);
        self.named.clone_from(&other.named);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    fn find(&self, name: &[u8]) -> Result<usize, usize> {
        self.named.binary_search_by(|(other, _)| other[..].cmp(name))
    }

    fn position(&self, cookie: u64) -> usize {
        self.listed.partition_point(|entry| entry.cookie < cookie)
    }

    pub(super) fn get(&self, name: &[u8]) -> Option<Ino> {
        let (_, cookie) = self.named[self.find(name).ok()?];
        Some(self.listed[self.position(cookie)].ino)
    }

    /// Adds a name that isn't there.
    pub(super) fn insert(&mut self, name: &[u8], ino: Ino) {
        let Err(at) = self.find(name) else { panic!("a name is added to a directory once") };
        let (name, cookie): (Arc<[u8]>, u64) = (name.into(), self.next_cookie);
        self.next_cookie += 1;
        self.named.insert(at, (Arc::clone(&name), cookie));
        self.listed.push(Entry { cookie, name, ino });
    }

    /// Removes a name that is there.
    pub(super) fn remove(&mut self, name: &[u8]) {
        let Ok(at) = self.find(name) else { panic!("a name is removed from the directory that has it") };
        let (_, cookie) = self.named.remove(at);
        let position = self.position(cookie);
        self.listed.remove(position);
    }

    /// What is listed after the entry with this cookie, which may be gone.
    pub(super) fn after(&self, cookie: u64) -> &[Entry] {
        &self.listed[self.position(cookie.saturating_add(1))..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_meets_each_name_once_though_names_are_removed_meanwhile() {
        let mut dir = Dir::new(Ino(0));
        for name in [b"c", b"a", b"d", b"b"] {
            dir.insert(name, Ino(u32::from(name[0])));
        }
        let (mut seen, mut cookie) = (Vec::new(), 2);
        while let Some(entry) = dir.after(cookie).first().cloned() {
            cookie = entry.cookie;
            seen.extend_from_slice(&entry.name);
            dir.remove(&entry.name);
        }
        assert_eq!(seen, b"cadb");
        assert!(dir.is_empty());
    }
}
