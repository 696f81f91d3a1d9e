//! One execution of a property, whatever it does.

use super::choice::Choice;
use super::tape::{Backend, Input, Record, SpanRecord, Stop, ValueRecord};
use crate::Source;
use std::boxed::Box;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::string::String;
use std::sync::Once;
use std::vec::Vec;

/// How an execution ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The property returned.
    Passed,
    /// What was drawn is no case of the property.
    Rejected(String),
    /// More choices than [`super::CHOICES_MAX`].
    Overrun,
    /// A panic with its place, or the class that [`Source::fail`] was given.
    Failed(String),
}

impl Outcome {
    /// The property does not hold.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Failed(_))
    }
}

/// What an execution did.
#[derive(Clone, Debug)]
pub struct Run {
    /// How it ended.
    pub outcome: Outcome,
    /// The canonical stream: given again, it is the same execution.
    pub choices: Vec<Choice>,
    /// The first choice that was given but did not fit its draw.
    pub misaligned: Option<usize>,
    /// Groups of draws, in the order in which they begin.
    pub spans: Vec<SpanRecord>,
    /// What [`Source::note`] said.
    pub notes: Vec<String>,
    /// What [`Source::event`] said.
    pub events: Vec<(String, i64)>,
    /// What [`Source::target`] said.
    pub targets: Vec<(String, f64)>,
    /// What [`Source::keyframe`] said.
    pub keyframes: Vec<(u32, i64)>,
    /// What the first of a property's two parts made.
    pub value: Option<ValueRecord>,
}

/// Executes a property once. Its panics are caught and not printed.
pub fn run(input: Input, property: impl FnOnce(&mut Source)) -> Run {
    let mut source = Source::from(Backend::new(input));
    let outcome = caught(|| property(&mut source));
    let Record { choices, misaligned, spans, notes, events, targets, keyframes, value } =
        source.into_backend().into_record();
    Run { outcome, choices, misaligned, spans, notes, events, targets, keyframes, value }
}

/// Runs a function to its end, whatever that is.
pub(super) fn caught(function: impl FnOnce()) -> Outcome {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !keep(info) {
                print(info);
            }
        }));
    });
    let outer = MESSAGE.replace(Some(String::new()));
    let ended = panic::catch_unwind(AssertUnwindSafe(function));
    let message = MESSAGE.replace(outer);
    match ended {
        Ok(()) => Outcome::Passed,
        Err(payload) => match payload.downcast::<Stop>() {
            Ok(stop) => match *stop {
                Stop::Rejected(why) => Outcome::Rejected(why),
                Stop::Overrun => Outcome::Overrun,
                Stop::Failed(class) => Outcome::Failed(class),
            },
            Err(_) => Outcome::Failed(message.unwrap_or_default()),
        },
    }
}

std::thread_local! {
    /// The panic's message, while a property runs on this thread; other threads' panics are not ours.
    static MESSAGE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps the message instead of printing it, if that is wanted here.
fn keep(info: &PanicHookInfo<'_>) -> bool {
    MESSAGE.with_borrow_mut(|message| message.as_mut().map(|message| *message = crate::panics::text(info)).is_some())
}
