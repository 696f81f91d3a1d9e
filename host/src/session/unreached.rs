//! Functions that a campaign did not reach.

use super::setup::Session;
use crate::engine::Campaign;
use crate::outcome::Frame;
use crate::symbols::{Source, is_library};
use fuzzbox_instrument::recipe;
use std::collections::BTreeMap;

/// Functions of which nothing was reached that the final table names.
const NOT_REACHED_MAX: usize = 5;
/// Functions whose file is looked up for that.
const LOOKED_UP_MAX: usize = 200;

/// The user's functions with the most edges of which none was reached, and how many there are without a name.
pub(super) fn unreached(session: &Session<'_>, campaign: &Campaign) -> (Vec<String>, u64) {
    let mut edges: BTreeMap<u32, (usize, bool)> = BTreeMap::new();
    for (index, edge) in (0..).zip(&session.target.edges.edges) {
        let (count, reached) = edges.entry(edge.function).or_default();
        *count += 1;
        *reached |= campaign.has_reached(index);
    }
    let mut unreached: Vec<_> = edges
        .into_iter()
        .filter(|(function, (_, reached))| !reached && !session.target.is_initialiser(*function))
        .map(|(function, (count, _))| (count, function))
        .collect();
    unreached.sort_by_key(|&(count, function)| (std::cmp::Reverse(count), function));
    let has_name = |function| session.target.edges.function_name(function).is_some();
    let (named, nameless): (Vec<_>, Vec<_>) = unreached.into_iter().partition(|&(_, function)| has_name(function));
    // What a call recipe was made to is nobody's code, nor is what would start a program that is a harness.
    let is_added = |name: &str| [recipe::EXPORT, recipe::GROWTH, "__main_void"].contains(&name);
    let by_name = |&function: &u32| {
        let name = session.symbols.name(function);
        !is_library(&name, None) && !is_added(&name)
    };
    let named: Vec<_> = named.into_iter().map(|(_, function)| function).filter(by_name).take(LOOKED_UP_MAX).collect();
    // Files say more than names. They are looked up together, because that takes as long as for one.
    let edges = &session.target.edges.edges;
    let first = |&function: &u32| {
        let offset = edges.get(edges.partition_point(|edge| edge.function < function)).map_or(0, |edge| edge.offset);
        Frame { function, offset }
    };
    let sources = session.symbols.sources(&named.iter().map(first).collect::<Vec<_>>());
    let is_own = |source: &Option<Source>| source.as_ref().is_none_or(|source| !is_library("", Some(&source.file)));
    let own = named.iter().zip(&sources).filter(|(_, source)| is_own(source)).take(NOT_REACHED_MAX);
    (own.map(|(&function, _)| session.symbols.name(function).into_owned()).collect(), nameless.len() as u64)
}
