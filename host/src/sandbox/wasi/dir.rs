//! The names in one directory.

use super::ino::Ino;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// Names and their inodes: looked up by name, listed in the order in which they were made.
///
/// A listing goes on behind a cookie, and a cookie stays what it is while names come and go: a program that deletes
/// what it lists, as `rm -r` does, meets every name once. Names are shared between the snapshot and the live directory,
/// so that restoring one copies no text. Trees, because no call may take long in a directory of 100,000 names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dir {
    /// The directory that this one is in; itself for the root and for what was removed.
    pub(super) parent: Ino,
    next_cookie: u64,
    listed: BTreeMap<u64, (Arc<[u8]>, Ino)>,
    /// Cookies by name.
    named: BTreeMap<Arc<[u8]>, u64>,
}

/// One name in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    /// Position in the listing: what comes after this entry is what has a larger one.
    pub(super) cookie: u64,
    pub(super) name: &'a [u8],
    pub(super) ino: Ino,
}

impl Dir {
    /// Cookies 1 and 2 are those of `.` and `..`, which are not stored.
    const FIRST_COOKIE: u64 = 3;

    pub(super) fn new(parent: Ino) -> Self {
        Self { parent, next_cookie: Self::FIRST_COOKIE, listed: BTreeMap::new(), named: BTreeMap::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    pub(super) fn get(&self, name: &[u8]) -> Option<Ino> {
        let cookie = self.named.get(name)?;
        Some(self.listed[cookie].1)
    }

    /// Adds a name that isn't there.
    pub(super) fn insert(&mut self, name: &[u8], ino: Ino) {
        let (name, cookie): (Arc<[u8]>, u64) = (name.into(), self.next_cookie);
        self.next_cookie += 1;
        let there = self.named.insert(Arc::clone(&name), cookie);
        assert!(there.is_none(), "a name is added to a directory once");
        self.listed.insert(cookie, (name, ino));
    }

    /// Removes a name that is there.
    pub(super) fn remove(&mut self, name: &[u8]) {
        let cookie = self.named.remove(name);
        let cookie = cookie.expect("a name is removed from the directory that has it");
        self.listed.remove(&cookie);
    }

    /// What is listed after the entry with this cookie, which may be gone.
    pub(super) fn after(&self, cookie: u64) -> impl Iterator<Item = Entry<'_>> {
        let entries = self.listed.range((Bound::Excluded(cookie), Bound::Unbounded));
        entries.map(|(cookie, (name, ino))| Entry { cookie: *cookie, name, ino: *ino })
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
        loop {
            let next = dir.after(cookie).next().map(|entry| (entry.cookie, entry.name.to_vec()));
            let Some((next, name)) = next else { break };
            seen.extend_from_slice(&name);
            dir.remove(&name);
            cookie = next;
        }
        assert_eq!(seen, b"cadb");
        assert!(dir.is_empty());
    }
}
