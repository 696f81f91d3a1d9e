//! Where output goes, and in which form.

use super::exit::{Fault, UserError};
use super::write::{NamedFile, Out, shown};
use crate::failure::Said;
use crate::report::{ColorChoice, FORMATS, Format, Json, Reporter, Reporters, TerminalOptions, is_dumb};
use crate::stream::Decoded;
use crate::symbols::ResolvedFrame;
use anyhow::Context;
use clap::builder::{PossibleValue, PossibleValuesParser};
use std::env::var_os;
use std::fs::File;
use std::io::{IsTerminal, LineWriter, stdout};
use std::path::PathBuf;

/// Flags about output.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Output {
    /// Form of the output
    #[arg(long, value_parser = formats(), default_value = AUTO, help_heading = "Output")]
    reporter: String,
    /// Colours
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    color: ColorChoice,
    /// Only findings and errors
    #[arg(short, long, conflicts_with_all = ["reporter", "verbose"], help_heading = "Output")]
    quiet: bool,
    /// Tell new edges too, one line for each input that reached some
    #[arg(short, long, help_heading = "Output")]
    verbose: bool,
    /// Also write all events to this file, as JSON lines; repeatable
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Vec<PathBuf>,
}

/// The form of output that is chosen by where it goes.
const AUTO: &str = "auto";

/// What `--reporter` takes.
fn formats() -> PossibleValuesParser {
    let auto = PossibleValue::new(AUTO).help("`terminal` on a terminal, else `lines`");
    let others = FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.about));
    std::iter::once(auto).chain(others).collect::<Vec<_>>().into()
}

impl Output {
    /// The reporters that were asked for.
    pub(super) fn reporter(&self) -> Result<Box<dyn Reporter>, Fault> {
        let mut reporters = vec![(self.format().make)(Box::new(Out), self.options())];
        for path in &self.report {
            let file = File::create(path)
                .with_context(|| format!("failed to create report `{}`", shown(path)))
                .blame_user()?;
            reporters.push(Box::new(Json::new(NamedFile { file: LineWriter::new(file), path: path.clone() })));
        }
        Ok(Box::new(Reporters(reporters)))
    }

    fn format(&self) -> &'static Format {
        let name = match &*self.reporter {
            _ if self.quiet => "quiet",
            AUTO if stdout().is_terminal() && !is_dumb(|name| var_os(name)) => "terminal",
            AUTO => "lines",
            name => name,
        };
        FORMATS.iter().find(|format| format.name == name).expect("nothing else is parsed")
    }

    fn options(&self) -> TerminalOptions {
        TerminalOptions {
            color: self.color.is_enabled(stdout().is_terminal(), |name| var_os(name)),
            columns: width(),
            width: Some(width),
            new_edges: self.verbose,
        }
    }
}

/// The terminal's width in columns.
fn width() -> Option<u16> {
    terminal_size::terminal_size().map(|(width, _)| width.0)
}

/// A call stack, innermost call first, a line for each: `#0 function file:line`. Calls of libraries are marked, if
/// there are others.
pub(super) fn frames(frames: &[ResolvedFrame]) -> Vec<String> {
    let has_own = frames.iter().any(|frame| !frame.is_library());
    let mark = |frame: &ResolvedFrame| if has_own && frame.is_library() { "  [library]" } else { "" };
    let line = |(number, frame): (usize, &ResolvedFrame)| format!("  #{number} {}{}", frame.place(), mark(frame));
    frames.iter().enumerate().map(line).collect()
}

/// What a target drew; nothing if it drew nothing.
pub(super) fn drawn(decoded: Option<&Decoded>) -> Vec<String> {
    decoded.map_or_else(Vec::new, |decoded| decoded.lines(usize::MAX))
}

/// What a target said; nothing if it said nothing but what `drawn` shows.
pub(super) fn said(said: Option<&Said>, drawn: Option<&Decoded>) -> Vec<String> {
    said.map_or_else(Vec::new, |said| said.lines(drawn))
}

/// A failure in one line. The signature of a hang says itself what it is.
pub(super) fn failure(kind: &str, signature: &str) -> String {
    if signature.starts_with(kind) { signature.to_owned() } else { format!("{kind}: {signature}") }
}
