//! Small edits to two programs, one in C and one in Rust, each compiled anew: `diff` names what was edited.
//!
//! A guest's folder in tests/guests/recompile has its sources, a patch per edit in edits/, and the modules in modules/,
//! `base.wasm` and one per patch. The patch begins with what `diff` has to find:
//!
//! ```text
//! changed: functions whose source or inlined callees the edit changed
//! added: functions that are new
//! removed: functions that are gone
//! renamed: old and new name of one that is otherwise the same
//! ```
//!
//! `cargo run -p fuzzbox-tests --bin xtask -- recompile` builds the modules.

use std::collections::{BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use fuzzbox_instrument::identity::{Diff, FunctionIdentity, Identity, diff};

/// What happened to functions, as `changed checksum`.
type Findings = BTreeSet<String>;

struct Edit {
    name: String,
    expected: Findings,
    module: PathBuf,
}

fn folder(guest: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/guests/recompile").join(guest)
}

fn identity(module: &Path) -> Identity {
    Identity::of(&fs::read(module).unwrap_or_else(|error| panic!("{}: {error}", module.display()))).unwrap()
}

fn edits(guest: &str) -> Vec<Edit> {
    let folder = folder(guest);
    let patches = fs::read_dir(folder.join("edits")).unwrap().map(|entry| entry.unwrap().path());
    let mut patches: Vec<_> = patches.collect();
    patches.sort();
    patches
        .into_iter()
        .map(|patch| {
            let name = patch.file_stem().unwrap().to_str().unwrap().to_owned();
            let text = fs::read_to_string(&patch).unwrap();
            let header = text.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.split_once(": "));
            let mut expected = Findings::new();
            for (what, functions) in header.filter(|(what, _)| !what.starts_with("flags")) {
                match what {
                    "renamed" => expected.extend([format!("renamed {functions}")]),
                    _ => expected.extend(functions.split(' ').map(|function| format!("{what} {function}"))),
                }
            }
            Edit { module: folder.join("modules").join(&name).with_extension("wasm"), name, expected }
        })
        .collect()
}

/// A function's name without Rust's hash; the path's segments joined.
fn short(function: &FunctionIdentity) -> String {
    let name = function.name.clone().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix("_ZN") else { return name };
    let mut segments = Vec::new();
    while let Some(end) = rest.find(|c: char| !c.is_ascii_digit()).filter(|&end| end > 0) {
        let (segment, after) = rest[end..].split_at(rest[..end].parse().unwrap());
        segments.push(segment);
        rest = after;
    }
    segments.pop();
    segments.join("::")
}

fn findings(old: &Identity, new: &Identity, diff: &Diff) -> Findings {
    let old_name = |index: u32| short(&old.functions()[index as usize]);
    let new_name = |index: u32| short(&new.functions()[index as usize]);
    let renamed = diff.same.iter().map(|pair| (old_name(pair.old), new_name(pair.new))).filter(|(old, new)| old != new);
    let mut findings: Findings = renamed.map(|(old, new)| format!("renamed {old} {new}")).collect();
    findings.extend(diff.changed.iter().map(|pair| format!("changed {}", old_name(pair.old))));
    findings.extend(diff.added.iter().map(|&index| format!("added {}", new_name(index))));
    findings.extend(diff.removed.iter().map(|&index| format!("removed {}", old_name(index))));
    findings
}

/// Compares the base with every edit; returns how many edits were not named exactly.
fn check(guest: &str) -> usize {
    let base = identity(&folder(guest).join("modules/base.wasm"));
    let edits = edits(guest);
    assert_eq!(edits.len(), 10);
    let mut inexact = 0;
    for Edit { name, expected, module } in edits {
        let new = identity(&module);
        let diff = diff(&base, &new);
        let found = findings(&base, &new, &diff);
        let few: Vec<_> = expected.difference(&found).collect();
        let many: Vec<_> = found.difference(&expected).collect();
        let kept = diff.same.iter().filter(|pair| {
            base.functions()[pair.old as usize].fingerprint == new.functions()[pair.new as usize].fingerprint
        });
        println!("{guest} {name}: {} same, {} by fingerprint; {found:?}", diff.same.len(), kept.count());
        assert!(few.is_empty(), "{guest} {name}: not found: {few:?}, but {found:?}");
        assert!(many.len() <= 2, "{guest} {name}: too many: {many:?}");
        inexact += usize::from(!many.is_empty());
    }
    inexact
}

#[test]
fn diff_names_what_an_edit_changed() {
    let inexact = check("c");
    assert_eq!(inexact, 0);
}
