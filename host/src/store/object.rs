//! Objects: bytes under their blake3 hash.

use super::scratch::Durability;
use super::{INPUT_BYTES_MAX, OBJECT_BYTES_MAX, Store, StoreError};
use crate::id::{InputId, ObjectId};
use anyhow::Result;
use std::path::{Path, PathBuf};

impl Store {
    /// Stores `bytes` and returns their name.
    ///
    /// Bytes that are there already are left alone; a damaged object of that name is replaced, so running or importing
    /// the same thing again repairs a store.
    ///
    /// # Errors
    ///
    /// Fails if there are more than [`OBJECT_BYTES_MAX`] of them, or if they can't be written; the error names the
    /// file, and nothing half-written is visible.
    pub fn put(&self, bytes: &[u8]) -> Result<ObjectId> {
        let id = ObjectId::of(bytes);
        self.put_as(id, bytes, Durability::Name)?;
        Ok(id)
    }

    /// Reads an object and checks it against its name.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`], [`StoreError::Damaged`], or a plain error that names the file.
    pub fn get(&self, id: ObjectId) -> Result<Vec<u8>> {
        self.get_up_to(id, "object", OBJECT_BYTES_MAX)
    }

    /// Reads an input and checks it against its name; like [`Store::get`], but with the smaller limit of inputs.
    ///
    /// # Errors
    ///
    /// Like [`Store::get`].
    pub fn get_input(&self, id: InputId) -> Result<Vec<u8>> {
        self.get_up_to(id.into(), "input", INPUT_BYTES_MAX)
    }

    /// Stores `bytes` under `id`, their hash.
    pub(super) fn put_as(&self, id: ObjectId, bytes: &[u8], durability: Durability) -> Result<()> {
        let size = bytes.len() as u64;
        if size > OBJECT_BYTES_MAX {
            let what = format!("object {id}");
            return Err(StoreError::TooLarge { what, bytes: size, bytes_max: OBJECT_BYTES_MAX }.into());
        }
        let path = object_path(id);
        // Comparing costs a read where hashing what is there would cost a read and a hash. What can't be read is
        // replaced.
        if self.dir().read(&path, size).is_ok_and(|there| there.as_deref() == Some(bytes)) {
            return Ok(());
        }
        self.scratch()?.publish(bytes, 0o444, &path, durability)
    }

    fn get_up_to(&self, id: ObjectId, noun: &str, bytes_max: u64) -> Result<Vec<u8>> {
        let path = object_path(id);
        let Some(bytes) = self.dir().read(&path, bytes_max)? else {
            return Err(StoreError::Missing { what: format!("{noun} {id}"), root: self.root().into() }.into());
        };
        let found = ObjectId::of(&bytes);
        if found != id {
            let why = format!("its bytes hash to {found}");
            return Err(StoreError::Damaged { what: format!("{noun} {id}"), why, path: self.root().join(path) }.into());
        }
        Ok(bytes)
    }
}

/// Where an object lies. 256 directories keep each of them short.
fn object_path(id: ObjectId) -> PathBuf {
    let name = id.to_string();
    Path::new("objects").join(&name[..2]).join(&name[2..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&dir.path().join("s")).unwrap();
        (dir, store)
    }

    #[test]
    fn an_object_is_read_back_and_is_read_only() {
        let (_dir, store) = store();
        let id = store.put(b"abc").unwrap();
        assert_eq!(store.put(b"abc").unwrap(), id);
        assert_eq!(store.get(id).unwrap(), b"abc");
        let path = store.root().join(object_path(id));
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o222, 0);
    }

    #[test]
    fn a_damaged_object_is_named_and_putting_it_again_repairs_it() {
        let (_dir, store) = store();
        let id = store.put(b"abc").unwrap();
        let path = store.root().join(object_path(id));
        for damage in [&b"abd"[..], b"ab", b"abcd", b""] {
            fs::remove_file(&path).unwrap();
            fs::write(&path, damage).unwrap();
            let error = store.get(id).unwrap_err();
            let expected = format!("object {id} is damaged: its bytes hash to {}", ObjectId::of(damage));
            assert_eq!(error.to_string(), expected);
            assert!(error.downcast_ref::<StoreError>().unwrap().help().is_some());
            store.put(b"abc").unwrap();
            assert_eq!(store.get(id).unwrap(), b"abc");
        }
    }

    #[test]
    fn links_do_not_lead_out_of_the_store() {
        let (dir, store) = store();
        let id = store.put(b"abc").unwrap();
        let path = store.root().join(object_path(id));
        let outside = dir.path().join("outside");
        fs::write(&outside, b"abc").unwrap();
        fs::remove_file(&path).unwrap();
        symlink(&outside, &path).unwrap();
        assert!(store.get(id).unwrap_err().to_string().contains("symbolic link"));
        store.put(b"abc").unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_file());

        let shard = path.parent().unwrap();
        fs::remove_dir_all(shard).unwrap();
        symlink(dir.path(), shard).unwrap();
        assert!(store.get(id).unwrap_err().to_string().contains("symbolic link"));
        assert!(store.put(b"abc").unwrap_err().to_string().contains("symbolic link"));
        fs::remove_file(shard).unwrap();
        fs::write(shard, "").unwrap();
        assert!(store.put(b"abc").unwrap_err().to_string().contains("not a directory"));
    }

    #[test]
    fn an_object_that_is_not_there_is_missing() {
        let (_dir, store) = store();
        let error = store.get(ObjectId([7; 32])).unwrap_err();
        assert!(matches!(error.downcast_ref(), Some(StoreError::Missing { .. })), "{error}");
    }

    #[test]
    fn a_huge_file_in_place_of_an_input_is_refused_before_it_is_read() {
        let (_dir, store) = store();
        let id = store.put(b"abc").unwrap();
        let path = store.root().join(object_path(id));
        fs::remove_file(&path).unwrap();
        fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(matches!(store.get(id).unwrap_err().downcast_ref(), Some(StoreError::TooLarge { .. })));
        assert!(store.get_input(InputId(id.0)).is_err());
    }
}
