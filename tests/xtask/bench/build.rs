//! Compiles native programs, each again only if something that it is made of has changed.

use crate::guests::{tool, write_whole};
use crate::workspace;
use anyhow::{Context as _, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What one program is made of.
#[derive(Default)]
pub(crate) struct Program {
    /// The file that it becomes, in the guest's folder.
    pub(crate) name: &'static str,
    pub(crate) compiler: String,
    /// C files and the flags of each.
    pub(crate) sources: Vec<(PathBuf, Vec<String>)>,
    /// Libraries that were built before.
    pub(crate) libraries: Vec<PathBuf>,
    /// For the linker, after all of these.
    pub(crate) link: Vec<String>,
    /// The compiler's environment.
    pub(crate) env: Vec<(&'static str, String)>,
    /// A file that compiling appends to.
    pub(crate) appended: Option<PathBuf>,
}

/// The folder of the drivers, in C.
pub(crate) fn drivers() -> PathBuf {
    workspace().join("tests/bench")
}

/// Where programs of peers are built, and where they work: `bench` in cargo's target folder.
pub(crate) fn folder(guest: &str) -> Result<PathBuf> {
    let folder = crate::cache().with_file_name("bench").join(guest);
    fs::create_dir_all(&folder).with_context(|| format!("failed to create `{}`", folder.display()))?;
    Ok(folder)
}

/// Gives the program's path, compiling it into `folder` if what is there was made of something else.
pub(crate) fn build(program: &Program, folder: &Path) -> Result<PathBuf> {
    let (built, from_file) = (folder.join(program.name), folder.join(format!("{}.from", program.name)));
    let from = made_from(program)?;
    if !(built.is_file() && fs::read_to_string(&from_file).is_ok_and(|old| old == from)) {
        eprintln!("building {}", built.strip_prefix(workspace()).unwrap_or(&built).display());
        compile(program, folder, &built).with_context(|| format!("failed to build `{}`", built.display()))?;
        write_whole(&from_file, from.as_bytes())?;
    }
    Ok(built)
}

fn compile(program: &Program, folder: &Path, built: &Path) -> Result<()> {
    let objects = tempfile::tempdir_in(folder).context("failed to create a folder to build in")?;
    if let Some(appended) = program.appended.as_ref().filter(|file| file.exists()) {
        fs::remove_file(appended).with_context(|| format!("failed to remove `{}`", appended.display()))?;
    }
    let compiler = || {
        let mut command = Command::new(&program.compiler);
        command.envs(program.env.iter().map(|(name, value)| (name, value)));
        command
    };
    let mut paths = Vec::new();
    for (index, (source, flags)) in program.sources.iter().enumerate() {
        let object = objects.path().join(format!("{index:02}.o"));
        run(compiler().args(flags).arg("-c").arg(source).arg("-o").arg(&object))?;
        paths.push(object);
    }
    let out = objects.path().join("program");
    paths.extend(program.libraries.iter().cloned());
    run(compiler().args(paths).args(&program.link).arg("-o").arg(&out))?;
    fs::rename(&out, built).with_context(|| format!("failed to write `{}`", built.display()))
}

fn run(command: &mut Command) -> Result<()> {
    tool::run(command.env("AFL_QUIET", "1")).map(drop)
}

/// A text that differs if the program would.
fn made_from(program: &Program) -> Result<String> {
    let version = tool::run(Command::new(&program.compiler).arg("--version"))?;
    let mut hash = blake3::Hasher::new();
    hash.update(&version.stdout);
    hash.update(format!("{:?} {:?} {:?}", program.link, program.sources, program.env).as_bytes());
    let folders: BTreeSet<_> = program.sources.iter().filter_map(|(source, _)| source.parent()).collect();
    let headers = folders.into_iter().map(headers).collect::<Result<Vec<_>>>()?.concat();
    let sources = program.sources.iter().map(|(source, _)| source);
    for file in headers.iter().chain(sources).chain(&program.libraries) {
        hash.update(&fs::read(file).with_context(|| format!("failed to read `{}`", file.display()))?);
    }
    Ok(format!("{}\n", hash.finalize()))
}

/// The headers in a folder of sources, by name.
fn headers(folder: &Path) -> Result<Vec<PathBuf>> {
    let list = || -> std::io::Result<Vec<_>> { fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect() };
    let mut files = list().with_context(|| format!("failed to read `{}`", folder.display()))?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "h"));
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_beside_a_source_is_part_of_what_a_program_is_made_of() {
        let folder = tempfile::tempdir().unwrap();
        let (source, header) = (folder.path().join("a.c"), folder.path().join("a.h"));
        fs::write(&source, "#include \"a.h\"\n").unwrap();
        let sources = vec![(source, Vec::new())];
        // Any program with a `--version` will do.
        let program = Program { name: "a", compiler: "cargo".into(), sources, ..Program::default() };
        let texts = ["int a;", "int b;"].map(|text| {
            fs::write(&header, text).unwrap();
            made_from(&program).unwrap()
        });
        assert_ne!(texts[0], texts[1]);
    }
}
