//! From what a person pastes, the beginning of a hash, to what it names.

use super::dir::Kind;
use super::{CorpusEntry, FindingRecord, ModuleEntry, Store, StoreError};
use crate::id::{FindingId, InputId, ModuleId, ObjectId};
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

/// Fewest digits of a prefix.
const DIGITS_MIN: usize = 4;

/// Something in the store that a prefix names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    /// A finding, by its own id or that of its input, or by those of a finding whose place it took.
    Finding {
        /// The target's name.
        target: String,
        /// The finding.
        id: FindingId,
        /// The input that is meant: a former one if its id was given, else the finding's.
        input: InputId,
    },
    /// A module, by its own id or by that of its file.
    Module {
        /// Targets that it was fuzzed as, sorted.
        targets: Vec<String>,
        /// What executes.
        id: ModuleId,
        /// The file.
        object: ObjectId,
    },
    /// A corpus entry that shows no finding.
    Input {
        /// Targets that keep it, sorted.
        targets: Vec<String>,
        /// The input.
        id: InputId,
    },
    /// Any other object.
    Object(ObjectId),
}

/// What is known of a target.
struct Contents {
    findings: Vec<FindingRecord>,
    modules: Vec<ModuleEntry>,
    corpus: Vec<CorpusEntry>,
}

/// What a prefix names, as far as targets were read.
#[derive(Debug, Default)]
struct Hits {
    matches: BTreeSet<Match>,
    /// Findings that were called so before they were shrunk.
    former_matches: BTreeSet<Match>,
    /// Objects that were told already as what they are.
    told: BTreeSet<[u8; 32]>,
    modules: BTreeMap<(ModuleId, ObjectId), BTreeSet<String>>,
    inputs: BTreeMap<InputId, BTreeSet<String>>,
}

impl Hits {
    /// Adds what of a target begins so.
    fn add(&mut self, target: &str, contents: Contents, begins: &dyn Fn([u8; 32]) -> bool) {
        for finding in contents.findings {
            let is = |input| Match::Finding { target: target.to_owned(), id: finding.id, input };
            let of_former = finding.former.iter().rev().find(|former| begins(former.input.0));
            if begins(finding.id.0) || begins(finding.input.0) {
                self.told.insert(finding.input.0);
                self.matches.insert(is(finding.input));
            } else if finding.former.iter().any(|former| begins(former.id.0)) {
                self.former_matches.insert(is(finding.input));
            } else if let Some(former) = of_former {
                self.former_matches.insert(is(former.input));
            }
            if begins(finding.module.0) || begins(finding.module_object.0) {
                self.modules.entry((finding.module, finding.module_object)).or_default().insert(target.to_owned());
            }
        }
        for entry in contents.modules {
            if begins(entry.module.0) || begins(entry.object.0) {
                self.modules.entry((entry.module, entry.object)).or_default().insert(target.to_owned());
            }
        }
        for entry in contents.corpus.iter().filter(|entry| begins(entry.input.0)) {
            self.inputs.entry(entry.input).or_default().insert(target.to_owned());
        }
    }
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finding { target, id, .. } => write!(f, "finding {id} of {target}"),
            Self::Module { targets, id, .. } => write!(f, "module {id} of {}", targets.join(", ")),
            Self::Input { targets, id } => write!(f, "input {id} of {}", targets.join(", ")),
            Self::Object(id) => write!(f, "object {id}"),
        }
    }
}

impl Store {
    /// Finds everything that `prefix`, 4 to 64 hex digits of either case, can mean; empty if nothing.
    ///
    /// One thing is one match: an input that shows a finding is that finding, not also a corpus entry and an object.
    /// More than one match is for the caller to print. The order is findings, modules, inputs, objects, each sorted.
    ///
    /// # Errors
    ///
    /// [`StoreError::Prefix`] if it is no such prefix. If nothing is found and a part of the store can't be read, why
    /// that is.
    pub fn resolve(&self, prefix: &str) -> Result<Vec<Match>> {
        let digits = prefix.len();
        if !(DIGITS_MIN..=64).contains(&digits) || !prefix.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(StoreError::Prefix { text: prefix.chars().take(80).collect() }.into());
        }
        let prefix = prefix.to_ascii_lowercase();
        let begins = |id: [u8; 32]| ObjectId(id).to_string().starts_with(&prefix);
        let mut hits = Hits::default();
        // What can't be read hides nothing but itself.
        let mut problem = None;
        for target in self.target_names()? {
            match self.contents(&target) {
                Ok(contents) => hits.add(&target, contents, &begins),
                Err(error) => problem = problem.or(Some(error)),
            }
        }
        let Hits { mut matches, former_matches, mut told, modules, inputs } = hits;
        // What a finding is now goes before what another was.
        if matches.is_empty() {
            told.extend(former_matches.iter().filter_map(|found| match found {
                Match::Finding { input, .. } => Some(input.0),
                _ => None,
            }));
            matches = former_matches;
        }
        for ((id, object), targets) in modules {
            told.insert(object.0);
            matches.insert(Match::Module { targets: targets.into_iter().collect(), id, object });
        }
        for (id, targets) in inputs {
            if told.insert(id.0) {
                matches.insert(Match::Input { targets: targets.into_iter().collect(), id });
            }
        }
        let objects = self.objects(&prefix).unwrap_or_else(|error| {
            problem.get_or_insert(error);
            Vec::new()
        });
        matches.extend(objects.into_iter().filter(|id| !told.contains(&id.0)).map(Match::Object));
        match problem {
            Some(problem) if matches.is_empty() => Err(problem),
            _ => Ok(matches.into_iter().collect()),
        }
    }

    fn contents(&self, target: &str) -> Result<Contents> {
        let (findings, modules, corpus) = (self.scan_findings(target)?.0, self.modules(target)?, self.corpus(target)?);
        Ok(Contents { findings, modules, corpus })
    }

    /// Objects that begin with `prefix`, which has at least two digits.
    fn objects(&self, prefix: &str) -> Result<Vec<ObjectId>> {
        let (shard, rest) = prefix.split_at(2);
        let entries = self.dir().list_below(&Path::new("objects").join(shard))?;
        let names = entries.iter().filter(|(_, kind)| *kind == Kind::File).filter_map(|(name, _)| name.to_str());
        Ok(names
            .filter(|name| name.starts_with(rest))
            .filter_map(|name| format!("{shard}{name}").parse().ok())
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_is_matched_once_as_what_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(dir.path()).unwrap();
        let module = ModuleId([0xab; 32]);
        let object = store.add_module("b", module, b"\0asm").unwrap();
        store.add_module("a", module, b"\0asm").unwrap();
        let input = InputId::of(b"x");
        store.add_to_corpus("a", module, &[(input, b"x")]).unwrap();
        let other = store.put(b"other").unwrap();

        let targets = || vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(store.resolve("ABAB").unwrap(), [Match::Module { targets: targets(), id: module, object }]);
        let by_file = store.resolve(&object.to_string()[..9]).unwrap();
        assert_eq!(by_file, [Match::Module { targets: targets(), id: module, object }]);
        let by_input = store.resolve(&input.to_string()).unwrap();
        assert_eq!(by_input, [Match::Input { targets: vec!["a".into()], id: input }]);
        assert_eq!(store.resolve(&other.to_string()[..5]).unwrap(), [Match::Object(other)]);
        assert_eq!(store.resolve("00000000").unwrap(), []);
    }

    #[test]
    fn what_is_no_prefix_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(dir.path()).unwrap();
        for text in ["", "abc", "xyzw", "../..", "abc\0", "größe", &"a".repeat(65)] {
            assert!(
                matches!(store.resolve(text).unwrap_err().downcast_ref(), Some(StoreError::Prefix { .. })),
                "{text}"
            );
        }
    }
}
