//! Consumers of the campaign's event stream, and what turns indices and bytes into text.
//!
//! A session reports each [`Event`] to one [`Reporter`], usually [`Reporters`], which passes it on:
//!
//! ```text
//!                        +-> Terminal    a log, and two live lines        \
//!                        +-> Lines       one prefixed line per event       | one of these on
//! Event --> Reporters ---+-> Json        one object per line               | standard output
//!                        +-> Quiet       findings only                    /
//!                        +-> StatsFiles  fuzzer_stats, plot_data, events.jsonl in the store
//! ```
//!
//! Events hold names and lines rather than indices: [`Symbols`](crate::symbols::Symbols) finds them,
//! [`signature`](crate::failure::signature()) tells failures apart and [`preview`] makes an input readable, all
//! before the event is sent. A reporter computes nothing that another one would need. No reporter reads a clock:
//! the time that has passed is in the events.
//!
//! # How to write one
//!
//! A form of output is a file here with a type that is a [`Reporter`] and a `FORMAT`, which says how it is called and
//! made; and a line of [`FORMATS`]: `--reporter` lists and makes what is in that table. Write with `printable` what
//! guests or files chose, flush when an event is told, and leave out what your readers can't use.

mod advice;
mod checked;
mod color;
mod event;
#[cfg(test)]
mod golden;
mod json;
mod lines;
mod preview;
mod quiet;
mod retraced;
mod sparse;
mod stats;
mod terminal;

pub(crate) use advice::{AdviceFacts, Advisor, Flags};
pub(crate) use checked::{Checked, CheckedTarget};
pub(crate) use color::{ColorChoice, is_dumb};
pub(crate) use event::{
    Advice, Arrived, Compiling, Done, Event, Files, Finding, Imported, NewEdge, NotStarted, Start, Status, Warmed,
};
pub(crate) use json::Json;
pub(crate) use preview::preview;
pub(crate) use retraced::{KnownFinding, Now, Retraced};
pub(crate) use stats::{Campaign, StatsFiles};
pub(crate) use terminal::{Terminal, TerminalOptions};

use std::io::Write;

/// Forms in which a campaign is told on standard output, in the order in which they are listed.
pub(crate) const FORMATS: &[Format] = &[terminal::FORMAT, lines::FORMAT, json::FORMAT, quiet::FORMAT];

/// A form of output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it looks like, for who chooses.
    pub about: &'static str,
    /// Makes a reporter that writes to this.
    pub make: fn(Box<dyn Write>, TerminalOptions) -> Box<dyn Reporter>,
}

/// Consumes events; one per output format.
pub(crate) trait Reporter {
    /// Takes note of `event`. Called from one thread, in order.
    ///
    /// # Errors
    ///
    /// Fails if the output can't be written; a closed pipe is reported as [`std::io::ErrorKind::BrokenPipe`].
    fn report(&mut self, event: &Event) -> std::io::Result<()>;

    /// Takes note of `events`, which happened together: as [`Reporter::report`] for each, but what is written may be
    /// written at once.
    ///
    /// # Errors
    ///
    /// As [`Reporter::report`].
    fn report_all(&mut self, events: &[Event]) -> std::io::Result<()> {
        events.iter().try_for_each(|event| self.report(event))
    }
}

/// Passes each event on to several reporters.
#[derive(Default)]
pub(crate) struct Reporters(pub Vec<Box<dyn Reporter>>);

impl Reporter for Reporters {
    /// Passes events on to all, also to those after one that fails, and gives the first error.
    fn report(&mut self, event: &Event) -> std::io::Result<()> {
        self.report_all(std::slice::from_ref(event))
    }

    fn report_all(&mut self, events: &[Event]) -> std::io::Result<()> {
        let mut result = Ok(());
        for reporter in &mut self.0 {
            let reported = reporter.report_all(events);
            if result.is_ok() {
                result = reported;
            }
        }
        result
    }
}
