//! The rules, as ARCHITECTURE.md writes them, and what in some sources breaks them.

use crate::graph::{Graph, Meaning, Path, Sources};
use std::collections::{BTreeMap, BTreeSet};

/// Files are shorter, in lines.
const FILE_LINES_MAX: usize = 500;
/// Functions are, too.
const FUNCTION_LINES_MAX: usize = 60;
/// And comments narrower, in columns.
const COMMENT_COLUMNS_MAX: usize = 120;

/// What the text says.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    /// By folder: its rooms, those of a line apart from each other, from the top.
    pub(crate) layers: BTreeMap<String, Vec<Vec<String>>>,
    /// What is named only in some places: a path or `unsafe`, and files or folders.
    pub(crate) homes: BTreeMap<String, Vec<String>>,
}

impl Rules {
    /// Reads fenced blocks: `layers FOLDER` has a line of rooms for each layer, `homes` a name and its places. What follows two blanks on a
    /// line of layers is for people.
    pub(crate) fn read(text: &str) -> Self {
        let mut rules = Self::default();
        for block in text.split("\n```text ").skip(1) {
            let block = block.split("\n```").next().unwrap_or(block);
            let (title, lines) = block.split_once('\n').unwrap_or((block, ""));
            let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            if let Some(folder) = title.strip_prefix("layers ") {
                let rooms = lines.lines().map(|line| words(line.split("  ").next().unwrap_or(line)));
                rules.layers.insert(folder.to_owned(), rooms.filter(|rooms| !rooms.is_empty()).collect());
            } else if title == "homes" {
                let homes = lines.lines().map(words).filter(|words| !words.is_empty());
                rules.homes.extend(homes.map(|words| (words[0].clone(), words[1..].to_vec())));
            }
        }
        rules
    }

    /// What breaks them in the crate below `root`.
    pub(crate) fn broken(&self, root: &str, sources: &Sources) -> Vec<String> {
        let graph = Graph::new(root, sources);
        let mut broken = Vec::new();
        for (folder, layers) in
            self.layers.iter().filter(|(folder, _)| *folder == root || folder.starts_with(&format!("{root}/")))
        {
            broken.extend(self.layered(&graph, folder, layers));
        }
        broken.extend(self.at_home(&graph));
        broken
    }

    fn layered(&self, graph: &Graph, folder: &str, layers: &[Vec<String>]) -> Vec<String> {
        let inside: Path =
            folder[graph.root.len()..].split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let lines: BTreeMap<&str, usize> = layers
            .iter()
            .zip(0..)
            .flat_map(|(rooms, line)| rooms.iter().map(move |room| (room.as_str(), line)))
            .collect();
        let room = |path: &Path| path.strip_prefix(&inside[..])?.first().cloned();
        let mut broken = Vec::new();
        let found: BTreeSet<String> = graph.modules.keys().filter_map(room).collect();
        broken.extend(
            found
                .iter()
                .filter(|room| !lines.contains_key(room.as_str()))
                .map(|room| format!("{folder}: `{room}` is on no layer")),
        );
        broken.extend(
            lines.keys().filter(|room| !found.contains(**room)).map(|room| format!("{folder}: there is no `{room}`")),
        );
        for (from, module) in &graph.modules {
            let from_room = room(from);
            for (path, meaning) in graph.taken(from) {
                let Meaning::Own(to, by_face) = meaning else { continue };
                let file = &module.file;
                if by_face && inside.is_empty() && !from.is_empty() {
                    broken.push(format!("{file}: `{path}` is taken from the face of the crate"));
                }
                let (Some(from), Some(to)) = (&from_room, room(&to)) else {
                    // The folder's own face is above all that is in it.
                    if from_room.is_some() && to == inside {
                        broken.push(format!("{file}: `{path}` goes up to `{folder}`"));
                    }
                    continue;
                };
                if let (Some(from_line), Some(to_line)) = (lines.get(from.as_str()), lines.get(to.as_str()))
                    && *from != to
                    && to_line <= from_line
                {
                    let way = if to_line == from_line { "sideways" } else { "up" };
                    broken.push(format!("{file}: `{path}` goes {way} from `{from}` to `{to}`"));
                }
            }
        }
        broken
    }

    /// What is named outside of where it may be.
    fn at_home(&self, graph: &Graph) -> Vec<String> {
        let mut broken = Vec::new();
        for (name, places) in &self.homes {
            let parts: Vec<&str> = name.split("::").collect();
            for (path, module) in &graph.modules {
                let is_home = |place: &String| module.file == *place || module.file.starts_with(&format!("{place}/"));
                if places.iter().any(is_home) {
                    continue;
                }
                let is_named = |meaning: &Meaning| matches!(meaning, Meaning::Foreign(path) if path.iter().map(String::as_str).take(parts.len()).eq(parts.iter().copied()));
                if name == "unsafe" && module.has_unsafe
                    || graph.taken(path).iter().any(|(_, meaning)| is_named(meaning))
                {
                    broken.push(format!("{}: `{name}` is not at home here", module.file));
                }
            }
        }
        broken
    }
}

/// Files that import each other in a circle. That a file takes something of the module around it is none.
pub(crate) fn circles(root: &str, sources: &Sources) -> Vec<String> {
    let graph = Graph::new(root, sources);
    let own = |from: &Path| {
        let taken = graph.taken(from).into_iter().filter_map(|(_, meaning)| match meaning {
            Meaning::Own(to, _) if !from.starts_with(&to) && !to.starts_with(from) => Some(to),
            _ => None,
        });
        taken.collect::<BTreeSet<_>>()
    };
    let mut left: BTreeMap<&Path, BTreeSet<Path>> = graph.modules.keys().map(|path| (path, own(path))).collect();
    loop {
        let taken: BTreeSet<Path> = left.values().flatten().cloned().collect();
        let ends: Vec<_> = left
            .iter()
            .filter(|(path, to)| !taken.contains(**path) || !to.iter().any(|to| left.contains_key(to)))
            .map(|(path, _)| *path)
            .collect();
        if ends.is_empty() {
            break;
        }
        ends.into_iter().for_each(|path| _ = left.remove(path));
    }
    left.into_keys().map(|path| format!("{}: in a circle of files", graph.modules[path].file)).collect()
}

/// What is larger than it should be: files, functions and comments.
pub(crate) fn too_large(root: &str, sources: &Sources) -> [Vec<String>; 3] {
    let mut found = [const { Vec::new() }; 3];
    for (file, text) in sources.iter().filter(|(file, _)| file.starts_with(&format!("{root}/"))) {
        let lines = text.lines().count();
        if lines > FILE_LINES_MAX {
            found[0].push(format!("{file}: {lines} lines"));
        }
        let is_wide = |line: &str| line.trim_start().starts_with("//") && line.chars().count() > COMMENT_COLUMNS_MAX;
        let wide = text.lines().zip(1..).filter(|(line, _)| is_wide(line));
        found[2].extend(
            wide.map(|(_, number)| format!("{file}:{number}: a comment of more than {COMMENT_COLUMNS_MAX} columns")),
        );
    }
    for module in Graph::new(root, sources).modules.values() {
        let long = module.functions.iter().filter(|(_, lines)| *lines > FUNCTION_LINES_MAX);
        found[1].extend(long.map(|(name, lines)| format!("{}: `{name}` has {lines} lines", module.file)));
    }
    found
}
