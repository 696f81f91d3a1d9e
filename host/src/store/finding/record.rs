//! What `finding.json` says. Whoever made the store may have written it.

use crate::failure::{Said, Signature};
use crate::id::{FindingId, InputId, ModuleId, ObjectId};
use crate::outcome::FailureKind;
use crate::store::seal;
use crate::symbols::ResolvedFrame;
use anyhow::Result;
use serde::{Deserialize, Serialize};

/// A failure of a target with all that is needed to see it again: `finding.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindingRecord {
    /// Version of this record: [`FindingRecord::VERSION`].
    pub v: u64,
    /// Hash of (module, input, settings), and the directory's name.
    pub id: FindingId,
    /// The target's name.
    pub target: String,
    /// What was executed.
    pub module: ModuleId,
    /// The module's file in the store.
    pub module_object: ObjectId,
    /// The input that shows it.
    pub input: InputId,
    /// The input's length.
    pub input_bytes: u64,
    /// How it failed.
    pub kind: FailureKind,
    /// Trap kind and normalised frames: equal for the same bug.
    pub signature: String,
    /// The signature without debug information, if that is another one: what a build calls the bug that has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lineless: Option<String>,
    /// The guest's calls, innermost first.
    pub frames: Vec<ResolvedFrame>,
    /// The settings that can change the outcome, in the form of whoever ran it.
    pub settings: serde_json::Value,
    /// The file of the module that it was compared with, in the store, if that is what the settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_object: Option<ObjectId>,
    /// Executions of the campaign when it was found.
    pub found_at_execs: u64,
    /// The campaign's seed.
    pub seed: u64,
    /// What made the campaign's inputs, as `--strategy` calls it; empty in records of before that was kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub strategy: String,
    /// Version of the fuzzbox that found it.
    pub engine: String,
    /// Findings whose place this one took: those that it was shrunk from, the first one first, and others of the same
    /// bug. Their ids and their inputs' lead here. Their inputs are objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<Former>,
    /// What there is beside the input if that is a choice stream; `None` if it is plain bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawn: Option<Drawn>,
    /// What the target said when it failed; `None` in records of before that was kept, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Said>,
}

/// What a target that draws its input leaves with a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drawn {
    /// What the guest made of its choices, if it gave that away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<StoredValue>,
}

/// A structured value (`fuzzbox_v1.value`), which outlives changes of what draws it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredValue {
    /// The type, in the guest's own terms.
    pub type_id: i64,
    /// The encoding, in the guest's own terms.
    pub encoding: u32,
    /// Its bytes.
    pub object: ObjectId,
}

/// A finding whose place was taken by a simpler one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Former {
    /// What its id was; it means the simpler one now.
    pub id: FindingId,
    /// The input that showed it.
    pub input: InputId,
    /// That input's length.
    pub input_bytes: u64,
}

impl FindingRecord {
    /// The version that is written, and the latest that is read.
    pub const VERSION: u64 = 1;

    /// What the failure is called.
    pub fn signature(&self) -> Signature {
        Signature { name: self.signature.clone(), lineless: self.lineless.clone() }
    }

    /// The same record of a failure that is called `signature`.
    #[must_use]
    pub fn renamed(self, signature: Signature) -> Self {
        Self { signature: signature.name, lineless: signature.lineless, ..self }
    }

    /// Its text, with a checksum.
    pub(in crate::store) fn sealed(&self) -> Result<String> {
        seal::seal(self)
    }

    /// Reads what [`FindingRecord::sealed`] gave; an error says what is wrong in words that follow "is damaged: ".
    pub(in crate::store) fn parse(bytes: &[u8]) -> Result<Parsed> {
        let (version, value) = seal::unseal(bytes, Self::VERSION)?;
        Ok(if version > Self::VERSION {
            Parsed::Future(version)
        } else {
            Parsed::Record(serde_json::from_value(value)?)
        })
    }
}

/// What the bytes of a record are.
#[derive(Debug)]
pub(in crate::store) enum Parsed {
    /// A record.
    Record(Box<FindingRecord>),
    /// One of a later version.
    Future(u64),
}
