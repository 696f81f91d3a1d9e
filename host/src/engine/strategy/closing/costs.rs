//! How much is drawn from a call site on until an execution ends.
//!
//! Each execution that ended well says it for all of its draws: where one took an index at some site, so many draws
//! were left, that one included. The fewest ever seen are an upper bound of what the site's alternative needs, exact
//! for the last draw. Taking the alternative with the fewest is sound for guests that draw as a context-free grammar
//! derives, with a site for each nonterminal: what an alternative leads to was drawn behind it in the same execution,
//! so all of it has a smaller bound, and a derivation along falling bounds ends. (Knuth, "A generalization of
//! Dijkstra's algorithm", IPL 1977, finds the smallest derivations in that order.)
//!
//! A site that several nonterminals share, since all choices go through one function of the guest, has only one index
//! for all of them, which may end none.

use crate::stream::closing::CLOSING_INDEX_MAX;
use crate::stream::{Choice, Closing, Draw, DrawKind};
use fuzzbox_instrument::layout::stream as layout;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known of call sites with few alternatives.
#[derive(Clone, Debug, Default)]
pub(super) struct Costs(BTreeMap<u32, Site>);

/// What is known of one.
#[derive(Clone, Debug, Default)]
pub(super) struct Site {
    /// By index: the fewest draws from one that took it to the end of an execution; `None` if none ended.
    fewest: Vec<Option<u32>>,
    /// The largest index that was possible.
    max: u64,
    /// The stream of the execution in which the fewest draws of all followed, and where in it the site drew.
    shown: Option<(Arc<[Choice]>, usize)>,
}

/// Whether the site of a draw can close with one of several indices.
pub(super) fn can_close(draw: &Draw) -> bool {
    let kinds = [DrawKind::Int, DrawKind::Uint, DrawKind::Bool, DrawKind::Choice, DrawKind::More];
    let has_number = (1..layout::CLOSINGS_MAX).contains(&draw.site);
    has_number && kinds.contains(&draw.kind) && (1..=CLOSING_INDEX_MAX).contains(&draw.max)
}

impl Costs {
    /// Notes an execution that ended well: what it drew, and what that took.
    pub(super) fn note(&mut self, draws: &[Draw], choices: &[Choice]) {
        let mut stream: Option<Arc<[Choice]>> = None;
        for (at, (draw, choice)) in draws.iter().zip(choices).enumerate() {
            let Some(index) = choice.index().filter(|&index| can_close(draw) && index <= draw.max) else { continue };
            let site = self.0.entry(draw.site).or_default();
            site.max = site.max.max(draw.max);
            let behind = u32::try_from(draws.len() - at).unwrap_or(u32::MAX);
            if site.least().is_none_or(|least| behind < least) {
                let stream = stream.get_or_insert_with(|| choices.into());
                site.shown = Some((stream.clone(), at));
            }
            let place = index as usize;
            if place >= site.fewest.len() {
                site.fewest.resize(place + 1, None);
            }
            site.fewest[place] = Some(site.fewest[place].map_or(behind, |before| before.min(behind)));
        }
    }

    /// What is known of a site, if it was seen in an execution that ended.
    pub(super) fn site(&self, site: u32) -> Option<&Site> {
        self.0.get(&site)
    }

    /// The table that ends soonest as far as is known, with other indices than 0 for some sites only.
    pub(super) fn closing(&self, sites: impl Iterator<Item = u32>) -> Closing {
        let mut closing = Closing::default();
        for number in sites {
            closing.set(number, self.site(number).map_or(0, Site::best));
        }
        closing
    }
}

impl Site {
    fn least(&self) -> Option<u32> {
        self.fewest.iter().flatten().min().copied()
    }

    /// The index that ended soonest, the first of those.
    fn best(&self) -> u64 {
        let known = (0..).zip(&self.fewest).filter_map(|(index, fewest)| fewest.map(|fewest| (fewest, index)));
        known.min().map_or(0, |(_, index)| index)
    }

    /// The largest index that was possible.
    pub(super) fn max(&self) -> u64 {
        self.max
    }

    /// The choices before a draw at the site after which little was left.
    pub(super) fn before(&self) -> &[Choice] {
        self.shown.as_ref().map_or(&[], |(stream, at)| &stream[..*at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::sample::tests::alternative;

    fn noted(executions: &[&[(u32, u64)]]) -> Costs {
        let mut costs = Costs::default();
        for execution in executions {
            let (draws, choices): (Vec<_>, Vec<_>) =
                execution.iter().map(|&(site, index)| (alternative(site, 3), Choice::Index(index))).unzip();
            costs.note(&draws, &choices);
        }
        costs
    }

    #[test]
    fn the_alternative_ends_a_site_after_which_the_fewest_draws_were_left() {
        // At site 1, index 2 is a leaf; at site 2 index 3 leads to it.
        let costs = noted(&[&[(1, 0), (1, 2), (1, 2)], &[(2, 3), (1, 2)], &[(2, 0), (2, 3), (1, 2)]]);
        assert_eq!(costs.closing([1, 2, 3].into_iter()).bytes(), [0, 2, 3]);
        assert_eq!(costs.closing([2].into_iter()).bytes(), [0, 0, 3]);
        let before: Vec<_> = costs.site(1).unwrap().before().iter().map(|choice| choice.index().unwrap()).collect();
        assert_eq!(before, [0, 2]);
    }

    #[test]
    fn of_alternatives_that_are_as_good_the_first_is_taken() {
        assert!(noted(&[&[(1, 1)], &[(1, 0)]]).closing([1].into_iter()).is_zero());
    }

    #[test]
    fn what_has_many_values_is_no_alternative() {
        let mut costs = Costs::default();
        costs.note(&[alternative(1, 16), alternative(0, 1)], &[Choice::Index(1), Choice::Index(1)]);
        assert!(costs.site(1).is_none() && costs.site(0).is_none());
    }
}
