//! What is told of a build that was not the first of its target: what became of inputs and findings of older ones.

use crate::id::{FindingId, ModuleId};
use crate::outcome::FailureKind;
use crate::text::{counted, duration, grouped};
use serde::Serialize;

/// What became of what was known of an older build.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Retraced {
    /// The target's name.
    pub target: String,
    /// The older build's module id.
    pub older: ModuleId,
    /// The functions of this build; `None` if the two could not be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub functions: Option<u64>,
    /// Those of them that the older build has, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<u64>,
    /// First inputs.
    pub inputs: u64,
    /// Those of them that were executed; of the others it was known what they show.
    pub executed: u64,
    /// Wall time.
    pub elapsed_ms: u64,
    /// What became of findings of older builds; of those that were fixed before and still are nothing is said.
    pub findings: Vec<KnownFinding>,
}

/// What a finding of an older build does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct KnownFinding {
    /// The finding's id.
    pub id: FindingId,
    /// How it failed.
    pub kind: FailureKind,
    /// What it is called.
    pub signature: String,
    /// What became of it.
    pub now: Now,
}

/// What becomes of a finding on another build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Now {
    /// It does not fail any more.
    Fixed,
    /// It fails as it did.
    Still,
    /// It had been fixed, and fails again.
    Back,
    /// It fails in another way.
    Differs,
}

impl Now {
    /// In words.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Still => "still there",
            Self::Back => "back again",
            Self::Differs => "fails in another way",
        }
    }
}

impl Retraced {
    /// In a line: `412 of 430 functions unchanged, 3,120 inputs re-traced in 0.2 s, 2 known crashes fixed, 1 still
    /// there`.
    pub(crate) fn text(&self) -> String {
        let mut parts = Vec::new();
        if let (Some(functions), Some(unchanged)) = (self.functions, self.unchanged) {
            parts.push(format!("{} of {} unchanged", grouped(unchanged), counted(functions, "function")));
        }
        let (inputs, known) = (counted(self.inputs, "input"), self.inputs - self.executed.min(self.inputs));
        parts.push(match known {
            0 => format!("{inputs} re-traced in {}", duration(self.elapsed_ms)),
            known if known == self.inputs => format!("{inputs} known"),
            known => format!("{inputs} re-traced in {}, {} of them known", duration(self.elapsed_ms), grouped(known)),
        });
        for now in [Now::Fixed, Now::Still, Now::Back, Now::Differs] {
            let all: Vec<_> = self.findings.iter().filter(|finding| finding.now == now).collect();
            if all.is_empty() {
                continue;
            }
            let is_first = !self.findings.iter().any(|finding| finding.now < now);
            let what = if all.iter().all(|finding| finding.kind == FailureKind::Crash) {
                "known crash"
            } else {
                "known finding"
            };
            let count = all.len() as u64;
            let plural = if what.ends_with("crash") { "es" } else { "s" };
            let what = if count == 1 { what.to_owned() } else { format!("{what}{plural}") };
            let count = grouped(count);
            parts.push(if is_first {
                format!("{count} {what} {}", now.text())
            } else {
                format!("{count} {}", now.text())
            });
        }
        parts.join(", ")
    }

    /// A line for each finding.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |finding: &KnownFinding| {
            format!("{}: {} {}", finding.now.text(), &finding.id.to_string()[..8], finding.signature)
        };
        self.findings.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_of_an_older_build_is_one_line() {
        let finding = |now, kind| KnownFinding { id: FindingId([7; 32]), kind, signature: "bug".to_owned(), now };
        let crash = |now| finding(now, FailureKind::Crash);
        let retraced = |inputs, executed, findings| Retraced {
            target: "json".to_owned(),
            older: ModuleId([1; 32]),
            functions: Some(430),
            unchanged: Some(412),
            inputs,
            executed,
            elapsed_ms: 200,
            findings,
        };
        let text = |inputs, executed, findings| retraced(inputs, executed, findings).text();
        assert_eq!(
            text(3120, 3120, vec![crash(Now::Fixed), crash(Now::Still), crash(Now::Fixed)]),
            "412 of 430 functions unchanged, 3,120 inputs re-traced in 0.2 s, 2 known crashes fixed, 1 still there"
        );
        assert_eq!(text(9, 0, Vec::new()), "412 of 430 functions unchanged, 9 inputs known");
        assert_eq!(
            text(9, 2, vec![finding(Now::Back, FailureKind::Hang)]),
            "412 of 430 functions unchanged, 9 inputs re-traced in 0.2 s, 7 of them known, 1 known finding back again"
        );
        assert_eq!(retraced(1, 1, vec![crash(Now::Differs)]).lines(), ["fails in another way: 07070707 bug"]);
    }
}
