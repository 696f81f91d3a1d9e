//! Fetches Debian source packages, as any user may: with package lists of our own, and from where the machine gets its
//! packages anyway. apt checks signatures and hashes.

use super::recipe::{Package, Preparation};
use super::tool::{self, text};
use crate::workspace;
use anyhow::{Context as _, Result, bail};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An unpacked source package, with Debian's patches applied if they could be had.
pub(super) struct SourcePackage {
    pub(super) name: &'static str,
    pub(super) version: String,
    /// The top of its sources.
    pub(super) folder: PathBuf,
}

/// Gives a source package, fetching it if no version of it is here. What is here is used as it is: a new version is
/// fetched only after `target/guests/debian/<name>` was deleted.
pub(super) fn source(package: &Package) -> Result<SourcePackage> {
    let name = package.name;
    let home = crate::cache().join("debian").join(name);
    fs::create_dir_all(&home).with_context(|| format!("failed to create `{}`", home.display()))?;
    let _lock = super::lock("debian")?;
    let (folder, version_file) = (home.join("source"), home.join("version"));
    if !version_file.is_file() {
        let version = fetch(name, &home, &folder).with_context(|| format!("failed to fetch Debian source `{name}`"))?;
        if let Some(preparation) = &package.preparation {
            prepare(preparation, &folder).with_context(|| format!("failed to prepare Debian source `{name}`"))?;
        }
        // Written last: it says that the folder is complete.
        super::write_whole(&version_file, version.as_bytes())?;
    }
    let version =
        fs::read_to_string(&version_file).with_context(|| format!("failed to read `{}`", version_file.display()))?;
    match package.patch {
        None => Ok(SourcePackage { name, version, folder }),
        Some(patch) => {
            let patch = workspace().join(patch);
            patched(package, &version, &home, &patch).with_context(|| format!("failed to apply `{}`", patch.display()))
        }
    }
}

/// Copies the part of a package that is compiled, and edits the copy, unless that was done.
fn patched(package: &Package, version: &str, home: &Path, patch: &Path) -> Result<SourcePackage> {
    let edits = fs::read(patch)?;
    let version = format!("{version}, patched {}", blake3::hash(&edits));
    let copy = home.join("patched").join(patch.file_stem().context("a patch without a name")?);
    let (folder, version_file) = (copy.join("source"), copy.join("version"));
    if fs::read_to_string(&version_file).is_ok_and(|old| old == version) {
        return Ok(SourcePackage { name: package.name, version, folder });
    }
    if copy.exists() {
        fs::remove_dir_all(&copy)?;
    }
    let (from, to) = (home.join("source").join(package.folder), folder.join(package.folder));
    // Not that of `to` alone, which may end in a dot.
    fs::create_dir_all(&folder)?;
    fs::create_dir_all(&to)?;
    for entry in fs::read_dir(&from)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "c" || extension == "h") {
            fs::copy(&path, to.join(path.file_name().expect("an entry has a name")))?;
        }
    }
    tool::run(
        Command::new("patch").args(["-s", "-p1", "--no-backup-if-mismatch", "-i"]).arg(patch).current_dir(&folder),
    )?;
    super::write_whole(&version_file, version.as_bytes())?;
    Ok(SourcePackage { name: package.name, version, folder })
}

/// Completes the sources in `folder`.
fn prepare(preparation: &Preparation, folder: &Path) -> Result<()> {
    if let Some(missing) = preparation.programs.iter().find(|program| !tool::exists(program)) {
        tool::install(missing, preparation.packages)?;
    }
    tool::run(Command::new("sh").args(["-e", "-c", preparation.script]).current_dir(folder))?;
    Ok(())
}

/// Downloads and unpacks into `folder`; returns the version.
fn fetch(name: &str, home: &Path, folder: &Path) -> Result<String> {
    if !tool::exists("dpkg-source") || !tool::exists("apt-get") {
        tool::install("dpkg-source", &["dpkg-dev", "xz-utils"])?;
    }
    let apt = Apt::prepare()?;
    let download = tempfile::tempdir_in(home).context("failed to create a folder to download to")?;
    let downloaded = apt.download(name, download.path())?;
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("failed to remove `{}`", folder.display()))?;
    }
    match downloaded {
        Downloaded::Whole(description) => {
            // apt has checked the hashes already, and signers' keys need not be installed for that.
            tool::run(Command::new("dpkg-source").args(["--no-check", "-x"]).arg(&description).arg(folder))?;
            version_of(&description)
        }
        Downloaded::Upstream { archive, version } => {
            fs::create_dir_all(folder).with_context(|| format!("failed to create `{}`", folder.display()))?;
            let mut tar = Command::new("tar");
            tool::run(tar.arg("-xf").arg(&archive).args(["--strip-components=1", "-C"]).arg(folder))?;
            Ok(format!("{version} without Debian's patches"))
        }
    }
}

/// What an archive had of a source package.
enum Downloaded {
    /// Everything; this is its description.
    Whole(PathBuf),
    /// Only what Debian got from the authors.
    Upstream { archive: PathBuf, version: String },
}

/// apt-get with lists of our own.
struct Apt {
    options: Vec<String>,
}

impl Apt {
    fn prepare() -> Result<Self> {
        let home = crate::cache().join("debian/apt");
        let make = |folder: &str| fs::create_dir_all(home.join(folder));
        make("lists/partial").and_then(|()| make("archives/partial")).context("failed to create folders for apt")?;
        let list = home.join("sources.list");
        super::write_whole(&list, source_lines()?.as_bytes())?;
        let home = text(&home)?;
        let apt = Self {
            options: [
                format!("Dir::Etc::sourcelist={}", text(&list)?),
                "Dir::Etc::sourceparts=-".into(),
                format!("Dir::State::lists={home}/lists"),
                format!("Dir::Cache={home}"),
                // Binary copies of the lists save a second and take 80 MB.
                "Dir::Cache::pkgcache=".into(),
                "Dir::Cache::srcpkgcache=".into(),
                // As root, apt would download as a user who can't write here.
                "APT::Sandbox::User=root".into(),
            ]
            .into_iter()
            .flat_map(|option| ["-o".to_owned(), option])
            .collect(),
        };
        tool::run(apt.command("apt-get").arg("update")).context("failed to read Debian's lists of source packages")?;
        Ok(apt)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(&self.options);
        command
    }

    /// Downloads the newest version that can be had whole, or else the newest of which the authors' part can be had: a
    /// mirror may lack the newest for some hours, and some files for good.
    fn download(&self, name: &str, to: &Path) -> Result<Downloaded> {
        let known = tool::run(self.command("apt-cache").args(["showsrc", "--only-source", name]))?;
        let known = String::from_utf8_lossy(&known.stdout).into_owned();
        let versions: BTreeSet<_> = known.lines().filter_map(|l| l.strip_prefix("Version: ")).collect();
        let source = |how: &[&str], choice: &str, to: &Path| {
            let mut command = self.command("apt-get");
            tool::run(command.args(["source", "--download-only"]).args(how).arg(choice).current_dir(to))
        };
        let choices = std::iter::once(name.to_owned()).chain(versions.iter().rev().map(|v| format!("{name}={v}")));
        let mut failure = None;
        for choice in choices {
            match source(&[], &choice, to) {
                Ok(_) => return Ok(Downloaded::Whole(file_named(to, |file| file.ends_with(".dsc"))?)),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        // In a folder of its own: not what is left of the failures.
        let to = to.join("upstream");
        fs::create_dir(&to).with_context(|| format!("failed to create `{}`", to.display()))?;
        for version in versions.iter().rev() {
            if source(&["--tar-only"], &format!("{name}={version}"), &to).is_ok() {
                let archive = file_named(&to, |file| file.contains(".orig.tar."))?;
                return Ok(Downloaded::Upstream { archive, version: (*version).to_owned() });
            }
        }
        Err(failure.expect("at least one was tried"))
    }
}

/// Lines of a sources.list for the sources of Debian's packages, derived from where the machine gets its packages.
fn source_lines() -> Result<String> {
    let mut lines = configured()?;
    if lines.is_empty() {
        // Who made an archive is known only after its lists were read once; that writes to the machine's own.
        tool::run(Command::new("apt-get").arg("update")).context("failed to read Debian's lists of packages")?;
        lines = configured()?;
    }
    if lines.is_empty() {
        bail!("this machine's apt has no archive of Debian configured");
    }
    // Of equal versions apt takes the one named first; archives of updates come and go, and sort before the main one.
    Ok(lines.into_iter().rev().map(|line| line + "\n").collect())
}

fn configured() -> Result<BTreeSet<String>> {
    let format = "$(SIGNED_BY)|$(REPO_URI) $(RELEASE) $(COMPONENT)";
    let filters = ["Created-By: Packages", "Origin: Debian"];
    let output = tool::run(Command::new("apt-get").args(["indextargets", "--format", format]).args(filters))?;
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = output.lines().filter_map(|line| line.split_once('|')).map(|(key, archive)| {
        // A field without a value stays as it is.
        if key.starts_with('/') { format!("deb-src [signed-by={key}] {archive}") } else { format!("deb-src {archive}") }
    });
    Ok(lines.collect())
}

/// Finds the one file in a folder whose name is accepted.
fn file_named(folder: &Path, accept: impl Fn(&str) -> bool) -> Result<PathBuf> {
    for entry in fs::read_dir(folder).with_context(|| format!("failed to read `{}`", folder.display()))? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(&accept) {
            return Ok(entry.path());
        }
    }
    bail!("apt-get downloaded something else than a source package")
}

fn version_of(description: &Path) -> Result<String> {
    let text =
        fs::read_to_string(description).with_context(|| format!("failed to read `{}`", description.display()))?;
    let version = text.lines().find_map(|line| line.strip_prefix("Version: "));
    Ok(version.context("a .dsc file without a version")?.trim().to_owned())
}
