//! What is worth keeping for a target: the inputs, and the modules it was fuzzed as.

use super::record::{self, Pair};
use super::scratch::Durability;
use super::target::target_path;
use super::{INPUT_BYTES_MAX, Store, StoreError};
use crate::id::{InputId, ModuleId, ObjectId};
use anyhow::{Result, ensure};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// An input that is worth keeping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct CorpusEntry {
    /// The input.
    pub input: InputId,
    /// The module that was fuzzed when it was kept first.
    pub module: ModuleId,
}

/// A module that was fuzzed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ModuleEntry {
    /// What executes.
    pub module: ModuleId,
    /// The file, with its custom sections.
    pub object: ObjectId,
}

/// A corpus with its bytes.
#[derive(Debug, Default)]
pub struct LoadedCorpus {
    /// Entries that could be read, ordered by input id.
    pub inputs: Vec<(CorpusEntry, Vec<u8>)>,
    /// Entries that are damaged or missing, and why. [`Store::remove_from_corpus`] forgets them.
    pub damaged: Vec<(InputId, anyhow::Error)>,
    /// Entries longer than was asked for.
    pub too_long: u64,
}

impl Store {
    /// Lists the corpus of `target`, ordered by input id, each input once; empty for a target that was never fuzzed.
    ///
    /// The order is a function of what is kept, not of who wrote it first, so that a campaign that begins with this
    /// corpus can be repeated in another store.
    ///
    /// # Errors
    ///
    /// Fails if the list can't be read.
    pub fn corpus(&self, target: &str) -> Result<Vec<CorpusEntry>> {
        let mut entries = BTreeMap::new();
        for (input, module) in record::read(self.dir(), &target_path(target)?.join("corpus"))? {
            entries.entry(InputId(input)).or_insert(ModuleId(module));
        }
        Ok(entries.into_iter().map(|(input, module)| CorpusEntry { input, module }).collect())
    }

    /// Reads the corpus of `target`. Entries that can't be read are reported beside those that can: a damaged input
    /// is no reason to lose the others.
    ///
    /// # Errors
    ///
    /// Fails if the list can't be read.
    pub fn load_corpus(&self, target: &str, input_bytes_max: u64) -> Result<LoadedCorpus> {
        let mut loaded = LoadedCorpus::default();
        // What is wrong with all of them is no reason to forget them.
        self.dir().dir(Path::new("objects"))?;
        for entry in self.corpus(target)? {
            match self.get_input(entry.input) {
                Ok(bytes) if bytes.len() as u64 > input_bytes_max => loaded.too_long += 1,
                Ok(bytes) => loaded.inputs.push((entry, bytes)),
                Err(error) => loaded.damaged.push((entry.input, error)),
            }
        }
        Ok(loaded)
    }

    /// Adds inputs that `module` showed to be worth keeping: first their bytes, then one line each.
    ///
    /// Inputs that are in the corpus keep the module they have. One batch costs one sync, so callers gather what a
    /// round found. A power failure may cost the bytes of the last ones, which are then damaged entries; a kill costs
    /// none.
    ///
    /// # Errors
    ///
    /// Fails if an input is longer than [`INPUT_BYTES_MAX`], if an id is not that of its bytes, or if the disk is full:
    /// then what was added before stays, and the list has whole lines only.
    pub fn add_to_corpus(&self, target: &str, module: ModuleId, inputs: &[(InputId, &[u8])]) -> Result<()> {
        let list = target_path(target)?.join("corpus");
        // Young campaigns find thousands, and a sync for each would take as long as finding them. What a power failure
        // damages is told by its hash, left out, and found again.
        let put = |(id, bytes): &(InputId, &[u8])| {
            check_input(*id, bytes)?;
            self.put_as((*id).into(), bytes, Durability::Process).map(|_| ())
        };
        let failed = inputs.iter().map(put).enumerate().find_map(|(index, put)| Some((index, put.err()?)));
        // A line takes less room than an input: what is there is listed, even if the disk is full.
        let kept = failed.as_ref().map_or(inputs, |(index, _)| &inputs[..*index]);
        let pairs: Vec<_> = kept.iter().map(|(id, _)| (id.0, module.0)).collect();
        let listed = self.extend(&list, &pairs);
        failed.map_or(listed, |(_, error)| Err(error))
    }

    /// Takes inputs out of the corpus of `target`. Their bytes stay: findings or other targets may need them.
    ///
    /// # Errors
    ///
    /// Fails if the list can't be read or written; then it stays as it was.
    pub fn remove_from_corpus(&self, target: &str, inputs: &BTreeSet<InputId>) -> Result<()> {
        let list = target_path(target)?.join("corpus");
        let exclusive = self.exclusive()?;
        let pairs = record::read(self.dir(), &list)?;
        let kept: Vec<Pair> = pairs.iter().copied().filter(|pair| !inputs.contains(&InputId(pair.0))).collect();
        if kept.len() == pairs.len() {
            return Ok(());
        }
        exclusive.scratch.publish(&record::lines(&kept), 0o644, &list, Durability::Name)
    }

    /// Stores a module's file and notes that `target` was fuzzed as `module`, last of all.
    ///
    /// # Errors
    ///
    /// Fails if the file is larger than [`super::OBJECT_BYTES_MAX`] or can't be written.
    pub fn add_module(&self, target: &str, module: ModuleId, file: &[u8]) -> Result<ObjectId> {
        let list = target_path(target)?.join("modules");
        let object = self.put(file)?;
        let (exclusive, pair) = (self.exclusive()?, (module.0, object.0));
        if record::read(self.dir(), &list)?.last() != Some(&pair) {
            record::append(self.dir(), &exclusive.scratch, &list, &[pair])?;
        }
        Ok(object)
    }

    /// Lists the modules that `target` was fuzzed as, each pair once, the one that was fuzzed last at the end.
    ///
    /// # Errors
    ///
    /// Fails if the list can't be read.
    pub fn modules(&self, target: &str) -> Result<Vec<ModuleEntry>> {
        let mut seen = BTreeSet::new();
        let pairs = record::read(self.dir(), &target_path(target)?.join("modules"))?;
        let once = pairs.into_iter().rev().filter(|pair| seen.insert(*pair));
        let entry = |(module, object)| ModuleEntry { module: ModuleId(module), object: ObjectId(object) };
        let mut last_first: Vec<_> = once.map(entry).collect();
        last_first.reverse();
        Ok(last_first)
    }

    /// Appends those of `pairs` whose first hash is not in the list yet.
    fn extend(&self, list: &Path, pairs: &[Pair]) -> Result<()> {
        let exclusive = self.exclusive()?;
        let there = record::read_those(self.dir(), list, pairs.iter().map(|pair| pair.0))?;
        let mut there: BTreeSet<_> = there.into_iter().map(|pair| pair.0).collect();
        let new: Vec<Pair> = pairs.iter().copied().filter(|pair| there.insert(pair.0)).collect();
        if new.is_empty() { Ok(()) } else { record::append(self.dir(), &exclusive.scratch, list, &new) }
    }
}

/// Checks that `bytes` are an input of that name.
pub(super) fn check_input(id: InputId, bytes: &[u8]) -> Result<()> {
    let size = bytes.len() as u64;
    if size > INPUT_BYTES_MAX {
        let what = format!("input {id}");
        return Err(StoreError::TooLarge { what, bytes: size, bytes_max: INPUT_BYTES_MAX }.into());
    }
    ensure!(InputId::of(bytes) == id, "input {id} was given with the bytes of {}", InputId::of(bytes));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: ModuleId = ModuleId([5; 32]);

    fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&dir.path().join("s")).unwrap();
        (dir, store)
    }

    #[test]
    fn a_corpus_is_a_set_ordered_by_id_and_remembers_the_first_module() {
        let (_dir, store) = store();
        let inputs: Vec<&[u8]> = vec![b"b", b"a", b"", b"c"];
        let batch: Vec<_> = inputs.iter().map(|bytes| (InputId::of(bytes), *bytes)).collect();
        store.add_to_corpus("t", MODULE, &batch).unwrap();
        let size = std::fs::metadata(store.root().join("targets/t/corpus")).unwrap().len();
        store.add_to_corpus("t", ModuleId([6; 32]), &batch).unwrap();
        assert_eq!(std::fs::metadata(store.root().join("targets/t/corpus")).unwrap().len(), size);
        // A line that is none doesn't say that its input is listed.
        let list = store.root().join("targets/t/corpus");
        let torn = std::fs::read_to_string(&list).unwrap().replacen(' ', "?", 1);
        std::fs::write(&list, torn).unwrap();
        store.add_to_corpus("t", MODULE, &batch).unwrap();
        assert_eq!(std::fs::metadata(&list).unwrap().len(), size + size / 4);

        let corpus = store.corpus("t").unwrap();
        assert_eq!(corpus.len(), 4);
        assert!(corpus.is_sorted() && corpus.iter().all(|entry| entry.module == MODULE));
        let loaded = store.load_corpus("t", 0).unwrap();
        assert_eq!((loaded.inputs.len(), loaded.too_long, loaded.damaged.len()), (1, 3, 0));
        assert!(store.corpus("other").unwrap().is_empty());

        store.remove_from_corpus("t", &BTreeSet::from([batch[0].0, InputId([0; 32])])).unwrap();
        assert_eq!(store.corpus("t").unwrap().len(), 3);
        store.add_to_corpus("t", ModuleId([6; 32]), &batch).unwrap();
        assert_eq!(store.corpus("t").unwrap().iter().filter(|entry| entry.module == MODULE).count(), 3);
    }

    #[test]
    fn an_input_under_a_wrong_name_is_refused_and_what_came_before_it_stays() {
        let (_dir, store) = store();
        let before = store.corpus("t").unwrap().len();
        let batch = [(InputId::of(b"first"), &b"first"[..]), (InputId([0; 32]), b"x"), (InputId::of(b"last"), b"last")];
        assert!(store.add_to_corpus("t", MODULE, &batch).is_err());
        let after: Vec<_> = store.corpus("t").unwrap().iter().map(|entry| entry.input).collect();
        assert!(after.len() == before + 1 && after.contains(&batch[0].0), "what came before the error stays");
    }

    #[test]
    fn modules_are_listed_once_and_the_last_one_last() {
        let (_dir, store) = store();
        let object = store.add_module("t", MODULE, b"\0asm").unwrap();
        store.add_module("t", MODULE, b"\0asm").unwrap();
        let entry = |module| ModuleEntry { module, object };
        assert_eq!(store.modules("t").unwrap(), [entry(MODULE)]);
        let other = ModuleId([6; 32]);
        store.add_module("t", other, b"\0asm").unwrap();
        assert_eq!(store.modules("t").unwrap(), [entry(MODULE), entry(other)]);
        store.add_module("t", MODULE, b"\0asm").unwrap();
        assert_eq!(store.modules("t").unwrap(), [entry(other), entry(MODULE)]);
    }
}
