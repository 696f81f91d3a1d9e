//! Other modules that are linked to the target before anything else: what is fuzzed, and stored, is all of them as one.

use super::exit::{Fault, UserError};
use super::glue;
use super::module_file::{in_file, read_module};
use super::write::shown;
use crate::sandbox::{Part, assemble, linked};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Flags that name other modules.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct LinkArgs {
    /// Module, wasm or wat, that imports what the target exports, or exports what it imports, by name: a harness for a
    /// library, or what a recipe can't say; repeatable
    #[arg(long, value_name = "WASM", help_heading = "Target")]
    with: Vec<PathBuf>,
    /// Module that the target loads while it runs (Emscripten's `dylink.0`), such as a grammar of tree-sitter;
    /// repeatable
    #[arg(long, value_name = "WASM", help_heading = "Target")]
    link: Vec<PathBuf>,
}

impl LinkArgs {
    /// Whether there are some.
    pub(super) fn is_given(&self) -> bool {
        !self.with.is_empty() || !self.link.is_empty()
    }

    /// The flags as they are typed, each with a space before it.
    pub(super) fn typed(&self) -> String {
        let flag = |name: &'static str| move |path: &PathBuf| format!(" {name} {}", shown(path));
        self.link.iter().map(flag("--link")).chain(self.with.iter().map(flag("--with"))).collect()
    }

    /// The target, as its loader would have it, and all that is linked to it. `glue` is its JavaScript.
    pub(super) fn linked(&self, path: &Path, bytes: Vec<u8>, glue: &str) -> Result<Vec<u8>, Fault> {
        if !self.is_given() {
            return Ok(glue::completed(bytes, glue));
        }
        let read = |path: &PathBuf| -> Result<(String, Vec<u8>), Fault> {
            let name = shown(path).to_string();
            let bytes = read_module(path).with_context(|| format!("failed to read `{name}`")).blame_user()?;
            let wasm = assemble(&bytes).map_err(|error| in_file(error, path));
            let wasm = wasm.with_context(|| format!("failed to load `{name}`")).blame_user()?;
            Ok((name, wasm.into_owned()))
        };
        let link: Vec<_> = self.link.iter().map(read).collect::<Result<_, _>>()?;
        let with: Vec<_> = self.with.iter().map(read).collect::<Result<_, _>>()?;
        let name = shown(path).to_string();
        let assembled = assemble(&bytes).map_err(|error| in_file(error, path));
        let assembled = assembled.with_context(|| format!("failed to load target `{name}`")).blame_user()?.into_owned();
        // What is loaded with others is put in its place with them.
        let target = if link.is_empty() { glue::completed(assembled, glue) } else { assembled };
        let sides: Vec<Part<'_>> = link.iter().map(|(name, wasm)| Part { name, wasm }).collect();
        let shims: Vec<Part<'_>> = with.iter().map(|(name, wasm)| Part { name, wasm }).collect();
        let all = linked(Part { name: &name, wasm: &target }, &sides, &shims);
        all.with_context(|| format!("failed to link `{name}`")).blame_user()
    }
}
