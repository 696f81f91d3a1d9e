//! A tree of spans as bytes.
//!
//! ```text
//! children << 1 | 1, label, children...                              a span
//! kind << 1, flags, site, max, lo, hi, towards, index or blob        a draw
//! ```

use super::{DEPTH_MAX, Kind, Node};
use crate::packed::{Packed, put_bytes, put_number, put_signed};
use crate::stream::choice::Choice;
use crate::stream::trace::{Draw, DrawKind};

/// Flags of a draw.
const FORCED: u64 = 1;
/// See [`FORCED`].
const PAYLOAD: u64 = 2;
/// It took a blob.
const BLOB: u64 = 4;

impl Node {
    /// Appends its bytes.
    pub(crate) fn pack(&self, bytes: &mut Vec<u8>) {
        match &self.0.kind {
            Kind::Span { label, children } => {
                put_number(bytes, (children.len() as u64) << 1 | 1);
                put_number(bytes, *label);
                children.iter().for_each(|child| child.pack(bytes));
            }
            Kind::Draw(draw, choice) => pack_draw(draw, choice, bytes),
        }
    }

    /// Reads what [`Node::pack`] wrote.
    pub(crate) fn unpack(packed: &mut Packed<'_>) -> Option<Self> {
        Self::unpack_at(packed, 0)
    }

    fn unpack_at(packed: &mut Packed<'_>, depth: usize) -> Option<Self> {
        let head: u64 = packed.number()?;
        if head & 1 == 0 {
            return unpack_draw(DrawKind::of_number(u8::try_from(head >> 1).ok()?)?, packed);
        }
        if depth > DEPTH_MAX {
            return None;
        }
        let label = packed.number()?;
        let children: Option<Vec<_>> = (0..head >> 1).map(|_| Self::unpack_at(packed, depth + 1)).collect();
        Some(Self::span(label, children?))
    }
}

fn pack_draw(draw: &Draw, choice: &Choice, bytes: &mut Vec<u8>) {
    let Draw { kind, site, max, forced, payload, lo, hi, towards } = *draw;
    put_number(bytes, u64::from(kind.number()) << 1);
    let flag = |is: bool, flag| if is { flag } else { 0 };
    put_number(bytes, flag(forced, FORCED) | flag(payload, PAYLOAD) | flag(choice.blob().is_some(), BLOB));
    put_number(bytes, site.into());
    put_number(bytes, max);
    [lo, hi, towards].iter().for_each(|&bound| put_signed(bytes, bound));
    match choice {
        Choice::Index(index) => put_number(bytes, *index),
        Choice::Blob(blob) => put_bytes(bytes, blob),
    }
}

fn unpack_draw(kind: DrawKind, packed: &mut Packed<'_>) -> Option<Node> {
    let flags: u64 = packed.number()?;
    let (site, max) = (packed.number()?, packed.number()?);
    let (lo, hi, towards) = (packed.signed()?, packed.signed()?, packed.signed()?);
    let draw = Draw { kind, site, max, forced: flags & FORCED != 0, payload: flags & PAYLOAD != 0, lo, hi, towards };
    let choice =
        if flags & BLOB != 0 { Choice::Blob(packed.bytes()?.to_vec()) } else { Choice::Index(packed.number()?) };
    Some(Node::draw(draw, choice))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(kind: DrawKind, site: u32, choice: Choice) -> Node {
        let forced = site.is_multiple_of(2);
        let draw = Draw { kind, site, max: u64::MAX, forced, payload: !forced, lo: i64::MIN, hi: 7, towards: -3 };
        Node::draw(draw, choice)
    }

    fn bytes(node: &Node) -> Vec<u8> {
        let mut bytes = Vec::new();
        node.pack(&mut bytes);
        bytes
    }

    #[test]
    fn trees_come_back_and_no_damage_makes_one_that_is_too_deep() {
        let draws = (0..).zip(DrawKind::ALL).map(|(site, kind)| match kind.is_blob() {
            true => draw(kind, site, Choice::Blob(vec![site as u8; 5])),
            false => draw(kind, site, Choice::Index(u64::MAX - u64::from(site))),
        });
        let inner = Node::span(u64::MAX, draws.collect());
        let tree =
            Node::span(0, vec![inner.clone(), draw(DrawKind::Int, 300, Choice::ZERO), Node::span(5, vec![inner])]);
        let packed = bytes(&tree);
        let again = Node::unpack(&mut Packed::new(&packed)).unwrap();
        assert_eq!(format!("{again:?}"), format!("{tree:?}"));
        assert_eq!((again.draws(), again.nodes(), bytes(&again)), (tree.draws(), tree.nodes(), packed.clone()));
        for end in 0..packed.len() {
            assert!(Node::unpack(&mut Packed::new(&packed[..end])).is_none(), "{end}");
        }
        // Each is a span of one child.
        assert!(Node::unpack(&mut Packed::new(&[3, 0].repeat(100_000))).is_none());
        let deepest = (0..DEPTH_MAX).fold(Node::span(0, Vec::new()), |inner, _| Node::span(0, vec![inner]));
        assert!(Node::unpack(&mut Packed::new(&bytes(&deepest))).is_some());
    }
}
