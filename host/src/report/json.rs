//! `--reporter json`: one JSON object per line, for programs.

use super::{Event, Finding, Format, Reporter};
use crate::text::printable_json;
use serde::Serialize;
use std::io::{self, Write};

/// Version of the lines, in each of them as `v`. Fields may be added without changing it.
const JSON_VERSION: u32 = 1;

/// How it is chosen and made.
pub(super) const FORMAT: Format = Format { name: "json", about: "JSON lines", make: |out, _| Box::new(Json::new(out)) };

/// Writes each event as one line: `{"v":1,"event":"new_edge",...}`.
#[derive(Debug)]
pub(crate) struct Json<W> {
    out: W,
}

impl<W: Write> Json<W> {
    /// Writes to `out`, which is flushed after each line, or after all that are reported together.
    pub(crate) fn new(out: W) -> Self {
        Self { out }
    }
}

impl<W: Write> Reporter for Json<W> {
    fn report(&mut self, event: &Event) -> io::Result<()> {
        self.report_all(std::slice::from_ref(event))
    }

    fn report_all(&mut self, events: &[Event]) -> io::Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        let mut lines = Vec::new();
        for event in events {
            lines.extend(json_line(event)?);
        }
        if lines.is_empty() {
            return Ok(());
        }
        self.out.write_all(&lines)?;
        self.out.flush()
    }
}

/// One event as a line of JSON, its line feed included; nothing for what is for people only.
pub(super) fn json_line(event: &Event) -> io::Result<Vec<u8>> {
    let mut line = match event {
        Event::Compiling(_) => return Ok(Vec::new()),
        Event::Finding(finding) => {
            serde_json::to_string(&FindingLine { v: JSON_VERSION, event: "finding", target: &finding.target, finding })
        }
        event => serde_json::to_string(&Line { v: JSON_VERSION, event }),
    }?;
    line.push('\n');
    Ok(printable_json(&line).into_bytes())
}

#[derive(Serialize)]
struct Line<'a> {
    v: u32,
    #[serde(flatten)]
    event: &'a Event,
}

/// A finding inside of `done` does not repeat its target; one on its own line has to name it.
#[derive(Serialize)]
struct FindingLine<'a> {
    v: u32,
    event: &'static str,
    target: &'a str,
    #[serde(flatten)]
    finding: &'a Finding,
}
