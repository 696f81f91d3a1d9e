//! `--reporter lines`: one prefixed line per event, for logs. Nothing moves a cursor, and nothing floods a log of a night.

use super::text::{count, counted, duration, grouped, percent, printable, rate};
use super::{Done, Event, Finding, Reporter, Status};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Writes each event as one line that begins with its target: `[json] new: 812 of 2,401 edges (+12), ...`.
#[derive(Debug)]
pub struct Lines<W> {
    out: W,
    /// Per target: elapsed time from which the next status is printed.
    next_status_ms: BTreeMap<String, u64>,
}

impl<W: Write> Lines<W> {
    /// Writes to `out`, which is flushed after each line.
    pub fn new(out: W) -> Self {
        Self { out, next_status_ms: BTreeMap::new() }
    }

    /// A status is printed at 1, 2, 4, 8, ... seconds, then every 10 minutes: a short run shows that it lives, a night's log stays readable.
    /// The time is the event's; no clock is read here.
    fn is_status_due(&mut self, status: &Status) -> bool {
        const LONGEST_MS: u64 = 600_000;
        let next = self.next_status_ms.entry(status.target.clone()).or_insert(1000);
        if status.elapsed_ms < *next {
            return false;
        }
        while *next <= status.elapsed_ms {
            *next = next.saturating_add((*next).min(LONGEST_MS));
            if *next == u64::MAX {
                break;
            }
        }
        true
    }

    fn line(&mut self, target: &str, text: &str) -> io::Result<()> {
        writeln!(self.out, "[{}] {text}", printable(target))
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
            let text = format!("{}: {}: {}", printable(&finding.kind), printable(&finding.signature), repro(finding));
            self.line(&done.target, &text)?;
        }
        if !done.not_reached.is_empty() {
            let names: Vec<String> = done.not_reached.iter().map(|name| printable(name)).collect();
            self.line(&done.target, &format!("not reached: {}", names.join(", ")))?;
        }
        Ok(())
    }
}

impl<W: Write> Reporter for Lines<W> {
    fn report(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Start(start) => {
                let text = format!(
                    "start: {}, {}, {}, seed {}, {}",
                    printable(&start.entry),
                    counted(start.edges_total, "edge"),
                    counted(start.seeds, "first input"),
                    start.seed,
                    counted(start.jobs, "job"),
                );
                self.line(&start.target, &text)?;
            }
            Event::NewEdge(new) => {
                let text = format!(
                    "new: {} (+{}) after {}: input {} ({}) in {}",
                    counted(new.edges, "edge"),
                    grouped(new.new),
                    counted(new.execs, "execution"),
                    short_id(&new.input),
                    counted(new.input_bytes, "byte"),
                    printable(&new.function),
                );
                self.line(&new.target, &text)?;
            }
            Event::Finding(finding) => {
                let text = finding_line(finding);
                self.line(&finding.target, &text)?;
            }
            Event::Status(status) => {
                if self.is_status_due(status) {
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
                    self.line(&status.target, &text)?;
                }
            }
            Event::Advice(advice) => self.line(&advice.target, &format!("advice: {}", printable(&advice.message)))?,
            Event::Done(done) => self.done(done)?,
        }
        self.out.flush()
    }
}

/// A finding in one line: what, where, why, and how to see it again.
pub(super) fn finding_line(finding: &Finding) -> String {
    let place = match finding.top_frame() {
        Some(frame) => format!(" in {}", frame.place()),
        None => String::new(),
    };
    format!(
        "{}{}: {}: input {}: {}",
        printable(&finding.kind),
        printable(&place),
        printable(&finding.signature),
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
