//! A stream as the tree of its spans, of which changed copies share what did not change.
//!
//! ```text
//! choices   [2, 7, 1, 0, 5]              Span
//! spans     0..5  1..3  3..5            / | \
//!                                      2 Span Span
//!                                        / \  / \
//!                                       7  1  0  5
//! ```
//!
//! Nodes are immutable and counted by references. A change makes new nodes along one path from the root, as many as it
//! is deep, and shares all others, so that a corpus of samples that are alike, and a pool of fragments cut out of them,
//! cost little memory (Dolan and Crowbar's authors' design notes: immutable sample trees).
//!
//! Trees are at most [`DEPTH_MAX`] deep: what deeper spans hold belongs to the span around them. So walking a tree, and
//! dropping one, takes little stack whatever the guest did.

mod packed;

use super::choice::Choice;
use super::trace::{Draw, Span, Trace};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Spans inside one another that a tree shows.
pub const DEPTH_MAX: usize = 256;

/// A draw, or a span with what it holds. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Node(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    kind: Kind,
    /// Draws in it.
    draws: u32,
    /// Nodes in it, itself included.
    nodes: u32,
}

#[derive(Debug)]
enum Kind {
    Draw(Draw, Choice),
    Span { label: u64, children: Box<[Node]> },
}

/// The way from a root to a node: which child to go to, at each step.
pub type Path = Vec<usize>;

impl Node {
    /// The tree of a trace. Its root is a span with label 0 around all draws. Spans that the guest discarded, and spans
    /// without draws, are left out.
    pub fn of(trace: &Trace) -> Self {
        let draw = |index: usize| Self::draw(trace.draws[index], trace.choices[index].clone());
        let kept = |span: &&Span| !span.discarded && span.start < span.end && usize::from(span.depth) < DEPTH_MAX;
        // What is open, innermost last: (label, end, children).
        let mut open = vec![(0, trace.draws.len(), Vec::new())];
        let mut next = 0;
        let advance = |open: &mut Vec<(u64, usize, Vec<Self>)>, next: &mut usize, to: usize| {
            loop {
                let (_, end, children) = open.last_mut().expect("the root stays open");
                let stop = to.min(*end).max(*next);
                children.extend((*next..stop).map(draw));
                *next = stop;
                // A span that ends where the next begins is closed first.
                if open.len() == 1 || open.last().is_none_or(|(_, end, _)| *end > *next) {
                    return;
                }
                let (label, _, children) = open.pop().expect("there are two");
                open.last_mut().expect("the root stays open").2.push(Self::span(label, children));
            }
        };
        for span in trace.spans.iter().filter(kept) {
            advance(&mut open, &mut next, span.start as usize);
            open.push((span.label, span.end as usize, Vec::new()));
        }
        advance(&mut open, &mut next, trace.draws.len());
        while open.len() > 1 {
            let (label, _, children) = open.pop().expect("there are two");
            open.last_mut().expect("the root stays open").2.push(Self::span(label, children));
        }
        Self::span(0, open.pop().expect("the root").2)
    }

    /// A draw and what it took.
    pub fn draw(draw: Draw, choice: Choice) -> Self {
        Self(Arc::new(Inner { kind: Kind::Draw(draw, choice), draws: 1, nodes: 1 }))
    }

    /// A span.
    pub fn span(label: u64, children: Vec<Self>) -> Self {
        let sum = |of: fn(&Inner) -> u32| children.iter().map(|child| of(&child.0)).fold(0, u32::saturating_add);
        let (draws, nodes) = (sum(|inner| inner.draws), sum(|inner| inner.nodes).saturating_add(1));
        Self(Arc::new(Inner { kind: Kind::Span { label, children: children.into() }, draws, nodes }))
    }

    /// Draws in it.
    pub fn draws(&self) -> usize {
        self.0.draws as usize
    }

    /// Nodes in it, itself included.
    pub fn nodes(&self) -> usize {
        self.0.nodes as usize
    }

    /// The span's label; `None` for a draw.
    pub fn label(&self) -> Option<u64> {
        match self.0.kind {
            Kind::Span { label, .. } => Some(label),
            Kind::Draw(..) => None,
        }
    }

    /// The draw and what it took; `None` for a span.
    pub fn as_draw(&self) -> Option<(&Draw, &Choice)> {
        match &self.0.kind {
            Kind::Draw(draw, choice) => Some((draw, choice)),
            Kind::Span { .. } => None,
        }
    }

    /// What it holds; nothing for a draw.
    pub fn children(&self) -> &[Self] {
        match &self.0.kind {
            Kind::Span { children, .. } => children,
            Kind::Draw(..) => &[],
        }
    }

    /// Appends its choices, in order.
    pub fn write(&self, choices: &mut Vec<Choice>) {
        match &self.0.kind {
            Kind::Draw(_, choice) => choices.push(choice.clone()),
            Kind::Span { children, .. } => children.iter().for_each(|child| child.write(choices)),
        }
    }

    /// Its choices, in order.
    pub fn choices(&self) -> Vec<Choice> {
        let mut choices = Vec::with_capacity(self.draws());
        self.write(&mut choices);
        choices
    }

    /// Calls `visit` with every draw and what it took, in order.
    pub fn visit_draws(&self, visit: &mut impl FnMut(&Draw, &Choice)) {
        match &self.0.kind {
            Kind::Draw(draw, choice) => visit(draw, choice),
            Kind::Span { children, .. } => children.iter().for_each(|child| child.visit_draws(visit)),
        }
    }

    /// The labels of all spans in it, its own included.
    pub fn labels(&self) -> BTreeSet<u64> {
        let mut labels: BTreeSet<u64> = self.children().iter().flat_map(Self::labels).collect();
        labels.extend(self.label());
        labels
    }

    /// The node at the end of `path`.
    pub fn at(&self, path: &[usize]) -> &Self {
        path.iter().fold(self, |node, &step| &node.children()[step])
    }

    /// The way to the node with this number, counted from the root, each before what it holds.
    pub fn path_to_node(&self, number: usize) -> Path {
        self.path_to(number.checked_sub(1), |node| node.nodes(), |number| number.checked_sub(1))
    }

    /// The way to the draw with this number.
    pub fn path_to_draw(&self, number: usize) -> Path {
        self.path_to(Some(number), |node| node.draws(), Some)
    }

    /// Goes to the child that holds number `at`, until there is none to go to. `enter` is the number from inside the
    /// child.
    fn path_to(
        &self,
        mut at: Option<usize>,
        size: impl Fn(&Self) -> usize,
        enter: impl Fn(usize) -> Option<usize>,
    ) -> Path {
        let (mut path, mut node) = (Path::new(), self);
        while let Some(mut number) = at {
            let Some(step) = node.children().iter().position(|child| {
                let inside = number < size(child);
                number -= if inside { 0 } else { size(child) };
                inside
            }) else {
                break;
            };
            path.push(step);
            node = &node.children()[step];
            at = enter(number);
        }
        path
    }

    /// A copy with other nodes in the place of the one at `path`: none, one or more. Makes one new node for each step
    /// of the path. The path is not empty.
    #[must_use]
    pub fn with(&self, path: &[usize], nodes: &[Self]) -> Self {
        let (&step, rest) = path.split_first().expect("the root has no place to be replaced in");
        let Kind::Span { label, children } = &self.0.kind else { unreachable!("a path goes through spans") };
        let (before, after) = (&children[..step], &children[step + 1..]);
        let middle: &[Self] = if rest.is_empty() { nodes } else { &[children[step].with(rest, nodes)] };
        Self::span(*label, [before, middle, after].concat())
    }

    /// Whether both are the same node in memory.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Calls `visit` with every span below the root and the way to it, each before those inside.
    pub fn visit_spans(&self, visit: &mut impl FnMut(&Self, &Path)) {
        fn walk(node: &Node, path: &mut Path, visit: &mut impl FnMut(&Node, &Path)) {
            for (step, child) in node.children().iter().enumerate() {
                if child.label().is_some() {
                    path.push(step);
                    visit(child, path);
                    walk(child, path, visit);
                    path.pop();
                }
            }
        }
        walk(self, &mut Path::new(), visit);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::trace::DrawKind;
    use super::*;

    /// A draw of one of `max + 1` alternatives.
    pub(crate) fn alternative(site: u32, max: u64) -> Draw {
        let hi = max.cast_signed();
        Draw { kind: DrawKind::Choice, site, max, forced: max == 0, payload: false, lo: 0, hi, towards: 0 }
    }

    fn trace(draws: u32, spans: &[(u64, u32, u32, u16)]) -> Trace {
        let span = |&(label, start, end, depth): &(u64, u32, u32, u16)| Span::told(label, start, end, depth);
        Trace {
            choices: (0..u64::from(draws)).map(Choice::Index).collect(),
            draws: (0..draws).map(|site| alternative(site, 1000)).collect(),
            spans: spans.iter().map(span).collect(),
            ..Trace::default()
        }
    }

    fn text(node: &Node) -> String {
        match node.as_draw() {
            Some((_, choice)) => choice.index().unwrap().to_string(),
            None => {
                let inside: Vec<_> = node.children().iter().map(text).collect();
                format!("{}({})", node.label().unwrap(), inside.join(" "))
            }
        }
    }

    #[test]
    fn spans_become_a_tree_whose_choices_are_the_streams() {
        let trace = trace(7, &[(9, 1, 6, 0), (8, 1, 3, 1), (8, 3, 5, 1), (7, 4, 5, 2), (5, 6, 6, 0), (9, 6, 7, 0)]);
        let tree = Node::of(&trace);
        assert_eq!(text(&tree), "0(0 9(8(1 2) 8(3 7(4)) 5) 9(6))");
        assert_eq!(tree.choices(), trace.choices);
        assert_eq!((tree.draws(), tree.nodes()), (7, 13));
    }

    #[test]
    fn every_node_and_every_draw_has_a_way_to_it() {
        let tree = Node::of(&trace(7, &[(9, 1, 6, 0), (8, 1, 3, 1), (8, 3, 5, 1), (7, 4, 5, 2)]));
        let draws = (0..7).map(|number| tree.at(&tree.path_to_draw(number)).as_draw().unwrap().0.site);
        assert!(draws.eq(0..7));
        let nodes: Vec<_> = (0..tree.nodes()).map(|number| text(tree.at(&tree.path_to_node(number)))).collect();
        let expected =
            [&text(&tree), "0", "9(8(1 2) 8(3 7(4)) 5)", "8(1 2)", "1", "2", "8(3 7(4))", "3", "7(4)", "4", "5", "6"];
        assert_eq!(nodes, expected);
        let mut spans = 0;
        tree.visit_spans(&mut |span, path| {
            assert!(span.is(tree.at(path)));
            spans += 1;
        });
        assert_eq!(spans, 4);
    }

    #[test]
    fn a_change_shares_what_is_not_on_its_path() {
        let tree = Node::of(&trace(7, &[(9, 1, 6, 0), (8, 1, 3, 1), (8, 3, 5, 1), (7, 4, 5, 2)]));
        let path = tree.path_to_draw(4);
        let changed = tree.with(&path, &[]);
        assert_eq!(text(&changed), "0(0 9(8(1 2) 8(3 7()) 5) 6)");
        assert!(changed.at(&[1, 0]).is(tree.at(&[1, 0])) && !changed.at(&[1, 1]).is(tree.at(&[1, 1])));
        let doubled = tree.with(&[1, 0], &[tree.at(&[1, 0]).clone(), tree.at(&[1, 1]).clone()]);
        assert_eq!(text(&doubled), "0(0 9(8(1 2) 8(3 7(4)) 8(3 7(4)) 5) 6)");
        assert_eq!(text(&tree), "0(0 9(8(1 2) 8(3 7(4)) 5) 6)");
    }

    #[test]
    fn spans_of_any_depth_and_any_order_are_no_danger() {
        let deep: Vec<_> = (0..60_000).map(|depth: u32| (1, 0, 1, u16::try_from(depth).unwrap())).collect();
        let tree = Node::of(&trace(1, &deep));
        assert_eq!(tree.nodes(), DEPTH_MAX + 2);
        // What overlaps is no tree; no choice gets lost all the same.
        let odd = trace(5, &[(1, 0, 3, 0), (2, 2, 5, 1), (3, 4, 5, 2)]);
        assert_eq!(Node::of(&odd).choices(), odd.choices);
    }
}
