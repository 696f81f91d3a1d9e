//! `fuzzbox instrument`: only rewrite.

use super::exit::{Exit, UserError, Verdict};
use super::module_file::{in_file, read_module};
use super::write::{say, shown};
use anyhow::Context;
use fuzzbox_instrument::{ComponentModule, Options};
use std::path::PathBuf;

/// Flags of `instrument`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The module or component, wasm or wat
    #[arg(value_name = "WASM")]
    target: PathBuf,
    /// Where the rewritten module goes
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Where the edge map goes, as JSON; of a component, one for each core module inside, with its path
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        let target = shown(&self.target);
        let bytes =
            read_module(&self.target).with_context(|| format!("failed to read target `{target}`")).blame_user()?;
        let bytes = crate::sandbox::assemble(&bytes)
            .map_err(|error| in_file(error, &self.target))
            .with_context(|| format!("failed to load target `{target}`"))
            .blame_user()?;
        let Rewritten { wasm, edges, map } =
            rewrite(&bytes).with_context(|| format!("failed to instrument `{target}`")).blame_user()?;
        write(&self.output, &wasm)?;
        if let Some(path) = &self.map {
            write(path, map.as_bytes())?;
        }
        say!("{}: {edges} edges in {} bytes; {} bytes before", shown(&self.output), wasm.len(), bytes.len());
        Ok(Exit::Clean)
    }
}

/// A rewritten file.
struct Rewritten {
    wasm: Vec<u8>,
    edges: usize,
    /// The edge map as JSON; of a component, a list of the paths and edge maps of its core modules.
    map: String,
}

fn rewrite(bytes: &[u8]) -> anyhow::Result<Rewritten> {
    let options = Options::default();
    if !fuzzbox_instrument::is_component(bytes) {
        let new = fuzzbox_instrument::instrument(bytes, &options)?;
        return Ok(Rewritten { edges: new.edges.edges.len(), map: new.edges.to_json(), wasm: new.wasm });
    }
    let new = fuzzbox_instrument::instrument_component(bytes, &options)?;
    let edges = new.modules.iter().map(|module| module.module.edges.edges.len()).sum();
    let map = |module: &ComponentModule| {
        format!("{{\"path\":{:?},\"map\":{}}}", module.path, module.module.edges.to_json().trim_end())
    };
    let maps: Vec<_> = new.modules.iter().map(map).collect();
    Ok(Rewritten { wasm: new.wasm, edges, map: format!("[{}]\n", maps.join(",\n")) })
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
    write().with_context(|| format!("failed to write `{}`", shown(path)))
}
