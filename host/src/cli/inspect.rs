//! `fuzzbox inspect`: what fuzzbox sees in a module.

use super::cfg::{GraphFormat, graph};
use super::debug_info::{DebugInfoArgs, ModuleDebugInfo};
use super::exit::{Exit, UserError, Verdict};
use super::module_file::{in_file, read_module};
use super::target_args::TargetArgs;
use super::write::{Out, say, say_json, shown};
use crate::sandbox::{Proposal, Summary, Tried, core_module, tried};
use crate::settings::Stub;
use crate::text::{printable, printable_json};
use anyhow::Context;
use clap::ValueEnum;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

/// More ways to call functions are not listed.
const TRIED_MAX: usize = 8;

/// Flags of `inspect`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The module, wasm or wat
    #[arg(value_name = "WASM")]
    target: PathBuf,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Execute the ways to call functions with some inputs, and list those first that do most with them and do not fail
    #[arg(long = "try")]
    tries: bool,
    /// Only the control-flow graph of a function, by index or name
    #[arg(long, value_name = "FUNCTION")]
    cfg: Option<String>,
    /// Form of the graph
    #[arg(long, value_enum, default_value_t, requires = "cfg", conflicts_with = "json")]
    format: GraphFormat,
    #[command(flatten)]
    flags: TargetArgs,
    #[command(flatten)]
    debug_info: DebugInfoArgs,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        if let Some(function) = &self.cfg {
            let graph = graph(&self.target, function, self.format, &self.debug_info)?;
            // A string of Graphviz knows no escapes of JSON, and what JSON allows as it is has no business in one.
            Out.write_all(printable_json(&graph).as_bytes())?;
            return Ok(Exit::Clean);
        }
        let path = shown(&self.target);
        let bytes =
            read_module(&self.target).with_context(|| format!("failed to read target `{path}`")).blame_user()?;
        let failed = || format!("failed to load target `{path}`");
        let (bytes, glue) = self.flags.completed(&self.target, bytes)?;
        let settings = self.flags.settings()?;
        let summary = Summary::of(&bytes, &settings, &glue).map_err(|error| in_file(error, &self.target));
        let mut summary = summary.with_context(failed).blame_user()?;
        if self.tries {
            let tried = tried(&bytes, &settings, summary.stubs, &glue).with_context(failed).blame_user()?;
            (summary.calls, summary.stubs) = tried;
            summary.calls.truncate(TRIED_MAX);
        }
        // What can't be linked has no lines.
        // The names that stand for recipes are known by now, or an error.
        let debug_info = match core_module(&bytes, None) {
            Ok(module) => self.debug_info.find(&module, Some(&self.target))?,
            Err(_) => ModuleDebugInfo::default(),
        };
        if self.json {
            say_json(&Inspected { summary, lines: debug_info.kind })?;
        } else {
            let linked = self.flags.linking().typed();
            print(&summary, &debug_info, &format!("{path}{linked}"))?;
        }
        Ok(Exit::Clean)
    }
}

/// What is seen in a module.
#[derive(Serialize)]
struct Inspected {
    #[serde(flatten)]
    summary: Summary,
    /// Where file and line come from: `DWARF in the module`; null if they are not known.
    lines: Option<String>,
}

/// The line to type for a recipe: `target` is the module, and what is linked to it.
fn line(target: &str, proposal: &Proposal, stubs: Option<Stub>) -> String {
    let stubs = stubs.and_then(|stub| stub.to_possible_value());
    let stubs = stubs.map_or_else(String::new, |stub| format!(" --stub-imports {}", stub.get_name()));
    format!("fuzzbox run {target}{stubs} --call '{}'", proposal.call.replace('\'', "'\\''"))
}

/// How its functions can be called.
fn print_calls(summary: &Summary, target: &str) -> std::io::Result<()> {
    for (number, proposal) in summary.calls.iter().enumerate() {
        let head = if number == 0 { "call" } else { "" };
        let guessed = if proposal.guessed { ", guessed by names and types" } else { "" };
        say!("{head:9} {} ({}{guessed}):", printable(&proposal.export), proposal.convention);
        say!("{:9}   {}", "", printable(&line(target, proposal, summary.stubs)));
        if let Some(Tried { empty_edges, edges, failures }) = &proposal.tried {
            let failed = match failures {
                0 => String::new(),
                _ => ", and some inputs fail".to_owned(),
            };
            say!("{:9}   tried: {edges} edges, {empty_edges} of them by the empty input{failed}", "");
        }
    }
    let is_tried = summary.calls.iter().all(|proposal| !proposal.guessed || proposal.tried.is_some());
    let is_library = summary.entry.is_none() && summary.edges.is_some_and(|edges| edges > 0);
    if !is_tried || summary.calls.is_empty() && is_library {
        say!("{:9} --try executes ways to call its functions, and tells which do most with an input", "");
    }
    Ok(())
}

fn print(summary: &Summary, debug_info: &ModuleDebugInfo, target: &str) -> std::io::Result<()> {
    say!("module    {}", summary.module);
    if let Some(kind) = &summary.kind {
        say!("made by   {kind}");
    }
    for personality in &summary.personalities {
        say!("host      {personality}");
    }
    for obstacle in &summary.obstacles {
        for (number, line) in obstacle.replace("\nhelp: ", "\n").lines().enumerate() {
            say!("{:9} {line}", if number == 0 { "obstacle" } else { "" });
        }
    }
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
    say!("entry     {}", or_none(&summary.entry));
    if !summary.other_entries.is_empty() {
        let named = if summary.entry.is_some() { "others, by --entry:" } else { "by --entry:" };
        say!("{:9} {named} {}", "", summary.other_entries.join(", "));
    }
    print_calls(summary, target)?;
    if let (Some(input), Some(over_read)) = (&summary.input, summary.over_read) {
        say!("input     {input}");
        say!("over-read {over_read}");
        say!("before    {}", if summary.before.is_empty() { "nothing".to_owned() } else { summary.before.join(", ") });
    }
    if let (Some(edges), Some(functions)) = (summary.edges, summary.functions) {
        say!("edges     {edges} in {functions} functions");
    }
    let missing: BTreeSet<_> = summary.missing.iter().collect();
    let by = |import: &String| if missing.contains(import) { "nobody provides it" } else { "provided" };
    let imports: Vec<_> = summary.imports.iter().map(|import| format!("{import}: {}", by(import))).collect();
    for (name, list) in [("imports", &imports), ("exports", &summary.exports), ("memories", &summary.memories)] {
        let mut list = list.iter();
        say!("{name:9} {}", list.next().map_or("none", String::as_str));
        for item in list {
            say!("{:9} {item}", "");
        }
    }
    if let Some(restore) = &summary.restore {
        say!("restored  {restore}");
        let low = if summary.finds_low_stores {
            "found"
        } else {
            "not looked for: --checks leaves them out, or data or the stack may lie there"
        };
        say!("null      writes below address 1024 are {low}");
    }
    match (&debug_info.kind, &debug_info.missing) {
        (Some(kind), _) => say!("debug     {kind}: findings show file and line"),
        (None, Some(missing)) => say!("debug     {missing}: findings show functions only"),
        (None, None) => say!("debug     no DWARF and no source map: findings show functions only"),
    }
    Ok(())
}
