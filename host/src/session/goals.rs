//! Where a campaign is to get, from what was typed.

use super::builds::{Builds, exported};
use crate::engine::Aim;
use crate::outcome::Frame;
use crate::sandbox::Target;
use crate::store::Store;
use crate::symbols::{Source, Symbols, demangle};
use crate::text::{counted, nearest, printable};
use anyhow::{Context, Result, bail, ensure};
use fuzzbox_instrument::Cfg;
use fuzzbox_instrument::ways::{Dependence, Goal, Program};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// What stands for the functions that are others than in the build before.
pub(crate) const CHANGED: &str = "changed";
/// What stands for nothing, not even that.
pub(crate) const NOTHING: &str = "none";

/// Quarters of a campaign's mutants that are for goals which somebody asked for, and for what changed.
const SHARE_ASKED: usize = 2;
const SHARE_CHANGED: usize = 1;
/// More functions than this are no change, but another compiler.
const CHANGED_PART: usize = 2;

/// Where a campaign is to get.
#[derive(Debug, Default)]
pub(crate) struct Goals {
    /// `None` if there is nothing.
    pub(crate) aim: Option<Aim>,
    /// What is to be said of that, a line each.
    pub(crate) notes: Vec<String>,
}

/// What was read of a target, to look names up.
struct Reader<'a> {
    program: Arc<Program>,
    symbols: &'a Symbols,
    named: Vec<(String, Vec<Goal>)>,
    notes: Vec<String>,
}

impl Goals {
    /// Finds the places that `typed` names in a target, which has this name in the store, if there is one: functions,
    /// `FILE:LINE`, `FUNCTION:EDGE`, [`CHANGED`], or [`NOTHING`]. Without any it is what changed, if something did.
    ///
    /// # Errors
    ///
    /// If there is no such place; the error has what is like it.
    pub(crate) fn find(
        typed: &[String],
        dependence: Dependence,
        (target, symbols): (&Target, &Symbols),
        store: Option<(&Store, &str)>,
    ) -> Result<Self> {
        if typed.iter().any(|goal| goal == NOTHING) {
            ensure!(typed.len() == 1, "goal `{NOTHING}` stands alone");
            return Ok(Self::default());
        }
        let builds = || store.and_then(|(store, name)| Builds::last(store, name, &target.candidate));
        let asks = typed.iter().any(|goal| goal == CHANGED);
        let builds = if asks || typed.is_empty() { builds() } else { None };
        if typed.is_empty() && builds.is_none() {
            return Ok(Self::default());
        }
        let program = Program::of(target.candidate.bytes());
        let program = match program {
            Err(_) if typed.is_empty() => return Ok(Self::default()),
            program => Arc::new(program.context("no goals in it can be found")?),
        };
        let is_it = program.edges() == target.edges.edges.len();
        if !is_it && typed.is_empty() {
            return Ok(Self::default());
        }
        ensure!(is_it, "has other edges than its graphs, so that no goals in it can be found");
        let mut reader = Reader { program, symbols, named: Vec::new(), notes: Vec::new() };
        for goal in typed {
            match goal.as_str() {
                CHANGED => reader.changed(builds.as_ref(), true),
                goal => reader.place(goal)?,
            }
        }
        if typed.is_empty() {
            reader.changed(builds.as_ref(), false);
        }
        reader.aim(target, dependence, if typed.is_empty() { SHARE_CHANGED } else { SHARE_ASKED })
    }
}

impl Reader<'_> {
    fn aim(self, target: &Target, dependence: Dependence, share: usize) -> Result<Goals> {
        let Self { program, named, mut notes, .. } = self;
        if named.is_empty() {
            return Ok(Goals { aim: None, notes });
        }
        let aim = Aim::new(program, named, dependence, share)?;
        let entry = exported(target.candidate.bytes(), target.candidate.entry.export());
        if entry.is_some_and(|entry| !aim.is_reachable(entry)) {
            let names: Vec<_> = aim.aimed().iter().map(|aimed| format!("`{}`", printable(&aimed.name))).collect();
            notes.push(format!("no call leads from the entry to {}", names.join(", ")));
        }
        Ok(Goals { aim: Some(aim), notes })
    }

    /// Adds what changed since a build. Who `asks` is told if there is nothing.
    fn changed(&mut self, builds: Option<&Builds>, asks: bool) {
        let Some(builds) = builds else {
            return self
                .notes
                .push("there is no older build in the store, so nothing changed that could be a goal".to_owned());
        };
        let changed: Vec<_> = builds.changed_blocks(&self.program);
        let functions = builds.functions();
        if changed.is_empty() || !asks && changed.len() * CHANGED_PART > functions {
            if asks {
                self.notes.push("no function is another than in the build before".to_owned());
            }
            return;
        }
        let count = counted(changed.len() as u64, "function");
        self.notes.push(match asks {
            true => format!("what changed in {count} is where to get"),
            false => {
                let names = self.names(&changed);
                format!(
                    "a quarter of all mutants is for what changed in {count}: {names} (--goal none leaves that out)"
                )
            }
        });
        for (function, blocks) in changed {
            let blocks = blocks.into_iter().filter_map(|block| self.program.block(function, block));
            let name = format!("{CHANGED} {}", self.symbols.simple_name(function));
            self.named.push((name, blocks.map(Goal::Block).collect()));
        }
    }

    /// Names of functions, a few of them.
    fn names(&self, changed: &[(u32, Vec<u32>)]) -> String {
        const NAMED_MAX: usize = 3;
        let names = changed.iter().take(NAMED_MAX).map(|(function, _)| printable(&self.symbols.simple_name(*function)));
        let more = if changed.len() > NAMED_MAX { ", ..." } else { "" };
        names.collect::<Vec<_>>().join(", ") + more
    }

    /// Adds a place by its name: a function, one of its edges, or a line.
    fn place(&mut self, typed: &str) -> Result<()> {
        let goals = match self.function(typed)? {
            Some(function) => self.entry(function),
            None => match typed.rsplit_once(':').and_then(|(name, number)| Some((name, number.parse().ok()?))) {
                None => return Err(self.no_function(typed)),
                Some((name, number)) => match self.function(name)? {
                    Some(function) => vec![self.edge(function, name, number)?],
                    None => self.line(name, number)?,
                },
            },
        };
        self.named.push((typed.to_owned(), goals));
        Ok(())
    }

    /// Where a function is entered.
    fn entry(&self, function: u32) -> Vec<Goal> {
        let entry = self.program.cfg(function).map(|cfg| cfg.flows()[0].to);
        entry.and_then(|entry| self.program.block(function, entry)).map(Goal::Block).into_iter().collect()
    }

    /// The function with a name, mangled or not; of its index, if it is one.
    fn function(&self, typed: &str) -> Result<Option<u32>> {
        let functions = || self.program.cfgs().map(Cfg::function);
        if let Ok(index) = typed.parse::<u32>() {
            return Ok(functions().find(|function| *function == index));
        }
        let named = |is: &dyn Fn(u32, &str) -> bool| -> Vec<u32> {
            let cfgs = self.program.cfgs();
            cfgs.filter(|cfg| cfg.name().is_some_and(|name| is(cfg.function(), name))).map(Cfg::function).collect()
        };
        let mut found = named(&|_, name| name == typed);
        if found.is_empty() {
            found = named(&|_, name| demangle(name) == typed);
        }
        if found.is_empty() {
            found = named(&|function, _| self.symbols.simple_name(function) == typed);
        }
        match found[..] {
            [] => Ok(None),
            [function] => Ok(Some(function)),
            _ => {
                let indices: Vec<_> = found.iter().take(8).map(u32::to_string).collect();
                bail!(
                    "there are several functions `{}`\nhelp: --goal takes an index, too: {}",
                    printable(typed),
                    indices.join(", ")
                )
            }
        }
    }

    fn no_function(&self, typed: &str) -> anyhow::Error {
        let names: Vec<_> = self
            .program
            .cfgs()
            .filter(|cfg| cfg.name().is_some())
            .map(|cfg| self.symbols.simple_name(cfg.function()))
            .collect();
        let near = nearest(typed, names.iter().map(|name| &**name));
        let help = near.map_or_else(
            || "fuzzbox inspect lists what a module has".to_owned(),
            |near| format!("did you mean --goal {}?", printable(near)),
        );
        anyhow::anyhow!("there is no function `{}`\nhelp: {help}", printable(typed))
    }

    /// An edge of a function, by its number in the edge map, which is what graphs show.
    fn edge(&self, function: u32, name: &str, number: u32) -> Result<Goal> {
        let edges = self.program.cfg(function).map_or(0..0, Cfg::edges);
        ensure!(
            edges.contains(&number),
            "there is no edge {number} in `{}`\nhelp: it has those from {} to {}, which inspect --cfg shows",
            printable(name),
            edges.start,
            edges.end.saturating_sub(1)
        );
        Ok(Goal::Edge(number))
    }

    /// The blocks that have code of a line.
    fn line(&self, file: &str, line: u32) -> Result<Vec<Goal>> {
        let mut files = BTreeSet::new();
        let mut own: BTreeMap<u32, Range<u32>> = BTreeMap::new();
        let starts = self.program.cfgs().flat_map(|cfg| {
            let blocks = cfg.blocks()[2..].iter();
            blocks.map(|block| Frame { function: cfg.function(), offset: block.start })
        });
        let starts: Vec<_> = starts.collect();
        for (start, Source { file: path, line, .. }) in placed(self.symbols, &starts) {
            if is_called(&path, file) {
                let line = line.unwrap_or(0);
                let lines = own.entry(start.function).or_insert(line..line);
                *lines = lines.start.min(line)..lines.end.max(line);
            }
            files.insert(path);
        }
        if own.is_empty() {
            return Err(self.no_file(file, &files));
        }
        // Where blocks begin says only which functions it may be in.
        let mut found = BTreeSet::new();
        let mut lines = BTreeSet::new();
        for &function in own.keys() {
            let Some(cfg) = self.program.cfg(function) else { continue };
            let offsets = fuzzbox_instrument::ways::operators(self.symbols.module(), cfg);
            let frames: Vec<_> = offsets.into_iter().map(|offset| Frame { function, offset }).collect();
            for (frame, source) in placed(self.symbols, &frames).filter(|(_, source)| is_called(&source.file, file)) {
                lines.extend(source.line);
                let block = cfg.block_at(frame.offset).filter(|_| source.line == Some(line));
                found.extend(block.and_then(|block| self.program.block(function, block)));
            }
        }
        let near = lines.iter().min_by_key(|other| other.abs_diff(line));
        ensure!(
            !found.is_empty(),
            "there is no code of line {line} of `{}`{}",
            printable(file),
            near.map_or_else(String::new, |near| format!("\nhelp: did you mean --goal {}:{near}?", printable(file)))
        );
        Ok(found.into_iter().map(Goal::Block).collect())
    }

    fn no_file(&self, file: &str, files: &BTreeSet<String>) -> anyhow::Error {
        let name = |path: &String| path.rsplit('/').next().unwrap_or(path).to_owned();
        let names: BTreeSet<_> = files.iter().map(name).collect();
        let functions: Vec<_> = self.program.cfgs().map(|cfg| self.symbols.simple_name(cfg.function())).collect();
        let near = nearest(file, names.iter().map(String::as_str).chain(functions.iter().map(|name| &**name)));
        let help = match near {
            Some(near) => format!("\nhelp: did you mean `{}`?", printable(near)),
            None if files.is_empty() => {
                "\nhelp: the module tells no lines: --debug-info names a file that does".to_owned()
            }
            None => String::new(),
        };
        anyhow::anyhow!("there is no function or file `{}`{help}", printable(file))
    }
}

/// Where frames stand, those of which it is known.
fn placed<'f>(symbols: &Symbols, frames: &'f [Frame]) -> impl Iterator<Item = (&'f Frame, Source)> {
    frames.iter().zip(symbols.sources(frames)).filter_map(|(frame, source)| Some((frame, source?)))
}

/// Whether a file with this path is what was typed: its name, or the end of its path.
fn is_called(path: &str, typed: &str) -> bool {
    path.strip_suffix(typed).is_some_and(|before| before.is_empty() || before.ends_with('/') || typed.starts_with('/'))
}

/// Goals that were typed with commas between them. Commas in brackets are part of a name.
pub(crate) fn split(typed: &[String]) -> Vec<String> {
    let mut goals = Vec::new();
    for typed in typed {
        let (mut depth, mut start) = (0_u32, 0);
        for (at, char) in typed.char_indices() {
            match char {
                '(' | '<' | '[' | '{' => depth += 1,
                ')' | '>' | ']' | '}' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    goals.push(typed[start..at].to_owned());
                    start = at + 1;
                }
                _ => {}
            }
        }
        goals.push(typed[start..].to_owned());
    }
    goals.retain(|goal| !goal.is_empty());
    goals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_parted_by_commas_that_are_no_part_of_a_name() {
        let split = |typed: &str| split(&[typed.to_owned()]);
        assert_eq!(split("a,b:3,c.c:7"), ["a", "b:3", "c.c:7"]);
        assert_eq!(split("f(int, char),g<a,b>::h"), ["f(int, char)", "g<a,b>::h"]);
        assert_eq!(split(",,"), [""; 0]);
    }

    #[test]
    fn files_are_called_by_the_end_of_their_path() {
        assert!(is_called("/src/lib/parse.c", "parse.c") && is_called("/src/lib/parse.c", "lib/parse.c"));
        assert!(is_called("parse.c", "parse.c") && is_called("/src/parse.c", "/src/parse.c"));
        assert!(!is_called("/src/reparse.c", "parse.c") && !is_called("parse.c", "src/parse.c"));
    }
}
