//! `fuzzbox cargo fmt`: what a target makes of an input.
//!
//! A variable in the environment has libfuzzer-sys write the value into a file, by `Debug`, in the place of giving it
//! to the target. Both are the guest's own: nothing is read or written on the machine.

use super::super::compiling;
use super::super::exit::{Exit, UserError, Verdict};
use super::super::input;
use super::super::store_args::StoreArgs;
use super::super::target_args::{candidate, compile};
use super::super::write;
use super::build::BuildArgs;
use super::folder::FolderArgs;
use super::tell_failed;
use super::toolchain::WASI;
use crate::sandbox::{CodeCache, Executor};
use crate::settings::Settings;
use crate::text::printable;
use anyhow::{Context, anyhow};
use std::sync::Arc;

/// Flags of `cargo fmt`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The target
    #[arg(value_name = "TARGET")]
    target: String,
    /// A file, or the hash of a stored input or finding
    #[arg(value_name = "INPUT")]
    input: String,
    #[command(flatten)]
    folder: FolderArgs,
    #[command(flatten)]
    build: BuildArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// Names the file to libfuzzer-sys.
const VARIABLE: &str = "RUST_LIBFUZZER_DEBUG_PATH";
/// The file, in the guest's own file system.
const PATH: &str = "/value";

impl Args {
    pub(super) fn run(self) -> Verdict {
        // It is no campaign, so it need not end soon.
        let limits = Settings {
            input_bytes_max: Settings::INPUT_BYTES_MAX,
            fuel_max: Settings::FUEL_MAX,
            ..Settings::default()
        };
        let mut inputs = input::read(&self.input, &limits, || self.store.open_existing())?;
        let Some((_, bytes)) = inputs.pop().filter(|_| inputs.is_empty()) else {
            return Err(anyhow!("`{}` is not one input", printable(&self.input))).blame_user();
        };
        let folder = self.folder.find()?;
        let built = self.build.for_wasi().build(&folder, std::slice::from_ref(&self.target))?;
        tell_failed(&folder, &built)?;
        let (name, module) = &built.modules[0];
        let candidate = candidate(module, limits)?.with_variable(VARIABLE, PATH);
        let code = (&CodeCache::of_user(), true, None);
        let target = Arc::new(compile(module, candidate, code, &mut compiling::live())?);
        let mut executor = Executor::new(&target)?;
        let outcome = executor.run(&bytes)?;
        let value = executor.file(PATH).filter(|_| outcome.failure().is_none());
        let value = value
            .with_context(|| {
                let (name, outcome) = (printable(name), outcome.name());
                format!("`{name}` makes no value of it: {outcome}\nhelp: values are shown by libfuzzer-sys 0.4 and later, for {WASI}")
            })
            .blame_user()?;
        String::from_utf8_lossy(&value).lines().try_for_each(|line| write::line(&line))?;
        Ok(Exit::Clean)
    }
}
