//! `--reporter quiet`: findings, and nothing else.

use super::lines::finding_line;
use super::{Event, Format, Reporter};
use crate::text::printable;
use std::io::{self, Write};

/// How it is chosen and made.
pub(super) const FORMAT: Format =
    Format { name: "quiet", about: "Only findings", make: |out, _| Box::new(Quiet::new(out)) };

/// Writes one line per finding, when it is found, and one per trace that was not reached. Everything else is the exit
/// code.
#[derive(Debug)]
pub(super) struct Quiet<W> {
    out: W,
}

impl<W: Write> Quiet<W> {
    /// Writes to `out`, which is flushed after each line.
    pub(super) fn new(out: W) -> Self {
        Self { out }
    }
}

impl<W: Write> Reporter for Quiet<W> {
    fn report(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Finding(finding) => {
                writeln!(self.out, "{}: {}", printable(&finding.target), finding_line(finding))?;
            }
            Event::Done(done) => {
                for trace in done.traces.iter().filter(|trace| trace.missing.is_some()) {
                    writeln!(self.out, "{}: {}", printable(&done.target), printable(&trace.text()))?;
                }
            }
            _ => return Ok(()),
        }
        self.out.flush()
    }
}
