//! `fuzzbox inspect --cfg`: the control-flow graph of one function.

use super::debug_info::DebugInfoArgs;
use super::exit::{Fault, UserError};
use super::module_file::{in_file, read_module};
use super::write::shown;
use crate::outcome::Frame;
use crate::symbols::{Source, Symbols, demangle};
use crate::text::printable;
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use fuzzbox_instrument::{Cfg, Cfgs};
use std::collections::BTreeMap;
use std::path::Path;

/// The most functions that an error names.
const NAMED_MAX: usize = 8;

/// Form of a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum GraphFormat {
    /// Blocks, edges, dominators, loops and control dependence
    #[default]
    Json,
    /// For Graphviz: `| dot -Tsvg > graph.svg`
    Dot,
}

/// The graph of `function`, an index or a name, as text that ends with a line break.
pub(super) fn graph(
    path: &Path,
    function: &str,
    format: GraphFormat,
    debug_info: &DebugInfoArgs,
) -> Result<String, Fault> {
    let (shown, typed) = (shown(path), printable(function));
    let failed = || format!("failed to draw `{typed}` of `{shown}`");
    let bytes = read_module(path).with_context(|| format!("failed to read target `{shown}`")).blame_user()?;
    let wasm = crate::sandbox::core_module(&bytes, None)
        .map_err(|error| in_file(error, path))
        .with_context(failed)
        .blame_user()?;
    let make = || {
        let cfgs = Cfgs::new(&wasm)?;
        let index = find(cfgs.names(), function)?;
        cfgs.function(index)
    };
    let cfg = make().with_context(failed).blame_user()?;
    let symbols = debug_info.find(&wasm, Some(path))?.apply(Symbols::new(&wasm[..], |_| None));
    let lines = lines(&cfg, &symbols);
    let source = |offset: u32| lines.get(&offset).cloned();
    let draw = || match format {
        GraphFormat::Json => cfg.to_json_with_sources(&source),
        GraphFormat::Dot => cfg.to_dot_with_sources(&source),
    };
    draw().with_context(failed).blame_user()
}

/// File and line by the offset that a block starts at.
fn lines(cfg: &Cfg, symbols: &Symbols) -> BTreeMap<u32, (String, u32)> {
    let starts: Vec<_> =
        cfg.blocks().iter().map(|block| Frame { function: cfg.function(), offset: block.start }).collect();
    let line = |source: Option<Source>| source.and_then(|source| Some((source.file, source.line?)));
    let lines = symbols.sources(&starts).into_iter().map(line);
    starts.iter().zip(lines).filter_map(|(start, line)| Some((start.offset, line?))).collect()
}

/// The index of a function that was typed as one, or as its name, mangled or not. An index is never taken for a name.
fn find(names: &[Option<String>], typed: &str) -> Result<u32> {
    if let Ok(index) = typed.parse() {
        return Ok(index);
    }
    let named = |is: &dyn Fn(&str) -> bool| -> Vec<u32> {
        (0..).zip(names).filter(|(_, name)| name.as_deref().is_some_and(is)).map(|(index, _)| index).collect()
    };
    let mut found = named(&|name| name == typed);
    if found.is_empty() {
        found = named(&|name| demangle(name) == typed);
    }
    match found[..] {
        [index] => Ok(index),
        [] => {
            let like = named(&|name| demangle(name).contains(typed));
            let help = if like.is_empty() {
                "give a function's index instead"
            } else {
                &format!("like it: {}", list(names, &like))
            };
            bail!("has no function `{}`\nhelp: {help}", printable(typed))
        }
        _ => bail!("has several functions `{}`\nhelp: use an index: {}", printable(typed), list(names, &found)),
    }
}

/// Names with their indices, as far as there is room.
fn list(names: &[Option<String>], found: &[u32]) -> String {
    let shown = found.iter().take(NAMED_MAX).map(|&index| {
        let name = names.get(index as usize).and_then(Option::as_deref).map(demangle);
        format!("{index} `{}`", printable(&name.unwrap_or_default()))
    });
    let more = if found.len() > NAMED_MAX { ", ..." } else { "" };
    shown.collect::<Vec<_>>().join(", ") + more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_index_and_by_either_name() {
        let names = ["f", "_ZN4json5parseEPKc", "g", "g", "_ZN4core9panicking5panic17h0123456789abcdefE"];
        let names: Vec<_> = names.into_iter().map(|name| Some(name.to_owned())).chain([None]).collect();
        let index = |typed: &str| find(&names, typed).unwrap();
        assert_eq!(["0", "5", "f", "json::parse", "_ZN4json5parseEPKc"].map(index), [0, 5, 0, 1, 1]);
        assert_eq!(index("77"), 77); // the module says that it has none
        let error = |typed: &str| find(&names, typed).unwrap_err().to_string();
        assert_eq!(error("g"), "has several functions `g`\nhelp: use an index: 2 `g`, 3 `g`");
        assert_eq!(error("panic"), "has no function `panic`\nhelp: like it: 4 `core::panicking::panic`");
        assert_eq!(error("nothing"), "has no function `nothing`\nhelp: give a function's index instead");
    }
}
