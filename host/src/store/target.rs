//! Targets: from a name to a directory and back.

use super::dir::Kind;
use super::{Store, StoreError};
use crate::id::ModuleId;
use anyhow::Result;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Longest directory name that common file systems take.
const NAME_BYTES_MAX: usize = 255;

/// What the store knows of a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TargetSummary {
    /// Its name.
    pub name: String,
    /// Corpus entries.
    pub corpus: u64,
    /// Findings that can be read.
    pub findings: u64,
    /// Findings that can't: [`Store::damaged`] says why.
    pub damaged: u64,
    /// Modules that were fuzzed under this name, sorted.
    pub modules: Vec<ModuleId>,
}

impl Store {
    /// Lists all targets, ordered by directory name.
    ///
    /// # Errors
    ///
    /// Fails if a list can't be read; the error names it. [`Store::target`] reads one at a time.
    pub fn targets(&self) -> Result<Vec<TargetSummary>> {
        self.target_names()?.into_iter().map(|name| self.target(&name)).collect()
    }

    /// Names of all targets, ordered by directory name; also of those that can't be read, because they are links.
    ///
    /// # Errors
    ///
    /// Fails if they can't be listed.
    pub fn target_names(&self) -> Result<Vec<String>> {
        let entries = self.dir().list_below(Path::new("targets"))?;
        let dirs = entries.into_iter().filter(|(_, kind)| matches!(kind, Kind::Dir | Kind::Link));
        Ok(dirs.filter_map(|(name, _)| decode(name.to_str()?)).collect())
    }

    /// What there is of one target.
    ///
    /// # Errors
    ///
    /// Fails if a list can't be read; the error names it.
    pub fn target(&self, name: &str) -> Result<TargetSummary> {
        let corpus = self.corpus(name)?;
        let (findings, damaged) = self.scan_findings(name)?;
        let mut modules: BTreeSet<ModuleId> = corpus.iter().map(|entry| entry.module).collect();
        modules.extend(self.modules(name)?.iter().map(|entry| entry.module));
        modules.extend(findings.iter().map(|finding| finding.module));
        Ok(TargetSummary {
            name: name.to_owned(),
            corpus: corpus.len() as u64,
            findings: findings.len() as u64,
            damaged: damaged.len() as u64,
            modules: modules.into_iter().collect(),
        })
    }
}

/// The directory of a target below the store's root. `corpus`, `modules` and `findings` in it belong to the store,
/// other names to whoever writes statistics.
pub(super) fn target_path(target: &str) -> Result<PathBuf> {
    Ok(Path::new("targets").join(encode(target)?))
}

/// Makes a directory name of a target's name.
///
/// ```text
/// json -> json      a b/c -> a%20b%2Fc      .. -> %2E.      100% -> 100%25
/// ```
///
/// Letters, digits and `_-+=@,.` stay, all else is escaped byte by byte, and so is a leading dot. It can be undone, so
/// two names never share a directory; there is no truncation for the same reason.
fn encode(name: &str) -> Result<String> {
    let refuse = |why| StoreError::TargetName { name: name.chars().take(80).collect(), why }.into();
    if name.is_empty() {
        return Err(refuse("is empty"));
    }
    let mut encoded = String::new();
    for (at, character) in name.char_indices() {
        if character.is_alphanumeric() || "_-+=@,".contains(character) || (character == '.' && at > 0) {
            encoded.push(character);
        } else {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                write!(encoded, "%{byte:02X}").expect("writing to a string never fails");
            }
        }
    }
    if encoded.len() > NAME_BYTES_MAX { Err(refuse("is too long for a directory name")) } else { Ok(encoded) }
}

/// Undoes [`encode`]; `None` for what it never gives.
fn decode(encoded: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first == b'%' {
            let (digits, tail) = rest.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = tail;
        } else {
            bytes.push(*first);
        }
    }
    let name = String::from_utf8(bytes).ok()?;
    (encode(&name).ok()? == encoded).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_harmless_directories_and_come_back() {
        let names = [
            "json",
            ".",
            "..",
            "...",
            ".hidden",
            "a/b",
            "a\\b",
            "a%2Fb",
            "a b",
            "a\nb",
            "a\0b",
            "%",
            "größe",
            "包",
            "\u{202e}x",
            "~",
            "-rf",
            "*",
        ];
        let mut seen = BTreeSet::new();
        for name in names {
            let encoded = encode(name).unwrap();
            assert!(!encoded.contains(['/', '\\', '\0', '\n', ' ']) && !encoded.starts_with('.'), "{encoded}");
            assert_eq!(decode(&encoded).as_deref(), Some(name));
            assert!(seen.insert(encoded), "{name}");
        }
    }

    #[test]
    fn empty_and_overlong_names_are_refused_by_name() {
        assert!(encode("").is_err());
        assert!(encode(&"x".repeat(255)).is_ok());
        let error = encode(&"x".repeat(256)).unwrap_err();
        assert!(error.to_string().ends_with("is too long for a directory name"), "{error}");
    }

    #[test]
    fn directories_that_are_no_targets_are_ignored() {
        for name in ["a b", "%2", "%", "%zz", "%+1", "a%41", "%2e", ".x", "%FF"] {
            assert_eq!(decode(name), None, "{name}");
        }
    }
}
