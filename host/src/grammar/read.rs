//! The notation of grammars: EBNF, as far as all kinds of it agree.
//!
//! ```text
//! # The first rule is the start.
//! list   = "[" ws [ item { "," ws item } ] "]" ;      brackets: perhaps; braces: again and again
//! item   = number | '"' letter* '"' | ( "a" | "b" )+ ;  as well as behind: ? * +
//! letter = "a".."z" | "\u{e9}" | "\\" "\x7f" ;           ranges of characters; bytes by their numbers
//! ```
//!
//! A rule ends with `;`, and begins with its name and `=`, `:`, `:=` or `::=`.

use super::{Rule, Symbol, place};
use crate::text::printable;
use anyhow::{Result, bail, ensure};
use std::collections::BTreeMap;

/// Symbols of a grammar, and rules, at most.
const SYMBOLS_MAX: usize = 1 << 14;
/// Brackets inside one another, at most.
const DEPTH_MAX: usize = 64;

/// Reads the rules of a grammar.
pub(super) fn rules(text: &str) -> Result<Vec<Rule>> {
    let mut reader = Reader { text, at: 0, rules: Vec::new(), lines: Vec::new(), names: BTreeMap::new(), symbols: 0 };
    reader.blank();
    while reader.at < text.len() {
        let result = reader.rule();
        result.map_err(|error| anyhow::anyhow!("line {}: {error}", reader.line()))?;
        reader.blank();
    }
    ensure!(!reader.rules.is_empty(), "there is no rule in it");
    let undefined = reader.rules.iter().zip(&reader.lines).find(|(rule, _)| rule.is_none());
    if let Some((_, (line, name))) = undefined {
        bail!("line {line}: there is no rule `{name}`");
    }
    let mut rules: Vec<_> = reader.rules.into_iter().flatten().collect();
    order(&mut rules)?;
    Ok(rules)
}

struct Reader<'a> {
    text: &'a str,
    /// Bytes that were read.
    at: usize,
    /// Those that were named and not defined are `None`.
    rules: Vec<Option<Rule>>,
    /// Where they were first named, and how.
    lines: Vec<(usize, &'a str)>,
    names: BTreeMap<&'a str, usize>,
    symbols: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn line(&self) -> usize {
        1 + self.text[..self.at].matches('\n').count()
    }

    /// Goes on behind blanks and comments.
    fn blank(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            let end = if trimmed.starts_with('#') { trimmed.find('\n').unwrap_or(trimmed.len()) } else { 0 };
            self.at += rest.len() - trimmed.len() + end;
            if end == 0 {
                return;
            }
        }
    }

    /// Goes on behind a text if it comes next.
    fn takes(&mut self, text: &str) -> bool {
        let comes = self.rest().starts_with(text);
        if comes {
            self.at += text.len();
            self.blank();
        }
        comes
    }

    fn name(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let len = rest.find(|c: char| !c.is_alphanumeric() && !"_-".contains(c)).unwrap_or(rest.len());
        let starts = rest.starts_with(|c: char| c.is_alphabetic() || c == '_');
        self.at += if starts { len } else { 0 };
        starts.then(|| &rest[..len])
    }

    /// What comes next, for an error.
    fn next(&self) -> String {
        self.rest().chars().next().map_or("the end".to_owned(), |next| format!("`{}`", printable(&next.to_string())))
    }

    fn count(&mut self, symbols: usize) -> Result<()> {
        self.symbols += symbols;
        ensure!(self.symbols <= SYMBOLS_MAX, "the grammar has more than {SYMBOLS_MAX} symbols");
        Ok(())
    }

    /// The index of a rule that is named here.
    fn named(&mut self, name: &'a str) -> usize {
        let (line, next) = (self.line(), self.rules.len());
        let index = *self.names.entry(name).or_insert(next);
        if index == next {
            self.rules.push(None);
            self.lines.push((line, name));
        }
        index
    }

    /// A rule of its own for what is in brackets.
    fn part(&mut self, alternatives: Vec<Vec<Symbol>>, repeats: bool) -> Result<Symbol> {
        self.count(1)?;
        self.rules.push(Some(Rule { name: String::new(), alternatives, repeats }));
        self.lines.push((self.line(), ""));
        Ok(Symbol::Rule(self.rules.len() - 1))
    }

    fn rule(&mut self) -> Result<()> {
        let Some(name) = self.name() else { bail!("a rule begins with its name, not with {}", self.next()) };
        let index = self.named(name);
        ensure!(self.rules[index].is_none(), "there are two rules `{name}`");
        self.blank();
        let equals = ["::=", ":=", ":", "="].into_iter().any(|text| self.takes(text));
        ensure!(equals, "behind the name of a rule comes `=`, not {}", self.next());
        let alternatives = self.alternatives(0)?;
        ensure!(self.takes(";"), "a rule ends with `;`, not with {}", self.next());
        self.rules[index] = Some(Rule { name: name.to_owned(), alternatives, repeats: false });
        Ok(())
    }

    fn alternatives(&mut self, depth: usize) -> Result<Vec<Vec<Symbol>>> {
        ensure!(depth <= DEPTH_MAX, "there are more than {DEPTH_MAX} brackets inside one another");
        let mut alternatives = vec![self.sequence(depth)?];
        while self.takes("|") {
            self.count(1)?;
            alternatives.push(self.sequence(depth)?);
        }
        Ok(alternatives)
    }

    fn sequence(&mut self, depth: usize) -> Result<Vec<Symbol>> {
        let mut symbols = Vec::new();
        while let Some(symbol) = self.symbol(depth)? {
            self.count(1)?;
            let next = [("?", 0), ("*", 1), ("+", 2)].into_iter().find(|(text, _)| self.takes(text));
            match next.map(|(_, kind)| kind) {
                None => symbols.extend(symbol),
                Some(0) => symbols.push(self.part(vec![Vec::new(), symbol], false)?),
                Some(kind) => {
                    if kind == 2 {
                        self.count(symbol.len())?;
                        symbols.extend(symbol.clone());
                    }
                    symbols.push(self.repeated(symbol)?);
                }
            }
            // ISO's EBNF has one between symbols.
            self.takes(",");
        }
        Ok(symbols)
    }

    fn repeated(&mut self, mut body: Vec<Symbol>) -> Result<Symbol> {
        body.push(Symbol::Rule(self.rules.len()));
        self.part(vec![Vec::new(), body], true)
    }

    /// What comes next in a sequence: nothing at its end, no symbol for an empty text.
    fn symbol(&mut self, depth: usize) -> Result<Option<Vec<Symbol>>> {
        for (begin, end) in [("(", ")"), ("[", "]"), ("{", "}")] {
            if !self.takes(begin) {
                continue;
            }
            let mut alternatives = self.alternatives(depth + 1)?;
            ensure!(self.takes(end), "`{begin}` is closed by `{end}`, not by {}", self.next());
            let symbol = match begin {
                "{" => {
                    let body = self.part(alternatives, false)?;
                    self.repeated(vec![body])?
                }
                "[" => {
                    alternatives.push(Vec::new());
                    self.part(alternatives, false)?
                }
                _ => self.part(alternatives, false)?,
            };
            return Ok(Some(vec![symbol]));
        }
        if self.rest().starts_with(['"', '\'']) {
            let first = self.quoted()?;
            self.blank();
            if !self.takes("..") {
                return Ok(Some(if first.is_empty() { Vec::new() } else { vec![Symbol::Text(first.into())] }));
            }
            ensure!(self.rest().starts_with(['"', '\'']), "a range ends with a character, not with {}", self.next());
            let last = self.quoted()?;
            self.blank();
            let one = |bytes: &[u8]| {
                let mut characters = std::str::from_utf8(bytes).ok()?.chars();
                characters.next().filter(|_| characters.next().is_none())
            };
            let Some((first, last)) = one(&first).zip(one(&last)) else { bail!("a range is of single characters") };
            ensure!(place(first) <= place(last), "a range ends with what it begins with, or a later character");
            return Ok(Some(vec![Symbol::Range(first, last)]));
        }
        let Some(name) = self.name() else { return Ok(None) };
        let index = self.named(name);
        self.blank();
        Ok(Some(vec![Symbol::Rule(index)]))
    }

    /// A text in quotes.
    fn quoted(&mut self) -> Result<Vec<u8>> {
        let (mut bytes, rest) = (Vec::new(), self.rest());
        let mut characters = rest.char_indices();
        let quote = characters.next().map(|(_, quote)| quote);
        while let Some((at, character)) = characters.next() {
            match character {
                _ if Some(character) == quote => {
                    self.at += at + 1;
                    return Ok(bytes);
                }
                '\n' => break,
                '\\' => {
                    let escaped = characters.next().map(|(_, escaped)| escaped);
                    let mut digits = |len: usize| -> Option<u32> {
                        let digits: String = characters.by_ref().take(len).map(|(_, digit)| digit).collect();
                        u32::from_str_radix(&digits, 16).ok()
                    };
                    let character = match escaped {
                        Some('n') => Some('\n'),
                        Some('r') => Some('\r'),
                        Some('t') => Some('\t'),
                        Some('x') => {
                            let Some(byte) = digits(2) else { bail!("`\\x` is followed by two digits") };
                            bytes.push(byte as u8);
                            continue;
                        }
                        Some('u') if characters.next().is_some_and(|(_, open)| open == '{') => {
                            let digits = characters.by_ref().map(|(_, digit)| digit).take_while(|&digit| digit != '}');
                            let digits: String = digits.take(8).collect();
                            u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32)
                        }
                        Some(other) if "\\\"'".contains(other) => Some(other),
                        _ => None,
                    };
                    let Some(character) = character else { bail!("there is no such escape in a text") };
                    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                character => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        bail!("a text is not closed in its line")
    }
}

/// Puts the alternatives of each rule in the order of their smallest derivations, of which those that are as small keep
/// theirs.
fn order(rules: &mut [Rule]) -> Result<()> {
    let mut least: Vec<Option<u64>> = vec![None; rules.len()];
    let of = |alternative: &[Symbol], least: &[Option<u64>]| {
        let sizes = alternative.iter().map(|symbol| match symbol {
            Symbol::Text(_) => Some(0),
            Symbol::Range(..) => Some(1),
            Symbol::Rule(rule) => least[*rule],
        });
        sizes.sum::<Option<u64>>().map(|sum| sum.saturating_add(1).min(u64::MAX >> 20))
    };
    loop {
        let before = least.clone();
        for (rule, its) in rules.iter().enumerate() {
            let smallest = its.alternatives.iter().filter_map(|alternative| of(alternative, &least)).min();
            least[rule] = smallest.or(least[rule]);
        }
        if least == before {
            break;
        }
    }
    if let Some(endless) = rules.iter().zip(&least).find(|(rule, least)| least.is_none() && !rule.name.is_empty()) {
        bail!("nothing that `{}` stands for has an end", endless.0.name);
    }
    for rule in rules {
        rule.alternatives.sort_by_key(|alternative| of(alternative, &least).unwrap_or(u64::MAX));
    }
    Ok(())
}
