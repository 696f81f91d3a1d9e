//! What the guest tells.

use super::{Drawn, Ended, Reference, draw, slice};
use crate::stream::guest_report::Entry;
use crate::stream::{Choice, DrawKind};
use fuzzbox_instrument::layout::stream as layout;

impl Reference {
    /// Appends an entry with at most `most` bytes of its text, unless it ends beyond `limit`.
    fn entry(&mut self, kind: u32, numbers: [i64; 2], text: &[u8], most: u32, limit: u32) {
        let text = &text[..text.len().min(most as usize)];
        let end = u64::from(self.entry_bytes + layout::ENTRY_HEAD) + (text.len() as u64).next_multiple_of(8);
        if end > u64::from(limit) {
            self.told.lost = true;
            return;
        }
        self.entry_bytes = end as u32;
        let draws = self.draws.len() as u32;
        self.told.add(Entry { kind, numbers, site: 0, draws, text });
    }

    fn tell(&mut self, kind: u32, numbers: [i64; 2], text: &[u8], most: u32) {
        self.entry(kind, numbers, text, most, layout::ENTRIES_LIMIT);
    }

    /// Ends the execution unless the condition holds.
    pub fn assume(&mut self, condition: i32) -> Drawn<()> {
        if condition == 0 { Err(Ended::Rejected) } else { Ok(()) }
    }

    /// Ends the execution, and says why.
    pub fn reject(&mut self, memory: &[u8], text: u32, len: u32) -> Ended {
        self.end(memory, layout::ENTRY_REJECT, text, len, Ended::Rejected)
    }

    /// Ends the execution as a failure of a class.
    pub fn fail(&mut self, memory: &[u8], text: u32, len: u32) -> Ended {
        self.end(memory, layout::ENTRY_FAIL, text, len, Ended::Failed)
    }

    fn end(&mut self, memory: &[u8], kind: u32, text: u32, len: u32, ended: Ended) -> Ended {
        match slice(memory, text, len) {
            Ok(text) => {
                self.entry(kind, [0, 0], text, layout::LABEL_MAX, layout::ENTRIES_BYTES);
                ended
            }
            Err(trap) => trap,
        }
    }

    /// A score that is to become as large as possible.
    pub fn target(&mut self, memory: &[u8], text: u32, len: u32, score: f64) -> Drawn<()> {
        let text = slice(memory, text, len)?;
        self.tell(layout::ENTRY_TARGET, [score.to_bits().cast_signed(), 0], text, layout::LABEL_MAX);
        Ok(())
    }

    /// Something happened that is worth reaching.
    pub fn event(&mut self, memory: &[u8], text: u32, len: u32, value: i64) -> Drawn<()> {
        let text = slice(memory, text, len)?;
        self.tell(layout::ENTRY_EVENT, [value, 0], text, layout::LABEL_MAX);
        Ok(())
    }

    /// A predicate of traces holds.
    pub fn keyframe(&mut self, id: u32, argument: i64) {
        self.tell(layout::ENTRY_KEYFRAME, [id.into(), argument], &[], layout::LABEL_MAX);
    }

    /// Gives an id a name.
    pub fn name(&mut self, memory: &[u8], kind: u32, id: u32, text: u32, len: u32) -> Drawn<()> {
        let text = slice(memory, text, len)?;
        self.tell(layout::ENTRY_NAME, [kind.into(), id.into()], text, layout::LABEL_MAX);
        Ok(())
    }

    /// A text for people.
    pub fn note(&mut self, memory: &[u8], text: u32, len: u32) -> Drawn<()> {
        let text = slice(memory, text, len)?;
        self.tell(layout::ENTRY_NOTE, [0, 0], text, layout::NOTE_MAX);
        Ok(())
    }

    /// A structured value.
    pub fn value(&mut self, memory: &[u8], type_id: i64, encoding: u32, bytes: u32, len: u32) -> Drawn<()> {
        let bytes = slice(memory, bytes, len)?;
        self.tell(layout::ENTRY_VALUE, [type_id, encoding.into()], bytes, u32::MAX);
        Ok(())
    }

    /// Whether a feature is enabled: drawn when its name is first asked for.
    pub fn feature(&mut self, memory: &[u8], text: u32, len: u32) -> Drawn<bool> {
        let text = slice(memory, text, len)?;
        let hash = layout::label_hash(&text[..text.len().min(layout::LABEL_MAX as usize)]);
        let enabled = self.is_enabled(hash)?;
        self.tell(layout::ENTRY_FEATURE, [enabled.into(), 0], text, layout::LABEL_MAX);
        Ok(enabled)
    }

    fn is_enabled(&mut self, hash: u64) -> Drawn<bool> {
        if hash == layout::label_hash(layout::REPORT_NAME.as_bytes()) {
            return Ok(self.reporting);
        }
        if let Some((_, enabled)) = self.features.iter().find(|(other, _)| *other == hash & !1) {
            return Ok(*enabled);
        }
        if self.features.len() == layout::FEATURES_MAX as usize {
            return Ok(true);
        }
        let index = self.index(1, Self::random_feature)?;
        self.drew(Choice::Index(index), draw(DrawKind::Choice, 1));
        self.features.push((hash & !1, index == 0));
        Ok(index == 0)
    }
}
