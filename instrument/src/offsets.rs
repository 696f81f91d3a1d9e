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

impl OffsetMap {
    /// The way back through two rewritings: `self` leads from the last module to one between, and `first` from there to
    /// the original.
    pub(crate) fn then(&self, first: &OffsetMap) -> OffsetMap {
        let mut whole = OffsetMap::default();
        for (number, run) in self.runs.iter().enumerate() {
            match run.origin {
                Origin::Copied(from) => {
                    let length = self.runs.get(number + 1).map_or(u32::MAX - run.start, |next| next.start - run.start);
                    whole.copied_through(run.start, from, length, first);
                }
                Origin::Inserted(at) => match first.original(at) {
                    Some(original) => whole.inserted(run.start, original),
                    None => whole.outside(run.start),
                },
                Origin::Outside => whole.outside(run.start),
            }
        }
        whole
    }

    /// From `start` onwards, `length` bytes were copied from `from` onwards in the module that `first` is for.
    fn copied_through(&mut self, start: u32, from: u32, length: u32, first: &OffsetMap) {
        let mut next = first.runs.partition_point(|run| run.start <= from);
        let mut done = 0;
        while done < length {
            let at = from + done;
            let run = next.checked_sub(1).map(|current| first.runs[current]);
            match run.map(|run| (run.start, run.origin)) {
                Some((run_start, Origin::Copied(original))) => self.copied(start + done, original + (at - run_start)),
                Some((_, Origin::Inserted(original))) => self.inserted(start + done, original),
                Some((_, Origin::Outside)) | None => self.outside(start + done),
            }
            let Some(following) = first.runs.get(next) else { break };
            done = following.start.saturating_sub(from);
            next += 1;
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

    #[test]
    fn offsets_lead_back_through_two_rewritings() {
        let mut first = OffsetMap::default();
        first.outside(0);
        first.copied(10, 100);
        first.inserted(14, 104);
        first.copied(16, 105);
        first.outside(20);
        let mut second = OffsetMap::default();
        second.outside(0);
        second.inserted(5, 11);
        second.copied(6, 12);
        second.inserted(11, 15);
        second.copied(13, 17);
        second.outside(16);
        let whole = second.then(&first);
        for offset in 0..20 {
            let expected = second.original(offset).and_then(|between| first.original(between));
            assert_eq!(whole.original(offset), expected, "{offset}");
        }
        assert_eq!((whole.original(8), whole.original(10), whole.original(14)), (Some(104), Some(105), Some(107)));
    }
}
