//! Debug information that is not in the module: where the module says it is, and whether it is the module's.

use super::dwarf::Dwarf;
use super::layout::{Identity, Layout};
use super::path::scheme;
use super::source_map::SourceMap;
use anyhow::{Context, Result, bail, ensure};
use fuzzbox_instrument::Addresses;
use std::path::{Component, Path, PathBuf};

/// Source lines of a module from another file: a wasm module that has its DWARF, or a source map.
///
/// ```
/// use fuzzbox::symbols::{DebugInfo, Symbols};
/// use fuzzbox::outcome::Frame;
/// // One function: unreachable.
/// let module = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x0a\x05\x01\x03\0\0\x0b";
/// let map = br#"{"version":3,"sources":["a.ts"],"names":[],"mappings":"sBAUE"}"#;
/// let symbols = Symbols::new(&module[..], |_| Some("f".to_owned())).with_debug_info(DebugInfo::parse(map)?);
/// assert_eq!(symbols.resolve(&[Frame { function: 0, offset: 23 }])[0].place(), "f at a.ts:11:3");
/// # anyhow::Ok(())
/// ```
pub struct DebugInfo {
    pub(super) lines: Lines,
    identity: Identity,
}

/// Where lines come from.
pub(super) enum Lines {
    Dwarf(Box<Dwarf>),
    Map(SourceMap),
}

/// Whether debug information is of a module's build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It has the same code, or no code and the same build id; a source map: nothing speaks against it.
    Same,
    /// It has nothing that could be compared.
    Unknown,
    /// It has other code, or no code and another build id; a source map: it goes on behind the module's end.
    Other,
}

/// What a module says about debug information outside of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pointer {
    /// A file, relative to the module's directory and below it.
    File(PathBuf),
    /// A source map that is in the module.
    Data(Vec<u8>),
    /// A URL of the network, or of a kind that is not known: never followed.
    Url(String),
    /// A path that leads out of the module's directory: not followed, because a module must not choose what is read.
    Outside(String),
    /// Damaged: a `data:` URL that is none.
    Broken(String),
}

impl DebugInfo {
    /// Parses a wasm module that has DWARF, with or without code, or a source map; which of them is seen from the
    /// content.
    ///
    /// # Errors
    ///
    /// It is neither. DWARF is looked at when the first line is asked for.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        if bytes.starts_with(b"\0asm") {
            let layout = Layout::read(bytes);
            ensure!(layout.has_dwarf(), "it is a wasm file without DWARF (no `.debug_info` section)");
            return Ok(Self {
                lines: Lines::Dwarf(Box::new(Dwarf::new(&layout.debug_sections))),
                identity: layout.identity,
            });
        }
        if !bytes.trim_ascii_start().starts_with(b"{") {
            bail!("it is neither a wasm file nor a source map");
        }
        Ok(Self { lines: Lines::Map(SourceMap::parse(bytes)?), identity: Identity::default() })
    }

    /// `DWARF` or `source map`.
    pub fn kind(&self) -> &'static str {
        match self.lines {
            Lines::Dwarf(_) => "DWARF",
            Lines::Map(_) => "source map",
        }
    }

    /// Whether it is of the build that `module` is of.
    pub fn fits(&self, module: &[u8]) -> Fit {
        if Addresses::of(module).is_some() {
            return Fit::Unknown; // the code of a linked module is not that of the module before
        }
        let ours = match &self.lines {
            Lines::Map(map) => return if map.fits(module.len()) { Fit::Same } else { Fit::Other },
            Lines::Dwarf(_) => Layout::read(module).identity,
        };
        let same = |same: bool| if same { Fit::Same } else { Fit::Other };
        match (&self.identity, &ours) {
            // A tool that rewrites code may leave a build id as it was.
            (Identity { code: Some(theirs), .. }, Identity { code: Some(ours), .. }) => same(theirs == ours),
            (Identity { build_id: Some(theirs), .. }, Identity { build_id: Some(ours), .. }) => same(theirs == ours),
            _ => Fit::Unknown,
        }
    }
}

impl std::fmt::Debug for DebugInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DebugInfo").field("kind", &self.kind()).finish_non_exhaustive()
    }
}

/// Where a module says that its debug information is, the best first; `None` if it has DWARF itself.
///
/// Two custom sections say it: `external_debug_info`, by `emcc -gseparate-dwarf`, and `sourceMappingURL`.
pub fn pointers(module: &[u8]) -> Option<Vec<Pointer>> {
    let layout = Layout::read(module);
    if layout.has_dwarf() {
        return None;
    }
    Some([layout.external_debug_info, layout.source_mapping_url].into_iter().flatten().map(Pointer::new).collect())
}

impl Pointer {
    fn new(url: String) -> Self {
        // A drive's letter is no scheme, and `C:` is no name of a file that anybody chose.
        if url.as_bytes().get(1) == Some(&b':') {
            return Self::Outside(url);
        }
        match scheme(&url) {
            Some(scheme) if scheme.eq_ignore_ascii_case("data") => match data(&url) {
                Ok(data) => Self::Data(data),
                Err(error) => Self::Broken(format!("{error:#}")),
            },
            Some(_) => Self::Url(url),
            None => {
                let is_below = |part| matches!(part, Component::Normal(_) | Component::CurDir);
                let path = Path::new(&url);
                if url.contains(['\\', '\0']) || !path.components().all(is_below) {
                    return Self::Outside(url);
                }
                Self::File(path.to_owned())
            }
        }
    }
}

/// The content of a `data:` URL. It is shorter than the module that it is in.
fn data(url: &str) -> Result<Vec<u8>> {
    let broken = |error: &dyn std::fmt::Debug| anyhow::anyhow!("{error:?}");
    let read = || {
        let url = data_url::DataUrl::process(url).map_err(|error| broken(&error))?;
        url.decode_to_vec().map(|(bytes, _)| bytes).map_err(|error| broken(&error))
    };
    read().context("its `data:` URL is broken")
}

#[cfg(test)]
mod tests;
