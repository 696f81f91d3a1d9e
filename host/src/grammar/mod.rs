//! Texts by a grammar: each is the choices of its derivation.
//!
//! ```text
//! object = "{" [ member { "," member } ] "}" ;      a file       read
//!    {"a":1}   <->   1 0 'a' 3 1 0                  a text       earley
//!                                                   choices      produce, counted
//! ```
//!
//! A derivation is what a guest that draws would draw: each rule takes a choice among its alternatives, each range one
//! among its characters. So the changes that are made to what guests draw ([`Node`](crate::stream::Node)) are made to
//! texts: subtrees of one rule take each other's place, lists lose and repeat elements. What a target is given is the
//! text, and so is what is kept; which choices it stands for is found out by parsing it.
//!
//! Alternatives are in the order of their smallest derivations, so that choices which end go on with what ends. That is
//! as well how the "simplest grammar fuzzer" closes off (Zeller and others, "The Fuzzing Book").
//!
//! # Files
//!
//! `read` (the notation), `earley` (from a text to choices), `counted` (how many derivations there are, each as
//! likely), `big` (numbers without a limit).

mod big;
mod counted;
mod earley;
mod read;
#[cfg(test)]
mod tests;

pub use earley::PARSE_BYTES_MAX;

use std::fmt;

/// Choices of a text that is made; from there on the simplest are taken.
const CHOICES_MAX: usize = 1 << 16;
/// Choices, or symbols that are open, of which nothing comes any more: the rest of the text is left out.
const STEPS_MAX: usize = 1 << 20;

/// A grammar. Its first rule is what texts are of.
#[derive(Clone, Debug)]
pub struct Grammar {
    rules: Vec<Rule>,
    counts: counted::Counts,
}

/// A rule; each has a derivation that ends.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    /// As it is written; parts in brackets have none of their own.
    name: String,
    /// The one with the smallest derivation first. Those of a repetition are nothing, and its body with the rule again.
    alternatives: Vec<Vec<Symbol>>,
    repeats: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Symbol {
    /// At least one byte.
    Text(Box<[u8]>),
    /// Characters, the last one included.
    Range(char, char),
    Rule(usize),
}

impl Grammar {
    /// Reads a grammar.
    ///
    /// # Errors
    ///
    /// If it is none: what is wrong, and in which line.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let rules = read::rules(text)?;
        let counts = counted::Counts::of(&rules);
        Ok(Self { rules, counts })
    }

    /// The text of a derivation, of which `next` gives the choices: each below a number. What is longer than `len_max`
    /// is cut.
    pub fn produce(&self, len_max: usize, mut next: impl FnMut(u64) -> u64) -> Vec<u8> {
        let (mut text, mut open, mut taken) = (Vec::new(), vec![&Symbol::Rule(0)], 0);
        while let Some(symbol) = open.pop() {
            if text.len() >= len_max || taken.max(open.len()) > STEPS_MAX {
                break;
            }
            let mut choose = |count: u64| {
                taken += 1;
                // What ends goes on then.
                if taken > CHOICES_MAX { 0 } else { next(count).min(count - 1) }
            };
            match symbol {
                Symbol::Text(bytes) => text.extend_from_slice(bytes),
                Symbol::Range(first, last) => {
                    let character = character(*first, choose(size(*first, *last)));
                    text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                Symbol::Rule(rule) => {
                    let alternatives = &self.rules[*rule].alternatives;
                    open.extend(alternatives[choose(alternatives.len() as u64) as usize].iter().rev());
                }
            }
        }
        text.truncate(len_max);
        text
    }
}

/// How many characters a range has.
fn size(first: char, last: char) -> u64 {
    u64::from(place(last) - place(first)) + 1
}

/// A character's place among all that there are.
fn place(character: char) -> u32 {
    let scalar = u32::from(character);
    if scalar >= 0xe000 { scalar - 0x800 } else { scalar }
}

/// The character so many behind another, which is there.
fn character(first: char, index: u64) -> char {
    let place = place(first) + index as u32;
    char::from_u32(if place >= 0xd800 { place + 0x800 } else { place }).unwrap_or(first)
}

impl fmt::Display for Grammar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a grammar of `{}`", self.rules[0].name)
    }
}
