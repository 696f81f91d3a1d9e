//! What counting costs: real programs read their seeds, as they are and rewritten, and the CPU time is compared.
//!
//! ```text
//!            round 1                 round 2
//! plain  |== warm ==|####|       |== warm ==|####|            #### the same work everywhere,
//! full              |== warm ==|#####|   ...                       at least 200 ms of the plain module
//! traced                         |== warm ==|########|
//! ```
//!
//! A round gives each variant a new instance, on which all seeds are run once untimed and then so often that it takes
//! long enough. An instance is kept: between two inputs nothing is restored, nothing is judged, and the input is copied
//! to the same place. A variant's ratio is the median, over the rounds, of its time by that of the plain module *in the
//! same round*, so that a machine that slows down for a while slows down both.
//!
//! What the figure contains: the rewritten code with everything in it, and the call of the entry. What it doesn't: the
//! host's work on counters and pages.

pub(crate) mod machine;
pub(crate) mod measure;
mod report;
mod variants;

pub use measure::{Cost, Settings, VariantCost};
pub use report::{json, table};

use crate::workspace;
use anyhow::{Context as _, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// The guests that are measured when none is named.
pub const GUESTS: &[&str] = &["cjson", "expat", "md4c", "sqlite3", "zlib"];

/// Measures one guest, which is built first if it isn't there.
///
/// # Errors
///
/// If the guest can't be built, has no seeds in `tests/guests/<name>/bench-seeds`, or traps on one.
pub fn measure(guest: &str, settings: Settings) -> Result<Cost> {
    if !GUESTS.contains(&guest) {
        bail!("no seeds for guest `{guest}`; there are some for {}", GUESTS.join(", "));
    }
    let seeds = seeds(guest)?;
    let path = crate::guest(guest)?;
    let wasm = fs::read(&path).with_context(|| format!("failed to read `{}`", path.display()))?;
    measure::measure(guest, &wasm, &seeds, settings).with_context(|| format!("failed to measure `{guest}`"))
}

/// A module, and inputs for it.
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) wasm: PathBuf,
    /// Sorted by the names of their files.
    pub(crate) seeds: Vec<Vec<u8>>,
}

impl Program {
    /// What is called `name`: one of [`GUESTS`], which is built if it isn't there, or `MODULE=FOLDER` for any other.
    pub(crate) fn find(name: &str) -> Result<Self> {
        let Some((module, folder)) = name.split_once('=') else {
            return Ok(Self { name: name.into(), seeds: seeds(name)?, wasm: crate::guest(name)? });
        };
        let stem = Path::new(module).file_stem().with_context(|| format!("`{module}` is no module"))?;
        let name = stem.to_string_lossy().into_owned();
        Ok(Self { name, wasm: module.into(), seeds: files(Path::new(folder))? })
    }
}

/// A guest's seeds, sorted by name.
pub(crate) fn seeds(guest: &str) -> Result<Vec<Vec<u8>>> {
    files(&workspace().join("tests/guests").join(guest).join("bench-seeds"))
}

/// The contents of a folder's files, sorted by name.
pub(crate) fn files(folder: &Path) -> Result<Vec<Vec<u8>>> {
    let list = || -> std::io::Result<Vec<_>> { fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect() };
    let mut paths = list().with_context(|| format!("failed to read `{}`", folder.display()))?;
    paths.sort();
    paths.iter().map(|path| fs::read(path).with_context(|| format!("failed to read `{}`", path.display()))).collect()
}
