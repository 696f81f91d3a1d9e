//! What targets are called, and whose corpus is whose.
//!
//! A name is a directory of the store, with a corpus and findings. A module that is compiled again keeps its name, by
//! its path; another one never takes it in silence.

use super::exit::{Fault, UserError};
use super::store_args::StoreArgs;
use super::write::{shown, tell, warning};
use crate::id::ModuleId;
use crate::sandbox::{Candidate, Target};
use crate::session::builds::{self, Older};
use crate::settings::Settings;
use crate::store::{Origin, Store};
use crate::text::printable;
use anyhow::{Context, Result, anyhow};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// The longest name that can be given, in characters.
const NAME_CHARS_MAX: usize = 80;

/// Flags of verbs that keep something for a target.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct NameArgs {
    /// The target's name in the store; for several targets one each, in their order [default: the file's name, and with
    /// --entry `:` and the export]
    #[arg(long = "name", value_name = "NAME", value_parser = name, help_heading = "Store")]
    names: Vec<String>,
}

/// Parses a name.
fn name(text: &str) -> Result<String, &'static str> {
    let fits = (1..=NAME_CHARS_MAX).contains(&text.chars().count()) && printable(text) == text;
    if fits { Ok(text.to_owned()) } else { Err("a name has 1 to 80 characters that can be printed") }
}

/// The name of a target that nobody named: its file's stem, and the entry if that was chosen.
pub(super) fn default_name(path: &Path, entry: Option<&str>) -> String {
    let stem = path.file_stem().map_or_else(|| "target".into(), |stem| stem.to_string_lossy());
    entry.map_or_else(|| stem.to_string(), |entry| format!("{stem}:{entry}"))
}

impl NameArgs {
    /// The names of the targets at `paths`, of which `entry` is fuzzed. Two targets of one name would share a corpus.
    pub(super) fn names(&self, paths: &[PathBuf], entry: Option<&str>) -> Result<Vec<String>, Fault> {
        let names = match self.names.len() {
            0 => paths.iter().map(|path| default_name(path, entry)).collect(),
            given if given == paths.len() => self.names.clone(),
            given => {
                let targets = paths.len();
                return Err(anyhow!("--name is given {given} times, for {targets} targets")).blame_user();
            }
        };
        let mut seen: BTreeMap<&String, &Path> = BTreeMap::new();
        for (name, path) in names.iter().zip(paths) {
            if let Some(other) = seen.insert(name, path) {
                let (other, path, name) = (shown(other), shown(path), printable(name));
                return Err(anyhow!(
                    "`{other}` and `{path}` are both called `{name}`: they would share a corpus\n\
                     help: give each target a name, in their order: --name {name} --name {name}2"
                ))
                .blame_user();
            }
        }
        Ok(names)
    }

    /// Says of modules that nobody named, and whose names are new to the store, which targets they look like later
    /// builds of. It takes more than likeness to give one target's corpus to another: who knows names it.
    pub(super) fn tell_older(
        &self,
        store: &StoreArgs,
        names: &[String],
        targets: &[(&Path, &Candidate)],
    ) -> Result<(), Fault> {
        let Some(store) = store.open_existing().ok().filter(|_| self.names.is_empty()) else { return Ok(()) };
        let there = store.target_names()?;
        for (name, (path, candidate)) in names.iter().zip(targets).filter(|(name, _)| !there.contains(name)) {
            let Some(Older { name: older, unchanged, functions }) = builds::older(&store, candidate)? else { continue };
            if names.contains(&older) {
                continue;
            }
            let (path, name, older) = (shown(path), printable(name), printable(&older));
            tell(&format!(
                "note: `{path}` looks like a later build of `{older}` ({unchanged} of {functions} functions are \
                 unchanged): --name {older} lets it go on with that one's corpus and findings; as `{name}` it begins anew"
            ));
        }
        Ok(())
    }

    /// Refuses what [`NameArgs::claim`] would refuse, before anything is compiled or written.
    pub(super) fn check<'a>(
        &self,
        store: &StoreArgs,
        targets: impl IntoIterator<Item = (&'a str, &'a Path, &'a Candidate)>,
    ) -> Result<(), Fault> {
        // Where there is no store yet every name is free; what is wrong with one is said when it is opened.
        let Ok(store) = store.open_existing() else { return Ok(()) };
        for (name, path, candidate) in targets {
            self.verdict(&store, name, &origin(&store, path, candidate.id, &candidate.settings))?;
        }
        Ok(())
    }

    /// Sees to it that what is kept under `name` is of the target that was read from `path`, and notes so. A name that
    /// was given is taken from whoever had it, and that is said.
    pub(super) fn claim(&self, store: &Store, name: &str, path: &Path, target: &Target) -> Result<(), Fault> {
        let new = origin(store, path, target.candidate.id, &target.candidate.settings);
        match self.verdict(store, name, &new)? {
            Verdict::Known => return Ok(()),
            Verdict::Free => {}
            Verdict::Taken(was) => {
                let now = in_words(&new);
                warning!("`{name}` was {was}, and is {now} from now on, with the same corpus");
            }
        }
        Ok(store.set_origin(name, &new)?)
    }

    fn verdict(&self, store: &Store, name: &str, new: &Origin) -> Result<Verdict, Fault> {
        let Some(old) = store.origin(name)? else { return Ok(Verdict::Free) };
        if old == *new {
            return Ok(Verdict::Known);
        }
        let is_same = old.entry == new.entry;
        if is_same && old.path == new.path && old.path.is_some() {
            // It was compiled again.
            return Ok(Verdict::Free);
        }
        if is_same && !is_gone(store, &old) && is_known(store, name, &old, new)? {
            // A copy is no other module.
            return Ok(Verdict::Known);
        }
        let was = in_words(&old);
        if !self.names.is_empty() || is_same && is_gone(store, &old) {
            return Ok(Verdict::Taken(was));
        }
        let (name, now) = (printable(name), in_words(new));
        Err(anyhow!(
            "`{name}` is {was} in this store, and {now} is something else: they would share a corpus\n\
             help: --name NAME gives it one of its own, --name {name} lets it go on with that one"
        ))
        .blame_user()
    }
}

/// What becomes of a name.
enum Verdict {
    /// It is this target's, as it is.
    Known,
    /// It is this target's, if that is noted.
    Free,
    /// It was another's, in words.
    Taken(String),
}

fn origin(store: &Store, path: &Path, module: ModuleId, settings: &Settings) -> Origin {
    let entry = settings.entry.clone().or_else(|| settings.call.clone());
    Origin { path: relative(path, store.root()), entry, module: Some(module) }
}

/// Whether the module is one that was fuzzed under this name.
fn is_known(store: &Store, name: &str, old: &Origin, new: &Origin) -> Result<bool> {
    let was_there = |module| store.has_fuzzed(name, module);
    if old.module == new.module { Ok(true) } else { new.module.map_or(Ok(false), was_there) }
}

/// Whether the file that a target came from is not there any more.
fn is_gone(store: &Store, origin: &Origin) -> bool {
    let path = origin.path.as_ref().and_then(|path| Some(base(store.root())?.join(path)));
    path.is_some_and(|path| !path.exists())
}

fn in_words(origin: &Origin) -> String {
    let path = origin.path.as_ref().map_or_else(|| "no file".to_owned(), |path| format!("`{}`", printable(path)));
    match &origin.entry {
        Some(entry) => format!("`{}` of {path}", printable(entry)),
        None => path,
    }
}

/// The directory that the store is in.
fn base(root: &Path) -> Option<PathBuf> {
    std::fs::canonicalize(root).ok()?.parent().map(Path::to_owned)
}

/// The path of a file from the directory that the store is in; `None` for what is no file.
fn relative(path: &Path, root: &Path) -> Option<String> {
    let path = std::fs::canonicalize(path).ok().filter(|path| path.is_file())?;
    Some(between(&base(root)?, &path).to_string_lossy().into_owned())
}

/// The way from one absolute path to another.
fn between(from: &Path, to: &Path) -> PathBuf {
    let shared = from.components().zip(to.components()).take_while(|(from, to)| from == to).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(to.components().skip(shared)).collect()
}

/// The directory names under which a repository may have a target's inputs: its own in the store, and the name as it is
/// if that is one.
pub(super) fn folders(store: &Store, name: &str) -> Result<Vec<PathBuf>> {
    let folder = store.target_folder(name)?.path("");
    let encoded = PathBuf::from(folder.file_name().context("a target has a folder")?);
    let is_one =
        matches!(Path::new(name).components().collect::<Vec<_>>()[..], [Component::Normal(only)] if only == name);
    Ok(std::iter::once(encoded.clone())
        .chain(Some(PathBuf::from(name)).filter(|name| is_one && *name != encoded))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_called_by_its_file_and_the_entry_that_was_chosen() {
        assert_eq!(default_name(Path::new("x/json.wasm"), None), "json");
        assert_eq!(default_name(Path::new("x/json.wasm"), Some("parse")), "json:parse");
        assert_eq!(default_name(Path::new("/"), None), "target");
        for bad in ["", "a\n", "\u{202e}", &"x".repeat(81)] {
            assert!(name(bad).is_err(), "{bad:?}");
        }
        assert_eq!(name("a:b/../größe").as_deref(), Ok("a:b/../größe"));
    }

    #[test]
    fn ways_lead_from_one_path_to_another() {
        let way = |from: &str, to: &str| between(Path::new(from), Path::new(to)).to_str().unwrap().to_owned();
        assert_eq!(way("/a/b", "/a/b/c/d.wasm"), "c/d.wasm");
        assert_eq!(way("/a/b", "/a/x/d.wasm"), "../x/d.wasm");
        assert_eq!(way("/a/b", "/d.wasm"), "../../d.wasm");
    }

    #[test]
    fn a_repositorys_folders_are_names_and_no_paths() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(dir.path()).unwrap();
        let folders = |name: &str| -> Vec<String> {
            folders(&store, name).unwrap().iter().map(|folder| folder.to_str().unwrap().to_owned()).collect()
        };
        assert_eq!(folders("json"), ["json"]);
        assert_eq!(folders("json:parse"), ["json%3Aparse", "json:parse"]);
        assert_eq!(folders("../json"), ["%2E.%2Fjson"]);
        assert_eq!(folders(".."), ["%2E."]);
        assert_eq!(folders("a/"), ["a%2F"]);
    }
}
