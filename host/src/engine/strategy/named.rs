//! The strategies that have a name, by which `--strategy` asks for them.
//!
//! ```text
//! mcmc:hastings+anneal+restarts
//! |    |        |      another overlay
//! |    |        an overlay: it changes what the strategy does, whichever that is
//! |    an option of the strategy
//! the strategy
//! ```

use super::anneal::Anneal;
use super::approach::Approach;
use super::blank::Make;
use super::bytes::Bytes;
use super::directed::Directed;
use super::enumerate::Enumerate;
use super::exemplar::Exemplar;
use super::generations::Generations;
use super::havoc::Havoc;
use super::literal::Literal;
use super::mcmc::Mcmc;
use super::member::Member;
use super::pqcorpus::Pqcorpus;
use super::qcorpus::Qcorpus;
use super::quickcheck::Quickcheck;
use super::restarts::Restarts;
use super::swarm::Swarm;
use super::tree::Tree;
use super::tree::counted::Mode;
use super::visits::Visits;
use super::walkers::Walkers;
use anyhow::{Result, bail, ensure};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A strategy that has a name.
struct Entry {
    name: &'static str,
    /// What it does, in a line.
    help: &'static str,
    /// Words that may follow its name, each behind a colon.
    options: &'static [&'static str],
    /// Whether it knows only choices that guests draw, no bytes.
    draws: bool,
    /// Makes it, with the options that were given.
    make: fn(&[String]) -> Box<dyn Member>,
}

/// All of them.
const METHODS: &[Entry] = &[
    Entry {
        name: "auto",
        help: "as `fuzz`, and what draws is searched by others, too, by what they bring [default]",
        options: &[],
        draws: false,
        make: |_| Box::new(Havoc),
    },
    Entry {
        name: "fuzz",
        help: "mutants of testcases, and all that helps: comparisons, scores, shorter testcases",
        options: &[],
        draws: false,
        make: |_| Box::new(Havoc),
    },
    Entry {
        name: "quickcheck",
        help: "random inputs, each made afresh (Claessen and Hughes)",
        options: Quickcheck::OPTIONS,
        draws: false,
        make: |options| Box::new(Quickcheck::new(options)),
    },
    Entry {
        name: "enumerate",
        help: "all inputs, the small ones first (SmallCheck)",
        options: &[],
        draws: false,
        make: |_| Box::new(Enumerate::default()),
    },
    Entry {
        name: "walkers",
        help: "random walks that leave small inputs behind, whatever they show (Crowbar)",
        options: &[],
        draws: false,
        make: |_| Box::new(Walkers::default()),
    },
    Entry {
        name: "fuzz-literal",
        help: "each input that showed something new has three mutants, and is forgotten (Crowbar)",
        options: &[],
        draws: false,
        make: |_| Box::new(Literal::default()),
    },
    Entry {
        name: "bytes",
        help: "mutants of testcases as plain bytes, even of what is drawn (AFL)",
        options: &[],
        draws: false,
        make: |_| Box::new(Bytes),
    },
    Entry {
        name: "tree",
        help: "each input that a guest can draw is as likely; with `explore` none twice",
        options: Tree::OPTIONS,
        draws: true,
        make: |options| Box::new(Tree::with(options)),
    },
    Entry {
        name: "novelty",
        help: "random draws, but none twice (Hypothesis)",
        options: &[],
        draws: true,
        make: |_| Box::new(Tree::new(Mode::Novelty)),
    },
    Entry {
        name: "mcmc",
        help: "a random walk that stays where things are rare (Crowbar; Metropolis and Hastings)",
        options: Mcmc::OPTIONS,
        draws: false,
        make: |options| Box::new(Mcmc::new(options)),
    },
    Entry {
        name: "corpus",
        help: "generations of a thousand, of which rare inputs have more children (Crowbar)",
        options: &[],
        draws: false,
        make: |_| Box::new(Generations::default()),
    },
    Entry {
        name: "qcorpus",
        help: "a queue in which rare inputs have more children and come again (Crowbar)",
        options: &[],
        draws: false,
        make: |_| Box::new(Qcorpus::default()),
    },
    Entry {
        name: "pqcorpus",
        help: "inputs by their rarest features, the rarest first (Crowbar)",
        options: &[],
        draws: false,
        make: |_| Box::new(Pqcorpus::default()),
    },
    Entry {
        name: "exemplar",
        help: "one input for each state of the guest, and random ways on (MacIver)",
        options: Exemplar::OPTIONS,
        draws: true,
        make: |options| Box::new(Exemplar::new(options)),
    },
    Entry {
        name: "directed",
        help: "mutants of what is near to --goal, the nearer the colder (AFLGo)",
        options: &[],
        draws: false,
        make: |_| Box::new(Directed),
    },
    Entry {
        name: "approach",
        help: "the inputs that lack the fewest branches to --goal, made better step by step (Korel; Wegener)",
        options: &[],
        draws: false,
        make: |_| Box::new(Approach::default()),
    },
];

/// What can be put on any of them.
struct Overlay {
    name: &'static str,
    help: &'static str,
    options: &'static [&'static str],
    /// Whether it does nothing but for guests that draw.
    draws: bool,
    /// Puts it on the strategy that `Make` makes.
    put: fn(&[String], Make) -> Box<dyn Member>,
}

/// All of these, in the order in which they are put on.
const OVERLAYS: &[Overlay] = &[
    Overlay {
        name: "swarm",
        help: "some of the features that a guest asks for first are off, others each time (Groce)",
        options: Swarm::OPTIONS,
        draws: true,
        put: |options, make| Box::new(Swarm::new(options, make())),
    },
    Overlay {
        name: "anneal",
        help: "mutants take large steps at first, and ever smaller ones while nothing new is reached",
        options: &[],
        draws: false,
        put: |_, make| Box::new(Anneal::new(make())),
    },
    Overlay {
        name: "restarts",
        help: "half of all executions are another search that begins again now and then (Luby)",
        options: &[],
        draws: false,
        put: |_, make| Box::new(Restarts::new(make)),
    },
];

/// Those that execute beside what helps, and the one that has visitors.
const TOGETHER: [&str; 2] = [AUTO, "fuzz"];
const AUTO: &str = "auto";

/// Who visits `auto`: one looks for what is rare, one rolls dice, and one leaves out features.
const VISITORS: [&str; 3] = ["pqcorpus", "quickcheck", "fuzz+swarm"];

/// What can't do without goals.
const GOAL_NAMES: [&str; 2] = ["directed", "approach"];

/// A name with its options.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    name: &'static str,
    options: Vec<String>,
}

/// What makes a campaign's inputs: a strategy's name, and its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    method: Part,
    /// In the order of the table.
    overlays: Vec<Part>,
}

impl Default for Search {
    fn default() -> Self {
        Self { method: Part { name: METHODS[0].name, options: Vec::new() }, overlays: Vec::new() }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        self.options.iter().try_for_each(|option| write!(f, ":{option}"))
    }
}

impl fmt::Display for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.method)?;
        self.overlays.iter().try_for_each(|overlay| write!(f, "+{overlay}"))
    }
}

impl FromStr for Search {
    type Err = anyhow::Error;

    /// # Errors
    ///
    /// If there is no such strategy or option; the error has those that there are.
    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.split('+');
        let mut words = parts.next().expect("there is a first part").split(':');
        let name = words.next().expect("there is a first part");
        let Some(entry) = METHODS.iter().find(|entry| entry.name == name) else {
            let names: Vec<_> = METHODS.iter().map(|entry| entry.name).collect();
            bail!("there is no strategy `{name}`, but {}", names.join(", "));
        };
        let method = part(entry.name, entry.options, words)?;
        let mut overlays = BTreeMap::new();
        for text in parts {
            let mut words = text.split(':');
            let name = words.next().expect("there is a first part");
            let Some(place) = OVERLAYS.iter().position(|overlay| overlay.name == name) else {
                let names: Vec<_> = OVERLAYS.iter().map(|overlay| overlay.name).collect();
                bail!("nothing that can be put on a strategy is called `{name}`, but {}", names.join(", "));
            };
            let overlay = part(OVERLAYS[place].name, OVERLAYS[place].options, words)?;
            ensure!(overlays.insert(place, overlay).is_none(), "`{name}` is there twice");
        }
        Ok(Self { method, overlays: overlays.into_values().collect() })
    }
}

/// A name with the options that follow it, of those that it may have.
fn part<'a>(name: &'static str, known: &[&str], words: impl Iterator<Item = &'a str>) -> Result<Part> {
    let mut options: Vec<String> = Vec::new();
    for word in words {
        ensure!(!known.is_empty(), "`{name}` has no options, but was given `{word}`");
        ensure!(known.contains(&word), "`{name}` has no option `{word}`, but {}", known.join(", "));
        ensure!(!options.iter().any(|option| option == word), "`{name}` was given `{word}` twice");
        options.push(word.to_owned());
    }
    // One name for each of them.
    options.sort();
    Ok(Part { name, options })
}

impl Search {
    /// What `--strategy` can be, a line for each.
    pub fn help() -> String {
        let line = |prefix, name, options: &[&str], help| {
            let options = options.iter().map(|option| format!("[:{option}]"));
            format!("  {prefix}{name}{}: {help}\n", options.collect::<String>())
        };
        let methods = METHODS.iter().map(|entry| line("", entry.name, entry.options, entry.help));
        let overlays = OVERLAYS.iter().map(|overlay| line("+", overlay.name, overlay.options, overlay.help));
        methods.chain(overlays).collect()
    }

    /// Whether it is what executes if nobody asks for anything.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it searches for nothing but goals.
    pub fn needs_goals(&self) -> bool {
        GOAL_NAMES.contains(&self.method.name)
    }

    /// Fails if a guest can't be searched by it.
    ///
    /// # Errors
    ///
    /// If it knows only choices, and the guest takes bytes (`takes_choices` is false).
    pub fn check(&self, takes_choices: bool) -> Result<()> {
        let overlay =
            self.overlays.iter().find(|overlay| OVERLAYS.iter().any(|known| known.draws && known.name == overlay.name));
        let part = overlay.or_else(|| self.entry().draws.then_some(&self.method)).filter(|_| !takes_choices);
        if let Some(part) = part {
            bail!("strategy `{part}` is for targets that draw (`fuzzbox_v1`), this one takes bytes");
        }
        Ok(())
    }

    fn entry(&self) -> &'static Entry {
        METHODS.iter().find(|entry| entry.name == self.method.name).expect("its name is in the table")
    }

    /// The strategy itself, which knows nothing yet.
    pub(in crate::engine) fn method(&self) -> Method {
        Method { member: self.make()(), alone: !TOGETHER.contains(&self.method.name) }
    }

    /// Others that have a part of its executions.
    pub(in crate::engine) fn visits(&self) -> Visits {
        let visitors = if self.method.name == AUTO { &VISITORS[..] } else { &[] };
        Visits::of(visitors.iter().map(|name| name.parse::<Self>().expect("there is such a strategy").make()))
    }

    fn make(&self) -> Make {
        let (entry, options) = (self.entry(), self.method.options.clone());
        let mut make: Make = Arc::new(move || (entry.make)(&options));
        for Part { name, options } in self.overlays.clone() {
            let overlay = OVERLAYS.iter().find(|overlay| overlay.name == name).expect("its name is in the table");
            make = Arc::new(move || (overlay.put)(&options, make.clone()));
        }
        make
    }
}

/// The strategy that a campaign was asked for.
#[derive(Debug)]
pub(in crate::engine) struct Method {
    member: Box<dyn Member>,
    alone: bool,
}

impl Default for Method {
    fn default() -> Self {
        Search::default().method()
    }
}

impl Method {
    /// Whether no other strategy executes anything beside it.
    pub(in crate::engine) fn is_alone(&self) -> bool {
        self.alone
    }
}

impl Member for Method {
    fn inner(&self) -> &dyn Member {
        &*self.member
    }

    fn inner_mut(&mut self) -> &mut dyn Member {
        &mut *self.member
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written_and_unknown_ones_told_with_those_that_there_are() {
        for name in ["auto", "fuzz", "quickcheck", "tree:explore", "mcmc:bayes:hype+restarts", "fuzz+anneal+restarts"] {
            assert_eq!(name.parse::<Search>().unwrap().to_string(), name);
        }
        assert_eq!(
            "mcmc:hype:bayes+restarts+anneal".parse::<Search>().unwrap().to_string(),
            "mcmc:bayes:hype+anneal+restarts"
        );
        assert!("auto".parse::<Search>().unwrap().is_default());
        let error = |text: &str| text.parse::<Search>().unwrap_err().to_string();
        assert!(
            error("magic").starts_with("there is no strategy `magic`, but auto, fuzz, quickcheck"),
            "{}",
            error("magic")
        );
        assert_eq!(error("fuzz:fast"), "`fuzz` has no options, but was given `fast`");
        assert!(error("fuzz+magic").contains("but swarm, anneal, restarts"));
        assert_eq!(error("fuzz+anneal+anneal"), "`anneal` is there twice");
        assert!(METHODS.iter().all(|entry| !entry.help.contains('\n')));
    }
}
