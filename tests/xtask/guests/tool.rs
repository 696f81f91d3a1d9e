//! Runs the programs that builds need, and installs those that are missing where that is ours to do.

use anyhow::{Context as _, Result, bail};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs a command to its end. What it printed is part of the error if it fails; nothing is printed otherwise.
pub(crate) fn run(command: &mut Command) -> Result<Output> {
    let output = try_run(command)?;
    if !output.status.success() {
        let words: Vec<_> = std::iter::once(command.get_program()).chain(command.get_args()).collect();
        bail!(
            "`{}` failed ({})\n{}{}",
            words.join(std::ffi::OsStr::new(" ")).display(),
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(output)
}

/// Runs a command to its end, however it ends. An error means that it could not be started.
pub(crate) fn try_run(command: &mut Command) -> Result<Output> {
    // Messages are read by us: no translations.
    command.env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
    command.output().with_context(|| format!("failed to start `{}`", command.get_program().display()))
}

/// Whether a program is on the search path.
pub(crate) fn exists(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Installs Debian packages because `missing` is, or says what to type.
pub(crate) fn install(missing: &str, packages: &[&str]) -> Result<()> {
    let wanted = packages.join(" ");
    if !exists("apt-get") {
        bail!("`{missing}` is missing, and so is `apt-get`: on Debian it comes with {wanted}");
    }
    if !is_root()? {
        bail!("`{missing}` is missing: sudo apt-get install --no-install-recommends {wanted}");
    }
    // One after the other: apt-get does not wait for itself, unless it is told to for others' sake.
    let _lock = super::lock("apt")?;
    let install = || {
        let mut command = Command::new("apt-get");
        command.args(["-o", "DPkg::Lock::Timeout=600"]);
        command.args(["install", "-y", "--no-install-recommends"]).args(packages);
        command.env("DEBIAN_FRONTEND", "noninteractive");
        run(&mut command)
    };
    // A machine that never read its package lists, or long ago, has to do so first.
    if install().is_err() {
        run(Command::new("apt-get").arg("update"))?;
        install().with_context(|| format!("failed to install {wanted} for `{missing}`"))?;
    }
    Ok(())
}

/// Makes sure that Debian packages are installed.
///
/// # Errors
///
/// If they aren't, and can't be installed; says what to type.
pub fn provide_packages(packages: &[&str]) -> Result<()> {
    std::fs::create_dir_all(crate::cache()).context("failed to create the folder for guests")?;
    let is_missing = |package: &&&str| {
        let query = try_run(Command::new("dpkg-query").args(["--show", "--showformat=${db:Status-Status}", package]));
        !query.is_ok_and(|output| output.status.success() && output.stdout == b"installed")
    };
    match packages.iter().find(is_missing) {
        Some(missing) => install(missing, packages),
        None => Ok(()),
    }
}

fn is_root() -> Result<bool> {
    Ok(run(Command::new("id").arg("-u"))?.stdout.trim_ascii() == b"0")
}

/// A path as text for a command line. Ours are text; a target folder that isn't is refused.
pub(crate) fn text(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("`{}` is not UTF-8", path.display()))
}
