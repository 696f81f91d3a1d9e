//! Lists that only grow: text lines of two hashes each, and maybe a word.
//!
//! ```text
//! af1349b9...3262 77e1c0ff...09ab\n
//! af1349b9...3262 77e1c0ff...09ab passes\n
//! ```
//!
//! A batch is one `write(2)` at the end of the file. A kill or a power failure in the middle leaves a torn last line:
//! readers skip it (a line is 64 hex digits, a space, 64 hex digits, or it is no line; a word is one that is known),
//! and the next batch begins with a line feed so that it isn't glued to it.

use super::StoreError;
use super::dir::Dir;
use super::scratch::{Durability, Scratch};
use crate::id::ObjectId;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// One line: two hashes.
pub(super) type Pair = ([u8; 32], [u8; 32]);

/// Length of a line with its line feed.
const LINE_BYTES: usize = 64 + 1 + 64 + 1;

/// Largest list: about two million lines.
const RECORD_BYTES_MAX: u64 = 256 << 20;

/// Reads a list in its order, as often as a line is in it; empty if there is no file.
pub(super) fn read(root: &Dir, below: &Path) -> Result<Vec<Pair>> {
    read_lines(root, below, parse)
}

/// As [`read`], without the lines whose first hash is none of these: texts are compared, since a list may be long.
pub(super) fn read_those(root: &Dir, below: &Path, firsts: impl IntoIterator<Item = [u8; 32]>) -> Result<Vec<Pair>> {
    let texts: BTreeSet<_> = firsts.into_iter().map(|first| ObjectId(first).to_string().into_bytes()).collect();
    let is_one_of_them = |line: &[u8]| line.get(..64).is_some_and(|text| texts.contains(text));
    read_lines(root, below, |line| if is_one_of_them(line) { parse(line) } else { None })
}

/// As [`read`], of lines that are read so.
pub(super) fn read_lines<T>(root: &Dir, below: &Path, parse: impl Fn(&[u8]) -> Option<T>) -> Result<Vec<T>> {
    let Some(bytes) = root.read(below, RECORD_BYTES_MAX)? else { return Ok(Vec::new()) };
    Ok(bytes.split(|byte| *byte == b'\n').filter_map(parse).collect())
}

/// Appends `pairs`. The caller holds the store's lock.
pub(super) fn append(root: &Dir, scratch: &Scratch, below: &Path, pairs: &[Pair]) -> Result<()> {
    append_lines(root, scratch, below, lines(pairs))
}

/// Appends whole lines. The caller holds the store's lock.
pub(super) fn append_lines(root: &Dir, scratch: &Scratch, below: &Path, mut lines: Vec<u8>) -> Result<()> {
    let context = || format!("failed to write `{}`", root.path().join(below).display());
    let dir = root.make_dir(below.parent().unwrap_or(Path::new("")))?;
    let mut list = dir.open_to_append(below.file_name().with_context(context)?, 0o644)?;
    let metadata = list.metadata().with_context(context)?;
    let length = metadata.len();

    if length > 0 && last_byte(&mut list).with_context(context)? != b'\n' {
        lines.insert(0, b'\n');
    }
    let bytes = length + lines.len() as u64;
    if bytes > RECORD_BYTES_MAX {
        let what = format!("`{}`", root.path().join(below).display());
        return Err(StoreError::TooLarge { what, bytes, bytes_max: RECORD_BYTES_MAX }.into());
    }
    // What has another name is somebody else's too, wherever that is: it is left as it is.
    if metadata.nlink() > 1 {
        let there = root.read(below, RECORD_BYTES_MAX)?.unwrap_or_default();
        return scratch.publish(&[there, lines].concat(), 0o644, below, Durability::Name);
    }
    let written = list.write_all(&lines).and_then(|()| list.sync_data());
    if written.is_err() {
        // A full disk takes a part of a batch. Ours is the lock, so nobody wrote behind it.
        drop(list.set_len(length));
    }
    written.with_context(context)
}

/// The text of `pairs`.
pub(super) fn lines(pairs: &[Pair]) -> Vec<u8> {
    pairs.iter().flat_map(|pair| format!("{} {}\n", ObjectId(pair.0), ObjectId(pair.1)).into_bytes()).collect()
}

fn last_byte(list: &mut File) -> std::io::Result<u8> {
    let mut byte = [0];
    list.seek(SeekFrom::End(-1))?;
    list.read_exact(&mut byte)?;
    Ok(byte[0])
}

/// Two hashes; a line has nothing else.
pub(super) fn parse(line: &[u8]) -> Option<Pair> {
    if line.len() != LINE_BYTES - 1 || line[64] != b' ' {
        return None;
    }
    let hash = |hex: &[u8]| blake3::Hash::from_hex(hex).ok().map(|hash| *hash.as_bytes());
    Some((hash(&line[..64])?, hash(&line[65..])?))
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs;
    use std::sync::Arc;

    fn list() -> (tempfile::TempDir, Arc<Dir>, Scratch) {
        let dir = tempfile::tempdir().unwrap();
        let root = Arc::new(Dir::open(dir.path()).unwrap());
        let scratch = Scratch::create(&root).unwrap();
        (dir, root, scratch)
    }

    #[test]
    fn a_list_torn_at_any_byte_loses_its_last_line_only_and_goes_on() {
        let (dir, root, scratch) = list();
        let below = Path::new("list");
        let pairs: Vec<Pair> = (0..3).map(|n| ([n; 32], [n + 100; 32])).collect();
        append(&root, &scratch, below, &pairs).unwrap();
        let path = dir.path().join(below);
        let whole = fs::read(&path).unwrap();
        assert_eq!(whole.len(), 3 * LINE_BYTES);
        for length in 0..=whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            // Without its line feed a line is complete all the same.
            let kept = (length + 1) / LINE_BYTES;
            assert_eq!(read(&root, below).unwrap(), pairs[..kept], "{length}");
            append(&root, &scratch, below, &[([9; 32], [9; 32])]).unwrap();
            let after = read(&root, below).unwrap();
            assert_eq!(after[..kept], pairs[..kept], "{length}");
            assert_eq!(after[kept..], [([9; 32], [9; 32])], "{length}");
        }
    }

    #[test]
    fn lines_that_are_none_are_skipped() {
        let (dir, root, scratch) = list();
        let below = Path::new("list");
        append(&root, &scratch, below, &[([1; 32], [2; 32])]).unwrap();
        let mut bytes = fs::read(dir.path().join(below)).unwrap();
        bytes.splice(0..0, *b"\n\xff\xfe\nhello there\n \n");
        fs::write(dir.path().join(below), &bytes).unwrap();
        assert_eq!(read(&root, below).unwrap(), [([1; 32], [2; 32])]);
    }

    #[test]
    fn a_list_with_a_second_name_is_replaced_and_the_other_left_as_it_is() {
        let (dir, root, scratch) = list();
        let below = Path::new("list");
        append(&root, &scratch, below, &[([1; 32], [2; 32])]).unwrap();
        let other = dir.path().join("other");
        fs::hard_link(dir.path().join(below), &other).unwrap();
        let before = fs::read(&other).unwrap();
        for n in 2..4 {
            append(&root, &scratch, below, &[([n; 32], [n; 32])]).unwrap();
        }
        assert_eq!(read(&root, below).unwrap(), [([1; 32], [2; 32]), ([2; 32], [2; 32]), ([3; 32], [3; 32])]);
        assert_eq!(fs::read(&other).unwrap(), before);
    }
}
