//! A map as a B-tree: nodes have one to three entries, all leaves are at the same depth.

use std::mem;

/// Entries that a node has at most; at least it has half of that, rounded down, but for the root.
const ENTRIES_MAX: usize = 3;
const ENTRIES_MIN: usize = ENTRIES_MAX / 2;

/// A map from small numbers to small numbers.
#[derive(Clone, Debug, Default)]
pub struct Map {
    root: Node,
    len: usize,
}

#[derive(Clone, Debug, Default)]
struct Node {
    entries: Vec<(u8, u8)>,
    /// One more than there are entries; none in a leaf.
    children: Vec<Node>,
}

impl Map {
    /// Adds an entry; returns what the key had before.
    pub fn insert(&mut self, key: u8, value: u8) -> Option<u8> {
        let old = self.root.insert(key, value);
        if self.root.entries.len() > ENTRIES_MAX {
            let left = mem::take(&mut self.root);
            self.root.children.push(left);
            self.root.split(0);
        }
        self.len += usize::from(old.is_none());
        old
    }

    /// Removes an entry; returns its value.
    pub fn remove(&mut self, key: u8) -> Option<u8> {
        let old = self.root.remove(key);
        if self.root.entries.is_empty() && !self.root.children.is_empty() {
            self.root = self.root.children.remove(0);
        }
        self.len -= usize::from(old.is_some());
        old
    }

    /// The value of a key.
    pub fn get(&self, key: u8) -> Option<u8> {
        let mut node = &self.root;
        loop {
            match node.find(key) {
                Ok(at) => return Some(node.entries[at].1),
                Err(at) => node = node.children.get(at)?,
            }
        }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// No entry.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All entries, in the order of their keys.
    pub fn entries(&self) -> Vec<(u8, u8)> {
        let mut all = Vec::with_capacity(self.len);
        self.root.append_to(&mut all);
        all
    }
}

impl Node {
    fn find(&self, key: u8) -> Result<usize, usize> {
        self.entries.binary_search_by_key(&key, |entry| entry.0)
    }

    fn insert(&mut self, key: u8, value: u8) -> Option<u8> {
        match self.find(key) {
            Ok(at) => Some(mem::replace(&mut self.entries[at].1, value)),
            Err(at) if self.children.is_empty() => {
                self.entries.insert(at, (key, value));
                None
            }
            Err(at) => {
                let old = self.children[at].insert(key, value);
                if self.children[at].entries.len() > ENTRIES_MAX {
                    self.split(at);
                }
                old
            }
        }
    }

    /// Cuts a child with too many entries in two; the entry between them comes up.
    fn split(&mut self, at: usize) {
        let child = &mut self.children[at];
        let middle = child.entries.len() / 2;
        let right = Node {
            entries: child.entries.split_off(middle + 1),
            children: if child.children.is_empty() { Vec::new() } else { child.children.split_off(middle + 1) },
        };
        let up = child.entries.pop().expect("the middle one is the last now");
        self.entries.insert(at, up);
        self.children.insert(at + 1, right);
    }

    fn remove(&mut self, key: u8) -> Option<u8> {
        match self.find(key) {
            Ok(at) if self.children.is_empty() => Some(self.entries.remove(at).1),
            Ok(at) => {
                // Its place is taken by the entry before it, the last in the child to the left.
                let before = self.children[at].remove_last();
                let old = mem::replace(&mut self.entries[at], before);
                self.fill(at);
                Some(old.1)
            }
            Err(at) => {
                let old = self.children.get_mut(at)?.remove(key);
                self.fill(at);
                old
            }
        }
    }

    fn remove_last(&mut self) -> (u8, u8) {
        if self.children.is_empty() {
            return self.entries.pop().expect("a node has an entry");
        }
        let last = self.children.len() - 1;
        let entry = self.children[last].remove_last();
        self.fill(last);
        entry
    }

    /// Gives a child that has too few entries one of a neighbour's, or makes one of both.
    fn fill(&mut self, at: usize) {
        if self.children[at].entries.len() >= ENTRIES_MIN {
            return;
        }
        if at > 0 && self.children[at - 1].entries.len() > ENTRIES_MIN {
            self.take_from_left(at);
        } else if at + 1 < self.children.len() && self.children[at + 1].entries.len() > ENTRIES_MIN {
            self.take_from_right(at);
        } else {
            self.merge(if at > 0 { at - 1 } else { at });
        }
    }

    fn take_from_left(&mut self, at: usize) {
        let left = &mut self.children[at - 1];
        let entry = left.entries.pop().expect("it has more than enough");
        let grandchild = left.children.pop();
        let down = mem::replace(&mut self.entries[at - 1], entry);
        let child = &mut self.children[at];
        child.entries.insert(0, down);
        // The planted bug: it belongs to the front, where its keys are.
        child.children.extend(grandchild);
    }

    fn take_from_right(&mut self, at: usize) {
        let right = &mut self.children[at + 1];
        let entry = right.entries.remove(0);
        let grandchild = if right.children.is_empty() { None } else { Some(right.children.remove(0)) };
        let down = mem::replace(&mut self.entries[at], entry);
        let child = &mut self.children[at];
        child.entries.push(down);
        child.children.extend(grandchild);
    }

    /// Makes one of a child and the next.
    fn merge(&mut self, at: usize) {
        let mut right = self.children.remove(at + 1);
        let down = self.entries.remove(at);
        let left = &mut self.children[at];
        left.entries.push(down);
        left.entries.append(&mut right.entries);
        left.children.append(&mut right.children);
    }

    fn append_to(&self, all: &mut Vec<(u8, u8)>) {
        for (at, &entry) in self.entries.iter().enumerate() {
            if let Some(child) = self.children.get(at) {
                child.append_to(all);
            }
            all.push(entry);
        }
        if let Some(last) = self.children.get(self.entries.len()) {
            last.append_to(all);
        }
    }
}

#[cfg(test)]
impl Map {
    /// How deep the tree is, and how many entries each node has, each before its children: all there is but for keys and
    /// values.
    pub(crate) fn shape(&self) -> Vec<usize> {
        fn walk(node: &Node, shape: &mut Vec<usize>) {
            shape.push(node.entries.len());
            node.children.iter().for_each(|child| walk(child, shape));
        }
        let depth = std::iter::successors(Some(&self.root), |node| node.children.first()).count();
        let mut shape = vec![depth];
        walk(&self.root, &mut shape);
        shape
    }

    /// Gives each entry the key that belongs to its place.
    pub(crate) fn renumber(&mut self, key: fn(u8) -> u8) {
        fn walk(node: &mut Node, place: &mut u8, key: fn(u8) -> u8) {
            for at in 0..=node.entries.len() {
                if let Some(child) = node.children.get_mut(at) {
                    walk(child, place, key);
                }
                if let Some(entry) = node.entries.get_mut(at) {
                    entry.0 = key(*place);
                    *place += 1;
                }
            }
        }
        walk(&mut self.root, &mut 0, key);
    }
}
