//! `--reporter lines`: one prefixed line per event, for logs. Nothing moves a cursor, and nothing floods a log of a
//! night.

use super::sparse::Sparse;
use super::{Done, Event, Finding, Format, NewEdge, Reporter, Start, Status};
use crate::outcome::FailureKind;
use crate::symbols::simplify;
use crate::text::{count, counted, duration, grouped, megabytes, percent, printable, rate};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// How it is chosen and made.
pub(super) const FORMAT: Format = Format {
    name: "lines",
    about: "One line per event, and a sparse status line",
    make: |out, options| Box::new(Lines::new(out, options.new_edges)),
};

/// Writes each event as one line that begins with its target: `[json] new: 812 of 2,401 edges (+12), ...`.
#[derive(Debug)]
pub(super) struct Lines<W> {
    out: W,
    /// Whether inputs that reached new edges have lines.
    new_edges: bool,
    /// Per target.
    statuses: BTreeMap<String, Sparse>,
    /// Targets of which was said that they are being compiled.
    compiling: BTreeSet<String>,
}

/// What is compiled sooner is not told, in milliseconds.
const COMPILING_MS_MIN: u64 = 1000;

impl<W: Write> Lines<W> {
    /// Writes to `out`, which is flushed after each line; with a line for each input that reached new edges, if
    /// `new_edges`.
    pub(super) fn new(out: W, new_edges: bool) -> Self {
        Self { out, new_edges, statuses: BTreeMap::new(), compiling: BTreeSet::new() }
    }

    fn line(&mut self, target: &str, text: &str) -> io::Result<()> {
        writeln!(self.out, "[{}] {text}", printable(target))
    }

    fn start(&mut self, start: &Start) -> io::Result<()> {
        let text = format!(
            "start: {}, {}, {}, {}, {}",
            printable(&start.entry),
            counted(start.edges_total, "edge"),
            counted(start.seeds, "first input"),
            start.repeatable(),
            counted(start.jobs, "job"),
        );
        self.line(&start.target, &text)
    }

    fn new_edge(&mut self, new: &NewEdge) -> io::Result<()> {
        let text = format!(
            "new: {} (+{}) after {}: input {} ({}) in {}",
            counted(new.edges, "edge"),
            grouped(new.new),
            counted(new.execs, "execution"),
            short_id(&new.input),
            counted(new.input_bytes, "byte"),
            printable(&new.function),
        );
        self.line(&new.target, &text)
    }

    fn status(&mut self, status: &Status) -> io::Result<()> {
        if !self.statuses.entry(status.target.clone()).or_default().is_due(status.elapsed_ms) {
            return Ok(());
        }
        let text = format!(
            "status: {} in {} ({}), {} of {} edges, corpus {}, {}",
            count(status.execs),
            duration(status.elapsed_ms),
            rate(status.execs_per_sec),
            grouped(status.edges),
            grouped(status.edges_total),
            grouped(status.corpus),
            counted(status.findings, "finding"),
        );
        self.line(&status.target, &text)
    }

    fn done(&mut self, done: &Done) -> io::Result<()> {
        let text = format!(
            "done: {} in {} ({}), {} of {} edges ({}), corpus {}, {}: {}",
            counted(done.execs, "execution"),
            duration(done.elapsed_ms),
            rate(done.execs_per_sec),
            grouped(done.edges),
            grouped(done.edges_total),
            percent(done.edges, done.edges_total),
            grouped(done.corpus),
            counted(done.findings.len() as u64, "finding"),
            printable(&done.stopped),
        );
        self.line(&done.target, &text)?;
        for finding in &done.findings {
            let text = format!("{}: {}", printable(&finding.title()), repro(finding));
            self.line(&done.target, &text)?;
        }
        if !done.not_reached.is_empty() {
            let names: Vec<String> = done.not_reached.iter().map(|name| printable(&simplify(name))).collect();
            self.line(&done.target, &format!("not reached: {}", names.join(", ")))?;
        }
        if let Some(nameless) = done.nameless() {
            self.line(&done.target, &format!("not reached: {nameless}"))?;
        }
        Ok(())
    }
}

impl<W: Write> Reporter for Lines<W> {
    fn report(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Compiling(compiling) => {
                if compiling.elapsed_ms >= COMPILING_MS_MIN && self.compiling.insert(compiling.target.clone()) {
                    self.line(&compiling.target, &format!("compiling: {}", megabytes(compiling.module_bytes)))?;
                }
            }
            Event::Start(start) => self.start(start)?,
            Event::NewEdge(_) if !self.new_edges => return Ok(()),
            Event::NewEdge(new) => self.new_edge(new)?,
            Event::Retraced(retraced) => {
                self.line(&retraced.target, &format!("rebuilt: {}", retraced.text()))?;
                for line in retraced.lines() {
                    self.line(&retraced.target, &printable(&line))?;
                }
            }
            Event::Warmed(warmed) => self.line(&warmed.target, &format!("warm: {}", warmed.text()))?,
            Event::Arrived(arrived) => self.line(&arrived.target, &format!("goal: {}", printable(&arrived.text())))?,
            Event::Finding(finding) => {
                let text = finding_line(finding);
                self.line(&finding.target, &text)?;
            }
            Event::Status(status) => self.status(status)?,
            Event::Advice(advice) => self.line(&advice.target, &format!("advice: {}", printable(&advice.message)))?,
            Event::Imported(imported) => {
                for line in imported.lines() {
                    self.line(&imported.target, &format!("import: {}", printable(&line)))?;
                }
            }
            Event::Done(done) => self.done(done)?,
            Event::NotStarted(not_started) => self.line(&not_started.target, "was not started")?,
            Event::Checked(checked) => {
                checked.lines(usize::MAX).iter().try_for_each(|line| writeln!(self.out, "{line}"))?
            }
        }
        self.out.flush()
    }
}

/// A finding in one line: what, why, where, with which input, and how to see it again.
pub(super) fn finding_line(finding: &Finding) -> String {
    let place = finding.headline().map_or_else(String::new, |headline| {
        let inside = headline.inside().map_or_else(String::new, |inside| format!(" ({inside})"));
        format!(" in {}{inside}", headline.place())
    });
    let said = finding.said();
    let said = match said.is_empty() {
        true => String::new(),
        false if finding.kind == FailureKind::Difference => format!(": {}", said.join(" / ")),
        false => format!(": says \"{}\"", said.join(" / ")),
    };
    format!(
        "{}{}{said}: input {}: {}",
        printable(&finding.title()),
        printable(&place),
        printable(&finding.preview),
        repro(finding),
    )
}

/// The line to paste.
pub(super) fn repro(finding: &Finding) -> String {
    format!("fuzzbox repro {}", short_id(&finding.id))
}

/// The first 8 digits of an id: enough to name it in any store that fits on a disk.
pub(super) fn short_id(id: &impl std::fmt::Display) -> String {
    let mut text = id.to_string();
    text.truncate(8);
    text
}
