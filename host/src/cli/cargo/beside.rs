//! Corpora and artifacts, in the folders where cargo-fuzz has them: `corpus/TARGET` and `artifacts/TARGET`.

use super::super::exit::{Fault, UserError};
use super::super::input::read_found_dir;
use super::super::write::{shown, warning};
use super::folder::{Folder, from_here};
use crate::id::InputId;
use crate::outcome::FailureKind;
use crate::report::Finding;
use crate::settings::Settings;
use crate::store::{Store, export_file};
use anyhow::{Context, Result};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The two folders, and what of them is known.
pub(super) struct Beside {
    corpora: PathBuf,
    artifacts: PathBuf,
    /// By target: the inputs in its corpus, however their files are called.
    known: BTreeMap<String, BTreeSet<InputId>>,
    /// What was written of findings.
    written: RefCell<BTreeSet<PathBuf>>,
}

/// Inputs, by the target that they are for.
type Seeds = Vec<Vec<Vec<u8>>>;

impl Beside {
    /// Reads what the targets called `names` have there, and gives the inputs of each.
    pub(super) fn read(folder: &Folder, names: &[String], settings: &Settings) -> Result<(Self, Seeds), Fault> {
        let mut beside = Self {
            corpora: folder.dir.join("corpus"),
            artifacts: folder.dir.join("artifacts"),
            known: BTreeMap::new(),
            written: RefCell::default(),
        };
        let mut seeds = Seeds::new();
        for name in names {
            let mut inputs = inputs(&beside.corpora.join(name), settings)?;
            beside.known.insert(name.clone(), inputs.iter().map(|bytes| InputId::of(bytes)).collect());
            inputs.extend(self::inputs(&beside.artifacts.join(name), settings)?);
            seeds.push(inputs);
        }
        Ok((beside, seeds))
    }

    /// Writes the input of a finding, by the name that libFuzzer would give such a file, but with our hash.
    pub(super) fn keep_artifact(&self, store: &Store, finding: &Finding) -> Result<()> {
        let kind = match finding.kind {
            FailureKind::Crash => "crash",
            FailureKind::Hang => "timeout",
            FailureKind::OutOfMemory => "oom",
            FailureKind::Difference => "difference",
        };
        let dir = self.artifacts.join(&finding.target);
        let name = format!("{kind}-{}", finding.input);
        let path = dir.join(&name);
        let write = || export_file(&dir, &name, &store.get_input(finding.input)?);
        write().with_context(|| format!("failed to write artifact `{}`", shown(&from_here(&path))))?;
        self.written.borrow_mut().insert(from_here(&path));
        Ok(())
    }

    /// Writes what the corpus of a target in the store has beside what was read.
    pub(super) fn keep_corpus(&self, store: &Store, target: &str) -> Result<()> {
        let dir = self.corpora.join(target);
        let none = BTreeSet::new();
        let exported = store.export_new(target, &dir, self.known.get(target).unwrap_or(&none));
        let exported = exported.with_context(|| format!("failed to write corpus `{}`", shown(&from_here(&dir))))?;
        exported.damaged.iter().for_each(|error| warning!("{error:#}"));
        Ok(())
    }

    /// What was written of findings.
    pub(super) fn artifacts(&self) -> Vec<PathBuf> {
        self.written.borrow().iter().cloned().collect()
    }
}

/// The inputs in a folder, if there is one.
fn inputs(dir: &Path, settings: &Settings) -> Result<Vec<Vec<u8>>, Fault> {
    if !dir.is_dir() {
        return Ok(Vec::new());
    }
    Ok(read_found_dir(dir, settings).blame_user()?.into_iter().map(|(_, bytes)| bytes).collect())
}
