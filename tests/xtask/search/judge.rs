//! How many edges the inputs of a campaign reach, natively.

use crate::guests::tool;
use anyhow::{Context as _, Result};
use std::path::Path;
use std::process::Command;

/// Edges that the files of some folders reach together, in a program with libFuzzer's counters. An input that crashes
/// counts for nothing.
pub(super) fn edges(judge: &Path, folders: &[&Path]) -> Result<u64> {
    let merged = tempfile::tempdir().context("failed to create a folder to judge in")?;
    let mut command = Command::new(judge);
    // To merge is the one way of its to go on after a crash.
    command
        .args(["-merge=1", "-rss_limit_mb=4096", "-timeout=10"])
        .arg(format!("-artifact_prefix={}/", merged.path().display()));
    command.arg(merged.path()).args(folders).current_dir(merged.path());
    let output = tool::run(&mut command)?;
    merged_edges(&String::from_utf8_lossy(&output.stderr)).context("the judge does not say what was reached")
}

/// Reads `MERGE-OUTER: 40 new files with 900 new features added; 310 new coverage edges`.
fn merged_edges(text: &str) -> Option<u64> {
    let line = text.lines().rev().find(|line| line.contains("new coverage edges"))?;
    line.split(';').nth(1)?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_read_from_what_a_merge_says() {
        let text = "MERGE-OUTER: 3 files\nMERGE-OUTER: 2 new files with 9 new features added; 31 new coverage edges\n";
        assert_eq!(merged_edges(text), Some(31));
        assert_eq!(merged_edges("MERGE-OUTER: 3 files\n"), None);
    }
}
