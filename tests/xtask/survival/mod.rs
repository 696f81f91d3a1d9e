//! How much is left of what was learned from a build when the next one comes: on four programs with ten edits each.
//!
//! A campaign on the program as it was finds two planted bugs, perhaps others, and a corpus. For each edit a copy of
//! its store goes on with the edited program, three times: with all that is known, with nothing known of what inputs
//! show, so that all are executed, and from nothing. Whether a finding is still there is also asked of `replay`, which
//! knows of no other build.

use crate::command::Fuzzbox;
use crate::guests::{Build, Program};
use crate::{disk, workspace};
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;

/// How long campaigns are.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Executions on the program as it was.
    pub execs: u64,
    /// Executions from nothing on each edited one; 0 to leave that out.
    pub fresh_execs: u64,
}

/// What is left after an edit.
#[derive(Clone, Debug)]
pub struct Row {
    /// The program.
    pub program: String,
    /// What was edited.
    pub edit: String,
    /// Functions that are as they were, of all; none of none if it is the same module but for names.
    pub unchanged: (u64, u64),
    /// Corpus entries and inputs of findings; those that the new build began with; those that it executed.
    pub inputs: (u64, u64, u64),
    /// Edges after that; after all were executed; after as many executions as were asked for from nothing.
    pub edges: (u64, u64, Option<u64>),
    /// Findings that are still there, and how many of them are said to be.
    pub still: (u64, u64),
    /// Findings that are fixed, and how many of them are said to be.
    pub fixed: (u64, u64),
    /// Findings that were told to be new.
    pub new: u64,
}

/// Executions that a campaign has beyond its first inputs, at least one of which must be left.
const EXECS_MORE: u64 = 2_000;

/// Measures a program; tells each row when it is there.
///
/// # Errors
///
/// If it can't be built, or a campaign fails.
pub fn run(program: &Program, settings: Settings, mut told: impl FnMut(&Row)) -> Result<Vec<Row>> {
    let builds = program.builds()?;
    let (base, edits) = builds.split_first().context("a program has a base")?;
    let fuzzbox = Fuzzbox::new();
    first_inputs(program, &fuzzbox.dir().join("inputs"))?;
    let campaign = Campaign { fuzzbox: &fuzzbox, program };
    campaign.events("run", base, "known", &["--corpus", "inputs", "--execs", &settings.execs.to_string()])?;
    let findings = campaign.findings("known")?;
    ensure!(findings.len() >= 2, "the planted bugs of `{}` are not found", program.name);
    let results = fuzzbox.user_cache().join("fuzzbox/results");
    let aside = fuzzbox.dir().join("results");
    copy(&results, &aside)?;
    let mut rows = Vec::new();
    for edit in edits {
        copy(&aside, &results)?;
        let row = campaign.row(edit, &findings, settings, &results)?;
        told(&row);
        rows.push(row);
    }
    Ok(rows)
}

struct Campaign<'a> {
    fuzzbox: &'a Fuzzbox,
    program: &'a Program,
}

impl Campaign<'_> {
    /// What is left after an edit; `results` is where it is kept what inputs show.
    fn row(
        &self,
        edit: &Build,
        findings: &BTreeMap<String, Vec<u8>>,
        settings: Settings,
        results: &Path,
    ) -> Result<Row> {
        let (fuzzbox, name) = (self.fuzzbox, self.program.name);
        let known = fuzzbox.dir().join("known");
        copy(&known, &fuzzbox.dir().join("again"))?;
        copy(&known, &fuzzbox.dir().join("full"))?;
        let entries = fs::read_to_string(known.join(format!("targets/{name}/corpus")))?.lines().count();
        let kept = (entries + findings.len()) as u64;
        let execs = (kept + EXECS_MORE).to_string();
        let again = self.events("ci", edit, "again", &["--execs", &execs])?;
        fs::remove_dir_all(results)?;
        let full = self.events("ci", edit, "full", &["--execs", &execs])?;
        let fresh = if settings.fresh_execs == 0 {
            None
        } else {
            remove(&fuzzbox.dir().join("fresh"))?;
            let flags = ["--corpus", "inputs", "--execs", &settings.fresh_execs.to_string(), "--no-shrink"];
            Some(number(&last(&self.events("run", edit, "fresh", &flags)?, "done")?["edges"]))
        };
        let (checked, retraced) = (checked(&again)?, last(&again, "retraced").unwrap_or_default());
        // What is the same module but for its names has nothing to tell.
        let is_same = retraced.is_null();
        let recalled = number(&last(&again, "done")?["recalled"]);
        let executed =
            retraced["executed"].as_u64().unwrap_or_else(|| number(&checked["inputs"]).saturating_sub(recalled));
        let edges = |events: &[Value]| -> Result<u64> {
            Ok(number(&last(events, "done")?["edges"]) - number(&self::checked(events)?["new_edges"]))
        };
        let (mut still, mut fixed) = ((0, 0), (0, 0));
        for (id, input) in findings {
            let told = retraced["findings"].as_array().and_then(|all| all.iter().find(|told| told["id"] == **id));
            let told = told.map_or("", |told| told["now"].as_str().unwrap_or_default());
            if self.fails(edit, input)? {
                still = (still.0 + 1, still.1 + u64::from(told == "still" || is_same));
            } else {
                fixed = (fixed.0 + 1, fixed.1 + u64::from(told == "fixed"));
            }
        }
        Ok(Row {
            program: name.to_owned(),
            edit: edit.edit.clone(),
            unchanged: (number(&retraced["unchanged"]), number(&retraced["functions"])),
            inputs: (kept, number(&checked["inputs"]), executed),
            edges: (edges(&again)?, edges(&full)?, fresh),
            still,
            fixed,
            new: number(&checked["new"]),
        })
    }

    /// Runs a verb on a build with a store, and returns what was told.
    fn events(&self, verb: &str, build: &Build, store: &str, flags: &[&str]) -> Result<Vec<Value>> {
        let module = build.module.to_str().context("a path in text")?;
        let mut arguments = vec![verb, module, "--name", self.program.name, "--store", store, "--seed", "1"];
        arguments.extend(["--reporter", "json"]);
        arguments.extend(self.program.call.iter().flat_map(|call| ["--call", call]));
        arguments.extend(flags);
        // A store is made only where one is asked for.
        fs::create_dir_all(self.fuzzbox.dir().join(store))?;
        let output = self.fuzzbox.command(&arguments).stderr(Stdio::inherit()).output()?;
        ensure!(matches!(output.status.code(), Some(0 | 1)), "`fuzzbox {}` fails", arguments.join(" "));
        let lines = String::from_utf8(output.stdout)?;
        lines.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    }

    /// Findings and their inputs.
    fn findings(&self, store: &str) -> Result<BTreeMap<String, Vec<u8>>> {
        let ls = self.fuzzbox.run("ls", &[], &["--json", "--store", store]).json_lines();
        let target = ls.iter().find(|target| target["target"] == self.program.name).context("there is no target")?;
        let ids = target["findings"].as_array().into_iter().flatten().filter_map(|finding| finding["id"].as_str());
        let folder = self.fuzzbox.dir().join(store).join("targets").join(self.program.name).join("findings");
        ids.map(|id| Ok((id.to_owned(), fs::read(folder.join(id).join("input"))?))).collect()
    }

    /// Whether an input fails, by an execution alone.
    fn fails(&self, build: &Build, input: &[u8]) -> Result<bool> {
        let path = self.fuzzbox.dir().join("input");
        fs::write(&path, input)?;
        let call: Vec<&str> = self.program.call.iter().flat_map(|call| ["--call", call]).collect();
        let module = build.module.to_str().context("a path in text")?;
        let ran = self.fuzzbox.run("replay", &[module, "input"], &[&["--json"], &call[..]].concat());
        let line = ran.json_lines().into_iter().next().with_context(|| ran.stderr.clone())?;
        Ok(!line["signature"].is_null())
    }
}

/// What campaigns begin with: the seeds that the program has, and what shows its bugs.
fn first_inputs(program: &Program, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let seeds = workspace().join("tests/guests").join(program.name).join("bench-seeds");
    if seeds.is_dir() {
        disk::copy(&seeds, folder)?;
    }
    for (number, input) in program.failing.iter().enumerate() {
        fs::write(folder.join(format!("fails{number}")), input)?;
    }
    Ok(())
}

/// Puts a copy of a folder in the place of another.
fn copy(from: &Path, to: &Path) -> Result<()> {
    remove(to)?;
    fs::create_dir_all(to)?;
    disk::copy(from, to).with_context(|| format!("failed to copy `{}`", from.display()))?;
    // A cache that others could have written is none.
    Ok(fs::set_permissions(to, fs::metadata(from)?.permissions())?)
}

fn remove(folder: &Path) -> Result<()> {
    if folder.exists() { Ok(fs::remove_dir_all(folder)?) } else { Ok(()) }
}

fn last(events: &[Value], kind: &str) -> Result<Value> {
    let event = events.iter().rfind(|event| event["event"] == kind);
    event.cloned().with_context(|| format!("there is no event `{kind}`"))
}

fn checked(events: &[Value]) -> Result<Value> {
    Ok(last(events, "checked")?["targets"][0].clone())
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

impl Row {
    /// Edges after what was known alone, of those after all inputs were executed, and of those from nothing.
    fn shares(&self) -> (f64, Option<f64>) {
        let (again, full, fresh) = self.edges;
        let share = |of: u64| again as f64 / of.max(1) as f64;
        (share(full), fresh.map(share))
    }

    /// In a line of the table.
    pub fn text(&self) -> String {
        let (full, fresh) = self.shares();
        format!(
            "{:8} {:22} {:>4} of {:>4}  {:>5} of {:>5} {:>8}  {:>6} {full:>6.3} {:>6}  {:>2} of {:>2}  {:>2} of {:>2}  {:>3}",
            self.program,
            self.edit,
            self.unchanged.0,
            self.unchanged.1,
            self.inputs.1,
            self.inputs.0,
            self.inputs.2,
            self.edges.0,
            fresh.map_or("-".to_owned(), |fresh| format!("{fresh:.3}")),
            self.still.1,
            self.still.0,
            self.fixed.1,
            self.fixed.0,
            self.new,
        )
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        let (full, fresh) = self.shares();
        json!({
            "program": self.program, "edit": self.edit, "unchanged": self.unchanged, "inputs": self.inputs,
            "edges": self.edges, "of_full": full, "of_fresh": fresh, "still": self.still, "fixed": self.fixed,
            "new": self.new,
        })
    }
}

/// What stands above the table.
pub const HEAD: &str = "program  edit                   unchanged     inputs begun  executed   edges of full  fresh     still     fixed  new";
