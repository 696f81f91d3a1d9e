//! The edge map: what each counter counts, in terms of the original module.

use std::fmt::{self, Write};

/// A control-flow edge; its index in [`EdgeMap::edges`] is its counter's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// Index of the function, imported functions included.
    pub function: u32,
    /// Byte offset, in the original module, of the operator that branches; for [`EdgeKind::Entry`] of the body's first.
    pub offset: u32,
    /// Which way out of that operator.
    pub kind: EdgeKind,
    /// Whether it leads back to the head of a loop that the operator is in.
    pub back: bool,
}

/// A set of edges, by their numbers in [`EdgeMap::edges`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EdgeSet {
    /// One bit per edge.
    words: Vec<u64>,
}

impl EdgeSet {
    /// Whether the edge is in the set.
    pub fn contains(&self, edge: u32) -> bool {
        self.words.get(edge as usize / 64).is_some_and(|word| word >> (edge % 64) & 1 != 0)
    }

    /// A number that no edge of the set reaches.
    pub fn end(&self) -> u32 {
        self.words.len() as u32 * 64
    }

    /// Adds an edge.
    pub fn insert(&mut self, edge: u32) {
        let word = edge as usize / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (edge % 64);
    }
}

impl FromIterator<u32> for EdgeSet {
    fn from_iter<I: IntoIterator<Item = u32>>(edges: I) -> EdgeSet {
        let mut set = EdgeSet::default();
        edges.into_iter().for_each(|edge| set.insert(edge));
        set
    }
}

/// Which way a branching operator went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EdgeKind {
    /// The function was called.
    Entry,
    /// The condition of an `if` was not zero.
    IfTaken,
    /// The condition of an `if` was zero; counted too if there is no `else`.
    IfNotTaken,
    /// A `br_if` branched.
    BrIfTaken,
    /// A `br_if` fell through.
    BrIfNotTaken,
    /// A `br_table` branched by this arm; the last arm is the default. Arms with the same target are apart.
    BrTable {
        /// The arm's number.
        arm: u32,
    },
    /// An unconditional `br` to the head of a loop.
    BackEdge,
    /// A `br_on_null`, `br_on_non_null`, `br_on_cast` or `br_on_cast_fail` branched.
    BrOnTaken,
    /// One of these fell through.
    BrOnNotTaken,
    /// A `select` gave its first operand: the condition was not zero.
    SelectFirst,
    /// A `select` gave its second operand.
    SelectSecond,
    /// A `try_table`, or a legacy `try`, caught an exception.
    Catch {
        /// The number of the clause; 0 if a `try` has none but delegates.
        clause: u32,
    },
}

impl EdgeKind {
    /// The kind's name without its number, as in the JSON: `br_if_taken`.
    pub fn name(self) -> &'static str {
        match self {
            EdgeKind::Entry => "entry",
            EdgeKind::IfTaken => "if_taken",
            EdgeKind::IfNotTaken => "if_not_taken",
            EdgeKind::BrIfTaken => "br_if_taken",
            EdgeKind::BrIfNotTaken => "br_if_not_taken",
            EdgeKind::BrTable { .. } => "br_table",
            EdgeKind::BackEdge => "back_edge",
            EdgeKind::BrOnTaken => "br_on_taken",
            EdgeKind::BrOnNotTaken => "br_on_not_taken",
            EdgeKind::SelectFirst => "select_first",
            EdgeKind::SelectSecond => "select_second",
            EdgeKind::Catch { .. } => "catch",
        }
    }

    /// Whether it is one of a `select`'s.
    pub(crate) fn is_select(self) -> bool {
        matches!(self, EdgeKind::SelectFirst | EdgeKind::SelectSecond)
    }

    /// Whether it is counted by adding a condition, wherever its operator is reached: so its counter is written even if
    /// it is not taken.
    pub(crate) fn is_conditional_count(self) -> bool {
        self.is_select() || self == EdgeKind::BrOnTaken
    }

    /// Whether it leads where another edge of the same operator leads, and both count as one there.
    pub(crate) fn is_second(self) -> bool {
        self == EdgeKind::SelectSecond
    }

    /// The number of the arm or clause, where the operator has many.
    pub fn number(self) -> Option<u32> {
        match self {
            EdgeKind::BrTable { arm } => Some(arm),
            EdgeKind::Catch { clause } => Some(clause),
            _ => None,
        }
    }
}

impl fmt::Display for EdgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.number().map_or(Ok(()), |number| write!(f, " {number}"))
    }
}

/// What each counter counts, and what the functions are called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EdgeMap {
    /// They come in the order of their offsets. With a counter on every edge and without
    /// [`Options::lines`](crate::Options::lines), edge i is counter i.
    pub edges: Vec<Edge>,
    /// Per function index, imported functions first: the raw (mangled) name from the name section, else the first
    /// export's name, else for an import `module.name`.
    pub functions: Vec<Option<String>>,
}

impl EdgeMap {
    /// The name of a function by its index.
    pub fn function_name(&self, index: u32) -> Option<&str> {
        self.functions.get(index as usize)?.as_deref()
    }

    /// Writes the map as JSON, one line per edge.
    ///
    /// ```json
    /// {"v":1,"edges":[
    /// {"function":1,"offset":58,"kind":"entry","back":false},
    /// {"function":1,"offset":62,"kind":"br_table","number":0,"back":true}
    /// ],"functions":["env.log","main",null]}
    /// ```
    pub fn to_json(&self) -> String {
        let mut json = String::with_capacity(self.edges.len() * 64);
        json.push_str("{\"v\":1,\"edges\":[");
        for (index, edge) in self.edges.iter().enumerate() {
            let Edge { function, offset, kind, back } = edge;
            json.push_str(if index == 0 { "\n" } else { ",\n" });
            let number = kind.number().map_or(String::new(), |number| format!(",\"number\":{number}"));
            let kind = kind.name();
            let _ = write!(
                json,
                "{{\"function\":{function},\"offset\":{offset},\"kind\":\"{kind}\"{number},\"back\":{back}}}"
            );
        }
        json.push_str("\n],\"functions\":[");
        for (index, name) in self.functions.iter().enumerate() {
            json.push_str(if index == 0 { "" } else { "," });
            match name {
                Some(name) => push_json_string(&mut json, name),
                None => json.push_str("null"),
            }
        }
        json.push_str("]}\n");
        json
    }
}

/// Appends a string with its quotes.
pub(crate) fn push_json_string(json: &mut String, text: &str) {
    json.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(json, "\\u{:04x}", u32::from(c));
            }
            c => json.push(c),
        }
    }
    json.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_escapes_what_it_must() {
        let mut json = String::new();
        push_json_string(&mut json, "a\"b\\c\n\u{1}\u{7f}é\u{1F600}");
        assert_eq!(json, "\"a\\\"b\\\\c\\u000a\\u0001\\u007fé\u{1F600}\"");
    }

    #[test]
    fn json_has_one_line_per_edge() {
        let edge = |kind, back| Edge { function: 1, offset: 58, kind, back };
        let map = EdgeMap {
            edges: vec![edge(EdgeKind::Entry, false), edge(EdgeKind::BrTable { arm: 3 }, true)],
            functions: vec![Some("env.log".into()), None],
        };
        let expected = "{\"v\":1,\"edges\":[\n\
            {\"function\":1,\"offset\":58,\"kind\":\"entry\",\"back\":false},\n\
            {\"function\":1,\"offset\":58,\"kind\":\"br_table\",\"number\":3,\"back\":true}\n\
            ],\"functions\":[\"env.log\",null]}\n";
        assert_eq!(map.to_json(), expected);
        assert_eq!((map.function_name(0), map.function_name(1), map.function_name(2)), (Some("env.log"), None, None));
    }
}
