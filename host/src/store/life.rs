//! What becomes of findings: on which builds they fail, and which of them nobody wants to hear of.
//!
//! ```text
//!          passes                fails on a build where it did not fail before
//! open ------------> fixed ---------------------------------------------------> back
//!   |                                                                            ^
//!   +-- a user says so --> closed -----------------------------------------------+
//! ```
//!
//! A verdict is a line that is appended, and the state is what the lines say together, so nothing is lost when two
//! processes write, or one is killed. A finding fails on the build that it was found in, without a line. There is no
//! such thing as a flaky finding: the same module fails on the same input for ever, and another module is another one.
//!
//! Ignored are signatures, not findings: the same failure with another input, or on another build, is the same.

use super::record::{self, Pair};
use super::scratch::Durability;
use super::target::target_path;
use super::{FindingRecord, Store};
use crate::failure::Signature;
use crate::id::{FindingId, ModuleId};
use anyhow::Result;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What a finding's input does on a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It fails in the same way.
    Fails,
    /// It fails in another way.
    Differs,
    /// It does not fail.
    Passes,
    /// A user said that there is nothing left to be done, when this build was the latest.
    Closed,
}

/// What became of a finding on one build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The finding; or one whose place it took.
    pub finding: FindingId,
    /// The build.
    pub module: ModuleId,
    /// What it does there.
    pub fate: Fate,
}

/// Where a finding is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It fails, as far as anybody knows.
    Open,
    /// It did not fail on a later build than it was found in, and fails again on one after that.
    Back,
    /// It does not fail on the last build that it was executed on.
    Fixed,
    /// A user closed it, and it was seen on no other build since.
    Closed,
    /// Its signature is ignored.
    Ignored,
}

/// A finding's life so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Life {
    /// Where it is.
    pub state: State,
    /// The build that its state is about: the one where it is fixed or back, or where it was seen last.
    pub module: ModuleId,
    /// On that build its input fails in another way.
    pub differs: bool,
    /// Builds on which it fails, or did when it was closed.
    #[serde(skip)]
    pub failed_on: BTreeSet<ModuleId>,
}

impl Life {
    /// Whether there is something to be done about it.
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Open | State::Back)
    }

    /// Whether a user closed it, and knew that it fails on this build.
    pub fn is_closed_on(&self, module: ModuleId) -> bool {
        self.state == State::Closed && self.failed_on.contains(&module)
    }

    /// The life of a finding, by verdicts in the order in which they were noted.
    fn of<'a>(finding: &FindingRecord, verdicts: impl IntoIterator<Item = &'a Verdict>, ignored: bool) -> Self {
        let failed_on = BTreeSet::from([finding.module]);
        let mut life = Self { state: State::Open, module: finding.module, differs: false, failed_on };
        for &Verdict { module, fate, .. } in verdicts {
            let was_known = fate == Fate::Fails && !life.failed_on.insert(module);
            let state = match (fate, life.state) {
                (Fate::Passes, _) => State::Fixed,
                (Fate::Closed, _) => State::Closed,
                // What was closed where it fails still does.
                (Fate::Fails, State::Closed) if was_known => continue,
                (Fate::Fails, State::Fixed | State::Closed) if !was_known => State::Back,
                (Fate::Fails, State::Fixed) => State::Open,
                // It is something else that fails.
                (Fate::Differs, State::Fixed | State::Closed) => continue,
                (_, state) => state,
            };
            life = Self { state, module, differs: fate == Fate::Differs, ..life };
        }
        if ignored { Self { state: State::Ignored, ..life } } else { life }
    }
}

impl State {
    /// In a word, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Back => "back",
            Self::Fixed => "fixed",
            Self::Closed => "closed",
            Self::Ignored => "ignored",
        }
    }
}

impl Fate {
    const ALL: [Self; 4] = [Self::Fails, Self::Differs, Self::Passes, Self::Closed];

    /// The word that is stored.
    fn word(self) -> &'static str {
        match self {
            Self::Fails => "fails",
            Self::Differs => "differs",
            Self::Passes => "passes",
            Self::Closed => "closed",
        }
    }
}

impl Verdict {
    fn line(&self) -> String {
        format!("{} {} {}\n", self.finding, self.module, self.fate.word())
    }

    fn parse(line: &[u8]) -> Option<Self> {
        let end = line.iter().rposition(|&byte| byte == b' ')?;
        let (finding, module) = record::parse(&line[..end])?;
        let fate = Fate::ALL.into_iter().find(|fate| fate.word().as_bytes() == &line[end + 1..])?;
        Some(Self { finding: FindingId(finding), module: ModuleId(module), fate })
    }
}

impl Store {
    /// Notes what became of findings. What says the same as the last word on a finding is not written again.
    ///
    /// # Errors
    ///
    /// Fails if the list can't be read or written.
    pub fn add_verdicts(&self, target: &str, verdicts: &[Verdict]) -> Result<()> {
        let list = target_path(target)?.join("verdicts");
        if verdicts.is_empty() {
            return Ok(());
        }
        let exclusive = self.exclusive()?;
        let known = self.verdicts(target)?;
        let last: BTreeMap<_, _> = known.iter().map(|verdict| (verdict.finding, verdict)).collect();
        let new = verdicts.iter().filter(|verdict| last.get(&verdict.finding) != Some(verdict));
        let lines: String = new.map(Verdict::line).collect();
        if lines.is_empty() {
            return Ok(());
        }
        record::append_lines(self.dir(), &exclusive.scratch, &list, lines.into_bytes())
    }

    /// All verdicts on findings of a target, in the order in which they were noted.
    ///
    /// # Errors
    ///
    /// Fails if the list can't be read.
    pub fn verdicts(&self, target: &str) -> Result<Vec<Verdict>> {
        record::read_lines(self.dir(), &target_path(target)?.join("verdicts"), Verdict::parse)
    }

    /// The lives of findings of a target, in their order.
    ///
    /// # Errors
    ///
    /// Fails if a list can't be read.
    pub fn lives(&self, target: &str, findings: &[FindingRecord]) -> Result<Vec<Life>> {
        let (verdicts, ignored) = (self.verdicts(target)?, self.ignored(target)?);
        let mut places: BTreeMap<FindingId, Vec<usize>> = BTreeMap::new();
        for (place, verdict) in verdicts.iter().enumerate() {
            places.entry(verdict.finding).or_default().push(place);
        }
        let life = |finding: &FindingRecord| {
            let ids: BTreeSet<_> = finding.former.iter().map(|former| former.id).chain([finding.id]).collect();
            let mut own: Vec<_> = ids.iter().filter_map(|id| places.get(id)).flatten().collect();
            own.sort_unstable();
            let own = own.into_iter().filter_map(|&place| verdicts.get(place));
            Life::of(finding, own, is_ignored(&ignored, &finding.signature()))
        };
        Ok(findings.iter().map(life).collect())
    }

    /// From now on nobody wants to hear of failures that are called as this finding is; or, if not `ignore`, again.
    ///
    /// # Errors
    ///
    /// Fails if the list can't be read or written.
    pub fn ignore(&self, finding: &FindingRecord, ignore: bool) -> Result<()> {
        let list = target_path(&finding.target)?.join("ignored");
        let exclusive = self.exclusive()?;
        let there = record::read(self.dir(), &list)?;
        let names: BTreeSet<_> = names(&finding.signature()).collect();
        if ignore {
            let is_there = |name: &[u8; 32]| there.iter().any(|pair| pair.0 == *name);
            let new: Vec<Pair> =
                names.into_iter().filter(|name| !is_there(name)).map(|name| (name, finding.id.0)).collect();
            return if new.is_empty() { Ok(()) } else { record::append(self.dir(), &exclusive.scratch, &list, &new) };
        }
        let kept: Vec<Pair> = there.iter().copied().filter(|pair| !names.contains(&pair.0)).collect();
        if kept.len() == there.len() {
            return Ok(());
        }
        exclusive.scratch.publish(&record::lines(&kept), 0o644, &list, Durability::Name)
    }

    /// Whether failures of a target that are called so are ignored.
    ///
    /// # Errors
    ///
    /// Fails if the list can't be read.
    pub fn ignores(&self, target: &str, signature: &Signature) -> Result<bool> {
        Ok(is_ignored(&self.ignored(target)?, signature))
    }

    /// Hashes of the signatures that are ignored.
    fn ignored(&self, target: &str) -> Result<BTreeSet<[u8; 32]>> {
        Ok(record::read(self.dir(), &target_path(target)?.join("ignored"))?.into_iter().map(|pair| pair.0).collect())
    }
}

fn is_ignored(ignored: &BTreeSet<[u8; 32]>, signature: &Signature) -> bool {
    names(signature).any(|name| ignored.contains(&name))
}

/// What a failure is called with debug information and without, hashed: signatures have any length.
fn names(signature: &Signature) -> impl Iterator<Item = [u8; 32]> {
    [Some(&signature.name), signature.lineless.as_ref()]
        .into_iter()
        .flatten()
        .map(|name| *blake3::hash(name.as_bytes()).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::finding::tests::record;

    const A: ModuleId = ModuleId([1; 32]);
    const B: ModuleId = ModuleId([2; 32]);
    const C: ModuleId = ModuleId([3; 32]);

    fn life(fates: &[(ModuleId, Fate)]) -> (State, ModuleId) {
        let finding = FindingRecord { module: A, ..record("bug", b"x") };
        let verdict = |&(module, fate)| Verdict { finding: finding.id, module, fate };
        let verdicts: Vec<_> = fates.iter().map(verdict).collect();
        let life = Life::of(&finding, &verdicts, false);
        (life.state, life.module)
    }

    #[test]
    fn a_life_is_what_its_verdicts_say() {
        use Fate::{Closed, Differs, Fails, Passes};
        for (fates, state) in [
            (&[][..], (State::Open, A)),
            (&[(B, Fails)], (State::Open, B)),
            (&[(B, Differs)], (State::Open, B)),
            (&[(B, Passes)], (State::Fixed, B)),
            (&[(B, Passes), (C, Passes)], (State::Fixed, C)),
            (&[(B, Passes), (C, Fails)], (State::Back, C)),
            // The old build is no regression.
            (&[(B, Passes), (A, Fails)], (State::Open, A)),
            (&[(B, Passes), (C, Fails), (B, Passes), (C, Fails)], (State::Open, C)),
            (&[(B, Passes), (C, Differs)], (State::Fixed, B)),
            (&[(A, Closed)], (State::Closed, A)),
            (&[(A, Closed), (A, Fails)], (State::Closed, A)),
            (&[(A, Closed), (B, Fails)], (State::Back, B)),
            (&[(A, Closed), (B, Passes), (C, Fails)], (State::Back, C)),
        ] {
            assert_eq!(life(fates), state, "{fates:?}");
        }
    }

    #[test]
    fn verdicts_are_kept_in_their_order_and_a_torn_one_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&dir.path().join("s")).unwrap();
        let verdict = |module, fate| Verdict { finding: FindingId([7; 32]), module, fate };
        let all =
            [verdict(B, Fate::Passes), verdict(C, Fate::Fails), verdict(B, Fate::Passes), verdict(A, Fate::Closed)];
        for verdict in all {
            store.add_verdicts("t", &[verdict]).unwrap();
            store.add_verdicts("t", &[verdict]).unwrap();
        }
        assert_eq!(store.verdicts("t").unwrap(), all);
        let path = store.root().join("targets/t/verdicts");
        let whole = std::fs::read(&path).unwrap();
        for end in 0..whole.len() {
            std::fs::write(&path, &whole[..end]).unwrap();
            let read = store.verdicts("t").unwrap();
            assert_eq!(read, all[..read.len()], "{end}");
            store.add_verdicts("t", &[verdict(C, Fate::Differs)]).unwrap();
            let after = store.verdicts("t").unwrap();
            assert_eq!((&after[..read.len()], after.len()), (&read[..], read.len() + 1), "{end}");
        }
    }

    #[test]
    fn ignored_is_a_signature_with_lines_or_without_until_it_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&dir.path().join("s")).unwrap();
        let finding = FindingRecord { lineless: Some("bug".into()), ..record("bug:+3", b"x") };
        store.add_finding(&finding, b"x").unwrap();
        let state = || store.lives(&finding.target, std::slice::from_ref(&finding)).unwrap()[0].state;
        // What became of another finding is not about this one.
        let verdict = Verdict { finding: FindingId([9; 32]), module: C, fate: Fate::Passes };
        store.add_verdicts(&finding.target, &[verdict]).unwrap();
        let other = Signature { name: "bug".into(), lineless: None };
        assert_eq!((state(), store.ignores(&finding.target, &other).unwrap()), (State::Open, false));
        store.ignore(&finding, true).unwrap();
        store.ignore(&finding, true).unwrap();
        assert_eq!((state(), store.ignores(&finding.target, &other).unwrap()), (State::Ignored, true));
        assert!(!store.ignores("other", &other).unwrap());
        store.ignore(&finding, false).unwrap();
        assert_eq!((state(), store.ignores(&finding.target, &other).unwrap()), (State::Open, false));
    }
}
