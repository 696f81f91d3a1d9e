//! A result as bytes.
//!
//! ```text
//! outcome, fuel, features, 1 and what was drawn or 0, scores
//! ```
//!
//! An outcome begins with its name. Places of failures are counted from the beginning of the module's code.

use super::{ExecutionResult, profile, put_profile};
use crate::engine::testcase::Scores;
use crate::outcome::{FailureKind, Frame, Outcome, Trap, TrapKind, Verdict};
use crate::packed::{Packed, put_bytes, put_number};
use crate::stream::Node;

impl ExecutionResult {
    /// Its bytes; `None` if it can't be kept.
    pub(super) fn pack(&self, code_start: u32) -> Option<Vec<u8>> {
        let Self { outcome, fuel, profile, drawn, scores } = self;
        let mut bytes = Vec::new();
        put_outcome(&mut bytes, outcome, code_start)?;
        put_number(&mut bytes, *fuel);
        put_profile(&mut bytes, profile);
        put_number(&mut bytes, u64::from(drawn.is_some()));
        if let Some(drawn) = drawn {
            drawn.pack(&mut bytes);
        }
        put_number(&mut bytes, scores.0.len() as u64);
        for (label, score) in &scores.0 {
            put_bytes(&mut bytes, label);
            bytes.extend_from_slice(&score.to_le_bytes());
        }
        Some(bytes)
    }

    /// Reads what [`ExecutionResult::pack`] gave.
    pub(super) fn unpack(packed: &mut Packed<'_>, code_start: u32) -> Option<Self> {
        let outcome = outcome(packed, code_start)?;
        let (fuel, profile) = (packed.number()?, profile(packed)?);
        let drawn = match packed.number::<u64>()? {
            0 => None,
            _ => Some(Node::unpack(packed)?),
        };
        let mut scores = Scores::default();
        for _ in 0..packed.number::<u64>()? {
            let label = packed.bytes()?;
            scores.put(label, f64::from_le_bytes(packed.take(size_of::<f64>())?.try_into().ok()?));
        }
        Some(Self { outcome, fuel, profile, drawn, scores })
    }
}

fn put_outcome(bytes: &mut Vec<u8>, outcome: &Outcome, code_start: u32) -> Option<()> {
    if outcome.verdict() == Verdict::Unknown {
        return None;
    }
    put_bytes(bytes, outcome.name().as_bytes());
    let Some(trap) = outcome.trap() else { return Some(()) };
    put_bytes(bytes, trap.kind.name().as_bytes());
    // Nothing is one less than something.
    put_number(bytes, u64::from(trap.class.is_some()));
    put_bytes(bytes, trap.class.as_deref().unwrap_or_default().as_bytes());
    put_number(bytes, trap.frames.len() as u64);
    for frame in &trap.frames {
        put_number(bytes, frame.function.into());
        put_number(bytes, frame.offset.checked_sub(code_start)?.into());
    }
    Some(())
}

fn outcome(packed: &mut Packed<'_>, code_start: u32) -> Option<Outcome> {
    let name = text(packed)?;
    let Some(kind) = FailureKind::of_name(name) else { return Outcome::of_name(name) };
    let trap = TrapKind::of_name(text(packed)?)?;
    let has_class = packed.number::<u64>()? != 0;
    let class = Some(text(packed)?.into()).filter(|_| has_class);
    let count = packed.number::<usize>().filter(|&count| count <= Trap::FRAMES_MAX)?;
    let frame = |_| {
        let function = packed.number()?;
        Some(Frame { function, offset: packed.number::<u32>()?.checked_add(code_start)? })
    };
    let frames: Option<Vec<_>> = (0..count).map(frame).collect();
    Some(Outcome::failed(kind, Trap { kind: trap, class, frames: frames? }))
}

fn text<'a>(packed: &mut Packed<'a>) -> Option<&'a str> {
    str::from_utf8(packed.bytes()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::Profile;
    use crate::engine::results::Results;
    use crate::id::InputId;

    fn failed(class: Option<&str>) -> Outcome {
        let frames = vec![Frame { function: 7, offset: 1000 }, Frame { function: u32::MAX, offset: u32::MAX }];
        Outcome::failed(FailureKind::Hang, Trap { kind: TrapKind::OutOfFuel, class: class.map(Into::into), frames })
    }

    fn results() -> Vec<ExecutionResult> {
        let outcomes =
            [Outcome::Ok, Outcome::Rejected, Outcome::Overrun, failed(None), failed(Some("")), failed(Some("größe"))];
        let profile = Profile(vec![(0, 1), (0, 2), (5, 128), (70_000, 4), (u32::MAX, 1)]);
        let mut scores = Scores::default();
        scores.put(b"depth", 1.5);
        scores.put(b"", f64::NEG_INFINITY);
        let result = |outcome| ExecutionResult {
            outcome,
            fuel: u64::MAX,
            profile: profile.clone(),
            drawn: Some(Node::span(0, Vec::new())),
            scores: scores.clone(),
        };
        outcomes.into_iter().map(result).collect()
    }

    #[test]
    fn results_come_back_also_in_a_file_whose_code_begins_elsewhere() {
        for result in results() {
            let bytes = result.pack(1000).unwrap();
            let again = ExecutionResult::unpack(&mut Packed::new(&bytes), 1000).unwrap();
            assert_eq!(format!("{again:?}"), format!("{result:?}"));
            for end in 0..bytes.len() {
                assert!(ExecutionResult::unpack(&mut Packed::new(&bytes[..end]), 1000).is_none(), "{end}");
            }
            let moved = ExecutionResult::unpack(&mut Packed::new(&bytes), 400).unwrap();
            let offsets = |outcome: &Outcome| -> Vec<u32> {
                outcome.trap().map_or_else(Vec::new, |trap| trap.frames.iter().map(|frame| frame.offset).collect())
            };
            let expected: Vec<_> = offsets(&result.outcome).iter().map(|offset| offset - 600).collect();
            assert_eq!(offsets(&moved.outcome), expected);
        }
        let interrupted = ExecutionResult { outcome: Outcome::Interrupted, ..results().remove(0) };
        assert!(interrupted.pack(0).is_none());
        assert!(results()[3].pack(1001).is_none(), "a place before the code");
    }

    #[test]
    fn what_is_damaged_adds_nothing_and_what_was_used_stays() {
        let mut results = Results::default();
        let names: Vec<_> = (0..6).map(|number: u8| InputId([number; 32])).collect();
        for (name, result) in names.iter().zip(self::results()) {
            results.used(*name, results.packed(&result));
        }
        assert!(results.has_news());
        let bytes = results.to_bytes();
        for end in 0..bytes.len() {
            let mut read = Results::default();
            read.add(&bytes[..end]);
            assert!(read.len() < names.len() && !read.has_news());
            assert!(names[..read.len()].iter().all(|name| read.get(*name).is_some()));
        }
        let mut read = Results::default();
        read.add(&bytes);
        read.add(&bytes);
        assert_eq!((read.len(), read.to_bytes()), (names.len(), bytes));
        // Those that are of use are written first.
        read.used(names[4], None);
        assert!(read.to_bytes().starts_with(&names[4].0));
    }
}
