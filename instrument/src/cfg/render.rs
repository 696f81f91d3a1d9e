//! Graphs as text, for people and for other programs.

use std::fmt::Write as _;

use anyhow::{Result, ensure};

use super::{Block, BlockKind, Cfg, ControlDependence, DominatorTree, Flow, FlowKind, Loops};
use crate::edge_map::{EdgeKind, push_json_string};

/// The most control dependences that are listed. Functions that people wrote have about two per block; only loops in
/// loops in loops, thousands deep, have more.
const DEPENDENCES_MAX: usize = 1 << 23;

/// All there is to say.
struct Facts {
    dominators: DominatorTree,
    loops: Loops,
    dependence: ControlDependence,
    /// How many dependences may still be listed.
    left: usize,
}

impl Facts {
    fn of(cfg: &Cfg) -> Facts {
        let dominators = cfg.dominators();
        let loops = Loops::new(&cfg.graph(), &dominators);
        Facts { dominators, loops, dependence: cfg.control_dependence(), left: DEPENDENCES_MAX }
    }

    fn dependences(&mut self, block: u32) -> Result<Vec<u32>> {
        let found = self.dependence.of(block);
        ensure!(
            found.len() <= self.left,
            "has a function with more than {DEPENDENCES_MAX} control dependences, too many to list"
        );
        self.left -= found.len();
        Ok(found)
    }
}

impl Cfg {
    /// Writes the graph as JSON, one line per block and per edge.
    ///
    /// `dominator` and `post_dominator` are the immediate ones, `loop` the head of the innermost loop, `depends_on` the
    /// blocks of [`ControlDependence::of`]. In `edges`, `edge` is a number of the edge map, and where a `kind` has many
    /// ways, `number` is the arm's or the clause's. `endless` has the blocks of [`Cfg::endless`]. Offsets are bytes in
    /// the original module.
    ///
    /// ```json
    /// {"v":1,"function":0,"name":"f","blocks":[
    /// {"block":0,"kind":"entry","start":27,"end":27,"dominator":null,"post_dominator":2,"loop":null,"loop_depth":0,"depends_on":[]},
    /// ...
    /// ],"edges":[
    /// {"from":0,"to":2,"kind":"entry","edge":0,"back":false},
    /// {"from":2,"to":3,"kind":"br_table","number":1,"edge":2,"back":false},
    /// {"from":3,"to":1,"kind":"return","edge":null,"back":false}
    /// ],"endless":[]}
    /// ```
    ///
    /// # Errors
    ///
    /// The lists of dependences would be too long: they can be as long as the square of the function.
    pub fn to_json(&self) -> Result<String> {
        self.to_json_with_sources(&|_| None)
    }

    /// [`Cfg::to_json`] with `"file":"src/json.c","line":57` at the end of each block that `source` knows a place for.
    ///
    /// `source` is given the offset that a block starts at; the exit has no place.
    ///
    /// # Errors
    ///
    /// Those of [`Cfg::to_json`].
    pub fn to_json_with_sources(&self, source: &dyn Fn(u32) -> Option<(String, u32)>) -> Result<String> {
        let mut facts = Facts::of(self);
        let mut json = format!("{{\"v\":1,\"function\":{},\"name\":", self.function);
        match &self.name {
            Some(name) => push_json_string(&mut json, name),
            None => json.push_str("null"),
        }
        json.push_str(",\"blocks\":[");
        for (number, block) in (0..).zip(&self.blocks) {
            let _ = write!(
                json,
                "{}{{\"block\":{number},\"kind\":\"{}\",\"start\":{},\"end\":{},\"dominator\":{},\"post_dominator\":{},\
                 \"loop\":{},\"loop_depth\":{},\"depends_on\":[",
                if number == 0 { "\n" } else { ",\n" },
                block.kind.name(),
                block.start,
                block.end,
                or_null(facts.dominators.parent(number)),
                or_null(facts.dependence.post_dominators().parent(number)),
                or_null(facts.loops.innermost(number)),
                facts.loops.depth(number),
            );
            push_list(&mut json, &facts.dependences(number)?, ",");
            json.push(']');
            if let Some((file, line)) = block.source(source) {
                json.push_str(",\"file\":");
                push_json_string(&mut json, &file);
                let _ = write!(json, ",\"line\":{line}");
            }
            json.push('}');
        }
        json.push_str("\n],\"edges\":[");
        for (index, flow) in self.flows.iter().enumerate() {
            json.push_str(if index == 0 { "\n" } else { ",\n" });
            push_flow(&mut json, flow);
        }
        json.push_str("\n],\"endless\":[");
        push_list(&mut json, &self.endless(), ",");
        json.push_str("]}\n");
        Ok(json)
    }

    /// Writes the graph in the language of Graphviz.
    ///
    /// A block shows its number, its range of offsets, how many loops it is in and what it depends on. An edge shows
    /// its kind and its number in the edge map. Back edges are bold, exceptions dashed, and the edges that give endless
    /// loops a way to the exit dotted.
    ///
    /// # Errors
    ///
    /// Those of [`Cfg::to_json`].
    pub fn to_dot(&self) -> Result<String> {
        self.to_dot_with_sources(&|_| None)
    }

    /// [`Cfg::to_dot`] with file and line of each block that `source` knows a place for, as in
    /// [`Cfg::to_json_with_sources`].
    ///
    /// # Errors
    ///
    /// Those of [`Cfg::to_json`].
    pub fn to_dot_with_sources(&self, source: &dyn Fn(u32) -> Option<(String, u32)>) -> Result<String> {
        let mut facts = Facts::of(self);
        let mut dot = String::from("digraph \"");
        let name = self.name.clone().unwrap_or_else(|| format!("function {}", self.function));
        push_dot_text(&mut dot, &name);
        dot.push_str("\" {\n  node [shape=box, fontname=monospace];\n  edge [fontname=monospace];\n");
        for (number, block) in (0..).zip(&self.blocks) {
            let _ = write!(dot, "  b{number} [label=\"{number}");
            match block.kind {
                BlockKind::Code => {
                    let _ = write!(dot, ": {:#x}..{:#x}", block.start, block.end);
                }
                BlockKind::Catch => {
                    let _ = write!(dot, ": catch of {:#x}", block.start);
                }
                BlockKind::Entry | BlockKind::Exit => {
                    let _ = write!(dot, ": {}", block.kind.name());
                }
            }
            if let Some((file, line)) = block.source(source) {
                dot.push_str("\\n");
                push_dot_text(&mut dot, &file);
                let _ = write!(dot, ":{line}");
            }
            if facts.loops.depth(number) > 0 {
                let head = if facts.loops.is_head(number) { "head, " } else { "" };
                let _ = write!(dot, "\\nloop {head}depth {}", facts.loops.depth(number));
            }
            let dependences = facts.dependences(number)?;
            if !dependences.is_empty() {
                dot.push_str("\\ndepends on ");
                push_list(&mut dot, &dependences, ", ");
            }
            dot.push_str(if block.kind == BlockKind::Code { "\"];\n" } else { "\", style=rounded];\n" });
        }
        for flow in &self.flows {
            push_dot_flow(&mut dot, flow);
        }
        for head in self.endless() {
            let _ = writeln!(dot, "  b{head} -> b{} [label=\"endless\", style=dotted];", Cfg::EXIT);
        }
        dot.push_str("}\n");
        Ok(dot)
    }
}

impl Block {
    /// The end of a body is no operator, so the exit has no place.
    fn source(&self, source: &dyn Fn(u32) -> Option<(String, u32)>) -> Option<(String, u32)> {
        if self.kind == BlockKind::Exit { None } else { source(self.start) }
    }
}

fn push_flow(json: &mut String, flow: &Flow) {
    let Flow { from, to, kind, edge, back, .. } = flow;
    let number = match kind {
        FlowKind::Counted(kind) => kind.number().map_or(String::new(), |number| format!(",\"number\":{number}")),
        _ => String::new(),
    };
    let (kind, edge) = (kind.name(), or_null(*edge));
    let _ = write!(json, "{{\"from\":{from},\"to\":{to},\"kind\":\"{kind}\"{number},\"edge\":{edge},\"back\":{back}}}");
}

fn push_dot_flow(dot: &mut String, flow: &Flow) {
    let label = match flow.kind {
        FlowKind::Counted(kind) => kind.to_string(),
        kind => kind.name().to_owned(),
    };
    let number = flow.edge.map_or(String::new(), |edge| format!(" #{edge}"));
    let style = match flow.kind {
        _ if flow.back => ", style=bold",
        FlowKind::Throw | FlowKind::Uncaught | FlowKind::Counted(EdgeKind::Catch { .. }) => ", style=dashed",
        _ => "",
    };
    let _ = writeln!(dot, "  b{} -> b{} [label=\"{label}{number}\"{style}];", flow.from, flow.to);
}

fn or_null(number: Option<u32>) -> String {
    number.map_or("null".to_owned(), |number| number.to_string())
}

fn push_list(text: &mut String, numbers: &[u32], between: &str) {
    for (index, number) in numbers.iter().enumerate() {
        let _ = write!(text, "{}{number}", if index == 0 { "" } else { between });
    }
}

/// Names come from the module: quotes, backslashes and line breaks must not end the string.
fn push_dot_text(dot: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '"' | '\\' => dot.extend(['\\', c]),
            c if c.is_control() => dot.push(' '),
            c => dot.push(c),
        }
    }
}
