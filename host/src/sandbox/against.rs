//! Two builds as an oracle: what one does otherwise than the other with the same input is a failure of its own kind.
//!
//! The other build has an executor of its own in the target's, which executes each input after it. How an execution
//! ends is compared, then what it wrote, returned and told; the first that differs is the failure. Which bytes and
//! numbers differ is the input's matter, so differences are the same that are of one *class*:
//!
//! | what differs | classes |
//! | --- | --- |
//! | how it ends | `outcome: ok -> rejected`, and `exit 1`, or the failure with its place |
//! | what is written or told | `stdout: digit -> nothing`, what the two have where they differ |
//! | what is returned | `return: 0 -> positive` |
//!
//! What both end with is left out first, so what is only inserted or removed is `nothing` in one of them.
//!
//! If both fail it is the target's own failure. So it is if the target runs into a limit; if only the other one does,
//! or memory was refused to one of them, nothing is compared: builds need different amounts of what is limited.

use crate::outcome::Outcome;
use crate::said::Message;
use crate::sandbox::executor::{AgainstExecutor, Executor, Way};
use crate::sandbox::hash;
use crate::sandbox::targets::against::is_at_limit;
use crate::settings::Observable;
use crate::stream::{Rule, encode};
use anyhow::Result;
use fuzzbox_instrument::layout::stream::{ENTRY_NOTE, ENTRY_VALUE};
use std::borrow::Cow;
use std::num::NonZeroU64;
use std::sync::Arc;

/// Failures of the other build whose names are remembered.
const SIGNATURES_MAX: usize = 256;
/// Bytes before a difference that are shown, and all.
const BEFORE_BYTES: usize = 24;
const SHOWN_BYTES: usize = 72;

/// How an execution ended, as far as builds are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// With this exit code; 0 for what returned.
    Passed(u32),
    Rejected,
    Failed,
}

impl Ending {
    /// `None` if nothing can be said.
    fn of(outcome: &Outcome, exit_code: Option<u32>) -> Option<Self> {
        match outcome {
            Outcome::Ok => Some(Self::Passed(exit_code.unwrap_or(0))),
            Outcome::Rejected => Some(Self::Rejected),
            Outcome::Failed(..) => Some(Self::Failed),
            Outcome::Overrun | Outcome::Interrupted => None,
        }
    }
}

impl Executor {
    /// What the target's execution of an input means beside that of the other build, which is executed now.
    pub(super) fn compared(&mut self, input: &[u8], way: Way, own: Outcome) -> Result<Outcome> {
        let Some(mut against) = self.against.take() else { return Ok(own) };
        (against.other, against.difference) = (None, None);
        against.own.clone_from(&own);
        let outcome = self.compared_with(&mut against, input, way, own);
        self.against = Some(against);
        outcome
    }

    fn compared_with(
        &mut self,
        against: &mut AgainstExecutor,
        input: &[u8],
        way: Way,
        own: Outcome,
    ) -> Result<Outcome> {
        let limits = self.target().compares(Observable::Limits);
        // Whether less fuel than the settings say is too little is found out first.
        let is_suspect = own.is_hang() && self.fuel_max < self.target().candidate.settings.fuel_max;
        let is_final = is_at_limit(&own) && (!limits || is_suspect);
        if way == Way::Unrestored || is_final || matches!(own, Outcome::Overrun | Outcome::Interrupted) {
            return Ok(own);
        }
        let other = if self.target().takes_choices() {
            // What was drawn, and not what was given: what is kept draws the same once more.
            let stream = encode(&self.observation().draws().canonical().choices);
            if stream.len() > self.target().candidate.settings.input_bytes_max as usize {
                return Ok(own);
            }
            against.executor.execute_alone(&stream, &Rule::default(), way)?
        } else {
            against.executor.execute_alone(input, &Rule::default(), way)?
        };
        against.other = Some(other.clone());
        if other == Outcome::Interrupted {
            return Ok(other);
        }
        let refused = |executor: &Self| executor.observation().memory_refused();
        let is_limited = is_at_limit(&other) || refused(self) || refused(&against.executor);
        if is_limited && !limits {
            return Ok(own);
        }
        against.difference = self.find(against, (&own, &other));
        Ok(match &against.difference {
            Some((_, class)) => own.differing(class.clone()),
            None => own,
        })
    }

    /// The first that differs, and its class.
    fn find(
        &self,
        against: &mut AgainstExecutor,
        (own, other): (&Outcome, &Outcome),
    ) -> Option<(Observable, Arc<str>)> {
        let ending = |outcome: &Outcome, executor: &Self| Ending::of(outcome, executor.observation().exit_code());
        let (new, old) = (ending(own, self)?, ending(other, &against.executor)?);
        if new != old {
            let is_limit = is_at_limit(own) || is_at_limit(other);
            let observable = if is_limit { Observable::Limits } else { Observable::Outcome };
            if self.target().compares(observable) {
                let (old, new) = (self.other_in_words(against, old), in_words(own, new));
                return Some(difference(observable, &old, &new));
            }
        }
        if new == Ending::Failed || old == Ending::Failed {
            return None;
        }
        [Observable::Stdout, Observable::Stderr, Observable::Return, Observable::Value].into_iter().find_map(|each| {
            let class = |(old, new): (&str, &str)| difference(each, old, new);
            let (old, new) = (&against.executor, self);
            if !self.target().compares(each) {
                return None;
            }
            if each != Observable::Return {
                return differing_text(&shown(old, each), &shown(new, each)).map(class);
            }
            let mut pairs = old.instance.returned().numbers().zip(new.instance.returned().numbers());
            let ((_, old), (_, new)) = pairs.find(|((old, _), (new, _))| old != new)?;
            Some(class((old, new)))
        })
    }

    /// How the other build ended; a failure by its name.
    fn other_in_words(&self, against: &mut AgainstExecutor, ending: Ending) -> String {
        let AgainstExecutor { other, signatures, .. } = against;
        let (Some(outcome), Some(builds)) = (other.as_ref(), &self.target().against) else { return String::new() };
        // Only the variant that decides knows the place.
        if ending != Ending::Failed || !builds.target.has_fuel() {
            return in_words(outcome, ending);
        }
        if let Some(known) = signatures.get(outcome) {
            return known.to_string();
        }
        let signature = builds.signature(outcome);
        if signatures.len() < SIGNATURES_MAX {
            signatures.insert(outcome.clone(), signature.as_str().into());
        }
        signature
    }

    /// A number that tells a difference from those of other classes, and from others of failures at other places.
    pub(super) fn difference_key(&self, class: &str) -> Option<NonZeroU64> {
        let against = self.against.as_ref()?;
        let key = |executor: &Self| executor.instance.stack_key().map_or(0, NonZeroU64::get);
        let keys = [key(self), key(&against.executor)].into_iter();
        NonZeroU64::new(hash::of(1, keys.chain(class.bytes().map(u64::from))))
    }

    /// What the old build and the new one show, for people; `None` if nothing differs.
    pub(super) fn difference_message(&mut self) -> Result<Option<String>> {
        let Some((observable, _)) = self.difference() else { return Ok(None) };
        let Some(mut against) = self.against.take() else { return Ok(None) };
        let message = match observable {
            Observable::Outcome | Observable::Limits => {
                let old = against.other.clone().map(|outcome| against.executor.ended(&outcome)).transpose();
                old.and_then(|old| Ok([old.unwrap_or_default(), self.ended(&against.own)?]))
            }
            Observable::Return => Ok([&against.executor, &*self].map(|each| each.instance.returned().words())),
            _ => {
                let [old, new] = [&against.executor, &*self].map(|each| shown(each, observable).into_owned());
                let at = common(old.iter().zip(&new));
                Ok([old, new].map(|shown| excerpt(&shown, at)))
            }
        };
        self.against = Some(against);
        let [old, new] = message?;
        let what = if observable == Observable::Limits { Observable::Outcome } else { observable }.name();
        Ok(Some(format!("old {what}: {old}\nnew {what}: {new}")))
    }

    /// How the last execution ended, for people.
    fn ended(&mut self, outcome: &Outcome) -> Result<String> {
        let exit_code = self.observation().exit_code();
        let mut words = Ending::of(outcome, exit_code).map_or_else(String::new, |ending| in_words(outcome, ending));
        if outcome.trap().is_some()
            && let Some(Message { text, .. }) =
                self.said_alone(outcome)?.message.filter(|message| !message.text.is_empty())
        {
            words.push_str(&format!(": {text}"));
        }
        Ok(words)
    }
}

/// How an execution ended.
fn in_words(outcome: &Outcome, ending: Ending) -> String {
    match (ending, outcome.trap()) {
        (Ending::Passed(0), _) => "ok".to_owned(),
        (Ending::Passed(code), _) => format!("exit {code}"),
        (Ending::Rejected, _) => "rejected".to_owned(),
        (Ending::Failed, None) => "failed".to_owned(),
        (Ending::Failed, Some(trap)) => match &trap.class {
            Some(class) => format!("{}: {class}", trap.kind.name()),
            None => trap.kind.name().to_owned(),
        },
    }
}

fn difference(observable: Observable, old: &str, new: &str) -> (Observable, Arc<str>) {
    (observable, format!("{}: {old} -> {new}", observable.name()).into())
}

/// What the last execution wrote or told.
fn shown(executor: &Executor, observable: Observable) -> Cow<'_, [u8]> {
    match observable {
        Observable::Stdout => executor.instance.stdout().into(),
        Observable::Stderr => executor.instance.stderr().into(),
        _ => {
            let mut told = Vec::new();
            for entry in
                executor.observation().entries().filter(|entry| [ENTRY_NOTE, ENTRY_VALUE].contains(&entry.kind))
            {
                if entry.kind == ENTRY_VALUE {
                    told.extend_from_slice(format!("{} {} ", entry.numbers[0], entry.numbers[1]).as_bytes());
                }
                told.extend_from_slice(entry.text);
                told.push(b'\n');
            }
            told.into()
        }
    }
}

/// How many pairs at the beginning are of equals.
fn common<'a>(pairs: impl Iterator<Item = (&'a u8, &'a u8)>) -> usize {
    pairs.take_while(|(old, new)| old == new).count()
}

/// What kind of character each of two texts has where they differ, without what both end with; `None` if they don't.
fn differing_text(old: &[u8], new: &[u8]) -> Option<(&'static str, &'static str)> {
    if old == new {
        return None;
    }
    let at = common(old.iter().zip(new));
    let (old, new) = (&old[at..], &new[at..]);
    let end = common(old.iter().rev().zip(new.iter().rev()));
    let kind = |text: &[u8]| match text[..text.len() - end].first() {
        None => "nothing",
        Some(b'0'..=b'9') => "digit",
        Some(b'a'..=b'z' | b'A'..=b'Z' | 0x80..) => "letter",
        Some(b' ' | b'\t' | b'\r' | b'\n') => "space",
        Some(_) => "sign",
    };
    Some((kind(old), kind(new)))
}

/// What stands around a place of a text.
fn excerpt(text: &[u8], at: usize) -> String {
    let start = at.saturating_sub(BEFORE_BYTES);
    let end = text.len().min(start + SHOWN_BYTES);
    let [before, after] = [start > 0, end < text.len()].map(|is_cut| if is_cut { "..." } else { "" });
    format!("{before}{:?}{after}", String::from_utf8_lossy(&text[start.min(end)..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_differ_by_what_they_have_where_they_differ() {
        let kinds = |old: &str, new: &str| differing_text(old.as_bytes(), new.as_bytes());
        assert_eq!(kinds("a", "a"), None);
        assert_eq!(kinds("<p>a b</p>", "<p>ab</p>"), Some(("space", "nothing")));
        assert_eq!(kinds("x=1", "x=10"), Some(("nothing", "digit")));
        assert_eq!(kinds("aab", "ab"), Some(("letter", "nothing")));
        assert_eq!(kinds("&amp;", "\u{e4}"), Some(("sign", "letter")));
        assert_eq!(kinds("", "\n"), Some(("nothing", "space")));
    }

    #[test]
    fn an_excerpt_shows_what_is_around_the_difference() {
        assert_eq!(excerpt(b"ab\n\x1b[2J", 2), r#""ab\n\u{1b}[2J""#);
        let long = [b'x'; 200];
        assert_eq!(excerpt(&long, 100), format!("...\"{}\"...", "x".repeat(SHOWN_BYTES)));
        assert_eq!(excerpt(b"", 0), "\"\"");
    }
}
