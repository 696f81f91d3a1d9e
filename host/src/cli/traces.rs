//! `--traces`: which key frames executions are to tell, in which order.

use super::exit::{Fault, UserError};
use super::input::read_at_most;
use super::write::shown;
use crate::sandbox::Candidate;
use crate::stream::Traces;
use crate::stream::frames::{TRACES_MAX, read};
use anyhow::{Context, Result, anyhow, ensure};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A larger file is refused, in bytes.
const TRACE_BYTES_MAX: u64 = 64 << 10;
/// Where traces are unless somebody says where.
pub(super) const DIR: &str = "traces";

/// Reads the traces of a directory: each `.toml` in it is one.
pub(super) fn of(dir: &Path) -> Result<Arc<Traces>, Fault> {
    let read_all = || -> Result<Traces> {
        let files = files(dir)?;
        ensure!(!files.is_empty(), "there is no `.toml` in it");
        let traces = files.iter().map(|path| {
            let bytes = read_at_most(path, TRACE_BYTES_MAX, "");
            let bytes = bytes.with_context(|| format!("failed to read trace `{}`", shown(path)))?;
            read(bytes, &shown(path), &path.file_stem().unwrap_or_default().to_string_lossy())
        });
        Traces::new(traces.collect::<Result<_>>()?)
    };
    read_all().with_context(|| format!("failed to read traces in `{}`", shown(dir))).map(Arc::new).blame_user()
}

/// The files of a directory that are traces, in the order of their names.
fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
            ensure!(files.len() <= TRACES_MAX, "there are more than {TRACES_MAX} traces in it");
        }
    }
    files.sort();
    Ok(files)
}

/// Has those targets follow traces that tell key frames, of which there must be one.
pub(super) fn follow(candidates: &mut [Candidate], traces: &Arc<Traces>, paths: &[PathBuf]) -> Result<(), Fault> {
    let mut following: Vec<_> = candidates.iter_mut().filter(|candidate| candidate.tells_keyframes()).collect();
    if following.is_empty() {
        let paths: Vec<_> = paths.iter().map(|path| format!("`{}`", shown(path))).collect();
        let help = "help: it imports `keyframe` from `fuzzbox_v1`, or calls what a binding has for that";
        return Err(anyhow!("{} tells no key frames, so no trace can be followed\n{help}", paths.join(", ")))
            .blame_user();
    }
    following.iter_mut().for_each(|candidate| candidate.traces = Some(traces.clone()));
    Ok(())
}
