//! Two builds of a target, function by function.

use crate::engine::Carry;
use crate::id::ModuleId;
use crate::sandbox::{Candidate, Target, core_module};
use crate::store::{ModuleEntry, Store};
use anyhow::Result;
use fuzzbox_instrument::identity::{Diff, FunctionIdentity, Identity, Pair, diff, exact};
use fuzzbox_instrument::ways::{Program, changed_blocks};
use std::collections::BTreeSet;
use std::sync::Arc;
use wasmparser::{ExternalKind, Parser, Payload};

/// Modules that are larger are not compared function by function, in bytes: nobody waits for that.
const COMPARED_BYTES_MAX: usize = 16 << 20;

/// Fewer functions that are as they were say nothing of who a module is.
const UNCHANGED_MIN: u64 = 8;

/// A build that was fuzzed before, beside the one that is fuzzed now.
pub(super) struct Builds {
    /// The older one's file.
    pub(super) file: Vec<u8>,
    /// Who that is.
    pub(super) older: ModuleId,
    /// Of that, what executes.
    pub(super) wasm: Vec<u8>,
    /// Of the new one, the same.
    pub(super) new_wasm: Arc<[u8]>,
    pub(super) old: Identity,
    pub(super) new: Identity,
    pub(super) diff: Diff,
}

impl Builds {
    /// Compares a stored build with `new`; `None` if one of them can't be read, or is too large.
    pub(super) fn of(store: &Store, old: ModuleEntry, new: &Candidate) -> Option<Self> {
        let older = old.module;
        let file = store.get(old.object).ok()?;
        let wasm = core_module(&file, new.settings.call.as_deref()).ok()?.into_owned();
        if wasm.len().max(new.bytes().len()) > COMPARED_BYTES_MAX {
            return None;
        }
        let new_wasm = new.bytes().clone();
        let (old, new) = (Identity::of(&wasm).ok()?, Identity::of(&new_wasm).ok()?);
        let diff = diff(&old, &new);
        Some(Self { file, older, wasm, new_wasm, old, new, diff })
    }

    /// The build of a target that was fuzzed last, but for `new`, beside that one.
    pub(super) fn last(store: &Store, name: &str, new: &Candidate) -> Option<Self> {
        let old = store.modules(name).ok()?.into_iter().rfind(|entry| entry.module != new.id)?;
        Self::of(store, old, new)
    }

    /// The functions that changed or are new, with the blocks of each that are others.
    pub(super) fn changed_blocks(&self, new: &Program) -> Vec<(u32, Vec<u32>)> {
        let Ok(old) = Program::of(&self.wasm) else { return Vec::new() };
        let changed = self.diff.changed.iter().filter_map(|pair| {
            let (old, cfg) = old.cfg(pair.old).zip(new.cfg(pair.new))?;
            Some((pair.new, changed_blocks((&self.wasm, old), (&self.new_wasm, cfg))))
        });
        // What is called at all is enough of a new one.
        let added = self.diff.added.iter().filter_map(|&added| Some((added, vec![new.cfg(added)?.flows()[0].to])));
        let mut all: Vec<_> = changed.chain(added).collect();
        all.sort_unstable();
        all
    }

    /// Functions that the new build has, without imported ones.
    pub(super) fn functions(&self) -> usize {
        self.diff.same.len() + self.diff.changed.len() + self.diff.added.len()
    }

    /// Those of them that are as they were.
    pub(super) fn unchanged(&self) -> usize {
        self.diff.same.len()
    }

    /// Functions of the new build that were others.
    pub(super) fn changed(&self) -> BTreeSet<u32> {
        self.diff.changed.iter().map(|pair| pair.new).collect()
    }

    /// Whether the function that is exported under a name is as it was.
    fn keeps(&self, export: &str, new_wasm: &[u8]) -> bool {
        let pair = exported(&self.wasm, export).zip(exported(new_wasm, export));
        pair.is_some_and(|(old, new)| self.diff.same.contains(&Pair { old, new }))
    }

    /// How what inputs showed on the old build is read as what they show on the new one. `None` if that can't be said
    /// without executing them: code can see something that is another thing, or what is executed before the first input
    /// is. What draws has numbers for its call sites, which are others.
    pub(super) fn carry(&self, target: &Target) -> Result<Option<Carry>> {
        let new_wasm = target.candidate.bytes();
        let is_component = target.candidate.file() != new_wasm;
        if is_component || target.candidate.against().is_some() || target.takes_choices() || self.wasm != self.file {
            return Ok(None);
        }
        let Some(pairs) = exact((&self.wasm, &self.old), (new_wasm, &self.new), &self.diff)? else { return Ok(None) };
        let (old, new) = (self.old.functions(), self.new.functions());
        // Of a function without edges nobody knows whether it was executed.
        let is_seen = |function: &FunctionIdentity| function.imported || !function.edges.is_empty();
        let same: BTreeSet<u32> = pairs.iter().map(|pair| pair.new).collect();
        let starts_the_same = target.initialisers().is_some_and(|functions| functions.is_subset(&same));
        if !starts_the_same || !old.iter().chain(new).all(is_seen) {
            return Ok(None);
        }
        let edges_total =
            |functions: &[FunctionIdentity]| functions.iter().map(|function| function.edges.end).max().unwrap_or(0);
        let mut edges = vec![None; edges_total(old) as usize];
        for Pair { old: a, new: b } in pairs {
            let (from, to) = (old[a as usize].edges.clone(), new[b as usize].edges.clone());
            if from.len() != to.len() {
                return Ok(None);
            }
            from.zip(to).for_each(|(from, to)| edges[from as usize] = Some(to));
        }
        let total = target.edges.edges.len();
        Ok((edges_total(new) as usize == total).then(|| Carry::new(edges, total as u32)))
    }
}

/// A target that a module looks like a later build of.
pub(crate) struct Older {
    /// The target's name.
    pub(crate) name: String,
    /// Functions that are as they were in the target's last build.
    pub(crate) unchanged: u64,
    /// All of the new build's.
    pub(crate) functions: u64,
}

/// The target that a module looks like a later build of: the entry is the same and as it was, and so are three
/// functions of four, and not just a few. Of several the most alike. The same module under another name is no other
/// build. Two harnesses of one library may look so, too.
pub(crate) fn older(store: &Store, new: &Candidate) -> Result<Option<Older>> {
    let mut best: Option<Older> = None;
    for name in store.target_names()? {
        // One that can't be read is no reason not to fuzz another.
        let Ok(modules) = store.modules(&name) else { continue };
        let Some(last) = modules.last().filter(|last| last.module != new.id) else { continue };
        let origin = store.origin(&name).ok().flatten();
        let entry = new.settings.entry.as_ref().or(new.settings.call.as_ref());
        if origin.is_none_or(|origin| origin.entry.as_ref() != entry) {
            continue;
        }
        let Some(builds) = Builds::of(store, *last, new) else { continue };
        let (unchanged, functions) = (builds.unchanged() as u64, builds.functions() as u64);
        let is_one = builds.keeps(new.entry.export(), new.bytes())
            && 4 * unchanged >= 3 * functions
            && unchanged >= UNCHANGED_MIN;
        if is_one && best.as_ref().is_none_or(|best| unchanged * best.functions > best.unchanged * functions) {
            best = Some(Older { name, unchanged, functions });
        }
    }
    Ok(best)
}

/// The index of the function that is exported under a name.
pub(super) fn exported(wasm: &[u8], name: &str) -> Option<u32> {
    let exports = Parser::new(0).parse_all(wasm).map_while(Result::ok).find_map(|payload| match payload {
        Payload::ExportSection(exports) => Some(exports),
        _ => None,
    })?;
    let mut exports = exports.into_iter().map_while(Result::ok);
    exports.find(|export| export.name == name && export.kind == ExternalKind::Func).map(|export| export.index)
}
