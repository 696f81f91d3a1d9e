//! Reads what an execution recorded.

use std::ops::Range;

use super::event::{CompareBytes, Comparison, Conditional, Event, Record, Source, Way};
use super::format::{
    CLASS_BYTES, CLASS_CAUGHT, CLASS_CHOOSE, CLASS_COMPARE, CLASS_COMPARE_FLOATS, CLASS_ENTER, CLASS_LEAVE,
    CLASS_MEMORY, CLASS_QUADS, CLASS_TEST, COMPARERS, LEAVE_RETURN, LEAVE_TAIL_CALL, MEMORY_COPY, MEMORY_FILL, PART,
    SLOT_BYTES, TEST_BR_IF, TEST_EQZ, TEST_IF, comparison,
};
use crate::layout;

/// What an execution recorded, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// What had room.
    pub records: Vec<Record>,
    /// How many records had no room after these, or between them.
    pub lost: u64,
}

impl Trace {
    /// Reads the trace at a place in the injected memory; `original` says where a planned operator is in the original.
    /// What can't be a record ends it.
    pub(crate) fn read(injected: &[u8], place: &Range<u32>, original: impl Fn(u32) -> u32) -> Trace {
        let cell = |at: u32| injected.get(at as usize..)?.first_chunk::<8>().copied();
        let used = cell(layout::TRACE_USED).map_or(0, |cell| u64::from_le_bytes(cell) as u32);
        let used = used.min(place.end - place.start);
        let mut slots = injected
            .get(place.start as usize..(place.start + used) as usize)
            .unwrap_or_default()
            .chunks_exact(SLOT_BYTES as usize);
        // Most records are one slot.
        let mut trace = Trace { records: Vec::with_capacity((used / SLOT_BYTES) as usize), ..Trace::default() };
        while let Some(record) = read_record(&mut slots) {
            trace.records.push(Record { site: original(record.site), ..record });
        }
        trace.lost = cell(layout::TRACE_LOST).map_or(0, u64::from_le_bytes);
        trace
    }
}

fn read_record<'m>(slots: &mut impl Iterator<Item = &'m [u8]>) -> Option<Record> {
    let slot = slots.next()?;
    let tag = u32::from_le_bytes(*slot.first_chunk()?);
    let &[class, width, ref extra @ ..] = slot[4..].first_chunk::<4>()?;
    let number = |number: usize| slot[8 + 8 * number..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let operator = (tag & 0xf) as u8;
    let event = match class {
        CLASS_COMPARE if operator == PART => Event::Part { width, left: number(0), right: number(1) },
        CLASS_COMPARE | CLASS_COMPARE_FLOATS => Event::Compare {
            comparison: comparison(operator)?,
            float: class == CLASS_COMPARE_FLOATS,
            width,
            left: number(0),
            right: number(1),
        },
        CLASS_TEST => match operator {
            TEST_EQZ => Event::Compare { comparison: Comparison::Eq, float: false, width, left: number(0), right: 0 },
            TEST_IF => Event::Condition { operator: Conditional::If, value: number(0) as u32 },
            TEST_BR_IF => Event::Condition { operator: Conditional::BrIf, value: number(0) as u32 },
            _ => Event::Condition { operator: Conditional::Select, value: number(0) as u32 },
        },
        CLASS_CHOOSE => Event::Choose { index: number(0) as u32, targets: number(1) as u32 },
        CLASS_MEMORY => {
            let source = match operator {
                MEMORY_COPY => Source::Copy { memory: extra[1], address: number(1) },
                MEMORY_FILL => Source::Fill { value: number(1) as u32 },
                _ => Source::Init { offset: number(1) as u32 },
            };
            Event::Memory { source, memory: extra[0], address: number(0), length: number(2) }
        }
        CLASS_BYTES => {
            let comparer = *COMPARERS.get(usize::from(operator))?;
            let mut content = || Some(slots.next()?.to_vec());
            let mut content = [content()?, content()?];
            for (content, &length) in content.iter_mut().zip(extra) {
                content.truncate(length.into());
                if let (true, Some(end)) = (comparer.is_of_strings(), content.iter().position(|&byte| byte == 0)) {
                    content.truncate(end);
                }
            }
            let length = Some(number(2)).filter(|&length| length != u64::MAX);
            Event::Bytes(Box::new(CompareBytes { comparer, pointers: [number(0), number(1)], length, content }))
        }
        CLASS_ENTER => Event::Enter { function: number(0) as u32, depth: number(1) as u32 },
        CLASS_LEAVE => Event::Leave {
            depth: number(0) as u32,
            way: match operator {
                LEAVE_RETURN => Way::Return,
                LEAVE_TAIL_CALL => Way::TailCall,
                _ => Way::End,
            },
        },
        CLASS_QUADS => {
            let slot = slots.next()?;
            let number = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u128::from_le_bytes(*bytes));
            Event::CompareQuads(Box::new([number(slot), number(&slot[16..])]))
        }
        CLASS_CAUGHT => Event::Caught { depth: number(0) as u32 },
        _ => return None,
    };
    Some(Record { site: tag >> 4, event })
}
