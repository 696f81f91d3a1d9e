//! The passes, one per file. How to write one is said in [`shrink`](super).

mod alternatives;
mod blob;
mod couple;
mod delete_choices;
mod delete_spans;
mod descend;
mod discarded;
mod duplicates;
mod length;
mod lower;
mod lower_together;
mod merge;
mod redistribute;
mod reencode;
mod shorten;
mod sort;
mod zero_spans;

pub(super) use descend::descents;

use super::shrinker::{Shrinker, Step};

/// A pass and its name in reports.
pub(super) type Pass = (&'static str, fn(&mut Shrinker<'_>) -> Step<()>);

/// All passes, in the order in which they run.
pub(super) fn all() -> impl Iterator<Item = &'static Pass> {
    ALL.iter().chain(blob::ALL)
}

/// Passes over choices, in the order in which they run: first what removes much at little cost.
const ALL: &[Pass] = &[
    ("length", length::run),
    ("discarded", discarded::run),
    ("descend", descend::run),
    ("delete-spans", delete_spans::run),
    ("zero-spans", zero_spans::run),
    ("duplicates", duplicates::run),
    ("lower", lower::run),
    ("delete-choices", delete_choices::run),
    ("alternatives", alternatives::run),
    ("shorten", shorten::run),
    ("sort", sort::run),
    ("merge", merge::run),
    ("redistribute", redistribute::run),
    ("lower-together", lower_together::run),
    ("couple", couple::run),
    ("reencode", reencode::run),
];
