//! Runs a program until it and its children have used so much CPU time.

use crate::guests::tool;
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// The program that does it, in C.
pub(crate) struct Meter(pub(crate) PathBuf);

/// What a program did.
#[derive(Debug)]
pub(crate) struct Metered {
    /// Its exit code; 128 and the signal's number if one ended it.
    pub(crate) status: i32,
    /// How often it was started; more than once if it crashed.
    pub(crate) starts: u32,
    /// CPU time of it and all its children.
    pub(crate) cpu: Duration,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Meter {
    /// Runs `command` until it has used `time`, or ends; again if it crashes before.
    pub(crate) fn run(&self, command: &Command, time: Duration) -> Result<Metered> {
        self.run_so_often(0, command, time)
    }

    /// Runs `command` until it has used `time`, or ends, or crashes.
    pub(crate) fn run_once(&self, command: &Command, time: Duration) -> Result<Metered> {
        self.run_so_often(1, command, time)
    }

    /// The same, at most so many times; 0 for any number.
    fn run_so_often(&self, starts: u32, command: &Command, time: Duration) -> Result<Metered> {
        let mut metered = Command::new(&self.0);
        metered.args([time.as_millis().to_string(), starts.to_string()]);
        metered.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => metered.env(name, value),
                None => metered.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            metered.current_dir(folder);
        }
        let output = tool::run(&mut metered)?;
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        parse(String::from_utf8_lossy(&output.stdout).into_owned(), stderr)
    }
}

fn parse(mut stdout: String, stderr: String) -> Result<Metered> {
    let start = stdout.trim_end().rfind('{').context("the meter printed nothing")?;
    let line: Value = serde_json::from_str(&stdout[start..]).context("the meter was interrupted")?;
    let number = |name: &str| line[name].as_u64().with_context(|| format!("the meter printed no `{name}`"));
    let (status, starts, cpu) = (number("status")? as i32, number("starts")? as u32, number("cpu_ns")?);
    stdout.truncate(start);
    Ok(Metered { status, starts, cpu: Duration::from_nanos(cpu), stdout, stderr })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meters_line_comes_last() {
        let line = "{\"status\":1,\"starts\":2,\"cpu_ns\":3000000}\n";
        let metered = parse(format!("{{\"event\":\"done\"}}\n{line}"), String::new()).unwrap();
        assert_eq!((metered.status, metered.starts, metered.cpu), (1, 2, Duration::from_millis(3)));
        assert_eq!(metered.stdout, "{\"event\":\"done\"}\n");
        assert!(parse("nothing".into(), String::new()).is_err());
    }
}
