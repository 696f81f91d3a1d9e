//! `fuzzbox inspect`: what fuzzbox sees in a module.

use super::cfg::{GraphFormat, graph};
use super::compiling;
use super::debug_info::{DebugInfoArgs, Found};
use super::exit::{Exit, Verdict};
use super::target_args::{TargetArgs, compile};
use super::write::{Out, say, say_json};
use crate::report::text::printable_json;
use crate::sandbox::CodeCache;
use crate::sandbox::Summary;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// Flags of `inspect`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The module, wasm or wat
    #[arg(value_name = "WASM")]
    target: PathBuf,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
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
        let candidate = self.flags.candidate(&self.target)?;
        let debug_info = self.debug_info.find(candidate.bytes(), Some(&self.target))?;
        let target = compile(&self.target, candidate, &CodeCache::default(), &mut compiling::live())?;
        let summary = target.summary();
        if self.json {
            say_json(&Inspected { summary, lines: debug_info.kind })?;
        } else {
            print(&summary, &debug_info)?;
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

fn print(summary: &Summary, debug_info: &Found) -> std::io::Result<()> {
    say!("module    {}", summary.module);
    say!("entry     {}", summary.entry);
    say!("input     {}", summary.input);
    say!("over-read {}", summary.over_read);
    say!("before    {}", if summary.before.is_empty() { "nothing".to_owned() } else { summary.before.join(", ") });
    say!("edges     {} in {} functions", summary.edges, summary.functions);
    for (name, list) in [("imports", &summary.imports), ("exports", &summary.exports), ("memories", &summary.memories)]
    {
        let mut list = list.iter();
        say!("{name:9} {}", list.next().map_or("none", String::as_str));
        for item in list {
            say!("{:9} {item}", "");
        }
    }
    say!("restored  {}", summary.restore);
    let low = if summary.finds_low_stores { "found" } else { "not looked for: data or the stack may lie there" };
    say!("null      writes below address 1024 are {low}");
    match (&debug_info.kind, &debug_info.missing) {
        (Some(kind), _) => say!("debug     {kind}: findings show file and line"),
        (None, Some(missing)) => say!("debug     {missing}: findings show functions only"),
        (None, None) => say!("debug     no DWARF and no source map: findings show functions only"),
    }
    Ok(())
}
