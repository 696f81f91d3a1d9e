//! Shrinking: the simplest stream that fails in the same way.
//!
//! # What is changed
//!
//! Not the value that the guest made, and not the guest: the stream of choices that it drew from. Whatever is done to
//! a stream, the guest makes something valid of it, because it makes it in the way it always does. (MacIver and
//! Donaldson, "Test-case reduction via test-case generation", ECOOP 2020; this is the shrinker of Hypothesis, from
//! its descriptions, and more.) The order is [`shortlex`](crate::stream::shortlex): fewer choices are simpler, then
//! smaller ones from the left. Guests arrange that what is simple for the stream is simple for people: index 0 is the
//! value that they would write first.
//!
//! A stream is given with a tail of zeros, so none is too short. What an execution drew, whatever it was given, is
//! its *canonical* stream ([`Trace`](crate::stream::Trace)); that one is compared and kept. If it fails in the same
//! way and is simpler than the current stream, it becomes the current stream. That is the only way in which anything
//! changes, so no pass can make things worse, and a pass can be as wild as it likes.
//!
//! # How to write a pass
//!
//! A pass is a function of a `Shrinker`. It looks at the current trace (choices, what each was drawn for, spans),
//! makes streams of it, and asks `Shrinker::consider`. True means that there is a new current trace; indices into the
//! old one mean nothing then. Some rules that are cheaper to read than to find out:
//!
//! - **Take the trace as a hint.** After a change, other things may be drawn at the same places. Nothing breaks: what
//!   doesn't fit counts as the simplest. So make the stream that would be right if nothing else changed, and let the
//!   execution say.
//! - **Go on where it went well.** After deleting something, the next thing has taken its place: stay there. Don't
//!   begin anew, or a stream of n choices costs n² executions.
//! - **Be adaptive.** If something works once, it often works fifty times: `search::longest` asks how often, with the
//!   logarithm of as many executions. Numbers go down by `search::lowest`. Both suppose that what works for a number
//!   works for those between; where that is wrong, they end at something that works all the same.
//! - **Repair what you know is broken.** A lower count leaves choices over, which the guest then reads as something
//!   else. `Shrinker::look` shows what an execution drew. Where that differs as expected, a second try with the
//!   leftover deleted is worth more than ten blind ones. And where other bounds are drawn, `carry` gives the choices
//!   that stand for the same values.
//! - **Ask for many in a row with `Shrinker::first`.** It is the loop over `consider`, and executes the next few at
//!   once where there are threads.
//! - **Give up for good reasons only.** Passes run in rounds until a whole round changes nothing; a result is a fixed
//!   point. So what a pass tries must depend on nothing but the current trace: no state between calls, and random
//!   numbers from `Shrinker::rng`.
//! - **End.** Every loop must get somewhere when nothing succeeds *and* when everything does. A pass that takes one
//!   off a number each time succeeds a billion times.
//! - **Asking again is free.** What was executed is known, and so is every stream that begins with what an execution
//!   drew (`known`). Don't keep records of what was tried.
//! - **Put it in its place.** The order of `passes::all` is what removes most for the least first. Measure: the test
//!   that holds `challenge.md` shows what a change costs.
//!
//! # What is counted
//!
//! An evaluation is an execution that was asked for and not known. Executions that are made ahead on other threads
//! are kept aside until someone asks for them, and only then counted, and only then can they be a slip. So nothing in
//! the result or the report depends on the number of threads.
//!
//! # What is executed
//!
//! Anything that executes streams and says how that ended is a [`Subject`]. [`Failing`] is that for a target's failure.
//!
//! # After the passes
//!
//! The exhaustive finish (`exhaustive`) executes every simpler stream if there are few, which gets small results out of
//! places that no pass knows, and proves that they are the simplest where it gets to its end ([`Certificate`]). Where
//! it proves nothing, changes in two places at once are tried (`compensate`), and shorter lists in random orders
//! (`shuffle`). The explanation (`explain`) says which parts don't matter. Failures of another kind that are seen on
//! the way are *slips*: not followed, but given back, each with what shows it.

mod carry;
mod compensate;
mod edit;
mod exhaustive;
mod explain;
mod failing;
mod known;
mod limits;
mod passes;
mod plain;
mod report;
mod search;
mod shrinker;
mod shuffle;
mod subject;
mod value;

pub use failing::Failing;
pub use limits::Limits;
pub use plain::{PlainSubject, ShrunkInput, shrink_input};
pub use report::{Certificate, PassCount, ShrinkReport, Shrunk};
pub use subject::{Attempt, Order, Subject, Tail, Verdict};

use crate::stream::{Choice, Taste};
use anyhow::Result;
use shrinker::{Bill, Shrinker, Step, Stop};

/// Makes `first` as simple as it can be while it fails in the same way; `None` if it does not fail so.
///
/// # Errors
///
/// If the host fails.
pub fn shrink(subject: &dyn Subject, first: &[Choice], limits: Limits) -> Result<Option<Shrunk>> {
    let Some(s) = Shrinker::new(subject, first, limits, Taste::Value)? else { return Ok(None) };
    run(s).map(Some)
}

fn run(mut s: Shrinker<'_>) -> Result<Shrunk> {
    match finish(&mut s) {
        Ok(()) | Err(Stop::Spent) => {}
        Err(Stop::Host(error)) => return Err(error),
    }
    let mut trace = s.current().trace.clone();
    // What it was given was another stream, most likely.
    (trace.given, trace.misaligned) = (trace.choices.len(), None);
    Ok(Shrunk { trace, report: s.report, slips: s.slips })
}

/// Runs everything until nothing changes.
fn finish(s: &mut Shrinker<'_>) -> Step<()> {
    loop {
        s.charge(Bill::Passes);
        while round(s)? {}
        s.charge(Bill::Exhaustive);
        s.enter("exhaustive");
        let Some(certificate) = exhaustive::finish(s)? else { continue };
        if certificate == Certificate::None && has_other(s)? {
            continue;
        }
        s.charge(Bill::Explanation);
        s.enter("explain");
        let Some(free) = explain::explain(s)? else { continue };
        s.report.certificate = certificate;
        s.report.free = free;
        s.report.is_fixed_point = true;
        return Ok(());
    }
}

/// Tries what is too much for a pass that runs again and again. True if something simpler was found.
fn has_other(s: &mut Shrinker<'_>) -> Step<bool> {
    let tries = s.limits().exhaustive_max / 2;
    s.enter("compensate");
    if compensate::compensate(s, tries)? {
        return Ok(true);
    }
    s.enter("shuffle");
    shuffle::shuffle(s, tries)
}

/// Runs all passes; true if one had a success.
fn round(s: &mut Shrinker<'_>) -> Step<bool> {
    let before = s.current();
    for (name, pass) in passes::all() {
        s.enter(name);
        pass(s)?;
    }
    Ok(!std::sync::Arc::ptr_eq(&before, &s.current()))
}

#[cfg(test)]
mod tests;
