//! What was typed, and what is said to whoever mistypes.

use super::exit::{Exit, Fault};
use super::write::{Out, tell};
use super::{Cli, Verb, libfuzzer};
use crate::report::ColorChoice;
use crate::text::{nearest, printable};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};

/// The verb and its flags; or the exit code, if all is said with that: help was asked for, or something was mistyped.
pub(super) fn parse(arguments: Vec<OsString>) -> Result<Result<Verb, Exit>, Fault> {
    if let Some(hint) = libfuzzer::did_you_mean(&arguments) {
        tell(&hint);
        return Ok(Err(Exit::Usage));
    }
    // What was typed may be a file's name, which may be anything; errors quote it.
    let quoted: Vec<_> = arguments.iter().map(|argument| printable(&argument.to_string_lossy())).collect();
    let error = match Cli::try_parse_from(arguments) {
        Ok(cli) => return Ok(Ok(cli.verb)),
        Err(error) => suggest_verb(Cli::try_parse_from(quoted).err().unwrap_or(error)),
    };
    let text = error.render();
    if !error.use_stderr() {
        let styled = ColorChoice::Auto.is_enabled(std::io::stdout().is_terminal(), |name| std::env::var_os(name));
        let text = if styled { text.ansi().to_string() } else { text.to_string() };
        Out.write_all(text.as_bytes())?;
        return Ok(Err(Exit::Clean));
    }
    let plain = text.to_string();
    if plain.lines().all(|line| printable(line) == line) {
        drop(error.print())
    } else {
        tell(&plain)
    }
    Ok(Err(Exit::Usage))
}

/// What is typed of `fuzzbox` for what cargo starts: `cargo-fuzzbox fuzzbox ARGUMENTS`, for `cargo fuzzbox ARGUMENTS`.
pub(super) fn of_cargo(started: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments = started.into_iter().skip(1).peekable();
    arguments.next_if(|first| first == "fuzzbox");
    ["fuzzbox".into(), "cargo".into()].into_iter().chain(arguments).collect()
}

/// Adds the verb that is meant, where clap finds none that is like what was typed.
fn suggest_verb(mut error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::InvalidSubcommand || error.get(ContextKind::SuggestedSubcommand).is_some() {
        return error;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let cli = Cli::command();
    let verb = nearest(typed, cli.get_subcommands().map(clap::Command::get_name)).map(str::to_owned);
    if let Some(verb) = verb {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![verb]));
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_starts_is_a_verb() {
        let typed = |arguments: &[&str]| of_cargo(arguments.iter().map(OsString::from));
        assert_eq!(typed(&["cargo-fuzzbox", "fuzzbox", "list"]), ["fuzzbox", "cargo", "list"]);
        assert_eq!(typed(&["cargo-fuzzbox", "-n", "5"]), ["fuzzbox", "cargo", "-n", "5"]);
        assert_eq!(typed(&["cargo-fuzzbox", "fuzzbox", "fuzzbox"]), ["fuzzbox", "cargo", "fuzzbox"]);
    }

    #[test]
    fn a_mistyped_verb_is_answered_with_the_one_that_is_meant() {
        let answer = |typed: &str| suggest_verb(Cli::try_parse_from(["fuzzbox", typed]).unwrap_err()).to_string();
        for (typed, verb) in
            [("rnu", "run"), ("shirnk", "shrink"), ("repor", "repro"), ("insepct", "inspect"), ("lss", "ls")]
        {
            let answer = answer(typed);
            assert!(answer.contains("similar subcommand") && answer.contains(&format!("'{verb}'")), "{answer}");
        }
        assert!(!answer("frobnicate").contains("similar"), "{}", answer("frobnicate"));
    }
}
