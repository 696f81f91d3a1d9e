//! What can be computed again: compiled code, and what it was laid out by. It lies in the user's own cache directory.
//!
//! ```text
//! ~/.cache/fuzzbox/key             32 random bytes: the secret of this user
//! ~/.cache/fuzzbox/<kind>/<name>   32 bytes blake3 of (name, kind, content), keyed with the secret; then the content
//! ```
//!
//! Compiled code is run as it is found. So it is taken from nowhere that somebody else may have filled: not from a
//! store, which comes with a repository or out of an archive, and then belongs to the user who unpacked it. All
//! directories here are 0700 and all files 0600, the user's, and no links, or they count as none; and who doesn't know
//! the secret can't make an entry, wherever it ends up. Any of it may be deleted at any time. Nothing is synced: after
//! a power failure the checksum tells.

use crate::store::dir::{Access, Dir, Kind, own_uid};
use anyhow::{Context, Result, ensure};
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Largest content of an entry: 512 MiB.
const CONTENT_BYTES_MAX: u64 = 512 << 20;

/// Length of the secret, and of the checksum before the content.
const CHECK_BYTES: usize = 32;

/// How often a name for a new file is looked for.
const ATTEMPTS_MAX: u32 = 1000;

/// Where the secret is.
const SECRET: &str = "key";

/// The user's cache.
#[derive(Debug)]
pub struct Cache {
    root: Dir,
    secret: [u8; CHECK_BYTES],
}

impl Cache {
    /// The cache of the user: in `$XDG_CACHE_HOME`, or `~/.cache`. None if there is neither, or if it can't be used or
    /// isn't this user's alone.
    pub fn of_user() -> Option<Self> {
        // A relative one would be in the repository that we are in.
        let dir = |variable| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        Self::in_dir(&dir("XDG_CACHE_HOME").or_else(|| Some(dir("HOME")?.join(".cache")))?)
    }

    /// The cache in `fuzzbox` below `base`; both are made if they are missing.
    pub fn in_dir(base: &Path) -> Option<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(base).ok()?;
        let root = private_dir(&Dir::open(base).ok()?, "fuzzbox")?;
        let secret = secret(&root)?;
        Some(Self { root, secret })
    }

    /// Looks up what was stored under `kind` and `name`; `None` if it isn't there, damaged, or not made by this user.
    pub fn get(&self, kind: &str, name: &[u8; 32]) -> Option<Vec<u8>> {
        let dir = self.kind(kind).ok()?;
        let mut entry = private_file(&dir, &entry_name(name))?;
        let bytes = entry.metadata().ok()?.len().checked_sub(CHECK_BYTES as u64)?;
        if bytes > CONTENT_BYTES_MAX {
            return None;
        }
        let mut expected = [0; CHECK_BYTES];
        entry.read_exact(&mut expected).ok()?;
        let mut content = Vec::with_capacity(usize::try_from(bytes).ok()?);
        entry.take(CONTENT_BYTES_MAX).read_to_end(&mut content).ok()?;
        (self.check(kind, name, &content) == expected).then_some(content)
    }

    /// Stores `bytes` under `kind` (a short word, a directory's name) and `name`, replacing what is there.
    ///
    /// # Errors
    ///
    /// Fails if there are too many of them or if they can't be written. Callers may go on.
    pub fn put(&self, kind: &str, name: &[u8; 32], bytes: &[u8]) -> Result<()> {
        ensure!(bytes.len() as u64 <= CONTENT_BYTES_MAX, "a cache entry has at most {CONTENT_BYTES_MAX} bytes");
        let dir = self.kind(kind)?;
        let (mut file, temporary) = new_file(&dir)?;
        let check = self.check(kind, name, bytes);
        let written = file.write_all(check.as_bytes()).and_then(|()| file.write_all(bytes));
        written
            .and_then(|()| dir.rename(&temporary, &dir, &entry_name(name)))
            .inspect_err(|_| drop(dir.remove_file(&temporary)))
            .with_context(|| format!("failed to write to `{}`", dir.path().display()))
    }

    /// Removes the entries of `kind` that were written first, until those that stay take at most `bytes_max` bytes
    /// together; also what was never finished. What can't be listed or removed stays.
    ///
    /// # Errors
    ///
    /// Fails if `kind` is no kind, or its directory can't be used.
    pub fn trim(&self, kind: &str, bytes_max: u64) -> Result<()> {
        let dir = self.kind(kind)?;
        let mut entries = Vec::new();
        let mut bytes = 0;
        for (name, _) in dir.list()?.into_iter().filter(|(_, kind)| *kind == Kind::File) {
            let Ok(Some(size)) = dir.size(&name) else { continue };
            bytes += size.bytes;
            entries.push((size.modified, name, size.bytes));
        }
        entries.sort();
        for (_, name, size) in entries {
            if bytes <= bytes_max {
                break;
            }
            // Another process may have removed it.
            drop(dir.remove_file(&name));
            bytes -= size;
        }
        Ok(())
    }

    fn kind(&self, kind: &str) -> Result<Dir> {
        let word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_';
        ensure!((1..=32).contains(&kind.len()) && kind.bytes().all(word), "`{kind}` is no kind of cache entry");
        ensure!(kind != SECRET, "`{kind}` is no kind of cache entry");
        private_dir(&self.root, kind).with_context(|| format!("`{kind}` in the cache can't be used"))
    }

    /// Covers where an entry lies, so that one that was moved or copied to another name is none.
    fn check(&self, kind: &str, name: &[u8; 32], content: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.secret);
        hasher.update(name).update(&[kind.len() as u8]).update(kind.as_bytes()).update(content);
        hasher.finalize()
    }
}

/// Opens or makes a directory of this user alone.
fn private_dir(parent: &Dir, name: &str) -> Option<Dir> {
    let dir = parent.make_dir_with(Path::new(name), 0o700).ok()?;
    is_private(dir.access().ok()?).then_some(dir)
}

/// Opens a file of this user alone.
fn private_file(dir: &Dir, name: &OsStr) -> Option<File> {
    let file = dir.open_file(Path::new(name)).ok()??;
    let metadata = file.metadata().ok()?;
    is_private(Access { uid: metadata.uid(), mode: metadata.mode() }).then_some(file)
}

/// Whether something is this user's, and nobody else may do anything with it.
fn is_private(access: Access) -> bool {
    own_uid() == Some(access.uid) && access.mode & 0o077 == 0
}

fn entry_name(name: &[u8; 32]) -> OsString {
    blake3::Hash::from_bytes(*name).to_hex().as_str().into()
}

/// The user's secret, which is made if there is none. Of processes that do so at once, all get the same.
fn secret(root: &Dir) -> Option<[u8; CHECK_BYTES]> {
    if root.kind(OsStr::new(SECRET)).ok()?.is_none() {
        let mut random = [0; CHECK_BYTES];
        File::open("/dev/urandom").and_then(|mut system| system.read_exact(&mut random)).ok()?;
        let (mut file, temporary) = new_file(root).ok()?;
        // Whole before it has its name, and only the first one gets that.
        let made = file
            .write_all(&random)
            .and_then(|()| file.sync_data())
            .and_then(|()| root.link(&temporary, OsStr::new(SECRET)));
        drop(root.remove_file(&temporary));
        made.or_else(|error| if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) }).ok()?;
    }
    let mut bytes = Vec::new();
    private_file(root, OsStr::new(SECRET))?.take(CHECK_BYTES as u64 + 1).read_to_end(&mut bytes).ok()?;
    bytes.try_into().ok()
}

/// A new file of this user alone, and its name.
fn new_file(dir: &Dir) -> Result<(File, OsString)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let context = || format!("failed to write to `{}`", dir.path().display());
    for _ in 0..ATTEMPTS_MAX {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = OsString::from(format!("tmp-{}-{number}", std::process::id()));
        match dir.create_new(&name, 0o600) {
            // Left by a process of the same number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            file => return Ok((file.with_context(context)?, name)),
        }
    }
    anyhow::bail!("{}: it is full", context())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn cache() -> (tempfile::TempDir, Cache) {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::in_dir(dir.path()).unwrap();
        (dir, cache)
    }

    fn path(cache: &Cache, kind: &str, name: u8) -> PathBuf {
        cache.root.path().join(kind).join(entry_name(&[name; 32]))
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn everything_is_the_users_alone() {
        let (dir, cache) = cache();
        cache.put("code", &[1; 32], b"abc").unwrap();
        let root = dir.path().join("fuzzbox");
        assert_eq!([mode(&root), mode(&root.join("code"))], [0o700; 2]);
        assert_eq!([mode(&root.join("key")), mode(&path(&cache, "code", 1))], [0o600; 2]);
        assert_eq!(fs::read_dir(&root).unwrap().count(), 2, "nothing unfinished is left");
    }

    #[test]
    fn the_cache_may_be_deleted_at_any_time() {
        let (dir, cache) = cache();
        for round in 0..3u8 {
            assert_eq!(cache.get("result", &[1; 32]), None);
            cache.put("result", &[1; 32], &[round]).unwrap();
            assert_eq!(cache.get("result", &[1; 32]), Some(vec![round]));
            fs::remove_dir_all(dir.path().join("fuzzbox/result")).unwrap();
        }
        fs::remove_dir_all(dir.path().join("fuzzbox")).unwrap();
        assert!(cache.put("result", &[1; 32], b"").is_err());
        assert_eq!(cache.get("result", &[1; 32]), None);
        assert!(Cache::in_dir(dir.path()).is_some());
    }

    #[test]
    fn a_damaged_or_moved_entry_is_none() {
        let (_dir, cache) = cache();
        cache.put("code", &[1; 32], b"abc").unwrap();
        let entry = path(&cache, "code", 1);
        let whole = fs::read(&entry).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&entry, &bytes).unwrap();
            assert_eq!(cache.get("code", &[1; 32]), None);
            fs::write(&entry, &whole[..at]).unwrap();
            assert_eq!(cache.get("code", &[1; 32]), None);
        }
        fs::write(&entry, &whole).unwrap();
        assert_eq!(cache.get("code", &[1; 32]).as_deref(), Some(&b"abc"[..]));
        cache.put("past", &[1; 32], b"").unwrap();
        for other in [path(&cache, "code", 2), path(&cache, "past", 1)] {
            fs::copy(&entry, &other).unwrap();
        }
        assert_eq!(cache.get("code", &[2; 32]), None);
        assert_eq!(cache.get("past", &[1; 32]), None);
    }

    #[test]
    fn an_entry_without_the_secret_is_none() {
        let (_dir, cache) = cache();
        let (_other_dir, other) = self::cache();
        cache.put("code", &[1; 32], b"abc").unwrap();
        let entry = path(&cache, "code", 1);
        // What another user's cache has, and what the checksum was before it had a key.
        other.put("code", &[1; 32], b"evil").unwrap();
        let unkeyed = {
            let mut hasher = blake3::Hasher::new();
            hasher.update(&[1; 32]).update(&[4]).update(b"code").update(b"evil");
            [&hasher.finalize().as_bytes()[..], b"evil"].concat()
        };
        let zeros = Cache { root: Dir::open(cache.root.path()).unwrap(), secret: [0; 32] };
        let keyed_with_zeros = [&zeros.check("code", &[1; 32], b"evil").as_bytes()[..], b"evil"].concat();
        for forged in [fs::read(path(&other, "code", 1)).unwrap(), unkeyed, keyed_with_zeros] {
            fs::write(&entry, forged).unwrap();
            assert_eq!(cache.get("code", &[1; 32]), None);
        }
    }

    #[test]
    fn what_is_not_the_users_alone_is_none() {
        let (dir, cache) = cache();
        let root = dir.path().join("fuzzbox");
        let put = || cache.put("code", &[1; 32], b"abc").unwrap();
        put();
        let entry = path(&cache, "code", 1);
        for (path, good) in [(entry.clone(), 0o600), (root.join("code"), 0o700)] {
            for more in [0o40, 0o20, 0o10, 0o4, 0o2, 0o1] {
                set_mode(&path, good | more);
                assert_eq!(cache.get("code", &[1; 32]), None, "{} {more:o}", path.display());
            }
            set_mode(&path, good);
            assert!(cache.get("code", &[1; 32]).is_some());
        }
        for (path, good) in [(root.clone(), 0o700), (root.join("key"), 0o600)] {
            set_mode(&path, good | 0o4);
            assert!(Cache::in_dir(dir.path()).is_none(), "{}", path.display());
            set_mode(&path, good);
            assert!(Cache::in_dir(dir.path()).unwrap().get("code", &[1; 32]).is_some());
        }
        // Only root can give them away.
        for path in [entry.clone(), root.join("code"), root.join("key"), root.clone()] {
            if chown(&path, Some(4321), None).is_ok() {
                assert!(Cache::in_dir(dir.path()).is_none_or(|cache| cache.get("code", &[1; 32]).is_none()));
                chown(&path, Some(own_uid().unwrap()), None).unwrap();
            }
        }
        // The same content by a link.
        for path in [entry, root.join("code"), root.join("key"), root.clone()] {
            let moved = dir.path().join("moved");
            fs::rename(&path, &moved).unwrap();
            symlink(&moved, &path).unwrap();
            assert!(Cache::in_dir(dir.path()).is_none_or(|cache| cache.get("code", &[1; 32]).is_none()));
            fs::remove_file(&path).unwrap();
            fs::rename(&moved, &path).unwrap();
            assert!(Cache::in_dir(dir.path()).unwrap().get("code", &[1; 32]).is_some());
        }
    }

    #[test]
    fn a_secret_that_is_none_is_no_cache_and_is_left_alone() {
        let (dir, _cache) = cache();
        let key = dir.path().join("fuzzbox/key");
        for bytes in [&b""[..], &[7; 31], &[7; 33]] {
            fs::write(&key, bytes).unwrap();
            assert!(Cache::in_dir(dir.path()).is_none());
            assert_eq!(fs::read(&key).unwrap(), bytes);
        }
    }

    #[test]
    fn those_who_make_the_secret_at_once_agree() {
        for _ in 0..20 {
            let dir = tempfile::tempdir().unwrap();
            let made: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> =
                    (0..8).map(|_| scope.spawn(|| Cache::in_dir(dir.path()).unwrap().secret)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(made.iter().all(|secret| *secret == made[0] && *secret != [0; 32]), "{made:?}");
            assert_eq!(fs::read_dir(dir.path().join("fuzzbox")).unwrap().count(), 1);
        }
    }

    #[test]
    fn trimming_removes_what_was_written_first() {
        let (_dir, cache) = cache();
        let written = |name: u8| {
            cache.put("code", &[name; 32], &[name; 68]).unwrap();
            let file = File::open(path(&cache, "code", name)).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(u64::from(100 - name))).unwrap();
        };
        (1..=4).for_each(written);
        cache.put("result", &[1; 32], &[0; 1000]).unwrap();
        let kept = || (1..=4).filter(|&name| cache.get("code", &[name; 32]).is_some()).collect::<Vec<u8>>();
        cache.trim("code", 400).unwrap();
        assert_eq!(kept(), [1, 2, 3, 4]);
        cache.trim("code", 299).unwrap();
        assert_eq!(kept(), [1, 2]);
        assert!(cache.get("result", &[1; 32]).is_some());
        cache.trim("missing", 0).unwrap();
        cache.trim("code", 0).unwrap();
        assert!(kept().is_empty());
    }

    #[test]
    fn a_kind_is_a_word() {
        let (_dir, cache) = cache();
        for kind in ["", "..", "a/b", "A", "key", &"a".repeat(33)] {
            assert!(cache.put(kind, &[1; 32], b"").is_err());
            assert_eq!(cache.get(kind, &[1; 32]), None);
        }
    }
}
