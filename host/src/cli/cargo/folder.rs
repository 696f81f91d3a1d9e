//! Where the cargo-fuzz folder is, and which targets it has.

use super::super::exit::{Fault, UserError};
use super::super::libfuzzer;
use super::super::store_args::here;
use super::super::write::shown;
use super::toolchain::cargo;
use crate::text::{nearest, printable};
use anyhow::{Context, Result, anyhow, ensure};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Which folder is meant.
#[derive(Debug, clap::Args)]
pub(super) struct FolderArgs {
    /// The cargo-fuzz folder [default: `fuzz`, here or above, or the package of the workspace that is marked as one]
    #[arg(long, value_name = "DIR")]
    fuzz_dir: Option<PathBuf>,
}

/// A package whose binaries are fuzz targets.
#[derive(Debug)]
pub(super) struct Folder {
    /// Where its manifest is, as an absolute path.
    pub(super) dir: PathBuf,
    /// Its binaries.
    pub(super) targets: Vec<Target>,
    /// Where cargo builds it.
    pub(super) build_dir: PathBuf,
    /// From where it was found: the current directory, or one above; what it lies in, if it is called `fuzz`.
    pub(super) project: PathBuf,
}

/// A binary of the package.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Target {
    /// What it is called.
    pub(super) name: String,
    kind: Vec<String>,
    /// Features without which cargo leaves it out.
    #[serde(default, rename = "required-features")]
    pub(super) required_features: Vec<String>,
}

/// What `cargo metadata` says, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    target_directory: PathBuf,
}

#[derive(Debug, Deserialize)]
struct Package {
    manifest_path: PathBuf,
    targets: Vec<Target>,
    metadata: serde_json::Value,
    dependencies: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
}

impl Package {
    fn is_marked(&self) -> bool {
        self.metadata["cargo-fuzz"] == true
    }

    /// Whether it is one to fuzz, if somebody says so.
    fn has_targets(&self) -> bool {
        self.is_marked() || self.dependencies.iter().any(|dependency| dependency.name == "libfuzzer-sys")
    }
}

impl FolderArgs {
    /// Finds the folder.
    pub(super) fn find(&self) -> Result<Folder, Fault> {
        let here = here()?;
        let found = match &self.fuzz_dir {
            Some(dir) => {
                let absolute = std::path::absolute(dir).context("failed to find the current directory")?;
                let found = in_folder(&absolute, &here).blame_user()?;
                found.with_context(|| not_marked(dir)).blame_user()?
            }
            None => above(&here)
                .blame_user()?
                .context("there is no cargo-fuzz folder here or above\nhelp: name it with --fuzz-dir")
                .blame_user()?,
        };
        Ok(found)
    }
}

fn not_marked(dir: &Path) -> String {
    format!("`{}` is no cargo-fuzz folder: its package has no `cargo-fuzz = true` in its metadata", shown(dir))
}

/// Looks in `here` and the directories above it.
fn above(here: &Path) -> Result<Option<Folder>> {
    for dir in here.ancestors() {
        let fuzz = dir.join("fuzz");
        if has_manifest(&fuzz)
            && let Some(folder) = in_folder(&fuzz, dir)?
        {
            return Ok(Some(folder));
        }
        if has_manifest(dir)
            && let Some(folder) = in_workspace(dir)?
        {
            return Ok(Some(folder));
        }
    }
    Ok(None)
}

fn has_manifest(dir: &Path) -> bool {
    dir.join("Cargo.toml").is_file()
}

/// The package whose manifest is in `dir`, if it is one to fuzz.
fn in_folder(dir: &Path, project: &Path) -> Result<Option<Folder>> {
    let manifest = dir.join("Cargo.toml");
    let metadata = metadata(dir, &manifest)?;
    let is_it = |package: &&Package| is_same(&package.manifest_path, &manifest) && package.has_targets();
    Ok(metadata.packages.iter().find(is_it).map(|package| folder(&metadata, package, project)))
}

/// The only package that is marked in the workspace that `dir` belongs to; the one in `dir` before all others.
fn in_workspace(dir: &Path) -> Result<Option<Folder>> {
    let manifest = dir.join("Cargo.toml");
    let metadata = metadata(dir, &manifest)?;
    let marked: Vec<_> = metadata.packages.iter().filter(|package| package.is_marked()).collect();
    let own = metadata.packages.iter().find(|package| is_same(&package.manifest_path, &manifest));
    let package = match (own.filter(|package| package.has_targets()), &marked[..]) {
        (Some(own), _) => own,
        (None, []) => return Ok(None),
        (None, [only]) => only,
        (None, several) => {
            let dirs = several.iter().filter_map(|package| package.manifest_path.parent());
            let dirs: Vec<_> = dirs.map(|dir| format!("`{}`", shown(&from_here(dir)))).collect();
            return Err(anyhow!(
                "there are several cargo-fuzz folders: {}\nhelp: choose one with --fuzz-dir",
                dirs.join(", ")
            ));
        }
    };
    Ok(Some(folder(&metadata, package, dir)))
}

fn folder(metadata: &Metadata, package: &Package, project: &Path) -> Folder {
    let is_binary = |target: &&Target| target.kind.iter().any(|kind| kind == "bin");
    let dir = package.manifest_path.parent().expect("a manifest lies in a folder").to_owned();
    // Whoever goes into it means the same project.
    let is_inside = project == dir && dir.ends_with("fuzz");
    let project = dir.parent().filter(|_| is_inside).unwrap_or(project);
    Folder {
        targets: package.targets.iter().filter(is_binary).cloned().collect(),
        build_dir: metadata.target_directory.clone(),
        project: project.to_owned(),
        dir,
    }
}

/// Asks cargo, whose own words for what is wrong are shown as they come.
fn metadata(dir: &Path, manifest: &Path) -> Result<Metadata> {
    let ask = || {
        let mut cargo = cargo(dir);
        cargo.args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"]).arg(manifest);
        let output = cargo.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let output = output.context("failed to start cargo\nhelp: https://rustup.rs installs it")?;
        ensure!(output.status.success(), "cargo says why");
        serde_json::from_slice(&output.stdout).context("cargo's metadata are of another form")
    };
    ask().with_context(|| format!("failed to read `{}`", shown(&from_here(manifest))))
}

fn is_same(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// A path as short as it is from the current directory, for people.
pub(super) fn from_here(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    let short = here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    short.filter(|short| *short != Path::new("")).unwrap_or_else(|| path.to_owned())
}

impl Folder {
    /// The targets that were typed, each once; all, if there are none.
    pub(super) fn chosen(&self, typed: &[String]) -> Result<Vec<&Target>> {
        if typed.is_empty() {
            return Ok(self.targets.iter().collect());
        }
        let find = |typed: &String| {
            self.targets.iter().find(|target| target.name == *typed).ok_or_else(|| self.unknown(typed))
        };
        typed.iter().try_for_each(|typed| find(typed).map(drop))?;
        Ok(self.targets.iter().filter(|target| typed.contains(&target.name)).collect())
    }

    fn unknown(&self, typed: &str) -> anyhow::Error {
        if let Some(hint) = libfuzzer::did_you_mean(&["fuzzbox".into(), typed.into()]) {
            return anyhow!("{}", hint.trim_start_matches("error: "));
        }
        let names = || self.targets.iter().map(|target| &*target.name);
        let near = nearest(typed, names());
        let help = near.map_or_else(String::new, |near| format!("\nhelp: did you mean `{}`?", printable(near)));
        let (dir, typed) = (shown(&from_here(&self.dir)), printable(typed));
        let has = printable(&names().collect::<Vec<_>>().join(", "));
        anyhow!("`{dir}` has no target `{typed}`; it has {has}{help}")
    }
}
