//! `fuzzbox instrument`: only rewrite.

use super::exit::{Exit, UserError, Verdict};
use super::output::say;
use super::target_args::read_module;
use anyhow::Context;
use std::path::PathBuf;

/// Flags of `instrument`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The module, wasm or wat
    #[arg(value_name = "WASM")]
    target: PathBuf,
    /// Where the rewritten module goes
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Where the edge map goes, as JSON
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        let shown = self.target.display();
        let bytes =
            read_module(&self.target).with_context(|| format!("failed to read target `{shown}`")).blame_user()?;
        let bytes = crate::sandbox::assemble(&bytes)
            .with_context(|| format!("failed to load target `{shown}`"))
            .blame_user()?;
        let instrumented = fuzzbox_instrument::instrument(&bytes, &fuzzbox_instrument::Options::default())
            .with_context(|| format!("failed to instrument `{shown}`"))
            .blame_user()?;
        write(&self.output, &instrumented.wasm)?;
        if let Some(map) = &self.map {
            write(map, instrumented.edges.to_json().as_bytes())?;
        }
        say!(
            "{}: {} edges in {} bytes; {} bytes before",
            self.output.display(),
            instrumented.edges.edges.len(),
            instrumented.wasm.len(),
            bytes.len()
        );
        Ok(Exit::Clean)
    }
}

/// Writes a file whole or not at all.
fn write(path: &std::path::Path, bytes: &[u8]) -> anyhow::Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(std::path::Path::new("."));
    let write = || {
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        std::io::Write::write_all(&mut file, bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        anyhow::Ok(())
    };
    write().with_context(|| format!("failed to write `{}`", path.display()))
}
