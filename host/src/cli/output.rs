//! Where output goes, and in which form.

use super::exit::{Fault, UserError};
use crate::report::{Json, Lines, Quiet, Reporter, Reporters, ResolvedFrame};
use anyhow::Context;
use clap::ValueEnum;
use std::fmt::Write;
use std::fs::File;
use std::io::{BufWriter, stdout};
use std::path::PathBuf;

/// Flags about output.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Output {
    /// Form of the output
    #[arg(long, value_enum, default_value_t = Format::Auto, help_heading = "Output")]
    reporter: Format,
    /// Colours
    #[arg(long, value_enum, default_value_t = Color::Auto, help_heading = "Output")]
    color: Color,
    /// Only findings and errors
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
    /// Tell every new edge
    #[arg(short, long, help_heading = "Output")]
    verbose: bool,
    /// Also write all events to this file, as JSON lines; repeatable
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Vec<PathBuf>,
}

/// Forms of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// `terminal` on a terminal, else `lines`
    Auto,
    /// A log with two live lines below
    Terminal,
    /// One line per event, and a sparse status line
    Lines,
    /// JSON lines
    Json,
    /// Only findings
    Quiet,
}

/// When there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Output {
    /// The reporters that were asked for.
    pub(super) fn reporter(&self) -> Result<Box<dyn Reporter>, Fault> {
        let mut reporters: Vec<Box<dyn Reporter>> = vec![match self.format() {
            Format::Json => Box::new(Json::new(stdout())),
            Format::Quiet => Box::new(Quiet::new(stdout())),
            _ => Box::new(Lines::new(stdout())),
        }];
        for path in &self.report {
            let file = File::create(path)
                .with_context(|| format!("failed to create report `{}`", path.display()))
                .blame_user()?;
            reporters.push(Box::new(Json::new(BufWriter::new(file))));
        }
        Ok(Box::new(Reporters(reporters)))
    }

    fn format(&self) -> Format {
        match self.reporter {
            _ if self.quiet => Format::Quiet,
            format => format,
        }
    }
}

/// A call stack as text, innermost call first: `#0 function file:line`.
pub(super) fn frames(frames: &[ResolvedFrame]) -> String {
    let mut text = String::new();
    for (number, frame) in frames.iter().enumerate() {
        writeln!(text, "  #{number} {}", frame.place()).expect("writing to a string");
    }
    text
}
