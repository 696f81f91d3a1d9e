//! Findings: one directory each, for people and for `fuzzbox repro`.
//!
//! Within one target and module one finding per signature is kept: the one with the simplest input. Of plain inputs
//! that is the shorter one, and of equally long ones the more readable one ([`Taste::Readable`]); of choice streams it
//! is the first by [`shortlex`]. So many processes that find the same bug over and over leave the same store as one
//! that found only the best.

mod readme;
mod record;

pub use record::{Drawn, FindingRecord, Former, StoredValue};

use super::corpus::check_input;
use super::dir::Kind;
use super::scratch::{Durability, Scratch};
use super::target::target_path;
use super::{INPUT_BYTES_MAX, Store, StoreError};
use crate::id::{FindingId, InputId};
use crate::stream::{Taste, decode, shortlex};
use anyhow::{Context, Result, ensure};
use readme::readme;
use record::Parsed;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Largest `finding.json`.
const RECORD_BYTES_MAX: u64 = 16 << 20;

impl Store {
    /// Stores a finding, unless the same bug is there with an input as good; returns the id of the one that is kept.
    ///
    /// A better one is written completely before the other is removed. The input becomes an object too.
    ///
    /// # Errors
    ///
    /// Fails if record and input don't fit each other, or if they can't be written; what was there before stays then.
    pub fn add_finding(&self, finding: &FindingRecord, input: &[u8]) -> Result<FindingId> {
        ensure!(finding.v == FindingRecord::VERSION, "version {} of findings can't be written", finding.v);
        ensure!(finding.input_bytes == input.len() as u64, "finding {} has another input's length", finding.id);
        check_input(finding.input, input)?;
        let dir = findings_path(&finding.target)?;
        // Before anything is written.
        sealed(finding)?;
        self.put_as(finding.input.into(), input, Durability::Content)?;

        let exclusive = self.exclusive()?;
        let rivals = self.rivals(finding)?;
        // Records of before there was this mark are among them.
        let draws = finding.drawn.is_some() || rivals.iter().any(|rival| rival.record.drawn.is_some());
        let readable = rivals.iter().filter_map(|rival| Some((rival.record.id, rival.input.as_deref()?)));
        // Ids last: two equal inputs differ in settings, and each process must choose the same.
        let best = readable.min_by(|a, b| compare(draws, a.1, b.1).then(a.0.cmp(&b.0)));
        let stored = |id: &FindingId| rivals.iter().find(|rival| rival.record.id == *id);
        let (mut kept, bytes) = match best {
            Some((id, there)) if compare(draws, there, input).is_le() => {
                let rival = stored(&id).expect("it is one of them");
                (rival.record.clone(), there)
            }
            _ => (finding.clone(), input),
        };
        // Its outcome may have been judged differently before.
        let same = self.finding(&kept.target, kept.id).ok();
        // Who knew the lines told more.
        let signature =
            rivals.iter().map(|rival| &rival.record).chain([finding]).find(|record| record.lineless.is_some());
        if let (None, Some(known)) = (&kept.lineless, signature) {
            kept = kept.renamed(known.signature());
        }
        kept.former = former(&kept, rivals.iter().map(|rival| &rival.record).chain(&same));
        // What is stored already is written again only if another leads to it from now on.
        if stored(&kept.id).is_none_or(|rival| rival.record != kept) {
            let (readme, record) = (readme(&kept), sealed(&kept)?);
            let files = [("input", bytes), ("README.md", readme.as_bytes()), ("finding.json", record.as_bytes())];
            self.write_finding(&exclusive.scratch, &dir.join(kept.id.to_string()), &files)?;
        }
        for rival in rivals.iter().filter(|rival| rival.record.id != kept.id) {
            exclusive.scratch.remove_dir(&dir.join(rival.record.id.to_string()))?;
        }
        Ok(kept.id)
    }

    /// Lists the findings of one target or of all, by target and id. Those that can't be read are left out:
    /// [`Store::damaged`] names them.
    ///
    /// # Errors
    ///
    /// Fails if a directory can't be listed.
    pub fn findings(&self, target: Option<&str>) -> Result<Vec<FindingRecord>> {
        Ok(self.scan(target)?.into_iter().flat_map(|(good, _)| good).collect())
    }

    /// Says, for each finding of one target or of all that can't be read, why.
    ///
    /// # Errors
    ///
    /// Fails if a directory can't be listed.
    pub fn damaged(&self, target: Option<&str>) -> Result<Vec<anyhow::Error>> {
        Ok(self.scan(target)?.into_iter().flat_map(|(_, damaged)| damaged).collect())
    }

    /// Reads one finding.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`], [`StoreError::Damaged`], [`StoreError::Future`], or a plain error that names the file.
    pub fn finding(&self, target: &str, id: FindingId) -> Result<FindingRecord> {
        let below = findings_path(target)?.join(id.to_string()).join("finding.json");
        let what = || format!("finding {id} of {target}");
        let Some(bytes) = self.dir().read(&below, RECORD_BYTES_MAX)? else {
            return Err(StoreError::Missing { what: what(), root: self.root().into() }.into());
        };
        let path = self.root().join(below);
        let damaged = |why: String| StoreError::Damaged { what: what(), why, path: path.clone() };
        let record = match FindingRecord::parse(&bytes).map_err(|why| damaged(why.to_string()))? {
            Parsed::Record(record) => *record,
            Parsed::Future(version) => {
                return Err(StoreError::Future { path, version, version_max: FindingRecord::VERSION }.into());
            }
        };
        if record.id != id || record.target != target {
            return Err(damaged(format!("it is the record of finding {} of {}", record.id, record.target)).into());
        }
        Ok(record)
    }

    /// Reads the input of a finding: the file beside the record, or the object if that file is damaged or gone.
    ///
    /// # Errors
    ///
    /// Fails if neither has the bytes that the record names.
    pub fn finding_input(&self, finding: &FindingRecord) -> Result<Vec<u8>> {
        let below = findings_path(&finding.target)?.join(finding.id.to_string()).join("input");
        let problem = match self.dir().read(&below, INPUT_BYTES_MAX) {
            Ok(Some(bytes)) if InputId::of(&bytes) == finding.input => return Ok(bytes),
            Ok(Some(bytes)) => {
                let why = format!("its bytes hash to {}", InputId::of(&bytes));
                let what = format!("the input of finding {} of {}", finding.id, finding.target);
                Some(StoreError::Damaged { what, why, path: self.root().join(below) }.into())
            }
            Ok(None) => None,
            Err(error) => Some(error),
        };
        self.get_input(finding.input).map_err(|error| problem.unwrap_or(error))
    }

    /// Findings of one target that can be read, and errors for the others.
    pub(super) fn scan_findings(&self, target: &str) -> Result<(Vec<FindingRecord>, Vec<anyhow::Error>)> {
        let (mut good, mut damaged) = (Vec::new(), Vec::new());
        let Some(dir) = self.dir().dir(&findings_path(target)?)? else { return Ok((good, damaged)) };
        for (name, kind) in dir.list()? {
            let Some(id) = name.to_str().and_then(|name| name.parse::<FindingId>().ok()) else { continue };
            match kind {
                Kind::Dir => match self.finding(target, id) {
                    Ok(finding) => good.push(finding),
                    // Another process may have replaced it by a better one meanwhile.
                    Err(_) if dir.kind(&name)?.is_none() => {}
                    Err(error) => damaged.push(error),
                },
                Kind::Link => damaged.push(dir.odd(&name, Kind::Link.instead_of_file())),
                Kind::File | Kind::Other => damaged.push(dir.odd(&name, "it is not a directory")),
            }
        }
        Ok((good, damaged))
    }

    fn scan(&self, target: Option<&str>) -> Result<Vec<(Vec<FindingRecord>, Vec<anyhow::Error>)>> {
        match target {
            Some(target) => Ok(vec![self.scan_findings(target)?]),
            None => self.target_names()?.iter().map(|target| self.scan_findings(target)).collect(),
        }
    }

    /// Stored findings of the same bug.
    fn rivals(&self, finding: &FindingRecord) -> Result<Vec<Rival>> {
        let (stored, _) = self.scan_findings(&finding.target)?;
        let signature = finding.signature();
        // One of the same id was called something else before.
        let is_same = |other: &FindingRecord| {
            let is_same = other.module == finding.module && other.against_object == finding.against_object;
            other.id == finding.id || is_same && other.signature().is_same(&signature)
        };
        let same = stored.into_iter().filter(is_same);
        Ok(same.map(|record| Rival { input: self.finding_input(&record).ok(), record }).collect())
    }

    /// Writes a finding's files, the record last.
    ///
    /// A directory of that name holds the same input, since its name is a hash over it: it is damaged, or its outcome
    /// was judged differently. Each of its files is replaced on its own, so at every moment there is one finding of
    /// that name.
    fn write_finding(&self, scratch: &Scratch, below: &Path, files: &[(&str, &[u8])]) -> Result<()> {
        if self.dir().dir(below)?.is_none() {
            return scratch.publish_dir(files, below);
        }
        for (name, bytes) in files {
            scratch
                .publish(bytes, 0o644, &below.join(name), Durability::Name)
                .with_context(|| format!("failed to repair `{}`", self.root().join(below).display()))?;
        }
        Ok(())
    }
}

/// Where the findings of a target are, below the store's root.
fn findings_path(target: &str) -> Result<PathBuf> {
    Ok(target_path(target)?.join("findings"))
}

/// A stored finding of the same bug.
struct Rival {
    record: FindingRecord,
    /// None if it can't be read.
    input: Option<Vec<u8>>,
}

/// What leads to `kept` when it takes the place of `all`: these, and what led to them, each once. An id that was told
/// means the same bug for ever.
fn former<'a>(kept: &FindingRecord, all: impl Iterator<Item = &'a FindingRecord>) -> Vec<Former> {
    let mut seen = BTreeSet::from([(kept.id, kept.input)]);
    let own = |record: &FindingRecord| Former { id: record.id, input: record.input, input_bytes: record.input_bytes };
    let others = all.flat_map(|record| record.former.iter().cloned().chain([own(record)]));
    kept.former.iter().cloned().chain(others).filter(|former| seen.insert((former.id, former.input))).collect()
}

/// The text of a record, if it is not too long.
fn sealed(finding: &FindingRecord) -> Result<String> {
    let record = finding.sealed()?;
    let bytes = record.len() as u64;
    if bytes > RECORD_BYTES_MAX {
        let what = format!("the record of finding {}", finding.id);
        return Err(StoreError::TooLarge { what, bytes, bytes_max: RECORD_BYTES_MAX }.into());
    }
    Ok(record)
}

/// The order of simplicity: of choice streams, or of plain inputs.
fn compare(draws: bool, a: &[u8], b: &[u8]) -> Ordering {
    if draws { shortlex(&decode(a), &decode(b)) } else { Taste::Readable.compare(a, b) }
}

#[cfg(test)]
pub(super) mod tests;
