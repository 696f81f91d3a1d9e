//! The one stream of events that every reporter consumes.

use super::checked::Checked;
use super::retraced::Retraced;
use crate::failure::{Headline, Said};
use crate::id::{FindingId, InputId, ModuleId};
use crate::outcome::FailureKind;
use crate::stream::Decoded;
use crate::symbols::ResolvedFrame;
use crate::text::{counted, grouped};
use serde::Serialize;
use std::collections::BTreeMap;

/// Something that happened in a campaign, as reporters see it. Everything is resolved to what a person or a tool reads:
/// names, not indices. Serialised, an event is one line of `--reporter json`: `{"v":1,"event":"finding",...}`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Event {
    /// A module is still being compiled. For people only: how often it is told depends on the machine.
    Compiling(Compiling),
    /// A campaign is about to begin.
    Start(Start),
    /// Edges were reached for the first time by a new corpus entry.
    NewEdge(NewEdge),
    /// What was known of an older build was tried on this one.
    Retraced(Retraced),
    /// Executions begin after others from now on.
    Warmed(Warmed),
    /// A goal was reached.
    Arrived(Arrived),
    /// A new corpus entry came further on a trace than all before it.
    Keyframe(Keyframe),
    /// A failure with a signature not seen before in this campaign.
    Finding(Finding),
    /// Where the campaign stands.
    Status(Status),
    /// Something looks wrong; names the flag that helps.
    Advice(Advice),
    /// Files were imported.
    Imported(Imported),
    /// The campaign of one target ended.
    Done(Done),
    /// The campaign of one target never began, because all were ended.
    NotStarted(NotStarted),
    /// All targets were checked.
    Checked(Checked),
}

impl Event {
    /// Name of the target that it is about; of all of them nothing.
    pub(crate) fn target(&self) -> &str {
        match self {
            Self::Compiling(compiling) => &compiling.target,
            Self::Start(start) => &start.target,
            Self::NewEdge(new) => &new.target,
            Self::Retraced(retraced) => &retraced.target,
            Self::Warmed(warmed) => &warmed.target,
            Self::Arrived(arrived) => &arrived.target,
            Self::Keyframe(keyframe) => &keyframe.target,
            Self::Finding(finding) => &finding.target,
            Self::Status(status) => &status.target,
            Self::Advice(advice) => &advice.target,
            Self::Imported(imported) => &imported.target,
            Self::Done(done) => &done.target,
            Self::NotStarted(not_started) => &not_started.target,
            Self::Checked(_) => "",
        }
    }
}

/// A module is being compiled.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Compiling {
    /// The target's name.
    pub target: String,
    /// The size of the module.
    pub module_bytes: u64,
    /// Wall time since that began.
    pub elapsed_ms: u64,
}

/// What is fuzzed, and how.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Start {
    /// The target's name: its file's stem.
    pub target: String,
    /// The module's id.
    pub module: ModuleId,
    /// The entry that was chosen, in words: `LLVMFuzzerTestOneInput(ptr, len)`.
    pub entry: String,
    /// Number of edges in the module.
    pub edges_total: u64,
    /// Inputs the campaign starts from.
    pub seeds: u64,
    /// The campaign's seed.
    pub seed: u64,
    /// What makes its inputs, as `--strategy` calls it.
    pub strategy: String,
    /// Whether that is so if nobody says anything.
    #[serde(skip_serializing)]
    pub is_default: bool,
    /// Worker threads.
    pub jobs: u64,
}

impl Start {
    /// What the campaign can be repeated with: `seed 1`, or `seed 1, strategy tree`.
    pub(super) fn repeatable(&self) -> String {
        let strategy = if self.is_default { String::new() } else { format!(", strategy {}", self.strategy) };
        format!("seed {}{strategy}", self.seed)
    }
}

/// Edges were reached for the first time.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct NewEdge {
    /// The target's name.
    pub target: String,
    /// The corpus entry that reached them.
    pub input: InputId,
    /// Its length.
    pub input_bytes: u64,
    /// Executions up to then.
    pub execs: u64,
    /// How many edges are new.
    pub new: u64,
    /// Edges reached in total, these included.
    pub edges: u64,
    /// Name of the function that holds the first of them.
    pub function: String,
}

/// Executions begin where others ended, so that they need not grow the memory.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Warmed {
    /// The target's name.
    pub target: String,
    /// The inputs that are executed before the first, in this order.
    pub inputs: Vec<InputId>,
}

impl Warmed {
    /// In a line.
    pub(crate) fn text(&self) -> String {
        let before = counted(self.inputs.len() as u64, "input");
        format!(
            "executions keep growing memory: from now on they start after {before}, so that it is grown; \
             findings are checked without (--no-warm-up: never do that)"
        )
    }
}

/// A goal was reached.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Arrived {
    /// The target's name.
    pub target: String,
    /// The goal, as it was typed.
    pub goal: String,
    /// Executions up to then.
    pub execs: u64,
    /// The input that reached it, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<InputId>,
    /// Its length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_bytes: Option<u64>,
    /// What was drawn from it, or what it begins with, for a person to see in one line.
    #[serde(skip_serializing)]
    pub preview: String,
}

impl Arrived {
    /// In a line: `parse_attribute after 1,234 executions: "a=" (3f2a91c0)`.
    pub(crate) fn text(&self) -> String {
        let after = format!("{} after {}", self.goal, counted(self.execs, "execution"));
        match &self.input {
            Some(input) => format!("{after}: {} ({})", self.preview, &input.to_string()[..8]),
            None => after,
        }
    }
}

/// A frame of a trace was reached for the first time, and all before it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Keyframe {
    /// The target's name.
    pub target: String,
    /// The trace's.
    pub trace: String,
    /// How many of its frames were reached.
    pub reached: u64,
    /// How many it has.
    pub frames: u64,
    /// The last one that was reached, in words: `4 (confirm), argument 1 to 9`.
    pub frame: String,
    /// How many draws came before it.
    pub draws: u64,
    /// The corpus entry.
    pub input: InputId,
    /// Executions up to then.
    pub execs: u64,
}

impl Keyframe {
    /// In a line.
    pub(crate) fn text(&self) -> String {
        let Self { trace, reached, frames, frame, execs, .. } = self;
        let after = counted(*execs, "execution");
        format!("trace `{trace}`: reached {reached} of {frames} frames after {after}, `{frame}`")
    }
}

/// How far a campaign came on a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct TraceReached {
    /// The trace's name.
    pub name: String,
    /// How many of its frames were reached in one execution.
    pub reached: u64,
    /// How many it has.
    pub frames: u64,
    /// The frame that was not, in words: `4 (confirm)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

impl TraceReached {
    /// In a line: ``trace `login`: reached 3 of 5 frames, not `4 (confirm)` ``.
    pub(crate) fn text(&self) -> String {
        let Self { name, reached, frames, missing } = self;
        match missing {
            Some(missing) => format!("trace `{name}`: reached {reached} of {frames} frames, not `{missing}`"),
            None => format!("trace `{name}`: reached all of {}", counted(*frames, "frame")),
        }
    }
}

/// A failure of the target.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Finding {
    /// The target's name.
    #[serde(skip_serializing)]
    pub target: String,
    /// The finding's id: `fuzzbox repro` takes any unambiguous prefix of it.
    pub id: FindingId,
    /// How it failed.
    pub kind: FailureKind,
    /// Trap kind and normalised frames.
    pub signature: String,
    /// The input that shows it.
    pub input: InputId,
    /// The input's length.
    pub input_bytes: u64,
    /// The guest's calls, innermost first.
    pub frames: Vec<ResolvedFrame>,
    /// The call to look at first, in words: `parse_value at src/json.c:57:9`. See [`Headline`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// What the input begins with and how long it is, or what was drawn from it, for a person to see in one line: see
    /// [`preview`](super::preview) and [`Decoded::preview`].
    #[serde(skip_serializing)]
    pub preview: String,
    /// What the target drew from the input, if it draws.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drawn: Option<Decoded>,
    /// What the target said, if it said something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<Said>,
    /// It was an open finding when the campaign began.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
}

impl Finding {
    /// The lines that say most of what the target said.
    pub(crate) fn said(&self) -> Vec<String> {
        self.said.as_ref().map_or_else(Vec::new, |said| said.summary(self.drawn.as_ref()))
    }

    /// The call that says most of where the target failed: the innermost of the user's own.
    pub(crate) fn headline(&self) -> Option<Headline> {
        Headline::new(&self.frames, self.said.as_ref())
    }

    /// Kind and signature, without saying twice what the signature of a hang begins with: `crash: unreachable: f:+14`,
    /// `hang: f`.
    pub(crate) fn title(&self) -> String {
        let says_kind =
            self.signature.strip_prefix(self.kind.name()).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'));
        if says_kind { self.signature.clone() } else { format!("{}: {}", self.kind, self.signature) }
    }
}

/// Where a campaign stands.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Status {
    /// The target's name.
    pub target: String,
    /// Executions so far.
    pub execs: u64,
    /// Executions per wall second since the start.
    pub execs_per_sec: f64,
    /// Wall time since the start.
    pub elapsed_ms: u64,
    /// Edges reached.
    pub edges: u64,
    /// Edges in the module.
    pub edges_total: u64,
    /// Corpus entries.
    pub corpus: u64,
    /// Findings so far.
    pub findings: u64,
    /// Rounds finished.
    pub rounds: u64,
}

/// A remark in yellow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Advice {
    /// The target's name.
    pub target: String,
    /// What looks wrong and which flag helps.
    pub message: String,
}

impl Done {
    /// What was not reached, in words; names as they are. Without names, how many functions there are.
    pub(crate) fn nameless(&self) -> Option<String> {
        let is_told = self.not_reached.is_empty() && self.nameless_not_reached > 0;
        is_told.then(|| format!("{} without a name", counted(self.nameless_not_reached, "function")))
    }
}

/// How the campaign of one target ended.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Done {
    /// The target's name.
    pub target: String,
    /// The module's id.
    pub module: ModuleId,
    /// Executions, and results that were known and count as such.
    pub execs: u64,
    /// Those of them that were known from an earlier campaign, and not made.
    pub recalled: u64,
    /// Executions per wall second.
    pub execs_per_sec: f64,
    /// Wall time.
    pub elapsed_ms: u64,
    /// Executions whose input the target rejected.
    pub rejected: u64,
    /// Executions that drew more choices than they may.
    pub overruns: u64,
    /// Mean length of the inputs that were executed, in bytes.
    pub input_bytes_mean: f64,
    /// Edges reached.
    pub edges: u64,
    /// Edges in the module.
    pub edges_total: u64,
    /// Corpus entries.
    pub corpus: u64,
    /// One per signature.
    pub findings: Vec<Finding>,
    /// The campaign's seed.
    pub seed: u64,
    /// What made its inputs, as `--strategy` calls it.
    pub strategy: String,
    /// Rounds finished.
    pub rounds: u64,
    /// blake3 over the sorted input ids of the corpus, hex.
    pub corpus_hash: String,
    /// Names of the user's largest functions of which no edge was reached, for the table's "not reached" line.
    #[serde(skip_serializing)]
    pub not_reached: Vec<String>,
    /// How many functions without a name were not reached.
    #[serde(skip_serializing)]
    pub nameless_not_reached: u64,
    /// Goals that were not reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_arrived: Vec<String>,
    /// How far it came on each trace that it followed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<TraceReached>,
    /// Why it ended: `--execs 1000 reached`, `interrupted`, ...
    pub stopped: String,
}

/// A target whose turn never came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct NotStarted {
    /// The target's name.
    pub target: String,
}

/// What became of files that were imported. Each is counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Files {
    /// They show something new, and are kept.
    pub new: u64,
    /// They were kept before, or show nothing new.
    pub known: u64,
    /// The target fails.
    pub failing: u64,
    /// The target rejects them.
    pub rejected: u64,
    /// They can't be read, or are too long.
    pub unreadable: u64,
}

impl Files {
    /// How many files there are.
    pub(crate) fn count(&self) -> u64 {
        let Self { new, known, failing, rejected, unreadable } = self;
        new + known + failing + rejected + unreadable
    }

    /// In words: `152 files: 3 new, 1 fails, 148 known`.
    pub(crate) fn text(&self) -> String {
        let Self { new, known, failing, rejected, unreadable } = *self;
        let fails = if failing == 1 { "fails" } else { "fail" };
        let parts =
            [(new, "new"), (failing, fails), (rejected, "rejected"), (unreadable, "left out"), (known, "known")];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<_> = parts.map(|(count, what)| format!("{} {what}", grouped(*count))).collect();
        format!("{}: {}", counted(self.count(), "file"), parts.join(", "))
    }
}

/// What became of a directory of inputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Imported {
    /// The target's name.
    pub target: String,
    /// All files.
    #[serde(flatten)]
    pub all: Files,
    /// The same by kind: `queue`, `crashes` and `hangs` of AFL++, `crash-*` and the like of libFuzzer, `inputs`.
    pub kinds: BTreeMap<String, Files>,
    /// How many inputs are texts of the grammar, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parsed: Option<u64>,
}

impl Imported {
    /// Sums up the kinds.
    pub(crate) fn new(target: String, kinds: BTreeMap<String, Files>, parsed: Option<u64>) -> Self {
        let all = kinds.values().fold(Files::default(), |all, files| Files {
            new: all.new + files.new,
            known: all.known + files.known,
            failing: all.failing + files.failing,
            rejected: all.rejected + files.rejected,
            unreadable: all.unreadable + files.unreadable,
        });
        Self { target, all, kinds, parsed }
    }

    /// A line for all files, one for what is parsed, and one for each kind if there are several.
    pub(crate) fn lines(&self) -> Vec<String> {
        let kinds = self.kinds.iter().filter(|_| self.kinds.len() > 1);
        let kinds = kinds.map(|(kind, files)| format!("{kind}: {}", files.text()));
        let read = self.all.count() - self.all.unreadable;
        let parsed = self.parsed.map(|parsed| match read - parsed.min(read) {
            0 => "all are texts of the grammar".to_owned(),
            _ => format!("{} of {} are texts of the grammar", grouped(parsed), grouped(read)),
        });
        std::iter::once(self.all.text()).chain(parsed).chain(kinds).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_summed_up_by_what_became_of_them() {
        let queue = Files { new: 3, known: 140, ..Files::default() };
        let crashes = Files { known: 8, failing: 1, ..Files::default() };
        let kinds: BTreeMap<_, _> = [("queue".to_owned(), queue), ("crashes".to_owned(), crashes)].into();
        let imported = Imported::new("json".to_owned(), kinds.clone(), None);
        let expected = [
            "152 files: 3 new, 1 fails, 148 known",
            "crashes: 9 files: 1 fails, 8 known",
            "queue: 143 files: 3 new, 140 known",
        ];
        assert_eq!(imported.lines(), expected);
        let parsed = |parsed| Imported::new("json".to_owned(), kinds.clone(), Some(parsed)).lines().remove(1);
        assert_eq!(parsed(150), "150 of 152 are texts of the grammar");
        assert_eq!(parsed(152), "all are texts of the grammar");
        let all = Files { new: 1, known: 1, failing: 2, rejected: 1, unreadable: 1 };
        assert_eq!(all.text(), "6 files: 1 new, 2 fail, 1 rejected, 1 left out, 1 known");
    }
}
