//! Every flag that a verb claims to take is taken.

use super::Cli;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command, CommandFactory, Parser};

/// All verbs: what to type for each, and what clap knows of it.
fn verbs() -> Vec<(Vec<String>, Command)> {
    let mut cli = Cli::command();
    cli.build();
    let mut verbs = Vec::new();
    let mut open = vec![(vec!["fuzzbox".to_owned()], cli)];
    while let Some((typed, command)) = open.pop() {
        let below: Vec<_> = command.get_subcommands().filter(|below| below.get_name() != "help").cloned().collect();
        if below.is_empty() {
            verbs.push((typed, command));
            continue;
        }
        open.extend(below.into_iter().map(|below| ([&typed[..], &[below.get_name().to_owned()]].concat(), below)));
    }
    verbs
}

/// A value for an argument, by the name that its help gives it.
fn value(arg: &Arg) -> String {
    if let Some(possible) = arg.get_possible_values().first() {
        return possible.get_name().to_owned();
    }
    let name = arg.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
    match name {
        "TIME" => "30s",
        "SIZE" => "64KiB",
        "N" | "UNITS" => "7",
        "HOW" => "bytes:1",
        "WASM" | "HASH | WASM" | "FILE" | "DIR" | "INPUT" | "HASH" | "ARG" | "EXPORT" | "FUNCTION" | "NAME" => "abcd",
        other => panic!("what can be given for {other} of {arg}? Add it to the test"),
    }
    .to_owned()
}

/// An argument as it is typed.
fn typed(arg: &Arg) -> Vec<String> {
    let flag = arg.get_long().map(|long| format!("--{long}"));
    let flag = flag.or_else(|| arg.get_short().map(|short| format!("-{short}")));
    let takes_value = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    match flag {
        Some(flag) if takes_value => vec![flag, value(arg)],
        Some(flag) => vec![flag],
        None if arg.is_last_set() => vec!["--".to_owned(), value(arg)],
        None => vec![value(arg)],
    }
}

/// Parses, and adds what is said to be missing until nothing is.
fn parse(command: &Command, mut arguments: Vec<String>) -> Result<Cli, clap::Error> {
    loop {
        let error = match Cli::try_parse_from(&arguments) {
            Err(error) if error.kind() == ErrorKind::MissingRequiredArgument => error,
            result => return result,
        };
        let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else { return Err(error) };
        let is_missing = |arg: &&Arg| missing.iter().any(|missing| *missing == arg.to_string());
        let more: Vec<_> = command.get_arguments().filter(is_missing).flat_map(typed).collect();
        assert!(!more.is_empty(), "{missing:?} is missing, and no argument is called so");
        // What follows `--` stays last.
        let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
        arguments.splice(end..end, more);
    }
}

#[test]
fn every_verb_takes_every_flag_that_it_claims_to_take() {
    Cli::command().debug_assert();
    let mut tried = 0;
    for (verb, command) in verbs() {
        for arg in command.get_arguments().filter(|arg| !matches!(arg.get_id().as_str(), "help" | "version")) {
            let positional = command.get_positionals().filter(|arg| arg.is_required_set()).flat_map(typed);
            let given = if arg.is_positional() && arg.is_required_set() { Vec::new() } else { typed(arg) };
            let arguments: Vec<_> = verb.iter().cloned().chain(positional).chain(given).collect();
            let result = parse(&command, arguments.clone());
            assert!(result.is_ok(), "{arguments:?}: {}", result.unwrap_err());
            tried += 1;
        }
    }
    assert!(tried > 100, "{tried} flags are fewer than there are");
}
