//! Which debug information lines are looked up in: what `--debug-info` names, else what the module says.

use super::exit::{Fault, UserError};
use super::module_file::{MODULE_BYTES_MAX, read_module};
use super::write::{shown, warning};
use crate::sandbox::Target;
use crate::store::dir::IS_LINK;
use crate::store::{Dir, StoreError};
use crate::symbols::{DebugInfo, Fit, Pointer, Symbols};
use crate::text::size;
use anyhow::{Context, Result, anyhow};
use std::path::{Path, PathBuf};

/// Flags of verbs that show file and line.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct DebugInfoArgs {
    /// Where file and line come from: a wasm file with the module's DWARF, or a source map [default: the module, or
    /// what it names]
    #[arg(long, value_name = "FILE", help_heading = "Target")]
    debug_info: Option<PathBuf>,
}

/// The debug information of one module.
#[derive(Debug, Default)]
pub(super) struct ModuleDebugInfo {
    /// What is not in the module itself, if there is such.
    info: Option<DebugInfo>,
    /// What there is, for people: `DWARF in the module`; `None` if there is nothing.
    pub(super) kind: Option<String>,
    /// Why what the module names is not there, for people.
    pub(super) missing: Option<String>,
}

impl DebugInfoArgs {
    /// Whether the flag was typed.
    pub(super) fn is_given(&self) -> bool {
        self.debug_info.is_some()
    }

    /// Finds the debug information of `module`, which was read from the file `path`, or came from the store. What looks
    /// wrong is said on standard error; only a flag that can't be followed is an error.
    pub(super) fn find(&self, module: &[u8], path: Option<&Path>) -> Result<ModuleDebugInfo, Fault> {
        let Some(given) = &self.debug_info else { return Ok(named(module, path)) };
        let path = given;
        let given = shown(path);
        let read = || DebugInfo::parse(&read_module(path)?);
        let info = read().with_context(|| format!("failed to read debug information `{given}`")).blame_user()?;
        match info.fits(module) {
            Fit::Same => {}
            Fit::Other => warning!("`{given}` is of another build of the module: lines may be wrong"),
            Fit::Unknown => warn_unknown(path),
        }
        Ok(ModuleDebugInfo { kind: Some(format!("{} in `{given}`", info.kind())), info: Some(info), missing: None })
    }
}

impl ModuleDebugInfo {
    /// Lets `symbols` take lines from it.
    pub(super) fn apply(self, symbols: Symbols) -> Symbols {
        match self.info {
            Some(info) => symbols.with_debug_info(info),
            None => symbols,
        }
    }
}

/// Names and source positions of a target.
pub(super) fn symbols(target: &Target, debug_info: ModuleDebugInfo) -> Symbols {
    let names = |index| target.edges.function_name(index).map(ToOwned::to_owned);
    debug_info.apply(Symbols::new(target.candidate.bytes().clone(), names))
}

/// What the module itself has or names.
pub(super) fn named(module: &[u8], path: Option<&Path>) -> ModuleDebugInfo {
    let Some(pointers) = crate::symbols::pointers(module) else {
        return ModuleDebugInfo { kind: Some("DWARF in the module".to_owned()), ..ModuleDebugInfo::default() };
    };
    let mut missing = None;
    for pointer in pointers {
        match follow(&pointer, module, path) {
            Ok((info, kind)) => return ModuleDebugInfo { info: Some(info), kind: Some(kind), missing: None },
            Err(why) => missing = missing.or(Some(why)),
        }
    }
    ModuleDebugInfo { missing, ..ModuleDebugInfo::default() }
}

/// The debug information that a module names, or why it is not there.
fn follow(pointer: &Pointer, module: &[u8], path: Option<&Path>) -> Result<(DebugInfo, String), String> {
    let warn = |why: String| {
        warning!("no lines from the module's debug information: {why}");
        why
    };
    match pointer {
        Pointer::Url(url) => Err(format!("`{}` is not followed", url.escape_debug())),
        Pointer::Outside(url) => {
            let url = url.escape_debug();
            Err(warn(format!("`{url}` is not below the module's directory; --debug-info reads it all the same")))
        }
        Pointer::Broken(why) => Err(warn(why.clone())),
        Pointer::Data(map) => {
            let info = DebugInfo::parse(map).map_err(|error| warn(format!("its source map: {error:#}")))?;
            if info.fits(module) == Fit::Other {
                return Err(warn("its source map is of another module".to_owned()));
            }
            Ok((info, "source map in the module".to_owned()))
        }
        Pointer::File(below) => {
            let shown = shown(below);
            let Some(path) = path else { return Err(format!("`{shown}` is not in the store")) };
            match read(path.parent().unwrap_or(Path::new("")), below) {
                Ok(None) => Err(format!("`{shown}` is not there")),
                Err(error) => Err(warn(format!("failed to read `{shown}`: {error:#}"))),
                Ok(Some(info)) => match info.fits(module) {
                    Fit::Other => {
                        Err(warn(format!("`{shown}` is of another build; --debug-info uses it all the same")))
                    }
                    fit => {
                        if fit == Fit::Unknown {
                            warn_unknown(below);
                        }
                        let kind = format!("{} in `{shown}`", info.kind());
                        Ok((info, kind))
                    }
                },
            }
        }
    }
}

/// Reads a file that a module named, below the directory that the module is in; `None` if there is none. Links are not
/// followed: they may lead to anything. A pipe or a device would never end.
fn read(dir: &Path, below: &Path) -> Result<Option<DebugInfo>> {
    let bytes =
        Dir::open(dir)?.read(below, MODULE_BYTES_MAX).map_err(|error| match error.downcast::<StoreError>() {
            Ok(StoreError::Damaged { why, .. }) if why == IS_LINK => {
                anyhow!("it is reached by a symbolic link; --debug-info reads it all the same")
            }
            Ok(StoreError::Damaged { why, .. }) => anyhow!(why),
            Ok(StoreError::TooLarge { bytes_max, .. }) => anyhow!("it is larger than {}", size(bytes_max)),
            Ok(error) => error.into(),
            Err(error) => error,
        })?;
    bytes.map(|bytes| DebugInfo::parse(&bytes)).transpose()
}

fn warn_unknown(path: &Path) {
    warning!(
        "`{}` has neither code nor a build id to compare with the module's: if it is of another build, lines \
         are wrong",
        shown(path)
    );
}
