//! What C guests are made of, for compilers of other targets.

use super::recipe::Source;
use super::{clang, debian, recipe};
use crate::workspace;
use anyhow::{Result, bail};
use std::path::PathBuf;

/// The sources of a C guest.
pub(crate) struct Sources {
    /// Optimisation and debug information, as the guest is compiled with.
    pub(crate) flags: &'static [&'static str],
    /// Folders in which headers are found.
    pub(crate) header_folders: Vec<PathBuf>,
    /// C files of this repository.
    pub(crate) ours: Vec<PathBuf>,
    /// C files of the Debian package.
    pub(crate) theirs: Vec<PathBuf>,
    /// Flags for those alone.
    pub(crate) flags_of_theirs: &'static [&'static str],
    /// The package and its version, if there is one: `expat 2.5.0-1`.
    pub(crate) package: String,
}

/// Gives the sources of a guest, fetching its Debian package if that isn't here.
pub(crate) fn sources(name: &str) -> Result<Sources> {
    let Source::C(c) = &recipe::find(name)?.source else { bail!("guest `{name}` is not made of C") };
    let is_c = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "c");
    let mut sources = Sources {
        flags: c.flags,
        header_folders: vec![workspace().join(c.home)],
        ours: clang::own_files(c)?.into_iter().filter(is_c).collect(),
        theirs: Vec::new(),
        flags_of_theirs: &[],
        package: String::new(),
    };
    if let Some(part) = &c.package {
        std::fs::create_dir_all(crate::cache())?;
        let unpacked = debian::source(part)?;
        let folder = unpacked.folder.join(part.folder);
        sources.theirs = part.files.iter().map(|file| folder.join(file)).collect();
        sources.header_folders.push(folder);
        sources.flags_of_theirs = part.flags;
        sources.package = format!("{} {}", unpacked.name, unpacked.version);
    }
    Ok(sources)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_out_of_a_wheel_has_no_sources() {
        assert!(sources("icepack").err().expect("no sources").to_string().contains("`icepack`"));
    }

    #[test]
    fn an_example_is_made_of_our_sources_alone() {
        let sources = sources("first-bug").unwrap();
        assert!(!sources.ours.is_empty() && sources.theirs.is_empty() && sources.package.is_empty());
    }
}
