//! What can be computed again: results and compiled code.
//!
//! ```text
//! cache/<kind>/ab/cdef...     32 bytes blake3 of (kind, key, content), then the content
//! ```
//!
//! An entry that is anything but whole is no entry. Nothing is synced: after a power failure the checksum tells.

use super::scratch::Durability;
use super::{OBJECT_BYTES_MAX, ObjectId, Store, StoreError, file};
use anyhow::{Result, ensure};
use std::ffi::OsStr;
use std::fs::{self, FileType};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Length of the checksum before the content.
const CHECK_BYTES: usize = 32;

impl Store {
    /// Looks up what was stored under `kind` and `key`; `None` if it isn't there, damaged, or somebody else's.
    ///
    /// A checksum keeps accidents out, not attackers, and compiled code is run as it is found. So only files count that
    /// this user wrote and nobody else may write: a store in a shared directory, or one that came with a repository
    /// checked out by another user, has no say.
    pub fn cache_get(&self, kind: &str, key: &[u8; 32]) -> Option<Vec<u8>> {
        let mut entry = file::open(&self.cache_path(kind, key).ok()?).ok()??;
        let metadata = entry.metadata().ok()?;
        let bytes_max = OBJECT_BYTES_MAX + CHECK_BYTES as u64;
        if metadata.len() > bytes_max || metadata.mode() & 0o022 != 0 || metadata.uid() != own_uid()? {
            return None;
        }
        let mut expected = [0; CHECK_BYTES];
        entry.read_exact(&mut expected).ok()?;
        let mut content = Vec::with_capacity(usize::try_from(metadata.len()).ok()?.saturating_sub(CHECK_BYTES));
        entry.take(OBJECT_BYTES_MAX).read_to_end(&mut content).ok()?;
        (check(kind, key, &content) == expected).then_some(content)
    }

    /// Stores `bytes` under `kind` (a short word, a directory's name) and `key`, replacing what is there.
    ///
    /// # Errors
    ///
    /// Fails if there are more than [`OBJECT_BYTES_MAX`] of them or if they can't be written. Callers may go on.
    pub fn cache_put(&self, kind: &str, key: &[u8; 32], bytes: &[u8]) -> Result<()> {
        let path = self.cache_path(kind, key)?;
        let size = bytes.len() as u64;
        if size > OBJECT_BYTES_MAX {
            let what = format!("cache entry {}", ObjectId(*key));
            return Err(StoreError::TooLarge { what, bytes: size, bytes_max: OBJECT_BYTES_MAX }.into());
        }
        let content = [&check(kind, key, bytes)[..], bytes].concat();
        self.scratch()?.publish(&content, 0o444, &path, Durability::Process)
    }

    /// Removes the entries of `kind` that were written first, until those that stay take at most `bytes_max` bytes together.
    /// What can't be listed or removed stays.
    ///
    /// # Errors
    ///
    /// Fails if `kind` is no kind.
    pub fn cache_trim(&self, kind: &str, bytes_max: u64) -> Result<()> {
        let path = self.cache_path(kind, &[0; 32])?;
        let mut entries = Vec::new();
        let mut bytes = 0;
        // Only what has an entry's name, and by no link: a store must not lead out of itself.
        for dir in path.ancestors().nth(2).map(|kind| named(kind, 2, FileType::is_dir)).into_iter().flatten() {
            for entry in named(&dir, 62, FileType::is_file) {
                let Ok(metadata) = fs::symlink_metadata(&entry) else { continue };
                bytes += metadata.len();
                entries.push((metadata.modified().ok(), entry, metadata.len()));
            }
        }
        entries.sort();
        for (_, entry, size) in entries {
            if bytes <= bytes_max {
                break;
            }
            // Another process may have removed it.
            drop(fs::remove_file(entry));
            bytes -= size;
        }
        Ok(())
    }

    fn cache_path(&self, kind: &str, key: &[u8; 32]) -> Result<PathBuf> {
        let word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_';
        ensure!((1..=32).contains(&kind.len()) && kind.bytes().all(word), "`{kind}` is no kind of cache entry");
        let name = ObjectId(*key).to_string();
        Ok(self.path("cache").join(kind).join(&name[..2]).join(&name[2..]))
    }
}

/// What `dir` holds under names of `digits` hexadecimal digits; nothing if it is a link.
fn named(dir: &Path, digits: usize, is: impl Fn(&FileType) -> bool) -> Vec<PathBuf> {
    if !fs::symlink_metadata(dir).is_ok_and(|metadata| metadata.is_dir()) {
        return Vec::new();
    }
    let is_name = |name: &OsStr| name.len() == digits && name.as_encoded_bytes().iter().all(u8::is_ascii_hexdigit);
    let found = file::list(dir).unwrap_or_default().into_iter().filter(|(name, kind)| is_name(name) && is(kind));
    found.map(|(name, _)| dir.join(name)).collect()
}

/// Covers where an entry lies, so that one that was moved or copied to another name is none.
fn check(kind: &str, key: &[u8; 32], content: &[u8]) -> [u8; CHECK_BYTES] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(key).update(&[kind.len() as u8]).update(kind.as_bytes()).update(content);
    *hasher.finalize().as_bytes()
}

/// The user that this process acts as: the owner of its own entry in `/proc`.
fn own_uid() -> Option<u32> {
    Some(fs::metadata("/proc/self").ok()?.uid())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&dir.path().join("s")).unwrap();
        (dir, store)
    }

    #[test]
    fn the_cache_may_be_deleted_at_any_time() {
        let (_dir, store) = store();
        for round in 0..3u8 {
            assert_eq!(store.cache_get("result", &[1; 32]), None);
            store.cache_put("result", &[1; 32], &[round]).unwrap();
            assert_eq!(store.cache_get("result", &[1; 32]), Some(vec![round]));
            fs::remove_dir_all(store.path("cache")).unwrap();
        }
    }

    #[test]
    fn a_damaged_or_moved_entry_is_none() {
        let (_dir, store) = store();
        store.cache_put("code", &[1; 32], b"abc").unwrap();
        let path = store.cache_path("code", &[1; 32]).unwrap();
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::remove_file(&path).unwrap();
            fs::write(&path, &bytes).unwrap();
            assert_eq!(store.cache_get("code", &[1; 32]), None);
            fs::write(&path, &whole[..at]).unwrap();
            assert_eq!(store.cache_get("code", &[1; 32]), None);
        }
        fs::write(&path, &whole).unwrap();
        assert_eq!(store.cache_get("code", &[1; 32]).as_deref(), Some(&b"abc"[..]));
        let other = store.cache_path("code", &[2; 32]).unwrap();
        fs::create_dir_all(other.parent().unwrap()).unwrap();
        fs::rename(&path, other).unwrap();
        assert_eq!(store.cache_get("code", &[2; 32]), None);
    }

    #[test]
    fn an_entry_that_others_may_write_is_none() {
        let (_dir, store) = store();
        store.cache_put("code", &[1; 32], b"abc").unwrap();
        let path = store.cache_path("code", &[1; 32]).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(store.cache_get("code", &[1; 32]), None);
        store.cache_put("code", &[1; 32], b"abc").unwrap();
        assert!(store.cache_get("code", &[1; 32]).is_some());
    }

    #[test]
    fn trimming_removes_what_was_written_first_and_follows_no_link() {
        let (dir, store) = store();
        let written = |key: u8| {
            store.cache_put("code", &[key; 32], &[key; 68]).unwrap();
            let file = fs::File::open(store.cache_path("code", &[key; 32]).unwrap()).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(u64::from(100 - key))).unwrap();
        };
        (1..=4).for_each(written);
        store.cache_put("result", &[1; 32], &[0; 1000]).unwrap();
        store.cache_trim("code", 400).unwrap();
        let kept =
            |store: &Store| (1..=4).filter(|&key| store.cache_get("code", &[key; 32]).is_some()).collect::<Vec<u8>>();
        assert_eq!(kept(&store), [1, 2, 3, 4]);
        store.cache_trim("code", 299).unwrap();
        assert_eq!(kept(&store), [1, 2]);
        assert!(store.cache_get("result", &[1; 32]).is_some());

        let other = Store::open_or_create(&dir.path().join("other")).unwrap();
        fs::create_dir(other.path("cache")).unwrap();
        std::os::unix::fs::symlink(store.path("cache/code"), other.path("cache/code")).unwrap();
        other.cache_trim("code", 0).unwrap();
        assert_eq!(kept(&store), [1, 2]);
        other.cache_trim("missing", 0).unwrap();
        store.cache_trim("code", 0).unwrap();
        assert!(kept(&store).is_empty());
    }

    #[test]
    fn a_kind_is_a_word() {
        let (_dir, store) = store();
        for kind in ["", "..", "a/b", "A", &"a".repeat(33)] {
            assert!(store.cache_put(kind, &[1; 32], b"").is_err());
            assert_eq!(store.cache_get(kind, &[1; 32]), None);
        }
    }
}
