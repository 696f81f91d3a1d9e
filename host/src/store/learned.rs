//! What campaigns learned of a target beside its corpus. Without it the next one begins afresh, and nothing else is
//! lost.
//!
//! ```text
//! `fuzzbox learned 1\n`   blake3 of all that follows, 32 bytes   module id, 32 bytes   content
//! ```

use super::Store;
use super::scratch::Durability;
use super::target::target_path;
use crate::id::ModuleId;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};

/// What the file begins with.
const FORMAT: &[u8] = b"fuzzbox learned 1\n";
/// Longest file, in bytes.
const BYTES_MAX: u64 = 16 << 20;
/// Of a hash.
const HASH_BYTES: usize = 32;

impl Store {
    /// What was learned of `target`, and on which module; `None` if there is nothing.
    ///
    /// # Errors
    ///
    /// If it can't be read, or is damaged, or of another version.
    pub fn learned(&self, target: &str) -> Result<Option<(ModuleId, Vec<u8>)>> {
        let path = path(target)?;
        let Some(bytes) = self.dir().read(&path, BYTES_MAX)? else { return Ok(None) };
        read(&bytes).map(Some).with_context(|| format!("`{}` is damaged", self.dir().path().join(path).display()))
    }

    /// Keeps what was learned of `target` on a module, in the place of what there is.
    ///
    /// # Errors
    ///
    /// Fails if it can't be written; then what there is stays.
    pub fn set_learned(&self, target: &str, module: ModuleId, content: &[u8]) -> Result<()> {
        let sealed = [&module.0, content].concat();
        let bytes = [FORMAT, blake3::hash(&sealed).as_bytes(), &*sealed].concat();
        ensure!(bytes.len() as u64 <= BYTES_MAX, "what was learned takes {} bytes", bytes.len());
        self.exclusive()?.scratch.publish(&bytes, 0o644, &path(target)?, Durability::Name)
    }
}

fn path(target: &str) -> Result<PathBuf> {
    Ok(target_path(target)?.join(Path::new("learned")))
}

fn read(bytes: &[u8]) -> Result<(ModuleId, Vec<u8>)> {
    let rest = bytes.strip_prefix(FORMAT).context("it is of no known version")?;
    let (hash, sealed) = rest.split_at_checked(HASH_BYTES).context("it ends early")?;
    ensure!(blake3::hash(sealed).as_bytes() == hash, "its checksum is not that of its content");
    let (module, content) = sealed.split_first_chunk().context("it ends early")?;
    Ok((ModuleId(*module), content.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_learned_is_read_as_it_was_kept_and_any_changed_byte_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(dir.path()).unwrap();
        assert_eq!(store.learned("a:b").unwrap(), None);
        for content in [&b"first"[..], b"", b"second"] {
            store.set_learned("a:b", ModuleId([7; 32]), content).unwrap();
            assert_eq!(store.learned("a:b").unwrap(), Some((ModuleId([7; 32]), content.to_vec())));
        }
        let file = dir.path().join("targets/a%3Ab/learned");
        let bytes = std::fs::read(&file).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            std::fs::write(&file, &changed).unwrap();
            let error = format!("{:#}", store.learned("a:b").unwrap_err());
            assert!(error.contains("targets/a%3Ab/learned` is damaged: "), "{error}");
            std::fs::write(&file, &bytes[..at]).unwrap();
            assert!(store.learned("a:b").is_err(), "cut at {at}");
        }
    }
}
