//! Gets files out of packages, with the registries' own tools, and holds them against the hashes in the table.
//!
//! A file that is there with the right hash is taken; nothing is asked of a registry then. Archives are not kept.

use super::table::{File, Module, Package, Registry};
use crate::guests::{lock_file, tool, wheel, write_whole};
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where modules from outside are kept: `modules` in cargo's target folder.
pub fn cache() -> PathBuf {
    crate::cache().with_file_name("modules")
}

/// The module's file, fetched first if it has to be.
pub(super) fn module(package: &Package, module: &Module) -> Result<PathBuf> {
    provide(package)?;
    Ok(path(package, &module.file))
}

/// The module's command's files that come from its package: where the guest finds them, and their contents.
pub(super) fn data(package: &Package, module: &Module) -> Result<Vec<(String, Vec<u8>)>> {
    let wanted = module.command.iter().flat_map(|command| command.data);
    let read = |(at, file): &(&str, File)| Ok(((*at).to_owned(), super::read(&path(package, file))?));
    wanted.map(read).collect()
}

fn path(package: &Package, file: &File) -> PathBuf {
    let folder = format!("{}-{}", package.name.replace(['@', '/'], "_"), package.version);
    cache().join(folder).join(file.path.rsplit('/').next().unwrap_or(file.path))
}

/// Fetches a package if one of its files is missing or isn't what the table says.
fn provide(package: &Package) -> Result<()> {
    fs::create_dir_all(cache()).with_context(|| format!("failed to create `{}`", cache().display()))?;
    let _lock = lock_file(&cache().join("fetch.lock"))?;
    let is_current = |file: &File| fs::read(path(package, file)).is_ok_and(|bytes| hash(&bytes) == file.blake3);
    if package.files().all(is_current) {
        return Ok(());
    }
    let name = format!("{} {}", package.name, package.version);
    let folder = tempfile::tempdir_in(cache()).context("failed to create a folder to download to")?;
    let archive = download(package, folder.path()).with_context(|| format!("failed to download {name}"))?;
    for file in package.files() {
        let bytes = member(package, &archive, file.path, folder.path())
            .with_context(|| format!("failed to take `{}` out of {name}", file.path))?;
        let found = hash(&bytes);
        ensure!(found == file.blake3, "`{}` of {name} has blake3 {found}, expected {}", file.path, file.blake3);
        let path = path(package, file);
        let parent = path.parent().context("a file lies in a folder")?;
        fs::create_dir_all(parent).with_context(|| format!("failed to create `{}`", parent.display()))?;
        write_whole(&path, &bytes)?;
    }
    Ok(())
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

fn download(package: &Package, folder: &Path) -> Result<PathBuf> {
    if let Registry::PyPi { sha256 } = package.registry {
        return wheel::download(&format!("{}=={}", package.name, package.version), sha256, folder);
    }
    if !tool::exists("npm") {
        tool::install("npm", &["npm"])?;
    }
    let mut npm = Command::new("npm");
    npm.args(["pack", "--ignore-scripts", "--silent", "--pack-destination"]).arg(folder);
    // Elsewhere than in a folder that has settings for npm.
    tool::run(npm.arg(format!("{}@{}", package.name, package.version)).current_dir(folder))?;
    let files = fs::read_dir(folder)?.filter_map(Result::ok).map(|entry| entry.path());
    files.into_iter().find(|path| path.extension().is_some_and(|e| e == "tgz")).context("npm made no archive")
}

fn member(package: &Package, archive: &Path, file: &str, folder: &Path) -> Result<Vec<u8>> {
    if let Registry::PyPi { .. } = package.registry {
        return wheel::member(archive, file, &folder.join("member"));
    }
    let mut tar = Command::new("tar");
    Ok(tool::run(tar.arg("-xzOf").arg(archive).arg(format!("package/{file}")))?.stdout)
}
