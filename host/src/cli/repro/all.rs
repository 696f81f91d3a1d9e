//! All findings of a target, run on another build of it.

use super::{Args, best};
use crate::cli::debug_info::symbols;
use crate::cli::exit::{Exit, Fault, UserError, Verdict};
use crate::cli::findings;
use crate::cli::naming::default_name;
use crate::cli::output;
use crate::cli::target_args::optimise;
use crate::cli::write::{say, say_json, warn, warning};
use crate::id::FindingId;
use crate::report::Now;
use crate::sandbox::{CodeCache, Target};
use crate::session::records;
use crate::session::reproduction::{Reproduction, Way};
use crate::settings::Settings;
use crate::store::{FindingRecord, Store};
use crate::symbols::Symbols;
use crate::text::grouped;
use anyhow::{Context, anyhow};
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;

/// What became of one finding.
#[derive(Debug, Serialize)]
struct Line {
    id: FindingId,
    target: String,
    kind: String,
    signature: String,
    now: Now,
    /// How it fails now, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    signature_now: Option<String>,
    /// The way in which it fails, or the last that was tried.
    by: Way,
}

/// The build under the settings of some finding.
struct Build {
    settings: Settings,
    target: Arc<Target>,
    symbols: Symbols,
}

/// Runs all findings of a target on the build that `--on` names.
pub(super) fn run(args: &Args, store: &Store) -> Verdict {
    let path = args.on.as_deref();
    let path = path
        .context("the finding's hash is missing\nhelp: `fuzzbox ls` lists them; --on runs all of them on another build")
        .blame_user()?;
    let name = name(args, store, path)?;
    let (mut builds, mut lines) = (Vec::new(), Vec::new());
    for record in store.findings(Some(&name))? {
        let build = build(args, store, &mut builds, (path, &record))?;
        let Some(line) = line(args, store, &record, build)? else {
            warning!("finding {} can't be run again in this way", record.id);
            continue;
        };
        if args.json {
            say_json(&line)?;
        } else {
            print(&line)?;
        }
        lines.push(line);
    }
    if !args.json {
        let count = |now| lines.iter().filter(|line| line.now == now).count() as u64;
        let counts = [Now::Still, Now::Differs, Now::Fixed].map(|now| (count(now), now.text()));
        let counts: Vec<_> = counts.iter().filter(|(count, _)| *count > 0).collect();
        let counts: Vec<_> = counts.iter().map(|(count, what)| format!("{} {what}", grouped(*count))).collect();
        say!("{name}: {}", if counts.is_empty() { "no findings".to_owned() } else { counts.join(", ") });
    }
    let fails = lines.iter().any(|line| line.now != Now::Fixed);
    Ok(if fails { Exit::Findings } else { Exit::Clean })
}

/// The target whose findings are meant.
fn name(args: &Args, store: &Store, path: &Path) -> Result<String, Fault> {
    let names = store.target_names()?;
    let wanted = args.name.clone().unwrap_or_else(|| default_name(path, None));
    if names.contains(&wanted) {
        return Ok(wanted);
    }
    let mut with_findings = Vec::new();
    for name in names {
        if !store.findings(Some(&name))?.is_empty() {
            with_findings.push(name);
        }
    }
    match (&args.name, &with_findings[..]) {
        (None, [only]) => Ok(only.clone()),
        _ => {
            let names = with_findings.join(", ");
            Err(anyhow!("there is no target `{wanted}` in the store\nhelp: name one of these with --name: {names}"))
                .blame_user()
        }
    }
}

/// The build under a finding's settings; compiled once for all that have the same.
fn build<'a>(
    args: &Args,
    store: &Store,
    builds: &'a mut Vec<Build>,
    (path, record): (&Path, &FindingRecord),
) -> Result<&'a Build, Fault> {
    let settings = records::settings(record)?.of_another_module();
    let place = match builds.iter().position(|build| build.settings == settings) {
        Some(place) => place,
        None => {
            let candidate = findings::another_build(store, record, path, &args.linking)?;
            let debug_info = args.debug_info.find(candidate.bytes(), Some(path))?;
            let target = Arc::new(optimise(path, candidate, &CodeCache::of_user())?);
            let symbols = symbols(&target, debug_info);
            builds.push(Build { settings, target, symbols });
            builds.len() - 1
        }
    };
    Ok(&builds[place])
}

/// Runs one finding; `None` if there is no way.
fn line(args: &Args, store: &Store, record: &FindingRecord, build: &Build) -> Result<Option<Line>, Fault> {
    let input = store.finding_input(record).context("failed to read a finding's input")?;
    let Build { target, symbols, .. } = build;
    let is_another = record.module != target.candidate.id;
    let reproduction = Reproduction { store, record, input: &input, target, symbols, warn: &warn, is_another };
    let attempts = reproduction.attempts(&args.ways())?;
    let Some(attempt) = best(&attempts).and_then(|best| attempts.get(best)) else { return Ok(None) };
    let now = match (&attempt.signature, attempt.same) {
        (_, true) => Now::Still,
        (Some(_), false) => Now::Differs,
        (None, false) => Now::Fixed,
    };
    Ok(Some(Line {
        id: record.id,
        target: record.target.clone(),
        kind: record.kind.name().to_owned(),
        signature: record.signature.clone(),
        now,
        signature_now: attempt.signature.as_ref().map(|signature| signature.name.clone()),
        by: attempt.way,
    }))
}

fn print(line: &Line) -> std::io::Result<()> {
    let now = match &line.signature_now {
        Some(now) if line.now == Now::Differs => format!("{}: {now}", line.now.text()),
        _ => line.now.text().to_owned(),
    };
    say!("{} {} - {now}", &line.id.to_string()[..8], output::failure(&line.kind, &line.signature));
    Ok(())
}
