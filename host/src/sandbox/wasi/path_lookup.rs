//! From paths to inodes, as Linux' `openat2` does it with `RESOLVE_BENEATH`.
//!
//! A path is followed from a directory, and it never leaves it: `..` out of it, an absolute path and a symbolic link
//! with an absolute target are `perm`, although all of this file system could be shown. wasmtime-wasi does the same,
//! and language runtimes turn absolute paths into ones that are relative to the preopened directory.

use super::abi::{Errno, Result};
use super::fs::{Body, Fs};
use super::ino::Ino;

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// To a directory, by a path that ends in `.` or `..`.
    Dots(Ino),
    /// To a name in a directory, which need not exist.
    Name {
        /// The directory.
        dir: Ino,
        /// The last component of the path.
        name: Vec<u8>,
        /// What has the name.
        ino: Option<Ino>,
        /// The path ended in `/`: what has the name must be a directory.
        slash: bool,
    },
}

/// How [`Fs::walk`] treats the last component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Walk {
    /// A symbolic link there is followed. (With a `/` behind it, always.)
    pub(super) follow: bool,
    /// A file will be made there if nothing is: a `/` behind it is then `isdir`.
    pub(super) create: bool,
}

impl Fs {
    /// Bytes of a path with its terminating zero.
    const PATH_MAX: usize = 4096;
    const NAME_MAX: usize = 255;
    /// A component of a path: in units of fuel.
    const STEP_WORK: u64 = 16;
    /// Symbolic links followed in one walk.
    const LINKS_MAX: usize = 40;

    /// Follows `path` from the directory `start`.
    pub(super) fn walk(&self, start: Ino, path: &[u8], how: Walk) -> Result<Place> {
        check_path(path)?;
        let mut path = path.to_vec();
        let (mut at, mut here, mut links) = (0, start, 0);
        if path[0] == b'/' {
            return Err(Errno::Perm);
        }
        loop {
            self.worked(Self::STEP_WORK);
            at += path[at..].iter().take_while(|byte| **byte == b'/').count();
            let len = path[at..].iter().take_while(|byte| **byte != b'/').count();
            let name = &path[at..at + len];
            let rest = &path[at + len..];
            let last = rest.iter().all(|byte| *byte == b'/');
            let slash = last && !rest.is_empty();
            if name == b"." || name == b".." {
                if name == b".." {
                    if here == start {
                        return Err(Errno::Perm);
                    }
                    here = self.dir(here)?.parent;
                }
                if last {
                    return Ok(Place::Dots(here));
                }
                at += len;
                continue;
            }
            if last && slash && how.create {
                return Err(Errno::Isdir);
            }
            let ino = self.lookup(here, name)?;
            let link = match ino.map(|ino| &self.get(ino).body) {
                Some(Body::Symlink(target)) if !last || slash || how.follow => Some(target),
                _ => None,
            };
            match (link, ino) {
                (Some(target), _) => {
                    links += 1;
                    if links > Self::LINKS_MAX {
                        return Err(Errno::Loop);
                    }
                    path = [target, rest].concat();
                    self.worked(path.len() as u64);
                    at = 0;
                }
                (None, ino) if last => return Ok(Place::Name { dir: here, name: name.to_vec(), ino, slash }),
                (None, None) => return Err(Errno::Noent),
                (None, Some(ino)) if !self.is_dir(ino) => return Err(Errno::Notdir),
                (None, Some(ino)) => {
                    here = ino;
                    at += len;
                }
            }
        }
    }

    /// What is called `name` in `dir`. In a directory that was removed nothing is found and nothing can be made.
    pub(super) fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Option<Ino>> {
        check_path(name)?;
        self.worked(Self::LOOK_WORK);
        self.check_alive(dir)?;
        if name.len() > Self::NAME_MAX {
            return Err(Errno::Nametoolong);
        }
        Ok(self.dir(dir)?.get(name))
    }

    /// The inode at `path`, which must exist.
    pub(super) fn find(&self, start: Ino, path: &[u8], follow: bool) -> Result<Ino> {
        match self.walk(start, path, Walk { follow, create: false })? {
            Place::Dots(ino) => Ok(ino),
            Place::Name { ino: None, .. } => Err(Errno::Noent),
            Place::Name { ino: Some(ino), slash: true, .. } if !self.is_dir(ino) => Err(Errno::Notdir),
            Place::Name { ino: Some(ino), .. } => Ok(ino),
        }
    }

    /// The directory at `path`.
    fn find_dir(&self, start: Ino, path: &[u8]) -> Result<Ino> {
        let ino = self.find(start, path, true)?;
        if self.is_dir(ino) { Ok(ino) } else { Err(Errno::Notdir) }
    }

    /// The directory that holds the last component of `path`, and that component, which is never followed.
    ///
    /// A path that can only mean a directory (it ends in `/`, `/.` or `..`) gives that directory, and `.` as the
    /// component.
    pub(super) fn parent<'p>(&self, start: Ino, path: &'p [u8]) -> Result<(Ino, &'p [u8])> {
        if path.is_empty() {
            return Err(Errno::Noent);
        }
        let (before, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (&path[..0], path),
        };
        if name.is_empty() || name == b".." || (name == b"." && name.len() < path.len()) {
            return Ok((self.find_dir(start, path)?, b"."));
        }
        let dir = match before {
            [] if name.len() < path.len() => return Err(Errno::Perm),
            [] => start,
            before => self.find_dir(start, before)?,
        };
        Ok((dir, name))
    }
}

/// [`check_path`] for a call with two paths: first both must be strings.
pub(super) fn check_paths(one: &[u8], other: &[u8]) -> Result<()> {
    if one.contains(&0) || other.contains(&0) {
        return Err(Errno::Inval);
    }
    check_path(one)?;
    check_path(other)
}

/// What the kernel says of a path before it looks at it.
pub(super) fn check_path(path: &[u8]) -> Result<()> {
    match path {
        [] => Err(Errno::Noent),
        path if path.contains(&0) => Err(Errno::Inval),
        path if path.len() >= Fs::PATH_MAX => Err(Errno::Nametoolong),
        _ => Ok(()),
    }
}

/// `path` without the slashes at its end, unless it consists of slashes.
pub(super) fn strip_slashes(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(1, |last| last + 1);
    &path[..end.min(path.len())]
}

#[cfg(test)]
mod tests {
    use super::super::fs::Create;
    use super::*;

    /// d/e/, d/up -> ../f, f (a file), l -> d/e, loop -> loop, gone -> d/nothing/
    fn tree() -> Fs {
        let mut fs = Fs::new(1 << 20, 0);
        let d = fs.create(Fs::ROOT, b"d", Create::Dir, 0).unwrap();
        fs.create(d, b"e", Create::Dir, 0).unwrap();
        fs.create(d, b"up", Create::Symlink(b"../f"), 0).unwrap();
        fs.create(Fs::ROOT, b"f", Create::File, 0).unwrap();
        fs.create(Fs::ROOT, b"l", Create::Symlink(b"d/e"), 0).unwrap();
        fs.create(Fs::ROOT, b"loop", Create::Symlink(b"loop"), 0).unwrap();
        fs.create(Fs::ROOT, b"gone", Create::Symlink(b"d/nothing/"), 0).unwrap();
        fs
    }

    #[test]
    fn paths_resolve_like_linux() {
        let fs = tree();
        let at = |path: &str| fs.find(Fs::ROOT, path.as_bytes(), true);
        let f = at("f").unwrap();
        for path in ["./f", "d/../f", "d//..//f", "l/../up", "d/up", "l/../../f", "./d/e/../../f"] {
            assert_eq!(at(path), Ok(f), "{path}");
        }
        for (path, errno) in [
            ("", Errno::Noent),
            ("x", Errno::Noent),
            ("x/y", Errno::Noent),
            ("f/", Errno::Notdir),
            ("f/x", Errno::Notdir),
            ("f/..", Errno::Notdir),
            ("/f", Errno::Perm),
            ("..", Errno::Perm),
            ("d/../../d", Errno::Perm),
            ("loop", Errno::Loop),
            ("loop/x", Errno::Loop),
            ("gone", Errno::Noent),
            ("f\0", Errno::Inval),
        ] {
            assert_eq!(at(path), Err(errno), "{path}");
        }
        assert_eq!(at(&"n".repeat(255)), Err(Errno::Noent));
        assert_eq!(at(&"n".repeat(256)), Err(Errno::Nametoolong));
        assert_eq!(at(&"d/../".repeat(1000)), Err(Errno::Nametoolong));
    }

    #[test]
    fn links_at_the_end_are_followed_only_if_asked_or_slashed() {
        let fs = tree();
        let e = fs.find(Fs::ROOT, b"d/e", false).unwrap();
        let l = fs.lookup(Fs::ROOT, b"l").unwrap().unwrap();
        assert_eq!(fs.find(Fs::ROOT, b"l", true), Ok(e));
        assert_eq!(fs.find(Fs::ROOT, b"l", false), Ok(l));
        assert_eq!(fs.find(Fs::ROOT, b"l/", false), Ok(e));
    }

    #[test]
    fn a_directory_is_the_ceiling_of_its_own_paths() {
        let fs = tree();
        let d = fs.find(Fs::ROOT, b"d", false).unwrap();
        assert_eq!(fs.find(d, b"..", true), Err(Errno::Perm));
        assert_eq!(fs.find(d, b"up", true), Err(Errno::Perm));
        assert_eq!(fs.find(d, b"e/..", true), Ok(d));
    }

    #[test]
    fn parents_of_directory_paths_are_the_directories() {
        let fs = tree();
        let d = fs.find(Fs::ROOT, b"d", false).unwrap();
        assert_eq!(fs.parent(Fs::ROOT, b"d/x"), Ok((d, &b"x"[..])));
        assert_eq!(fs.parent(Fs::ROOT, b"d//x"), Ok((d, &b"x"[..])));
        assert_eq!(fs.parent(Fs::ROOT, b"d/"), Ok((d, &b"."[..])));
        assert_eq!(fs.parent(Fs::ROOT, b"d/."), Ok((d, &b"."[..])));
        assert_eq!(fs.parent(Fs::ROOT, b"d/e/.."), Ok((d, &b"."[..])));
        assert_eq!(fs.parent(Fs::ROOT, b"."), Ok((Fs::ROOT, &b"."[..])));
        assert_eq!(fs.parent(Fs::ROOT, b"/x"), Err(Errno::Perm));
        assert_eq!(fs.parent(Fs::ROOT, b"/"), Err(Errno::Perm));
        assert_eq!(strip_slashes(b"a//"), b"a");
        assert_eq!(strip_slashes(b"//"), b"/");
        assert_eq!(strip_slashes(b""), b"");
    }
}
