//! What is published of strategies, or what a model of them gave, beside what they do here: `figures.md`.
//!
//! Campaigns are the same on every machine, so the figures are, too. They are of as many seeds and executions as is
//! promised: those that every run of the tests takes are fewer, and are held to the same bounds.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

/// The table's file.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/search/strategies/figures.md");

/// Nobody else reads or writes the file.
static ITS_USER: Mutex<()> = Mutex::new(());

/// What stands above the tables.
const HEAD: &str = "# Strategies: what is published or modelled, and what they do here

Made by the tests beside this file (`CONTRIBUTING.md` says how); all are held to bounds there. Executions are medians
over seeds where nothing else is said. \"Modelled\" is a prototype of the algorithm alone, without wasm; for languages
four times as many words are asked as it took at most.
";

/// A part of the table.
#[derive(Clone, Copy)]
pub(super) enum Section {
    Languages,
    Random,
    Lock,
    Restarts,
    Trees,
    Swarm,
    Targets,
}

/// The parts in the order in which they stand in the file.
const TITLES: [&str; 7] = [
    "`exemplar`: states of languages (MacIver, Language reconstruction based fuzzing)",
    "`quickcheck`, `enumerate`, `walkers`: what is executed first, and how often",
    "A lock of six keys: executions until it opens (MacIver, Crowbar's design notes)",
    "`restarts`: executions until a bug beside what leads away",
    "`tree`: how evenly leaves are drawn (Regehr, guided-tree-search; Pearce)",
    "`swarm`: percent of each letter of the lopsided grammar (Groce, TSTL)",
    "Scores: `target`",
];

/// Whether the tests take as many seeds and executions as is promised, and know the table's figures.
fn takes_all() -> bool {
    std::env::var_os("FUZZBOX_FIGURES").is_some()
}

/// How many seeds or executions are taken: as many as usual, or as are promised.
pub(super) fn promised(usual: u64, promised: u64) -> u64 {
    if takes_all() { promised } else { usual }
}

/// Notes a figure: of what, what is published or modelled, and what came out. With all that is promised the file has to
/// say the same, or becomes what came out (`BLESS=1`); without, the figure has to be in the file.
pub(super) fn figure(section: Section, what: &str, expected: &str, ours: &str) {
    let _only = ITS_USER.lock().unwrap_or_else(PoisonError::into_inner);
    let mut table = Table::read();
    let (rows, row) = (&mut table.0[section as usize], [what, expected, ours].map(str::to_owned));
    let known = rows.iter_mut().find(|known| known[0] == what);
    if takes_all() && std::env::var_os("BLESS").is_some() {
        match known {
            Some(known) => *known = row,
            None => rows.push(row),
        }
        return table.write();
    }
    let known = known.unwrap_or_else(|| panic!("{what} is not in {FILE}"));
    assert_eq!(known[1], expected, "{what}");
    assert!(!takes_all() || known[2] == ours, "{what}: {ours} came out, {FILE} says {}", known[2]);
}

/// The rows of each section.
struct Table([Vec<[String; 3]>; TITLES.len()]);

impl Table {
    fn read() -> Table {
        let text = std::fs::read_to_string(FILE).unwrap_or_default();
        let (mut sections, mut section) = (<[Vec<_>; TITLES.len()]>::default(), 0);
        for line in text.lines() {
            if let Some(title) = line.strip_prefix("## ") {
                section = TITLES.iter().position(|known| *known == title).expect("the file's titles are ours");
            }
            let cells: Vec<_> = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
            match <[String; 3]>::try_from(cells) {
                Ok(row) if line.starts_with('|') && row[0] != "of" && !row[0].starts_with('-') => {
                    sections[section].push(row);
                }
                _ => {}
            }
        }
        Table(sections)
    }

    fn write(&self) {
        let mut text = HEAD.to_owned();
        for (title, rows) in TITLES.iter().zip(&self.0).filter(|(_, rows)| !rows.is_empty()) {
            let _ = write!(text, "\n## {title}\n\n| of | published or modelled | here |\n|---|---|---|\n");
            for [what, expected, ours] in rows {
                let _ = writeln!(text, "| {what} | {expected} | {ours} |");
            }
        }
        std::fs::write(FILE, text).expect("the table can be written");
    }
}
