//! Inputs from directories of other fuzzers: a file is an input.
//!
//! libFuzzer and OSS-Fuzz keep one directory of files. AFL++ keeps `queue`, `crashes` and `hangs` with files of its own
//! around and inside them; those are told by their names.

use super::INPUT_BYTES_MAX;
use crate::text::printable;
use anyhow::{Context, Result};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Deepest nesting of directories that is followed.
const DEPTH_MAX: usize = 32;

/// Most bytes that one import holds in memory: 4 GiB.
const IMPORT_BYTES_MAX: u64 = 4 << 30;

/// Most files that one import takes.
const IMPORT_FILES_MAX: usize = 4 << 20;

/// Names of what AFL++ writes beside its inputs. A file that begins with a dot is never an input.
const METADATA: [&str; 10] = [
    "README.txt",
    "cmdline",
    "fastresume.bin",
    "fuzz_bitmap",
    "fuzzer_setup",
    "fuzzer_stats",
    "is_main_node",
    "plot_data",
    "queue_data",
    "target_hash",
];

/// The inputs of a directory.
#[derive(Debug, Default)]
pub struct Imported {
    /// Path (as reached from the given directory) and bytes, ordered by path.
    pub inputs: Vec<(PathBuf, Vec<u8>)>,
    /// What was left out, ordered by path.
    pub skipped: Vec<Skipped>,
}

/// A file or directory that was left out of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Its path.
    pub path: PathBuf,
    /// Why, in words.
    pub why: String,
    /// Whether it is an ordinary part of such directories, about which nobody need be told.
    pub expected: bool,
}

/// Reads all inputs of at most `input_bytes_max` bytes below `dir`.
///
/// Links to files are followed, links to directories are not: they could lead in circles. A file that can't be read is
/// skipped, since one of thousands shouldn't stop the others.
///
/// # Errors
///
/// Fails if `dir` itself is no directory that can be listed.
pub fn import_dir(dir: &Path, input_bytes_max: u64) -> Result<Imported> {
    import(dir, input_bytes_max, Links::ToFiles)
}

/// Reads all inputs as [`import_dir`] does, but follows no link at all: for a directory that nobody named.
///
/// # Errors
///
/// As for [`import_dir`].
pub fn import_found_dir(dir: &Path, input_bytes_max: u64) -> Result<Imported> {
    import(dir, input_bytes_max, Links::Never)
}

/// Which links are followed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Links {
    ToFiles,
    Never,
}

fn import(dir: &Path, input_bytes_max: u64, links: Links) -> Result<Imported> {
    let mut imported = Imported::default();
    let mut import = Import { input_bytes_max: input_bytes_max.min(INPUT_BYTES_MAX), bytes_left: IMPORT_BYTES_MAX };
    fs::read_dir(dir).with_context(|| format!("failed to list `{}`", printable(&dir.to_string_lossy())))?;
    let mut files = Vec::new();
    let mut dirs = vec![(dir.to_owned(), 0)];
    while let Some((dir, depth)) = dirs.pop() {
        if let Err(why) = survey(&dir, depth, links, &mut files, &mut dirs, &mut imported.skipped) {
            imported.skipped.push(Skipped { path: dir, why: format!("{why:#}"), expected: false });
        }
    }
    files.sort_by(|a, b| a.as_os_str().as_bytes().cmp(b.as_os_str().as_bytes()));
    for path in files {
        match import.read(&path) {
            Ok(bytes) => imported.inputs.push((path, bytes)),
            Err(why) => imported.skipped.push(Skipped { path, why: format!("{why:#}"), expected: false }),
        }
    }
    imported.skipped.sort_by(|a, b| a.path.as_os_str().as_bytes().cmp(b.path.as_os_str().as_bytes()));
    Ok(imported)
}

/// Notes what files and directories `dir` holds.
fn survey(
    dir: &Path,
    depth: usize,
    links: Links,
    files: &mut Vec<PathBuf>,
    dirs: &mut Vec<(PathBuf, usize)>,
    skipped: &mut Vec<Skipped>,
) -> Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let (name, path) = (entry.file_name(), entry.path());
        let mut skip = |why: &str, expected| skipped.push(Skipped { path: path.clone(), why: why.into(), expected });
        if name.as_bytes().starts_with(b".") {
            skip("it is hidden", true);
        } else if entry.file_type()?.is_dir() {
            if depth < DEPTH_MAX {
                dirs.push((path, depth + 1));
            } else {
                skip("directories are nested too deeply", false);
            }
        } else if links == Links::Never && entry.file_type()?.is_symlink() {
            skip("it is a symbolic link", false);
        } else if METADATA.iter().any(|metadata| name == *metadata) {
            skip("it is a file of AFL++, not an input", true);
        } else if path.is_dir() {
            skip("it is a link to a directory", false);
        } else if files.len() == IMPORT_FILES_MAX {
            skip("there are too many files", false);
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// The limits of an import.
struct Import {
    input_bytes_max: u64,
    bytes_left: u64,
}

impl Import {
    fn read(&mut self, path: &Path) -> Result<Vec<u8>> {
        // Before it is opened: opening a pipe waits for its other end.
        let metadata = fs::metadata(path)?;
        anyhow::ensure!(metadata.is_file(), "it is not a file");
        let too_large = |bytes| format!("it has {bytes} bytes, the limit is {}", self.input_bytes_max);
        anyhow::ensure!(metadata.len() <= self.input_bytes_max, too_large(metadata.len()));
        let mut bytes = Vec::new();
        File::open(path)?.take(self.input_bytes_max + 1).read_to_end(&mut bytes)?;
        let size = bytes.len() as u64;
        anyhow::ensure!(size <= self.input_bytes_max, too_large(size));
        let left = self.bytes_left.checked_sub(size);
        self.bytes_left = left.with_context(|| format!("one import takes at most {IMPORT_BYTES_MAX} bytes"))?;
        Ok(bytes)
    }
}

/// How other fuzzers call files that fail.
const FAILING: [(&str, &str); 5] = [
    ("crash-", "crash-*"),
    ("leak-", "leak-*"),
    ("oom-", "oom-*"),
    ("slow-unit-", "slow-unit-*"),
    ("timeout-", "timeout-*"),
];

/// What a file is to whoever wrote it, by the folder of AFL++ that it is in, or by libFuzzer's name for it; `inputs` if
/// neither says.
pub fn import_kind(dir: &Path, path: &Path) -> &'static str {
    let below = path.strip_prefix(dir).unwrap_or(path);
    let folders = below.parent().into_iter().flat_map(Path::iter).rev().chain(dir.file_name());
    let folders = folders.filter_map(|folder| ["crashes", "hangs", "queue"].into_iter().find(|name| folder == *name));
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let by_name = FAILING.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, kind)| *kind);
    folders.into_iter().next().or(by_name).unwrap_or("inputs")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn write(root: &Path, files: &[(&str, &[u8])]) {
        for (name, bytes) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }

    fn names(root: &Path, paths: impl Iterator<Item = PathBuf>) -> Vec<String> {
        paths.map(|path| path.strip_prefix(root).unwrap().to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn an_afl_output_directory_gives_its_queue_crashes_and_hangs() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        write(
            root,
            &[
                ("default/queue/id:000001,src:000000", b"q1"),
                ("default/queue/id:000000,orig:a", b"q0"),
                ("default/queue/.state/deterministic_done/id:000000", b""),
                ("default/crashes/README.txt", b"Command line used"),
                ("default/crashes/id:000000,sig:06", b"c0"),
                ("default/hangs/id:000000", b"h0"),
                ("default/.cur_input", b"x"),
                ("default/fuzzer_stats", b"x"),
                ("default/plot_data", b"x"),
                ("default/fuzz_bitmap", b"x"),
                ("default/fuzzer_setup", b"x"),
                ("default/cmdline", b"x"),
                ("default/target_hash", b"x"),
            ],
        );
        let imported = import_dir(root, 1024).unwrap();
        assert!(imported.skipped.iter().all(|skipped| skipped.expected), "{:?}", imported.skipped);
        let contents: Vec<_> = imported.inputs.iter().map(|(_, bytes)| bytes.as_slice()).collect();
        assert_eq!(contents, [b"c0", b"h0", b"q0", b"q1"]);
    }

    #[test]
    fn what_is_left_out_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        write(root, &[("a", b"12345"), ("b", b"1234"), ("sub/c", b"")]);
        symlink(root.join("b"), root.join("link")).unwrap();
        symlink(root, root.join("loop")).unwrap();
        symlink("nowhere", root.join("broken")).unwrap();
        let imported = import_dir(root, 4).unwrap();
        assert_eq!(names(root, imported.inputs.into_iter().map(|(path, _)| path)), ["b", "link", "sub/c"]);
        assert_eq!(imported.skipped[0].why, "it has 5 bytes, the limit is 4");
        assert_eq!(names(root, imported.skipped.into_iter().map(|skipped| skipped.path)), ["a", "broken", "loop"]);
        assert!(import_dir(&root.join("b"), 4).is_err());
        assert!(import_dir(&root.join("nothing"), 4).is_err());
    }

    #[test]
    fn files_of_other_fuzzers_are_told_apart() {
        let kind = |dir: &str, path: &str| super::import_kind(Path::new(dir), &Path::new(dir).join(path));
        assert_eq!(kind("out", "default/queue/id:000000,orig:a"), "queue");
        assert_eq!(kind("out", "default/crashes/id:000000,sig:06"), "crashes");
        assert_eq!(kind("out/default/hangs", "id:000000"), "hangs");
        assert_eq!(kind("queue", "crashes/x"), "crashes");
        assert_eq!(kind("corpus", "crash-0eb8e4ed029b774d80f2b66408203801cb982a60"), "crash-*");
        assert_eq!(
            [kind("c", "timeout-1"), kind("c", "oom-1"), kind("c", "slow-unit-1")],
            ["timeout-*", "oom-*", "slow-unit-*"]
        );
        assert_eq!([kind("c", "crashed"), kind("queued", "x"), kind(".", "a")], ["inputs"; 3]);
    }
}
