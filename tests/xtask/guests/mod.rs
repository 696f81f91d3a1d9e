//! Builds the guests, each at most once however many tests ask for it at the same time.
//!
//! ```text
//! target/guests/
//!     cjson.wasm, cjson.from     the module, and what it was made from
//!     cjson.lock                 held while somebody builds it
//!     debian/cjson/              the unpacked source package
//!     debian/apt/                package lists of our own; the machine's are not touched
//! ```
//!
//! A module is up to date when its `.from` file says what would be written there today: the recipe, the sources of
//! this repository, the compiler's version, and the version or the hash of what came from outside. Once built, no
//! network is needed.

mod clang;
mod crashes;
mod debian;
mod edited;
mod languages;
mod module;
mod recipe;
mod recompile;
mod rust;
mod sources;
pub(crate) mod tool;
pub(crate) mod wheel;

pub(crate) use clang::missing;
pub use clang::{PACKAGES, any_clang, clang, cxx};
pub(crate) use crashes::is_crash_in_rust;
pub use crashes::{CRASHES, crashing_input};
pub use edited::{Build, PROGRAMS, Program};
pub use languages::{Toolchain, toolchain};
pub use module::code_sections;
pub use recipe::{BINDINGS, EXAMPLES, MEASURED, MUTATING, OUTSIDE, OWN, PROPERTIES, SAYING};
pub use recompile::recompile;
pub use rust::rustc;
pub(crate) use rust::{Callbacks, native_library, tool_without_settings};
pub(crate) use sources::{Sources, sources};
pub use tool::provide_packages;

use crate::{cache, workspace};
use anyhow::{Context as _, Result, bail};
use recipe::{Recipe, Source};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Gives the path of a guest's module in `target/guests/`, building it first if it isn't there or isn't current.
///
/// Examples are rebuilt from source here; the committed module is [`example`]'s. Errors name the tool or the package
/// that is missing.
pub fn guest(name: &str) -> Result<PathBuf> {
    let recipe = recipe::find(name)?;
    let built = cache().join(format!("{name}.wasm"));
    fs::create_dir_all(cache()).with_context(|| format!("failed to create `{}`", cache().display()))?;
    let _lock = lock(name)?;
    make(recipe, &built).with_context(|| format!("failed to build guest `{name}`"))?;
    Ok(built)
}

/// Gives the path of an example's committed module.
pub fn example(name: &str) -> Result<PathBuf> {
    if !EXAMPLES.contains(&name) {
        bail!("no example is called `{name}`; there are {}", EXAMPLES.join(", "));
    }
    Ok(workspace().join("examples").join(name).join(format!("{name}.wasm")))
}

/// Copies a freshly built example over the committed module. Returns whether that changed anything.
pub fn bless(name: &str) -> Result<bool> {
    let (built, committed) = (guest(name)?, example(name)?);
    let new = fs::read(&built).with_context(|| format!("failed to read `{}`", built.display()))?;
    if fs::read(&committed).is_ok_and(|old| old == new) {
        return Ok(false);
    }
    write_whole(&committed, &new)?;
    Ok(true)
}

fn make(recipe: &Recipe, built: &Path) -> Result<()> {
    let from_file = built.with_extension("from");
    match &recipe.source {
        Source::C(c) => {
            clang::provide()?;
            let package = c.package.map(|p| debian::source(&p)).transpose()?;
            let from = clang::made_from(recipe.name, c, package.as_ref())?;
            if is_current(built, &from_file, &from) {
                return Ok(());
            }
            write_whole(built, &clang::build(recipe.name, c, package.as_ref())?)?;
            write_whole(&from_file, from.as_bytes())
        }
        Source::Rust(package) => {
            // Cargo knows what is current.
            replace(built, &rust::build(workspace(), package, rust::Assertions::No)?)
        }
        Source::RustWithAssertions(package) => {
            replace(built, &rust::build(workspace(), package, rust::Assertions::Yes)?)
        }
        Source::CrashInRust(package) => {
            replace(built, &rust::build(&crashes::rust_home(), package, rust::Assertions::No)?)
        }
        Source::Binding(language) => replace(built, &languages::build(*language)?),
        Source::Says(language) => replace(built, &languages::build_says(*language)?),
        Source::Wheel(w) => {
            let from = format!("{} {}\nblake3 {}\n", w.requirement, w.file, w.blake3);
            if is_current(built, &from_file, &from) {
                return Ok(());
            }
            write_whole(built, &wheel::extract(w)?)?;
            write_whole(&from_file, from.as_bytes())
        }
    }
}

/// Writes a file unless it is the same already.
fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == bytes) { Ok(()) } else { write_whole(path, bytes) }
}

fn is_current(built: &Path, from_file: &Path, from: &str) -> bool {
    built.is_file() && fs::read_to_string(from_file).is_ok_and(|old| old == from)
}

/// Waits until nobody else holds the lock called `name`. It is released when the returned file is dropped, or when the
/// process ends, however it ends.
fn lock(name: &str) -> Result<File> {
    lock_file(&cache().join(format!("{name}.lock")))
}

/// The same for any path.
pub(crate) fn lock_file(path: &Path) -> Result<File> {
    let file = File::create(path).with_context(|| format!("failed to create `{}`", path.display()))?;
    file.lock().with_context(|| format!("failed to lock `{}`", path.display()))?;
    Ok(file)
}

/// Writes a file so that nobody ever sees half of it.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().expect("a file lies in a folder");
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        std::io::Write::write_all(&mut file, bytes)?;
        #[cfg(unix)]
        fs::set_permissions(file.path(), std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
        file.persist(path)?;
        Ok(())
    };
    write().with_context(|| format!("failed to write `{}`", path.display()))
}
