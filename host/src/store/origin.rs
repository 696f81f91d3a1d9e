//! Where a target comes from, so that another one of its name is noticed.

use super::Store;
use super::scratch::Durability;
use super::target::target_path;
use crate::id::ModuleId;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// Longest record, in bytes: a path and a name.
const RECORD_BYTES_MAX: u64 = 64 << 10;

/// What was fuzzed under a target's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The module's path, relative to the directory that the store is in; `None` if it was no file.
    pub path: Option<String>,
    /// The export that was named, or the call recipe; `None` if the module's own entry was fuzzed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The module, as it was last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<ModuleId>,
}

impl Store {
    /// What is fuzzed under the name `target`; `None` if nobody noted it, as before there was this record, or not
    /// readably.
    ///
    /// # Errors
    ///
    /// Fails if the record is no file, or can't be read.
    pub fn origin(&self, target: &str) -> Result<Option<Origin>> {
        let bytes = self.dir().read(&target_path(target)?.join("origin.json"), RECORD_BYTES_MAX)?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Notes what is fuzzed under the name `target`.
    ///
    /// # Errors
    ///
    /// Fails if it can't be written; then what was noted stays.
    pub fn set_origin(&self, target: &str, origin: &Origin) -> Result<()> {
        let record = serde_json::to_vec(origin).context("failed to write JSON")?;
        let path = target_path(target)?.join("origin.json");
        self.exclusive()?.scratch.publish(&record, 0o644, &path, Durability::Name)
    }

    /// Whether `module` has shown something that was kept under the name `target`.
    ///
    /// # Errors
    ///
    /// Fails if a list can't be read.
    pub fn has_fuzzed(&self, target: &str, module: ModuleId) -> Result<bool> {
        Ok(self.corpus(target)?.iter().any(|entry| entry.module == module)
            || self.modules(target)?.iter().any(|entry| entry.module == module))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_read_as_it_was_noted_and_what_is_none_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(dir.path()).unwrap();
        assert_eq!(store.origin("a:b").unwrap(), None);
        let origin = Origin {
            path: Some("../x/\u{1b}.wasm".to_owned()),
            entry: Some("b".to_owned()),
            module: Some(ModuleId([7; 32])),
        };
        store.set_origin("a:b", &origin).unwrap();
        assert_eq!(store.origin("a:b").unwrap(), Some(origin));
        let plain = Origin { path: None, entry: None, module: None };
        store.set_origin("a:b", &plain).unwrap();
        assert_eq!(store.origin("a:b").unwrap(), Some(plain));
        for text in ["", "{}x", "[]", "{\"path\":7}"] {
            std::fs::write(dir.path().join("targets/a%3Ab/origin.json"), text).unwrap();
            assert_eq!(store.origin("a:b").unwrap(), None);
        }
    }
}
