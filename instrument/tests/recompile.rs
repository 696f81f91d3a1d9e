//! Small edits to two programs, one in C and one in Rust, each compiled anew: `diff` names what was edited.
//!
//! A guest's folder in tests/guests/recompile has its sources, a patch per edit in edits/, and the modules in modules/,
//! `base.wasm` and one per patch. The patch begins with what `diff` has to find, a line for each function:
//!
//! ```text
//! changed: one whose source or inlined callees the edit changed; or, if it is the flags, whose code is different
//! added: one that is new, or linked for the first time
//! removed: one that is gone, or linked no more
//! renamed: old -> new name of one that is otherwise the same
//! ```
//!
//! `cargo run -p fuzzbox-tests --bin xtask -- recompile` builds the modules.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use fuzzbox_instrument::identity::{Diff, FunctionIdentity, Identity, diff};
use fuzzbox_instrument::strip_custom_sections;

/// What happened to functions, as `changed checksum`.
type Findings = BTreeSet<String>;

struct Edit {
    name: String,
    expected: Findings,
}

fn folder(guest: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/guests/recompile").join(guest)
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
            for (what, function) in header.filter(|(what, _)| !what.starts_with("flags")) {
                expected.extend([format!("{what} {function}")]);
            }
            Edit { name, expected }
        })
        .collect()
}

/// A function's name as a programmer writes it.
fn short(function: &FunctionIdentity) -> String {
    format!("{:#}", rustc_demangle::demangle(function.name.as_deref().unwrap_or_default()))
}

fn findings(old: &Identity, new: &Identity, diff: &Diff) -> Findings {
    let old_name = |index: u32| short(&old.functions()[index as usize]);
    let new_name = |index: u32| short(&new.functions()[index as usize]);
    let renamed = diff.same.iter().map(|pair| (old_name(pair.old), new_name(pair.new))).filter(|(old, new)| old != new);
    let mut findings: Findings = renamed.map(|(old, new)| format!("renamed {old} -> {new}")).collect();
    findings.extend(diff.changed.iter().map(|pair| format!("changed {}", old_name(pair.old))));
    findings.extend(diff.added.iter().map(|&index| format!("added {}", new_name(index))));
    findings.extend(diff.removed.iter().map(|&index| format!("removed {}", old_name(index))));
    findings
}

/// Compares the base with every edit, and asserts that nothing is missed and next to nothing named in vain; returns how
/// many edits were not named exactly. Without names in the modules, functions are told apart by their indices, which
/// are the same.
fn check(guest: &str, with_names: bool) -> usize {
    let modules = folder(guest).join("modules");
    let read = |name: &str| {
        let path = modules.join(name).with_extension("wasm");
        let wasm = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let named = Identity::of(&wasm).unwrap();
        let bare = (!with_names).then(|| Identity::of(&strip_custom_sections(&wasm).unwrap()).unwrap());
        (named, bare)
    };
    let (base, bare_base) = read("base");
    let edits = edits(guest);
    assert_eq!(edits.len(), 10);
    let mut inexact = 0;
    for Edit { name, expected } in edits {
        let (new, bare) = read(&name);
        let (base_seen, new_seen) = (bare_base.as_ref().unwrap_or(&base), bare.as_ref().unwrap_or(&new));
        let diff = diff(base_seen, new_seen);
        let found = findings(&base, &new, &diff);
        let few: Vec<_> = expected.difference(&found).collect();
        let many: Vec<_> = found.difference(&expected).collect();
        let fingerprint = |identity: &Identity, index: u32| identity.functions()[index as usize].fingerprint;
        let kept = diff.same.iter().filter(|p| fingerprint(base_seen, p.old) == fingerprint(new_seen, p.new)).count();
        println!("{guest} {name}: {} same, {kept} of them by fingerprint; {found:?}", diff.same.len());
        assert!(few.is_empty(), "{guest} {name}: not found: {few:?}, but {found:?}");
        assert!(many.len() <= 2, "{guest} {name}: too many: {many:?}");
        assert!(kept + 8 >= diff.same.len(), "{guest} {name}: only {kept} of {} fingerprints", diff.same.len());
        inexact += usize::from(!many.is_empty());
    }
    inexact
}

/// The one edit that is not named exactly takes a function away, and the compiler, with fewer callers of an iterator to
/// think of, inlines it into another function: that one has new code from old source.
const INEXACT_MAX: usize = 1;

#[test]
fn diff_names_what_an_edit_changed() {
    let inexact = check("c", true) + check("rust", true);
    assert!(inexact <= INEXACT_MAX, "{inexact} of 20 edits are not named exactly");
}

#[test]
fn diff_names_what_an_edit_changed_without_knowing_names() {
    let inexact = check("c", false) + check("rust", false);
    assert!(inexact <= INEXACT_MAX, "{inexact} of 20 edits are not named exactly");
}
