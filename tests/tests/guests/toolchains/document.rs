//! What a document says to write and to type.

use anyhow::{Context as _, Result};
use std::path::Path;

/// A fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// A file: its name and its text.
    File(String, String),
    /// Part of a file: its language and its text.
    Part(String, String),
    /// What is typed, one command a line.
    Commands(Vec<String>),
}

/// The blocks of the chapter that is called `title`, in their order.
pub(crate) fn chapter(document: &Path, title: &str) -> Result<Vec<Block>> {
    let text = read(document)?;
    let (_, rest) = text.split_once(&format!("\n## {title}\n")).with_context(|| format!("no chapter `{title}`"))?;
    Ok(blocks(rest.split("\n## ").next().unwrap_or_default()))
}

/// All blocks of a document.
pub(crate) fn all(document: &Path) -> Result<Vec<Block>> {
    Ok(blocks(&read(document)?))
}

pub(crate) fn read(document: &Path) -> Result<String> {
    std::fs::read_to_string(document).with_context(|| format!("failed to read `{}`", document.display()))
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let inside: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let whole = inside.iter().map(|line| format!("{line}\n")).collect::<String>();
        blocks.push(match info.split_once(' ') {
            Some((_, name)) => Block::File(name.to_owned(), whole),
            None if info == "sh" => Block::Commands(inside.into_iter().map(str::to_owned).collect()),
            None => Block::Part(info.to_owned(), whole),
        });
    }
    blocks
}

/// Everything that is typed.
pub(crate) fn commands(blocks: &[Block]) -> Vec<String> {
    let typed = blocks.iter().filter_map(|block| if let Block::Commands(lines) = block { Some(lines) } else { None });
    typed.flatten().cloned().collect()
}

#[test]
fn blocks_are_files_parts_and_commands() {
    let text = "a\n```c a.c\nint a;\n\n```\n```sh\none\ntwo\n```\nb\n```toml\nx = 1\n```\n";
    let commands = vec!["one".to_owned(), "two".to_owned()];
    let expected = [
        Block::File("a.c".into(), "int a;\n\n".into()),
        Block::Commands(commands),
        Block::Part("toml".into(), "x = 1\n".into()),
    ];
    assert_eq!(blocks(text), expected);
}
