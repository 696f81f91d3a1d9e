//! The command line: one file per verb. What was typed becomes settings here, and nowhere else.
//!
//! # Files
//!
//! One file per verb; `target_args` (what was typed -> `Settings`), `naming` (whose corpus is whose), `usage` (what
//! was mistyped), `campaigns` (what is fuzzed in turns), `exit` (errors and exit codes), `write` (all that is printed).

mod against;
mod bench;
mod bisect;
mod campaigns;
mod cargo;
mod cfg;
mod ci;
mod compiling;
mod debug_info;
mod exit;
mod export;
mod findings;
#[cfg(test)]
mod flags;
mod gate;
mod glue;
mod goals;
mod grammar;
mod hunt;
mod import;
mod input;
mod inspect;
mod instrument;
mod learn;
mod leaves;
mod libfuzzer;
mod life;
mod linking;
mod ls;
mod module_file;
mod naming;
mod new;
mod output;
mod replay;
mod repro;
mod run;
mod show;
mod shrink;
mod states;
mod store_args;
mod target_args;
mod traces;
mod usage;
mod values;
mod write;

pub use exit::{Exit, Fault, Verdict};

use crate::sandbox::{FreedMemory, THREAD_STACK_BYTES};
use anyhow::Context;
use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use write::Out;

/// Fuzz any program compiled to WebAssembly, and reproduce anything it showed by its hash.
#[derive(Debug, Parser)]
#[command(name = "fuzzbox", version, max_term_width = 100, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Make a guest to begin with: something to test, and a property that finds the bug in it
    New(new::Args),
    /// Fuzz one or more targets
    Run(Box<run::Args>),
    /// Find an input that gets to a function, a line or an edge
    Hunt(Box<hunt::Args>),
    /// Fuzz a target just long enough to reach every trace of key frames
    Gate(gate::Args),
    /// Fuzz the targets of a cargo-fuzz folder, as they are
    Cargo(Box<cargo::Args>),
    /// Check all targets after a change: try what is known of them, then fuzz them for a while
    Ci(Box<ci::Args>),
    /// Run a finding again, by a prefix of its hash or of its input's hash
    Repro(repro::Args),
    /// Find out between which two of several builds a finding came or went
    Bisect(bisect::Args),
    /// Say nothing more of failures that have a finding's signature
    Ignore(life::IgnoreArgs),
    /// Take a finding for done, until it fails on another build
    Close(life::CloseArgs),
    /// Execute inputs once each, with a verdict per input
    Replay(replay::Args),
    /// Find the smallest input that fails in the same way
    Shrink(shrink::Args),
    /// List targets, their corpora and findings
    Ls(ls::Args),
    /// Show one object: a finding, an input, a module
    Show(show::Args),
    /// Show what fuzzbox sees in a module
    Inspect(inspect::Args),
    /// List what a target can draw, the small ones first
    Leaves(leaves::Args),
    /// List the states that a target can be in, as far as what it draws and takes tells them apart
    States(states::Args),
    /// Learn the automaton of what a target takes
    Learn(learn::Args),
    /// Measure
    Bench(bench::Args),
    /// Only rewrite a module, and write it out
    Instrument(instrument::Args),
    /// Take a directory of inputs from libFuzzer, AFL++ or OSS-Fuzz into a target's corpus
    Import(import::Args),
    /// Write a target's corpus into a directory, one file per input
    Export(export::Args),
}

/// Parses the process' arguments, runs the verb, prints its error, and gives the exit code.
pub fn main() -> ExitCode {
    end(on_large_stack(|| start(std::env::args_os().collect())))
}

/// As [`main`], for the program that cargo starts for `cargo fuzzbox`: it is `fuzzbox cargo`.
pub fn cargo_main() -> ExitCode {
    end(on_large_stack(|| start(usage::of_cargo(std::env::args_os()))))
}

fn end(verdict: Verdict) -> ExitCode {
    let exit = verdict.unwrap_or_else(|fault| {
        write::tell(&fault.to_string());
        fault.exit
    });
    ExitCode::from(exit as u8)
}

/// Does the work on a thread whose stack is known: the first one's is as large as whoever starts us allows, and verbs
/// execute guests.
fn on_large_stack(job: fn() -> Verdict) -> Verdict {
    let thread = std::thread::Builder::new().stack_size(THREAD_STACK_BYTES);
    let running = thread.spawn(move || {
        let verdict = job();
        FreedMemory::Kept.from_now_on();
        verdict
    });
    running.context("failed to start a thread")?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn start(arguments: Vec<OsString>) -> Verdict {
    FreedMemory::KeptForLong.from_now_on();
    // A file may not become larger than a limit says (`ulimit -f`): whoever writes it is told so, instead of being
    // killed.
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default())?;
    let exit = match usage::parse(arguments)? {
        Ok(verb) => run(verb)?,
        Err(exit) => exit,
    };
    Out.flush()?;
    Ok(exit)
}

fn run(verb: Verb) -> Verdict {
    match verb {
        Verb::New(args) => args.run(),
        Verb::Run(args) => args.run(),
        Verb::Hunt(args) => args.run(),
        Verb::Gate(args) => args.run(),
        Verb::Cargo(args) => args.run(),
        Verb::Ci(args) => args.run(),
        Verb::Repro(args) => args.run(),
        Verb::Bisect(args) => args.run(),
        Verb::Ignore(args) => args.run(),
        Verb::Close(args) => args.run(),
        Verb::Replay(args) => args.run(),
        Verb::Shrink(args) => args.run(),
        Verb::Ls(args) => args.run(),
        Verb::Show(args) => args.run(),
        Verb::Inspect(args) => args.run(),
        Verb::Leaves(args) => args.run(),
        Verb::States(args) => args.run(),
        Verb::Learn(args) => args.run(),
        Verb::Bench(args) => args.run(),
        Verb::Instrument(args) => args.run(),
        Verb::Import(args) => args.run(),
        Verb::Export(args) => args.run(),
    }
}
