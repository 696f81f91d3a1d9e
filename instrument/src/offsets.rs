//! The way back from the rewritten module to the original: which operator a byte belongs to.

/// Maps byte offsets in the rewritten module to byte offsets in the original.
///
/// A trap or a frame in the rewritten module has the offset of an operator there (wasmtime:
/// `FrameInfo::module_offset`); debug info and disassemblies know the original's.
///
/// Kept as runs: code that was copied moves along with its run, and all of an inserted run belongs to one operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetMap {
    runs: Vec<Run>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// Where it starts in the rewritten module; it ends where the next one starts.
    start: u32,
    origin: Origin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// Copied from this offset onwards.
    Copied(u32),
    /// Inserted for the operator at this offset.
    Inserted(u32),
    /// Not an operator: headers, locals, other sections.
    Outside,
}

impl OffsetMap {
    /// The offset in the original module of the operator that the code at `instrumented_offset` is or, if it was
    /// inserted, belongs to. `None` if there is no operator.
    pub fn original(&self, instrumented_offset: u32) -> Option<u32> {
        let next = self.runs.partition_point(|run| run.start <= instrumented_offset);
        let run = self.runs.get(next.checked_sub(1)?)?;
        match run.origin {
            Origin::Copied(original) => Some(original + (instrumented_offset - run.start)),
            Origin::Inserted(original) => Some(original),
            Origin::Outside => None,
        }
    }

    /// From `start` onwards, code was copied from `original` onwards. Calls come in ascending order of `start`.
    pub(crate) fn copied(&mut self, start: u32, original: u32) {
        self.push(start, Origin::Copied(original));
    }

    /// From `start` onwards, code was inserted for the operator at `original`.
    pub(crate) fn inserted(&mut self, start: u32, original: u32) {
        self.push(start, Origin::Inserted(original));
    }

    /// From `start` onwards there is no code.
    pub(crate) fn outside(&mut self, start: u32) {
        self.push(start, Origin::Outside);
    }

    fn push(&mut self, start: u32, origin: Origin) {
        debug_assert!(self.runs.last().is_none_or(|last| last.start <= start));
        match self.runs.last_mut() {
            Some(last) if last.start == start => last.origin = origin,
            Some(last) if last.origin == origin => {}
            _ => self.runs.push(Run { start, origin }),
        }
    }

    /// The same runs, moved up by `distance` bytes; `None` if one would not fit.
    pub(crate) fn moved(mut self, distance: u32) -> Option<OffsetMap> {
        for run in &mut self.runs {
            run.start = run.start.checked_add(distance)?;
        }
        Some(self)
    }

    /// Appends the runs of `other`, moved up by `distance` bytes.
    pub(crate) fn append(&mut self, other: OffsetMap, distance: u32) {
        for run in other.runs {
            self.push(run.start + distance, run.origin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_move_with_their_run() {
        let mut map = OffsetMap::default();
        map.copied(10, 5);
        map.inserted(13, 8);
        map.copied(20, 8);
        map.outside(22);
        let mut whole = OffsetMap::default();
        whole.append(map, 100);
        let all: Vec<_> = (109..=123).map(|offset| whole.original(offset)).collect();
        let expected = [None, Some(5), Some(6), Some(7)].into_iter().chain([Some(8); 8]).chain([Some(9), None, None]);
        assert!(all.into_iter().eq(expected));
    }
}
