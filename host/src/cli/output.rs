//! Where output goes, and in which form.

use super::exit::{Fault, UserError};
use crate::report::{
    ColorChoice, Decoded, Json, Lines, Quiet, Reporter, Reporters, ResolvedFrame, Terminal, TerminalOptions, is_dumb,
};
use anyhow::Context;
use clap::ValueEnum;
use indicatif::ProgressDrawTarget;
use std::env::var_os;
use std::fmt::Write;
use std::fs::File;
use std::io::{IsTerminal, LineWriter, stdout};
use std::path::PathBuf;

/// Prints a line as `println!` does, and returns the error where that would panic: a closed pipe is no bug.
macro_rules! say {
    ($($arg:tt)*) => {
        std::io::Write::write_fmt(&mut std::io::stdout(), format_args!("{}\n", format_args!($($arg)*)))?
    };
}
pub(super) use say;

/// Flags about output.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Output {
    /// Form of the output
    #[arg(long, value_enum, default_value_t = Format::Auto, help_heading = "Output")]
    reporter: Format,
    /// Colours
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    color: ColorChoice,
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

impl Output {
    /// The reporters that were asked for.
    pub(super) fn reporter(&self) -> Result<Box<dyn Reporter>, Fault> {
        let mut reporters: Vec<Box<dyn Reporter>> = vec![match self.format() {
            Format::Json => Box::new(Json::new(stdout())),
            Format::Quiet => Box::new(Quiet::new(stdout())),
            Format::Lines => Box::new(Lines::new(stdout())),
            Format::Auto | Format::Terminal => Box::new(self.terminal()),
        }];
        for path in &self.report {
            let file = File::create(path)
                .with_context(|| format!("failed to create report `{}`", path.display()))
                .blame_user()?;
            reporters.push(Box::new(Json::new(LineWriter::new(file))));
        }
        Ok(Box::new(Reporters(reporters)))
    }

    fn format(&self) -> Format {
        match self.reporter {
            _ if self.quiet => Format::Quiet,
            Format::Auto if stdout().is_terminal() && !is_dumb(|name| var_os(name)) => Format::Terminal,
            Format::Auto => Format::Lines,
            format => format,
        }
    }

    fn terminal(&self) -> Terminal<std::io::Stdout> {
        let live = ProgressDrawTarget::stderr();
        let options = TerminalOptions {
            color: self.color.is_enabled(stdout().is_terminal(), |name| var_os(name)),
            columns: terminal_size::terminal_size().map(|(width, _)| width.0),
            new_edges: self.verbose,
        };
        Terminal::new(stdout(), live, options)
    }
}

/// A call stack as text, innermost call first: `#0 function file:line`.
pub(super) fn frames(frames: &[ResolvedFrame]) -> String {
    let mut text = String::new();
    for (number, frame) in frames.iter().enumerate() {
        let end = if number == 0 { "" } else { "\n" };
        write!(text, "{end}  #{number} {}", frame.place()).expect("writing to a string");
    }
    text
}

/// What a target drew, as text; nothing if it drew nothing.
pub(super) fn drawn(decoded: Option<&Decoded>) -> String {
    decoded
        .map_or_else(String::new, |decoded| decoded.lines(usize::MAX).iter().map(|line| format!("{line}\n")).collect())
}

/// A failure in one line. The signature of a hang says itself what it is.
pub(super) fn failure(kind: &str, signature: &str) -> String {
    if signature.starts_with(kind) { signature.to_owned() } else { format!("{kind}: {signature}") }
}
