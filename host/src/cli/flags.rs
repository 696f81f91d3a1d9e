//! Every flag that a verb claims to take is taken, and every flag that a text names is there.

use super::Cli;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command, CommandFactory, Parser};
use std::collections::BTreeSet;
use std::path::Path;

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
        "CHECKS" => "none",
        "WHAT" => "stdout",
        "RECIPE" => "f(input, len)",
        "STRATEGY" => "quickcheck",
        "GOAL" => "changed",
        "TARGET" | "TRIPLE" | "FEATURES" | "WASM" | "HASH | WASM" | "FILE" | "DIR" | "INPUT" | "HASH" | "ARG"
        | "EXPORT" | "FUNCTION" | "NAME" => "abcd",
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
        // What can be left out beside another flag stands in other brackets.
        let name = |text: &str| text.trim_matches(['<', '>', '[', ']']).to_owned();
        let is_missing = |arg: &&Arg| missing.iter().any(|missing| name(missing) == name(&arg.to_string()));
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

/// Flags of other programs in our texts.
const OF_OTHERS: [&str; 19] = [
    "allow-undefined-file",
    "bin",
    "bins",
    "cfg",
    "config",
    "debug",
    "export",
    "format-version",
    "keep-going",
    "manifest-path",
    "memory-io",
    "message-format",
    "no-deps",
    "print",
    "profile",
    // AssemblyScript's --sourceMap.
    "source",
    "target-dir",
    "toolchain",
    "use",
];

/// The long flags that a text names: words that begin with `--`.
fn named(text: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for (at, _) in text.match_indices("--") {
        let before = text[..at].chars().next_back();
        let flag: String = text[at + 2..].chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
        if before.is_none_or(|c| c.is_whitespace() || "`('\"n".contains(c))
            && flag.starts_with(|c: char| c.is_ascii_lowercase())
        {
            named.insert(flag.trim_end_matches('-').to_owned());
        }
    }
    named
}

/// The string literals of a Rust source file, without those of its tests. Comments have none.
fn literals(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut literals = Vec::new();
    let mut rest = source.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '/' if rest.peek() == Some(&'/') => drop(rest.by_ref().find(|&c| c == '\n')),
            // A character, or the name of a lifetime.
            '\'' => {
                if rest.peek() == Some(&'\\') {
                    rest.next();
                    rest.next();
                } else if rest.peek() == Some(&'"') {
                    rest.next();
                }
            }
            '"' => {
                let mut literal = String::new();
                while let Some(c) = rest.next().filter(|&c| c != '"') {
                    literal.push(c);
                    if c == '\\' {
                        literal.extend(rest.next());
                    }
                }
                literals.push(literal);
            }
            _ => {}
        }
    }
    literals
}

/// All files below a directory whose names end so.
fn sources(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "tests" && name != "golden" {
            found.extend(sources(&path));
        } else if name.ends_with(".rs") && !["tests.rs", "flags.rs", "libfuzzer.rs"].contains(&name) {
            found.push(std::fs::read_to_string(&path).unwrap());
        }
    }
    found
}

#[test]
fn every_flag_that_a_text_names_is_there() {
    let flags_of = |command: &Command| -> BTreeSet<String> {
        command.get_arguments().filter_map(|arg| arg.get_long().map(str::to_owned)).collect()
    };
    let verbs = verbs();
    let all: BTreeSet<String> = verbs.iter().flat_map(|(_, command)| flags_of(command)).collect();
    let of_run = verbs.iter().find(|(typed, _)| typed[1] == "run").map(|(_, command)| flags_of(command)).unwrap();
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut seen = BTreeSet::new();
    for literal in sources(&src).iter().flat_map(|source| literals(source)) {
        for flag in named(&literal) {
            assert!(all.contains(&flag) || OF_OTHERS.contains(&&*flag), "--{flag} does not exist: {literal}");
            seen.insert(flag);
        }
    }
    for flag in ["corpus", "dict", "fuel-max", "memory-max", "entry", "store", "stub-imports"] {
        assert!(seen.contains(flag), "texts that name --{flag} are not found");
    }
    for advice in literals(&std::fs::read_to_string(src.join("report/advice.rs")).unwrap()) {
        assert!(named(&advice).is_subset(&of_run), "`run` has not all that is advised: {advice}");
    }
    for (_, mut command) in verbs {
        let help = command.render_long_help().to_string();
        let known: BTreeSet<String> = named(&help).into_iter().filter(|flag| flag != "help").collect();
        assert!(known.is_subset(&all), "{help}");
    }
}
